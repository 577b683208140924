//===- SyntaxHelp.h - What to type in place of a mistake --------*- C++ -*-===//

#ifndef DIST_PASSES_SCHEDULE_FILES_SYNTAXHELP_H
#define DIST_PASSES_SCHEDULE_FILES_SYNTAXHELP_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::dist {

/// While it lives, an error of MLIR's parser in `text` says what is to be typed
/// there, where the text shows it: a schedule as a file, or in a program.
class SyntaxHelp : ScopedDiagnosticHandler {
public:
  SyntaxHelp(MLIRContext *context, StringRef text);

private:
  bool isHelping = false;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_SYNTAXHELP_H
