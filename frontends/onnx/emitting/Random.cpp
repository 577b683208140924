//===- Random.cpp - Random bits by their place ----------------------------===//

#include "Random.h"

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// Arithmetic on halves of 64 bits.
class Words {
public:
  explicit Words(Scalar &scalar, Type type) : scalar(scalar), type(type) {}

  Value number(uint32_t value) {
    return scalar.constantInt(type, static_cast<int64_t>(value));
  }
  Value low(Value value) { return scalar.bitAnd(value, number(~0u)); }
  Value high(Value value) {
    return scalar.shiftRight(value, number(32), /*isUnsigned=*/true);
  }

private:
  Scalar &scalar;
  Type type;
};
} // namespace

std::array<Value, 4>
mlir::dist::frontend::emitPhilox(Scalar &scalar, std::array<Value, 4> counter,
                                 std::array<Value, 2> key) {
  constexpr uint32_t kMultipliers[] = {0xd2511f53, 0xcd9e8d57};
  constexpr uint32_t kWeyl[] = {0x9e3779b9, 0xbb67ae85};
  constexpr int kRounds = 10;
  Words words(scalar, key[0].getType());
  auto &[a, b, c, d] = counter;
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0)
      for (int i : {0, 1})
        key[i] = words.low(scalar.add(key[i], words.number(kWeyl[i])));
    // Of two words: less than 2^64, whatever the sign says.
    Value first = scalar.mul(a, words.number(kMultipliers[0]));
    Value second = scalar.mul(c, words.number(kMultipliers[1]));
    counter = {scalar.bitXor(scalar.bitXor(words.high(second), b), key[0]),
               words.low(second),
               scalar.bitXor(scalar.bitXor(words.high(first), d), key[1]),
               words.low(first)};
  }
  return counter;
}

Value mlir::dist::frontend::emitRandomBits(Scalar &scalar, Value seed,
                                           Value step, int64_t op,
                                           Value element) {
  Words words(scalar, element.getType());
  return emitPhilox(scalar,
                    {words.low(element), words.high(element),
                     words.number(static_cast<uint32_t>(op)), words.low(step)},
                    {words.low(seed), words.high(seed)})
      .front();
}
