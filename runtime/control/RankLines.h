//===- RankLines.h - What processes of ranks print --------------*- C++ -*-===//

#ifndef DIST_RUNTIME_CONTROL_RANKLINES_H
#define DIST_RUNTIME_CONTROL_RANKLINES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

namespace dist {

/// Prints lines of ranks, a whole line at a time, with the rank's name in
/// front. What several ranks say alike is said once.
class RankLines {
public:
  /// To standard error if `write` is empty.
  explicit RankLines(std::function<void(const std::string &)> write = {})
      : write(std::move(write)) {}

  void print(int64_t rank, const std::string &name, const std::string &line);

private:
  std::function<void(const std::string &)> write;
  /// The rank that said it first, by the line's hash.
  std::unordered_map<size_t, int64_t> said;
};

} // namespace dist

#endif // DIST_RUNTIME_CONTROL_RANKLINES_H
