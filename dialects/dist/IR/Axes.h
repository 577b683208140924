//===- Axes.h - Checks of mesh axes -----------------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_AXES_H
#define DIST_DIALECTS_DIST_IR_AXES_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// The axes that attributes of `op` name, each once.
SmallVector<AxisRefAttr> findAxes(Operation *op);

/// Checks that the mesh `meshName`, with the axes `mesh`, has all of `axes`,
/// and that none occurs twice. `emitError` begins the message. `sharding`, if
/// set, is the attribute that names the axes.
LogicalResult verifyAxes(ArrayRef<AxisRefAttr> axes, FlatSymbolRefAttr meshName,
                         ArrayRef<MeshAxisAttr> mesh,
                         function_ref<InFlightDiagnostic()> emitError,
                         ShardingAttr sharding = {});
/// The same for a mesh that may be null. Then only repetitions are checked.
LogicalResult verifyAxes(ArrayRef<AxisRefAttr> axes, MeshOp mesh,
                         function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_AXES_H
