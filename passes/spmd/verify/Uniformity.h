//===- Uniformity.h - What all devices of a group agree on ------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_VERIFY_UNIFORMITY_H
#define DIST_PASSES_SPMD_VERIFY_UNIFORMITY_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Checks that every collective of a module of level 3 runs under conditions,
/// trip counts and calls on which all devices of its group agree; else they
/// would wait for each other for ever, or talk past each other. Values may
/// differ along the axes that shard them and that their coordinates are of;
/// all_reduce, all_gather and broadcast make them agree again.
LogicalResult verifyUniformControl(ModuleOp module, const MeshLayout &layout);

/// The values of a module of level 3 that all devices of a group along `axes`
/// agree on.
llvm::DenseSet<Value> findUniformValues(ModuleOp module,
                                        const MeshLayout &layout,
                                        ArrayRef<AxisRefAttr> axes);

/// Whether devices along `axes` have blocks of `size` elements side by side,
/// each as long as the first but for the end. Of 10 over 2 and 2 they have
/// not: blocks of 5 are cut into 3 and 2.
bool isEquallySpaced(const MeshLayout &layout, ArrayRef<AxisRefAttr> axes,
                     int64_t size);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_VERIFY_UNIFORMITY_H
