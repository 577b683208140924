//===- Sizes.cpp - Sizes that only running tells --------------------------===//

#include "Sizes.h"
#include "frontends/bounds/Bounds.h"
#include "passes/bounds/Bounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <iterator>

using namespace mlir::dist;
using namespace mlir::dist::frontend;

using Polynomial = Sizes::Polynomial;
using Monomial = Sizes::Monomial;

static Monomial multiply(const Monomial &a, const Monomial &b) {
  Monomial result;
  std::merge(a.begin(), a.end(), b.begin(), b.end(),
             std::back_inserter(result));
  return result;
}

/// Adds a * b of the monomial. False where it would be too large.
static bool addTerm(Polynomial &to, const Monomial &monomial, int64_t a,
                    int64_t b = 1) {
  int64_t &sum = to[monomial], product;
  if (llvm::MulOverflow(a, b, product) || llvm::AddOverflow(sum, product, sum))
    return false;
  if (sum == 0)
    to.erase(monomial);
  return true;
}

/// None where it would be too large.
static std::optional<Polynomial> multiply(const Polynomial &a,
                                          const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, x] : a)
    for (const auto &[right, y] : b) {
      if (left.size() + right.size() > kMostSizeFactors ||
          result.size() > kMostSizeTerms ||
          !addTerm(result, multiply(left, right), x, y))
        return std::nullopt;
    }
  return result;
}

/// None where it would be too large.
static std::optional<Polynomial> sum(const Polynomial &a, const Polynomial &b,
                                     int64_t factor = 1) {
  Polynomial result = a;
  for (const auto &[monomial, coefficient] : b)
    if (!addTerm(result, monomial, coefficient, factor))
      return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes and polynomials
//===----------------------------------------------------------------------===//

Polynomial Sizes::toPolynomial(int64_t size) const {
  if (isOpen(size))
    return polynomialOf(size);
  Polynomial result;
  if (size != 0)
    result[{}] = size;
  return result;
}

int64_t Sizes::toSize(const Polynomial &polynomial) {
  if (polynomial.empty())
    return 0;
  if (polynomial.size() == 1 && polynomial.begin()->first.empty())
    return polynomial.begin()->second;
  exceeded |= polynomial.size() > kMostSizeTerms;
  for (const auto &[monomial, coefficient] : polynomial)
    exceeded |= coefficient < -kMostElements || coefficient > kMostElements;
  auto [it, fresh] =
      sizeOf.try_emplace(polynomial, kFirstOpen + int64_t(polynomials.size()));
  if (fresh)
    polynomials.push_back(&it->first);
  return it->second;
}

int64_t Sizes::toSize(Atom atom) {
  auto same = [&](const Atom &other) {
    return other.kind == atom.kind && other.name == atom.name &&
           other.a == atom.a && other.b == atom.b;
  };
  auto it = llvm::find_if(atoms, same);
  int number = it - atoms.begin();
  if (it == atoms.end()) {
    atom.bound = lowerBound(atom);
    for (int64_t size : {atom.a, atom.b})
      if (isOpen(size))
        for (const auto &[monomial, coefficient] : polynomialOf(size))
          for (int inner : monomial)
            atom.depth = std::max(atom.depth, atoms[inner].depth + 1);
    exceeded |= atom.depth > kMostSizeDepth;
    atoms.push_back(std::move(atom));
  }
  return toSize(Polynomial{{{number}, 1}});
}

int64_t Sizes::named(llvm::StringRef name) {
  return toSize(Atom{Atom::Named, name.str(), 0, 0});
}

int64_t Sizes::toSize(const std::optional<Polynomial> &polynomial,
                      int64_t otherwise) {
  exceeded |= !polynomial;
  return polynomial ? toSize(*polynomial) : otherwise;
}

int64_t Sizes::add(int64_t a, int64_t b) {
  return toSize(sum(toPolynomial(a), toPolynomial(b)), isOpen(a) ? a : b);
}

int64_t Sizes::sub(int64_t a, int64_t b) {
  return toSize(sum(toPolynomial(a), toPolynomial(b), -1), isOpen(a) ? a : b);
}

int64_t Sizes::mul(int64_t a, int64_t b) {
  return toSize(multiply(toPolynomial(a), toPolynomial(b)), isOpen(a) ? a : b);
}

int64_t Sizes::product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result = mul(result, size);
  return result;
}

int64_t Sizes::min(int64_t a, int64_t b) {
  if (isAtLeast(b, a))
    return a;
  if (isAtLeast(a, b))
    return b;
  return toSize(Atom{Atom::Min, "", std::min(a, b), std::max(a, b)});
}

