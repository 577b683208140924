//===- Strategies.cpp - Ways to share out an attention to keys nearby -----===//
//
// Of an attention whose queries are shared out, and that gets its neighbours'
// keys by halo exchanges: what the other ways would send, and what the busiest
// rank computes. (Jacobs et al., "DeepSpeed Ulysses", 2023, for heads; Liu et
// al., "Ring Attention", 2023, for keys and values that go round.)
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

std::optional<AttentionUse> mlir::dist::makeAttentionUse(AttentionOp op,
                                                         int64_t count) {
  std::optional<std::pair<int64_t, int64_t>> window = op.getKeyWindow();
  llvm::SetVector<HaloExchangeOp> exchanges;
  findExchanges(op.getKey(), exchanges);
  findExchanges(op.getValue(), exchanges);
  SmallVector<int64_t> sizes = op.getDimSizes();
  if (!window || exchanges.empty() ||
      llvm::is_contained(sizes, ShapedType::kDynamic))
    return std::nullopt;
  HaloExchangeOp first = exchanges[0];
  MeshOp mesh = lookupMesh(first, first.getMeshAttr());
  SmallVector<AxisRefAttr> axes = getAxisRefs(first.getAxes());
  int64_t p = mesh ? getGroupSize(axes, mesh.getAxes()) : 1;
  AttentionUse use;
  use.count = count;
  for (AxisRefAttr axis : axes)
    use.axes.push_back(describeAxis(axis));
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    use.scope = scope.str();

  auto [left, right] = *window;
  int64_t rows = sizes[op.getQueryDim()], all = rows * p;
  int64_t work = 2 * (sizes[op.getFeatureDim()] + sizes[op.getValueDim()]);
  int64_t heads = 1; // of the keys, the dimension of which there are most
  for (unsigned dim = 0; dim < op.getNumBatches(); ++dim) {
    work *= sizes[dim];
    if (op.getMap(1).isFunctionOfDim(dim))
      heads = std::max(heads, sizes[dim]);
  }
  // Ranks in the middle have the most pairs.
  int64_t pairs = countPairs(p / 2 * rows, rows, all, left, right);
  int64_t keyBytes =
      getRowBytes(op, 1, op.getKeyDim()) + getRowBytes(op, 2, op.getKeyDim());
  auto add = [&](std::string name, int64_t bytes, int64_t flops) {
    use.ways.push_back({std::move(name), bytes, flops});
  };
  int64_t sent = 0;
  bool isOfKeys = true;
  for (HaloExchangeOp exchange : exchanges) {
    sent += exchange.getBytesSentPerRank(p);
    isOfKeys &= exchange.getResult() == op.getKey() ||
                exchange.getResult() == op.getValue();
  }
  int64_t halo = getHaloRowsSent(rows, p, left, right) * keyBytes;
  if (!isOfKeys && sent != halo)
    add("halo of what keys and values are made of", sent, work * pairs);
  add("halo of keys and values", halo, work * pairs);
  use.ways.front().isChosen = true;
  add("keys and values gathered", (p - 1) * rows * keyBytes, work * pairs);
  // Blocks are computed with whole, but for those without any key nearby.
  int64_t blocks = 0;
  for (int64_t rank = 0; rank < p && rows > 0; ++rank) {
    int64_t from = std::max<int64_t>(rank * rows - left, 0) / rows;
    int64_t to = std::min((rank + 1) * rows - 1 + right, all - 1) / rows;
    blocks = std::max(blocks, to - from + 1);
  }
  add("keys and values go round", (p - 1) * rows * keyBytes,
      work * rows * rows * blocks);
  unsigned result = op->getNumOperands() - op.getInits().size();
  int64_t moved = rows * (keyBytes + getRowBytes(op, 0, op.getQueryDim()) +
                          getRowBytes(op, result, op.getQueryDim()));
  add("heads shared out", moved / p * (p - 1),
      work / heads * llvm::divideCeil(heads, p) *
          countPairs(0, all, all, left, right));
  if (heads < p)
    use.ways.back().problem = std::to_string(p) + " ranks for keys of " +
                              std::to_string(heads) + " heads";
  return use;
}
