//===- Interpreter.h - Evaluates modules on simulated devices ---*- C++ -*-===//
//
// A module of level 0 to 2 on one device, or of level 3 on all devices of its
// mesh in lockstep: op by op for every device, so that a collective sees what
// the others hold. No compiled code, no threads; sizes are those of tests.
//
// What is undefined shows: tensor.empty and padding hold garbage, and reading
// out of bounds, control flow that takes devices apart where they communicate,
// and ops that are not known are errors.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_INTERPRETER_H
#define DIST_TEST_GENERATOR_INTERPRETER_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/generator/Devices.h"
#include "test/generator/ScalarCode.h"

namespace mlir::dist::test {

/// What every device holds of a value.
using PerDevice = std::vector<Tensor>;

class Interpreter {
public:
  Interpreter(ModuleOp module, const Devices &devices, Garbage garbage)
      : module(module), devices(devices), garbage(garbage) {}

  /// Runs a function; arguments and results are one entry each. On failure
  /// getError() says why.
  FailureOr<std::vector<PerDevice>> run(func::FuncOp function,
                                        std::vector<PerDevice> arguments);
  const std::string &getError() const { return error; }

private:
  using Values = llvm::DenseMap<Value, PerDevice>;

  LogicalResult fail(Operation *op, const Twine &why);
  FailureOr<std::vector<PerDevice>> runBlock(Block &block,
                                             std::vector<PerDevice> arguments);
  LogicalResult runOp(Operation &op);
  /// Runs an op for every device apart.
  template <typename Function>
  LogicalResult onEach(Operation *op, Function function) {
    std::vector<PerDevice> results(op->getNumResults());
    for (PerDevice &result : results)
      result.reserve(devices.getCount());
    for (device = 0; device < devices.getCount(); ++device)
      if (failed(function(results)))
        return failure();
    for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
      (*values)[value] = std::move(result);
    return success();
  }

  const PerDevice &all(Value value) { return (*values)[value]; }
  /// What the current device holds.
  const Tensor &get(Value value) { return (*values)[value][device]; }
  int64_t getInt(Value value) { return get(value).read()[0].i; }
  SmallVector<int64_t> getInts(ArrayRef<OpFoldResult> list);
  /// A scalar that must be the same everywhere: it steers control flow.
  FailureOr<int64_t> getCommon(Operation *op, Value value);
  Tensor indexTensor(int64_t value);

  // Control.cpp
  LogicalResult runCall(func::CallOp op);
  LogicalResult runFor(scf::ForOp op);
  LogicalResult runWhile(scf::WhileOp op);
  LogicalResult runIf(scf::IfOp op);
  LogicalResult runSwitch(scf::IndexSwitchOp op);
  LogicalResult runRegion(Operation *op, Block &block);
  // Structured.cpp
  LogicalResult runLinalg(linalg::LinalgOp op);
  LogicalResult runSoftmax(linalg::SoftmaxOp op);
  LogicalResult runElementwise(Operation *op);
  // Attention.cpp
  LogicalResult runAttention(AttentionLikeOpInterface op);
  const ScalarCode *getCode(Operation *op, Block &block);
  /// Registers for code: values from outside filled in.
  std::vector<Scalar> makeRegisters(const ScalarCode &code,
                                    std::vector<Tensor> &tensors);
  // TensorOps.cpp
  LogicalResult runTensorOp(Operation *op, bool &isKnown);
  LogicalResult runExtractSlice(tensor::ExtractSliceOp op);
  LogicalResult runInsertSlice(tensor::InsertSliceOp op);
  LogicalResult runReshape(Operation *op);
  LogicalResult runConcat(tensor::ConcatOp op);
  LogicalResult runPad(tensor::PadOp op);
  LogicalResult runGenerate(tensor::GenerateOp op);
  LogicalResult runGather(tensor::GatherOp op);
  LogicalResult runScatter(tensor::ScatterOp op);
  // Collectives.cpp
  LogicalResult runCollective(Operation *op, bool &isKnown);

  ModuleOp module;
  const Devices &devices;
  Garbage garbage;
  Values *values = nullptr;
  int64_t device = 0;
  int64_t steps = 0;
  std::string error;
  llvm::DenseMap<Block *, std::shared_ptr<ScalarCode>> codes;
};

/// The module's result with every argument whole, on one device; annotations
/// are passed over.
FailureOr<std::vector<Tensor>> runWhole(ModuleOp module,
                                        ArrayRef<Tensor> arguments,
                                        Garbage garbage, std::string &error);

/// What each device of a level-3 module gets of whole arguments, as
/// dist.sharding says, and the whole results that its parts are, as
/// dist.global_type says.
FailureOr<std::vector<PerDevice>>
cutArguments(func::FuncOp entry, const Devices &devices,
             ArrayRef<Tensor> arguments, Garbage &garbage, std::string &error);
FailureOr<std::vector<Tensor>> joinResults(func::FuncOp entry,
                                           const Devices &devices,
                                           ArrayRef<PerDevice> results,
                                           std::string &error);
/// The devices of the module's mesh, or one.
Devices getDevices(ModuleOp module);

/// The result of a level-3 module on all devices of its mesh: arguments are cut
/// and results joined as dist.sharding and dist.global_type say.
FailureOr<std::vector<Tensor>> runOnDevices(ModuleOp module,
                                            ArrayRef<Tensor> arguments,
                                            Garbage garbage,
                                            std::string &error);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_INTERPRETER_H
