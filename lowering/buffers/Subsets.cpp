//===- Subsets.cpp - Parts of tensors, taken out and put back -------------===//

#include "lowering/buffers/Subsets.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
enum class Overlap { Same, Apart, Partly };
} // namespace

/// Compares subsets of one tensor whose offsets, sizes and strides are numbers.
/// Upstream's solver finds the same, in a thousand times as long.
static std::optional<Overlap> compareConstant(SubsetOpInterface a,
                                              SubsetOpInterface b) {
  FailureOr<HyperrectangularSlice> first = a.getAccessedHyperrectangularSlice(),
                                   second =
                                       b.getAccessedHyperrectangularSlice();
  if (failed(first) || failed(second))
    return std::nullopt;
  auto getNumbers = [](const HyperrectangularSlice &slice) {
    std::pair<SmallVector<int64_t>, bool> result({}, true);
    for (ArrayRef<OpFoldResult> list :
         {slice.getMixedOffsets(), slice.getMixedSizes(),
          slice.getMixedStrides()})
      for (OpFoldResult value : list) {
        std::optional<int64_t> number = getConstantIntValue(value);
        result.second &= number.has_value();
        result.first.push_back(number.value_or(0));
      }
    return result;
  };
  auto [x, isConstantX] = getNumbers(*first);
  auto [y, isConstantY] = getNumbers(*second);
  if (!isConstantX || !isConstantY || x.size() != y.size())
    return std::nullopt;
  if (x == y)
    return Overlap::Same;
  size_t rank = x.size() / 3;
  if (llvm::any_of(ArrayRef(x).take_back(rank),
                   [](int64_t s) { return s < 1; }) ||
      llvm::any_of(ArrayRef(y).take_back(rank),
                   [](int64_t s) { return s < 1; }))
    return std::nullopt;
  auto endOf = [&](ArrayRef<int64_t> numbers, size_t dim) {
    return numbers[dim] + (numbers[rank + dim] - 1) * numbers[2 * rank + dim] +
           1;
  };
  for (size_t dim = 0; dim < rank; ++dim)
    if (endOf(x, dim) <= y[dim] || endOf(y, dim) <= x[dim])
      return Overlap::Apart;
  return Overlap::Partly;
}

/// Whether both ops operate on the same part of the same tensor.
static bool areSameSubset(SubsetOpInterface a, SubsetOpInterface b) {
  if (std::optional<Overlap> known = compareConstant(a, b))
    return *known == Overlap::Same &&
           a.getTensorContainer() == b.getTensorContainer();
  return a.operatesOnEquivalentSubset(b,
                                      [](Value x, Value y) { return x == y; });
}

void SubsetTrace::trace(Operation *op,
                        const bufferization::AnalysisState &state) {
  if (auto extraction = dyn_cast<SubsetExtractionOpInterface>(op)) {
    origins[extraction.getResult()] = extraction;
    return;
  }
  if (auto insertion = dyn_cast<SubsetInsertionOpInterface>(op)) {
    Value destination = insertion.getDestinationOperand().get();
    auto found = origins.find(insertion.getSourceOperand().get());
    if (isa<TensorType>(destination.getType()) && found != origins.end() &&
        !insertions.contains(found->second) &&
        areSameSubset(cast<SubsetOpInterface>(op),
                      cast<SubsetOpInterface>(*found->second)) &&
        llvm::count(op->getOperands(), destination) == 1)
      insertions[found->second] = op;
  }
  auto inherit = [&](Value result, Value from) {
    auto found = origins.find(from);
    if (found != origins.end() && isa<TensorType>(result.getType()))
      origins[result] = SubsetExtractionOpInterface(found->second);
  };
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    if (std::optional<ResultRange> results = loop.getLoopResults();
        results && results->size() == loop.getInits().size())
      for (auto [result, init] : llvm::zip_equal(*results, loop.getInits()))
        inherit(result, init);
    return;
  }
  for (Value result : op->getResults()) {
    if (!isa<TensorType>(result.getType()))
      continue;
    bufferization::AliasingOpOperandList aliases =
        state.getAliasingOpOperands(result);
    if (aliases.getNumAliases() == 1)
      inherit(result, aliases.begin()->opOperand->get());
  }
}

Value SubsetTrace::getExtractionPutBack(
    SubsetInsertionOpInterface insertion) const {
  auto origin = origins.find(insertion.getSourceOperand().get());
  if (origin == origins.end() || insertions.lookup(origin->second) != insertion)
    return {};
  return SubsetExtractionOpInterface(origin->second).getResult();
}

Operation *SubsetTrace::findInsertion(Value inner, Value container) const {
  for (auto origin = origins.find(inner); origin != origins.end();
       origin = origins.find(inner)) {
    SubsetExtractionOpInterface extraction = origin->second;
    inner = extraction.getSourceOperand().get();
    if (inner == container)
      if (Operation *insertion = insertions.lookup(extraction))
        return insertion;
  }
  return nullptr;
}

bool SubsetTrace::areDisjoint(
    Value value, OpOperand &operand,
    function_ref<bool(Value, Value)> areEquivalent) const {
  auto read = origins.find(value), written = origins.find(operand.get());
  if (read == origins.end())
    return false;
  SubsetOpInterface subset;
  if (auto insertion = dyn_cast<SubsetInsertionOpInterface>(operand.getOwner());
      insertion && &insertion.getDestinationOperand() == &operand)
    subset = cast<SubsetOpInterface>(*insertion);
  else if (written != origins.end())
    subset = cast<SubsetOpInterface>(*written->second);
  if (!subset)
    return false;
  auto other = cast<SubsetOpInterface>(*read->second);
  // A reshape of a tensor may be the same buffer, but a subset of it has other
  // coordinates. Example: [1, 0] of 2 x 4 and [2, 0] of 4 x 2 are one element.
  if (subset.getTensorContainer().getType() !=
      other.getTensorContainer().getType())
    return false;
  if (std::optional<Overlap> known = compareConstant(subset, other))
    return *known == Overlap::Apart &&
           areEquivalent(subset.getTensorContainer(),
                         other.getTensorContainer());
  return subset.operatesOnDisjointSubset(other, areEquivalent);
}
