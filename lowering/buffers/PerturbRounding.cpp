//===- PerturbRounding.cpp - Operations that round at random --------------===//
//
// --dist-perturb-rounding: random rounding errors in the manner of Monte Carlo
// arithmetic (Parker, "Monte Carlo Arithmetic: exploiting randomness in
// floating-point arithmetic", 1997; Denis, de Oliveira Castro and Petit,
// "Verificarlo: checking floating point accuracy through Monte Carlo
// Arithmetic", 2016). Rounding decides the digits that differ between runs.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/ByComputation.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
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

/// How an op is perturbed.
enum class Kind {
  None,
  /// Its exact result can be had in a wider type, or the error computed.
  Algebraic,
  Conversion,
  /// For a function whose results are never taken for exact.
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

/// Whether two indices are the same: upstream's loops compute each anew.
bool isSameIndex(Value a, Value b) {
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  return a == b || (first && second && isPure(first) &&
                    ByComputation::isEqual(first, second));
}

/// Whether `op` adds to, or multiplies, a value that it then replaces in
/// memory: a step of a reduction, whose steps other programs do in another
/// order.
bool isAccumulation(Operation *op) {
  if (!isa<arith::AddFOp, arith::MulFOp>(op))
    return false;
  for (Operation *user : op->getUsers()) {
    auto store = dyn_cast<memref::StoreOp>(user);
    for (Value operand : op->getOperands()) {
      auto load = operand.getDefiningOp<memref::LoadOp>();
      if (store && load && load.getMemRef() == store.getMemRef() &&
          llvm::equal(load.getIndices(), store.getIndices(), isSameIndex))
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
  /// Uniformly distributed, from -1/2 to 1/2.
  Value makeUniform(Value number, uint64_t site);
  Value makeFactor(Value number, uint64_t site, FloatType type, FloatType of,
                   double epsilons = kEpsilons);
  Value move(Operation *op, Value value, Value number, unsigned site);
  Value moveParts(int64_t steps, Value value, Value number, unsigned site);
  Value isWhole(Value value);
  Value isExactFunction(Operation *op, Value result);
  Value isInexact(Operation *op, Value result);
  Value isExactByChance(Operation *op, Value result);
  Value findCancelled(Operation *op, Value result);
  Value isCancelled(Operation *op, Value large, Value result);

  ImplicitLocOpBuilder &b;
  Value call, amplitude;
};

/// SplitMix64's constants (Steele, Lea and Flood, 2014), and others for ops.
constexpr int64_t kGamma = 0x9e3779b97f4a7c15;
constexpr int64_t kMix = 0xbf58476d1ce4e5b9;

/// Between the sites of one op's several numbers: more than a program has.
constexpr uint64_t kOfParts = 1ull << 40;

/// A loop that perturbations keep from ending ends after this many turns beyond
/// four times those that it has without.
constexpr int64_t kMoreTurns = 64;

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

Value Perturber::makeUniform(Value number, uint64_t site) {
  uint64_t salt = (site + 1) * static_cast<uint64_t>(kGamma);
  number = arith::XOrIOp::create(b, number, constant(salt));
  number = arith::MulIOp::create(b, number, constant((salt ^ kMix) | 1));
  // The bits of a number from 1 to 2.
  Value bits =
      arith::OrIOp::create(b, shift(number, 12), constant(0x3ff0000000000000));
  Type f64 = b.getF64Type();
  return arith::SubFOp::create(b, arith::BitcastOp::create(b, f64, bits),
                               constant(f64, 1.5));
}

/// 1 + x, x uniformly distributed within so many epsilons of the type `of`; 1
/// for an amplitude of 0.
Value Perturber::makeFactor(Value number, uint64_t site, FloatType type,
                            FloatType of, double epsilons) {
  Value uniform = makeUniform(number, site);
  Type f64 = b.getF64Type();
  Value width = arith::MulFOp::create(
      b, amplitude, constant(f64, 2 * epsilons * getEpsilon(of)));
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
    Value yPart = arith::SubFOp::create(b, result, x);
    Value xPart = arith::SubFOp::create(b, result, yPart);
    error = arith::AddFOp::create(b, arith::SubFOp::create(b, x, xPart),
                                  arith::SubFOp::create(b, y, yPart));
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
/// is exact in this one. It cannot if it changes nothing (a zero is added), or
/// if its result has few digits, as counts have.
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
  if (Value large = findCancelled(op, result))
    found = arith::OrIOp::create(b, found, isCancelled(op, large, result));
  return found;
}

/// For a step of a sum, the operand of the larger magnitude, in the type of
/// `result`; null for other ops.
Value Perturber::findCancelled(Operation *op, Value result) {
  if (!isa<arith::AddFOp>(op) || !isAccumulation(op))
    return {};
  auto type = cast<FloatType>(result.getType());
  Value x = extend(op->getOperand(0), type),
        y = extend(op->getOperand(1), type);
  Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                         math::AbsFOp::create(b, x),
                                         math::AbsFOp::create(b, y));
  return arith::SelectOp::create(b, isLarger, x, y);
}

/// Whether most digits of a sum cancel, so that the earlier value could not
/// represent terms that come between in another order: 2^25 - 2^25 + 1. Whole
/// numbers that the type can represent, such as counts that go up and down, do
/// not have this problem.
Value Perturber::isCancelled(Operation *op, Value large, Value result) {
  auto type = cast<FloatType>(op->getResult(0).getType()),
       wide = cast<FloatType>(result.getType());
  int digits = type.getFPMantissaWidth();
  Value magnitude = math::AbsFOp::create(b, large);
  Value rest =
      arith::MulFOp::create(b, math::AbsFOp::create(b, result),
                            constant(wide, std::ldexp(1.0, digits / 2)));
  auto isLess = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  };
  Value counts = arith::AndIOp::create(
      b, isLess(magnitude, constant(wide, std::ldexp(1.0, digits))),
      arith::AndIOp::create(b, isWhole(large), isWhole(result)));
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  return arith::AndIOp::create(b, isLess(rest, magnitude),
                               arith::XOrIOp::create(b, counts, yes));
}

Value Perturber::isWhole(Value value) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value,
                               math::FloorOp::create(b, value));
}

