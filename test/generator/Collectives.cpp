//===- Collectives.cpp - What devices do together -------------------------===//
//
// As the ops' descriptions say, each device's result from its group's operands.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "test/generator/Halos.h"
#include "test/generator/Interpreter.h"
#include "test/generator/Rows.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// Elements [start, start + size) along `dim`.
static Tensor sliceOf(const Tensor &tensor, int64_t dim, int64_t start,
                      int64_t size) {
  SmallVector<int64_t> shape(tensor.getShape());
  int64_t extent = shape[dim];
  shape[dim] = size;
  Tensor out(tensor.getElementType(), shape);
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < tensor.getRank(); ++d)
    if (d != dim)
      (d < dim ? outer : inner) *= shape[d];
  Scalar *to = out.write();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < size * inner; ++i)
      *to++ = tensor.read()[(o * extent + start) * inner + i];
  return out;
}

static Tensor joinOf(ArrayRef<Tensor> parts, int64_t dim) {
  SmallVector<int64_t> shape(parts[0].getShape());
  shape[dim] = 0;
  for (const Tensor &part : parts)
    shape[dim] += part.getShape()[dim];
  Tensor out(parts[0].getElementType(), shape);
  int64_t outer = 1;
  for (int64_t d = 0; d < dim; ++d)
    outer *= shape[d];
  Scalar *to = out.write();
  for (int64_t o = 0; o < outer; ++o)
    for (const Tensor &part : parts) {
      int64_t chunk = part.getNumElements() / std::max<int64_t>(outer, 1);
      for (int64_t i = 0; i < chunk; ++i)
        *to++ = part.read()[o * chunk + i];
    }
  return out;
}

static Scalar combine(ReductionKind kind, Type type, Scalar x, Scalar y) {
  Scalar out;
  if (isa<FloatType>(type)) {
    bool isNaN = std::isnan(x.f) || std::isnan(y.f);
    switch (kind) {
    case ReductionKind::Sum:
      out.f = roundTo(type, x.f + y.f);
      return out;
    case ReductionKind::Prod:
      out.f = roundTo(type, x.f * y.f);
      return out;
    case ReductionKind::Max:
      out.f = isNaN ? std::nan("") : std::max(x.f, y.f);
      return out;
    case ReductionKind::Min:
      out.f = isNaN ? std::nan("") : std::min(x.f, y.f);
      return out;
    default:
      llvm_unreachable("the verifier wants integers");
    }
  }
  unsigned width = getWidth(type);
  switch (kind) {
  case ReductionKind::Sum:
    out.i = wrapTo(width, uint64_t(x.i) + uint64_t(y.i));
    break;
  case ReductionKind::Prod:
    out.i = wrapTo(width, uint64_t(x.i) * uint64_t(y.i));
    break;
  case ReductionKind::Max:
    out.i = std::max(x.i, y.i);
    break;
  case ReductionKind::Min:
    out.i = std::min(x.i, y.i);
    break;
  case ReductionKind::And:
    out.i = x.i & y.i;
    break;
  case ReductionKind::Or:
    out.i = x.i | y.i;
    break;
  }
  return out;
}

static Tensor reduceOf(ArrayRef<Tensor> parts, ReductionKind kind) {
  Tensor out = parts[0];
  Scalar *to = out.write();
  for (const Tensor &part : parts.drop_front())
    for (int64_t i = 0, e = out.getNumElements(); i < e; ++i)
      to[i] = combine(kind, out.getElementType(), to[i], part.read()[i]);
  return out;
}

/// The device that a permuted one gets its block from.
static int64_t getSender(const Devices &devices, int64_t receiver,
                         ArrayRef<AxisRefAttr> from, ArrayRef<AxisRefAttr> to) {
  SmallVector<AxisRefAttr> left, came;
  for (AxisRefAttr axis : from)
    if (!llvm::is_contained(to, axis))
      left.push_back(axis);
  for (AxisRefAttr axis : to)
    if (!llvm::is_contained(from, axis))
      came.push_back(axis);
  int64_t block = devices.getPosition(receiver, to);
  int64_t rest = devices.getPosition(receiver, left);
  return devices.moveTo(devices.moveTo(receiver, came, rest), from, block);
}