int64_t Sizes::max(int64_t a, int64_t b) {
  if (isAtLeast(a, b))
    return a;
  if (isAtLeast(b, a))
    return b;
  return toSize(Atom{Atom::Max, "", std::min(a, b), std::max(a, b)});
}

/// By long division.
std::optional<int64_t> Sizes::divide(int64_t a, int64_t b) {
  Polynomial rest = toPolynomial(a), divisor = toPolynomial(b), quotient;
  if (divisor.empty())
    return std::nullopt;
  const auto &[leading, coefficient] = *divisor.rbegin();
  for (int steps = 0; !rest.empty(); ++steps) {
    const auto &[monomial, number] = *rest.rbegin();
    if (steps == 64 || number % coefficient != 0 ||
        !std::includes(monomial.begin(), monomial.end(), leading.begin(),
                       leading.end()))
      return std::nullopt;
    Monomial factors;
    std::set_difference(monomial.begin(), monomial.end(), leading.begin(),
                        leading.end(), std::back_inserter(factors));
    Polynomial term{{factors, number / coefficient}};
    std::optional<Polynomial> part = multiply(term, divisor);
    std::optional<Polynomial> left = part ? sum(rest, *part, -1) : std::nullopt;
    std::optional<Polynomial> both = sum(quotient, term);
    if (!left || !both)
      return std::nullopt;
    rest = std::move(*left);
    quotient = std::move(*both);
  }
  return toSize(quotient);
}

int64_t Sizes::floorDiv(int64_t a, int64_t b) {
  if (std::optional<int64_t> exact = divide(a, b))
    return *exact;
  if (!isOpen(a) && !isOpen(b))
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return toSize(Atom{Atom::FloorDiv, "", a, b});
}

