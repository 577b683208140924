//===- dist-report.cpp - What a scheduled program sends and needs ---------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dist/EmulatedLink.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/report/Report.h"
#include "passes/sizes/BindSizes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

namespace cl = llvm::cl;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("dist-report options");
  cl::opt<std::string> input(cl::Positional, cl::desc("<program>"),
                             cl::init("-"), cl::cat(category));
  cl::opt<std::string> output("o", cl::desc("Where to write"),
                              cl::value_desc("filename"), cl::init("-"),
                              cl::cat(category));
  cl::opt<bool> json("json", cl::desc("One JSON object instead of a table"),
                     cl::cat(category));
  cl::opt<bool> all("all",
                    cl::desc("A line for every collective, also where layers "
                             "repeat them"),
                    cl::cat(category));
  cl::opt<std::string> link(
      "link",
      cl::desc("Estimate the time of the communication: each collective takes "
               "latency + bytes sent / bandwidth"),
      cl::value_desc("latency=20us,bandwidth=1GB/s"), cl::cat(category));
  cl::list<std::string> bind(
      "bind",
      cl::desc("Size of a dimension that the program does not know; may be "
               "repeated"),
      cl::value_desc("INPUT[DIM]=N"), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Reports every collective of a program at level 3 (made by dist-opt "
      "--dist-spmd):\nwhy it is there, what a rank sends for it, and what a "
      "rank "
      "holds and computes.\n\n"
      "Bytes sent are those of a bandwidth-optimal algorithm. Memory is that "
      "of "
      "the tensors\nalive at once in program order, arguments included. Work "
      "is "
      "that of contractions:\na multiplication and an addition are 2 FLOP.\n");

  mlir::dist::LinkTime time;
  if (!link.empty()) {
    try {
      dist::EmulatedLink given = dist::parseLink(link);
      time = [given](int64_t bytes) {
        return given.latencySeconds +
               (given.bytesPerSecond > 0 ? bytes / given.bytesPerSecond : 0);
      };
    } catch (const std::exception &error) {
      llvm::errs() << "dist-report: " << error.what() << "\n";
      return 1;
    }
  }

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file =
      mlir::openInputFile(input, &message);
  std::unique_ptr<llvm::ToolOutputFile> out;
  if (file)
    out = mlir::openOutputFile(output, &message);
  if (!file || !out) {
    llvm::errs() << "dist-report: " << message << "\n";
    return 1;
  }

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::dist::DistDialect>();
  mlir::dist::registerShardingRules(registry);
  mlir::MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(*sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  auto sizes = mlir::dist::parseBindings(bind, [](const llvm::Twine &message) {
    llvm::errs() << "dist-report: --bind " << message << "\n";
  });
  if (failed(sizes))
    return 1;
  // What is sent depends on all sizes.
  bool isUnknown = mlir::dist::getLevel(*module) == 3 &&
                   mlir::dist::hasUnknownSizes(*module);
  if ((isUnknown || !sizes->empty()) &&
      failed(mlir::dist::bindSizes(*module, *sizes)))
    return 1;
  mlir::FailureOr<mlir::dist::ProgramReport> report =
      mlir::dist::makeReport(*module);
  if (failed(report))
    return 1;
  if (json)
    mlir::dist::printJson(*report, out->os());
  else
    mlir::dist::printTable(*report, time, all, out->os());
  out->keep();
  return 0;
}
