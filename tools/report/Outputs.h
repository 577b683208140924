//===- Outputs.h - What dist-report writes ----------------------*- C++ -*-===//

#ifndef DIST_TOOLS_REPORT_OUTPUTS_H
#define DIST_TOOLS_REPORT_OUTPUTS_H

#include "compiler/Stages.h"
#include "passes/report/Report.h"
#include "tools/report/Options.h"

namespace mlir::dist {

// All fail after an error message.

/// Makes the program of one device, if `module` is none yet, with all sizes
/// known.
LogicalResult prepareReport(ModuleOp module, const ReportOptions &options,
                            Stages &stages);

/// The report, the simulated step included, and the drawing of --timeline: both
/// or none.
LogicalResult writeReport(ProgramReport &report, ModuleOp module,
                          const ReportOptions &options, const Machine &machine,
                          const LinkTime &time);

/// The plan of a model.
LogicalResult writePlanOf(ModuleOp module, const ReportOptions &options,
                          Stages &stages);

/// The table of --compare. Fails, after all is written, if a schedule fails.
LogicalResult writeComparison(ModuleOp module, const ReportOptions &options,
                              const Machine *machine, const LinkTime &time,
                              Stages &stages);

/// The text of the machine file.
LogicalResult writeMachine(const ReportOptions &options, MLIRContext *context);

} // namespace mlir::dist

#endif // DIST_TOOLS_REPORT_OUTPUTS_H
