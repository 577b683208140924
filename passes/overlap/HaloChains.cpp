//===- HaloChains.cpp - Exchanges that follow each other ------------------===//

#include "passes/overlap/HaloChains.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/IR/Streams.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <queue>

using namespace mlir;
using namespace mlir::dist;

/// Ops between two exchanges; a layer has about ten.
static constexpr unsigned kMostOps = 512;

HaloChains::HaloChains(Block &block, const DeviceLine &line, StepTimes *times)
    : block(block), times(times), devices(line.getDevices()) {
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  find(line);
  for (unsigned number = 0; number < halos.size(); ++number)
    trace(number, line);
  sortIntoChains();
}

/// Why an exchange can bring no more rows than it does, or "".
static std::string whyFixed(HaloExchangeOp op, const DeviceLine &line) {
  if (op->hasAttr(kCauseAttr))
    return "a dist.sync says how many rows are exchanged here";
  if (getStream(op) != 0)
    return "it is on a stream already";
  if (!op.getOperand().getType().hasStaticShape())
    return "sizes are not known";
  if (op.getBoundaryKind() == BoundaryKind::Periodic)
    return "the dimension is a ring";
  if (getRowCount({op.getOperand(), op.getDim()}) == 0)
    return "blocks have no rows";
  if (!op.getOperand().getType().getElementType().isIntOrFloat())
    return "its elements are no numbers";
  if (op.getSize() && !line.isEquallySpaced(*op.getSize()))
    return "blocks within blocks are uneven";
  return "";
}

void HaloChains::find(const DeviceLine &line) {
  for (auto exchange : block.getOps<HaloExchangeOp>()) {
    if (exchange.getAxes() != line.getAxes())
      continue;
    ChainedHalo halo{exchange, positions[exchange]};
    halo.why = whyFixed(exchange, line);
    if (!halo.why.empty())
      halo.level = 0;
    else
      bySource[halo.getSource()].push_back(halos.size());
    byResult[exchange.getResult()] = halos.size();
    halos.push_back(std::move(halo));
  }
}

/// Walks from what an exchange sends to the exchanges before it.
void HaloChains::trace(unsigned number, const DeviceLine &line) {
  ChainedHalo &halo = halos[number];
  if (halo.level == 0)
    return;
  SmallVector<unsigned, 2> parents;
  SmallVector<Rows> todo;
  llvm::SmallDenseSet<Rows> seen;
  auto refuse = [&](const Twine &why) { halo.why = why.str(); };
  auto visit = [&](Rows rows, int64_t step) {
    auto [known, isNew] = steps.try_emplace(rows, step);
    if (seen.insert(rows).second)
      todo.push_back(rows);
    return known->second == step;
  };
  auto isParent = [&](unsigned other) {
    return other != number && halos[other].level != 0 &&
           halos[other].position < halo.position;
  };
  auto addParent = [&](unsigned other) {
    if (!llvm::is_contained(parents, other))
      parents.push_back(other);
  };
  if (!visit(halo.getSource(), getRowCount(halo.getSource())))
    return refuse("rows move on in two ways");
  while (!todo.empty()) {
    Rows rows = todo.pop_back_val();
    int64_t step = steps[rows];
    if (seen.size() > kMostOps)
      return refuse("there are too many ops in between");
    // What is exchanged lies in blocks side by side.
    auto exchanged = bySource.find(rows);
    if (exchanged != bySource.end() && rows != halo.getSource()) {
      if (step != getRowCount(rows))
        return refuse("blocks of what it is made of drift apart");
      auto parent = llvm::find_if(exchanged->second, isParent);
      if (parent != exchanged->second.end()) {
        addParent(*parent);
        continue;
      }
    }
    Operation *op = rows.first.getDefiningOp();
    if (!op || op->getBlock() != &block)
      return refuse("its rows are made of what comes from elsewhere and is not "
                    "exchanged");
    auto brought = byResult.find(rows.first);
    if (brought != byResult.end() && halos[brought->second].op.getDim() ==
                                         static_cast<uint64_t>(rows.second)) {
      ChainedHalo &before = halos[brought->second];
      if (before.level == 0)
        return refuse("of the one before, " + before.why);
      if (step != getRowCount(before.getSource()))
        return refuse("blocks of what it is made of drift apart");
      addParent(brought->second);
      continue;
    }
    std::string why;
    std::optional<RowOperands> operands =
        getRowOperands(op, rows.second, step, line, why);
    if (!operands)
      return refuse(op->getName().getStringRef() + " " + why);
    for (const RowOperand &operand : *operands) {
      if (step * operand.stride % operand.parts != 0)
        return refuse("blocks do not begin at rows of what it is made of");
      if (!visit({op->getOperand(operand.number), operand.dim},
                 step * operand.stride / operand.parts - operand.moves))
        return refuse("rows move on in two ways");
    }
    rules.try_emplace(rows, std::move(*operands));
  }
  if (parents.empty())
    return;
  halo.parents = std::move(parents);
  for (unsigned parent : halo.parents)
    halo.level = std::max(halo.level, halos[parent].level + 1);
}

