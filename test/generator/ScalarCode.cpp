//===- ScalarCode.cpp - Bodies of ops, made ready to run ------------------===//

#include "test/generator/ScalarCode.h"
#include "dialects/dist/IR/Random.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <array>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// Walks a block and, for scf.if, the blocks in it; all share the registers.
struct ScalarCode::Compiler {
  Compiler(ScalarCode &root, std::string &error) : root(root), error(error) {}

  ScalarCode &root;
  std::string &error;
  llvm::DenseMap<Value, unsigned> registers;

  unsigned define(Value value) {
    registers[value] = root.numRegisters;
    return root.numRegisters++;
  }
  unsigned use(Value value) {
    auto found = registers.find(value);
    if (found != registers.end())
      return found->second;
    unsigned number = define(value);
    root.scalars.push_back({value, number});
    return number;
  }
  bool block(Block &block, std::vector<ScalarStep> &steps,
             SmallVectorImpl<unsigned> &yields);
  bool op(Operation &op, std::vector<ScalarStep> &steps);
};

static void runIf(const ScalarStep &step, Scalar *registers,
                  ScalarContext &context) {
  const ScalarCode &code =
      registers[step.in[0]].i ? *step.thenCode : *step.elseCode;
  code.run(registers, context);
  SmallVector<Scalar, 4> values;
  for (unsigned yield : code.getYields())
    values.push_back(registers[yield]);
  for (auto [number, value] : llvm::enumerate(values))
    registers[step.indices[number]] = value;
}

int64_t mlir::dist::test::evaluate(AffineExpr expr, ArrayRef<int64_t> at) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return at[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  __int128 a = evaluate(binary.getLHS(), at), b = evaluate(binary.getRHS(), at);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return (a - (a % b + b) % b) / b;
  case AffineExprKind::CeilDiv:
    return (a + ((-a) % b + b) % b) / b;
  default:
    return (a % b + b) % b;
  }
}

static void runApply(const ScalarStep &step, Scalar *registers,
                     ScalarContext &) {
  SmallVector<int64_t> at;
  for (unsigned number : step.indices)
    at.push_back(registers[number].i);
  registers[step.out[0]].i = evaluate(
      cast<affine::AffineApplyOp>(step.op).getAffineMap().getResult(0), at);
}

static void runExtract(const ScalarStep &step, Scalar *registers,
                       ScalarContext &context) {
  const Tensor &tensor = context.tensors[step.value.i];
  SmallVector<int64_t> index;
  int64_t offset = 0;
  bool inside = true;
  for (auto [number, stride, size] :
       llvm::zip_equal(step.indices, tensor.getStrides(), tensor.getShape())) {
    index.push_back(registers[number].i);
    inside &= index.back() >= 0 && index.back() < size;
    offset += index.back() * stride;
  }
  if (inside) {
    registers[step.out[0]] = tensor.read()[offset];
    return;
  }
  registers[step.out[0]] = context.garbage->next(step.type);
  if (context.error->empty())
    *context.error = "tensor.extract reads at " + printIndex(index) +
                     " of a tensor of shape " + printIndex(tensor.getShape());
}

