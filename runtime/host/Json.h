//===- Json.h - JSON files that are not trusted -----------------*- C++ -*-===//

#ifndef DIST_RUNTIME_HOST_JSON_H
#define DIST_RUNTIME_HOST_JSON_H

#include "dist/Tensor.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace dist {

/// What a parser calls: makes the value, and checks names and depth. (Parsing
/// with a callback goes through all of an object at the end of each value in
/// it.)
template <class Json> class CheckedJson {
public:
  explicit CheckedJson(Json &value) : maker(value) {}

  bool null() { return maker.null(); }
  bool boolean(bool value) { return maker.boolean(value); }
  bool number_integer(int64_t value) { return maker.number_integer(value); }
  bool number_unsigned(uint64_t value) { return maker.number_unsigned(value); }
  bool number_float(double value, const std::string &text) {
    return maker.number_float(value, text);
  }
  bool string(std::string &value) { return maker.string(value); }
  bool binary(typename Json::binary_t &value) { return maker.binary(value); }
  bool start_object(std::size_t length) {
    open();
    return maker.start_object(length);
  }
  bool start_array(std::size_t length) {
    open();
    return maker.start_array(length);
  }
  bool end_object() {
    names.pop_back();
    return maker.end_object();
  }
  bool end_array() {
    names.pop_back();
    return maker.end_array();
  }
  bool key(std::string &name) {
    if (!names.back().insert(name).second)
      throw Error("'" + name + "' is given twice");
    return maker.key(name);
  }
  template <class Exception>
  bool parse_error(std::size_t at, const std::string &token,
                   const Exception &error) {
    return maker.parse_error(at, token, error);
  }

private:
  void open() {
    constexpr size_t mostNested = 64;
    if (names.size() == mostNested)
      throw Error("nested more than " + std::to_string(mostNested) + " deep");
    names.emplace_back();
  }

  nlohmann::detail::json_sax_dom_parser<Json> maker;
  /// Of the values that are open.
  std::vector<std::unordered_set<std::string>> names;
};

/// Parses `text`. Throws Error if it is not JSON, or if an object has two
/// values of one name. Also if it is nested more than 64 deep: none of our
/// files is, and walking deeply nested values overflows the stack.
template <class Json> Json parseJson(std::string_view text) {
  Json value;
  CheckedJson<Json> checked(value);
  try {
    Json::sax_parse(text.begin(), text.end(), &checked);
  } catch (const typename Json::exception &error) {
    throw Error(std::string("not JSON: ") + error.what());
  }
  return value;
}

/// An integer as it stands there: neither rounded nor wrapped. Throws Error.
template <class Json> int64_t integerOf(const Json &json) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() &&
       json.template get<uint64_t>() > uint64_t(INT64_MAX)))
    throw Error("an integer of 64 bits is expected, not " +
                (json.is_structured()
                     ? std::string("an ") + json.type_name()
                     : json.dump(-1, ' ', false, Json::error_handler_t::replace)
                           .substr(0, 40)));
  return json.template get<int64_t>();
}

/// A list of integers. Throws Error.
template <class Json> Shape integersOf(const Json &json) {
  if (!json.is_array())
    throw Error("a list of integers is expected");
  Shape values;
  for (const Json &one : json)
    values.push_back(integerOf(one));
  return values;
}

} // namespace dist

#endif // DIST_RUNTIME_HOST_JSON_H
