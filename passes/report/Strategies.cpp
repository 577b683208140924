//===- Strategies.cpp - Ways to shard an attention ------------------------===//
//
// For an attention whose queries or heads are sharded: the bytes of each
// strategy, and the work of the busiest rank. (Jacobs et al., "DeepSpeed
// Ulysses", 2023, for heads; Liu et al., "Ring Attention", 2023, for rings.)
//
//===----------------------------------------------------------------------===//

#include "passes/report/Strategies.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/Utils/Program.h"
#include "passes/bounds/Bounds.h"

using namespace mlir;
using namespace mlir::dist;

/// The exchanges that `value` is made of, through ops of its block.
static llvm::SetVector<HaloExchangeOp> findExchanges(Value value) {
  llvm::SetVector<HaloExchangeOp> exchanges;
  llvm::SetVector<Value> pending;
  pending.insert(value);
  for (unsigned i = 0; i < pending.size() && i < kMostOpsToKeys; ++i) {
    Operation *op = pending[i].getDefiningOp();
    if (auto exchange = dyn_cast_or_null<HaloExchangeOp>(op))
      exchanges.insert(exchange);
    else if (op && op->getBlock() == value.getParentBlock())
      pending.insert_range(op->getOperands());
  }
  return exchanges;
}

int64_t mlir::dist::getBytesOfRow(Value tensor, int64_t dim) {
  int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  return size == 0 ? 0 : getTensorBytes(tensor.getType()) / size;
}

/// The same of the dimension `dim` of an attention's operand, which has it.
static int64_t getRowBytes(AttentionOp op, unsigned operand, unsigned dim) {
  AffineExpr expr = getAffineDimExpr(dim, op.getContext());
  return getBytesOfRow(op->getOperand(operand),
                       *op.getMap(operand).getResultPosition(expr));
}

/// Pairs of a query and a key nearby, of `count` queries from `first` on among
/// `all`.
static int64_t countPairs(int64_t first, int64_t count, int64_t all,
                          KeyWindow window) {
  int64_t pairs = 0;
  for (int64_t i = first; i < std::min(first + count, all); ++i)
    pairs += std::max<int64_t>(std::min(i + window.right, all - 1) -
                                   std::max<int64_t>(i - window.left, 0) + 1,
                               0);
  return pairs;
}

Strategies::Strategies(AttentionOp op, ArrayRef<AxisRefAttr> axes,
                       int64_t count)
    : op(op) {
  FailureOr<MeshOp> mesh = findProgramMesh(op->getParentOfType<ModuleOp>());
  p = succeeded(mesh) && *mesh ? getGroupSize(axes, (*mesh).getAxes()) : 1;
  SmallVector<int64_t> sizes = op.getDimSizes();
  rows = sizes[op.getQueryDim()];
  blockKeys = llvm::divideCeil(sizes[op.getKeyDim()], p);
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
  // Half of the queries and further operands of the body for them, their means,
  // their largest scores and sums; and one number (RingAttention.cpp).
  int64_t number = op.getScoreType().getWidth() / 8, numbers = 2 * number;
  for (unsigned dim = 0; dim < op.getNumBatches(); ++dim)
    numbers *= sizes[dim];
  mirrorBytes = queryBytes + resultBytes + numbers;
  for (unsigned extra = 0; extra < op.getExtras().size(); ++extra)
    if (op.getMap(3 + extra).isFunctionOfDim(op.getQueryDim()))
      extraBytes += getRowBytes(op, 3 + extra, op.getQueryDim());
}

void Strategies::takeAllHeads(int64_t all, int64_t here) {
  rows = llvm::divideCeil(rows, p);
  for (int64_t *figure :
       {&work, &heads, &queryBytes, &resultBytes, &mirrorBytes})
    *figure = *figure * all / here;
}

void Strategies::add(AttentionStrategy way, std::string name, int64_t bytes,
                     int64_t flops, std::string problem) {
  bool isChosen = way == chosen;
  // The program's own collectives give the bytes more exactly.
  use.ways.push_back({std::move(name), isChosen ? sent.value_or(bytes) : bytes,
                      flops, isChosen, std::move(problem)});
}

/// Pairs of rows of scores and blocks of keys that masks do not exclude: of the
/// busiest device, and of all devices.
std::pair<int64_t, int64_t> Strategies::countSeen() const {
  int64_t first = getFirstHalf(rows), most = 0, all = 0;
  for (int64_t device = 0; device < p; ++device) {
    int64_t own = 0;
    for (int64_t half : {0, 1})
      for (int64_t block = 0; block < p; ++block)
        if (seen[(2 * device + half) * p + block])
          own += half ? rows - first : first;
    most = std::max(most, own);
    all += own;
  }
  return {most, all};
}

