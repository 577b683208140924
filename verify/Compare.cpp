//===- Compare.cpp - Whether two results agree ----------------------------===//

#include "verify/Compare.h"
#include "dist/Slices.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace dist;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The values as T: f64, i64, or u64 where it is that type.
template <class T> static std::vector<T> widen(const Tensor &tensor) {
  std::vector<T> values(tensor.count());
  convert(tensor.dtype, tensor.data,
          std::is_same_v<T, double>    ? DIST_F64
          : std::is_same_v<T, int64_t> ? DIST_I64
                                       : DIST_U64,
          values.data(), tensor.count());
  return values;
}

static Shape indexOf(int64_t position, const Shape &shape) {
  Shape index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = position % shape[dim];
    position /= shape[dim];
  }
  return index;
}

static bool isFinite(double value) { return std::isfinite(value); }
static bool isFinite(int64_t) { return true; }
static bool isFinite(uint64_t) { return true; }

static void note(Nonfinite &found, double value, int64_t position,
                 const Shape &shape) {
  if (!found.any())
    found.first = indexOf(position, shape);
  ++(std::isnan(value) ? found.nans : found.infinities);
}

namespace {

/// Compares element after element, as T.
template <class T> struct Judge {
  const Shape &shape;
  const Tolerance &tolerance;
  Difference &result;

  void judge(int64_t rank, int64_t position, T actual, T expected) {
    bool isUndetermined = tolerance.spread && isFinite(expected) &&
                          tolerance.spread->isUndetermined(position, expected);
    result.compared += !isUndetermined;
    if (!isFinite(actual))
      note(result.actualNonfinite, actual, position, shape);
    double error = 0, allowed = 0, used = 0;
    if (isFinite(actual) && isFinite(expected)) {
      if (tolerance.spread)
        allowed = tolerance.spread->allowed(position, expected);
      else if constexpr (std::is_same_v<T, double>)
        allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
      if (actual != expected) {
        // Never 0, also of integers that are one apart at 2^60.
        error = std::abs(static_cast<double>(actual) -
                         static_cast<double>(expected));
        if constexpr (std::is_integral_v<T>)
          error = std::max(error, 1.0);
        used = error / allowed;
      }
    } else {
      bool same =
          actual == expected || (actual != actual && expected != expected);
      if (!same)
        error = used = infinity;
    }
    result.doubtful += isUndetermined && error != 0;
    // What rounding decides says nothing, unless it is beyond all bounds.
    if (error == 0 || (isUndetermined && used <= 1))
      return;
    double scale = std::max(std::abs(static_cast<double>(expected)), allowed);
    result.maxAbsolute = std::max(result.maxAbsolute, error);
    result.maxRelative =
        std::max(result.maxRelative,
                 error == infinity || scale == 0 ? infinity : error / scale);
    if (used > 1) {
      ++result.wrong;
      result.equal = false;
      result.compared += isUndetermined;
    }
    if (result.hasWorst && used <= result.maxUsed &&
        !(used == result.maxUsed && error > worstError))
      return;
    result.hasWorst = true;
    result.maxUsed = used;
    result.worst = indexOf(position, shape);
    result.rank = rank;
    result.actual = static_cast<double>(actual);
    result.expected = static_cast<double>(expected);
    result.allowed = allowed;
    worstError = error;
  }
  double worstError = 0;
};

} // namespace

template <class T>
static void compareAs(const Mesh &mesh, const std::vector<TensorDesc> &results,
                      const std::vector<Tensor> &parts, const Tensor &whole,
                      const Tolerance &tolerance, Difference &result) {
  std::vector<T> expected = widen<T>(whole);
  for (int64_t i = 0; i < whole.count(); ++i)
    if (!isFinite(expected[i]))
      note(result.expectedNonfinite, expected[i], i, whole.shape);
    else if (tolerance.spread &&
             tolerance.spread->isUndetermined(i, expected[i])) {
      ++result.undetermined;
      result.largestUndetermined = std::max(
          {result.largestUndetermined,
           std::abs(static_cast<double>(expected[i])),
           tolerance.spread->allowed(i, static_cast<double>(expected[i]))});
    }
  result.elements = whole.count();
  Judge<T> judge{whole.shape, tolerance, result};
  std::vector<bool> held(whole.count());
  size_t ranks = mesh.size();
  for (size_t i = 0; i < parts.size(); ++i) {
    size_t rank = i % ranks;
    if (!isHeldBy(mesh, results[i / ranks], rank))
      continue;
    std::vector<T> actual = widen<T>(parts[i]);
    forEachRun(mesh, results[i / ranks], rank,
               [&](int64_t local, int64_t global, int64_t count) {
                 for (int64_t i = 0; i < count; ++i) {
                   held[global + i] = true;
                   judge.judge(rank, global + i, actual[local + i],
                               expected[global + i]);
                 }
               });
  }
  auto missing = std::find(held.begin(), held.end(), false);
  if (missing != held.end())
    throw Error("is not held by any rank at " +
                toString(indexOf(missing - held.begin(), whole.shape)));
}

