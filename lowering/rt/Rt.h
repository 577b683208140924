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

/// What the interface of collectives asks of every op that has it.
LogicalResult verifyCollective(Operation *op);

/// Reads the operand and writes the destination, where they are buffers. On
/// tensors there are no effects: all ranks run the same program, so that a
/// collective whose result nobody reads disappears from all of them.
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
/// The number of kernels that were formed, for whoever asks.
inline constexpr llvm::StringLiteral kKernelsAttr = "rt.kernels";

/// On rt.comm_index: how many members the group has.
inline constexpr llvm::StringLiteral kGroupSizeAttr = "rt.group_size";

/// Events are 0 to this.
inline constexpr int32_t kMaxEvent = 4095;
inline constexpr int32_t kMaxRowPlan = 255;

/// Teaches one-shot bufferization the dialect's ops.
void registerBufferizationModels(DialectRegistry &registry);

/// Element type as runtime.h's dist_dtype; fails for types it lacks.
FailureOr<int32_t> getDtype(Type elementType);
/// Its name in a manifest, "" for types the runtime lacks.
StringRef getDtypeName(Type elementType);
/// The type as which elements lie in a file: where the runtime has no name for
/// theirs, integers of the size that they have in memory; fails beyond 64 bits,
/// and for what is no number.
FailureOr<int32_t> getStorageDtype(Type elementType);

} // namespace mlir::rt

#endif // DIST_LOWERING_RT_RT_H
