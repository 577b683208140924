//===- dist-lsp-server.cpp - Editors understand dist's files --------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::dist::DistDialect>();
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
