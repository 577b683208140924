//===- HaloChains.cpp - Exchanges that follow each other ------------------===//

#include "passes/halos/HaloChains.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/bounds/Bounds.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

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
  if (op->hasAttr(kFixedRowsAttr))
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

/// Walks from an exchange's operand to the exchanges before it.
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
    if (seen.size() > kMostChainOps)
      return refuse("there are too many ops in between");
    // The exchanged value is in blocks side by side.
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
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op); expand && !operands)
      merged.insert(expand);
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
  for (auto &[leader, chain] : byLeader) {
    levels.emplace_back();
    for (unsigned number : chain) {
      ChainedHalo &halo = halos[number];
      halo.chain = chains.size();
      if (levels.back().size() < halo.level)
        levels.back().resize(halo.level);
      levels.back()[halo.level - 1].push_back(number);
    }
    chains.push_back(std::move(chain));
  }
}

std::optional<unsigned> HaloChains::findExchange(Rows rows) const {
  auto found = byResult.find(rows.first);
  if (found == byResult.end())
    return std::nullopt;
  HaloExchangeOp op = halos[found->second].op;
  return static_cast<int64_t>(op.getDim()) == rows.second
             ? std::optional<unsigned>(found->second)
             : std::nullopt;
}

ArrayRef<unsigned> HaloChains::getExchangesOf(Rows rows) const {
  auto found = bySource.find(rows);
  return found == bySource.end() ? ArrayRef<unsigned>()
                                 : ArrayRef<unsigned>(found->second);
}

const RowOperands *HaloChains::findRule(Rows rows) const {
  auto found = rules.find(rows);
  return found == rules.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// What it costs
//===----------------------------------------------------------------------===//

int64_t HaloChains::getBytesSent(unsigned number,
                                 std::optional<Widths> widths) {
  ChainedHalo &halo = halos[number];
  Widths asked = widths.value_or(halo.getWidths());
  int64_t count = getRowCount(halo.getSource());
  return getTensorBytes(halo.op.getOperand().getType()) / count *
         getHaloRowsSent(count, devices, asked.low, asked.high);
}

/// The time of the exchange if it were as wide.
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

/// The time of writing the boundary: one more kernel, unless a loop nest
/// computes the rows, which can include it.
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

double HaloChains::getSeconds(unsigned number, std::optional<Widths> widths) {
  ChainedHalo &halo = halos[number];
  if (widths && !(*widths == halo.getWidths()))
    return getHaloSeconds(halo.op, *widths);
  auto [known, isNew] = secondsApart.try_emplace(number);
  if (isNew)
    known->second = getHaloSeconds(halo.op, halo.getWidths());
  return known->second;
}

double HaloChains::getSecondsMore(unsigned number, Widths widths) {
  return times ? getSeconds(number, widths) - getSeconds(number) : 0;
}

/// The cost that remains of a joined exchange: slices, masks and copies.
static constexpr int kJoinedOps = 4;
/// A library may need more than a proportional time for a few more rows,
/// because of blocks that are not full. For convnext by rows (0.1 ms a step, 5
/// us and 1 GB/s), the proportional estimate was a gain of 2 us, and it lost 8.
static constexpr double kDoubt = 2;

double HaloChains::getJoinedSeconds(unsigned number, Widths wider) {
  if (!times)
    return 0;
  ChainedHalo &halo = halos[number];
  return getMaskSeconds(halo, getRowCount(halo.getResult()) + wider.getSum()) +
         kJoinedOps * times->getModel().getOpSeconds() - getSeconds(number);
}

double HaloChains::getSecondsOfRow(Rows rows) {
  auto [known, isNew] = secondsOfRow.try_emplace(rows);
  if (!isNew)
    return known->second;
  Operation *op = rows.first.getDefiningOp();
  SimulatedTime time = times->getCost(op).time;
  auto exchange = dyn_cast<HaloExchangeOp>(op);
  double seconds = exchange
                       ? time.getTotal() - getHaloSeconds(exchange, Widths())
                       : time.products + time.memory;
  if (!exchange)
    seconds *= kDoubt;
  return known->second = seconds / std::max<int64_t>(getRowCount(rows), 1);
}

double HaloChains::getComputeSeconds(Rows rows, Widths widths) {
  return times ? widths.getSum() * getSecondsOfRow(rows) : 0;
}
