//===- Missing.h - Arguments that nobody gives ------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_PROGRAM_MISSING_H
#define DIST_RUNTIME_PROGRAM_MISSING_H

#include "dist/Manifest.h"

#include <set>
#include <string>

namespace dist {

/// Arguments that nobody gives: a line for each of the first, and how many
/// more.
class Missing {
public:
  void add(const TensorDesc &desc, const Shape &shape) {
    constexpr size_t kMost = 8;
    if (names.insert(desc.name).second && names.size() <= kMost)
      lines +=
          "\n  " + desc.name + " " + dtypeName(desc.dtype) + toString(shape);
    more = names.size() <= kMost
               ? ""
               : "\n  and " + std::to_string(names.size() - kMost) + " more";
  }
  std::string text() const { return lines + more; }
  /// Parts of a parameter are one.
  std::set<std::string> names;

private:
  std::string lines, more;
};

} // namespace dist

#endif // DIST_RUNTIME_PROGRAM_MISSING_H
