//===- Rows.h - Rows that indices name, of any device -----------*- C++ -*-===//
//
// Index by index, as the ops' descriptions say.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_ROWS_H
#define DIST_TEST_GENERATOR_ROWS_H

#include "dialects/dist/IR/Collectives.h"
#include "test/generator/Devices.h"

namespace mlir::dist::test {

/// What `device` gets of the operands and the indices that all devices hold;
/// none where an index names no row.
std::optional<Tensor> gatherRows(GatherRowsOp op, const Devices &devices,
                                 int64_t device, ArrayRef<Tensor> held,
                                 ArrayRef<Tensor> indices);
std::optional<Tensor> reduceRows(ReduceRowsOp op, const Devices &devices,
                                 int64_t device, ArrayRef<Tensor> held,
                                 ArrayRef<Tensor> indices);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_ROWS_H