LogicalResult Interpreter::runCollective(Operation *op, bool &isKnown) {
  isKnown = true;
  // Levels 1 and 2 mean the same with their annotations erased.
  if (isa<ShardingConstraintOp, FollowOp, OptimizationBarrierOp, ReshardOp,
          ManualReshardOp, SyncOp>(op)) {
    PerDevice held = all(op->getOperand(0)); // a copy: the map may grow
    (*values)[op->getResult(0)] = std::move(held);
    return success();
  }
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    SmallVector<AxisRefAttr> axes = getAxisRefs(index.getAxes());
    return onEach(op, [&](std::vector<PerDevice> &results) {
      results[0].push_back(indexTensor(devices.getPosition(device, axes)));
      return success();
    });
  }
  if (auto constant = dyn_cast<LocalConstantOp>(op)) {
    auto whole = Tensor::fromAttr(constant.getValue());
    if (!whole)
      return fail(op, "is a constant of an unknown kind");
    return onEach(op, [&](std::vector<PerDevice> &results) {
      results[0].push_back(
          devices.cut(*whole, constant.getSharding(), device, garbage));
      return success();
    });
  }
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective) {
    isKnown = false;
    return success();
  }
  SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
  const PerDevice held = all(op->getOperand(0));
  for (const Tensor &tensor : held)
    if (tensor.getShape() != held[0].getShape())
      return fail(op, "gets tensors of different shapes");

  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    int64_t position = devices.getPosition(device, axes);
    SmallVector<Tensor> group;
    for (int64_t member : devices.getGroup(device, axes))
      group.push_back(held[member]);
    int64_t p = group.size();
    const Tensor &own = held[device];
    // The device's block along a dimension that is cut into p.
    auto blockOf = [&](const Tensor &tensor, int64_t dim, int64_t which) {
      int64_t size = tensor.getShape()[dim] / p;
      return sliceOf(tensor, dim, which * size, size);
    };
    Tensor out;
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      out = reduceOf(group, reduce.getReduction());
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      out = joinOf(group, gather.getDim());
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      out = blockOf(reduceOf(group, scatter.getReduction()), scatter.getDim(),
                    position);
    } else if (auto slice = dyn_cast<AllSliceOp>(op)) {
      out = blockOf(own, slice.getDim(), position);
    } else if (auto exchange = dyn_cast<AllToAllOp>(op)) {
      SmallVector<Tensor> blocks;
      for (const Tensor &other : group)
        blocks.push_back(blockOf(other, exchange.getSplitDim(), position));
      out = joinOf(blocks, exchange.getConcatDim());
    } else if (auto permute = dyn_cast<CollectivePermuteOp>(op)) {
      out = permute.getReversed()
                ? group[p - 1 - position]
                : held[getSender(devices, device, axes,
                                 getAxisRefs(permute.getToAxes()))];
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      out = group[broadcast.getRoot()];
    } else if (auto halo = dyn_cast<HaloExchangeOp>(op)) {
      out = exchangeHalo(halo, devices, device, held, garbage);
    } else if (auto halo = dyn_cast<HaloReduceOp>(op)) {
      out = reduceHalo(halo, devices, device, held);
    } else if (isa<GatherRowsOp, ReduceRowsOp>(op)) {
      PerDevice indices = all(op->getOperand(1));
      auto gather = dyn_cast<GatherRowsOp>(op);
      std::optional<Tensor> rows =
          gather ? gatherRows(gather, devices, device, held, indices)
                 : reduceRows(cast<ReduceRowsOp>(op), devices, device, held,
                              indices);
      if (!rows)
        return fail(op, "has an index that names no row");
      out = std::move(*rows);
    } else if (auto pass = dyn_cast<SendRecvOp>(op)) {
      int64_t sender = position - pass.getShift();
      if (pass.getPeriodic())
        sender = (sender + p) % p;
      out = sender >= 0 && sender < p
                ? group[sender]
                : Tensor(own.getElementType(), own.getShape());
    } else {
      return fail(op, "is a collective that the interpreter lacks");
    }
    results[0].push_back(std::move(out));
    return success();
  });
}
