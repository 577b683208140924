//===- PerturbRounding.cpp - Operations that round at random --------------===//
//
// --dist-perturb-rounding: random rounding errors in the manner of Monte
// Carlo arithmetic (Parker, "Monte Carlo Arithmetic: exploiting randomness in
// floating-point arithmetic", 1997; Denis, de Oliveira Castro and Petit,
// "Verificarlo: checking floating point accuracy through Monte Carlo
// Arithmetic", 2016). What differs between runs is what rounding decides.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTPERTURBROUNDING
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// How far a result may move either way, in units of its type's epsilon (the
/// distance from 1 to the next number). An operation that is done in another
/// order, or contracted, moves by half of one.
static constexpr double kEpsilons = 2;

namespace {

/// What an op does to be perturbed.
enum class Kind {
  None,
  /// Its exact result can be had in a wider type, or the error computed.
  Algebraic,
  Conversion,
  /// Of a function whose results are never taken for exact.
  Transcendental
};

Kind classify(Operation *op) {
  if (op->getNumResults() != 1 || !isa<FloatType>(op->getResult(0).getType()))
    return Kind::None;
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          math::SqrtOp>(op))
    return Kind::Algebraic;
  if (auto narrowing = dyn_cast<arith::TruncFOp>(op))
    return narrowing.getRoundingmodeAttr() ? Kind::None : Kind::Conversion;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return op->getResult(0).getType().isF64() ? Kind::None : Kind::Conversion;
  bool isExact =
      isa<math::AbsFOp, math::CopySignOp, math::CeilOp, math::FloorOp,
          math::RoundOp, math::RoundEvenOp, math::TruncOp>(op);
  return isa<math::MathDialect>(op->getDialect()) && !isExact
             ? Kind::Transcendental
             : Kind::None;
}

/// Whether `op` adds to, or multiplies, what it then replaces in memory: a step
/// of a reduction, whose steps other programs do in another order.
bool isAccumulation(Operation *op) {
  if (!isa<arith::AddFOp, arith::MulFOp>(op))
    return false;
  for (Operation *user : op->getUsers()) {
    auto store = dyn_cast<memref::StoreOp>(user);
    for (Value operand : op->getOperands()) {
      auto load = operand.getDefiningOp<memref::LoadOp>();
      if (store && load && load.getMemRef() == store.getMemRef() &&
          llvm::equal(load.getIndices(), store.getIndices()))
        return true;
    }
  }
  return false;
}

/// The type in which a result of `type` is exact, or nearly.
FloatType widen(FloatType type) {
  Builder builder(type.getContext());
  return type.getWidth() < 32 ? builder.getF32Type() : builder.getF64Type();
}

double getEpsilon(FloatType type) {
  return std::ldexp(1.0, 1 - static_cast<int>(type.getFPMantissaWidth()));
}

/// The ops of one block, which draw from one number that each execution of the
/// block has for itself.
class Perturber {
public:
  Perturber(ImplicitLocOpBuilder &b, Value call, Value amplitude)
      : b(b), call(call), amplitude(amplitude) {}

