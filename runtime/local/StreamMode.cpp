//===- StreamMode.cpp - When communication streams work -------------------===//
//
// Reads the value of --streams.
//
//===----------------------------------------------------------------------===//

#include "dist/StreamMode.h"
#include "dist/Tensor.h"

#include <charconv>

using namespace dist;

bool StreamMode::doesAtOnce(uint64_t task) const {
  if (kind != Seeded)
    return kind == Eager;
  // splitmix64 (Steele, Lea, Flood, 2014).
  uint64_t hash = seed + (task + 1) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
  return (hash ^ hash >> 31) & 1;
}

StreamMode dist::parseStreamMode(const std::string &text) {
  if (text == "threads")
    return {};
  if (text == "eager")
    return {StreamMode::Eager, 0};
  if (text == "late")
    return {StreamMode::Late, 0};
  if (text.rfind("seed=", 0) == 0) {
    StreamMode mode{StreamMode::Seeded, 0};
    const char *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data() + 5, end, mode.seed);
    if (error == std::errc() && rest == end && text.size() > 5)
      return mode;
  }
  throw Error("--streams " + text +
              ": expected threads, eager, late or seed=N, where N is a whole "
              "number of at least 0 and less than 2^64");
}