Difference dist::compare(const Mesh &mesh,
                         const std::vector<TensorDesc> &results,
                         const std::vector<Tensor> &parts,
                         const Tensor &expected, const Tolerance &tolerance) {
  const TensorDesc &desc = results.front();
  if (desc.sourceShape() != expected.shape)
    throw Error("has shape " + toString(desc.sourceShape()) + ", expected " +
                toString(expected.shape));
  if (desc.dtype != expected.dtype)
    throw Error(std::string("is of type ") + dtypeName(desc.dtype) +
                ", expected " + dtypeName(expected.dtype));
  Difference result;
  if (isFloat(desc.dtype))
    compareAs<double>(mesh, results, parts, expected, tolerance, result);
  else if (desc.dtype == DIST_U64)
    compareAs<uint64_t>(mesh, results, parts, expected, tolerance, result);
  else
    compareAs<int64_t>(mesh, results, parts, expected, tolerance, result);
  if (result.doubtful > 0 &&
      result.undetermined > kUndeterminedShare * result.elements) {
    result.undecided = true;
    result.equal = false;
  }
  // What cannot be compared is no equality, even where both sides have it.
  if (!tolerance.allowNonfinite &&
      (result.actualNonfinite.any() || result.expectedNonfinite.any()))
    result.equal = false;
  return result;
}

/// What f64 is finer than f32 by is 2^29; perturbed runs tell errors to some
/// factor.
static constexpr double kFiner = 0x1p-20;

void dist::acceptRoundedZeros(const Difference &own, Difference &wide,
                              const Tolerance &tolerance) {
  if (!wide.undecided || wide.wrong > 0 || own.undetermined == 0 ||
      !(wide.largestUndetermined <= kFiner * own.largestUndetermined))
    return;
  wide.undecided = false;
  wide.isZeroButForRounding = true;
  wide.equal = tolerance.allowNonfinite ||
               (!wide.actualNonfinite.any() && !wide.expectedNonfinite.any());
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// "3 NaN and 1 infinity, the first at [0, 2]".
static std::string describe(const Nonfinite &found) {
  if (!found.any())
    return "none";
  return std::to_string(found.nans) + " NaN and " +
         std::to_string(found.infinities) + " infinite, the first at " +
         toString(found.first);
}

std::string dist::describe(const Difference &found,
                           const std::string &against) {
  std::string further;
  if (found.actualNonfinite.any() || found.expectedNonfinite.any())
    further = "; NaN or infinite: on the ranks " +
              ::describe(found.actualNonfinite) + "; expected " +
              ::describe(found.expectedNonfinite);
  if (found.undetermined > 0)
    further += "; rounding decides " + std::to_string(found.undetermined) +
               " of " + std::to_string(found.elements) + " elements";
  if (found.isZeroButForRounding)
    further += ", which are zero but for it";
  if (found.equal) {
    std::string text = "equal to " + against + " (largest difference " +
                       number(found.maxAbsolute);
    if (found.hasWorst && found.maxUsed > 0)
      text += ", relative " + number(found.maxRelative) + ", " +
              number(found.maxUsed) + " of what is allowed";
    return text + further + ")";
  }
  if (found.wrong == 0 && found.undecided)
    return "is not told from " + against + further +
           ", more than can be left out";
  if (found.wrong == 0)
    return "is not compared with " + against + further +
           " (--allow-nonfinite compares them by their places)";
  return "differs from " + against + " at " + std::to_string(found.wrong) +
         " of " + std::to_string(found.compared) + " elements; the worst, " +
         toString(found.worst) + ", is " + number(found.actual) + " on rank " +
         std::to_string(found.rank) + ", expected " + number(found.expected) +
         " (allowed is a difference of " + number(found.allowed) + ")" +
         further;
}
