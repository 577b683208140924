//===- LanesInteger.cpp - Integers and bits of 32 lanes -------------------===//

#include "runtime/emulated/Lanes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

using namespace dist;
using namespace dist::emulated;

namespace {

template <class T> struct Wider;
template <> struct Wider<uint16_t> { using type = uint32_t; };
template <> struct Wider<int16_t> { using type = int32_t; };
template <> struct Wider<uint32_t> { using type = uint64_t; };
template <> struct Wider<int32_t> { using type = int64_t; };
template <> struct Wider<uint64_t> { using type = unsigned __int128; };
template <> struct Wider<int64_t> { using type = __int128; };

/// Without the undefined behaviour of signed overflow.
template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> T wrappedProduct(T a, T b) {
  // Of 16 bits the promoted product could overflow an int.
  using U = std::common_type_t<Unsigned<T>, unsigned>;
  return T(U(Unsigned<T>(a)) * U(Unsigned<T>(b)));
}

template <class T> T high(T a, T b) {
  using W = typename Wider<T>::type;
  return T((W(a) * W(b)) >> (8 * sizeof(T)));
}

template <class T> T saturatedSum(T a, T b, bool isMinus) {
  using W = typename Wider<T>::type;
  W sum = isMinus ? W(a) - W(b) : W(a) + W(b);
  return T(std::clamp<W>(sum, std::numeric_limits<T>::min(),
                         std::numeric_limits<T>::max()));
}

template <class T, class F>
void unary(void *d, const void *a, uint32_t mask, F f) {
  Lanes<T> x(a);
  eachLane<T>(d, mask, [&](unsigned l) { return f(x.at[l]); });
}

template <class T, class F>
void binary(void *d, const void *a, const void *b, uint32_t mask, F f) {
  Lanes<T> x(a), y(b);
  eachLane<T>(d, mask, [&](unsigned l) { return f(x.at[l], y.at[l]); });
}

template <class T, class F>
void ternary(void *d, const void *a, const void *b, const void *c,
             uint32_t mask, F f) {
  Lanes<T> x(a), y(b), z(c);
  eachLane<T>(d, mask,
              [&](unsigned l) { return f(x.at[l], y.at[l], z.at[l]); });
}

#define LANES                                                                  \
  [](const Operation &op, void *d, const void *a, const void *b,               \
     const void *c, uint32_t mask)

template <class T> LaneFunction arithmetic(LaneOp op, bool isSaturated) {
  using U = Unsigned<T>;
  switch (op) {
  case LaneOp::Add:
    if (isSaturated)
      return LANES {
        binary<T>(d, a, b, mask,
                  [](T x, T y) { return saturatedSum(x, y, false); });
      };
    return LANES {
      binary<U>(d, a, b, mask, [](U x, U y) { return U(x + y); });
    };
  case LaneOp::Sub:
    if (isSaturated)
      return LANES {
        binary<T>(d, a, b, mask,
                  [](T x, T y) { return saturatedSum(x, y, true); });
      };
    return LANES {
      binary<U>(d, a, b, mask, [](U x, U y) { return U(x - y); });
    };
  case LaneOp::Mul:
    return LANES {
      binary<T>(d, a, b, mask, [](T x, T y) { return wrappedProduct(x, y); });
    };
  case LaneOp::MulHigh:
    return LANES {
      binary<T>(d, a, b, mask, [](T x, T y) { return high(x, y); });
    };
  case LaneOp::Mad:
    return LANES {
      ternary<T>(d, a, b, c, mask, [](T x, T y, T z) {
        return T(U(wrappedProduct(x, y)) + U(z));
      });
    };
  case LaneOp::MadHigh:
    if (isSaturated)
      return LANES {
        ternary<T>(d, a, b, c, mask, [](T x, T y, T z) {
          return saturatedSum(high(x, y), z, false);
        });
      };
    return LANES {
      ternary<T>(d, a, b, c, mask,
                 [](T x, T y, T z) { return T(U(high(x, y)) + U(z)); });
    };
  case LaneOp::Min:
    return LANES {
      binary<T>(d, a, b, mask, [](T x, T y) { return x < y ? x : y; });
    };
  case LaneOp::Max:
    return LANES {
      binary<T>(d, a, b, mask, [](T x, T y) { return x < y ? y : x; });
    };
  case LaneOp::Neg:
    return LANES { unary<U>(d, a, mask, [](U x) { return U(U(0) - x); }); };
  case LaneOp::Abs:
    return LANES {
      unary<T>(d, a, mask, [](T x) { return x < 0 ? T(U(0) - U(x)) : x; });
    };
  case LaneOp::Difference:
    return LANES {
      ternary<T>(d, a, b, c, mask, [](T x, T y, T z) {
        return T(U(z) + (x < y ? U(U(y) - U(x)) : U(U(x) - U(y))));
      });
    };
  case LaneOp::Shr:
    return LANES {
      Lanes<T> x(a);
      Lanes<uint32_t> n(b);
      constexpr unsigned bits = 8 * sizeof(T);
      eachLane<T>(d, mask, [&](unsigned l) {
        if (std::is_signed_v<T>)
          return T(x.at[l] >> std::min(n.at[l], bits - 1));
        return n.at[l] < bits ? T(x.at[l] >> n.at[l]) : T(0);
      });
    };
  case LaneOp::Extract: // bfe
    return LANES {
      Lanes<T> x(a);
      Lanes<uint32_t> p(b), n(c);
      constexpr unsigned bits = 8 * sizeof(T);
      eachLane<T>(d, mask, [&](unsigned l) {
        unsigned start = p.at[l] & 255, length = n.at[l] & 255;
        U value = start < bits ? U(U(x.at[l]) >> start) : U(0);
        if (length < bits)
          value &= (U(1) << length) - 1;
        // The sign is the field's highest bit, or the operand's.
        unsigned top = std::min(start + length - 1, bits - 1);
        bool isMinus = std::is_signed_v<T> && length &&
                       (U(x.at[l]) >> top & 1);
        unsigned known = std::min(length, start < bits ? bits - start : 0);
        if (isMinus && known < bits)
          value |= U(~U(0)) << known;
        return T(value);
      });
    };
  case LaneOp::FindBit: // mode 1: .shiftamt
    return LANES {
      Lanes<T> x(a);
      constexpr unsigned bits = 8 * sizeof(T);
      eachLane<uint32_t>(d, mask, [&](unsigned l) {
        U value = x.at[l] < 0 ? ~U(x.at[l]) : U(x.at[l]);
        if (!value)
          return ~uint32_t(0);
        uint32_t at = bits - 1 - std::countl_zero(value);
        return op.mode ? bits - 1 - at : at;
      });
    };
  default:
    return nullptr;
  }
}

template <class T> LaneFunction wide(LaneOp op) {
  using W = typename Wider<T>::type;
  using U = Unsigned<W>;
  if (op == LaneOp::MulWide)
    return LANES {
      Lanes<T> x(a), y(b);
      eachLane<W>(d, mask, [&](unsigned l) { return W(x.at[l]) * y.at[l]; });
    };
  return LANES {
    Lanes<T> x(a), y(b);
    Lanes<W> z(c);
    eachLane<W>(d, mask, [&](unsigned l) {
      return W(U(W(x.at[l]) * y.at[l]) + U(z.at[l]));
    });
  };
}

template <class U> LaneFunction bits(LaneOp op) {
  constexpr unsigned width = 8 * sizeof(U);
  switch (op) {
  case LaneOp::And:
    return LANES {
      binary<U>(d, a, b, mask, [](U x, U y) { return U(x & y); });
    };
  case LaneOp::Or:
    return LANES {
      binary<U>(d, a, b, mask, [](U x, U y) { return U(x | y); });
    };
  case LaneOp::Xor:
    return LANES {
      binary<U>(d, a, b, mask, [](U x, U y) { return U(x ^ y); });
    };
  case LaneOp::Not:
    return LANES { unary<U>(d, a, mask, [](U x) { return U(~x); }); };
  case LaneOp::Move:
    return LANES { writeLanes(d, Lanes<U>(a), mask); };
  case LaneOp::Shl:
    return LANES {
      Lanes<U> x(a);
      Lanes<uint32_t> n(b);
      eachLane<U>(d, mask, [&](unsigned l) {
        return n.at[l] < width ? U(x.at[l] << n.at[l]) : U(0);
      });
    };
  case LaneOp::Popcount:
    return LANES {
      Lanes<U> x(a);
      eachLane<uint32_t>(d, mask,
                         [&](unsigned l) { return std::popcount(x.at[l]); });
    };
  case LaneOp::LeadingZeros:
    return LANES {
      Lanes<U> x(a);
      eachLane<uint32_t>(
          d, mask, [&](unsigned l) { return std::countl_zero(x.at[l]); });
    };
  case LaneOp::Reverse:
    return LANES {
      unary<U>(d, a, mask, [](U x) {
        U y = 0;
        for (unsigned i = 0; i < width; ++i)
          y |= U(x >> i & 1) << (width - 1 - i);
        return y;
      });
    };
  default:
    return nullptr;
  }
}

LaneFunction words(LaneOp op) {
  switch (op) {
  case LaneOp::FunnelLeft:
    return LANES {
      ternary<uint32_t>(d, a, b, c, mask,
                        [&](uint32_t x, uint32_t y, uint32_t n) {
                          n = op.isSaturated ? std::min(n, 32u) : n & 31;
                          uint64_t both = uint64_t(y) << 32 | x;
                          return uint32_t(both << n >> 32);
                        });
    };
  case LaneOp::FunnelRight:
    return LANES {
      ternary<uint32_t>(d, a, b, c, mask,
                        [&](uint32_t x, uint32_t y, uint32_t n) {
                          n = op.isSaturated ? std::min(n, 32u) : n & 31;
                          uint64_t both = uint64_t(y) << 32 | x;
                          return uint32_t(both >> n);
                        });
    };
  case LaneOp::Permute:
    return LANES {
      ternary<uint32_t>(
          d, a, b, c, mask, [](uint32_t x, uint32_t y, uint32_t s) {
            uint64_t both = uint64_t(y) << 32 | x;
            uint32_t result = 0;
            for (unsigned i = 0; i < 4; ++i) {
              unsigned select = s >> (4 * i) & 15;
              uint32_t byte = both >> (8 * (select & 7)) & 255;
              if (select & 8)
                byte = byte & 128 ? 255 : 0;
              result |= byte << (8 * i);
            }
            return result;
          });
    };
  case LaneOp::Logic3:
    return LANES {
      ternary<uint32_t>(
          d, a, b, c, mask, [&](uint32_t x, uint32_t y, uint32_t z) {
            uint32_t result = 0;
            for (unsigned i = 0; i < 8; ++i)
              if (op.mode >> i & 1)
                result |= (i & 4 ? x : ~x) & (i & 2 ? y : ~y) &
                          (i & 1 ? z : ~z);
            return result;
          });
    };
  default:
    return nullptr;
  }
}

} // namespace