void HaloChains::sortIntoChains() {
  llvm::EquivalenceClasses<unsigned> together;
  for (auto [number, halo] : llvm::enumerate(halos))
    for (unsigned parent : halo.parents)
      together.unionSets(number, parent);
  llvm::MapVector<unsigned, SmallVector<unsigned>> byLeader;
  for (auto [number, halo] : llvm::enumerate(halos))
    if (together.findLeader(number) != together.member_end())
      byLeader[together.getLeaderValue(number)].push_back(number);
  for (auto &[leader, chain] : byLeader)
    chains.push_back(std::move(chain));
}

unsigned HaloChains::countLevels(ArrayRef<unsigned> chain) const {
  unsigned most = 0;
  for (unsigned number : chain)
    most = std::max(most, halos[number].level);
  return most;
}

std::optional<JoinedHalos> HaloChains::join(ArrayRef<unsigned> chain,
                                            unsigned first, unsigned last) {
  JoinedHalos out;
  for (unsigned number : chain)
    if (halos[number].level == first) {
      out.heads.push_back(number);
    } else if (halos[number].level > first && halos[number].level <= last) {
      out.joined.push_back(number);
    }

  // From the last ops to the first, so that all that reads rows has said how
  // many when it is asked what these are made of.
  struct Wanted {
    Widths widths;
    int64_t firstRead;
  };
  llvm::DenseMap<Rows, Wanted> wanted;
  using Item = std::pair<int64_t, Rows>;
  auto isBefore = [](const Item &a, const Item &b) {
    return a.first < b.first;
  };
  std::priority_queue<Item, std::vector<Item>, decltype(isBefore)> todo(
      isBefore);
  auto want = [&](Rows rows, Widths widths, int64_t reader) {
    auto [entry, isNew] = wanted.try_emplace(rows, Wanted{widths, reader});
    entry->second.widths.cover(widths);
    entry->second.firstRead = std::min(entry->second.firstRead, reader);
    Operation *op = rows.first.getDefiningOp();
    if (isNew)
      todo.push({op && op->getBlock() == &block ? positions[op] : -1, rows});
  };
  for (unsigned number : out.joined)
    want(halos[number].getResult(), {}, halos[number].position);
  auto bring = [&](unsigned head, Widths widths) {
    out.brought.try_emplace(head, halos[head].getWidths())
        .first->second.cover(widths);
  };
  auto isHead = [&](unsigned number) {
    return llvm::is_contained(out.heads, number);
  };
  while (!todo.empty()) {
    auto [position, rows] = todo.top();
    todo.pop();
    Wanted need = wanted[rows];
    auto brought = byResult.find(rows.first);
    if (brought != byResult.end() &&
        static_cast<int64_t>(halos[brought->second].op.getDim()) ==
            rows.second) {
      unsigned number = brought->second;
      Widths own = halos[number].getWidths();
      Widths all{own.low + need.widths.low, own.high + need.widths.high};
      if (isHead(number)) {
        bring(number, all);
      } else if (llvm::is_contained(out.joined, number)) {
        out.wider[number] = need.widths;
        out.rowsTwice += all.getSum();
        want(halos[number].getSource(), all, halos[number].position);
      } else {
        return std::nullopt;
      }
      continue;
    }
    if (need.widths.getSum() == 0)
      continue;
    if (auto same = bySource.find(rows); same != bySource.end()) {
      auto head = llvm::find_if(same->second, isHead);
      if (head != same->second.end()) {
        bring(*head, need.widths);
        auto [read, isNew] = out.firstReads.try_emplace(*head, need.firstRead);
        read->second = std::min(read->second, need.firstRead);
        continue;
      }
      auto other = llvm::find_if(same->second, [&](unsigned number) {
        return !llvm::is_contained(out.joined, number) &&
               halos[number].position < need.firstRead &&
               need.widths.isWithin(halos[number].getWidths());
      });
      if (other != same->second.end()) {
        out.taken[rows] = *other;
        continue;
      }
    }
    auto rule = rules.find(rows);
    if (rule == rules.end())
      return std::nullopt;
    // What is made of no rows is written where it is read.
    if (rule->second.empty())
      continue;
    out.computed[rows] = need.widths;
    for (const RowOperand &operand : rule->second)
      want({ops[position]->getOperand(operand.number), operand.dim},
           operand.getWidths(ops[position], rows.second, need.widths),
           position);
  }
  // Neighbours' neighbours are asked for nothing.
  for (auto &[number, widths] : out.brought) {
    int64_t block = getRowCount(halos[number].getSource());
    if (!(widths == halos[number].getWidths()) &&
        std::max(widths.low, widths.high) > block)
      return std::nullopt;
  }
  estimate(out);
  return out;
}

