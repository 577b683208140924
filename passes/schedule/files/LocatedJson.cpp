//===- LocatedJson.cpp - JSON with the lines it stands on -----------------===//
//
// nlohmann's parser, which tells of each value as it reads it, over an iterator
// that counts lines.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/files/LocatedJson.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/bounds/Bounds.h"
#include "llvm/ADT/StringSet.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace mlir::dist;

StringRef LocatedJson::describe() const {
  switch (kind) {
  case Null:
    return "null";
  case Boolean:
    return "a truth value";
  case Integer:
  case Float:
    return "a number";
  case String:
    return "a string";
  case List:
    return "a list";
  case Object:
    return "an object";
  }
  return "";
}

const LocatedJson *LocatedJson::find(StringRef key) const {
  for (auto [name, item] : llvm::zip_equal(keys, items))
    if (name.text == key)
      return &item;
  return nullptr;
}

namespace {
struct Position {
  unsigned line = 1, column = 0;
};

/// Characters of a text, counted as they are read.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, Position *position)
      : at(at), position(position) {}

  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    ++position->column;
    if (*at++ == '\n') {
      ++position->line;
      position->column = 0;
    }
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator &other) const {
    return at == other.at;
  }
  bool operator!=(const CountingIterator &other) const {
    return at != other.at;
  }

private:
  const char *at;
  Position *position;
};

/// Builds the tree; nlohmann's parser calls its methods.
class TreeBuilder {
public:
  TreeBuilder(StringRef file, MLIRContext *context, Position &position)
      : file(file), context(context), position(position) {}

  bool null() { return add(LocatedJson::Null); }
  bool boolean(bool value) { return add(LocatedJson::Boolean, "", value); }
  bool number_integer(int64_t value) {
    return add(LocatedJson::Integer, "", value);
  }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(INT64_MAX))
      return add(LocatedJson::Integer, std::to_string(value));
    return add(LocatedJson::Integer, "", static_cast<int64_t>(value));
  }
  bool number_float(double, const std::string &text) {
    return add(LocatedJson::Float, text);
  }
  bool string(std::string &text) { return add(LocatedJson::String, text); }
  bool binary(nlohmann::json::binary_t &) { return false; }
  bool start_object(size_t) { return open(LocatedJson::Object); }
  bool start_array(size_t) { return open(LocatedJson::List); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string &text) {
    if (!names.back().insert(text).second)
      return fail("\"" + text + "\" is given twice");
    LocatedJson name = make(LocatedJson::String);
    name.text = text;
    path.back().keys.push_back(std::move(name));
    return true;
  }
  bool parse_error(size_t, const std::string &token,
                   const nlohmann::json::exception &error) {
    // "[json.exception.parse_error.101] parse error at …: what is wrong"
    StringRef what = error.what();
    size_t place = what.find(": ");
    return fail(
        "not JSON: " +
        (place == StringRef::npos ? what : what.substr(place + 2)).str());
  }

  LocatedJson root;

private:
  LocatedJson make(LocatedJson::Kind kind) {
    LocatedJson value;
    value.kind = kind;
    value.line = position.line;
    value.column = std::max(position.column, 1u);
    return value;
  }

  bool fail(const std::string &what) {
    emitError(FileLineColLoc::get(context, file, position.line,
                                  std::max(position.column, 1u)))
        << what;
    return false;
  }

  bool put(LocatedJson value) {
    (path.empty() ? root : path.back().items.emplace_back()) = std::move(value);
    return true;
  }

  bool add(LocatedJson::Kind kind, std::string text = "", int64_t integer = 0) {
    LocatedJson value = make(kind);
    value.text = std::move(text);
    value.integer = integer;
    return put(std::move(value));
  }

  bool open(LocatedJson::Kind kind) {
    if (path.size() == kMostNested)
      return fail("nested more than 64 deep");
    path.push_back(make(kind));
    names.emplace_back();
    return true;
  }

  bool close() {
    LocatedJson value = std::move(path.back());
    path.pop_back();
    names.pop_back();
    return put(std::move(value));
  }

  StringRef file;
  MLIRContext *context;
  Position &position;
  /// Lists and objects that are open, and the names seen in each.
  std::vector<LocatedJson> path;
  std::vector<llvm::StringSet<>> names;
};
} // namespace

std::optional<LocatedJson> LocatedJson::parse(StringRef text, StringRef file,
                                              MLIRContext *context) {
  Position position;
  TreeBuilder builder(file, context, position);
  if (!nlohmann::json::sax_parse(CountingIterator(text.begin(), &position),
                                 CountingIterator(text.end(), &position),
                                 &builder))
    return std::nullopt;
  return std::move(builder.root);
}
