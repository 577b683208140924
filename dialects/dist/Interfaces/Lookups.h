//===- Lookups.h - What indices say of their places -------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_LOOKUPS_H
#define DIST_DIALECTS_DIST_INTERFACES_LOOKUPS_H

#include "mlir/IR/Value.h"
#include <optional>

namespace mlir::dist {

/// The dimension of the tensor `value` whose index its elements are: of
/// [[0, 0, 0], [1, 1, 1]] it is 0. None where they are something else.
std::optional<int64_t> getIndexedDim(Value value);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_LOOKUPS_H
