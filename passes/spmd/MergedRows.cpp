//===- MergedRows.cpp - Rows that are merged from periods -----------------===//

#include "passes/spmd/MergedRows.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/spmd/PlacementAnalysis.h"
#include "passes/spmd/Windows.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Either reshape of one group of dimensions.
struct MergedRows {
  Operation *reshape;
  /// What has the dimensions apart: operand or result, or what follows it (a
  /// cotangent, placed as its primal). Of several reshapes that are rewritten
  /// one may have been another's, but its type stays.
  Value apart;
  RankedTensorType type;
  ReassociationIndices group;
  /// Where the merged dimension is in the other one.
  unsigned merged;
};
} // namespace

/// Whether `op` moves in windows along what `value` has in `dim`.
static bool movesAlong(Operation *op, Value value, int64_t dim) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !mayReadWindows(op))
    return false;
  SmallVector<AffineMap> maps = linalgOp.getIndexingMapsArray();
  auto isOf = [&](AffineMap map) {
    auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim));
    return loop && llvm::any_of(maps, [&](AffineMap other) {
             return llvm::any_of(other.getResults(), [&](AffineExpr index) {
               return !isa<AffineDimExpr>(index) &&
                      index.isFunctionOfDim(loop.getPosition());
             });
           });
  };
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == value &&
        isOf(linalgOp.getMatchingIndexingMap(&operand)))
      return true;
  for (OpResult result : op->getResults())
    if (result == value && isOf(linalgOp.getIndexingMapMatchingResult(result)))
      return true;
  return false;
}

static bool isInWindows(Value value, int64_t dim) {
  Operation *made = value.getDefiningOp();
  return (made && movesAlong(made, value, dim)) ||
         llvm::any_of(value.getUsers(), [&](Operation *user) {
           return movesAlong(user, value, dim);
         });
}

/// What follows a value that nothing else reads; else the value.
static Value getFollowing(Value value) {
  auto follow =
      value.hasOneUse() ? dyn_cast<FollowOp>(*value.user_begin()) : FollowOp();
  return follow && follow.getOperand() == value ? follow.getResult() : value;
}

/// The groups of all reshapes that merge rows of periods which some axis of the
/// mesh does not divide.
static SmallVector<MergedRows> findCandidates(ModuleOp module, MeshOp mesh) {
  SmallVector<MergedRows> found;
  auto add = [&](Operation *op, Value apart,
                 ArrayRef<ReassociationIndices> groups) {
    auto type = cast<RankedTensorType>(apart.getType());
    if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat() ||
        type.getElementType().isInteger(1) || !type.getNumElements())
      return;
    for (auto [merged, group] : llvm::enumerate(groups)) {
      if (group.size() < 2)
        continue;
      int64_t dim = group.front(), size = type.getDimSize(dim);
      bool isUneven = llvm::any_of(mesh.getAxes(), [&](MeshAxisAttr axis) {
        return size % axis.getSize() != 0;
      });
      if (isUneven && isInWindows(apart, dim))
        found.push_back(
            {op, apart, type, group, static_cast<unsigned>(merged)});
    }
  };
  module.walk([&](Operation *op) {
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      add(op, collapse.getSrc(), collapse.getReassociationIndices());
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      add(op, getFollowing(expand), expand.getReassociationIndices());
  });
  return found;
}

/// Whether devices have periods in uneven blocks, of which no row is further
/// from where it is to be than the next device.
static bool isUneven(const MergedRows &rows, ShardingAttr sharding,
                     const MeshLayout &layout) {
  RankedTensorType type = rows.type;
  int64_t periods = type.getDimSize(rows.group.front()), period = 1;
  for (int64_t dim : ArrayRef(rows.group).drop_front()) {
    if (sharding.getDims()[dim] != layout.none())
      return false;
    period *= type.getDimSize(dim);
  }
  DimShardingAttr dim =
      layout.canonical(sharding.getDims()[rows.group.front()], periods);
  if (dim.getAllAxes().size() != 1 || layout.isEven(dim, periods))
    return false;
  if (period == 1)
    return false;
  Blocks apart(layout, dim, periods), merged(layout, dim, periods * period);
  return (apart.devices - 1) * (apart.extent * period - merged.extent) <=
         merged.extent;
}

