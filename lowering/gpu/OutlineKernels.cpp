//===- OutlineKernels.cpp - Kernels in a module of their own --------------===//
//
// --dist-gpu-outline-kernels.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/gpu/Launch.h"
#include "lowering/gpu/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTGPUOUTLINEKERNELS
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct OutlineKernels : dist::impl::DistGpuOutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto device = ModuleOp::create(builder, module.getLoc(), kDeviceModule);
    copyConstants(module);
    auto before = module->getAttrOfType<IntegerAttr>(rt::kDeviceKernelsAttr);
    int64_t first = before ? before.getInt() : 0, count = first;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function->hasAttr(kBlocksAttr))
        continue;
      builder.setInsertionPointToEnd(device.getBody());
      auto kernel = cast<func::FuncOp>(builder.clone(*function));
      kernel.setPublic();
      shareMemory(kernel, builder);
      function.getBody().getBlocks().clear();
      function.setArgAttrsAttr({});
      function->setAttr(kNumberAttr, builder.getI64IntegerAttr(count++));
    }
    module->setAttr(rt::kDeviceKernelsAttr, builder.getI64IntegerAttr(count));
    if (count == first)
      device.erase();
  }

  /// What a block's threads share are variables of the module.
  static void shareMemory(func::FuncOp kernel, OpBuilder &builder) {
    SmallVector<memref::AllocaOp> shared;
    kernel.walk([&](memref::AllocaOp op) {
      if (op.getType().getMemorySpaceAsInt() == kShared)
        shared.push_back(op);
    });
    for (auto [number, op] : llvm::enumerate(shared)) {
      builder.setInsertionPoint(kernel);
      std::string name = (kernel.getName() + "_shared_" + Twine(number)).str();
      // That of an element: LLVM would take arrays to be aligned for vectors,
      // which PTX that names no alignment does not promise.
      int64_t bytes = getElementBytes(op.getType().getElementType());
      memref::GlobalOp::create(builder, op.getLoc(), name,
                               builder.getStringAttr("private"), op.getType(),
                               builder.getUnitAttr(), /*constant=*/false,
                               builder.getI64IntegerAttr(bytes));
      builder.setInsertionPoint(op);
      op.replaceAllUsesWith(
          memref::GetGlobalOp::create(builder, op.getLoc(), op.getType(), name)
              .getResult());
      op.erase();
    }
  }

  /// What the host does not load itself of a constant is the device's.
  static void copyConstants(ModuleOp module) {
    SmallVector<memref::GetGlobalOp> constants;
    module.walk([&](memref::GetGlobalOp op) { constants.push_back(op); });
    for (memref::GetGlobalOp constant : constants) {
      OpBuilder builder(constant);
      auto there = cast<memref::GetGlobalOp>(builder.clone(*constant));
      there->setAttr(kOnDeviceAttr, builder.getUnitAttr());
      replaceUses(constant, there);
      if (there.use_empty())
        there.erase();
    }
  }

  static void replaceUses(Value here, Value there) {
    for (OpOperand &use : llvm::make_early_inc_range(here.getUses())) {
      Operation *user = use.getOwner();
      if (isa<memref::LoadOp>(user))
        continue;
      if (!isa<ViewLikeOpInterface>(user)) {
        use.set(there);
        continue;
      }
      OpBuilder builder(user);
      Operation *view = builder.clone(*user);
      view->setOperand(use.getOperandNumber(), there);
      replaceUses(user->getResult(0), view->getResult(0));
    }
  }
};

} // namespace
