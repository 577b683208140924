//===- KeyWindow.cpp - The keys that queries may look at ------------------===//
//
// Row by row: which first and last keys have no weight, by the ranges that the
// body may be in for them (ScoreRange.h). A row is first tried with the window
// of the rows before it, so that most rows take two steps.
//
//===----------------------------------------------------------------------===//

#include "passes/attention/KeyWindow.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "passes/attention/ScoreRange.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A constant further operand.
class Table {
public:
  Table(DenseElementsAttr attr, AffineMap map, ArrayRef<int64_t> sizes,
        AttentionOp op);

  /// The elements of the row, from the first to the last of `keys`.
  ExtraRange get(int64_t query, std::pair<int64_t, int64_t> keys) const;

private:
  /// Elements of all batches for a query and some keys.
  template <typename Visit>
  void visit(int64_t query, std::pair<int64_t, int64_t> keys,
             Visit visit) const;

  DenseElementsAttr attr;
  Type element;
  /// How far a step of a query, a key and each batch moves.
  int64_t queryStride = 0, keyStride = 0;
  SmallVector<std::pair<int64_t, int64_t>> batches; // stride, size
};

class Finder {
public:
  Finder(AttentionOp op, std::optional<double> largest);
  std::optional<KeyWindow> find();
  std::vector<bool> findSeenBlocks(int64_t blocks);

private:
  /// With keys of x up to `negligible` masked, and those from `visible` on
  /// surely not.
  std::optional<KeyWindow> findBetween(double negligible, double visible);
  /// Whether these keys, perhaps none, have no weight in the row.
  bool isMasked(int64_t query, int64_t first, int64_t last);
  /// The number of masked keys at an end of the row.
  int64_t countMasked(int64_t query, bool isFront);
  ScoreFacts getFacts(int64_t query, int64_t first, int64_t last);
  bool isMasked(std::pair<int64_t, int64_t> ofQueries,
                std::pair<int64_t, int64_t> ofKeys);

  AttentionOp op;
  std::optional<double> largest;
  int64_t queries, keys;
  double negligible = kNegligibleScore;
  SmallVector<std::optional<Table>> tables;
  /// Whether all masked x are -inf.
  bool isExact = true;
};
} // namespace

Table::Table(DenseElementsAttr attr, AffineMap map, ArrayRef<int64_t> sizes,
             AttentionOp op)
    : attr(attr), element(attr.getElementType()) {
  int64_t stride = 1;
  auto shape = attr.getType().getShape();
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    if (auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim))) {
      unsigned position = expr.getPosition();
      if (position == op.getQueryDim())
        queryStride = stride;
      else if (position == op.getKeyDim())
        keyStride = stride;
      else
        batches.push_back({stride, sizes[position]});
    }
    stride *= shape[dim];
  }
}

template <typename Visit>
void Table::visit(int64_t query, std::pair<int64_t, int64_t> keys,
                  Visit visit) const {
  int64_t last = keyStride == 0 ? keys.first : keys.second;
  SmallVector<int64_t> counters(batches.size(), 0);
  int64_t place = query * queryStride;
  while (true) {
    for (int64_t key = keys.first; key <= last; ++key)
      visit(place + key * keyStride);
    size_t batch = 0;
    for (; batch < batches.size(); ++batch) {
      auto [stride, size] = batches[batch];
      place += stride;
      if (++counters[batch] < size)
        break;
      place -= stride * size;
      counters[batch] = 0;
    }
    if (batch == batches.size())
      return;
  }
}

ExtraRange Table::get(int64_t query, std::pair<int64_t, int64_t> keys) const {
  ExtraRange range;
  if (isa<FloatType>(element)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    range.floats = {kInfinity, -kInfinity, false};
    auto values = attr.value_begin<APFloat>();
    visit(query, keys, [&](int64_t place) {
      APFloat value = *(values + place);
      bool loses;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &loses);
      range.floats->isNan |= value.isNaN();
      if (value.isNaN())
        return;
      double number = value.convertToDouble();
      range.floats->low = std::min(range.floats->low, number);
      range.floats->high = std::max(range.floats->high, number);
    });
    return range;
  }
  auto values = attr.value_begin<APInt>();
  std::optional<std::pair<APInt, APInt>> bounds;
  visit(query, keys, [&](int64_t place) {
    APInt value = *(values + place);
    if (!bounds)
      bounds = {value, value};
    if (value.slt(bounds->first))
      bounds->first = value;
    if (value.sgt(bounds->second))
      bounds->second = value;
  });
  range.integers = ConstantIntRanges::fromSigned(bounds->first, bounds->second);
  return range;
}

