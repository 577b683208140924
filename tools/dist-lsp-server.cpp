//===- dist-lsp-server.cpp - Editors understand dist's files --------------===//

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/driver/Register.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dist::registerAll(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
