//===- UnevenMerge.cpp - Rows merged from uneven periods ------------------===//

#include "passes/spmd/prepare/UnevenMerge.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/spmd/graph/MovedValues.h"
#include "passes/spmd/graph/Windows.h"
#include "passes/spmd/prepare/TiedRows.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Either reshape of one group of dimensions.
struct UnevenMerge {
  Operation *reshape;
  /// The tensor with separate dimensions: operand or result, or a value that
  /// follows it (a cotangent, placed like its primal). If several reshapes are
  /// rewritten, it may belong to another one, but its type stays.
  Value apart;
  RankedTensorType type;
  ReassociationIndices group;
  /// Where the merged dimension is in the other one.
  unsigned merged;
  /// Whether what is apart is written or read in windows of the major one.
  bool isInWindows;

  Value getMerged() const {
    return isa<tensor::CollapseShapeOp>(reshape) ? reshape->getResult(0)
                                                 : reshape->getOperand(0);
  }
  int64_t getPeriods() const { return type.getDimSize(group.front()); }
  int64_t getPeriod() const {
    int64_t period = 1;
    for (int64_t dim : ArrayRef(group).drop_front())
      period *= type.getDimSize(dim);
    return period;
  }
  int64_t getRowBytes() const {
    return getTensorBytes(type) / (getPeriods() * getPeriod());
  }
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
static SmallVector<UnevenMerge> findCandidates(ModuleOp module, MeshOp mesh) {
  SmallVector<UnevenMerge> found;
  auto add = [&](Operation *op, Value apart,
                 ArrayRef<ReassociationIndices> groups) {
    auto type = cast<RankedTensorType>(apart.getType());
    if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat() ||
        type.getElementType().isInteger(1) || !type.getNumElements())
      return;
    for (auto [merged, group] : llvm::enumerate(groups)) {
      if (group.size() < 2)
        continue;
      UnevenMerge rows{op,
                       apart,
                       type,
                       group,
                       static_cast<unsigned>(merged),
                       isInWindows(apart, group.front())};
      bool isUneven = llvm::any_of(mesh.getAxes(), [&](MeshAxisAttr axis) {
        return rows.getPeriods() % axis.getSize() != 0;
      });
      if (isUneven && rows.getPeriod() > 1)
        found.push_back(std::move(rows));
    }
  };
  bool hasWindows = false;
  module.walk([&](Operation *op) {
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      add(op, collapse.getSrc(), collapse.getReassociationIndices());
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      add(op, getFollowing(expand), expand.getReassociationIndices());
    else
      hasWindows |= isa<linalg::LinalgOp>(op) && mayReadWindows(op);
  });
  if (!hasWindows)
    found.clear();
  return found;
}

//===----------------------------------------------------------------------===//
// Which rows
//===----------------------------------------------------------------------===//

namespace {
class RowsAnalysis {
public:
  RowsAnalysis(PlacementAnalysis &analysis)
      : graph(analysis.getGraph()), placements(analysis.getPlacements()),
        layout(*analysis.getLayout()) {}

  /// Leaves those that are to be rewritten.
  void choose(SmallVectorImpl<UnevenMerge> &candidates);

private:
  /// The sharding of the periods.
  DimShardingAttr getPeriods(const UnevenMerge &rows) const;
  unsigned getTie(const UnevenMerge &rows, bool isMerged) const {
    return isMerged
               ? tied->getTie(graph.getIndex(rows.getMerged()), rows.merged)
               : tied->getTie(graph.getIndex(rows.apart), rows.group.front());
  }
  /// Whether the merged rows are in blocks.
  bool isInBlocks(const UnevenMerge &rows) const {
    return placements.getDims(graph.getIndex(rows.getMerged()))[rows.merged]
                   .sharding.getSubDims()
                   .size() == 1 ||
           (!blocks.empty() && blocks[getTie(rows, /*isMerged=*/true)]);
  }
  /// Those for which less is sent.
  llvm::BitVector findChosen(ArrayRef<UnevenMerge> candidates);

  const PlacementGraph &graph;
  const Placements &placements;
  const MeshLayout &layout;
  std::optional<TiedRows> tied;
  /// The expected placement of values that are not placed yet, by ties; empty
  /// as long as only placed values count.
  SmallVector<DimShardingAttr, 0> blocks;
};
} // namespace

DimShardingAttr RowsAnalysis::getPeriods(const UnevenMerge &rows) const {
  unsigned apart = graph.getIndex(rows.apart),
           merged = graph.getIndex(rows.getMerged());
  if (apart == PlacementGraph::kNone || merged == PlacementGraph::kNone)
    return layout.none();
  ArrayRef<Placements::DimState> dims = placements.getDims(apart);
  for (int64_t dim : ArrayRef(rows.group).drop_front())
    if (dims[dim].sharding != layout.none())
      return layout.none();
  DimShardingAttr dim =
      layout.canonical(dims[rows.group.front()].sharding, rows.getPeriods());
  bool isExpand = isa<tensor::ExpandShapeOp>(rows.reshape);
  if (dim != layout.none() || (!isExpand && blocks.empty()))
    return dim;
  // Blocks of rows that end within periods tell nothing of these.
  DimShardingAttr other = placements.getDims(merged)[rows.merged].sharding;
  if (!blocks.empty() && (!isExpand || other == layout.none()))
    other = blocks[getTie(rows, /*isMerged=*/isExpand)];
  bool isFree = other && other.getSubDims().size() == 1 &&
                placements.fits(apart, rows.group.front(), other);
  return isFree ? other : layout.none();
}