Finder::Finder(AttentionOp op, std::optional<double> largest)
    : op(op), largest(largest) {
  SmallVector<int64_t> sizes = op.getDimSizes();
  queries = sizes[op.getQueryDim()];
  keys = sizes[op.getKeyDim()];
  for (auto [number, extra] : llvm::enumerate(op.getExtras())) {
    DenseElementsAttr constant;
    tables.emplace_back();
    if (matchPattern(extra, m_Constant(&constant)) &&
        constant.getElementType().isIntOrIndexOrFloat())
      tables.back().emplace(constant, op.getMap(3 + number), sizes, op);
  }
}

ScoreFacts Finder::getFacts(int64_t query, int64_t first, int64_t last) {
  SmallVector<ExtraRange> extras;
  for (const std::optional<Table> &table : tables)
    extras.push_back(table ? table->get(query, {first, last}) : ExtraRange());
  return getScoreFacts(op, {query, query}, {first, last}, extras, /*known=*/{},
                       largest);
}

bool Finder::isMasked(int64_t query, int64_t first, int64_t last) {
  if (first > last)
    return true;
  FloatRange x = getFacts(query, first, last).x;
  if (x.isNan || x.high > negligible)
    return false;
  isExact &= x.high == -std::numeric_limits<double>::infinity();
  return true;
}

int64_t Finder::countMasked(int64_t query, bool isFront) {
  int64_t known = 0, bound = keys + 1;
  while (known + 1 < bound) {
    int64_t count = known + (bound - known) / 2;
    bool masked = isFront ? isMasked(query, 0, count - 1)
                          : isMasked(query, keys - count, keys - 1);
    (masked ? known : bound) = count;
  }
  return known;
}

std::optional<KeyWindow> Finder::find() {
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys) ||
      keys == 0)
    return std::nullopt;
  if (std::optional<KeyWindow> window =
          findBetween(kNegligibleScore, kNegligibleScore / 10))
    return window;
  // Any number hides what is far enough below the scores that a query surely
  // sees, of which its own key is one.
  double least = std::numeric_limits<double>::infinity();
  for (int64_t query = 0; query < std::min(queries, keys); ++query) {
    FloatRange x = getFacts(query, query, query).x;
    if (x.isNan)
      return std::nullopt;
    least = std::min(least, x.low);
  }
  std::optional<KeyWindow> window =
      findBetween(least - kVanishingDifference, least);
  // By the user's word a query sees some key.
  if (!window && largest)
    window = findBetween(-*largest - kVanishingDifference,
                         -std::numeric_limits<double>::infinity());
  return window;
}

std::optional<KeyWindow> Finder::findBetween(double negligible,
                                             double visible) {
  this->negligible = negligible;
  isExact = true;
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min() / 4;
  int64_t left = kNone, right = kNone;
  // Backwards: where nothing is masked on the left, the last row says so.
  for (int64_t query = queries - 1; query >= 0; --query) {
    bool seesAny = true;
    if (!isMasked(query, 0, std::min(query - left - 1, keys - 1))) {
      int64_t first = countMasked(query, /*isFront=*/true);
      seesAny = first < keys;
      if (seesAny)
        left = query - first;
    }
    if (seesAny &&
        !isMasked(query, std::max<int64_t>(query + right + 1, 0), keys - 1))
      right = keys - 1 - countMasked(query, /*isFront=*/false) - query;
    if (left != kNone && left + right + 1 >= keys)
      return std::nullopt;
  }
  if (left == kNone || right == kNone || left + right < 0)
    return std::nullopt;
  auto sees = [&](int64_t query, int64_t key) {
    if (key < 0 || key >= keys)
      return false;
    FloatRange x = getFacts(query, key, key).x;
    return !x.isNan && x.low >= visible;
  };
  // The query itself, or the bounds of the window.
  for (int64_t query = 0; !isExact && query < queries; ++query)
    if (!sees(query, query) && !sees(query, query - left) &&
        !sees(query, query + right))
      return std::nullopt;
  return KeyWindow{left, right};
}

