//===- EmulatedLink.cpp - A pretended interconnect ------------------------===//
//
// Reads the value of --link.
//
//===----------------------------------------------------------------------===//

#include "dist/EmulatedLink.h"
#include "dist/Tensor.h"

#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

using namespace dist;

/// A number and one of `units`, each {name, factor}; from `least` to `most`.
static double
parseQuantity(const std::string &part, const std::string &text,
              const std::vector<std::pair<std::string, double>> &units,
              double least, double most) {
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  std::string known;
  for (const auto &[unit, factor] : units) {
    double value = number * factor;
    if (end != text.c_str() && value >= least && value <= most && unit == end)
      return value;
    known += " " + unit;
  }
  std::stringstream range;
  range << least << " to " << most << " " << units.front().first;
  throw Error("--link " + part + ": expected a number with one of the units" +
              known + ", from " + range.str());
}

EmulatedLink dist::parseLink(const std::string &text) {
  EmulatedLink link;
  std::stringstream parts(text);
  std::set<std::string> given;
  for (std::string part; std::getline(parts, part, ',');) {
    size_t equal = part.find('=');
    std::string key = part.substr(0, equal);
    std::string value =
        equal == std::string::npos ? "" : part.substr(equal + 1);
    if (!given.insert(key).second)
      throw Error("--link " + text + ": " + key + " is given twice");
    if (key == "latency")
      link.latencySeconds = parseQuantity(
          part, value, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}, 0,
          3600);
    else if (key == "bandwidth")
      link.bytesPerSecond = parseQuantity(
          part, value,
          {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}, 1, 1e15);
    else
      throw Error("--link " + part +
                  ": expected latency=… or bandwidth=…, as in "
                  "latency=20us,bandwidth=1GB/s");
  }
  return link;
}
