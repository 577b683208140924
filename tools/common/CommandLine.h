//===- CommandLine.h - What all tools ask of their options ------*- C++ -*-===//

#ifndef DIST_TOOLS_COMMON_COMMANDLINE_H
#define DIST_TOOLS_COMMON_COMMANDLINE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include <functional>

namespace mlir::dist {

/// Hides what libraries have registered before main: LLVM's options for its
/// passes and code generators. --help-hidden lists them.
void hideLibraryOptions();

/// Takes away the options of LLVM and MLIR that write files which nobody
/// checks: these could replace an input. To be called before options are
/// parsed.
void removeUncheckedOutputs();

/// After options are parsed: ends the program with a message if an option has
/// an empty text, or if an option that is not a list is given twice. Otherwise
/// one of the two would be dropped silently.
void checkOptions(StringRef tool);

/// "dist 1.2.3, with LLVM 22.1.8", for --version.
void printVersion(llvm::raw_ostream &stream);

/// Parses the options of `tool` that are registered, and checks that those are
/// there that it needs: the model first, unless one of `instead` is given. No
/// argument is a file of arguments: "@tp" is a name. --help begins with
/// `overview` and ends with `examples`; if the tool's own options have a
/// `category`, others follow them.
void parseArguments(StringRef tool, int argc, char **argv, StringRef overview,
                    StringRef examples,
                    ArrayRef<const llvm::cl::Option *> instead = {},
                    llvm::cl::OptionCategory *category = nullptr);

/// All of this, for a tool whose options are those of `category`. If they are
/// wrong, `leave` is called before the program ends.
void parseOptions(StringRef tool, llvm::cl::OptionCategory &category, int argc,
                  char **argv, StringRef overview, StringRef examples,
                  const llvm::cl::Option *instead = nullptr,
                  std::function<void()> leave = nullptr);

} // namespace mlir::dist

#endif // DIST_TOOLS_COMMON_COMMANDLINE_H
