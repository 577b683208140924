//===- ExpandRandom.cpp - Random words become arithmetic ------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As
// Easy as 1, 2, 3", SC 2011).
//
//===----------------------------------------------------------------------===//

#include "lowering/decompose/ExpandRandom.h"
#include "dialects/dist/IR/Random.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <array>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Arithmetic on words of 32 bits in i64.
class Words {
public:
  Words(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(uint32_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  Value low(Value value) {
    return arith::AndIOp::create(builder, loc, value, number(~0u));
  }
  Value high(Value value) {
    return arith::ShRUIOp::create(builder, loc, value, number(32));
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  /// Less than 2^64, whatever the sign says.
  Value multiply(Value a, uint32_t b) {
    return arith::MulIOp::create(builder, loc, a, number(b));
  }
  Value exclusiveOr(Value a, Value b, Value c) {
    Value first = arith::XOrIOp::create(builder, loc, a, b);
    return arith::XOrIOp::create(builder, loc, first, c);
  }
  Value fromIndex(Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      index);
  }

private:
  OpBuilder &builder;
  Location loc;
};

using Counter = std::array<Value, 4>;
using Key = std::array<Value, 2>;

Counter emitPhilox(Words &words, Counter counter, Key key) {
  constexpr uint32_t kMultipliers[] = {0xd2511f53, 0xcd9e8d57};
  constexpr uint32_t kWeyl[] = {0x9e3779b9, 0xbb67ae85};
  constexpr int kRounds = 10;
  auto &[a, b, c, d] = counter;
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0)
      for (int i : {0, 1})
        key[i] = words.low(words.add(key[i], words.number(kWeyl[i])));
    Value first = words.multiply(a, kMultipliers[0]);
    Value second = words.multiply(c, kMultipliers[1]);
    counter = {
        words.exclusiveOr(words.high(second), b, key[0]), words.low(second),
        words.exclusiveOr(words.high(first), d, key[1]), words.low(first)};
  }
  return counter;
}

struct ExpandRandomWords : OpRewritePattern<RandomWordsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RandomWordsOp op,
                                PatternRewriter &rewriter) const override {
    // Before devices are known, their streams are unknown.
    if (op.getAxes())
      return failure();
    Location loc = op.getLoc();
    Words words(rewriter, loc);
    Value element;
    for (auto [index, size] : llvm::zip_equal(
             op.getIndices(),
             getMixedValues(op.getSizes(), op.getDynamicSizes(), rewriter))) {
      Value place = words.fromIndex(index);
      if (element) {
        Value count = words.fromIndex(
            getValueOrCreateConstantIndexOp(rewriter, loc, size));
        element = arith::MulIOp::create(rewriter, loc, element, count);
        place = words.add(element, place);
      }
      element = place;
    }
    if (!element)
      element = words.number(0);
    Key key{words.low(op.getSeed()), words.high(op.getSeed())};
    if (op.getStream())
      key[1] = words.low(words.add(words.add(key[1], words.number(1)),
                                   words.fromIndex(op.getStream())));
    auto number = static_cast<uint32_t>(op.getNumber());
    rewriter.replaceOp(
        op, emitPhilox(words,
                       {words.low(element), words.high(element),
                        words.number(number), words.low(op.getStep())},
                       key));
    return success();
  }
};
} // namespace

void mlir::dist::populateExpandRandomPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandRandomWords>(patterns.getContext());
}

LogicalResult mlir::dist::checkRandomStreams(Operation *op) {
  WalkResult found = op->walk([](RandomWordsOp words) {
    if (!words.getAxes())
      return WalkResult::advance();
    words.emitOpError() << "draws from streams of devices, of which it is not "
                           "known here which draws what: run --dist-spmd";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}
