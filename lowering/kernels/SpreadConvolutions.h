//===- SpreadConvolutions.h - Convolutions of images full of zeros --------===//

#ifndef DIST_LOWERING_KERNELS_SPREADCONVOLUTIONS_H
#define DIST_LOWERING_KERNELS_SPREADCONVOLUTIONS_H

#include "lowering/kernels/KernelTarget.h"

namespace mlir::dist {

/// Splits convolutions of images with zeros between their elements, as
/// transposed convolutions may be written (the ONNX importer writes them
/// otherwise), into convolutions of the images without,
/// where those are ones that the target's library does.
void splitSpreadConvolutions(func::FuncOp function, const KernelTarget &target);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_SPREADCONVOLUTIONS_H
