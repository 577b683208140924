//===- RankLines.cpp - What processes of ranks print ----------------------===//

#include "runtime/control/RankLines.h"

#include <unistd.h>

using namespace dist;

void RankLines::print(int64_t rank, const std::string &name,
                      const std::string &line) {
  constexpr size_t kMost = 1 << 16;
  if (said.size() > kMost)
    said.clear();
  auto [first, isNew] = said.emplace(std::hash<std::string>()(line), rank);
  if (!isNew && first->second != rank)
    return;
  std::string text = name + ": " + line + "\n";
  if (write)
    write(text);
  else if (::write(STDERR_FILENO, text.data(), text.size()) < 0)
    return; // There is nobody to tell.
}
