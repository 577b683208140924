//===- Structured.cpp - linalg ops and elementwise ones -------------------===//
//
// Every linalg op, named ones too, is its loops, its indexing maps and its
// body.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Overlap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "test/generator/Interpreter.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

const ScalarCode *Interpreter::getCode(Operation *op, Block &block) {
  std::shared_ptr<ScalarCode> &code = codes[&block];
  if (!code) {
    std::string why;
    code = ScalarCode::compile(block, why);
    if (!code)
      (void)fail(op, why);
  }
  return code.get();
}

std::vector<Scalar> Interpreter::makeRegisters(const ScalarCode &code,
                                               std::vector<Tensor> &tensors) {
  std::vector<Scalar> registers(code.getNumRegisters(), Scalar{0});
  for (auto [value, number] : code.getScalars())
    registers[number] = get(value).read()[0];
  tensors.clear();
  for (Value value : code.getTensors())
    tensors.push_back(get(value));
  return registers;
}

namespace {
/// Where an operand of a linalg op is read: an affine function of the loops.
struct Access {
  SmallVector<int64_t, 6> coefficients;
  int64_t offset = 0;
  /// What is not linear, with the size and the stride of its dimension: it is
  /// looked at in every turn.
  SmallVector<std::tuple<AffineExpr, int64_t, int64_t>, 0> others;
};
} // namespace

/// Products and sums wrap: a loop of one turn may have any coefficient.
static int64_t multiply(uint64_t a, uint64_t b) { return a * b; }
static void addTo(int64_t &sum, uint64_t summand) { sum = sum + summand; }

/// Adds `scale` times a linear expression; fails for floordiv and mod.
static LogicalResult addLinear(AffineExpr expr, int64_t scale, Access &access) {
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    addTo(access.coefficients[loop.getPosition()], scale);
    return success();
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    addTo(access.offset, multiply(scale, constant.getValue()));
    return success();
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  if (expr.getKind() == AffineExprKind::Add)
    return success(succeeded(addLinear(binary.getLHS(), scale, access)) &&
                   succeeded(addLinear(binary.getRHS(), scale, access)));
  if (expr.getKind() != AffineExprKind::Mul)
    return failure();
  for (auto [factor, rest] : {std::pair(binary.getLHS(), binary.getRHS()),
                              std::pair(binary.getRHS(), binary.getLHS())})
    if (auto constant = dyn_cast<AffineConstantExpr>(factor))
      return addLinear(rest, multiply(scale, constant.getValue()), access);
  return failure();
}

LogicalResult Interpreter::runLinalg(linalg::LinalgOp op) {
  const ScalarCode *code = getCode(op, *op.getBlock());
  if (!code)
    return failure();
  unsigned loops = op.getNumLoops();
  unsigned inputs = op.getNumDpsInputs(), inits = op.getNumDpsInits();
  // In linalg.map of older versions the body does not see the init.
  unsigned arguments = op.getBlock()->getNumArguments();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();

  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    SmallVector<Tensor> tensors;
    for (Value operand : op->getOperands())
      tensors.push_back(get(operand));
    SmallVector<int64_t> ranges(loops, -1);
    for (auto [tensor, map] : llvm::zip_equal(tensors, maps))
      for (auto [size, expr] :
           llvm::zip_equal(tensor.getShape(), map.getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
          int64_t &range = ranges[loop.getPosition()];
          if (range >= 0 && range != size)
            return fail(op, "loop " + Twine(loop.getPosition()) +
                                " has the sizes " + Twine(range) + " and " +
                                Twine(size));
          range = size;
        }
    if (llvm::is_contained(ranges, -1))
      return fail(op, "has a loop whose size no operand tells");
    bool isEmpty = llvm::is_contained(ranges, 0);

    SmallVector<Access> accesses;
    for (auto [number, tensor] : llvm::enumerate(tensors)) {
      Access access;
      access.coefficients.assign(loops, 0);
      for (auto [dim, stride] : llvm::enumerate(tensor.getStrides())) {
        Access one;
        one.coefficients.assign(loops, 0);
        AffineExpr expr = maps[number].getResult(dim);
        if (failed(addLinear(expr, 1, one))) {
          access.others.emplace_back(expr, tensor.getShape()[dim], stride);
          continue;
        }
        int64_t low = one.offset, high = one.offset;
        for (auto [coefficient, range] :
             llvm::zip_equal(one.coefficients, ranges))
          addTo(coefficient < 0 ? low : high, multiply(coefficient, range - 1));
        if (!isEmpty && (low < 0 || high >= tensor.getShape()[dim]))
          return fail(op, "reads " + Twine(low) + " to " + Twine(high) +
                              " of dimension " + Twine(dim) + " of operand " +
                              Twine(number) + ", which has " +
                              Twine(tensor.getShape()[dim]));
        addTo(access.offset, multiply(one.offset, stride));
        for (unsigned loop = 0; loop < loops; ++loop)
          addTo(access.coefficients[loop],
                multiply(one.coefficients[loop], stride));
      }
      accesses.push_back(std::move(access));
    }

    SmallVector<Scalar *> outputs;
    for (unsigned i = 0; i < inits; ++i)
      outputs.push_back(tensors[inputs + i].write());
    SmallVector<const Scalar *> data;
    for (const Tensor &tensor : tensors)
      data.push_back(tensor.read());
    std::vector<Tensor> captured;
    std::vector<Scalar> registers = makeRegisters(*code, captured);
    SmallVector<int64_t> at(loops, 0), offsets(tensors.size());
    std::string problem;
    ScalarContext context{at, captured, &garbage, &problem};
    if (!isEmpty)
      do {
        ++steps;
        for (auto [number, access] : llvm::enumerate(accesses)) {
          int64_t offset = access.offset;
          for (unsigned loop = 0; loop < loops; ++loop)
            addTo(offset, multiply(access.coefficients[loop], at[loop]));
          for (auto [expr, size, stride] : access.others) {
            int64_t index = evaluate(expr, at);
            if (index < 0 || index >= size)
              return fail(op, "reads " + Twine(index) + " of operand " +
                                  Twine(number) + ", whose dimension has " +
                                  Twine(size));
            offset += index * stride;
          }
          offsets[number] = offset;
          if (number < arguments)
            registers[number] = data[number][offset];
        }
        code->run(registers.data(), context);
        for (unsigned i = 0; i < inits; ++i)
          outputs[i][offsets[inputs + i]] = registers[code->getYields()[i]];
      } while (advance(at, ranges));
    if (!problem.empty())
      return fail(op, problem);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      results[i].push_back(tensors[inputs + i]);
    return success();
  });
}