/// `rows.reshape` as an op that writes a period, or reads one, at a time.
static void rewrite(const MergedRows &rows) {
  Operation *op = rows.reshape;
  OpBuilder b(op);
  Location loc = op->getLoc();
  RankedTensorType apart = rows.type;
  bool isCollapse = isa<tensor::CollapseShapeOp>(op);
  SmallVector<ReassociationIndices> groups =
      isCollapse ? cast<tensor::CollapseShapeOp>(op).getReassociationIndices()
                 : cast<tensor::ExpandShapeOp>(op).getReassociationIndices();
  // The other groups are reshaped on their own.
  SmallVector<ReassociationIndices> others;
  SmallVector<int64_t> shape, merged;
  int64_t place = 0;
  SmallVector<AffineExpr> places;
  for (auto [index, group] : llvm::enumerate(groups)) {
    AffineExpr sum = b.getAffineConstantExpr(0);
    if (index != rows.merged) {
      others.push_back(group);
      int64_t size = 1;
      for (int64_t dim : group)
        size *= apart.getDimSize(dim);
      shape.push_back(size);
      merged.push_back(size);
      places.push_back(b.getAffineDimExpr(place++));
      continue;
    }
    int64_t size = 1;
    for (int64_t dim : group) {
      others.push_back({dim});
      shape.push_back(apart.getDimSize(dim));
      size *= shape.back();
      sum = sum * shape.back() + b.getAffineDimExpr(place++);
    }
    merged.push_back(size);
    places.push_back(sum);
  }
  AffineMap identity = b.getMultiDimIdentityMap(place),
            map = AffineMap::get(place, 0, places, b.getContext());
  // What is added to is a sum over what moves it.
  SmallVector<utils::IteratorType> loops(place, utils::IteratorType::parallel);
  if (isCollapse)
    for (size_t minor = 1; minor < rows.group.size(); ++minor)
      loops[rows.merged + minor] = utils::IteratorType::reduction;
  Type element = apart.getElementType();
  auto between = RankedTensorType::get(shape, element);
  Value value = op->getOperand(0);
  SmallVector<Operation *> made;
  auto note = [&](auto created) {
    made.push_back(created);
    return created->getResult(0);
  };
  bool isSplit = others.size() != static_cast<size_t>(apart.getRank());
  Value result;
  if (isCollapse) {
    if (isSplit)
      value =
          note(tensor::CollapseShapeOp::create(b, loc, between, value, others));
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
    Value empty = note(tensor::EmptyOp::create(b, loc, merged, element));
    Value fill = note(linalg::FillOp::create(b, loc, zero, empty));
    result = note(linalg::GenericOp::create(
        b, loc, fill.getType(), value, fill, ArrayRef<AffineMap>{identity, map},
        loops, [](OpBuilder &inner, Location at, ValueRange args) {
          Value sum = isa<FloatType>(args[0].getType())
                          ? arith::AddFOp::create(inner, at, args[1], args[0])
                                .getResult()
                          : arith::AddIOp::create(inner, at, args[1], args[0]);
          linalg::YieldOp::create(inner, at, sum);
        }));
  } else {
    Value empty = note(tensor::EmptyOp::create(b, loc, shape, element));
    result = note(linalg::GenericOp::create(
        b, loc, between, value, empty, ArrayRef<AffineMap>{map, identity},
        loops, [](OpBuilder &inner, Location at, ValueRange args) {
          linalg::YieldOp::create(inner, at, args[0]);
        }));
    if (isSplit)
      result =
          note(tensor::ExpandShapeOp::create(b, loc, apart, result, others));
  }
  for (Operation *created : made)
    for (NamedAttribute attr : op->getDiscardableAttrs())
      created->setDiscardableAttr(attr.getName(), attr.getValue());
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// Once for each resize in a row, since what is behind one is placed when its
/// rows are.
LogicalResult mlir::dist::rewriteMergedRows(ModuleOp module, MeshOp mesh) {
  for (;;) {
    SmallVector<MergedRows> candidates = findCandidates(module, mesh);
    if (candidates.empty())
      return success();
    eraseBackwardSyncs(module);
    PlacementAnalysis analysis(module);
    if (failed(analysis.getStatus()))
      return failure();
    if (!analysis.getLayout())
      return success();
    analysis.propagate();
    llvm::SmallDenseSet<Operation *> seen;
    llvm::erase_if(candidates, [&](const MergedRows &rows) {
      unsigned index = analysis.getGraph().getIndex(rows.apart);
      return index == PlacementGraph::kNone ||
             !isUneven(rows, analysis.getPlacements().getSharding(index),
                       *analysis.getLayout()) ||
             !seen.insert(rows.reshape).second;
    });
    if (candidates.empty())
      return success();
    for (const MergedRows &rows : candidates)
      rewrite(rows);
  }
}
