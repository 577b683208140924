//===- Options.h - Options of dist-report -----------------------*- C++ -*-===//

#ifndef DIST_TOOLS_REPORT_OPTIONS_H
#define DIST_TOOLS_REPORT_OPTIONS_H

#include "compiler/distribute/Passes.h"
#include "llvm/Support/CommandLine.h"
#include <string>

namespace mlir::dist {

/// One static object of the tool.
struct ReportOptions {
  explicit ReportOptions(llvm::cl::OptionCategory &category);

  /// Refuses options that would be without effect.
  LogicalResult check() const;
  /// What the options say of the model alone.
  DistDistributeOptions getModelOptions() const;
  /// What all options say.
  DistDistributeOptions getDistributeOptions() const;

  llvm::cl::opt<std::string> input;
  llvm::cl::list<std::string> compared;
  llvm::cl::opt<bool> compare;
  llvm::cl::opt<std::string> output;
  llvm::cl::opt<std::string> schedule, scheduleName;
  llvm::cl::list<std::string> mesh;
  llvm::cl::opt<bool> json;
  llvm::cl::opt<bool> all;
  llvm::cl::opt<bool> plan;
  llvm::cl::opt<std::string> link;
  llvm::cl::opt<bool> simulateStep;
  llvm::cl::opt<std::string> machineName;
  llvm::cl::opt<std::string> timeline;
  llvm::cl::opt<std::string> pipelineTable;
  llvm::cl::opt<bool> printMachine;
  llvm::cl::list<std::string> bind;
  llvm::cl::opt<bool> fuseTransposes;
  llvm::cl::opt<bool> assumeMasks;
  llvm::cl::opt<std::string> recompute;
  llvm::cl::opt<std::string> joinHalos;
  llvm::cl::opt<std::string> overlap;
  llvm::cl::opt<double> overlapMemory;
  llvm::cl::opt<std::string> turns;
  llvm::cl::alias microbatches;
  llvm::cl::opt<bool> verbose;
};

} // namespace mlir::dist

#endif // DIST_TOOLS_REPORT_OPTIONS_H
