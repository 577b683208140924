//===- OptionValues.cpp - Values of shared command-line options -----------===//

#include "dist/OptionValues.h"
#include "dist/Npy.h"
#include "dist/OnnxTensor.h"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace dist;

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

static const TensorDesc &findInput(const Manifest &manifest,
                                   const std::string &option,
                                   const std::string &name) {
  std::string known;
  for (const TensorDesc &desc : manifest.arguments) {
    if (desc.kind != TensorDesc::Input)
      continue;
    if (desc.name == name)
      return desc;
    known += " " + desc.name;
  }
  throw Error("--input " + option + ": the program has no input '" + name +
              "'; its inputs are:" + (known.empty() ? " none" : known));
}

static bool isTensorFile(const std::string &value) {
  return endsWith(value, ".npy") || endsWith(value, ".pb");
}

/// Reads the `value` of `option` if it names a file of a kind that holds a
/// tensor.
static bool readTensorFile(const std::string &option, const std::string &value,
                           Tensor &tensor) {
  try {
    if (endsWith(value, ".npy"))
      tensor = mapNpy(value);
    else if (endsWith(value, ".pb"))
      tensor = readOnnxTensor(value);
    else
      return false;
  } catch (const Error &error) {
    throw Error("--input " + option + ": " + error.what());
  }
  return true;
}

std::pair<std::string, std::string>
dist::splitNamed(const std::string &option,
                 const std::vector<std::string> &names) {
  size_t best = option.find('=');
  for (const std::string &name : names)
    if (name.size() > best && option.size() > name.size() &&
        option[name.size()] == '=' && option.compare(0, name.size(), name) == 0)
      best = name.size();
  if (best == std::string::npos)
    return {option, ""};
  return {option.substr(0, best), option.substr(best + 1)};
}

static std::vector<std::string> namesOfInputs(const Manifest &manifest) {
  std::vector<std::string> names;
  for (const TensorDesc &desc : manifest.arguments)
    if (desc.kind == TensorDesc::Input)
      names.push_back(desc.name);
  return names;
}

/// The whole of `text` as a number, in the syntax of C; one that no f64 is
/// gives an infinity.
static bool parseNumber(const std::string &text, double &number) {
  char *end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return !text.empty() && !std::isspace(text[0]) && !*end;
}

static bool parseNumber(const std::string &text, int64_t &number) {
  char *end = nullptr;
  errno = 0;
  number = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && !std::isspace(text[0]) && !*end && errno == 0;
}

static bool readSeed(const std::string &text, uint64_t &seed) {
  char *end = nullptr;
  errno = 0;
  seed = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && std::isdigit(text[0]) && !*end && errno == 0;
}

uint64_t dist::parseSeed(const std::string &text) {
  uint64_t seed = 0;
  if (!text.empty() && !readSeed(text, seed))
    throw Error("--random=" + text + ": expected a seed, from 0 to 2^64 - 1");
  return seed;
}

/// The integers that `dtype` holds, of those that int64_t does.
static IntegerRange rangeOf(dist_dtype dtype) {
  if (dtype == DIST_I1)
    return {0, 1};
  int bits = 8 * dtypeBytes(dtype);
  if (isUnsigned(dtype) && bits < 64)
    return {0, (int64_t(1) << bits) - 1};
  return {isUnsigned(dtype) ? 0 : INT64_MIN >> (64 - bits),
          INT64_MAX >> (64 - bits)};
}

static void checkHolds(const std::string &option, const TensorDesc &desc,
                       int64_t number) {
  IntegerRange range = rangeOf(desc.dtype);
  if (number < range.low || number > range.high)
    throw Error("--input " + option + ": " + std::to_string(number) +
                " is no value of type " + dtypeName(desc.dtype));
}

/// Likewise for a number that `text` says; what is infinite there may be so.
static void checkHolds(const std::string &option, const TensorDesc &desc,
                       const std::string &text, double number) {
  char value[8] = {};
  double held;
  convert(DIST_F64, &number, desc.dtype, value, 1);
  convert(desc.dtype, value, DIST_F64, &held, 1);
  bool saysInfinity = text.find_first_of("iI") != std::string::npos;
  if (std::isinf(held) && !saysInfinity)
    throw Error("--input " + option + ": " + text + " is beyond the numbers " +
                "of type " + dtypeName(desc.dtype));
}

namespace {
/// "random", with what follows.
struct RandomForm {
  uint64_t seed = 0;
  std::string low, high;
  bool hasRange = false;
};
} // namespace

