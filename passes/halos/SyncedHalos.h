//===- SyncedHalos.h - Rows that syncs bring beside a value -----*- C++ -*-===//
//
// A dist.sync of a halo is where neighbours' rows are exchanged; what reads the
// value in windows finds them there. Of syncs that follow each other, one for
// each dimension, the later ones exchange what the earlier ones brought, so
// that corners come along. The ops stay until everything is local, and tell by
// then whether anything reads what they brought.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_SYNCEDHALOS_H
#define DIST_PASSES_HALOS_SYNCEDHALOS_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "passes/spmd/reshard/WholeValues.h"

namespace mlir::dist {

/// What one sync brought.
struct SyncedRows {
  SyncOp sync;
  int64_t dim, low, high;
  /// Rows of the device's own block.
  int64_t block;
  /// The most that anything reads of them.
  int64_t readLow = 0, readHigh = 0;

  /// Notes that something reads so many; fails where there are fewer, with an
  /// error at the sync and a note at `reader`.
  LogicalResult read(int64_t low, int64_t high, Location reader);
  /// Checks what the sync says of rows past the ends of the dimension, which
  /// `reader` takes to be `fill`.
  LogicalResult checkEnds(Value fill, Location reader) const;
};

/// A value with what syncs brought beside it.
struct SyncedHalo {
  /// Rows along a dimension, which a reshape may have put elsewhere.
  struct Dim {
    int64_t dim;
    SyncedRows *rows;
  };
  Value wide;
  SmallVector<Dim, 2> dims;

  /// Null where no sync spoke of the dimension.
  SyncedRows *find(int64_t dim) const;
  /// The device's own part with `low` rows before and `high` rows after it,
  /// along that dimension alone.
  Value take(OpBuilder &builder, Location loc, int64_t dim, int64_t low,
             int64_t high) const;
};

class SyncedHalos {
public:
  /// Exchanges what a sync asks for: of a value whose devices' parts are those
  /// of a tensor of `size` elements along the dimension.
  void exchange(OpBuilder &builder, SyncOp sync, int64_t size);
  const SyncedHalo *find(Value value) const {
    auto found = halos.find(value);
    return found == halos.end() ? nullptr : &found->second;
  }
  /// The same where other dimensions were reshaped since: then what syncs
  /// brought is reshaped as well. `wholes`: sizes of the whole tensors tell
  /// which dimension is which, also where a block is one row.
  const SyncedHalo *findReshaped(OpBuilder &builder, Value value,
                                 const WholeValues &wholes);
  bool contains(Operation *exchange) const {
    return exchanges.contains(exchange);
  }
  /// Takes the syncs away; fails where nothing reads what one brought.
  LogicalResult finish();

private:
  std::vector<std::unique_ptr<SyncedRows>> all;
  llvm::DenseMap<Value, SyncedHalo> halos;
  llvm::DenseSet<Operation *> exchanges;
};

/// The number that `fill` is, where the compiler knows it.
TypedAttr getConstantFill(Value fill);

/// What an exchange is given past the ends of a dimension that are `fill`: null
/// for zeros.
BoundaryAttr getBoundary(TypedAttr fill);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_SYNCEDHALOS_H
