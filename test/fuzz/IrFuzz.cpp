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
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/sizes/StaticBounds.h"
#include "test/lowering/oracle/JitProgram.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::dist;

/// Elements of all tensors together, and turns of loops, of a program that is
/// run here.
static constexpr int64_t kMostSteps = 1 << 16;

/// The steps of an op, roughly; nothing if they may be many.
static std::optional<int64_t> countSteps(Operation *op) {
  int64_t steps = 1;
  auto multiply = [&](int64_t size) {
    return !ShapedType::isDynamic(size) && size <= kMostSteps &&
           (steps *= size) <= kMostSteps;
  };
  auto countElements = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    steps = 1;
    return !tensor || llvm::all_of(tensor.getShape(), multiply);
  };
  int64_t sum = 1;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      if (!countElements(type))
        return std::nullopt;
      sum += steps;
    }
  steps = 1;
  if (auto generic = dyn_cast<linalg::LinalgOp>(op))
    if (!llvm::all_of(generic.getStaticLoopRanges(), multiply))
      return std::nullopt;
  // Loops, calls and blocks may take any time.
  if (isa<LoopLikeOpInterface, CallOpInterface, BranchOpInterface>(op)) {
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<APInt> turns =
        loop ? loop.getStaticTripCount() : std::nullopt;
    if (!turns || turns->ugt(16))
      return std::nullopt;
    sum += turns->getZExtValue();
  }
  return sum + steps;
}

/// Whether the module is a program of one device that takes little time.
static bool isSmallProgram(ModuleOp module) {
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(module));
  if (!entry || entry.isExternal() || getLevel(module) != 0 ||
      !llvm::hasSingleElement(module.getOps()))
    return false;
  int64_t sum = 0;
  return !entry
              .walk([&](Operation *op) {
                std::optional<int64_t> steps = countSteps(op);
                return !steps || (sum += *steps) > kMostSteps
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Compiles the program and runs it on zeros and on large numbers.
static void run(ModuleOp module, size_t seed) {
  if (failed(checkStaticBounds(module)) || !isSmallProgram(module))
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
  ParserConfig config(context.get());
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module)
    return 0;
  std::string printed;
  llvm::raw_string_ostream(printed) << *module;
  if (!parseSourceString<ModuleOp>(printed, config))
    std::abort();
  run(*module, size);
  return 0;
}