/// The same for all rows of a block. Tables are looked at row by row.
bool Finder::isMasked(std::pair<int64_t, int64_t> ofQueries,
                      std::pair<int64_t, int64_t> ofKeys) {
  if (llvm::all_of(tables, [](const auto &table) { return !table; })) {
    FloatRange x = getScoreFacts(op, ofQueries, ofKeys).x;
    return !x.isNan && x.high <= kNegligibleScore;
  }
  for (int64_t query = ofQueries.first; query <= ofQueries.second; ++query)
    if (!isMasked(query, ofKeys.first, ofKeys.second))
      return false;
  return true;
}

std::vector<bool> Finder::findSeenBlocks(int64_t blocks) {
  std::vector<bool> seen(2 * blocks * blocks, true);
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys))
    return seen;
  auto getRange = [](int64_t size, int64_t first, int64_t count) {
    return std::make_pair(std::min(first, size),
                          std::min(first + count, size) - 1);
  };
  int64_t ofKeys = llvm::divideCeil(keys, blocks),
          ofQueries = llvm::divideCeil(queries, blocks);
  for (int64_t row = 0; row < 2 * blocks; ++row) {
    int64_t half = getFirstHalf(ofQueries), first = row / 2 * ofQueries;
    auto rows = row % 2 == 0
                    ? getRange(queries, first, half)
                    : getRange(queries, first + half, ofQueries - half);
    for (int64_t block = 0; block < blocks; ++block) {
      auto columns = getRange(keys, block * ofKeys, ofKeys);
      seen[row * blocks + block] = rows.first <= rows.second &&
                                   columns.first <= columns.second &&
                                   !isMasked(rows, columns);
    }
  }
  return seen;
}

/// The value, if it is a constant; else null.
static Attribute getConstant(Value value) {
  Attribute constant;
  matchPattern(value, m_Constant(&constant));
  return constant;
}

/// The maps, sizes, constant masks and the body, with the computations of
/// integers from outside (ScoreRange). Other values that are not constants are
/// only distinguished.
static std::vector<const void *> getKey(AttentionOp op) {
  std::vector<const void *> key = {op.getIndexingMaps().getAsOpaquePointer(),
                                   op.getNanIsZeroAttr().getAsOpaquePointer()};
  for (Value operand : op->getOperands())
    key.push_back(operand.getType().getAsOpaquePointer());
  for (Value extra : op.getExtras())
    key.push_back(getConstant(extra).getAsOpaquePointer());
  Block &body = op.getBody().front();
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (Value argument : body.getArguments())
    number(argument);
  auto addOp = [&](Operation *op) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
  };
  auto add = [&](Value read) {
    SmallVector<Value> left{read};
    while (!left.empty()) {
      Value value = left.pop_back_val();
      bool isNew = !numbers.contains(value);
      Attribute constant = isNew ? getConstant(value) : Attribute();
      key.push_back(constant.getAsOpaquePointer());
      key.push_back(constant ? nullptr
                             : reinterpret_cast<void *>(number(value)));
      key.push_back(value.getType().getAsOpaquePointer());
      auto maker = value.getDefiningOp<InferIntRangeInterface>();
      if (!isNew || constant || !maker)
        continue;
      addOp(maker);
      size_t place = cast<OpResult>(value).getResultNumber();
      key.push_back(reinterpret_cast<void *>(place));
      llvm::append_range(left, maker->getOperands());
    }
  };
  for (Operation &inner : body) {
    addOp(&inner);
    for (Value operand : inner.getOperands())
      add(operand);
    for (Value result : inner.getResults()) {
      number(result);
      key.push_back(result.getType().getAsOpaquePointer());
    }
  }
  return key;
}

std::optional<KeyWindow> KeyWindows::find(AttentionOp op,
                                          std::optional<double> largest) {
  auto [place, isNew] = known.try_emplace({getKey(op), largest});
  if (isNew)
    place->second = Finder(op, largest).find();
  return place->second;
}

std::vector<bool> KeyWindows::findSeenBlocks(AttentionOp op, int64_t blocks) {
  auto [place, isNew] = knownBlocks.try_emplace({getKey(op), blocks});
  if (isNew)
    place->second = Finder(op, /*largest=*/{}).findSeenBlocks(blocks);
  return place->second;
}
