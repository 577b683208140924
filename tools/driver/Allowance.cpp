//===- Allowance.cpp - What rounding may change ---------------------------===//

#include "tools/driver/Allowance.h"
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
  if (!isFloat(dtype))
    return distance == 0 ? 0 : infinity;
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

/// Where the program's symbol lies. Throws Error if it has none.
template <class T>
static T *findSymbol(const Program &program, llvm::StringRef name) {
  void *address = dlsym(program.code.get(), name.str().c_str());
  if (!address)
    throw Error("the program to compare with was not compiled to be perturbed");
  return static_cast<T *>(address);
}

Expected dist::runExpected(const Program &program, const Program *perturbed,
                           const Inputs &inputs, const RunOptions &options,
                           int64_t runs) {
  Expected expected;
  expected.results = launch(program, inputs, options);
  if (!perturbed)
    return expected;
  auto *counter =
      findSymbol<int64_t>(*perturbed, mlir::dist::kPerturbationCounter);
  auto *amplitude =
      findSymbol<double>(*perturbed, mlir::dist::kPerturbationAmplitude);
  for (const RunResult::Output &output : expected.results.outputs)
    expected.spreads.push_back(
        {output.tensor.dtype, std::vector<double>(output.tensor.count())});
  *amplitude = 1;
  for (int64_t run = 0; run < runs; ++run) {
    // Far from what other runs count to.
    *counter = (run + 1) << 40;
    RunResult moved = launch(*perturbed, inputs, options);
    for (size_t i = 0; i < moved.outputs.size(); ++i) {
      const Tensor &own = expected.results.outputs[i].tensor;
      (isFloat(own.dtype) ? widen<double>
                          : widen<int64_t>)(expected.spreads[i].distances, own,
                                            moved.outputs[i].tensor);
    }
  }
  *amplitude = 0;
  return expected;
}
