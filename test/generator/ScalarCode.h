//===- ScalarCode.h - Bodies of ops, made ready to run ----------*- C++ -*-===//
//
// The scalar ops of a block (the body of a linalg op, tensor.generate or
// tensor.pad) as a list of steps on registers, and single ops of arith and math
// as such steps.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_SCALARCODE_H
#define DIST_TEST_GENERATOR_SCALARCODE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"
#include "test/generator/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist::test {

class ScalarCode;

/// The number that an expression without symbols is.
int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> at);

/// What steps know besides registers.
struct ScalarContext {
  /// Position in the loop nest (linalg.index).
  ArrayRef<int64_t> loops;
  /// Tensors that the body reads, in the order of ScalarCode::tensors.
  ArrayRef<Tensor> tensors;
  Garbage *garbage = nullptr;
  /// First error met; empty where all went well.
  std::string *error = nullptr;
};

struct ScalarStep {
  using Function = void (*)(const ScalarStep &, Scalar *registers,
                            ScalarContext &);
  Function run = nullptr;
  unsigned in[3] = {0, 0, 0};
  unsigned out[2] = {0, 0};
  /// Element type of the result, and of the first operand.
  Type type, from;
  unsigned width = 64, fromWidth = 64;
  /// Value of a constant, predicate of a comparison, number of a loop or
  /// tensor.
  Scalar value{0};
  SmallVector<unsigned, 4> indices;
  /// One that says more than fits here.
  Operation *op = nullptr;
  std::shared_ptr<ScalarCode> thenCode, elseCode;
};

/// The step for an op of arith or math on scalars (or one element each of
/// tensors); registers are left to the caller. Fails for other ops.
LogicalResult makeStep(Operation *op, ScalarStep &step);

class ScalarCode {
public:
  /// Fails, and says in `error` why, where the block has an op that is not
  /// known. `outer` are the registers of enclosing code.
  static std::shared_ptr<ScalarCode> compile(Block &block, std::string &error);

  unsigned getNumRegisters() const { return numRegisters; }
  /// Values from outside the block that are scalars, with their registers, and
  /// tensors.
  ArrayRef<std::pair<Value, unsigned>> getScalars() const { return scalars; }
  ArrayRef<Value> getTensors() const { return tensors; }
  /// Registers of the yielded values; block arguments are the first registers.
  ArrayRef<unsigned> getYields() const { return yields; }

  void run(Scalar *registers, ScalarContext &context) const {
    for (const ScalarStep &step : steps)
      step.run(step, registers, context);
  }

private:
  struct Compiler;
  std::vector<ScalarStep> steps;
  unsigned numRegisters = 0;
  std::vector<std::pair<Value, unsigned>> scalars;
  std::vector<Value> tensors;
  SmallVector<unsigned, 4> yields;
};

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_SCALARCODE_H
