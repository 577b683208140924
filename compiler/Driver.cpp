//===- Driver.cpp - What dist-compile and dist-run share ------------------===//

#include "compiler/Driver.h"
#include "compiler/distribute/Phases.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/SourceText.h"
#include "dist/OutputFile.h"
#include "lowering/decompose/Passes.h"
#include "lowering/files/OutputStream.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/schedule/files/SyntaxHelp.h"
#include "passes/sizes/StaticBounds.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::dist;

OwningOpRef<ModuleOp>
mlir::dist::loadModule(StringRef path, MLIRContext *context, Stages &stages) {
  stages.begin("parse", "reading " + path.str());
  llvm::SourceMgr sources;
  quoteText(sources);
  auto buffer = readText(path);
  if (!buffer) {
    printError("cannot read " + path + ": " +
               llvm::toString(buffer.takeError()));
    return nullptr;
  }
  ::dist::noteInput(path.str());
  if (isBytecode((*buffer)->getMemBufferRef())) {
    printError(path +
               " is MLIR bytecode, whose reader takes it on trust; make "
               "text of it: dist-opt " +
               path + " -o MODEL.mlir");
    return nullptr;
  }
  if (std::string kind = describeForeign(path, (*buffer)->getBuffer());
      !kind.empty()) {
    printError(path + " " + kind);
    return nullptr;
  }
  if (std::string deep = findTooDeep((*buffer)->getBuffer()); !deep.empty()) {
    printError(path + ":" + deep);
    return nullptr;
  }
  StringRef text = (*buffer)->getBuffer();
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, context);
  ErrorKeeper keeper(context);
  OwningOpRef<ModuleOp> module;
  {
    SyntaxHelp help(context, text);
    module = parseSourceFile<ModuleOp>(
        sources, ParserConfig(context, /*verifyAfterParse=*/false));
  }
  if (module && failed(verifyInput(*module)))
    return nullptr;
  return module;
}

LogicalResult mlir::dist::convertToF64(ModuleOp module, Stages &stages) {
  PassManager passes(module.getContext());
  passes.addPass(createDistConvertToF64());
  return stages.run("f64", passes, module);
}

FailureOr<std::vector<SizeBinding>>
mlir::dist::parseBindings(ArrayRef<std::string> options) {
  return parseBindings(
      options, [](const Twine &message) { printError("--bind " + message); });
}

LogicalResult mlir::dist::distribute(ModuleOp module,
                                     const DistDistributeOptions &options,
                                     Stages &stages) {
  FailureOr<std::vector<Phase>> phases = getPhases(module, options);
  if (failed(phases))
    return failure();
  for (Phase &phase : *phases) {
    PassManager passes(module.getContext());
    static_cast<OpPassManager &>(passes) = std::move(phase.passes);
    if (failed(stages.run(phase.stage, passes, module, phase.part)))
      return failure();
  }
  return success();
}

LogicalResult mlir::dist::writeModule(ModuleOp module, StringRef path,
                                      StringRef weights) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (!weights.empty())
    (*copy)->setAttr(kWeightsAttr,
                     StringAttr::get(module.getContext(), weights));
  llvm::Error error = writeFile(path, [&](llvm::raw_ostream &os) {
    copy->print(os);
    os << "\n";
    return llvm::Error::success();
  });
  if (!error)
    return success();
  printError(llvm::toString(std::move(error)));
  return failure();
}

LogicalResult mlir::dist::eraseAnnotations(ModuleOp module, Stages &stages) {
  if (getLevel(module) == 3)
    return module.emitError("is the program of one device: what it is to be "
                            "compared with must be given (--reference)");
  PassManager passes(module.getContext());
  passes.addPass(createEraseAnnotationsPass());
  return stages.run("schedule", passes, module);
}
