//===- Tensor.cpp - Whole tensors on the host -----------------------------===//

#include "dist/Tensor.h"
#include "runtime/host/MappedFile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace dist;

int64_t dist::dtypeBytes(dist_dtype dtype) {
  switch (dtype) {
  case DIST_F64:
  case DIST_I64:
  case DIST_U64:
    return 8;
  case DIST_F32:
  case DIST_I32:
  case DIST_U32:
    return 4;
  case DIST_F16:
  case DIST_BF16:
  case DIST_I16:
  case DIST_U16:
    return 2;
  case DIST_I8:
  case DIST_U8:
  case DIST_I1:
    return 1;
  }
  return 0;
}

static const char *const dtypeNames[] = {"f64", "f32", "f16", "bf16", "i64",
                                         "i32", "i16", "i8",  "u8",   "i1",
                                         "u16", "u32", "u64"};

const char *dist::dtypeName(dist_dtype dtype) {
  return dtype >= DIST_F64 && dtype <= DIST_U64 ? dtypeNames[dtype] : "?";
}

dist_dtype dist::dtypeFromName(const std::string &name) {
  std::string known;
  for (int i = 0; i <= DIST_U64; ++i) {
    if (name == dtypeNames[i])
      return static_cast<dist_dtype>(i);
    known += (i ? ", " : "") + std::string(dtypeNames[i]);
  }
  throw Error("unknown element type '" + name + "'; known are " + known);
}

bool dist::isFloat(dist_dtype dtype) { return dtype <= DIST_BF16; }

int64_t dist::numElements(const Shape &shape) {
  int64_t product = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product))
      throw Error("impossible shape " + toString(shape));
  }
  return product;
}

std::string dist::toString(const Shape &shape) {
  // A file may say any number of them.
  constexpr size_t most = 64;
  std::string text = "[";
  for (size_t i = 0; i < std::min(shape.size(), most); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  if (shape.size() > most)
    text += ", … of " + std::to_string(shape.size()) + " extents";
  return text + "]";
}

std::shared_ptr<void> dist::allocate(int64_t bytes) {
  constexpr int64_t hugePage = 2 << 20;
  if (bytes >= hugePage) {
    // Fresh pages are zero, and appear where the thread that touches them runs.
    // Only whole huge pages at multiples of their size are made one; what is
    // left over at either end goes back, or the kernel would fill up the last.
    static const int64_t page = sysconf(_SC_PAGESIZE);
    int64_t size = (bytes + page - 1) / page * page, mapped = size + hugePage;
    void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw Error("out of memory: " + std::to_string(bytes) + " bytes");
    auto *start = static_cast<char *>(memory);
    int64_t before = -reinterpret_cast<uintptr_t>(start) % hugePage;
    char *first = start + before;
    if (before > 0)
      munmap(start, before);
    if (before < hugePage)
      munmap(first + size, hugePage - before);
    madvise(first, size, MADV_HUGEPAGE);
    return {first, [size](void *data) { munmap(data, size); }};
  }
  size_t size = (bytes + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, size ? size : 64);
  if (!memory)
    throw Error("out of memory: " + std::to_string(bytes) + " bytes");
  std::memset(memory, 0, size);
  return {memory, std::free};
}

Tensor Tensor::zeros(dist_dtype dtype, Shape shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  int64_t bytes;
  if (__builtin_mul_overflow(tensor.count(), dtypeBytes(dtype), &bytes))
    throw Error("impossible shape " + toString(tensor.shape));
  tensor.owner = allocate(bytes);
  tensor.data = tensor.owner.get();
  return tensor;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float dist::halfToFloat(uint16_t half) {
  uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) // infinity, NaN
    return floatFromBits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // Moves the exponent by multiplying, which also normalises small numbers.
  float scaled = floatFromBits(magnitude << 13) * 0x1p112f;
  return floatFromBits(sign | bitsOf(scaled));
}

uint16_t dist::floatToHalf(float value) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u)
    return sign | 0x7e00u;
  if (bits >= 0x47800000u) // 65536 and more
    return sign | 0x7c00u;
  if (bits < 0x38800000u) // subnormal in f16: let the adder round to 2^-24
    return sign | (bitsOf(floatFromBits(bits) + 0.5f) - bitsOf(0.5f));
  // Round to nearest even; may carry into infinity as it should.
  return sign | ((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13);
}

float dist::bfloatToFloat(uint16_t bits) {
  return floatFromBits(uint32_t(bits) << 16);
}

