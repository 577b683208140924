//===- Tensor.h - Whole tensors on the host ---------------------*- C++ -*-===//
//
// Element types, and dense row-major tensors as in files. On the host side of
// the runtime, errors are the exception Error.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TENSOR_H
#define DIST_TENSOR_H

#include "dist/runtime.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dist {

/// An error with a file, an option or a run, in words for the user. It names
/// the file and the value, and the remedy if there is one.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Bytes of one element.
int64_t dtypeBytes(dist_dtype dtype);
/// "f32", "i1", ...
const char *dtypeName(dist_dtype dtype);
/// Inverse of dtypeName; throws Error for any other name.
dist_dtype dtypeFromName(const std::string &name);
bool isFloat(dist_dtype dtype);
/// Of u8 to u64 and i1, which have no negative values.
bool isUnsigned(dist_dtype dtype);

using Shape = std::vector<int64_t>;
/// Product of the extents; throws Error when negative or beyond int64.
int64_t numElements(const Shape &shape);
/// "[2, 16, 64]".
std::string toString(const Shape &shape);

/// Zeroed memory aligned to 64 bytes; large blocks use huge pages if the system
/// has them.
std::shared_ptr<void> allocate(int64_t bytes);

struct MappedFile;

/// A dense row-major tensor. Its data may belong to something else, such as a
/// mapped file, which `owner` keeps alive.
struct Tensor {
  dist_dtype dtype = DIST_F32;
  Shape shape;
  void *data = nullptr;
  std::shared_ptr<void> owner;
  /// If the data is pages of a file, which can be read again: that file.
  std::shared_ptr<const MappedFile> file = nullptr;

  /// A zeroed tensor of its own.
  static Tensor zeros(dist_dtype dtype, Shape shape);
  int64_t count() const { return numElements(shape); }
  int64_t bytes() const { return count() * dtypeBytes(dtype); }
};

/// Whether every value of `from` is one of `to`.
bool convertsExactly(dist_dtype from, dist_dtype to);

/// Why some element is not a value of `to`: an empty text if the types show it,
/// else the element's position. No value if all elements are values of `to`.
/// NaN is a value of each floating-point type. Elements are tested one by one
/// only for floats to floats.
std::optional<std::string> findInexact(const Tensor &tensor, dist_dtype to);

/// Converts `count` elements, which must convert exactly to `to`. The memory
/// may be unaligned.
void convert(dist_dtype from, const void *in, dist_dtype to, void *out,
             int64_t count);

/// f16 and bf16 bit patterns to f32, and back by rounding to nearest even.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);

/// Integers from `low` to `high`, both included.
struct IntegerRange {
  int64_t low = 0, high = 15;
  bool operator==(const IntegerRange &other) const = default;
};

/// A tensor of values that depend only on seed, dtype, shape and range: floats
/// from the standard normal distribution, i1 from {0, 1}, integers from the
/// range. Integers are spread over all of it: two or more include both its
/// ends, and every part of the range has its share of them (stratified
/// sampling).
Tensor randomTensor(dist_dtype dtype, Shape shape, uint64_t seed,
                    IntegerRange range = {});

/// Floats that are uniformly distributed from `low` to `high`.
Tensor uniformTensor(dist_dtype dtype, Shape shape, uint64_t seed, double low,
                     double high);

} // namespace dist

#endif // DIST_TENSOR_H
