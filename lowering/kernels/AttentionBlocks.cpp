//===- AttentionBlocks.cpp - Which tiles an attention needs ---------------===//

#include "lowering/kernels/AttentionBlocks.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/rt/Rt.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

/// The indices in groups that conditions of the body depend on; empty if there
/// are more of them than tables should have.
void AttentionBlocks::findCoordinates() {
  llvm::SetVector<Value> values;
  values.insert_range(getConditions(op));
  int64_t numQueries = sizes[op.getQueryDim()];
  for (size_t next = 0; next < values.size(); ++next) {
    Operation *maker = values[next].getDefiningOp();
    if (!maker)
      continue;
    auto size = maker->getAttrOfType<IntegerAttr>(rt::kGroupSizeAttr);
    if (!size) {
      if (op->isProperAncestor(maker) || isa<InferIntRangeInterface>(maker))
        values.insert_range(maker->getOperands());
      continue;
    }
    coordinates.push_back({values[next], size.getInt()});
    numQueries *= size.getInt();
    if (numQueries > kMostQueries)
      return coordinates.clear();
  }
}

int64_t AttentionBlocks::getKind(int64_t keys, bool isPlain) {
  KeyTileKind kind = {keys, isPlain};
  auto *found = llvm::find(kinds, kind);
  int64_t number = found - kinds.begin();
  if (found == kinds.end())
    kinds.push_back(kind);
  return number;
}

bool AttentionBlocks::isKnownAtPlaces(int64_t query, int64_t key,
                                      const ScoreFacts &facts,
                                      ArrayRef<KnownInteger> known) {
  ScoreFacts there = getScoreFacts(op, {query, query}, {key, key}, {}, known);
  for (auto [ofAll, ofOne] :
       llvm::zip_equal(facts.conditions, there.conditions))
    if (!ofAll && ofOne)
      return true;
  return false;
}

void AttentionBlocks::findRuns(std::pair<int64_t, int64_t> ofQueries,
                               int64_t first, int64_t last,
                               ArrayRef<KnownInteger> known, Runs &runs) {
  int64_t start = first * limits.granule;
  int64_t end = std::min(last * limits.granule, numKeys);
  ScoreFacts facts = getScoreFacts(op, ofQueries, {start, end - 1}, {}, known);
  if (!facts.x.isNan && facts.x.high <= kNegligibleScore) {
    largestSkipped = std::max(largestSkipped, facts.x.high);
    return;
  }
  bool isPlain = llvm::all_of(
      facts.conditions, [](std::optional<bool> known) { return bool(known); });
  if (!isPlain && last - first > 1 && splitsLeft > 0 &&
      isKnownAtPlaces(ofQueries.first, start, facts, known)) {
    --splitsLeft;
    int64_t middle = (first + last) / 2;
    findRuns(ofQueries, first, middle, known, runs);
    return findRuns(ofQueries, middle, last, known, runs);
  }
  if (isPlain) {
    SmallVector<bool> conditions;
    for (std::optional<bool> known : facts.conditions)
      conditions.push_back(*known);
    if (plainConditions.empty())
      plainConditions = conditions;
    isPlain = conditions == plainConditions;
  }
  // A gap costs less than a further tile.
  if (runs.empty() || start - runs.back().end >= limits.keyUnit)
    runs.push_back({start, start, start, start});
  Run &run = runs.back();
  if (isPlain) {
    if (run.plainEnd == run.plainStart)
      run.plainStart = run.plainEnd = start;
    if (run.plainEnd == start)
      run.plainEnd = end;
  }
  run.end = end;
}

double AttentionBlocks::getTime(ArrayRef<KeyTiles> ofRow) {
  double sum = 0;
  int64_t products = sizes[op.getFeatureDim()] + sizes[op.getValueDim()];
  for (const KeyTiles &some : ofRow) {
    const KeyTileKind &kind = kinds[some.kind];
    double perScore = limits.perScore + limits.perProduct * products +
                      (kind.isPlain ? 0 : limits.perMask);
    sum += some.count * (limits.perTile + perScore * queries * kind.keys);
  }
  return sum;
}

SmallVector<KeyTiles> AttentionBlocks::cover(int64_t start, int64_t end,
                                             int64_t low, int64_t high) {
  if (start >= end)
    return {};
  int64_t count = llvm::divideCeil(end - start, limits.keys);
  int64_t size =
      llvm::alignTo(llvm::divideCeil(end - start, count), limits.keyUnit);
  if (count * size <= high - low)
    return {{std::min(start, high - count * size), count,
             getKind(size, /*isPlain=*/false)}};
  // All that there is, the last tile of another size.
  SmallVector<KeyTiles> result;
  int64_t whole = (high - low) / size, rest = (high - low) % size;
  if (whole > 0)
    result.push_back({low, whole, getKind(size, /*isPlain=*/false)});
  if (rest > 0)
    result.push_back({low + whole * size, 1, getKind(rest, /*isPlain=*/false)});
  return result;
}

