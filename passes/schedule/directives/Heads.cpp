//===- Heads.cpp - The projections of attention ---------------------------===//
//
// By dataflow: from each projection on to the contractions of activations, and
// on from those.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/directives/Heads.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::dist;

bool HeadProjection::isEven() const {
  return llvm::all_of(blocks, [&](const FeatureBlock &block) {
    return block.size == blocks.front().size &&
           block.heads == blocks.front().heads;
  });
}

namespace {

/// The dimensions of a value that a projection's features have become, major
/// to minor, and which of the features they are.
struct Features {
  struct Dim {
    int64_t place, size;
  };
  SmallVector<Dim, 4> dims;
  int64_t offset = 0;

  /// Features of one step along the major dimension.
  int64_t getUnit() const {
    int64_t unit = 1;
    for (const Dim &dim : llvm::drop_begin(dims))
      unit *= dim.size;
    return unit;
  }
};

/// Finds the blocks and heads that a projection's features are split into.
class FeatureTrace {
public:
  FeatureTrace(const llvm::SmallPtrSetImpl<Operation *> &module,
               const llvm::SmallPtrSetImpl<Operation *> &ends)
      : module(module), ends(ends) {}

  void walk(Value value, const Features &features) {
    for (OpOperand &use : value.getUses())
      walkUse(use, features);
  }

  /// The blocks in order, of so many features in all.
  SmallVector<FeatureBlock, 3> take(int64_t features);

private:
  void walkUse(OpOperand &use, const Features &features);
  void walkSlice(tensor::ExtractSliceOp slice, Features features);
  void walkExpand(tensor::ExpandShapeOp expand, const Features &features);
  void walkCollapse(tensor::CollapseShapeOp collapse, const Features &features);
  void walkLoops(linalg::LinalgOp op, OpOperand &use, const Features &features);
  /// Of the dimensions, the first `leading` are heads.
  void note(const Features &features, size_t leading = 1);

  const llvm::SmallPtrSetImpl<Operation *> &module, &ends;
  std::set<std::tuple<OpOperand *, int64_t, int64_t, int64_t>> seen;
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>>
      found; // heads, and what the group of each is
};

/// The attention in a module.
class Attention {
public:
  Attention(ArrayRef<Operation *> ops, Origins &origins);
  std::vector<HeadProjection> find();

private:
  /// The projections that products lead to, or, before, that lead to products,
  /// with no other contraction between.
  llvm::SmallPtrSet<Operation *, 16> findNext(bool isBefore);

  llvm::SmallPtrSet<Operation *, 32> module;
  llvm::MapVector<Operation *, FeatureContraction> projections;
  llvm::SmallPtrSet<Operation *, 8> products; // of activations
};

} // namespace

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

void FeatureTrace::note(const Features &features, size_t leading) {
  const Features::Dim &major = features.dims.front();
  auto &[heads, group] =
      found[{features.offset, major.size * features.getUnit()}];
  heads = std::max(heads, features.dims.size() > 1 ? major.size : 1);
  int64_t queries = 1;
  for (size_t dim = 1; dim < leading; ++dim)
    queries *= features.dims[dim].size;
  group = std::max(group, queries);
}

/// How many of the dimensions of a product's operand are before those that it
/// sums over; of values, which are not summed over, the first.
static size_t countHeadDims(OpOperand &use, const Features &features) {
  ShardingRule rule = getShardingRule(use.getOwner());
  const TensorRule &read = rule.operands[use.getOperandNumber()];
  for (auto [number, dim] : llvm::enumerate(features.dims))
    if (llvm::any_of(read.dims[dim.place], [&](unsigned factor) {
          return rule.factors[factor].kind == FactorKind::Reduction;
        }))
      return std::max<size_t>(number, 1);
  return 1;
}