/// Whether a function's result is exact in all likelihood: whole numbers of
/// whole numbers, few enough digits for a fraction to be seen; and powers of
/// two. (exp(0), log(1), 10^3.)
Value Perturber::isExactFunction(Operation *op, Value result) {
  auto type = cast<FloatType>(result.getType());
  FloatType wide =
      type.getWidth() < 32 ? cast<FloatType>(b.getF32Type()) : type;
  Value exact;
  if (!isa<math::Exp2Op>(op)) {
    Value number = extend(result, wide);
    Value limit =
        constant(wide, std::ldexp(1.0, type.getFPMantissaWidth() - 2));
    exact = arith::AndIOp::create(
        b, isWhole(number),
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                              math::AbsFOp::create(b, number), limit));
  }
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(operand.getType()))
      continue;
    Value whole = isWhole(extend(operand, wide));
    exact = exact ? Value(arith::AndIOp::create(b, exact, whole)) : whole;
  }
  return exact;
}

/// The result of `op`, which is `value` exactly or nearly, moved at random.
Value Perturber::move(Operation *op, Value value, Value number, unsigned site) {
  auto type = cast<FloatType>(op->getResult(0).getType());
  auto wide = cast<FloatType>(value.getType());
  Value factor = makeFactor(number, site, wide, type);
  Value moved = arith::MulFOp::create(b, value, factor);
  // For a sum that cancels, its terms.
  if (Value large = findCancelled(op, value)) {
    Value part = arith::SubFOp::create(b, factor, constant(wide, 1));
    moved = arith::SelectOp::create(
        b, isCancelled(op, large, value),
        arith::AddFOp::create(b, value, arith::MulFOp::create(b, large, part)),
        moved);
  }
  return moved;
}

/// A sum of which each rank has a part is rounded to bf16 a few times in
/// between. Here this happens after four of its steps, at random, as far as two
/// roundings go. `value` if it does not happen in this step.
Value Perturber::moveParts(int64_t steps, Value value, Value number,
                           unsigned site) {
  auto wide = cast<FloatType>(value.getType());
  Value factor =
      makeFactor(number, site + kOfParts, wide, b.getBF16Type(), kEpsilons / 2);
  Value isChosen = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OLT,
      math::AbsFOp::create(b, makeUniform(number, site + 2 * kOfParts)),
      constant(b.getF64Type(), 2.0 / steps));
  return arith::SelectOp::create(
      b, isChosen, arith::MulFOp::create(b, value, factor), value);
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
    Operation *end = op->getNextNode();
    Value moved, condition;
    if (kind == Kind::Transcendental) {
      Value factor = makeFactor(number, site, type, type);
      // Many are bounded by 1: from there they move inward.
      Value one = constant(type, 1);
      condition = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                        math::AbsFOp::create(b, result), one);
      factor = arith::SelectOp::create(
          b, condition, arith::MinimumFOp::create(b, factor, one), factor);
      moved = arith::SelectOp::create(b, isExactFunction(op, result), result,
                                      arith::MulFOp::create(b, result, factor));
    } else {
      condition = isInexact(op, result);
      if (isAccumulation(op))
        condition =
            arith::OrIOp::create(b, condition, isExactByChance(op, result));
      moved = arith::SelectOp::create(b, condition,
                                      move(op, result, number, site), result);
    }
    for (Operation *made = op->getNextNode(); made != end;
         made = made->getNextNode())
      own.insert(made);
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
      arith::SelectOp::create(b, isMoved, move(op, exact, number, site), exact);
  if (auto steps = op->getAttrOfType<IntegerAttr>(kPartialSumsAttr))
    moved = moveParts(steps.getInt(), moved, number, site);
  result.replaceAllUsesWith(truncate(moved, type));
  op->erase();
}

