//===- PlacedOps.cpp - Makes, places and erases ops of level 2 ------------===//

#include "passes/spmd/graph/PlacedOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

ShardingAttr PlacedOps::place(ArrayRef<DimShardingAttr> dims,
                              ReductionKind kind,
                              ArrayRef<AxisRefAttr> partial) const {
  if (partial.empty())
    kind = ReductionKind::Sum;
  return ShardingAttr::get(context, layout.getName(), dims, kind, partial);
}

Value PlacedOps::makeFree(Value value, ShardingAttr wanted) {
  // Pending is free as well: partition makes all but the first device neutral.
  if (Value known = versions.lookup({value, wanted}))
    return known;
  Operation *op = value.getDefiningOp();
  // The op itself serves its first user.
  Operation *made = op;
  if (hasShardings(op)) {
    OpBuilder builder(context);
    builder.setInsertionPointAfter(op);
    made = builder.clone(*op);
  }
  // That of an empty tensor stands before it.
  if (auto fill = dyn_cast<linalg::FillOp>(made)) {
    OpOperand *init = fill.getDpsInitOperand(0);
    init->set(makeFree(init->get(), wanted));
  }
  setShardings(made, wanted);
  notePlacement(made->getResult(0), wanted);
  return versions[{value, wanted}] = made->getResult(0);
}

Value PlacedOps::makeReshard(OpBuilder &builder, Location loc, Value value,
                             ShardingAttr from, ShardingAttr to,
                             StringRef cause, Attribute scope) {
  auto reshard = ReshardOp::create(builder, loc, value.getType(), value, from,
                                   to, builder.getStringAttr(cause));
  setShardings(reshard, to);
  if (scope)
    reshard->setAttr(kScopeAttr, scope);
  notePlacement(reshard, to);
  return reshard;
}