int64_t Sizes::ceilDiv(int64_t a, int64_t b) {
  if (std::optional<int64_t> exact = divide(a, b))
    return *exact;
  return floorDiv(add(a, sub(b, 1)), b);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

std::optional<int64_t> Sizes::lowerBound(const Atom &entry) const {
  if (entry.kind == Atom::Named)
    return 1;
  std::optional<int64_t> a = lowerBound(toPolynomial(entry.a));
  std::optional<int64_t> b = lowerBound(toPolynomial(entry.b));
  switch (entry.kind) {
  case Atom::Min:
    return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
  case Atom::Max:
    return a && b ? std::max(*a, *b) : a ? a : b;
  default:
    if (!a || !b || *a < 0 || *b < 1)
      return std::nullopt;
    return isOpen(entry.b) ? 0 : *a / entry.b;
  }
}

/// The value where each atom is as small as it gets; none where an atom or its
/// coefficient may be negative, as it need not be the smallest one then.
static std::optional<int64_t>
evaluateAtBounds(const Polynomial &polynomial,
                 llvm::ArrayRef<Sizes::Atom> atoms) {
  int64_t result = 0;
  for (const auto &[monomial, coefficient] : polynomial) {
    int64_t term = coefficient;
    bool fits = term >= 0 || monomial.empty();
    for (int atom : monomial)
      fits &= atoms[atom].bound && *atoms[atom].bound >= 0 &&
              !llvm::MulOverflow(term, *atoms[atom].bound, term);
    if (!fits || llvm::AddOverflow(result, term, result))
      return std::nullopt;
  }
  return result;
}

/// With each atom as its own bound and what it exceeds that by, which is at
/// least 0, no negative coefficient may be left.
std::optional<int64_t> Sizes::lowerBound(const Polynomial &polynomial) const {
  if (std::optional<int64_t> value = evaluateAtBounds(polynomial, atoms))
    return value;
  Polynomial shifted;
  for (const auto &[monomial, coefficient] : polynomial) {
    Polynomial term{{{}, coefficient}};
    for (int atom : monomial) {
      std::optional<int64_t> bound = atoms[atom].bound;
      if (!bound)
        return std::nullopt;
      Polynomial factor{{{atom}, 1}};
      if (!addTerm(factor, {}, *bound))
        return std::nullopt;
      std::optional<Polynomial> product = multiply(term, factor);
      if (!product)
        return std::nullopt;
      term = std::move(*product);
    }
    for (const auto &[part, number] : term)
      if (!addTerm(shifted, part, number))
        return std::nullopt;
    if (shifted.size() > kMostSizeTerms)
      return std::nullopt;
  }
  int64_t constant = 0;
  for (const auto &[monomial, coefficient] : shifted) {
    if (monomial.empty())
      constant = coefficient;
    else if (coefficient < 0)
      return std::nullopt;
  }
  return constant;
}

bool Sizes::isAtLeast(int64_t a, int64_t b) {
  if (!isOpen(a) && !isOpen(b))
    return a >= b;
  std::optional<Polynomial> difference =
      sum(toPolynomial(a), toPolynomial(b), -1);
  auto isPositive = [&](const std::optional<Polynomial> &polynomial) {
    return polynomial && lowerBound(*polynomial).value_or(-1) >= 0;
  };
  return isPositive(difference) ||
         (difference && llvm::any_of(limits, [&](const Polynomial &limit) {
            return isPositive(sum(*difference, limit, -1));
          }));
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

std::optional<SizeLimit> Sizes::findLimit(int64_t a, int64_t b) {
  for (auto [whole, part] : {std::pair(a, b), std::pair(b, a)}) {
    if (!isOpen(part))
      continue;
    const auto &[monomial, coefficient] = *polynomialOf(part).begin();
    if (polynomialOf(part).size() != 1 || monomial.size() != 1 ||
        coefficient != 1)
      continue;
    const Atom &atom = atoms[monomial.front()];
    if (atom.kind != Atom::Min || (atom.a != whole && atom.b != whole))
      continue;
    int64_t other = atom.a == whole ? atom.b : atom.a;
    // Else it may be 1, which broadcasts, however large the other one is.
    if (!isAtLeast(other, 2))
      continue;
    SizeLimit limit;
    std::optional<Polynomial> difference =
        sum(toPolynomial(other), toPolynomial(whole), -1);
    bool isNamed = difference.has_value();
    for (const auto &[product, factor] : difference.value_or(Polynomial())) {
      std::vector<std::string> names;
      for (int number : product) {
        isNamed &= atoms[number].kind == Atom::Named;
        names.push_back(atoms[number].name);
      }
      limit.terms[names] = factor;
    }
    if (isNamed)
      return limit;
  }
  return std::nullopt;
}

std::pair<int64_t, int64_t> Sizes::assume(const SizeLimit &limit) {
  // What is subtracted goes to the other side.
  int64_t sides[] = {0, 0};
  for (const auto &[names, coefficient] : limit.terms) {
    int64_t product = 1;
    for (const std::string &name : names)
      product = mul(product, named(name));
    bool isNegative = coefficient < 0;
    int64_t &side = sides[isNegative];
    side = add(side, mul(product, isNegative ? -coefficient : coefficient));
  }
  limits.push_back(toPolynomial(sub(sides[0], sides[1])));
  return {sides[0], sides[1]};
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void Sizes::print(int64_t size, std::string &text) const {
  if (!isOpen(size)) {
    text += std::to_string(size);
    return;
  }
  bool isFirst = true;
  // Highest powers first.
  for (const auto &[monomial, coefficient] :
       llvm::reverse(polynomialOf(size))) {
    bool negative = coefficient < 0;
    text += isFirst ? (negative ? "-" : "") : negative ? " - " : " + ";
    isFirst = false;
    std::string magnitude = std::to_string(coefficient);
    if (negative)
      magnitude.erase(0, 1);
    if (magnitude != "1" || monomial.empty())
      text += magnitude + (monomial.empty() ? "" : "*");
    for (auto [i, number] : llvm::enumerate(monomial)) {
      text += i ? "*" : "";
      if (text.size() > kMostSizeText) {
        text += "…";
        return;
      }
      const Atom &atom = atoms[number];
      static const char *const functions[] = {"", "floordiv", "min", "max"};
      if (atom.kind == Atom::Named) {
        text += atom.name;
        continue;
      }
      text += functions[atom.kind] + std::string("(");
      print(atom.a, text);
      text += ", ";
      print(atom.b, text);
      text += ")";
    }
  }
}

std::string Sizes::toString(int64_t size) const {
  std::string text;
  print(size, text);
  return text;
}

std::string Sizes::toString(llvm::ArrayRef<int64_t> shape) const {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + toString(size);
  return text + "]";
}

void Sizes::addNames(int64_t size, std::set<std::string> &names) const {
  std::set<int> visited;
  addNames(size, names, visited);
}

void Sizes::addNames(int64_t size, std::set<std::string> &names,
                     std::set<int> &visited) const {
  if (!isOpen(size))
    return;
  for (const auto &[monomial, coefficient] : polynomialOf(size))
    for (int number : monomial) {
      const Atom &atom = atoms[number];
      if (!visited.insert(number).second)
        continue;
      if (atom.kind == Atom::Named)
        names.insert(atom.name);
      addNames(atom.a, names, visited);
      addNames(atom.b, names, visited);
    }
}
