//===- RunningStatistics.h - What batch norms leave behind ------*- C++ -*-===//
//
// In training mode a batch norm moves its recorded statistics towards those of
// the batch. The file has no place for them: here they are new values of the
// parameters that hold them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_RUNNINGSTATISTICS_H
#define DIST_FRONTENDS_ONNX_OPERATORS_RUNNINGSTATISTICS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/MapVector.h"

#include <string>
#include <vector>

namespace mlir::dist::frontend {

struct RunningStatistics {
  /// Of the function's arguments, the first that is a parameter.
  unsigned firstParameter = 0;
  /// What each is after the nodes so far; keys are arguments.
  llvm::MapVector<Value, Value> current;
  /// Nodes that read some that are computed from parameters, which stay as they
  /// are.
  std::vector<std::string> computed;
  /// Nodes that keep nothing of what was before.
  std::vector<std::string> forgetful;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_RUNNINGSTATISTICS_H
