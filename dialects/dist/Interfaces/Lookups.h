//===- Lookups.h - Recognition of computed indices --------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_LOOKUPS_H
#define DIST_DIALECTS_DIST_INTERFACES_LOOKUPS_H

#include "mlir/IR/Value.h"
#include <optional>

namespace mlir::dist {

/// The dimension of the tensor `value` whose index its elements are. Example:
/// for [[0, 0, 0], [1, 1, 1]] it is 0. Empty if the elements are something
/// else.
std::optional<int64_t> getIndexedDim(Value value);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_LOOKUPS_H
