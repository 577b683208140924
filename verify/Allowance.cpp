//===- Allowance.cpp - What rounding may change ---------------------------===//

#include "verify/Allowance.h"
#include "lowering/buffers/Passes.h"

#include <cmath>
#include <dlfcn.h>
#include <limits>

using namespace dist;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest of a few random distances, times this, is what other roundings
/// keep within: docs/verify.md says how often they do not.
static constexpr double kSafety = 16;
/// What every element may differ by, in units of its type's epsilon.
static constexpr double kEpsilons = 4;

/// The distance from 1 to the next number, and the smallest normal one.
static std::pair<double, double> describeType(dist_dtype dtype) {
  switch (dtype) {
  case DIST_F64:
    return {0x1p-52, 0x1p-1022};
  case DIST_F16:
    return {0x1p-10, 0x1p-14};
  case DIST_BF16:
    return {0x1p-7, 0x1p-126};
  default:
    return {0x1p-23, 0x1p-126};
  }
}

double Spread::allowed(int64_t position, double expected) const {
  double distance = distances[position];
  // An integer that moves was decided otherwise, by as much or by less.
  if (!isFloat(dtype))
    return distance;
  auto [epsilon, smallest] = describeType(dtype);
  return kSafety * distance +
         kEpsilons * epsilon * std::max(std::abs(expected), smallest);
}

bool Spread::isUndetermined(int64_t position, double expected) const {
  double distance = distances[position];
  return distance != 0 && (!isFloat(dtype) ||
                           !(allowed(position, expected) < std::abs(expected)));
}

template <class T>
static void widen(std::vector<double> &distances, const Tensor &expected,
                  const Tensor &perturbed) {
  constexpr dist_dtype wide = std::is_same_v<T, double> ? DIST_F64 : DIST_I64;
  int64_t count = expected.count(), bytes = dtypeBytes(expected.dtype);
  distances.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    T a, b;
    convert(expected.dtype, static_cast<char *>(expected.data) + i * bytes,
            wide, &a, 1);
    convert(perturbed.dtype, static_cast<char *>(perturbed.data) + i * bytes,
            wide, &b, 1);
    // Two NaN, or two infinities of one sign, are no difference.
    if (a == b || (a != a && b != b))
      continue;
    double distance = std::abs(static_cast<double>(a) - static_cast<double>(b));
    // Integers that are one apart at 2^60 are not the same.
    if (std::is_same_v<T, int64_t>)
      distance = std::max(distance, 1.0);
    distances[i] =
        std::isnan(distance) ? infinity : std::max(distances[i], distance);
  }
}

/// The amplitude of the large perturbations. It is as large as the allowance:
/// if they do not change a decision, no allowed difference does.
static constexpr double kLarge = kSafety;
/// How often runs are perturbed so, each time in both directions.
static constexpr int64_t kLargePairs = 2;

/// Whether a large perturbation moved an element much further than it would had
/// it moved as the small ones do: something was decided otherwise.
static bool isJump(double distance, double large, double epsilons) {
  return large > 4 * kLarge * (distance + epsilons);
}

/// Adds to the distances those of elements that large perturbations make jump:
/// such an element may be as far off again.
static void addJumps(Spread &spread, const std::vector<double> &large,
                     const Tensor &expected) {
  std::vector<double> values(large.size());
  bool isFloating = isFloat(spread.dtype);
  if (isFloating)
    convert(expected.dtype, expected.data, DIST_F64, values.data(),
            values.size());
  for (size_t i = 0; i < large.size(); ++i) {
    double &distance = spread.distances[i];
    auto [epsilon, smallest] = describeType(spread.dtype);
    double own = isFloating ? kEpsilons * epsilon *
                                  std::max(std::abs(values[i]), smallest)
                            : 0;
    if (!isFloating)
      distance = std::max(distance, large[i]);
    else
      distance = std::max(distance, (isJump(distance, large[i], own) ? 2 : 1) *
                                        large[i] / kSafety);
  }
}

/// The address of the program's symbol; null if it has no such symbol.
template <class T>
static T *lookUp(const Program &program, llvm::StringRef name) {
  return static_cast<T *>(dlsym(program.code.get(), name.str().c_str()));
}

