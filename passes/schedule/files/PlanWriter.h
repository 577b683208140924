//===- PlanWriter.h - What was decided, as a plan ---------------*- C++ -*-===//
//
// The way back from a placed program to a plan (Plan.h). The borders of modules
// are those of the model as a plan's reader will find it: they are looked for
// before a schedule is applied, and where their values have come to be is read
// when all is placed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_PLANWRITER_H
#define DIST_PASSES_SCHEDULE_FILES_PLANWRITER_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mlir::dist {

class PlanWriter {
public:
  /// Finds the borders of the modules of `model` (level 0 or 1), and marks its
  /// ops.
  explicit PlanWriter(ModuleOp model);

  /// Writes the plan of what the model has become at level 2. What the form
  /// cannot say is null in it, and is said with its reason on `notes`.
  LogicalResult write(ModuleOp placed, llvm::raw_ostream &plan,
                      llvm::raw_ostream &notes) const;

private:
  friend class PlanText;

  /// Where an op, by its mark, reads a value.
  struct Use {
    unsigned mark, operand;
  };
  /// What goes into a module, or comes out of it: where each value is read.
  struct Border {
    std::string path;
    bool isInput;
    std::vector<SmallVector<Use, 2>> values;
  };

  std::vector<Border> borders;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_PLANWRITER_H
