//===- EndPlaces.cpp - The stage of each op behind a loop -----------------===//

#include "passes/pipeline/EndPlaces.h"
#include "dialects/dist/Utils/Reads.h"

using namespace mlir;
using namespace mlir::dist;

static Stages intersect(const Stages &a, const Stages &b) {
  Stages both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::inserter(both, both.end()));
  return both;
}

static bool includes(const Stages &a, const Stages &b) {
  return std::includes(a.begin(), a.end(), b.begin(), b.end());
}

/// The argument that a result of the function is the new value of.
static std::optional<unsigned> getUpdated(func::FuncOp function,
                                          unsigned result) {
  auto number = function.getResultAttrOfType<IntegerAttr>(result, kUpdatesAttr);
  return number ? std::optional<unsigned>(number.getInt()) : std::nullopt;
}

EndPlaces::Natural EndPlaces::getNatural(Value value) const {
  Operation *op = value.getDefiningOp();
  if (op == loop)
    return {{body.getHome(cast<OpResult>(value).getResultNumber())}};
  if (auto found = naturals.find(op); found != naturals.end())
    return found->second;
  Natural natural;
  ArrayRef<unsigned> read = outer.getParameters(value);
  if (!read.empty())
    natural.stages = holders[read.front()];
  for (unsigned argument : read)
    natural.stages = intersect(natural.stages, holders[argument]);
  return natural;
}

EndPlaces::Natural EndPlaces::findNatural(Operation *op) const {
  Natural natural;
  Stages any;
  bool isFirst = true;
  visitReads(op, [&](OpOperand &read) {
    if (op->isProperAncestor(read.get().getParentBlock()->getParentOp()))
      return;
    Natural of = getNatural(read.get());
    if (of.stages.empty())
      return;
    any.insert(of.stages.begin(), of.stages.end());
    // Of a mixed value any of its stages may be chosen.
    natural.stages = isFirst ? of.stages : intersect(natural.stages, of.stages);
    isFirst = false;
  });
  if (!isFirst && natural.stages.empty())
    return {any, /*isMixed=*/true};
  return natural;
}

static int64_t getBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += getTensorBytes(type);
  return bytes;
}

/// Where an op is done whose result the stages `wanted` read.
Stages EndPlaces::choose(Operation *op, const Stages &wanted) const {
  const Natural &natural = naturals.find(op)->second;
  if (isLight(op) || natural.stages.empty() ||
      (!natural.isMixed && includes(natural.stages, wanted)))
    return wanted;
  if (!natural.isMixed) {
    Stages both = intersect(natural.stages, wanted);
    return both.empty() ? Stages{*natural.stages.begin()} : both;
  }
  // By each that wants it, or by one of those that have an operand: whatever
  // sends less.
  // Of a mixed operand one stage is taken to have it.
  auto has = [](const Natural &of, int64_t stage) {
    return of.isMixed ? stage == *of.stages.begin()
                      : of.stages.count(stage) > 0;
  };
  auto count = [&](const Stages &by) {
    int64_t bytes = 0;
    visitReads(op, [&](OpOperand &read) {
      Natural of = getNatural(read.get());
      for (int64_t stage : by)
        if (!of.stages.empty() && !has(of, stage))
          bytes += getTensorBytes(read.get().getType());
    });
    int64_t missing =
        llvm::count_if(wanted, [&](int64_t stage) { return !by.count(stage); });
    return bytes + missing * getBytes(op->getResultTypes());
  };
  Stages best = wanted;
  int64_t least = count(wanted);
  for (int64_t stage : natural.stages)
    if (int64_t bytes = count({stage}); bytes < least) {
      least = bytes;
      best = {stage};
    }
  return best;
}

/// Returns whether a parameter has got a holder, so that all begins anew.
bool EndPlaces::placeOnce() {
  naturals.clear();
  chosen.clear();
  for (Operation *op : ops)
    naturals[op] = findNatural(op);
  llvm::DenseMap<Operation *, Stages> wanted;
  Operation *end = block.getTerminator();
  auto want = [&](Value value, const Stages &stages) {
    if (Operation *op = value.getDefiningOp())
      wanted[op].insert(stages.begin(), stages.end());
  };
  auto first = [&](Value value) -> int64_t {
    Stages stages = getNatural(value).stages;
    return stages.empty() ? 0 : *stages.begin();
  };
  for (auto [number, value] : llvm::enumerate(end->getOperands())) {
    std::optional<unsigned> updated = getUpdated(function, number);
    if (!updated)
      want(value, {first(value)});
    else if (!holders[*updated].empty())
      want(value, holders[*updated]);
  }
  for (Operation *op : llvm::reverse(ops)) {
    Stages &stages = wanted[op];
    // What an optimizer keeps is where the parameter is, which is wanted
    // already, unless nothing has read that.
    bool isResult = llvm::is_contained(op->getUsers(), end);
    if (stages.empty() && (isResult || !isMemoryEffectFree(op)))
      stages.insert(naturals[op].stages.empty() ? 0
                                                : *naturals[op].stages.begin());
    if (stages.empty())
      continue;
    Stages own = chosen[op] = choose(op, stages);
    visitReads(op, [&](OpOperand &read) { want(read.get(), own); });
  }
  bool isNew = false;
  auto hold = [&](unsigned argument, const Stages &stages) {
    for (int64_t stage : stages)
      isNew |= holders[argument].insert(stage).second;
  };
  for (Operation *op : ops)
    visitReads(op, [&](OpOperand &read) {
      for (unsigned argument : outer.getParameters(read.get()))
        hold(argument, chosen[op]);
    });
  for (auto [number, value] : llvm::enumerate(end->getOperands())) {
    std::optional<unsigned> updated = getUpdated(function, number);
    if (updated && holders[*updated].empty())
      hold(*updated, {first(value)});
    // A result that parameters alone give.
    if (!updated)
      for (unsigned argument : outer.getParameters(value))
        hold(argument, getResultStages(number));
  }
  return isNew;
}

Stages EndPlaces::getHomes(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto found = chosen.find(op); found != chosen.end())
    return found->second;
  return getNatural(value).stages;
}

Stages EndPlaces::getResultStages(unsigned result) const {
  if (std::optional<unsigned> updated = getUpdated(function, result))
    return holders[*updated];
  Stages homes = getHomes(block.getTerminator()->getOperand(result));
  return {homes.empty() ? 0 : *homes.begin()};
}

/// What comes from another stage is read in the part after the one that makes
/// it.
void EndPlaces::number() {
  for (Operation *op : ops)
    for (int64_t stage : chosen[op]) {
      int64_t part = 0;
      visitReads(op, [&](OpOperand &read) {
        Operation *def = read.get().getDefiningOp();
        if (def == loop) {
          part = std::max<int64_t>(
              part, body.getHome(
                        cast<OpResult>(read.get()).getResultNumber()) != stage);
          return;
        }
        const std::map<int64_t, int64_t> &of = getParts(def);
        if (of.empty())
          return;
        auto own = of.find(stage);
        part = std::max(part,
                        own != of.end() ? own->second : of.begin()->second + 1);
      });
      parts[op][stage] = part;
    }
}

void EndPlaces::place() {
  for (Operation *op = loop->getNextNode(); op->getNextNode();
       op = op->getNextNode())
    ops.push_back(op);
  while (placeOnce()) {
  }
  number();
}
