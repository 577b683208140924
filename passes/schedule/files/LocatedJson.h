//===- LocatedJson.h - JSON with line numbers -------------------*- C++ -*-===//
//
// llvm::json forgets the positions of values, their order, and repeated keys.
// Messages about a user's file need all three.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_LOCATEDJSON_H
#define DIST_PASSES_SCHEDULE_FILES_LOCATEDJSON_H

#include "mlir/IR/Location.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// A value of a JSON file. Members of objects are in the order of the file.
struct LocatedJson {
  enum Kind { Null, Boolean, Integer, Float, String, List, Object };

  Kind kind = Null;
  unsigned line = 0, column = 0;
  /// For an integer; `text` is not empty if it is out of range. For a truth
  /// value 0 or 1.
  int64_t integer = 0;
  /// For a string, or for a number that does not fit.
  std::string text;
  /// For a list or an object.
  std::vector<LocatedJson> items;
  /// For an object, one for each item; no two are equal.
  std::vector<LocatedJson> keys;

  /// "null", "a number", … for messages.
  StringRef describe() const;
  /// The member called `key`, if any.
  const LocatedJson *find(StringRef key) const;

  /// Parses `text`. Emits an error in file `file` and returns nullopt if it is
  /// not JSON, gives a key twice, or is nested more than 64 deep.
  static std::optional<LocatedJson> parse(StringRef text, StringRef file,
                                          MLIRContext *context);
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_LOCATEDJSON_H
