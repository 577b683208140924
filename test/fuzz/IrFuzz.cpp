//===- IrFuzz.cpp - Any bytes as IR of the dist dialect -------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <cstdlib>

using namespace mlir;

/// A diagnostic is what malformed IR may give; nothing else. What is accepted
/// is read again as it is printed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<dist::DistDialect, arith::ArithDialect, func::FuncDialect,
                      tensor::TensorDialect>();
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  // The lexer reads the zero behind the text, as files have one.
  std::string text(reinterpret_cast<const char *>(data), size);
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module)
    return 0;
  std::string printed;
  llvm::raw_string_ostream(printed) << *module;
  if (!parseSourceString<ModuleOp>(printed, config))
    std::abort();
  return 0;
}
