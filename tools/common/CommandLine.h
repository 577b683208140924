//===- CommandLine.h - What all tools ask of their options ------*- C++ -*-===//

#ifndef DIST_TOOLS_COMMON_COMMANDLINE_H
#define DIST_TOOLS_COMMON_COMMANDLINE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::dist {

/// Takes away the options of LLVM and MLIR that write files which nobody
/// checks: these could replace an input. To be called before options are
/// parsed.
void removeUncheckedOutputs();

/// Ends the program with a message, once options are parsed, if an option has
/// an empty text, or one that is no list is given twice: that one of them would
/// be dropped silently.
void checkOptions(StringRef tool);

/// Parses the options that are registered. No argument is a file of arguments:
/// "@tp" is a name.
void parseArguments(int argc, char **argv, StringRef overview);

/// All of this, for the options of `tool`.
void parseOptions(StringRef tool, int argc, char **argv, StringRef overview);

} // namespace mlir::dist

#endif // DIST_TOOLS_COMMON_COMMANDLINE_H