AttentionUse Strategies::list() {
  auto [mostSeen, allSeen] = countSeen();
  int64_t most = mostSeen * blockKeys, all = allSeen * blockKeys;
  if (window) {
    // Ranks in the middle have the most pairs.
    most = countPairs(p / 2 * rows, rows, rows * p, *window);
    all = countPairs(0, rows * p, rows * p, *window);
    int64_t halo =
        getHaloRowsSent(rows, p, window->left, window->right) * keyBytes;
    if (chosen == AttentionStrategy::HaloOfInput)
      add(AttentionStrategy::HaloOfInput,
          "halo of what keys and values are made of", halo, work * most);
    add(AttentionStrategy::Halo, "halo of keys and values", halo, work * most);
  }
  int64_t round = (p - 1) * blockKeys * keyBytes;
  add(AttentionStrategy::Gathered, "keys and values gathered", round,
      work * most);
  // Blocks are computed whole, except those that masks exclude.
  add(AttentionStrategy::Ring, "keys and values go round", round,
      work * blockKeys * countRowsInRing(seen, p, rows, /*isZigzag=*/false));
  add(AttentionStrategy::Zigzag, "keys and values go round, zigzag",
      round + getFirstHalf(rows) * (mirrorBytes + extraBytes) +
          op.getScoreType().getWidth() / 8,
      work * blockKeys * countRowsInRing(seen, p, rows, /*isZigzag=*/true),
      rows < 2 ? "blocks of one query have no halves" : "");
  int64_t moved = blockKeys * keyBytes + rows * (queryBytes + resultBytes);
  add(AttentionStrategy::Heads, "heads sharded", moved / p * (p - 1),
      work / heads * llvm::divideCeil(heads, p) * all,
      heads < p ? std::to_string(p) + " ranks for keys of " +
                      std::to_string(heads) + " heads"
                : "");
  return std::move(use);
}

/// For attention with these exchanges of neighbours' keys.
static AttentionUse makeHaloUse(AttentionOp op,
                                const llvm::SetVector<HaloExchangeOp> &ofKeys,
                                const llvm::SetVector<HaloExchangeOp> &ofValues,
                                KeyWindow window, int64_t count) {
  llvm::SetVector<HaloExchangeOp> exchanges = ofKeys;
  exchanges.insert_range(ofValues);
  HaloExchangeOp anyOfThem = exchanges.front();
  Strategies ways(op, getAxisRefs(anyOfThem.getAxes()), count);
  int64_t p = ways.p, rows = ways.rows, sent = 0, rowBytes = 0;
  ways.blockKeys = rows;
  bool areApart = true;
  for (HaloExchangeOp exchange : exchanges) {
    sent += exchange.getBytesSentPerRank(p);
    rowBytes += getBytesOfRow(exchange.getOperand(), exchange.getDim());
    areApart &= ofKeys.contains(exchange) != ofValues.contains(exchange);
  }
  // Keys that several queries share move before they are repeated.
  if (areApart && !ofKeys.empty() && !ofValues.empty())
    ways.keyBytes = std::min(ways.keyBytes, rowBytes);
  bool isOfInput = sent != getHaloRowsSent(rows, p, window.left, window.right) *
                               ways.keyBytes;
  ways.choose(isOfInput ? AttentionStrategy::HaloOfInput
                        : AttentionStrategy::Halo,
              sent);
  ways.window = window;
  int64_t first = getFirstHalf(rows);
  for (int64_t half = 0; half < 2 * p; ++half) {
    int64_t from = half / 2 * rows + (half % 2) * first,
            to = from + (half % 2 ? rows - first : first) - 1;
    for (int64_t block = 0; block < p; ++block)
      ways.seen.push_back(from <= to && block * rows <= to + window.right &&
                          (block + 1) * rows > from - window.left);
  }
  return ways.list();
}

/// For attention to a device's own block of keys in a ring.
static AttentionUse makeRingUse(AttentionOp op, DictionaryAttr ring,
                                int64_t count) {
  Strategies ways(op, getAxisRefs(ring.getAs<ArrayAttr>("axes")), count);
  llvm::append_range(ways.seen,
                     ring.getAs<DenseBoolArrayAttr>("seen").asArrayRef());
  ways.blockKeys = op.getDimSizes()[op.getKeyDim()];
  if (auto bytes = ring.getAs<IntegerAttr>("block_bytes"))
    ways.keyBytes = bytes.getInt() / std::max<int64_t>(1, ways.blockKeys);
  if (auto window = ring.getAs<DenseI64ArrayAttr>("window");
      window && window.size() == 2)
    ways.window = {window[0], window[1]};
  // Here they are cut to a block of keys.
  for (unsigned extra = 0; extra < op.getExtras().size(); ++extra)
    if (op.getMap(3 + extra).isFunctionOfDim(op.getQueryDim()) &&
        op.getMap(3 + extra).isFunctionOfDim(op.getKeyDim()))
      ways.extraBytes +=
          (ways.p - 1) * getRowBytes(op, 3 + extra, op.getQueryDim());
  ways.choose(ring.contains("zigzag") ? AttentionStrategy::Zigzag
                                      : AttentionStrategy::Ring,
              std::nullopt);
  return ways.list();
}

std::optional<AttentionUse> mlir::dist::makeAttentionUse(AttentionOp op,
                                                         int64_t count) {
  if (llvm::is_contained(op.getDimSizes(), ShapedType::kDynamic))
    return std::nullopt;
  if (auto ring = op->getAttrOfType<DictionaryAttr>(kRingAttr))
    return makeRingUse(op, ring, count);
  std::optional<std::pair<int64_t, int64_t>> window = op.getKeyWindow();
  llvm::SetVector<HaloExchangeOp> ofKeys = findExchanges(op.getKey()),
                                  ofValues = findExchanges(op.getValue());
  if (!window || (ofKeys.empty() && ofValues.empty()))
    return std::nullopt;
  return makeHaloUse(op, ofKeys, ofValues, {window->first, window->second},
                     count);
}
