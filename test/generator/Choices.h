//===- Choices.h - The decisions behind a random module ---------*- C++ -*-===//
//
// Every random decision goes through here and onto a tape. A tape alone makes
// the module again, and an edited tape (shorter, or with smaller numbers) makes
// a simpler one that is just as well formed: that is how failures shrink.
// (The idea is that of Hypothesis: MacIver, Donaldson, "Test-Case Reduction via
// Test-Case Generation", ECOOP 2020.) The smallest choice is the simplest.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_CHOICES_H
#define DIST_TEST_GENERATOR_CHOICES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace mlir::dist::test {

class Choices {
public:
  explicit Choices(uint64_t seed) : state(seed) {}
  explicit Choices(std::vector<uint32_t> tape)
      : tape(std::move(tape)), isReplay(true) {}

  /// A number below `count`.
  uint32_t below(uint32_t count) {
    if (count == 0)
      return 0;
    uint32_t value = 0;
    if (isReplay) {
      value = at < tape.size() ? tape[at] : 0;
      if (value >= count)
        value = count - 1;
    } else {
      value = next() % count;
      tape.push_back(value);
    }
    ++at;
    return value;
  }
  /// True in `percent` of cases.
  bool chance(unsigned percent) { return below(100) >= 100 - percent; }
  template <typename T> T pick(llvm::ArrayRef<T> list) {
    return list[below(list.size())];
  }
  template <typename T> T pick(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  /// 0 … count-1 in some order.
  std::vector<int64_t> permutation(int64_t count) {
    std::vector<int64_t> order(count);
    for (int64_t i = 0; i < count; ++i)
      order[i] = i;
    for (int64_t i = 0; i + 1 < count; ++i)
      std::swap(order[i], order[i + below(count - i)]);
    return order;
  }
  /// Marks where an independent part of the module begins.
  void mark() { marks.push_back(at); }

  llvm::ArrayRef<uint32_t> getTape() const { return tape; }
  llvm::ArrayRef<size_t> getMarks() const { return marks; }

private:
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) >> 16;
  }

  uint64_t state = 0;
  std::vector<uint32_t> tape;
  std::vector<size_t> marks;
  size_t at = 0;
  bool isReplay = false;
};

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_CHOICES_H
