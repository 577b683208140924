//===- CarriedValues.cpp - What loops begin with --------------------------===//

#include "lowering/buffers/CarriedValues.h"
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
