//===- Diagnostics.h - How the tools print diagnostics ----------*- C++ -*-===//
//
// As "file:line:column: error: …" with the line they are about. A location may
// be in a file that is no text, as a model that was imported is: such a file is
// named, and nothing of it printed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_DRIVER_DIAGNOSTICS_H
#define DIST_TOOLS_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir {
class PassManager;
namespace dist {

/// Lets `sources` open no files but text.
void openOnlyText(llvm::SourceMgr &sources);

/// Prints all diagnostics of a context, as long as it lives, and not with the
/// whole op.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context);

private:
  llvm::SourceMgr sources; // finds files by the names in locations
  SourceMgrDiagnosticHandler handler;
};

/// For tools whose diagnostics MLIR prints: prints those diagnostics itself,
/// while the passes run, that have a location in a file that is no text.
void printBinaryLocations(PassManager &passes);

} // namespace dist
} // namespace mlir

#endif // DIST_TOOLS_DRIVER_DIAGNOSTICS_H
