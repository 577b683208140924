//===- PlanWriter.h - Writes a placed program as a plan ---------*- C++ -*-===//
//
// The way back from a placed program to a plan (Plan.h). The borders of modules
// are those of the model, as a reader of the plan will find it. So they are
// looked up before a schedule is applied. The placements of their values are
// read after placement.
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

  /// Writes the plan of the model at level 2. Placements that a plan cannot
  /// express become null, and the reason is written to `notes`.
  LogicalResult write(ModuleOp placed, llvm::raw_ostream &plan,
                      llvm::raw_ostream &notes) const;

private:
  friend class PlanText;

  /// Where an op, identified by its mark, reads a value.
  struct Use {
    unsigned mark, operand;
  };
  /// An input or output of a module: where each value is read.
  struct Border {
    std::string path;
    bool isInput;
    std::vector<SmallVector<Use, 2>> values;
  };

  std::vector<Border> borders;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_PLANWRITER_H