uint16_t dist::floatToBfloat(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

bool dist::isUnsigned(dist_dtype dtype) {
  return dtype == DIST_U8 || dtype == DIST_U16 || dtype == DIST_U32 ||
         dtype == DIST_U64 || dtype == DIST_I1;
}

/// Binary digits of the whole numbers that a type holds without a gap.
static int digitsOf(dist_dtype dtype) {
  switch (dtype) {
  case DIST_F64:
    return 53;
  case DIST_F32:
    return 24;
  case DIST_F16:
    return 11;
  case DIST_BF16:
    return 8;
  case DIST_I1:
    return 1;
  default:
    return dtypeBytes(dtype) * 8 - (isUnsigned(dtype) ? 0 : 1);
  }
}

bool dist::convertsExactly(dist_dtype from, dist_dtype to) {
  if (from == to)
    return true;
  if (isFloat(from))
    return to == DIST_F64 ||
           (to == DIST_F32 && (from == DIST_F16 || from == DIST_BF16));
  return digitsOf(from) <= digitsOf(to) &&
         (isUnsigned(from) || !isUnsigned(to));
}

template <class T> static T loadAs(const void *in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

/// Calls `visit` with a function that loads an element of `dtype`.
template <class Visit> static void withLoader(dist_dtype dtype, Visit &&visit) {
  switch (dtype) {
  case DIST_F64:
    return visit([](const char *p) { return loadAs<double>(p); });
  case DIST_F32:
    return visit([](const char *p) { return loadAs<float>(p); });
  case DIST_F16:
    return visit(
        [](const char *p) { return halfToFloat(loadAs<uint16_t>(p)); });
  case DIST_BF16:
    return visit(
        [](const char *p) { return bfloatToFloat(loadAs<uint16_t>(p)); });
  case DIST_I64:
    return visit([](const char *p) { return loadAs<int64_t>(p); });
  case DIST_I32:
    return visit([](const char *p) { return loadAs<int32_t>(p); });
  case DIST_I16:
    return visit([](const char *p) { return loadAs<int16_t>(p); });
  case DIST_I8:
    return visit([](const char *p) { return loadAs<int8_t>(p); });
  case DIST_U8:
  case DIST_I1:
    return visit([](const char *p) { return loadAs<uint8_t>(p); });
  case DIST_U16:
    return visit([](const char *p) { return loadAs<uint16_t>(p); });
  case DIST_U32:
    return visit([](const char *p) { return loadAs<uint32_t>(p); });
  case DIST_U64:
    return visit([](const char *p) { return loadAs<uint64_t>(p); });
  }
}

template <class Load, class Store>
static void convertLoop(const char *in, int64_t inBytes, char *out,
                        int64_t outBytes, int64_t count, Load load,
                        Store store) {
  for (int64_t i = 0; i < count; ++i) {
    auto value = store(load(in + i * inBytes));
    std::memcpy(out + i * outBytes, &value, sizeof value);
  }
}

void dist::convert(dist_dtype from, const void *in, dist_dtype to, void *out,
                   int64_t count) {
  const char *source = static_cast<const char *>(in);
  char *target = static_cast<char *>(out);
  if (from == to) {
    if (count)
      std::memcpy(target, source, count * dtypeBytes(from));
    return;
  }
  int64_t inBytes = dtypeBytes(from), outBytes = dtypeBytes(to);
  withLoader(from, [&](auto load) {
    auto run = [&](auto store) {
      convertLoop(source, inBytes, target, outBytes, count, load, store);
    };
    switch (to) {
    case DIST_F64:
      return run([](auto v) { return static_cast<double>(v); });
    case DIST_F32:
      return run([](auto v) { return static_cast<float>(v); });
    case DIST_F16:
      return run([](auto v) { return floatToHalf(static_cast<float>(v)); });
    case DIST_BF16:
      return run([](auto v) { return floatToBfloat(static_cast<float>(v)); });
    case DIST_I64:
      return run([](auto v) { return static_cast<int64_t>(v); });
    case DIST_I32:
      return run([](auto v) { return static_cast<int32_t>(v); });
    case DIST_I16:
      return run([](auto v) { return static_cast<int16_t>(v); });
    case DIST_I8:
      return run([](auto v) { return static_cast<int8_t>(v); });
    case DIST_U8:
    case DIST_I1:
      return run([](auto v) { return static_cast<uint8_t>(v); });
    case DIST_U16:
      return run([](auto v) { return static_cast<uint16_t>(v); });
    case DIST_U32:
      return run([](auto v) { return static_cast<uint32_t>(v); });
    case DIST_U64:
      return run([](auto v) { return static_cast<uint64_t>(v); });
    }
  });
}

/// ": element [0, 3] is 0.1".
static std::string describeElement(const Shape &shape, int64_t place,
                                   double value) {
  Shape places(shape.size());
  for (size_t d = shape.size(); d-- > 0; place /= shape[d])
    places[d] = place % shape[d];
  std::ostringstream text;
  text << ": element " << toString(places) << " is " << std::setprecision(9)
       << value;
  return text.str();
}

std::optional<std::string> dist::findInexact(const Tensor &tensor,
                                             dist_dtype to) {
  if (convertsExactly(tensor.dtype, to))
    return std::nullopt;
  if (!isFloat(tensor.dtype) || !isFloat(to))
    return std::string();
  constexpr int64_t kBlock = 512;
  double before[kBlock], after[kBlock];
  char narrow[kBlock * sizeof(double)];
  const char *data = static_cast<const char *>(tensor.data);
  int64_t count = tensor.count(), bytes = dtypeBytes(tensor.dtype);
  PagesReadOnce pages(tensor);
  for (int64_t first = 0; first < count; first += kBlock) {
    int64_t size = std::min(kBlock, count - first);
    pages.note(data + first * bytes, size * bytes);
    convert(tensor.dtype, data + first * bytes, DIST_F64, before, size);
    convert(tensor.dtype, data + first * bytes, to, narrow, size);
    convert(to, narrow, DIST_F64, after, size);
    for (int64_t i = 0; i < size; ++i)
      if (before[i] != after[i] &&
          !(std::isnan(before[i]) && std::isnan(after[i])))
        return describeElement(tensor.shape, first + i, before[i]);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

/// SplitMix64 (Steele, Lea, Flood 2014): a bijection that scatters its bits.
static uint64_t scatter(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

/// A number in (0, 1) of the bits.
static double toUnit(uint64_t bits) { return ((bits >> 11) + 0.5) * 0x1p-53; }

/// Sets every element to the result of `make` for its number.
template <class From, class Make>
static void fill(Tensor &tensor, dist_dtype from, Make make) {
  int64_t count = tensor.count(), bytes = dtypeBytes(tensor.dtype);
  char *out = static_cast<char *>(tensor.data);
  for (int64_t i = 0; i < count; ++i) {
    From value = make(i);
    convert(from, &value, tensor.dtype, out + i * bytes, 1);
  }
}

/// Integer `i` of `count` that cut the range into equal parts, one in each.
static int64_t pickInPart(IntegerRange range, int64_t i, int64_t count,
                          uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  uint64_t last = static_cast<uint64_t>(range.high) - range.low;
  if (count > 1 && i == count - 1)
    return range.high;
  Wide first = (Wide(last) + 1) * i / count;
  Wide end = (Wide(last) + 1) * (i + 1) / count;
  if (i > 0 && end > first)
    first += bits % (end - first);
  else if (count == 1)
    first = bits % (Wide(last) + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(range.low) +
                              static_cast<uint64_t>(first));
}

Tensor dist::randomTensor(dist_dtype dtype, Shape shape, uint64_t seed,
                          IntegerRange range) {
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  uint64_t key = scatter(seed);
  if (isFloat(dtype)) {
    // Box-Muller, from two uniform numbers.
    fill<float>(tensor, DIST_F32, [&](int64_t i) {
      double u = toUnit(scatter(key + 2 * i));
      double v = toUnit(scatter(key + 2 * i + 1));
      return static_cast<float>(std::sqrt(-2 * std::log(u)) *
                                std::cos(6.283185307179586 * v));
    });
    return tensor;
  }
  if (dtype == DIST_I1)
    range = {0, 1};
  int64_t count = tensor.count();
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = pickInPart(range, i, count, scatter(key + 2 * i));
    // Fisher and Yates' shuffle, from the inside out.
    std::swap(values[i], values[scatter(key + 2 * i + 1) % (i + 1)]);
  }
  fill<int64_t>(tensor, DIST_I64, [&](int64_t i) { return values[i]; });
  return tensor;
}

Tensor dist::uniformTensor(dist_dtype dtype, Shape shape, uint64_t seed,
                           double low, double high) {
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  uint64_t key = scatter(seed);
  fill<double>(tensor, DIST_F64, [&](int64_t i) {
    double u = toUnit(scatter(key + i));
    return low * (1 - u) + high * u;
  });
  return tensor;
}
