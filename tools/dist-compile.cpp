//===- dist-compile.cpp - From a module to a bundle -----------------------===//
//
// Applies a schedule, partitions, and compiles the program of one rank into a
// folder that dist-exec and dist-run run.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver.h"
#include "compiler/Options.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/files/OutputStream.h"
#include "lowering/targets/Targets.h"
#include "tools/common/CommandLine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;

static cl::OptionCategory category("dist-compile options");
static CompileOptions common(category);

static cl::opt<std::string> input(cl::Positional, cl::desc("IN.mlir"),
                                  cl::Required, cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("The bundle: a folder"),
                                   cl::value_desc("OUT.dist"), cl::Required,
                                   cl::cat(category));
static cl::opt<std::string> target("target",
                                   cl::desc("What to compile for: cpu, cuda"),
                                   cl::init("cpu"), cl::cat(category));
static cl::opt<std::string> linkOption(
    "link",
    cl::desc("With --machine: the link that dist-run --link will pretend"),
    cl::value_desc("latency=20us,bandwidth=1GB/s"), cl::cat(category));
static cl::opt<bool> f64("f64", cl::desc("Do all floating-point work in f64"),
                         cl::cat(category));
static cl::opt<std::string> dumpLLVM("dump-llvm",
                                     cl::desc("Also write the LLVM IR here"),
                                     cl::value_desc("FILE.ll"),
                                     cl::cat(category));
static cl::opt<std::string>
    dumpAssembly("dump-asm", cl::desc("Also write the assembly here"),
                 cl::value_desc("FILE.s"), cl::cat(category));
static cl::opt<std::string>
    dumpPtx("dump-ptx",
            cl::desc("With --target cuda: also write the GPU's code here"),
            cl::value_desc("FILE.ptx"), cl::cat(category));
static cl::opt<bool> statistics("statistics",
                                cl::desc("Print memory and numbers of kernels"),
                                cl::cat(category));

static LogicalResult run() {
  if (common.machine.empty() && !linkOption.empty() &&
      common.overlap != "auto" && common.halos != "auto" &&
      common.joinHalos != "auto") {
    llvm::errs() << "dist-compile: error: --link: it takes the place of a "
                    "machine's links: say with --machine which\n";
    return failure();
  }
  BundleOptions options;
  options.target = findTarget(target);
  if (!options.target) {
    llvm::errs() << "dist-compile: error: --target " << target
                 << ": known are ";
    llvm::interleaveComma(getTargets(), llvm::errs(), [](const Target *known) {
      llvm::errs() << known->getName();
    });
    if (StringRef(target).starts_with("cuda:"))
      llvm::errs()
          << ". The code of cuda is PTX for sm_80, which the driver of "
             "a later GPU translates for it";
    llvm::errs() << "\n";
    return failure();
  }
  if (!dumpPtx.empty() && target != "cuda") {
    llvm::errs() << "dist-compile: error: --dump-ptx " << dumpPtx
                 << ": there is none for --target " << target
                 << ": give --target cuda\n";
    return failure();
  }
  DialectRegistry registry;
  registerAll(registry);
  MLIRContext context(registry);
  DiagnosticPrinter printer(&context);
  Stages stages("dist-compile", common.verbose);
  OwningOpRef<ModuleOp> module = loadModule(input, &context, stages);
  if (!module)
    return failure();
  if (!common.machine.empty() && common.overlap != "auto" &&
      common.schedule.empty() && common.plan.empty() &&
      getLevel(*module) == 0 && module->getOps<ScheduleOp>().empty())
    return module->emitError(
        "--machine: what for? There is no schedule or plan, so that nothing is "
        "sent. With one collectives are the cheapest ones on the machine, and "
        "run beside computation where that pays there (--overlap, --halos, "
        "--join-halos)");
  // The bundle names its weights relative to itself, a folder.
  std::string dumpedWeights = relocateWeights(*module, input, common.weights,
                                              folderOf(common.dumpSpmd));
  std::string weightsFile = weightsPath(*module, input, common.weights);
  ::dist::noteInput(weightsFile);
  std::string weights =
      relocate(weightsFile, ".", StringRef(output).rtrim('/'));
  (*module)->setAttr(kWeightsAttr, StringAttr::get(&context, weights));
  if (f64 && failed(convertToF64(*module, stages)))
    return failure();
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(common.bind);
  if (failed(sizes))
    return failure();
  DistDistributeOptions distribution = common.getDistributeOptions(*sizes);
  distribution.f64 = f64;
  distribution.link = linkOption;
  if (failed(distribute(*module, distribution, stages)))
    return failure();
  if (!common.dumpSpmd.empty() &&
      failed(writeModule(*module, common.dumpSpmd, dumpedWeights)))
    return failure();
  options.codegen.cpu = common.cpu;
  options.codegen.optLevel = common.getOptLevel();
  options.codegen.dumpLLVM = dumpLLVM;
  options.codegen.dumpAssembly = dumpAssembly;
  options.codegen.dumpPtx = dumpPtx;
  options.codegen.beginStage = [&](StringRef name,
                                   StringRef what) -> TimingScope & {
    return stages.begin(name, what);
  };
  BundleStatistics found;
  if (failed(writeBundle(*module, output, options, &found)))
    return failure();
  if (statistics)
    llvm::outs() << "kernels " << found.kernels << ", arena "
                 << found.arenaBytes << " bytes, alive at once "
                 << found.liveBytes << " bytes\n";
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ::dist::handleSignals("dist-compile");
  cl::HideUnrelatedOptions(category);
  registerStageOptions();
  parseOptions(
      "dist-compile", category, argc, argv,
      "Compiles a module of any level into a bundle, once for all ranks.\n",
      "\nEXAMPLES:\n"
      "  dist-compile model.mlir --schedule tp.mlir -o model.dist\n"
      "  dist-compile model.mlir --schedule tp.mlir --mesh tp=4 "
      "--bind batch=8 -o model.dist\n");
  return finishOutput("dist-compile", failed(run()));
}
