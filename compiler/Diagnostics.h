//===- Diagnostics.h - How the tools print diagnostics ----------*- C++ -*-===//
//
// As "file:line:column: error: …", with the source line. A location may be in a
// binary file, such as an imported model: such a file is named, and nothing of
// it is printed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_DIAGNOSTICS_H
#define DIST_COMPILER_DIAGNOSTICS_H

#include "dialects/dist/Utils/LayerPaths.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"

#include <string>
#include <vector>

namespace mlir {
class PassManager;
namespace dist {

/// Lets `sources` open text files only, and print of a long line the part
/// around a diagnostic's column.
void quoteText(llvm::SourceMgr &sources);

/// Prints "error: TEXT", for errors without a location, and keeps it.
void printError(const Twine &text);

/// The errors so far, each as "file:line:column: text" or as text only.
std::vector<std::string> getErrors();

/// Keeps the errors of a context for getErrors(), while this object lives, and
/// passes them on to earlier handlers.
class ErrorKeeper : ScopedDiagnosticHandler {
public:
  explicit ErrorKeeper(MLIRContext *context);
};

/// Prints diagnostics without a position, such as those of a file that cannot
/// be read, as "error: …". MLIR would print the position `<unknown>:0`.
class PlacelessPrinter : ScopedDiagnosticHandler {
public:
  explicit PlacelessPrinter(MLIRContext *context);
};

/// Prints all diagnostics of a context, while this object lives, without the
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

/// Has remarks and warnings that are alike but for the numbers of layers
/// printed as one, with their count: at the end of this object's life, or
/// before an error. It stands where the first of them does.
class AlikeRemarks : ScopedDiagnosticHandler {
public:
  explicit AlikeRemarks(MLIRContext *context);
  ~AlikeRemarks();

private:
  struct Alike {
    Diagnostic first;
    int64_t count = 0;
    LayerPaths text = {};
  };
  void print();

  MLIRContext *context;
  std::vector<Alike> kept;
  /// Which of `kept`, by what is alike.
  llvm::StringMap<size_t> numberOf;
  bool isPrinting = false;
};

/// For tools whose diagnostics MLIR prints: while the passes run, prints the
/// diagnostics that have a location in a binary file or in a long line, or no
/// location, itself.
void printUnquoted(PassManager &passes);

} // namespace dist
} // namespace mlir

#endif // DIST_COMPILER_DIAGNOSTICS_H
