//===- IrFuzz.cpp - Any bytes as IR, and what they compute ----------------===//
//
// A diagnostic is what malformed IR may give; nothing else. What is accepted is
// read again as it is printed. A small program is then compiled and run: it may
// fail a check, but leaves no tensor. AddressSanitizer looks at its accesses
// where this target has it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Register.h"
#include "compiler/distribute/Passes.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/sizes/StaticBounds.h"
#include "test/lowering/oracle/JitProgram.h"
#include "test/lowering/oracle/LimitProgram.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::dist;

/// Compiles the program and runs it on zeros and on large numbers.
static void run(ModuleOp module, size_t seed) {
  if (!test::isSmallProgram(module))
    return;
  PassManager passes(module.getContext());
  passes.addPass(createDistScheduleProgram());
  if (failed(passes.run(module)))
    return;
  std::string error;
  test::JitOptions options;
  options.optLevel = seed % 2;
#if __has_feature(address_sanitizer)
  options.checksAddresses = true;
#endif
  auto program = test::JitProgram::make(module, options, error);
  if (!program)
    return;
  auto entry = cast<func::FuncOp>(getEntryFunction(module));
  for (int64_t number :
       {int64_t(0), int64_t(7), std::numeric_limits<int64_t>::max()}) {
    std::vector<test::Tensor> arguments;
    for (Type type : entry.getArgumentTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      test::Tensor &made = arguments.emplace_back(tensor.getElementType(),
                                                  tensor.getShape());
      for (int64_t i = 0; !made.isFloat() && i < made.getNumElements(); ++i)
        made.at(i).i = tensor.getElementType().isInteger(1) ? number & 1
                                                            : number - i;
    }
    std::string problem;
    if (failed(program->run(arguments, seed, problem)) &&
        StringRef(problem).starts_with("writes ")) {
      llvm::errs() << problem << "\n";
      std::abort();
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A context keeps what it has read.
  static std::unique_ptr<MLIRContext> context;
  static unsigned inputs = 0;
  if (inputs++ % 64 == 0) {
    static const DialectRegistry registry = [] {
      DialectRegistry all;
      registerAll(all);
      return all;
    }();
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
  }
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  // The lexer reads the zero behind the text, as files have one.
  std::string text(reinterpret_cast<const char *>(data), size);
  ParserConfig config(context.get(), /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module || failed(verifyInput(*module)))
    return 0;
  std::string printed;
  llvm::raw_string_ostream(printed) << *module;
  if (!parseSourceString<ModuleOp>(printed, config))
    std::abort();
  run(*module, size);
  return 0;
}