void FeatureTrace::walkUse(OpOperand &use, const Features &features) {
  Operation *op = use.getOwner();
  if (ends.contains(op))
    return note(features, countHeadDims(use, features));
  const Features::Dim &major = features.dims.front();
  if (!module.contains(op) ||
      !seen.insert({&use, major.place, features.offset, major.size}).second)
    return;
  if (isa<ShardingConstraintOp, SyncOp, ManualReshardOp>(op))
    return walk(op->getResult(0), features);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return walkSlice(slice, features);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return walkExpand(expand, features);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return walkCollapse(collapse, features);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return walkLoops(structured, use, features);
  // Within heads, a part of which is rotated, they are concatenated again.
  if (auto concat = dyn_cast<tensor::ConcatOp>(op);
      concat && static_cast<int64_t>(concat.getDim()) != major.place)
    return walk(concat.getResult(), features);
}

void FeatureTrace::walkSlice(tensor::ExtractSliceOp slice, Features features) {
  Features::Dim &major = features.dims.front();
  int64_t offset = slice.getStaticOffsets()[major.place],
          size = slice.getStaticSizes()[major.place];
  if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
      slice.getStaticStrides()[major.place] != 1)
    return;
  features.offset += offset * features.getUnit();
  major.size = size;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  // One of a list of blocks; the others go on within it.
  if (size == 1) {
    if (features.dims.size() == 1 && dropped[major.place])
      return note(features);
    if (features.dims.size() > 1)
      features.dims.erase(features.dims.begin());
  }
  for (Features::Dim &dim : features.dims) {
    if (dropped[dim.place])
      return;
    int64_t place = dim.place;
    for (int64_t before = 0; before < place; ++before)
      dim.place -= dropped[before];
  }
  walk(slice, features);
}

void FeatureTrace::walkExpand(tensor::ExpandShapeOp expand,
                              const Features &features) {
  SmallVector<ReassociationIndices, 4> groups =
      expand.getReassociationIndices();
  RankedTensorType type = expand.getResultType();
  Features next{{}, features.offset};
  for (auto [index, dim] : llvm::enumerate(features.dims)) {
    // Of a part of each head, as in rotations, the heads are known.
    if (index > 0 && expand.getSrcType().getDimSize(dim.place) != dim.size) {
      next.dims.push_back({groups[dim.place].front(), dim.size});
      continue;
    }
    for (int64_t place : groups[dim.place]) {
      if (type.isDynamicDim(place) || type.getDimSize(place) == 0)
        return;
      if (type.getDimSize(place) != 1)
        next.dims.push_back({place, type.getDimSize(place)});
    }
  }
  if (!next.dims.empty())
    walk(expand, next);
}

void FeatureTrace::walkCollapse(tensor::CollapseShapeOp collapse,
                                const Features &features) {
  SmallVector<ReassociationIndices, 4> groups =
      collapse.getReassociationIndices();
  Features next = features;
  for (auto [number, from, to] : llvm::enumerate(features.dims, next.dims)) {
    int64_t place = from.place;
    auto *group = llvm::find_if(groups, [&](ArrayRef<int64_t> dims) {
      return llvm::is_contained(dims, place);
    });
    // One with others: what heads there are is known now.
    for (int64_t other : *group)
      if (other != place && collapse.getSrcType().getDimSize(other) != 1)
        return note(features, std::max<size_t>(number, 1));
    to.place = group - groups.begin();
  }
  walk(collapse, next);
}

void FeatureTrace::walkLoops(linalg::LinalgOp op, OpOperand &use,
                             const Features &features) {
  if (op.isDpsInit(&use))
    return;
  AffineMap from = op.getMatchingIndexingMap(&use);
  for (OpResult result : op->getResults()) {
    AffineMap to = op.getIndexingMapMatchingResult(result);
    Features next = features;
    bool isKept = true;
    for (Features::Dim &dim : next.dims) {
      auto *place = llvm::find(to.getResults(), from.getResult(dim.place));
      isKept &= place != to.getResults().end();
      dim.place = place - to.getResults().begin();
    }
    if (isKept)
      walk(result, next);
  }
}

