//===- Json.h - JSON files that are not trusted -----------------*- C++ -*-===//

#ifndef DIST_RUNTIME_HOST_JSON_H
#define DIST_RUNTIME_HOST_JSON_H

#include "dist/Tensor.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace dist {

/// Parses `text`. Throws Error if it is not JSON, or if an object has two
/// values of one name. Also if it is nested more than 64 deep: none of our
/// files is, and walking deeply nested values overflows the stack.
template <class Json> Json parseJson(std::string_view text) {
  constexpr size_t mostNested = 64;
  std::vector<std::set<std::string>> names; // of the values that are open
  auto check = [&](int, nlohmann::detail::parse_event_t event, Json &value) {
    using Event = nlohmann::detail::parse_event_t;
    switch (event) {
    case Event::object_start:
    case Event::array_start:
      if (names.size() == mostNested)
        throw Error("nested more than " + std::to_string(mostNested) + " deep");
      names.emplace_back();
      break;
    case Event::object_end:
    case Event::array_end:
      names.pop_back();
      break;
    case Event::key: {
      const auto &name = value.template get_ref<const std::string &>();
      if (!names.back().insert(name).second)
        throw Error("'" + name + "' is given twice");
      break;
    }
    case Event::value:
      break;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const typename Json::exception &error) {
    throw Error(std::string("not JSON: ") + error.what());
  }
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