  void perturb(Operation *op, Value number, unsigned site);
  /// A number from the call and the loops around `block`.
  Value makeNumber(Block *block);

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  Value constant(Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value shift(Value number, int64_t by) {
    return arith::ShRUIOp::create(b, number, constant(by));
  }
  Value extend(Value value, FloatType type) {
    auto from = cast<FloatType>(value.getType());
    if (from == type)
      return value;
    if (from.getWidth() < 32 && type.isF64())
      value = arith::ExtFOp::create(b, b.getF32Type(), value);
    return value.getType() == type ? value
                                   : arith::ExtFOp::create(b, type, value);
  }
  Value truncate(Value value, FloatType type) {
    return arith::TruncFOp::create(b, type, value);
  }
  Value makeFactor(Value number, unsigned site, FloatType type, FloatType of);
  Value isInexact(Operation *op, Value result);
  Value isExactByChance(Operation *op, Value result);

  ImplicitLocOpBuilder &b;
  Value call, amplitude;
};

/// SplitMix64's constants (Steele, Lea and Flood, 2014), and others for ops.
constexpr int64_t kGamma = 0x9e3779b97f4a7c15;
constexpr int64_t kMix = 0xbf58476d1ce4e5b9;

Value Perturber::makeNumber(Block *block) {
  Value sum = arith::MulIOp::create(b, call, constant(kGamma));
  int64_t weight = kMix;
  for (Operation *op = block->getParentOp(); op && !isa<func::FuncOp>(op);
       op = op->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      continue;
    Value place = loop.getInductionVar();
    place = place.getType().isIndex()
                ? Value(arith::IndexCastOp::create(b, b.getI64Type(), place))
                : place;
    if (!place.getType().isInteger(64))
      place = arith::ExtSIOp::create(b, b.getI64Type(), place);
    sum = arith::AddIOp::create(
        b, sum, arith::MulIOp::create(b, place, constant(weight)));
    // Odd, and unlike the others.
    weight = static_cast<int64_t>(static_cast<uint64_t>(weight) *
                                  0xd1342543de82ef95u);
  }
  sum = arith::XOrIOp::create(b, sum, shift(sum, 32));
  sum = arith::MulIOp::create(b, sum, constant(0x94d049bb133111eb));
  return arith::XOrIOp::create(b, sum, shift(sum, 29));
}

/// 1 + x, x uniformly distributed within kEpsilons of the type `of`; 1 for an
/// amplitude of 0.
Value Perturber::makeFactor(Value number, unsigned site, FloatType type,
                            FloatType of) {
  uint64_t salt = (site + 1) * static_cast<uint64_t>(kGamma);
  number = arith::XOrIOp::create(b, number, constant(salt));
  number = arith::MulIOp::create(b, number, constant((salt ^ kMix) | 1));
  // The bits of a number from 1 to 2.
  Value bits =
      arith::OrIOp::create(b, shift(number, 12), constant(0x3ff0000000000000));
  Type f64 = b.getF64Type();
  Value uniform = arith::SubFOp::create(
      b, arith::BitcastOp::create(b, f64, bits), constant(f64, 1.5));
  Value width = arith::MulFOp::create(
      b, amplitude, constant(f64, 2 * kEpsilons * getEpsilon(of)));
  Value factor = arith::AddFOp::create(
      b, arith::MulFOp::create(b, uniform, width), constant(f64, 1));
  return type.isF64() ? factor : truncate(factor, type);
}

/// Whether `result`, of an op on f64, was rounded: by error-free
/// transformations (Knuth's sum of two numbers; Ogita, Rump and Oishi, 2005).
Value Perturber::isInexact(Operation *op, Value result) {
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  Value error;
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    Value x = operand(0), y = operand(1);
    if (isa<arith::SubFOp>(op))
      y = arith::NegFOp::create(b, y);
    Value ofY = arith::SubFOp::create(b, result, x);
    Value ofX = arith::SubFOp::create(b, result, ofY);
    error = arith::AddFOp::create(b, arith::SubFOp::create(b, x, ofX),
                                  arith::SubFOp::create(b, y, ofY));
  } else if (isa<arith::MulFOp>(op)) {
    error = math::FmaOp::create(b, operand(0), operand(1),
                                arith::NegFOp::create(b, result));
  } else {
    bool isRoot = isa<math::SqrtOp>(op);
    error = math::FmaOp::create(b, result, isRoot ? result : operand(1),
                                arith::NegFOp::create(b, operand(0)));
  }
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, error,
                               constant(error.getType(), 0));
}

/// Whether a step of a reduction can be inexact in another order, although it
/// is not in this one: not if it changes nothing (a zero is added), nor if its
/// result has few digits, as counts have.
Value Perturber::isExactByChance(Operation *op, Value result) {
  auto type = cast<FloatType>(result.getType());
  Type integer = b.getIntegerType(type.getWidth());
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(integer, number));
  };
  int64_t lower = (1ll << (type.getFPMantissaWidth() - 1) / 2) - 1;
  Value digits = arith::AndIOp::create(
      b, arith::BitcastOp::create(b, integer, result), constant(lower));
  Value found =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, digits, constant(0));
  for (Value operand : op->getOperands())
    found = arith::AndIOp::create(
        b, found,
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, result, operand));
  return found;
}

