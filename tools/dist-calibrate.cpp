//===- dist-calibrate.cpp - Measures this computer ------------------------===//
//
// Writes a machine file (docs/internals/machines.md) of the computer that it
// runs on, with ranks that are threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Diagnostics.h"
#include "compiler/Stages.h"
#include "dist/EmulatedLink.h"
#include "dist/Tensor.h"
#include "lowering/files/OutputStream.h"
#include "tools/calibrate/Measure.h"
#include "tools/common/CommandLine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;
namespace host = ::dist;

static cl::OptionCategory category("dist-calibrate options");
static cl::opt<std::string> output("o", cl::desc("Where to write"),
                                   cl::value_desc("FILE.json"), cl::init("-"),
                                   cl::cat(category));
static cl::opt<unsigned>
    ranksOption("ranks",
                cl::desc("How many ranks work at once while it is measured "
                         "(default: one a core, 2 to 8)"),
                cl::value_desc("N"), cl::cat(category));
static cl::opt<std::string> linkOption("link", cl::desc(host::linkHelp),
                                       cl::value_desc(host::linkForm),
                                       cl::cat(category));

static int64_t getRanks() {
  if (ranksOption.getNumOccurrences() == 0)
    return std::clamp(countCores(), 2u, 8u);
  constexpr unsigned kMost = 256;
  if (ranksOption < 2 || ranksOption > kMost)
    throw host::Error("--ranks " + std::to_string(ranksOption) +
                      ": must be 2 to " + std::to_string(kMost));
  return ranksOption;
}

static LogicalResult run() {
  int64_t ranks = getRanks();
  if (!linkOption.empty())
    host::parseLink(linkOption); // throws
  if (output != "-" && !StringRef(output).ends_with(".json"))
    throw host::Error("-o " + output +
                      ": --machine takes files whose names "
                      "end in .json");
  // Before all the work, so that a file that cannot be written costs none.
  auto stream = OutputStream::open(output);
  if (!stream) {
    llvm::errs() << "dist-calibrate: error: "
                 << llvm::toString(stream.takeError()) << "\n";
    return failure();
  }
  std::string load = describeLoad(ranks);
  Machine machine = measureMachine(ranks, linkOption);
  std::string text =
      printMachine(machine, describeSources(ranks, linkOption, load));
  // What is written can be read.
  MLIRContext context;
  DiagnosticPrinter printer(&context);
  if (failed(Machine::parse(text, output, &context)))
    return failure();
  (*stream)->os() << text;
  if (llvm::Error error = (*stream)->keep()) {
    llvm::errs() << "dist-calibrate: error: "
                 << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  host::handleSignals("dist-calibrate");
  cl::HideUnrelatedOptions(category);
  registerStageOptions();
  parseOptions(
      "dist-calibrate", category, argc, argv,
      "Measures this computer, in some ten seconds, and writes a machine "
      "file of it, which\n--machine of dist-report, dist-run and "
      "dist-compile take: ranks that are threads.\n\n"
      "What else runs meanwhile makes it slower in the file.\n",
      "\nEXAMPLES:\n"
      "  dist-calibrate -o here.json\n"
      "  dist-calibrate --ranks 4 -o here.json\n");
  try {
    return finishOutput("dist-calibrate", failed(run()));
  } catch (const std::exception &error) {
    llvm::errs() << "dist-calibrate: error: " << error.what() << "\n";
    return finishOutput("dist-calibrate", 1);
  }
}