struct PerturbRounding : dist::impl::DistPerturbRoundingBase<PerturbRounding> {
  void runOnOperation() override;
  void runOnFunction(func::FuncOp function);
  void boundLoops(func::FuncOp function);

  /// Variables of the program, with their first values.
  llvm::MapVector<StringAttr, TypedAttr> globals;
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

/// Loops without a fixed number of iterations may run until nothing changes.
/// Beyond their number of iterations without perturbations, the perturbations
/// stay the same, so that a fixed point exists. A loop that does not end then
/// is ended.
void PerturbRounding::boundLoops(func::FuncOp function) {
  ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
  auto define = [&](const Twine &name, TypedAttr value) {
    auto key = b.getStringAttr(name);
    globals[key] = value;
    return key;
  };
  Type i64 = b.getI64Type(), f64 = b.getF64Type();
  auto variable = [&](StringRef name, Type type) -> Value {
    return memref::GetGlobalOp::create(b, MemRefType::get({}, type), name);
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  function.walk([&](scf::WhileOp loop) {
    TypedAttr zero = b.getI64IntegerAttr(0);
    std::string number = std::to_string(globals.size());
    StringAttr turn = define("dist_perturbation_turn_" + number, zero);
    StringAttr kept = define("dist_perturbation_kept_" + number, zero);
    define(kPerturbationTurns, zero);
    define(kPerturbationStopped, zero);

    b.setInsertionPoint(loop);
    b.setLoc(loop.getLoc());
    memref::StoreOp::create(b, constant(0), variable(turn, i64));
    memref::StoreOp::create(
        b, memref::LoadOp::create(b, variable(kPerturbationCounter, i64)),
        variable(kept, i64));

    b.setInsertionPointToStart(loop.getBeforeBody());
    Value turns = memref::LoadOp::create(b, variable(turn, i64));
    Value next = arith::AddIOp::create(b, turns, constant(1));
    memref::StoreOp::create(b, next, variable(turn, i64));
    Value amplitude =
        memref::LoadOp::create(b, variable(kPerturbationAmplitude, f64));
    Value isOn = arith::CmpFOp::create(
        b, arith::CmpFPredicate::UNE, amplitude,
        arith::ConstantOp::create(b, b.getF64FloatAttr(0)));
    Value most = memref::LoadOp::create(b, variable(kPerturbationTurns, i64));
    memref::StoreOp::create(
        b,
        arith::SelectOp::create(b, isOn, most,
                                arith::MaxSIOp::create(b, most, next)),
        variable(kPerturbationTurns, i64));
    // The seed of this turn: a new one, or that of the last that had one.
    Value counter = variable(kPerturbationCounter, i64);
    Value seed = arith::SelectOp::create(
        b,
        arith::AndIOp::create(
            b, isOn,
            arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, next, most)),
        memref::LoadOp::create(b, variable(kept, i64)),
        memref::LoadOp::create(b, counter));
    memref::StoreOp::create(b, seed, counter);
    memref::StoreOp::create(b, seed, variable(kept, i64));

    scf::ConditionOp end = loop.getConditionOp();
    b.setInsertionPoint(end);
    Value limit = arith::AddIOp::create(
        b, arith::MulIOp::create(b, most, constant(4)), constant(kMoreTurns));
    Value isBeyond = arith::AndIOp::create(
        b, isOn,
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, next, limit));
    Value isStopped = arith::AndIOp::create(b, isBeyond, end.getCondition());
    Value stopped = variable(kPerturbationStopped, i64);
    memref::StoreOp::create(
        b,
        arith::OrIOp::create(b, memref::LoadOp::create(b, stopped),
                             arith::ExtUIOp::create(b, i64, isStopped)),
        stopped);
    end.getConditionMutable().assign(
        arith::XOrIOp::create(b, end.getCondition(), isStopped));
  });
}

void PerturbRounding::runOnOperation() {
  ModuleOp module = getOperation();
  globals.clear();
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal()) {
      runOnFunction(function);
      boundLoops(function);
    }
  ImplicitLocOpBuilder b(module.getLoc(), &getContext());
  globals[b.getStringAttr(kPerturbationCounter)] = b.getI64IntegerAttr(0);
  globals[b.getStringAttr(kPerturbationAmplitude)] = b.getF64FloatAttr(0);
  b.setInsertionPointToStart(module.getBody());
  for (auto &[name, value] : globals) {
    auto type = RankedTensorType::get({}, value.getType());
    memref::GlobalOp::create(
        b, name, /*sym_visibility=*/StringAttr(),
        MemRefType::get({}, value.getType()),
        DenseElementsAttr::get(type, static_cast<Attribute>(value)),
        /*constant=*/false, /*alignment=*/IntegerAttr());
  }
}

} // namespace