/// Throws Error if the program has no such symbol.
template <class T>
static T *findSymbol(const Program &program, llvm::StringRef name) {
  T *address = lookUp<T>(program, name);
  if (!address)
    throw Error("the program to compare with was not compiled to be perturbed");
  return address;
}

namespace {
/// Runs a program with random rounding errors.
class PerturbedRuns {
public:
  PerturbedRuns(const Program &program, const Inputs &inputs,
                const RunOptions &options, Expected &expected);
  ~PerturbedRuns() { *amplitude = 0; }

  /// Widens the distances, one vector for each result. The same `seed` draws
  /// the same numbers, and of the opposite amplitude the opposite ones.
  void run(int64_t seed, double newAmplitude,
           llvm::ArrayRef<std::vector<double> *> distances);

private:
  const Program &program;
  const Inputs &inputs;
  const RunOptions &options;
  Expected &expected;
  int64_t *counter, *turns, *stopped;
  double *amplitude;
};
} // namespace

PerturbedRuns::PerturbedRuns(const Program &program, const Inputs &inputs,
                             const RunOptions &options, Expected &expected)
    : program(program), inputs(inputs), options(options), expected(expected) {
  using namespace mlir::dist;
  counter = findSymbol<int64_t>(program, kPerturbationCounter);
  amplitude = findSymbol<double>(program, kPerturbationAmplitude);
  turns = lookUp<int64_t>(program, kPerturbationTurns);
  stopped = lookUp<int64_t>(program, kPerturbationStopped);
  *amplitude = 0;
  if (!turns)
    return;
  // How often loops turn that are not counted, when nothing is perturbed.
  *turns = 0;
  launch(program, inputs, options);
}

void PerturbedRuns::run(int64_t seed, double newAmplitude,
                        llvm::ArrayRef<std::vector<double> *> distances) {
  // Far from what other runs count to.
  *counter = seed << 40;
  *amplitude = newAmplitude;
  if (stopped)
    *stopped = 0;
  ++expected.runs;
  try {
    RunResult moved = launch(program, inputs, options);
    if (stopped && *stopped)
      throw Error("a loop does not end");
    for (size_t i = 0; i < moved.outputs.size(); ++i) {
      const Tensor &own = expected.results.outputs[i].tensor;
      (isFloat(own.dtype)
           ? widen<double>
           : widen<int64_t>)(*distances[i], own, moved.outputs[i].tensor);
    }
  } catch (const Error &error) {
    ++expected.failedRuns;
    expected.failure = error.what();
  }
}

Expected dist::runExpected(const Program &program, const Program *perturbed,
                           const Inputs &inputs, const RunOptions &options,
                           int64_t runs) {
  Expected expected;
  expected.results = launch(program, inputs, options);
  if (!perturbed)
    return expected;
  std::vector<std::vector<double>> large;
  for (const Output &output : expected.results.outputs) {
    large.emplace_back(output.tensor.count());
    expected.spreads.push_back({output.tensor.dtype, large.back()});
  }
  std::vector<std::vector<double> *> small, jumps;
  for (size_t i = 0; i < large.size(); ++i) {
    small.push_back(&expected.spreads[i].distances);
    jumps.push_back(&large[i]);
  }
  PerturbedRuns runner(*perturbed, inputs, options, expected);
  for (int64_t run = 0; run < runs; ++run)
    runner.run(run + 1, 1, small);
  if (expected.failedRuns == runs)
    throw Error("rounding decides whether the program to compare with ends "
                "well: without perturbations it does, with them never (" +
                expected.failure + "); --rtol and --atol compare without");
  // In both directions, since one of them decides a comparison of nearly equal
  // values; and twice, for a decision that the first numbers hardly change.
  for (int64_t pair = 1; pair <= kLargePairs; ++pair)
    for (double sign : {1, -1})
      runner.run(runs + pair, sign * kLarge, jumps);
  for (size_t i = 0; i < large.size(); ++i)
    addJumps(expected.spreads[i], large[i], expected.results.outputs[i].tensor);
  return expected;
}
