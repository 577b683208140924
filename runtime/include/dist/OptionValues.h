//===- OptionValues.h - Values of shared command-line options ---*- C++ -*-===//
//
// Values of --input of dist-exec and dist-run. Apart from the executor because
// .pb files need protobuf.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_OPTIONVALUES_H
#define DIST_OPTIONVALUES_H

#include "dist/Executor.h"

#include <map>
#include <optional>
#include <vector>

namespace dist {

/// The range of a tensor's integers: one for all, or one for each place along
/// dimension `dim`.
struct IntegerRanges {
  std::vector<IntegerRange> ranges = {{}};
  size_t dim = 0;
};

/// The range of integers of which nothing is known.
IntegerRange usualRange(int bits, bool isUnsigned);

/// What the options leave open about random values.
struct RandomInputs {
  /// Of integer inputs by name; of those that are not here usualRange. i1 is
  /// always from {0, 1}.
  std::map<std::string, IntegerRanges> ranges;
  /// Seed of inputs that no option names; without it they are missing. Inputs
  /// of different names get different values.
  std::optional<uint64_t> rest;
};

/// How --input is written, for help and messages.
inline constexpr char inputForms[] =
    "NAME=FILE.npy, NAME=FILE.pb, NAME=NUMBER, NAME=random[:SEED] or "
    "NAME=random(LOW,HIGH)[:SEED]";
/// What help says beside it.
inline constexpr char randomHelp[] =
    "; integers from LOW to HIGH, both included, floats uniformly between them; "
    "once for each input";

/// Parts NAME=VALUE: after the longest of `names` that the option begins with,
/// as names may have a '=' themselves; else at the first '='. Without one all
/// is the name.
std::pair<std::string, std::string>
splitNamed(const std::string &option, const std::vector<std::string> &names);

/// Parses the value of --random: "" is seed 0. Throws Error.
uint64_t parseSeed(const std::string &text);

/// Reads options of the forms above; the dtype and shape of numbers and random
/// values are those of the program's input. Integers are from LOW to HIGH, both
/// included; floats are uniformly distributed between them. Throws Error for
/// options that are malformed, given twice, or name what is no input of the
/// program.
Inputs readInputs(const std::vector<std::string> &options,
                  const Manifest &manifest, const RandomInputs &random = {});

/// Random values, integers in the ranges that are given.
Tensor makeRandom(dist_dtype dtype, const Shape &shape, uint64_t seed,
                  const IntegerRanges &ranges);

/// What can be said of the inputs that options and `random` make random, by
/// name: "random integers from 0 to 63, 0 to 3 by column"; without those that
/// say their range themselves, bools, and floats of the normal distribution.
std::map<std::string, std::string>
describeRandom(const std::vector<std::string> &options,
               const Manifest &manifest, const RandomInputs &random);

/// The shapes of those inputs that files give; `names` are those of the
/// program. Throws Error for files that cannot be read.
std::map<std::string, Shape>
readInputShapes(const std::vector<std::string> &options,
                const std::vector<std::string> &names);

} // namespace dist

#endif // DIST_OPTIONVALUES_H