LaneFunction emulated::integerFunction(LaneOp op, const Operation &operation) {
  Type type = operation.type;
  bool isSaturated = operation.isSaturated;
  LaneFunction function = nullptr;
  switch (type) {
  case Type::U16:
    function = arithmetic<uint16_t>(op, false);
    break;
  case Type::S16:
    function = arithmetic<int16_t>(op, false);
    break;
  case Type::U32:
    function = arithmetic<uint32_t>(op, false);
    break;
  case Type::S32:
    function = arithmetic<int32_t>(op, isSaturated);
    break;
  case Type::U64:
    function = arithmetic<uint64_t>(op, false);
    break;
  case Type::S64:
    function = arithmetic<int64_t>(op, false);
    break;
  // Shifts to the right of bits are those of unsigned numbers.
  case Type::B16:
    function = op == LaneOp::Shr ? arithmetic<uint16_t>(op, false) : nullptr;
    break;
  case Type::B32:
    function = op == LaneOp::Shr ? arithmetic<uint32_t>(op, false) : nullptr;
    break;
  case Type::B64:
    function = op == LaneOp::Shr ? arithmetic<uint64_t>(op, false) : nullptr;
    break;
  default:
    break;
  }
  if (function)
    return function;
  if (op == LaneOp::MulWide || op == LaneOp::MadWide)
    switch (type) {
    case Type::U16:
      return wide<uint16_t>(op);
    case Type::S16:
      return wide<int16_t>(op);
    case Type::U32:
      return wide<uint32_t>(op);
    case Type::S32:
      return wide<int32_t>(op);
    default:
      return nullptr;
    }
  switch (bitsOf(type)) {
  case 16:
    return bits<uint16_t>(op);
  case 32:
    function = bits<uint32_t>(op);
    return function ? function : words(op);
  case 64:
    return bits<uint64_t>(op);
  default:
    return nullptr;
  }
}
