//===- Strategies.cpp - Ways to share out an attention --------------------===//
//
// Of an attention whose queries are shared out, and that gets its neighbours'
// keys by halo exchanges, or all others' from hand to hand: what the other ways
// would send, and what the busiest rank computes. (Jacobs et al., "DeepSpeed
// Ulysses", 2023, for heads; Liu et al., "Ring Attention", 2023, for keys and
// values that go round.)
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Program.h"
#include "passes/report/Report.h"

using namespace mlir;
using namespace mlir::dist;

/// Ops between an exchange and the keys made of it, at most.
static constexpr unsigned kMostOps = 64;

/// The exchanges that `value` is made of, through ops of its block.
static void findExchanges(Value value,
                          llvm::SetVector<HaloExchangeOp> &exchanges) {
  llvm::SetVector<Value> pending;
  pending.insert(value);
  for (unsigned i = 0; i < pending.size() && i < kMostOps; ++i) {
    Operation *op = pending[i].getDefiningOp();
    if (auto exchange = dyn_cast_or_null<HaloExchangeOp>(op))
      exchanges.insert(exchange);
    else if (op && op->getBlock() == value.getParentBlock())
      pending.insert_range(op->getOperands());
  }
}

/// Bytes of one element of the dimension `dim` of an attention's operand.
static int64_t getRowBytes(AttentionOp op, unsigned operand, unsigned dim) {
  Value value = op->getOperand(operand);
  int64_t size = op.getDimSizes()[dim];
  return size == 0 ? 0 : getTensorBytes(value.getType()) / size;
}

/// Pairs of a query and a key nearby, of `count` queries from `first` on among
/// `all`.
static int64_t countPairs(int64_t first, int64_t count, int64_t all,
                          int64_t left, int64_t right) {
  int64_t pairs = 0;
  for (int64_t i = first; i < std::min(first + count, all); ++i)
    pairs += std::max<int64_t>(
        std::min(i + right, all - 1) - std::max<int64_t>(i - left, 0) + 1, 0);
  return pairs;
}

namespace {
/// What all ways of an attention are computed from.
struct Facts {
  Facts(AttentionOp op, SmallVector<AxisRefAttr> axes, int64_t count);

  AttentionOp op;
  SmallVector<int64_t> sizes;
  AttentionUse use;
  /// Devices, and queries of each.
  int64_t p, rows;
  /// FLOP of a pair of a query and a key, with all batches.
  int64_t work;
  /// Heads of the keys: the dimension of which there are most.
  int64_t heads = 1;
  /// Of one key and its value; of one query.
  int64_t keyBytes, queryBytes, resultBytes;

  void add(std::string name, int64_t bytes, int64_t flops) {
    use.ways.push_back({std::move(name), bytes, flops});
  }
  /// Keys and values gathered, or going round; all of them with `pairs` and
  /// `rowsInRing` for the busiest rank, of blocks of `blockKeys` keys.
  void addGathered(int64_t blockKeys, int64_t flops) {
    add("keys and values gathered", (p - 1) * blockKeys * keyBytes, flops);
  }
  void addRings(ArrayRef<bool> seen, int64_t blockKeys);
  void addHeads(int64_t blockKeys, int64_t allPairs);
};
} // namespace

Facts::Facts(AttentionOp op, SmallVector<AxisRefAttr> axes, int64_t count)
    : op(op), sizes(op.getDimSizes()) {
  FailureOr<MeshOp> mesh = findProgramMesh(op->getParentOfType<ModuleOp>());
  p = succeeded(mesh) && *mesh ? getGroupSize(axes, (*mesh).getAxes()) : 1;
  rows = sizes[op.getQueryDim()];
  use.count = count;
  for (AxisRefAttr axis : axes)
    use.axes.push_back(describeAxis(axis));
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    use.scope = scope.str();
  work = 2 * (sizes[op.getFeatureDim()] + sizes[op.getValueDim()]);
  for (unsigned dim = 0; dim < op.getNumBatches(); ++dim) {
    work *= sizes[dim];
    if (op.getMap(1).isFunctionOfDim(dim))
      heads = std::max(heads, sizes[dim]);
  }
  unsigned result = op->getNumOperands() - op.getInits().size();
  keyBytes =
      getRowBytes(op, 1, op.getKeyDim()) + getRowBytes(op, 2, op.getKeyDim());
  queryBytes = getRowBytes(op, 0, op.getQueryDim());
  resultBytes = getRowBytes(op, result, op.getQueryDim());
}

