//===- Json.h - Numbers of JSON files, not trusted --------------*- C++ -*-===//

#ifndef DIST_LIB_JSON_H
#define DIST_LIB_JSON_H

#include "dist/Tensor.h"

#include <nlohmann/json.hpp>

namespace dist {

/// An integer as it stands there: neither rounded nor wrapped. Throws Error.
template <class Json> int64_t integerOf(const Json &json) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() &&
       json.template get<uint64_t>() > uint64_t(INT64_MAX)))
    throw Error("an integer of 64 bits is expected, not " +
                json.dump(-1, ' ', false, Json::error_handler_t::replace)
                    .substr(0, 40));
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

#endif // DIST_LIB_JSON_H
