//===- PlanKey.h - By what plans of library calls are found -----*- C++ -*-===//

#ifndef DIST_RUNTIME_HOST_PLANKEY_H
#define DIST_RUNTIME_HOST_PLANKEY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dist {

/// What a plan depends on: the numbers of a call's table and its types.
using PlanKey = std::vector<int64_t>;

struct PlanKeyHash {
  size_t operator()(const PlanKey &values) const {
    uint64_t hash = values.size();
    for (int64_t value : values) {
      hash = (hash ^ static_cast<uint64_t>(value)) * 0xbf58476d1ce4e5b9ull;
      hash ^= hash >> 31;
    }
    return hash;
  }
};

} // namespace dist

#endif // DIST_RUNTIME_HOST_PLANKEY_H
