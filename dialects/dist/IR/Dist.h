//===- Dist.h - The dist dialect: attributes and placements -----*- C++ -*-===//
//
// Meshes, shardings and ops that place values. Described in the .td files.
// Collectives.h has collectives, Schedule.h what a schedule is made of.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_DIST_H
#define DIST_DIALECTS_DIST_IR_DIST_H

#include "dialects/dist/IR/Attributes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/dist/IR/DistDialect.h.inc"
#include "dialects/dist/IR/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.h.inc"

namespace mlir::dist {

/// The mesh that `mesh` names. If `mesh` is null: the only mesh that stands
/// before the functions of `op`'s module; null if there is no mesh or several.
MeshOp lookupMesh(Operation *op, FlatSymbolRefAttr mesh,
                  SymbolTableCollection *symbols = nullptr);

/// Number of devices along an axis or a part of it; 0 if the mesh lacks it.
int64_t getAxisSize(AxisRefAttr axis, ArrayRef<MeshAxisAttr> mesh);

/// Product of the sizes of `axes`; 0 if the mesh lacks one of them.
int64_t getGroupSize(ArrayRef<AxisRefAttr> axes, ArrayRef<MeshAxisAttr> mesh);

/// The elements of an attribute list of axes.
SmallVector<AxisRefAttr> getAxisRefs(ArrayAttr axes);

/// Whether two references share a part of one axis, or view it as products that
/// are not compatible.
bool overlaps(AxisRefAttr a, AxisRefAttr b);

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

/// For messages: `"tp"` or `"tp"(2)4`, and `["dp" = 2, "tp" = 4]`, as in the
/// assembly.
llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, AxisRefAttr axis);
llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, MeshAxesAttr axes);
Diagnostic &operator<<(Diagnostic &diagnostic, AxisRefAttr axis);
Diagnostic &operator<<(Diagnostic &diagnostic, MeshAxesAttr axes);

/// The number that cost estimates take for an unknown size.
inline constexpr int64_t kAssumedSize = 64;

/// Bytes of a ranked tensor, 0 for other types. Elements narrower than a byte
/// take one byte each. An unknown size counts as kAssumedSize.
int64_t getTensorBytes(Type type);
/// Bytes of one element in memory; 8 for types without a width.
int64_t getElementBytes(Type element);

/// The elements of a constant, also of a constant that is a resource, in which
/// an i1 is a byte. Null if there are no elements that fit the type.
DenseElementsAttr getDenseElements(ElementsAttr constant);

/// Entry function of a model: @main, or the only public function; else null.
Operation *getEntryFunction(Operation *module);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_DIST_H
