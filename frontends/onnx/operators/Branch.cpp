//===- Branch.cpp - Converter of If ---------------------------------------===//
//
// The reader puts the nodes of both branches before the If itself, which then
// reads the condition, the results of `then` and those of `else`. If the
// condition is constant, the importer has converted one branch only. Otherwise
// both are computed, which is the same: nodes have no effects. Operands that a
// branch cannot handle are no error if the branch is not taken
// (Emitter::whereTaken).
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

static LogicalResult branch(NodeContext &c) {
  size_t count = c.node.outputs.size();
  if (c.numInputs() != 1 + 2 * count)
    return c.invalid("branches of other than " + Twine(count) + " results");
  const Tensor &condition = c.in(0);
  if (condition.type != DType::Bool || countElements(condition.shape) != 1)
    return c.invalid("a condition " + nameOf(condition.type) + " " +
                     toString(condition.shape));
  if (condition.known) {
    bool taken = condition.known->getInt(0) != 0;
    for (size_t i = 0; i < count; ++i)
      c.set(i, c.in(1 + i + (taken ? 0 : count)));
    return success();
  }
  for (size_t i = 0; i < count; ++i) {
    const Tensor &yes = c.in(1 + i), &no = c.in(1 + count + i);
    if (yes.isSequence || no.isSequence || yes.type != no.type ||
        yes.shape != no.shape)
      return c.unsupported("If on data computed at run time, with results of "
                           "different shapes");
    Value chosen = c.emitter.map({c.emitter.reshape(c.value(0), {}),
                                  c.value(1 + i), c.value(1 + count + i)},
                                 yes.shape, c.emitter.typeOf(yes.type),
                                 [](Scalar &s, ArrayRef<Value> in) {
                                   return s.select(in[0], in[1], in[2]);
                                 });
    c.set(i, chosen, yes.type);
  }
  return success();
}

void mlir::dist::frontend::addBranchConverters(ConverterTable &table) {
  table.add("If", 1, branch, /*takesSequences=*/true);
  table.takeOpenSizes({"If"});
}
