//===- Halos.h - Blocks with rows of their neighbours -----------*- C++ -*-===//
//
// Row by row, as the ops' descriptions say.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_HALOS_H
#define DIST_TEST_GENERATOR_HALOS_H

#include "dialects/dist/IR/Collectives.h"
#include "test/generator/Devices.h"

namespace mlir::dist::test {

/// What `device` gets of the operands that all devices hold. What is undefined
/// is garbage.
Tensor exchangeHalo(HaloExchangeOp op, const Devices &devices, int64_t device,
                    ArrayRef<Tensor> held, Garbage &garbage);
Tensor reduceHalo(HaloReduceOp op, const Devices &devices, int64_t device,
                  ArrayRef<Tensor> held);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_HALOS_H
