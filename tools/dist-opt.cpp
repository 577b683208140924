//===- dist-opt.cpp - MLIR's optimizer driver with dist's dialect ---------===//
//
// As mlir-opt, with three differences: a module written to another folder names
// its weights from there, and diagnostics neither quote files that are no text
// nor print ops unasked.
//
//===----------------------------------------------------------------------===//

#include "compiler/Diagnostics.h"
#include "compiler/Paths.h"
#include "compiler/Register.h"
#include "compiler/distribute/Passes.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/SourceText.h"
#include "lowering/files/OutputStream.h"
#include "lowering/targets/Targets.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Passes.h"
#include "passes/sizes/StaticBounds.h"
#include "tools/common/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include <filesystem>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Runs first: what was read is checked, and the weights are no output.
struct CheckInput : PassWrapper<CheckInput, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckInput)
  explicit CheckInput(std::string folder) : folder(std::move(folder)) {}

  StringRef getName() const override { return "CheckInput"; }
  void runOnOperation() override {
    if (failed(verifyInput(getOperation())))
      return signalPassFailure();
    auto weights = getOperation()->getAttrOfType<StringAttr>(kWeightsAttr);
    if (weights)
      ::dist::noteInput(
          (std::filesystem::path(folder) / weights.getValue().str()).string());
    markAllAnalysesPreserved();
  }

  std::string folder;
};

/// Runs last: what the weights are relative to becomes the new file's folder.
struct RelocateWeights : PassWrapper<RelocateWeights, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RelocateWeights)
  RelocateWeights(std::string folder, std::string newFolder)
      : folder(std::move(folder)), newFolder(std::move(newFolder)) {}

  StringRef getName() const override { return "RelocateWeights"; }
  void runOnOperation() override {
    auto weights = getOperation()->getAttrOfType<StringAttr>(kWeightsAttr);
    if (weights)
      getOperation()->setAttr(
          kWeightsAttr,
          StringAttr::get(&getContext(),
                          relocate(weights.getValue(), folder, newFolder)));
  }

  std::string folder, newFolder;
};
} // namespace

/// An error names its op; it does not print it, which may be the program,
/// unless that is asked for (--mlir-print-op-on-diagnostic).
static void printNoOps() {
  constexpr StringRef kName = "mlir-print-op-on-diagnostic";
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(kName);
  if (option && option->getNumOccurrences() == 0)
    option->addOccurrence(0, kName, "false");
}

/// Whether the pass of that name has the option `file`.
static bool takesFile(StringRef name) {
  const PassInfo *pass = PassInfo::lookup(name);
  OpPassManager passes(ModuleOp::getOperationName());
  return pass &&
         succeeded(pass->addToPipeline(
             passes, "file=x", [](const Twine &) { return failure(); }));
}

/// Tells of a pass that is given a file alone, which its parser would call an
/// option that there is not.
static void checkPassOptions(ArrayRef<const char *> arguments) {
  for (StringRef argument : arguments) {
    auto [pass, value] = argument.ltrim('-').split('=');
    if (!argument.starts_with("-") || !pass.starts_with("dist-") ||
        !value.contains('.') || value.find_first_of("= {") != StringRef::npos)
      continue;
    llvm::errs() << "dist-opt: error: --" << pass << "=" << value
                 << ": options of a pass are NAME=VALUE";
    if (takesFile(pass))
      llvm::errs() << ", as in --" << pass << "=file=" << value;
    llvm::errs() << "; dist-opt --help lists them\n";
    exit(1);
  }
}

static LogicalResult run(int argc, char **argv, StringRef input,
                         StringRef output, DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, input, output, registry);
  llvm::InitLLVM init(argc, argv);
  ::dist::handleSignals("dist-opt");

  auto file = readText(input);
  if (!file) {
    llvm::errs() << "error: cannot read " << input << ": "
                 << llvm::toString(file.takeError()) << "\n";
    return failure();
  }
  ::dist::noteInput(input.str());
  if (!isBytecode((*file)->getMemBufferRef())) {
    if (std::string kind = describeForeign(input, (*file)->getBuffer());
        !kind.empty()) {
      llvm::errs() << "error: " << input << " " << kind << "\n";
      return failure();
    }
    if (std::string deep = findTooDeep((*file)->getBuffer()); !deep.empty()) {
      llvm::errs() << "error: " << input << ":" << deep << "\n";
      return failure();
    }
  }
  auto out = OutputStream::open(output);
  if (!out) {
    llvm::errs() << "error: " << llvm::toString(out.takeError()) << "\n";
    return failure();
  }
  std::string folder = folderOf(input), newFolder = folderOf(output);
  MlirOptMainConfig asked = config;
  config.verifyOnParsing(false);
  config.setPassPipelineSetupFn([&, asked](PassManager &passes) {
    if (!asked.shouldVerifyDiagnostics())
      printUnquoted(passes);
    passes.addPass(std::make_unique<CheckInput>(folder));
    if (failed(asked.setupPassPipeline(passes)))
      return failure();
    if (folder != newFolder)
      passes.addPass(std::make_unique<RelocateWeights>(folder, newFolder));
    return success();
  });
  if (failed(MlirOptMain((*out)->os(), std::move(*file), registry, config)))
    return failure();
  if (llvm::Error error = (*out)->keep()) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  return success();
}

int main(int argc, char **argv) {
  hideLibraryOptions();
  DialectRegistry registry;
  registerAll(registry);
  registerAllPasses();
  registerAllDistPasses();
  registerLowerPasses();
  registerDistDistributePasses();
  std::string help = registerCLIOptions("dist optimizer driver\n", registry);
  removeUncheckedOutputs();
  llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                   llvm::cl::desc("IN.mlir"),
                                   llvm::cl::init("-"));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("Output filename"),
                                    llvm::cl::value_desc("filename"),
                                    llvm::cl::init("-"));
  checkPassOptions(ArrayRef(argv, argc).drop_front());
  parseArguments("dist-opt", argc, argv, help,
                 "\nEXAMPLES:\n"
                 "  dist-opt model.mlir --dist-apply-schedule=file=tp.mlir\n"
                 "  dist-opt model.mlir --dist-apply-schedule=file=tp.mlir "
                 "--dist-spmd -o model.tp.mlir\n",
                 {llvm::cl::getRegisteredOptions().lookup("show-dialects"),
                  llvm::cl::getRegisteredOptions().lookup("list-passes")});
  checkOptions("dist-opt");
  printNoOps();
  LogicalResult result = run(argc, argv, input, output, registry);
  return finishOutput("dist-opt", failed(result));
}
