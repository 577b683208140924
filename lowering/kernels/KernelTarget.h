//===- KernelTarget.h - What a target says of its kernels -------*- C++ -*-===//
//
// Which loop nests go together is decided without knowing the target; how much
// pays, and how a group is written, the target says.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_KERNELTARGET_H
#define DIST_LOWERING_KERNELS_KERNELTARGET_H

#include "lowering/buffers/Contraction.h"
#include "lowering/kernels/KernelGroup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// A kernel, and what to call it with.
struct Kernel {
  FunctionOpInterface function;
  /// Buffers (arguments flattened to one dimension), in the order of the first
  /// arguments.
  SmallVector<Value> roots;
  /// Then scalars of the surrounding code, ...
  SmallVector<Value> scalars;
  /// ... then the offsets of these views.
  SmallVector<Value> views;
};

class KernelTarget {
public:
  virtual ~KernelTarget() = default;

  /// What pays in a group.
  virtual GroupLimits groupLimits() const = 0;

  /// Writes `group` as a function of the module at whose end the builder is.
  /// Equal kernels become one, so it hangs on `group` alone. `scratch`
  /// are roots that no one else uses and that shrink to what one iteration of
  /// the shared loops needs, where that is possible; on return it holds those
  /// that did.
  virtual FailureOr<Kernel> emitKernel(OpBuilder &builder, StringRef name,
                                       KernelGroup group,
                                       SmallVector<Value> &scratch) const = 0;

  /// Calls a kernel with what Kernel lists: a call or a launch.
  virtual void emitCall(OpBuilder &builder, Location loc,
                        FunctionOpInterface kernel,
                        ValueRange operands) const = 0;

  /// Whether the target's library does this contraction, and better than a
  /// kernel of loops: of each loop the size and the kind.
  virtual bool isContractionCall(Type in, Type out, ArrayRef<int64_t> sizes,
                                 ArrayRef<LoopKind> kinds) const = 0;

  /// The same of a convolution of so many multiply-adds.
  virtual bool isConvolutionCall(Type element, int64_t work) const = 0;
};

/// Gathers neighbouring linalg ops and copies of each function into groups,
/// writes each as a kernel and calls it; equal kernels are one function.
LogicalResult formKernels(ModuleOp module, const KernelTarget &target);

/// Contractions that the target's library does become `rt.contract`.
LogicalResult selectContractions(func::FuncOp function,
                                 const KernelTarget &target);

/// Convolutions on tensors that the target's library does become `rt.convolve`.
void selectConvolutions(func::FuncOp function, const KernelTarget &target);

/// Maxima and sums under windows over a padded image are computed from the
/// image itself, apart for the places at its edges.
void splitWindows(func::FuncOp function);

/// Buffers of `rt.convolve`, and those that are walked over with them, get
/// their channels innermost; kernels that never change are marked.
void chooseLayouts(func::FuncOp function);

/// For a program on one rank that others are compared with, that run on so many
/// ranks: contractions of bf16 are summed in f32 where those programs' are,
/// because each part of a contraction is one that the target's library does.
void widenContractions(ModuleOp module, const KernelTarget &target,
                       int64_t ranks);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_KERNELTARGET_H