/// Parses random, random:SEED, random(LOW,HIGH) and random(LOW,HIGH):SEED.
static bool parseRandom(const std::string &value, RandomForm &form) {
  if (value.rfind("random", 0) != 0)
    return false;
  std::string rest = value.substr(6);
  if (!rest.empty() && rest[0] == '(') {
    size_t comma = rest.find(','), close = rest.find(')');
    if (comma == std::string::npos || close == std::string::npos ||
        comma > close)
      return false;
    form.hasRange = true;
    form.low = rest.substr(1, comma - 1);
    form.high = rest.substr(comma + 1, close - comma - 1);
    rest = rest.substr(close + 1);
  }
  return rest.empty() ||
         (rest[0] == ':' && readSeed(rest.substr(1), form.seed));
}

static std::string malformed(const std::string &option) {
  return "--input " + option + ": expected " + inputForms;
}

/// Random values from the range that the option itself gives.
static Tensor makeInRange(const std::string &option, const TensorDesc &desc,
                          const RandomForm &form) {
  auto check = [&](bool holds) {
    if (!holds)
      throw Error("--input " + option + ": the range of " +
                  dtypeName(desc.dtype) + " goes from a number LOW to HIGH");
  };
  auto checkOrder = [&](bool holds) {
    if (!holds)
      throw Error("--input " + option + ": the lowest value, " + form.low +
                  ", is above the highest, " + form.high +
                  "; write random(" + form.high + "," + form.low + ")");
  };
  if (isFloat(desc.dtype)) {
    double low = 0, high = 0;
    check(parseNumber(form.low, low) && parseNumber(form.high, high) &&
          std::isfinite(low) && std::isfinite(high));
    checkOrder(low <= high);
    checkHolds(option, desc, form.low, low);
    checkHolds(option, desc, form.high, high);
    return uniformTensor(desc.dtype, desc.globalShape, form.seed, low, high);
  }
  IntegerRange range;
  check(parseNumber(form.low, range.low) &&
        parseNumber(form.high, range.high));
  checkOrder(range.low <= range.high);
  checkHolds(option, desc, range.low);
  checkHolds(option, desc, range.high);
  return randomTensor(desc.dtype, desc.globalShape, form.seed, range);
}

/// The same number everywhere, if `value` is one.
static bool makeConstant(const std::string &option, const std::string &value,
                         const TensorDesc &desc, Tensor &tensor) {
  tensor = Tensor::zeros(desc.dtype, desc.globalShape);
  int64_t bytes = dtypeBytes(desc.dtype);
  char *out = static_cast<char *>(tensor.data);
  if (isFloat(desc.dtype)) {
    double number;
    if (!parseNumber(value, number))
      return false;
    checkHolds(option, desc, value, number);
    for (int64_t i = 0, count = tensor.count(); i < count; ++i)
      convert(DIST_F64, &number, desc.dtype, out + i * bytes, 1);
    return true;
  }
  int64_t number;
  if (!parseNumber(value, number))
    return false;
  checkHolds(option, desc, number);
  for (int64_t i = 0, count = tensor.count(); i < count; ++i)
    convert(DIST_I64, &number, desc.dtype, out + i * bytes, 1);
  return true;
}

IntegerRange dist::usualRange(int bits, bool isUnsigned) {
  // Short integers are mostly numbers, of both signs; long ones count or
  // choose.
  if (isUnsigned || bits > 16)
    return {0, 15};
  return {-128, 127};
}

static IntegerRanges findRanges(const RandomInputs &random,
                                const TensorDesc &desc) {
  auto found = random.ranges.find(desc.name);
  if (found != random.ranges.end())
    return found->second;
  return {{usualRange(8 * dtypeBytes(desc.dtype), isUnsigned(desc.dtype))}};
}

/// "from 0 to 63, 0 to 3 by column".
static std::string describe(const IntegerRanges &ranges, size_t rank) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < ranges.ranges.size() && i < kMost; ++i)
    text += (i == 0 ? "from " : ", ") + std::to_string(ranges.ranges[i].low) +
            " to " + std::to_string(ranges.ranges[i].high);
  if (ranges.ranges.size() <= 1)
    return text;
  if (ranges.ranges.size() > kMost)
    text += ", …";
  if (ranges.dim + 1 == rank)
    return text + (rank == 1 ? " by element" : " by column");
  return text + (ranges.dim == 0 && rank == 2
                     ? " by row"
                     : " by place along dimension " +
                           std::to_string(ranges.dim));
}

