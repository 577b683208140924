//===- StepTime.cpp - How long ops and regions take -----------------------===//

#include "passes/cost/StepTime.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::dist;

void StepTimes::Cost::add(const Cost &other, double times) {
  time.add(other.time, times);
  for (auto &[axes, seconds] : other.byAxes)
    byAxes[axes] += times * seconds;
}

bool mlir::dist::isTransfer(Operation *op) {
  return getCommAxes(op) != nullptr;
}

StepTimes::Cost StepTimes::getOwnCost(Operation *op) {
  Cost cost;
  if (isTransfer(op)) {
    auto collective = cast<CollectiveOpInterface>(op);
    cost.time.communication = model.getSeconds(collective);
    cost.byAxes[collective.getAxes()] = cost.time.communication;
    return cost;
  }
  Work work = getWork(op);
  if (work.type && !model.knows(work.type))
    unknownTypes.insert(work.type);
  (work.flops > 0 ? cost.time.products : cost.time.memory) =
      model.getComputeSeconds(work);
  if (work.isKernel)
    cost.time.starts = model.getOpSeconds();
  return cost;
}

StepTimes::Cost StepTimes::getCost(Operation *op) {
  Cost cost = getOwnCost(op);
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        name ? symbols.lookup(name.getLeafReference()) : nullptr);
    if (!callee || callee.isExternal())
      return cost;
    auto found = functions.find(callee);
    if (found == functions.end()) {
      // Before the body, so that a function that calls itself ends.
      functions[callee] = Cost();
      Cost body = getCost(callee.getFunctionBody());
      found = functions.insert_or_assign(callee, body).first;
    }
    cost.add(found->second, 1);
    return cost;
  }
  if (isa<linalg::LinalgOp>(op)) // whose body computes scalars
    return cost;
  double times = 1;
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    std::optional<llvm::APInt> known = loop.getStaticTripCount();
    hasUnknownLoop |= !known;
    times = known ? known->getSExtValue() : 1;
  }
  // For branches, the longest; regions of a loop all run.
  bool isBranch = isa<scf::IfOp, scf::IndexSwitchOp>(op);
  Cost longest;
  for (Region &region : op->getRegions()) {
    Cost inner = getCost(region);
    if (!isBranch)
      cost.add(inner, times);
    else if (inner.time.getTotal() > longest.time.getTotal())
      longest = inner;
  }
  cost.add(longest, 1);
  return cost;
}

StepTimes::Cost StepTimes::getCost(Region &region, std::vector<Event> *events) {
  struct Flight {
    double done;
    Attribute axes;
  };
  Cost sum;
  double now = 0, busyUntil = 0, hidden = 0;
  llvm::StringMap<double> linkFree;
  llvm::DenseMap<Operation *, SmallVector<Flight, 1>> landings;
  auto wait = [&](const Flight &flight) {
    if (flight.done <= now)
      return;
    double exposed = flight.done - now;
    sum.time.communication += exposed;
    hidden -= exposed;
    sum.byAxes[flight.axes] += exposed;
    now = flight.done;
  };
  auto note = [&](Operation &op, double start, double seconds) {
    if (events && seconds > 0)
      events->push_back({&op, start, seconds});
  };
  for (Operation &op : region.getOps()) {
    if (auto landing = landings.find(&op); landing != landings.end()) {
      llvm::for_each(landing->second, wait);
      landings.erase(landing);
    }
    Cost cost = getCost(&op);
    double seconds = cost.time.getTotal();
    if (!isTransfer(&op)) {
      cost.time.slowed +=
          std::clamp(busyUntil - now, 0.0, seconds) * model.getSlowdown();
      note(op, now, cost.time.getTotal());
      now += cost.time.getTotal();
      sum.add(cost, 1);
      continue;
    }
    Attribute axes = cast<CollectiveOpInterface>(op).getAxes();
    double begin = now;
    SmallVector<AxisRefAttr> links = getAxisRefs(getCommAxes(&op));
    for (AxisRefAttr axis : links)
      begin = std::max(begin, linkFree[axis.getName()]);
    double end = begin + seconds;
    for (AxisRefAttr axis : links)
      linkFree[axis.getName()] = end;
    busyUntil = std::max(busyUntil, end);
    note(op, begin, seconds);
    hidden += seconds;
    Operation *user = nullptr;
    if (getStream(&op) != 0)
      user = findFirstUser(op.getResult(0));
    if (!user) {
      wait({end, axes});
      continue;
    }
    sum.time.starts += model.getStartSeconds();
    now += model.getStartSeconds();
    landings[user].push_back({end, axes});
  }
  // Differences of late times are rounded, by less than this share of them:
  // smaller differences do not count as hidden.
  constexpr double kRounding = 1e-9;
  if (hidden > kRounding * now)
    sum.time.hidden += hidden;
  return sum;
}