LogicalResult Interpreter::runSoftmax(linalg::SoftmaxOp op) {
  int64_t dim = op.getDimension();
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &input = get(op.getInput());
    Tensor out(input.getElementType(), input.getShape());
    int64_t size = input.getShape()[dim], stride = input.getStrides()[dim];
    Scalar *to = out.write();
    for (int64_t i = 0, e = input.getNumElements(); i < e; ++i) {
      if (i / stride % size != 0)
        continue;
      double largest = -INFINITY, sum = 0;
      const Scalar *from = input.read() + i;
      for (int64_t k = 0; k < size; ++k)
        largest = from[k * stride].f > largest || std::isnan(from[k * stride].f)
                      ? from[k * stride].f
                      : largest;
      for (int64_t k = 0; k < size; ++k)
        sum += std::exp(from[k * stride].f - largest);
      for (int64_t k = 0; k < size; ++k)
        to[i + k * stride].f =
            roundTo(input.getElementType(),
                    std::exp(from[k * stride].f - largest) / sum);
    }
    if (op->getNumResults())
      results[0].push_back(std::move(out));
    return success();
  });
}

/// Scalar ops of arith and math, on scalars or element by element.
LogicalResult Interpreter::runElementwise(Operation *op) {
  // Only keeps ops in their order.
  if (isa<FenceOp>(op))
    return success();
  // Tensor constants and others that are whole at once.
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto tensor = Tensor::fromAttr(constant.getValue());
    if (!tensor)
      return fail(op, "is a constant of an unknown kind");
    (*values)[op->getResult(0)] = PerDevice(devices.getCount(), *tensor);
    return success();
  }
  ScalarStep step;
  if (failed(makeStep(op, step)))
    return fail(op, "is not known to the interpreter");
  unsigned operands = op->getNumOperands();
  for (unsigned i = 0; i < operands; ++i)
    step.in[i] = i;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    step.out[i] = 3 + i;
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    Scalar registers[5] = {};
    std::string problem;
    ScalarContext context{{}, {}, &garbage, &problem};
    // A condition may be one for all elements of a select.
    const Tensor &last = get(op->getOperand(operands - 1));
    SmallVector<const Scalar *, 3> data;
    SmallVector<int64_t, 3> stride;
    for (Value operand : op->getOperands()) {
      const Tensor &tensor = get(operand);
      bool isSpread = tensor.getRank() == 0 && last.getRank() != 0;
      if (!isSpread && tensor.getShape() != last.getShape())
        return fail(op, "has operands of shapes " +
                            printIndex(tensor.getShape()) + " and " +
                            printIndex(last.getShape()));
      data.push_back(tensor.read());
      stride.push_back(isSpread ? 0 : 1);
    }
    SmallVector<Tensor, 2> outputs;
    for (Value result : op->getResults())
      outputs.push_back(
          Tensor(getElementTypeOrSelf(result.getType()), last.getShape()));
    SmallVector<Scalar *, 2> to;
    for (Tensor &output : outputs)
      to.push_back(output.write());
    for (int64_t i = 0, e = last.getNumElements(); i < e; ++i) {
      for (unsigned k = 0; k < operands; ++k)
        registers[k] = data[k][i * stride[k]];
      step.run(step, registers, context);
      for (auto [number, output] : llvm::enumerate(to))
        output[i] = registers[3 + number];
    }
    if (!problem.empty())
      return fail(op, problem);
    for (auto [number, output] : llvm::enumerate(outputs))
      results[number].push_back(std::move(output));
    return success();
  });
}
