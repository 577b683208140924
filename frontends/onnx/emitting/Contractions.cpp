//===- Contractions.cpp - Contractions and their indexing maps ------------===//

#include "Emitter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist::frontend;

using Labels = SmallVector<int64_t>;

/// Takes transposes off an operand and puts them into its labels. A transpose
/// below a flattening comes out, too, where it leaves the flattened groups
/// together.
static Value peelTransposes(Emitter &emitter, Value value, Labels &labels) {
  while (true) {
    if (auto transpose = value.getDefiningOp<linalg::TransposeOp>()) {
      Labels before(labels.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        before[dim] = labels[i];
      labels = before;
      value = transpose.getInput();
      continue;
    }
    auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse)
      return value;
    auto below = collapse.getSrc().getDefiningOp<linalg::TransposeOp>();
    if (!below)
      return value;
    // Groups of the transpose's result, as runs of dimensions of its input.
    SmallVector<std::pair<int64_t, int64_t>> starts; // first dim, group
    Shape inner = emitter.shapeOf(below.getInput());
    for (auto [g, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      for (size_t i = 1; i < group.size(); ++i)
        if (below.getPermutation()[group[i]] !=
            below.getPermutation()[group[i - 1]] + 1)
          return value;
      starts.push_back({below.getPermutation()[group.front()], g});
    }
    llvm::sort(starts);
    Shape flat;
    Labels before;
    for (auto [start, g] : starts) {
      flat.push_back(emitter.shapeOf(value)[g]);
      before.push_back(labels[g]);
    }
    labels = before;
    value = emitter.reshape(below.getInput(), flat);
  }
}

namespace {
struct Operand {
  Value value;
  Labels labels;
};
} // namespace

/// Labels whose dimension is flattened, in the same way in each operand that
/// has it, become one label for each of the flattened dimensions. This is not
/// done if both operands have such labels of their own: scores of all pairs of
/// pixels are a matrix of pixels.
static void splitFlattened(Emitter &emitter, MutableArrayRef<Operand> operands,
                           ArrayRef<int64_t> result,
                           llvm::MapVector<int64_t, Labels> &split,
                           int64_t &nextLabel) {
  llvm::MapVector<int64_t, Shape> sizes;
  llvm::SmallSetVector<int64_t, 4> differ;
  for (const Operand &operand : operands) {
    std::optional<Emitter::Unflattened> whole =
        emitter.unflatten(operand.value, {});
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      Shape parts;
      if (whole)
        for (int64_t inner : whole->groups[dim])
          if (int64_t size = emitter.shapeOf(whole->value)[inner]; size != 1)
            parts.push_back(size);
      if (parts.size() < 2)
        parts = {emitter.shapeOf(operand.value)[dim]};
      auto [it, fresh] = sizes.insert({label, parts});
      if (!fresh && it->second != parts)
        differ.insert(label);
    }
  }
  auto isOwn = [&](int64_t label, const Operand &operand) {
    const Operand &other = &operand == &operands[0] ? operands[1] : operands[0];
    return sizes[label].size() > 1 &&
           !llvm::is_contained(other.labels, label) &&
           llvm::is_contained(result, label);
  };
  if (llvm::all_of(operands, [&](const Operand &operand) {
        return llvm::any_of(operand.labels, [&](int64_t label) {
          return isOwn(label, operand);
        });
      }))
    for (const Operand &operand : operands)
      for (int64_t label : operand.labels)
        if (isOwn(label, operand))
          differ.insert(label);
  for (auto &[label, parts] : sizes) {
    if (parts.size() < 2 || differ.contains(label))
      continue;
    for (size_t i = 0; i < parts.size(); ++i)
      split[label].push_back(nextLabel++);
  }
  for (Operand &operand : operands) {
    Shape shape;
    Labels labels;
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      auto it = split.find(label);
      if (it == split.end()) {
        shape.push_back(emitter.shapeOf(operand.value)[dim]);
        labels.push_back(label);
        continue;
      }
      shape.append(sizes[label]);
      labels.append(it->second);
    }
    operand = {emitter.reshape(operand.value, shape), labels};
  }
}

