//===- KernelTarget.h - A target's policies for kernels ---------*- C++ -*-===//
//
// Which loop nests can go together does not depend on the target. The target
// decides how much pays, and emits the group.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_KERNELTARGET_H
#define DIST_LOWERING_KERNELS_KERNELTARGET_H

#include "lowering/buffers/ContractionMatch.h"
#include "lowering/kernels/ExpandAttention.h"
#include "lowering/kernels/KernelGroup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// A kernel, and its operands.
struct Kernel {
  FunctionOpInterface function;
  /// Buffers (arguments flattened to one dimension), in the order of the first
  /// arguments.
  SmallVector<Value> roots;
  /// Then scalars of the surrounding code, ...
  SmallVector<Value> scalars;
  /// ... then the offsets of these views, ...
  SmallVector<Value> views;
  /// ... then where it begins in buffers. So kernels of other parts of a
  /// tensor are equal.
  SmallVector<int64_t> starts;
};

class KernelTarget {
public:
  virtual ~KernelTarget() = default;

  /// The limits of a group.
  virtual GroupLimits groupLimits() const = 0;

  /// Emits `group` as a function at the end of the builder's module. The
  /// function must depend on `group` only: equal kernels are shared. `scratch`
  /// are roots that have no other users; they shrink to what one iteration of
  /// the shared loops needs, if possible. On return it holds those that did.
  virtual FailureOr<Kernel> emitKernel(OpBuilder &builder, StringRef name,
                                       KernelGroup group,
                                       SmallVector<Value> &scratch) const = 0;

  /// The same for a scatter of buffers, on a target that has them
  /// (Target::hasScatters).
  virtual FailureOr<Kernel> emitScatter(OpBuilder &builder, StringRef name,
                                        rt::ScatterOp scatter,
                                        const BufferAliases &aliases) const {
    return scatter.emitOpError("is no kernel of this target");
  }

  /// Calls a kernel with the operands of Kernel: a call or a launch.
  virtual void emitCall(OpBuilder &builder, Location loc,
                        FunctionOpInterface kernel,
                        ValueRange operands) const = 0;

  /// Whether the target's library does this contraction, and faster than a
  /// kernel of loops. Arguments are the size and kind of each loop.
  virtual bool isContractionCall(Type in, Type out, ArrayRef<int64_t> sizes,
                                 ArrayRef<LoopKind> kinds) const = 0;

  /// Whether it also has it with the loops' strides, of which `loops` are those
  /// of more than one iteration. If not, it is summed in f32.
  virtual bool hasContraction(Type out, ArrayRef<rt::LoopAttr> loops) const {
    return true;
  }

  /// The same for a convolution of so many multiply-adds.
  virtual bool isConvolutionCall(Type element, int64_t work) const = 0;

  /// What tiles of attention cost; of none if it is computed by slices
  /// (Target::mostScoresAtOnce).
  virtual AttentionTiles attentionTiles() const { return {}; }
};

/// Makes `target`, which outlives all passes, known to passes of the option
/// `target=NAME`.
void registerKernelTarget(StringRef name, const KernelTarget &target);

/// Collects neighbouring linalg ops and copies of each function in groups,
/// emits each as a kernel and calls it. Equal kernels are one function.
LogicalResult formKernels(ModuleOp module, const KernelTarget &target);

/// Contractions that the target's library supports become `rt.contract`.
LogicalResult selectContractions(func::FuncOp function,
                                 const KernelTarget &target);

/// Convolutions on tensors that the target's library supports become
/// `rt.convolve`.
void selectConvolutions(func::FuncOp function, const KernelTarget &target);

/// Maxima and sums in windows over a padded image are computed from the image
/// itself, separately for the positions at its edges.
void splitWindows(func::FuncOp function);

/// Buffers of `rt.convolve`, and buffers that are accessed together with them,
/// get their channels innermost. Constant kernels are marked.
void chooseLayouts(func::FuncOp function);

/// Sums a contraction in f32, and rounds the sums to its result. Returns the op
/// that sums. If sums on several ranks are meant (`isCut`), of so many terms in
/// all, they may be rounded in between.
linalg::LinalgOp widenContraction(linalg::LinalgOp op, int64_t terms,
                                  bool isCut);

/// For a program on one rank that is compared with programs on so many ranks.
/// Contractions of bf16 are summed in f32 if those programs do so, because each
/// rank's part is a contraction that the target's library does.
void widenContractions(ModuleOp module, const KernelTarget &target,
                       int64_t ranks);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_KERNELTARGET_H