SmallVector<FeatureBlock, 3> FeatureTrace::take(int64_t features) {
  SmallVector<FeatureBlock, 3> blocks;
  int64_t end = 0;
  for (auto [range, counts] : found) {
    auto [offset, size] = range;
    // Of nested ranges the smaller ones are blocks.
    if (offset == end && size > 0) {
      blocks.push_back({offset, size, counts.first, counts.second});
      end += size;
    }
  }
  if (end != features)
    blocks.assign(1, {0, features, 1});
  return blocks;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Attention::Attention(ArrayRef<Operation *> ops, Origins &origins)
    : module(ops.begin(), ops.end()) {
  for (Operation *op : ops) {
    if (auto contraction = origins.findFeatureContraction(op)) {
      projections.insert({op, std::move(*contraction)});
      continue;
    }
    SmallVector<OpOperand *, 4> data = getDataOperands(op);
    if (data.size() == 2 && op->getNumResults() == 1 &&
        llvm::all_of(data,
                     [&](OpOperand *operand) {
                       return origins.get(operand->get()).kind ==
                              Origin::Computed;
                     }) &&
        getShardingRule(op).isContraction)
      products.insert(op);
  }
}

llvm::SmallPtrSet<Operation *, 16> Attention::findNext(bool isBefore) {
  llvm::SmallPtrSet<Operation *, 16> found;
  SmallVector<Operation *> pending(products.begin(), products.end());
  llvm::SmallPtrSet<Operation *, 32> seen;
  auto visit = [&](Operation *next) {
    if (!module.contains(next) || products.contains(next) ||
        !seen.insert(next).second)
      return;
    if (projections.contains(next))
      found.insert(next);
    else
      pending.push_back(next);
  };
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (isBefore)
      for (Value operand : op->getOperands())
        visit(operand.getDefiningOp());
    else
      llvm::for_each(op->getUsers(), visit);
  }
  return found;
}

std::vector<HeadProjection> Attention::find() {
  std::vector<HeadProjection> out;
  auto before = findNext(/*isBefore=*/true),
       after = findNext(/*isBefore=*/false);
  for (auto &[op, contraction] : projections) {
    bool isInput = before.contains(op);
    if (!isInput && !after.contains(op))
      continue;
    HeadProjection projection{contraction, {}};
    if (isInput) {
      // The dimension of the result that the features are.
      const ShardingRule &rule = contraction.rule;
      const TensorRule &read =
          rule.operands[contraction.activation->getOperandNumber()];
      int64_t features = 1;
      FeatureTrace trace(module, products);
      for (auto [dim, factors] : llvm::enumerate(rule.results[0].dims))
        if (llvm::any_of(factors, [&](unsigned factor) {
              return !holdsFactor(read, factor);
            })) {
          features = cast<RankedTensorType>(op->getResult(0).getType())
                         .getDimSize(dim);
          if (!ShapedType::isDynamic(features))
            trace.walk(op->getResult(0),
                       {{{static_cast<int64_t>(dim), features}}, 0});
          break;
        }
      projection.blocks = trace.take(features);
    }
    out.push_back(std::move(projection));
  }
  return out;
}

std::vector<HeadProjection>
mlir::dist::findHeadProjections(ArrayRef<Operation *> module,
                                Origins &origins) {
  return Attention(module, origins).find();
}

HeadCounts::HeadCounts(ArrayRef<HeadProjection> projections) {
  for (const HeadProjection &projection : projections)
    for (const FeatureBlock &block : projection.blocks) {
      if (block.heads > queries) {
        queries = block.heads;
        toQueries = projection.contraction.op;
      }
      keys = keys ? std::min(keys, block.heads) : block.heads;
      group = std::max(group, block.group);
    }
}

int64_t HeadCounts::getUnits(int64_t devices) const {
  if (queries % keys != 0)
    return queries;
  int64_t byKeys = llvm::divideCeil(keys, devices) * (queries / keys);
  return keys >= devices ||
                 byKeys == int64_t(llvm::divideCeil(queries, devices))
             ? keys
             : queries;
}