Tensor dist::makeRandom(dist_dtype dtype, const Shape &shape, uint64_t seed,
                        const IntegerRanges &ranges) {
  int64_t places = ranges.ranges.size();
  if (places == 1)
    return randomTensor(dtype, shape, seed, ranges.ranges[0]);
  Tensor tensor = Tensor::zeros(dtype, shape);
  int64_t inner = dtypeBytes(dtype), outer = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    (dim < ranges.dim ? outer : inner) *= dim == ranges.dim ? 1 : shape[dim];
  for (int64_t place = 0; place < places; ++place) {
    Tensor part =
        randomTensor(dtype, {outer * inner / dtypeBytes(dtype)},
                     seed + place * 0x9e3779b9, ranges.ranges[place]);
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(static_cast<char *>(tensor.data) +
                      (i * places + place) * inner,
                  static_cast<const char *>(part.data) + i * inner, inner);
  }
  return tensor;
}

/// Random values of what `random` knows of the input.
static Tensor makeFor(const TensorDesc &desc, uint64_t seed,
                      const RandomInputs &random) {
  return makeRandom(desc.dtype, desc.globalShape, seed,
                    findRanges(random, desc));
}

static Tensor readInput(const std::string &option, const std::string &value,
                        const TensorDesc &desc, const RandomInputs &random,
                        InputFiles files) {
  Tensor tensor;
  RandomForm form;
  if (files == InputFiles::Leave && isTensorFile(value))
    return {desc.dtype, desc.globalShape, nullptr, nullptr};
  bool isFile;
  try {
    isFile = readTensorFile(option, value, tensor);
  } catch (const Error &error) {
    if (files != InputFiles::ReadToo)
      throw;
    throw Error(error.what() + std::string("; a host that lacks it is sent its "
                                           "part with --inputs=root"));
  }
  if (isFile) {
    checkFits("input '" + desc.name + "' (" + value + ")", desc, tensor);
    return tensor;
  }
  if (parseRandom(value, form))
    return form.hasRange ? makeInRange(option, desc, form)
                         : makeFor(desc, form.seed, random);
  if (makeConstant(option, value, desc, tensor))
    return tensor;
  throw Error(malformed(option));
}

/// The seed of one of the inputs that no option names (FNV-1a of the name).
static uint64_t seedOf(const std::string &name, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3ull;
  return hash ^ seed;
}

Inputs dist::readInputs(const std::vector<std::string> &options,
                        const Manifest &manifest, const RandomInputs &random,
                        InputFiles files) {
  Inputs inputs;
  std::vector<std::string> names = namesOfInputs(manifest);
  for (const std::string &option : options) {
    if (option.find('=') == std::string::npos)
      throw Error(malformed(option));
    auto [name, value] = splitNamed(option, names);
    const TensorDesc &desc = findInput(manifest, option, name);
    if (inputs.count(name))
      throw Error("--input " + name + " is given twice");
    inputs[name] = readInput(option, value, desc, random, files);
  }
  if (!random.rest)
    return inputs;
  for (const TensorDesc &desc : manifest.arguments)
    if (desc.kind == TensorDesc::Input && !inputs.count(desc.name))
      inputs[desc.name] =
          makeFor(desc, seedOf(desc.name, *random.rest), random);
  return inputs;
}

void dist::checkInputs(const std::vector<std::string> &options,
                       Manifest manifest) {
  // A number is as good in one element; what a file has is compared.
  for (const std::string &option : options) {
    Tensor tensor;
    auto [name, value] = splitNamed(option, namesOfInputs(manifest));
    for (TensorDesc &desc : manifest.arguments)
      if (desc.kind == TensorDesc::Input && desc.name == name &&
          !readTensorFile(option, value, tensor))
        desc.globalShape.clear();
  }
  readInputs(options, manifest);
}

std::map<std::string, std::string>
dist::describeRandom(const std::vector<std::string> &options,
                     const Manifest &manifest, const RandomInputs &random) {
  std::map<std::string, std::string> given;
  std::vector<std::string> names = namesOfInputs(manifest);
  for (const std::string &option : options)
    given.insert(splitNamed(option, names));
  std::map<std::string, std::string> texts;
  for (const TensorDesc &desc : manifest.arguments) {
    if (desc.kind != TensorDesc::Input || desc.dtype == DIST_I1)
      continue;
    auto found = given.find(desc.name);
    RandomForm form;
    if (found == given.end()
            ? !random.rest
            : !parseRandom(found->second, form) || form.hasRange)
      continue;
    if (!isFloat(desc.dtype))
      texts[desc.name] =
          "random integers " +
          describe(findRanges(random, desc), desc.globalShape.size());
  }
  return texts;
}

std::map<std::string, Shape>
dist::readInputShapes(const std::vector<std::string> &options,
                      const std::vector<std::string> &names) {
  std::map<std::string, Shape> shapes;
  for (const std::string &option : options) {
    auto [name, value] = splitNamed(option, names);
    Tensor tensor;
    if (readTensorFile(option, value, tensor))
      shapes[name] = tensor.shape;
  }
  return shapes;
}
