//===- Sizes.h - Sizes that only running tells ------------------*- C++ -*-===//
//
// A size is a number, or open: a polynomial of the sizes that the model leaves
// open, such as `2*batch*sequence`. Open sizes stand in shapes, and in known
// integers, for themselves: as numbers that no size and no model has. Equal
// polynomials are equal numbers, so that shapes are compared as ever.
//
// Facts about open sizes are proved for all sizes of at least 1 within the
// limits that the model sets, which are the sizes that they may be bound to.
// Facts that cannot be proved are not assumed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_SIZES_H
#define DIST_FRONTENDS_ONNX_READING_SIZES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mlir::dist::frontend {

/// Something that holds of open sizes wherever the model itself is right: a sum
/// of products of named sizes is at least 0.
struct SizeLimit {
  /// Coefficients by the names in each product.
  std::map<std::vector<std::string>, int64_t> terms;
  /// The node that asks for it, for messages.
  std::string node;
};

/// Numbers from here to 2^31 beyond stand for open sizes.
inline constexpr int64_t kFirstOpen = -(int64_t(1) << 62);

inline bool isOpen(int64_t size) {
  return size >= kFirstOpen && size < kFirstOpen + (int64_t(1) << 31);
}
/// Whether any of them is.
inline bool hasOpen(llvm::ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (isOpen(size))
      return true;
  return false;
}

class Sizes {
public:
  /// A variable of a polynomial: a size of its own, or a function of two sizes
  /// that is not a polynomial.
  struct Atom {
    enum Kind { Named, FloorDiv, Min, Max };
    Kind kind = Named;
    std::string name;     ///< Named
    int64_t a = 0, b = 0; ///< the others; sizes, perhaps open
    /// The largest number that it is known to reach, if there is any.
    std::optional<int64_t> bound = std::nullopt;
    /// How many functions are within one another.
    unsigned depth = 0;
  };
  /// Atoms, sorted, each as often as its power says.
  using Monomial = std::vector<int>;
  /// The lexicographic order of the powers: of a product, the largest monomial
  /// is the product of the largest ones.
  struct Order {
    bool operator()(const Monomial &a, const Monomial &b) const {
      for (size_t i = 0; i < a.size() && i < b.size(); ++i)
        if (a[i] != b[i])
          return a[i] > b[i];
      return a.size() < b.size();
    }
  };
  /// Without coefficients of 0.
  using Polynomial = std::map<Monomial, int64_t, Order>;

  /// Whether a size came to more than the limits above since this was last
  /// asked. What was computed in between is not right.
  bool wasExceeded() { return std::exchange(exceeded, false); }

  /// The open size of that name: always the same one.
  int64_t named(llvm::StringRef name);

  int64_t add(int64_t a, int64_t b);
  int64_t sub(int64_t a, int64_t b);
  int64_t mul(int64_t a, int64_t b);
  int64_t min(int64_t a, int64_t b);
  int64_t max(int64_t a, int64_t b);
  /// Rounded down; `b` is not 0.
  int64_t floorDiv(int64_t a, int64_t b);
  /// Rounded up.
  int64_t ceilDiv(int64_t a, int64_t b);
  int64_t product(llvm::ArrayRef<int64_t> sizes);
  /// a / b where that leaves no rest whatever the open sizes are.
  std::optional<int64_t> divide(int64_t a, int64_t b);

  /// Whether a >= b, whatever the open sizes are.
  bool isAtLeast(int64_t a, int64_t b);
  /// What makes `a` and `b` equal where the one is the smaller of the other and
  /// something else: without it they could not even be broadcast.
  std::optional<SizeLimit> findLimit(int64_t a, int64_t b);
  /// From now on the limit holds. Returns the sizes a >= b that it is about.
  std::pair<int64_t, int64_t> assume(const SizeLimit &limit);
  /// Whether a != b, whatever the open sizes are.
  bool differ(int64_t a, int64_t b) {
    return isAtLeast(a, add(b, 1)) || isAtLeast(b, add(a, 1));
  }

  /// "2*batch*sequence + 1".
  std::string toString(int64_t size) const;
  /// "[batch, 3]".
  std::string toString(llvm::ArrayRef<int64_t> shape) const;
  /// Adds the names that `size` is made of.
  void addNames(int64_t size, std::set<std::string> &names) const;

  /// Of an open size.
  const Polynomial &polynomialOf(int64_t size) const {
    return *polynomials[size - kFirstOpen];
  }
  const Atom &getAtom(int atom) const { return atoms[atom]; }

private:
  Polynomial toPolynomial(int64_t size) const;
  int64_t toSize(const Polynomial &polynomial);
  /// `otherwise`, a size that is not right, if there is none.
  int64_t toSize(const std::optional<Polynomial> &polynomial,
                 int64_t otherwise);
  int64_t toSize(Atom atom);
  /// The largest number that the size is known to reach, if there is any.
  std::optional<int64_t> lowerBound(const Polynomial &polynomial) const;
  std::optional<int64_t> lowerBound(const Atom &atom) const;
  void print(int64_t size, std::string &text) const;
  void addNames(int64_t size, std::set<std::string> &names,
                std::set<int> &visited) const;

  bool exceeded = false;
  std::vector<Atom> atoms;
  std::map<Polynomial, int64_t> sizeOf;
  std::vector<const Polynomial *> polynomials;
  /// At least 0.
  std::vector<Polynomial> limits;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_SIZES_H