llvm::BitVector RowsAnalysis::findChosen(ArrayRef<UnevenMerge> candidates) {
  struct Group {
    SmallVector<size_t> members;
    /// The bytes of moving rows over borders, and of gathering instead.
    int64_t bytes = 0, whole = INT64_MAX;
  };
  llvm::MapVector<std::pair<unsigned, DimShardingAttr>, Group> groups;
  llvm::BitVector isChosen(candidates.size());
  for (auto [number, rows] : llvm::enumerate(candidates)) {
    DimShardingAttr dim = getPeriods(rows);
    int64_t periods = rows.getPeriods(), period = rows.getPeriod();
    if (dim == layout.none() || dim.getSubDims().size() != 1 ||
        layout.isEven(dim, periods) ||
        layout.join({dim, layout.none()}, {periods, period})
                .getSubDims()
                .size() == 1)
      continue;
    WindowPlan plan(layout, dim, periods * period, periods,
                    {/*dim=*/0, period, period, /*offset=*/0});
    int64_t others = (plan.rows.devices - 1) * plan.rows.extent;
    if (!plan.isLine() || !plan.isExchanged || plan.sent >= others)
      continue;
    if (rows.isInWindows && plan.sent <= plan.rows.extent) {
      isChosen.set(number);
      continue;
    }
    if (!tied)
      tied.emplace(graph, placements, layout);
    unsigned tie = getTie(rows, /*isMerged=*/true);
    Group &group = groups[{tie, dim}];
    group.members.push_back(number);
    group.bytes += plan.sent * rows.getRowBytes();
    group.whole = std::min(group.whole, tied->getNeeds(tie).whole);
    // Rows that are in blocks are gathered before they are split; the separate
    // dimensions are whole then.
    if (isa<tensor::ExpandShapeOp>(rows.reshape) && isInBlocks(rows)) {
      group.whole = std::min(group.whole, getLeastBytes(rows.getMerged()));
      group.bytes += tied->getNeeds(getTie(rows, /*isMerged=*/false))
                         .getHaloBytes(layout, dim);
    }
  }
  // All of one dimension or none, since a gather of it is enough for all.
  for (auto &[key, group] : groups) {
    auto [tie, dim] = key;
    int64_t devices = Blocks(layout, dim, /*size=*/1).devices;
    if (group.whole == INT64_MAX ||
        group.bytes + tied->getNeeds(tie).getHaloBytes(layout, dim) >=
            group.whole / devices * (devices - 1))
      continue;
    for (size_t member : group.members)
      isChosen.set(member);
  }
  return isChosen;
}

void RowsAnalysis::choose(SmallVectorImpl<UnevenMerge> &candidates) {
  llvm::BitVector isChosen = findChosen(candidates);
  if (isChosen.none())
    return candidates.clear();
  // What is behind a reshape is placed once that is rewritten: as rows are
  // then, so that not each takes an analysis of its own.
  if (!tied)
    tied.emplace(graph, placements, layout);
  for (const UnevenMerge &rows : candidates)
    if (graph.getIndex(rows.apart) != PlacementGraph::kNone &&
        graph.getIndex(rows.getMerged()) != PlacementGraph::kNone) {
      bool isExpand = isa<tensor::ExpandShapeOp>(rows.reshape);
      tied->addStep(getTie(rows, isExpand), getTie(rows, !isExpand));
    }
  blocks = tied->inferBlocks(placements, layout);
  isChosen |= findChosen(candidates);
  // One group of a reshape at a time.
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<UnevenMerge> chosen;
  for (auto [number, rows] : llvm::enumerate(candidates))
    if (isChosen[number] && seen.insert(rows.reshape).second)
      chosen.push_back(std::move(rows));
  candidates = std::move(chosen);
}

/// `rows.reshape` as an op that writes a period, or reads one, at a time.
static void rewrite(const UnevenMerge &rows) {
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
  // Loops that move within the windows of the result are reductions.
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
    Value nothing = arith::ConstantOp::create(
        b, loc, getNeutral(b, element, ReductionKind::Sum));
    Value empty = note(tensor::EmptyOp::create(b, loc, merged, element));
    Value fill = note(linalg::FillOp::create(b, loc, nothing, empty));
    result = note(linalg::GenericOp::create(
        b, loc, fill.getType(), value, fill, ArrayRef<AffineMap>{identity, map},
        loops, [](OpBuilder &inner, Location at, ValueRange args) {
          linalg::YieldOp::create(inner, at,
                                  createSum(inner, at, args[1], args[0]));
        }));
  } else {
    Value empty = note(tensor::EmptyOp::create(b, loc, shape, element));
    result = note(createParallelLoops(
        b, loc, value, map, empty,
        [](OpBuilder &, Location, ValueRange args) -> SmallVector<Value> {
          return {args[0]};
        }));
    if (isSplit)
      result =
          note(tensor::ExpandShapeOp::create(b, loc, apart, result, others));
  }
  for (Operation *created : made)
    // Unless an earlier run has placed it, with other dimensions.
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (attr.getName() != kShardingsAttr)
        created->setDiscardableAttr(attr.getName(), attr.getValue());
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// Once for each resize in a row, since what is behind one is placed when its
/// rows are.
LogicalResult mlir::dist::rewriteUnevenMerges(ModuleOp module, MeshOp mesh) {
  for (;;) {
    SmallVector<UnevenMerge> candidates = findCandidates(module, mesh);
    if (candidates.empty())
      return success();
    eraseBackwardSyncs(module);
    PlacementAnalysis analysis(module);
    if (failed(analysis.getStatus()))
      return failure();
    if (!analysis.getLayout())
      return success();
    analysis.propagate();
    RowsAnalysis(analysis).choose(candidates);
    if (candidates.empty())
      return success();
    for (const UnevenMerge &rows : candidates)
      rewrite(rows);
  }
}
