//===- ToolArguments.h - What the tools are given ---------------*- C++ -*-===//
//
// Checks of a command line before it is parsed, which all tools have in common,
// by whatever library they parse it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLARGUMENTS_H
#define DIST_TOOLARGUMENTS_H

#include "dist/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace dist {

/// An option of a tool.
struct ToolOption {
  enum Kind {
    Flag,     // no value, or one joined by '='
    Text,     // what follows it, or is joined by '='
    Whole,    // likewise: a whole number
    Positive, // likewise: one that has no sign
    Number    // likewise: a finite number
  };
  Kind kind = Flag;
  /// What --help calls its value: "FILE.mlir".
  std::string value = {};
  /// Its values, if there are few.
  std::vector<std::string> choices = {};
};
/// By their names, without dashes.
using ToolOptions = std::map<std::string, ToolOption>;

/// One thing of a command line.
struct ToolArgument {
  /// Of an option, without dashes; empty for one of the models.
  std::string option;
  std::string value;
  /// As it was written, for those that are no value of an option.
  std::string text;
};

/// The options and models that `arguments` name. Throws Error for an option
/// that `tool` does not have, and for one whose value is missing, empty or no
/// number where one belongs. A number may follow a name of one letter at once.
std::vector<ToolArgument>
readArguments(const std::string &tool,
              const std::vector<std::string> &arguments,
              const ToolOptions &options);

/// Throws Error unless there is one model. `forms` are what the tool takes for
/// one, as in "IN.mlir or OUT.dist".
void checkModel(const std::vector<ToolArgument> &given,
                const std::string &forms, const ToolOptions &options);

} // namespace dist

#endif // DIST_TOOLARGUMENTS_H
