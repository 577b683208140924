//===- Rt.h - The dialect of runtime calls ----------------------*- C++ -*-===//
//
// Level 5: one op for each call of runtime/include/dist/runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_RT_H
#define DIST_LOWERING_RT_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::rt::detail {

/// Requirements of the interface of collectives.
LogicalResult verifyCollective(Operation *op);

/// Reads the operand and writes the destination, if they are buffers. On
/// tensors there are no effects: all ranks run the same program, so a
/// collective without readers can be erased on all of them.
void addCollectiveEffects(
    OpOperand &input, OpOperand &init,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects);

/// The operation's result of a type, or null.
template <typename Type> Value findResult(Operation *op) {
  for (Value result : op->getResults())
    if (isa<Type>(result.getType()))
      return result;
  return Value();
}

} // namespace mlir::rt::detail

#include "lowering/rt/RtDialect.h.inc"
#include "lowering/rt/RtEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "lowering/rt/RtAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "lowering/rt/RtTypes.h.inc"
// Names the token.
#include "lowering/rt/RtInterfaces.h.inc"
#define GET_OP_CLASSES
#include "lowering/rt/RtOps.h.inc"

namespace mlir::rt {

/// Module attributes for the manifest: a list of lists of mesh axes, and lists
/// of dictionaries that describe each collective, each constant that became an
/// argument, and each check.
inline constexpr llvm::StringLiteral kCommunicatorsAttr = "rt.communicators";
inline constexpr llvm::StringLiteral kCollectivesAttr = "rt.collectives";
inline constexpr llvm::StringLiteral kConstantsAttr = "rt.constants";
inline constexpr llvm::StringLiteral kChecksAttr = "rt.checks";
/// How many plans of rows there are: of the tasks of a pipeline, which are
/// lowered one after the other, each goes on counting.
inline constexpr llvm::StringLiteral kRowPlansAttr = "rt.row_plans";
/// Likewise of a GPU's kernels, which the tasks have together.
inline constexpr llvm::StringLiteral kDeviceKernelsAttr = "rt.device_kernels";
/// The number of kernels that were formed, for statistics.
inline constexpr llvm::StringLiteral kKernelsAttr = "rt.kernels";

/// On rt.comm_index: the number of the group's members.
inline constexpr llvm::StringLiteral kGroupSizeAttr = "rt.group_size";

/// Events are 0 to this.
inline constexpr int32_t kMaxEvent = 4095;
inline constexpr int32_t kMaxRowPlan = 255;

/// Registers the interfaces of the dialect's ops for one-shot bufferization.
void registerBufferizationModels(DialectRegistry &registry);

/// Element type as runtime.h's dist_dtype; fails for types it lacks.
FailureOr<int32_t> getDtype(Type elementType);
/// Its name in a manifest; "" for types that the runtime lacks.
StringRef getDtypeName(Type elementType);
/// The type of elements in a file. If the runtime has no name for the type, it
/// is integers of the same size as in memory. Fails beyond 64 bits, and for
/// types that are not numbers.
FailureOr<int32_t> getStorageDtype(Type elementType);

} // namespace mlir::rt

#endif // DIST_LOWERING_RT_RT_H
