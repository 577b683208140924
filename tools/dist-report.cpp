//===- dist-report.cpp - What a scheduled program sends and needs ---------===//

#include "compiler/Driver.h"
#include "dist/EmulatedLink.h"
#include "lowering/files/OutputStream.h"
#include "passes/cost/Machine.h"
#include "tools/common/CommandLine.h"
#include "tools/report/Outputs.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;

static cl::OptionCategory category("dist-report options");
static ReportOptions options(category);

static LogicalResult run() {
  if (failed(options.check()))
    return failure();
  LinkTime time;
  if (!options.link.empty()) {
    try {
      ::dist::EmulatedLink given = ::dist::parseLink(options.link);
      time = [given](int64_t bytes) {
        return given.latencySeconds +
               (given.bytesPerSecond > 0 ? bytes / given.bytesPerSecond : 0);
      };
    } catch (const std::exception &error) {
      llvm::errs() << "dist-report: " << error.what() << "\n";
      return failure();
    }
  }

  DialectRegistry registry;
  registerAll(registry);
  MLIRContext context(registry);
  DiagnosticPrinter printer(&context);
  if (options.printMachine)
    return writeMachine(options, &context);
  Machine machine;
  if (!options.machineName.empty()) {
    FailureOr<Machine> loaded =
        loadMachine(UnknownLoc::get(&context), "--machine", options.machineName,
                    options.link);
    if (failed(loaded))
      return failure();
    machine = std::move(*loaded);
  }
  Stages stages("dist-report", options.verbose);
  OwningOpRef<ModuleOp> module = loadModule(options.input, &context, stages);
  if (!module)
    return failure();
  ::dist::noteInput(weightsPath(*module, options.input, ""));
  if (options.plan)
    return writePlanOf(*module, options, stages);
  if (options.compare)
    return writeComparison(*module, options,
                           options.machineName.empty() ? nullptr : &machine,
                           time, stages);
  if (failed(prepareReport(*module, options, stages)))
    return failure();
  stages.begin("report", "adding up");
  FailureOr<ProgramReport> report = makeReport(*module);
  if (failed(report))
    return failure();
  return writeReport(*report, *module, options, machine, time);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ::dist::handleSignals("dist-report");
  cl::HideUnrelatedOptions(category);
  registerStageOptions();
  parseOptions(
      "dist-report", category, argc, argv,
      "Reports every collective of a model with a schedule (--schedule), of a "
      "training step,\nor of a program at level 3 (dist-opt --dist-spmd): why "
      "it is there, what a rank\nsends for it, and what a rank holds and "
      "computes.\n\n"
      "Bytes sent are those of a bandwidth-optimal algorithm. Memory is that "
      "of "
      "the tensors\nalive at once in program order, arguments included. Work "
      "is "
      "that of contractions:\na multiplication and an addition are 2 FLOP.\n",
      "\nEXAMPLES:\n"
      "  dist-report model.mlir --schedule tp.mlir\n"
      "  dist-report model.mlir --schedule tp.mlir --machine 8xH100 "
      "--simulate\n"
      "  dist-report model.mlir --compare tp.mlir dp.mlir\n",
      &options.printMachine);
  return finishOutput("dist-report", failed(run()));
}
