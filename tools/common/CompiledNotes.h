//===- CompiledNotes.h - What goes with a compiled program ------*- C++ -*-===//

#ifndef DIST_TOOLS_COMMON_COMPILEDNOTES_H
#define DIST_TOOLS_COMMON_COMPILEDNOTES_H

#include "dist/OptionValues.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace mlir::dist {

/// What a process needs to know of a program that another has compiled, besides
/// the bundle.
struct CompiledNotes {
  /// The file of parameters; "" for none.
  std::string weights;
  /// Of integer inputs that are random.
  std::map<std::string, ::dist::IntegerRanges> ranges;
  /// What an optimizer keeps, by name.
  std::set<std::string> states;

  std::string write() const;
  /// Throws ::dist::Error.
  static CompiledNotes read(std::string_view text);
};

} // namespace mlir::dist

#endif // DIST_TOOLS_COMMON_COMPILEDNOTES_H