/// Blocks are computed with whole, but for those that masks leave nothing of.
void Facts::addRings(ArrayRef<bool> seen, int64_t blockKeys) {
  int64_t sent = (p - 1) * blockKeys * keyBytes;
  add("keys and values go round", sent,
      work * blockKeys * countRowsInRing(seen, p, rows, /*isZigzag=*/false));
  // Half of the queries and what the body reads of them, their means, their
  // largest scores and sums; and one number (RingAttention.cpp).
  int64_t half = getFirstHalf(rows), number = op.getScoreType().getWidth() / 8;
  int64_t more = queryBytes + resultBytes;
  for (unsigned extra = 0; extra < op.getExtras().size(); ++extra)
    if (op.getMap(3 + extra).isFunctionOfDim(op.getQueryDim()))
      more += getRowBytes(op, 3 + extra, op.getQueryDim());
  int64_t numbers = 2 * number;
  for (unsigned dim = 0; dim < op.getNumBatches(); ++dim)
    numbers *= sizes[dim];
  add("keys and values go round, zigzag",
      sent + half * (more + numbers) + number,
      work * blockKeys * countRowsInRing(seen, p, rows, /*isZigzag=*/true));
  if (rows < 2)
    use.ways.back().problem = "blocks of one query have no halves";
}

void Facts::addHeads(int64_t blockKeys, int64_t allPairs) {
  int64_t moved = blockKeys * keyBytes + rows * (queryBytes + resultBytes);
  add("heads shared out", moved / p * (p - 1),
      work / heads * llvm::divideCeil(heads, p) * allPairs);
  if (heads < p)
    use.ways.back().problem = std::to_string(p) + " ranks for keys of " +
                              std::to_string(heads) + " heads";
}

/// Of attention that gets neighbours' keys by these exchanges.
static AttentionUse makeHaloUse(AttentionOp op,
                                ArrayRef<HaloExchangeOp> exchanges,
                                std::pair<int64_t, int64_t> window,
                                int64_t count) {
  HaloExchangeOp anyOfThem = exchanges.front();
  Facts facts(op, getAxisRefs(anyOfThem.getAxes()), count);
  auto [left, right] = window;
  int64_t p = facts.p, rows = facts.rows, all = rows * p;
  // Ranks in the middle have the most pairs.
  int64_t flops = facts.work * countPairs(p / 2 * rows, rows, all, left, right);
  int64_t sent = 0;
  bool isOfKeys = true;
  for (HaloExchangeOp exchange : exchanges) {
    sent += exchange.getBytesSentPerRank(p);
    isOfKeys &= exchange.getResult() == op.getKey() ||
                exchange.getResult() == op.getValue();
  }
  int64_t halo = getHaloRowsSent(rows, p, left, right) * facts.keyBytes;
  if (!isOfKeys && sent != halo)
    facts.add("halo of what keys and values are made of", sent, flops);
  facts.add("halo of keys and values", halo, flops);
  facts.use.ways.front().isChosen = true;
  facts.addGathered(rows, flops);
  int64_t first = getFirstHalf(rows);
  SmallVector<bool> seen;
  for (int64_t half = 0; half < 2 * p; ++half) {
    int64_t from = half / 2 * rows + (half % 2) * first,
            to = from + (half % 2 ? rows - first : first) - 1;
    for (int64_t block = 0; block < p; ++block)
      seen.push_back(from <= to && block * rows <= to + right &&
                     (block + 1) * rows > from - left);
  }
  facts.addRings(seen, rows);
  facts.addHeads(rows, countPairs(0, all, all, left, right));
  return std::move(facts.use);
}

/// Of attention to a device's own block of keys, of which others come round:
/// all ways in whole blocks of keys.
static AttentionUse makeRingUse(AttentionOp op, DictionaryAttr ring,
                                int64_t count) {
  Facts facts(op, getAxisRefs(ring.getAs<ArrayAttr>("axes")), count);
  ArrayRef<bool> seen = ring.getAs<DenseBoolArrayAttr>("seen");
  int64_t p = facts.p, blockKeys = facts.sizes[op.getKeyDim()];
  facts.addRings(seen, blockKeys);
  facts.use.ways[ring.contains("zigzag") ? 1 : 0].isChosen = true;
  // Each half of the queries with the blocks that it sees.
  int64_t first = getFirstHalf(facts.rows), most = 0, all = 0;
  for (int64_t device = 0; device < p; ++device) {
    int64_t pairs = 0;
    for (int64_t half : {0, 1})
      for (int64_t block = 0; block < p; ++block)
        if (seen[(2 * device + half) * p + block])
          pairs += (half ? facts.rows - first : first) * blockKeys;
    most = std::max(most, pairs);
    all += pairs;
  }
  facts.addGathered(blockKeys, facts.work * most);
  facts.addHeads(blockKeys, all);
  return std::move(facts.use);
}

std::optional<AttentionUse> mlir::dist::makeAttentionUse(AttentionOp op,
                                                         int64_t count) {
  if (llvm::is_contained(op.getDimSizes(), ShapedType::kDynamic))
    return std::nullopt;
  if (auto ring = op->getAttrOfType<DictionaryAttr>(kRingAttr))
    return makeRingUse(op, ring, count);
  std::optional<std::pair<int64_t, int64_t>> window = op.getKeyWindow();
  llvm::SetVector<HaloExchangeOp> exchanges;
  findExchanges(op.getKey(), exchanges);
  findExchanges(op.getValue(), exchanges);
  if (!window || exchanges.empty())
    return std::nullopt;
  return makeHaloUse(op, exchanges.getArrayRef(), *window, count);
}
