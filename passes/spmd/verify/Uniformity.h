//===- Uniformity.h - Values equal on a group's devices ---------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_VERIFY_UNIFORMITY_H
#define DIST_PASSES_SPMD_VERIFY_UNIFORMITY_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Checks that every collective of a module of level 3 runs under conditions,
/// trip counts and calls that are equal on all devices of its group. Otherwise
/// devices would wait for each other forever, or different collectives would
/// meet. Values may differ along the axes that shard them, and along the axes
/// of coordinates that they are computed from. all_reduce, all_gather and
/// broadcast make them equal again.
LogicalResult verifyUniformControl(ModuleOp module, const MeshLayout &layout);

/// Whether values of a module of level 3 are equal on all devices of a group
/// along `axes`.
llvm::DenseSet<Value> findUniformValues(ModuleOp module,
                                        const MeshLayout &layout,
                                        ArrayRef<AxisRefAttr> axes);

/// Whether devices along `axes` have blocks of `size` elements side by side,
/// all as long as the first except at the end. Counterexample: 10 over 2 and 2,
/// since blocks of 5 are cut into 3 and 2.
bool isEquallySpaced(const MeshLayout &layout, ArrayRef<AxisRefAttr> axes,
                     int64_t size);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_VERIFY_UNIFORMITY_H