//===----------------------------------------------------------------------===//
// What it costs
//===----------------------------------------------------------------------===//

static int64_t getBytesSent(HaloExchangeOp op, int64_t devices, Widths widths) {
  Rows rows{op.getOperand(), op.getDim()};
  int64_t count = getRowCount(rows);
  return getTensorBytes(cast<RankedTensorType>(rows.first.getType())) / count *
         getHaloRowsSent(count, devices, widths.low, widths.high);
}

/// Of the exchange if it were as wide.
double HaloChains::getHaloSeconds(HaloExchangeOp op, Widths widths) {
  OpBuilder b(op);
  RankedTensorType type = op.getOperand().getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[op.getDim()] += widths.getSum();
  auto other = HaloExchangeOp::create(
      b, op.getLoc(), type.clone(shape), op.getOperand(), op.getDimAttr(),
      op.getSizeAttr(), b.getI64IntegerAttr(widths.low),
      b.getI64IntegerAttr(widths.high), op.getBoundaryAttr(), op.getAxesAttr(),
      op.getMeshAttr(), op.getCauseAttr());
  double seconds = times->getCost(other).time.getTotal();
  other.erase();
  return seconds;
}

/// Of writing what the boundary says: a kernel more, but where what makes the
/// rows is a loop nest over them, into which it goes.
double HaloChains::getMaskSeconds(ChainedHalo &halo, int64_t rows) {
  if (halo.op.getBoundaryKind() == BoundaryKind::None)
    return 0;
  auto maker = halo.op.getOperand().getDefiningOp<linalg::LinalgOp>();
  if (maker && maker.getNumReductionLoops() == 0)
    return 0;
  RankedTensorType type = halo.op.getOperand().getType();
  Work work;
  work.bytes =
      2.0 * getTensorBytes(type) * rows / getRowCount(halo.getSource());
  const CostModel &model = times->getModel();
  return model.getComputeSeconds(work) + model.getOpSeconds();
}

void HaloChains::estimate(JoinedHalos &joined) {
  for (auto &[number, widths] : joined.brought) {
    HaloExchangeOp op = halos[number].op;
    Widths own = halos[number].getWidths();
    joined.bytes +=
        getBytesSent(op, devices, widths) - getBytesSent(op, devices, own);
    if (times && !(widths == own))
      joined.seconds += getHaloSeconds(op, widths) - getHaloSeconds(op, own);
  }
  for (unsigned number : joined.joined) {
    ChainedHalo &halo = halos[number];
    Widths own = halo.getWidths();
    joined.bytes -= getBytesSent(halo.op, devices, own);
    if (!times)
      continue;
    joined.seconds -= getHaloSeconds(halo.op, own);
    joined.seconds +=
        getMaskSeconds(halo, getRowCount(halo.getResult()) +
                                 joined.wider.lookup(number).getSum());
  }
  if (!times)
    return;
  for (auto &[rows, widths] : joined.computed) {
    Operation *op = rows.first.getDefiningOp();
    double share = static_cast<double>(widths.getSum()) /
                   std::max<int64_t>(getRowCount(rows), 1);
    if (auto exchange = dyn_cast<HaloExchangeOp>(op))
      joined.seconds += share * (times->getCost(op).time.getTotal() -
                                 getHaloSeconds(exchange, Widths()));
    else if (SimulatedTime time = times->getCost(op).time; true)
      joined.seconds += share * (time.products + time.memory);
  }
}