Value Emitter::contract(Value lhs, ArrayRef<int64_t> lhsLabels, Value rhs,
                        ArrayRef<int64_t> rhsLabels,
                        ArrayRef<int64_t> resultLabels) {
  Type element = getElementTypeOrSelf(lhs);
  Operand operands[] = {{lhs, Labels(lhsLabels)}, {rhs, Labels(rhsLabels)}};

  llvm::DenseMap<int64_t, int64_t> extentOf;
  for (const Operand &operand : operands)
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      int64_t &size = extentOf.try_emplace(label, 1).first->second;
      if (shapeOf(operand.value)[dim] != 1)
        size = shapeOf(operand.value)[dim];
    }
  Shape resultShape;
  for (int64_t label : resultLabels)
    resultShape.push_back(extentOf.lookup(label));
  // Sums over nothing.
  if (llvm::any_of(extentOf, [](auto entry) { return entry.second == 0; }))
    return filled(resultShape, scalar(element, 0.0));

  // Drop the unit dimensions that are broadcast.
  for (Operand &operand : operands) {
    Shape kept;
    Labels labels;
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      int64_t size = shapeOf(operand.value)[dim];
      if (size != extentOf.lookup(label))
        continue;
      kept.push_back(size);
      labels.push_back(label);
    }
    operand = {reshape(operand.value, kept), labels};
  }
  Labels result(resultLabels);
  // Unit loops that only one operand has say nothing, but those of the result
  // must be in an operand: the reshape at the end brings them back.
  auto inOperand = [&](int64_t label) {
    return llvm::is_contained(operands[0].labels, label) ||
           llvm::is_contained(operands[1].labels, label);
  };
  llvm::erase_if(result, [&](int64_t label) { return !inOperand(label); });

  int64_t nextLabel = 1;
  for (const Operand &operand : operands)
    for (int64_t label : operand.labels)
      nextLabel = std::max(nextLabel, label + 1);
  for (int round = 0; round < 4; ++round) {
    for (Operand &operand : operands)
      operand.value = peelTransposes(*this, operand.value, operand.labels);
    llvm::MapVector<int64_t, Labels> split;
    splitFlattened(*this, operands, result, split, nextLabel);
    if (split.empty())
      break;
    Labels expanded;
    for (int64_t label : result) {
      auto it = split.find(label);
      if (it == split.end())
        expanded.push_back(label);
      else
        expanded.append(it->second);
    }
    result = expanded;
  }

  // Loops: the result's, then the contracted ones.
  llvm::SmallSetVector<int64_t, 8> loops;
  loops.insert(result.begin(), result.end());
  for (const Operand &operand : operands)
    loops.insert(operand.labels.begin(), operand.labels.end());
  MLIRContext *context = builder.getContext();
  auto mapOf = [&](ArrayRef<int64_t> labels) {
    SmallVector<AffineExpr> exprs;
    for (int64_t label : labels)
      exprs.push_back(getAffineDimExpr(
          std::distance(loops.begin(), llvm::find(loops, label)), context));
    return AffineMap::get(loops.size(), 0, exprs, context);
  };
  SmallVector<AffineMap> maps{mapOf(operands[0].labels),
                              mapOf(operands[1].labels), mapOf(result)};

  llvm::DenseMap<int64_t, int64_t> extents;
  for (const Operand &operand : operands)
    for (auto [dim, label] : llvm::enumerate(operand.labels))
      extents[label] = shapeOf(operand.value)[dim];
  Shape shape;
  for (int64_t label : result)
    shape.push_back(extents.lookup(label));
  bool narrow = element.isF16() || element.isBF16();
  Type accumulator = narrow ? builder.getF32Type() : element;
  Value init = filled(shape, scalar(accumulator, 0.0));
  SmallVector<Value> inputs{operands[0].value, operands[1].value};

  bool contracts = loops.size() > result.size();
  Value value;
  if (contracts) {
    value = note(linalg::ContractOp::create(builder, loc, init.getType(),
                                            inputs, init,
                                            builder.getAffineMapArrayAttr(maps))
                     .getResult(0),
                 shape);
  } else {
    // An outer product has nothing to accumulate.
    value =
        this->loops(inputs, ArrayRef(maps).drop_back(), empty(shape, element),
                    maps.back(), [](LoopScalar &s, ArrayRef<Value> in, Value) {
                      return s.mul(in[0], in[1]);
                    });
    return reshape(value, resultShape);
  }
  if (narrow)
    value = cast(value, DType::F32, element.isF16() ? DType::F16 : DType::BF16);
  return reshape(value, resultShape);
}