/// Philox4x32-10, as its authors' paper has it.
static std::array<uint32_t, 4> philox(std::array<uint32_t, 4> x,
                                      std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p = 0xD2511F53ull * x[0], q = 0xCD9E8D57ull * x[2];
    x = {static_cast<uint32_t>(q >> 32) ^ x[1] ^ key[0],
         static_cast<uint32_t>(q),
         static_cast<uint32_t>(p >> 32) ^ x[3] ^ key[1],
         static_cast<uint32_t>(p)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

/// The registers are the results', and then the operands'.
static void runRandomWords(const ScalarStep &step, Scalar *registers,
                           ScalarContext &) {
  auto words = cast<RandomWordsOp>(step.op);
  auto get = [&](unsigned operand) {
    return static_cast<uint64_t>(registers[step.indices[4 + operand]].i);
  };
  unsigned rank = words.getIndices().size(), next = 2 + rank;
  uint64_t element = 0;
  for (auto [dim, size] : llvm::enumerate(words.getSizes()))
    element = element * (ShapedType::isDynamic(size) ? get(next++) : size) +
              get(2 + dim);
  uint64_t seed = get(0), upper = seed >> 32;
  if (words.getStream())
    upper += 1 + get(next);
  std::array<uint32_t, 4> drawn = philox(
      {static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
       static_cast<uint32_t>(words.getNumber()), static_cast<uint32_t>(get(1))},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(upper)});
  for (auto [number, word] : llvm::enumerate(drawn))
    registers[step.indices[number]].i = word;
}

bool ScalarCode::Compiler::op(Operation &op, std::vector<ScalarStep> &steps) {
  ScalarStep step;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    step.value.i = index.getDim();
    step.out[0] = define(index);
    step.run = [](const ScalarStep &s, Scalar *r, ScalarContext &c) {
      r[s.out[0]].i = c.loops[s.value.i];
    };
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    step.value.i = root.tensors.size();
    step.type = extract.getType();
    root.tensors.push_back(extract.getTensor());
    for (Value index : extract.getIndices())
      step.indices.push_back(use(index));
    step.out[0] = define(extract);
    step.run = runExtract;
  } else if (auto apply = dyn_cast<affine::AffineApplyOp>(op);
             apply && apply.getAffineMap().getNumSymbols() == 0) {
    step.op = apply;
    for (Value operand : apply.getMapOperands())
      step.indices.push_back(use(operand));
    step.out[0] = define(apply);
    step.run = runApply;
  } else if (auto words = dyn_cast<RandomWordsOp>(op)) {
    if (words.getAxes()) {
      error =
          "the interpreter knows no streams of devices that are still to be "
          "told apart";
      return false;
    }
    step.op = words;
    SmallVector<unsigned> operands;
    for (Value operand : words->getOperands())
      operands.push_back(use(operand));
    for (Value result : words->getResults())
      step.indices.push_back(define(result));
    llvm::append_range(step.indices, operands);
    step.run = runRandomWords;
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    step.in[0] = use(branch.getCondition());
    step.thenCode = std::make_shared<ScalarCode>();
    step.elseCode = std::make_shared<ScalarCode>();
    if (!block(*branch.thenBlock(), step.thenCode->steps,
               step.thenCode->yields) ||
        (branch.elseBlock() && !block(*branch.elseBlock(), step.elseCode->steps,
                                      step.elseCode->yields)))
      return false;
    for (Value result : branch.getResults())
      step.indices.push_back(define(result));
    step.run = runIf;
  } else {
    if (failed(makeStep(&op, step)) || op.getNumOperands() > 3 ||
        op.getNumResults() > 2) {
      error = "the interpreter lacks '" + op.getName().getStringRef().str() +
              "' on scalars";
      return false;
    }
    for (auto [number, operand] : llvm::enumerate(op.getOperands()))
      step.in[number] = use(operand);
    for (auto [number, result] : llvm::enumerate(op.getResults()))
      step.out[number] = define(result);
  }
  steps.push_back(std::move(step));
  return true;
}

bool ScalarCode::Compiler::block(Block &block, std::vector<ScalarStep> &steps,
                                 SmallVectorImpl<unsigned> &yields) {
  for (Operation &nested : block.without_terminator())
    if (!op(nested, steps))
      return false;
  for (Value value : block.getTerminator()->getOperands())
    yields.push_back(use(value));
  return true;
}

std::shared_ptr<ScalarCode> ScalarCode::compile(Block &block,
                                                std::string &error) {
  auto code = std::make_shared<ScalarCode>();
  Compiler compiler(*code, error);
  for (Value argument : block.getArguments())
    compiler.define(argument);
  if (!compiler.block(block, code->steps, code->yields))
    return nullptr;
  return code;
}
