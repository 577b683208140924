//===- dist-lsp-server.cpp - Editors understand dist's files --------------===//

#include "compiler/Register.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/common/CommandLine.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dist::registerAll(registry);
  llvm::cl::SetVersionPrinter(mlir::dist::printVersion);
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
