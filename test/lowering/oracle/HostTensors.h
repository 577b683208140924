//===- HostTensors.h - The interpreter's tensors as the runtime's ---------===//

#ifndef DIST_TEST_LOWERING_ORACLE_HOSTTENSORS_H
#define DIST_TEST_LOWERING_ORACLE_HOSTTENSORS_H

#include "dist/Manifest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/generator/Tensor.h"

namespace mlir::dist::test {

/// The same values; of a type that programs take and give.
::dist::Tensor toHost(const Tensor &tensor);
Tensor fromHost(const ::dist::Tensor &tensor, Type elementType);

/// The mesh of a module; of one rank where it has none.
::dist::Mesh describeMesh(ModuleOp module);

/// A result of a level-3 program, as a bundle describes it.
::dist::TensorDesc describeResult(func::FuncOp entry, unsigned number,
                                  const ::dist::Mesh &mesh);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_HOSTTENSORS_H
