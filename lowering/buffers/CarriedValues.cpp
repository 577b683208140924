//===- CarriedValues.cpp - What loops begin with --------------------------===//

#include "lowering/buffers/CarriedValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::bufferization;

/// Calls `action` for each tensor of static shape that a loop begins with.
static void forEachInit(
    ModuleOp module,
    function_ref<void(OpBuilder &, OpOperand &, RankedTensorType)> action) {
  module.walk([&](LoopLikeOpInterface loop) {
    OpBuilder builder(loop);
    for (OpOperand &init : loop.getInitsMutable())
      if (auto type = dyn_cast<RankedTensorType>(init.get().getType());
          type && type.hasStaticShape())
        action(builder, init, type);
  });
}

void mlir::dist::copyCarriedValues(ModuleOp module, InPlaceState &state) {
  forEachInit(
      module, [&](OpBuilder &builder, OpOperand &init, RankedTensorType type) {
        if (state.isInPlace(init) || state.hasUndefinedContents(&init))
          return;
        auto copy =
            AllocTensorOp::create(builder, init.getOwner()->getLoc(), type,
                                  /*dynamicSizes=*/ValueRange(), init.get());
        init.set(copy);
        state.bufferizeInPlace(copy.getCopyMutable()[0]);
        state.bufferizeInPlace(init);
      });
}

void mlir::dist::fixCarriedTypes(ModuleOp module) {
  forEachInit(module, [](OpBuilder &builder, OpOperand &init,
                         RankedTensorType type) {
    Location loc = init.getOwner()->getLoc();
    Value buffer = ToBufferOp::create(
        builder, loc, getMemRefTypeWithStaticIdentityLayout(type), init.get());
    init.set(ToTensorOp::create(builder, loc, type, buffer));
  });
}

using Model = BufferizableOpInterface::Concept;

/// A result of scf.for, or the value of its body for it.
static AliasingOpOperandList getTiedOperand(const Model *, Operation *op,
                                            Value value,
                                            const AnalysisState &state) {
  auto loop = cast<scf::ForOp>(op);
  OpOperand *init = nullptr;
  if (auto result = dyn_cast<OpResult>(value))
    init = loop.getTiedLoopInit(result);
  else
    init = loop.getTiedLoopInit(cast<BlockArgument>(value));
  if (!init || !isa<TensorType>(init->get().getType()))
    return {};
  AliasingOpOperandList operands;
  for (const AliasingValue &alias : state.getAliasingValues(*init))
    if (alias.value == value)
      operands.addAlias({init, alias.relation, alias.isDefinite});
  return operands;
}

void mlir::dist::registerLoopAliases(DialectRegistry &registry) {
  // The models of upstream cannot be replaced in part, and are its own.
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    std::optional<RegisteredOperationName> name =
        RegisteredOperationName::lookup(TypeID::get<scf::ForOp>(), context);
    Model *model =
        name ? name->getInterface<BufferizableOpInterface>() : nullptr;
    if (!model)
      llvm::report_fatal_error("upstream's models of scf come first");
    model->getAliasingOpOperands = getTiedOperand;
  });
}
