//===- FeatureBlocks.h - Splits fused projections ---------------*- C++ -*-===//
//
// A projection to blocks of different sizes side by side (q|k|v of
// grouped-query attention) becomes one projection for each block, and its
// parameters one argument for each block (`dist.part`). Each block is then
// sharded separately.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_FEATUREBLOCKS_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_FEATUREBLOCKS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/schedule/names/Origins.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace mlir::dist {

/// Splits contractions with parameters by blocks of their output features. The
/// ops behind them (biases, reshapes, activations) are split as well, up to
/// where the program slices the blocks. If it does not slice them, they are
/// concatenated again.
class FeatureBlocks {
public:
  explicit FeatureBlocks(Origins &origins) : origins(origins) {}

  /// Splits the features of `contraction` in this proportion. Fails after an
  /// error at `directive`. If a contraction is split twice, the blocks must be
  /// the same.
  LogicalResult split(Operation *directive,
                      const FeatureContraction &contraction,
                      ArrayRef<int64_t> proportion);

  /// Gives functions an argument for each block of a parameter in its place;
  /// what reads all of it reads the concatenation. Erases the ops that were
  /// split.
  LogicalResult finish();

  /// Part of the dimension `dim`.
  struct Range {
    int64_t dim, offset, size;
    bool operator<(const Range &other) const {
      return std::tie(dim, offset, size) <
             std::tie(other.dim, other.offset, other.size);
    }
  };

private:
  /// The blocks of a value, along one of its dimensions.
  struct Blocks {
    SmallVector<Value, 4> values;
    SmallVector<int64_t, 4> sizes;
    int64_t dim;
  };
  /// An operand of an op, and its blocks that exist already.
  struct Known {
    Value whole;
    const Blocks *blocks;
  };

  Value makeSlice(Operation *like, Value whole, Range range);
  Value makeInit(Operation *like, Value init, Range range);
  Value makeBlock(Operation *like, Value whole, Range range);
  FailureOr<Blocks> splitLoop(linalg::LinalgOp op, unsigned loop,
                              ArrayRef<int64_t> sizes, Known known);
  FailureOr<Blocks> splitUser(OpOperand &use, const Blocks &blocks);
  FailureOr<Blocks> splitExpand(tensor::ExpandShapeOp op, const Blocks &blocks);
  FailureOr<Blocks> splitCollapse(tensor::CollapseShapeOp op,
                                  const Blocks &blocks);
  bool takeSlice(tensor::ExtractSliceOp slice, const Blocks &blocks);
  void sink(Value whole, const Blocks &blocks);
  LogicalResult addArguments(FunctionOpInterface function);

  Origins &origins;
  std::optional<OpBuilder> builder;
  /// Slices of parameters, by range.
  llvm::MapVector<Value, std::map<Range, SmallVector<Operation *, 1>>> parts;
  /// The values that were split, by which directive, and the results.
  struct Done {
    Operation *directive;
    SmallVector<int64_t> sizes;
  };
  llvm::DenseMap<Operation *, Done> done;
  /// How a dimension of a parameter was split first.
  llvm::DenseMap<std::pair<Value, int64_t>, Done> divided;
  llvm::SetVector<Operation *> replaced;
  llvm::MapVector<Operation *, Operation *> functions; // and a directive
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_FEATUREBLOCKS_H