SmallVector<KeyTiles> AttentionBlocks::coverRun(const Run &run, int64_t low,
                                                int64_t high) {
  size_t numKinds = kinds.size();
  SmallVector<KeyTiles> mixed = cover(run.start, run.end, low, high);
  int64_t start =
      run.start + llvm::alignTo(run.plainStart - run.start, limits.keyUnit);
  int64_t count = std::max<int64_t>(run.plainEnd - start, 0) / limits.keys;
  if (count == 0)
    return mixed;
  double timeOfMixed = getTime(mixed);
  kinds.truncate(numKinds);
  int64_t end = start + count * limits.keys;
  SmallVector<KeyTiles> parts = cover(run.start, start, low, start);
  parts.push_back({start, count, getKind(limits.keys, /*isPlain=*/true)});
  llvm::append_range(parts, cover(end, run.end, end, high));
  if (getTime(parts) <= timeOfMixed)
    return parts;
  kinds.truncate(numKinds);
  return cover(run.start, run.end, low, high);
}

void AttentionBlocks::addRow(ArrayRef<Run> runs) {
  SmallVector<KeyTiles> ofRow;
  int64_t low = 0;
  for (auto [number, run] : llvm::enumerate(runs)) {
    int64_t high = number + 1 < runs.size() ? runs[number + 1].start : numKeys;
    llvm::append_range(ofRow, coverRun(run, low, high));
    low =
        ofRow.back().start + ofRow.back().count * kinds[ofRow.back().kind].keys;
  }
  // Nothing has no mean.
  if (runs.empty())
    ofRow = llvm::to_vector(ArrayRef(tiles).take_front(numAll));
  else
    skips |= runs.size() > 1 || runs[0].start > 0 || runs[0].end < numKeys;
  int64_t number = 0;
  for (const KeyTiles &some : ofRow)
    number += some.count;
  mostTiles = std::max(mostTiles, number);
  time += limits.perRow + getTime(ofRow);
  if (runs.empty()) {
    rows.push_back({0, numAll});
    return;
  }
  rows.push_back({tiles.size(), tiles.size() + ofRow.size()});
  llvm::append_range(tiles, ofRow);
}

AttentionBlocks::AttentionBlocks(AttentionLikeOpInterface op,
                                 const AttentionTiles &limits, int64_t queries)
    : queries(queries),
      largestSkipped(-std::numeric_limits<double>::infinity()), op(op),
      limits(limits), sizes(op.getDimSizes()), numKeys(sizes[op.getKeyDim()]) {
  this->limits.keys = std::min(limits.keys, numKeys);
  int64_t whole = numKeys / this->limits.keys,
          rest = numKeys % this->limits.keys;
  tiles.push_back({0, whole, getKind(this->limits.keys, /*isPlain=*/false)});
  if (rest > 0)
    tiles.push_back({numKeys - rest, 1, getKind(rest, /*isPlain=*/false)});
  numAll = tiles.size();
  bool hasConditions = !getConditions(op).empty();
  if (hasConditions)
    findCoordinates();
  SmallVector<KnownInteger> known;
  int64_t number = 1;
  for (const Coordinate &coordinate : coordinates) {
    known.push_back({coordinate.place, 0});
    number *= coordinate.size;
  }
  int64_t numQueries = sizes[op.getQueryDim()];
  for (int64_t device = 0; device < number; ++device) {
    int64_t rest = device;
    for (size_t which = coordinates.size(); which-- > 0;) {
      known[which].second = rest % coordinates[which].size;
      rest /= coordinates[which].size;
    }
    for (int64_t first = 0; first < numQueries; first += queries) {
      int64_t last = std::min(first + queries, numQueries) - 1;
      Runs runs;
      splitsLeft = kMostSplits;
      if (hasConditions)
        findRuns({first, last}, 0, llvm::divideCeil(numKeys, limits.granule),
                 known, runs);
      addRow(runs);
    }
  }
}

AttentionBlocks AttentionBlocks::getFastest(AttentionLikeOpInterface op,
                                            const AttentionTiles &limits) {
  AttentionBlocks best(op, limits, limits.queries);
  for (int64_t queries = limits.queries / 2;
       best.skips && queries >= limits.fewestQueries; queries /= 2) {
    AttentionBlocks other(op, limits, queries);
    if (other.time >= best.time)
      break;
    best = std::move(other);
  }
  return best;
}