void Perturber::perturb(Operation *op, Value number, unsigned site) {
  Value result = op->getResult(0);
  auto type = cast<FloatType>(result.getType());
  Kind kind = classify(op);
  b.setInsertionPointAfter(op);
  b.setLoc(op->getLoc());
  llvm::SmallPtrSet<Operation *, 8> own{op};
  auto replace = [&](Value perturbed) {
    result.replaceUsesWithIf(perturbed, [&](OpOperand &use) {
      return !own.contains(use.getOwner());
    });
  };
  if (kind == Kind::Transcendental ||
      (kind == Kind::Algebraic && type.isF64())) {
    Value factor = makeFactor(number, site, type, type);
    Operation *first = op->getNextNode();
    Value moved, condition;
    if (kind == Kind::Transcendental) {
      // Many are bounded by 1: from there they move inward.
      Value one = constant(type, 1);
      condition = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                        math::AbsFOp::create(b, result), one);
      factor = arith::SelectOp::create(
          b, condition, arith::MinimumFOp::create(b, factor, one), factor);
      moved = arith::MulFOp::create(b, result, factor);
    } else {
      condition = isInexact(op, result);
      if (isAccumulation(op))
        condition =
            arith::OrIOp::create(b, condition, isExactByChance(op, result));
      moved = arith::SelectOp::create(
          b, condition, arith::MulFOp::create(b, result, factor), result);
    }
    for (Operation *made = first; made != moved.getDefiningOp();
         made = made->getNextNode())
      own.insert(made);
    own.insert(moved.getDefiningOp());
    replace(moved);
    return;
  }
  // In the wider type, rounded once at the end.
  FloatType wide = widen(type);
  Value exact;
  if (isa<arith::TruncFOp>(op)) {
    exact = op->getOperand(0);
    wide = cast<FloatType>(exact.getType());
  } else if (kind == Kind::Conversion) {
    OperationState state(op->getLoc(), op->getName(), op->getOperands(), wide);
    exact = b.create(state)->getResult(0);
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(extend(operand, wide));
    OperationState state(op->getLoc(), op->getName(), operands, wide);
    exact = b.create(state)->getResult(0);
  }
  Value near = truncate(exact, type);
  Value isMoved = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE,
                                        extend(near, wide), exact);
  if (isAccumulation(op))
    isMoved = arith::OrIOp::create(b, isMoved, isExactByChance(op, near));
  Value moved =
      arith::MulFOp::create(b, exact, makeFactor(number, site, wide, type));
  result.replaceAllUsesWith(
      truncate(arith::SelectOp::create(b, isMoved, moved, exact), type));
  op->erase();
}

struct PerturbRounding : dist::impl::DistPerturbRoundingBase<PerturbRounding> {
  void runOnOperation() override;
  void runOnFunction(func::FuncOp function);
};

void PerturbRounding::runOnFunction(func::FuncOp function) {
  llvm::MapVector<Block *, SmallVector<Operation *>> blocks;
  function.walk([&](Operation *op) {
    if (classify(op) != Kind::None)
      blocks[op->getBlock()].push_back(op);
  });
  if (blocks.empty())
    return;
  ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
  auto state = [&](StringRef name, Type type) -> Value {
    return memref::GetGlobalOp::create(b, MemRefType::get({}, type), name);
  };
  // Every call has a number of its own; so has every execution of a block that
  // loops repeat without counting.
  auto takeNumber = [&]() -> Value {
    Value counter = state(kPerturbationCounter, b.getI64Type());
    Value number = memref::LoadOp::create(b, counter);
    Value one = arith::ConstantOp::create(b, b.getI64IntegerAttr(1));
    memref::StoreOp::create(b, arith::AddIOp::create(b, number, one), counter);
    return number;
  };
  b.setInsertionPointToStart(&function.getBody().front());
  Value amplitude =
      memref::LoadOp::create(b, state(kPerturbationAmplitude, b.getF64Type()));
  Value ofFunction = takeNumber();
  unsigned site = 0;
  for (auto &[block, ops] : blocks) {
    b.setInsertionPointToStart(block);
    if (block == &function.getBody().front())
      b.setInsertionPointAfterValue(ofFunction);
    bool isCounted = !block->getParentOp()->getParentOfType<scf::WhileOp>() &&
                     !isa<scf::WhileOp>(block->getParentOp());
    Perturber perturber(b, isCounted ? ofFunction : takeNumber(), amplitude);
    Value number = perturber.makeNumber(block);
    for (Operation *op : ops)
      perturber.perturb(op, number, site++);
  }
}

void PerturbRounding::runOnOperation() {
  ModuleOp module = getOperation();
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      runOnFunction(function);
  ImplicitLocOpBuilder b(module.getLoc(), &getContext());
  b.setInsertionPointToStart(module.getBody());
  auto define = [&](StringRef name, TypedAttr value) {
    auto type = RankedTensorType::get({}, value.getType());
    memref::GlobalOp::create(
        b, name, /*sym_visibility=*/StringAttr(),
        MemRefType::get({}, value.getType()),
        DenseElementsAttr::get(type, static_cast<Attribute>(value)),
        /*constant=*/false, /*alignment=*/IntegerAttr());
  };
  define(kPerturbationCounter, b.getI64IntegerAttr(0));
  define(kPerturbationAmplitude, b.getF64FloatAttr(0));
}

} // namespace
