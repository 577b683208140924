//===- Diagnostics.h - How the tools print diagnostics ----------*- C++ -*-===//
//
// As "file:line:column: error: …" with the line they are about. A location may
// be in a file that is no text, as a model that was imported is: such a file is
// named, and nothing of it printed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_DIAGNOSTICS_H
#define DIST_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

#include <string>
#include <vector>

namespace mlir {
class PassManager;
namespace dist {

/// Lets `sources` open no files but text.
void openOnlyText(llvm::SourceMgr &sources);

/// Prints "error: TEXT" for what has no location, and keeps it.
void printError(const Twine &text);

/// The errors so far, each as "file:line:column: text" or as text alone.
std::vector<std::string> getErrors();

/// Keeps the errors of a context for getErrors(), as long as it lives, and
/// leaves them to the handlers that were there before.
class ErrorKeeper : ScopedDiagnosticHandler {
public:
  explicit ErrorKeeper(MLIRContext *context);
};

/// Prints diagnostics that are at no place, such as those of a file that cannot
/// be read, as "error: …", where MLIR would name the place `<unknown>:0`.
class PlacelessPrinter : ScopedDiagnosticHandler {
public:
  explicit PlacelessPrinter(MLIRContext *context);
};

/// Prints all diagnostics of a context, as long as it lives, and not with the
/// whole op.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context);

private:
  llvm::SourceMgr sources; // finds files by the names in locations
  SourceMgrDiagnosticHandler handler;
  PlacelessPrinter placeless;
  ErrorKeeper keeper; // asked first
};

/// For tools whose diagnostics MLIR prints: prints those diagnostics itself,
/// while the passes run, that have a location in a file that is no text, or
/// none.
void printBinaryLocations(PassManager &passes);

} // namespace dist
} // namespace mlir

#endif // DIST_COMPILER_DIAGNOSTICS_H
