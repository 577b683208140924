//===- SyncedHalos.h - Halos that syncs bring -------------------*- C++ -*-===//
//
// A dist.sync of a halo is where neighbours' rows are exchanged; ops that read
// the value in windows find the rows there. Several syncs may follow each
// other, one for each dimension. Later ones exchange what earlier ones brought,
// so that corners are included. The ops stay until everything is local; then it
// is known whether anything reads the rows.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_SYNCEDHALOS_H
#define DIST_PASSES_HALOS_SYNCEDHALOS_H

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "passes/spmd/reshard/WholeValues.h"

namespace mlir::dist {

/// The rows of one sync.
struct SyncedRows {
  SyncOp sync;
  int64_t dim, low, high;
  /// Rows of the device's own block.
  int64_t block;
  /// The most rows that anything reads.
  int64_t readLow = 0, readHigh = 0;

  /// Records that `reader` reads so many rows. If there are fewer, fails with
  /// an error at the sync and a note at `reader`.
  LogicalResult read(int64_t low, int64_t high, Location reader);
  /// Checks the sync's boundary against the rows past the ends of the
  /// dimension, which are `fill` for `reader`.
  LogicalResult checkEnds(Value fill, Location reader) const;
};

/// A value, with rows that syncs brought.
struct SyncedHalo {
  /// Rows along a dimension; a reshape may have changed its number.
  struct Dim {
    int64_t dim;
    SyncedRows *rows;
  };
  Value wide;
  SmallVector<Dim, 2> dims;

  /// Null if no sync brought rows along the dimension.
  SyncedRows *find(int64_t dim) const;
  /// The device's own part with `low` rows before and `high` rows after it,
  /// along this dimension only.
  Value take(OpBuilder &builder, Location loc, int64_t dim, int64_t low,
             int64_t high) const;
};

class SyncedHalos {
public:
  /// Makes the exchange of a sync. The devices' parts of the value are those of
  /// a tensor of `size` elements along the dimension.
  void exchange(OpBuilder &builder, SyncOp sync, int64_t size);
  const SyncedHalo *find(Value value) const {
    auto found = halos.find(value);
    return found == halos.end() ? nullptr : &found->second;
  }
  /// The same if other dimensions were reshaped since: then the rows of syncs
  /// are reshaped as well. `wholes`: the sizes of whole tensors identify
  /// dimensions, also if a block is one row.
  const SyncedHalo *findReshaped(OpBuilder &builder, Value value,
                                 const WholeValues &wholes);
  bool contains(Operation *exchange) const {
    return exchanges.contains(exchange);
  }
  /// Removes the syncs; fails if nothing reads the rows of one.
  LogicalResult finish();

private:
  std::vector<std::unique_ptr<SyncedRows>> all;
  llvm::DenseMap<Value, SyncedHalo> halos;
  llvm::DenseSet<Operation *> exchanges;
};

/// The number that `fill` is, if it is constant.
TypedAttr getConstantFill(Value fill);

/// The boundary of an exchange whose dimension is continued by `fill`; null for
/// zeros.
BoundaryAttr getBoundary(TypedAttr fill);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_SYNCEDHALOS_H
