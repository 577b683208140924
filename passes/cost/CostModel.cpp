//===- CostModel.cpp - Roofline and alpha-beta ----------------------------===//

#include "passes/cost/CostModel.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Support/DebugStringHelper.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

CostModel::CostModel(const Machine &machine, ArrayRef<MeshAxisAttr> axes)
    : machine(machine), axes(axes) {
  for (MeshAxisAttr axis : axes)
    devices *= axis.getSize();
}

bool CostModel::knows(Type type) const {
  return machine.flopsPerSecond.count(debugString(type));
}

double CostModel::getComputeSeconds(const Work &work) const {
  // Data that kernels before it left in caches, and the rest.
  double cached = std::min<double>(work.bytes, machine.cacheBytes);
  double moved = std::max(cached / machine.cacheBytesPerSecond +
                              (work.bytes - cached) / machine.bytesPerSecond,
                          work.scalarOps / machine.scalarOpsPerSecond);
  if (work.flops == 0)
    return moved;
  auto found = machine.flopsPerSecond.find(debugString(work.type));
  double rate = 0;
  if (found != machine.flopsPerSecond.end()) {
    rate = found->second;
  } else {
    rate = machine.flopsPerSecond.begin()->second;
    for (const auto &[name, other] : machine.flopsPerSecond)
      rate = std::min(rate, other);
  }
  return std::max(work.flops / rate, moved);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
/// One of the axes of a group: `size` devices that are `stride` apart.
struct Stride {
  int64_t size, stride;
};
} // namespace

static SmallVector<Stride> getStrides(ArrayRef<AxisRefAttr> refs,
                                      ArrayRef<MeshAxisAttr> axes) {
  SmallVector<Stride> strides;
  for (AxisRefAttr ref : refs) {
    int64_t stride = 1;
    for (MeshAxisAttr axis : llvm::reverse(axes)) {
      if (axis.getName() != ref.getName()) {
        stride *= axis.getSize();
        continue;
      }
      int64_t size = axis.getSize();
      if (ref.isSubAxis()) {
        stride *= size / (ref.getPre() * ref.getSize());
        size = ref.getSize();
      }
      strides.push_back({size, stride});
      break;
    }
  }
  return strides;
}

const std::vector<double> &
CostModel::getSpans(ArrayRef<AxisRefAttr> refs) const {
  std::vector<const void *> key;
  for (AxisRefAttr ref : refs)
    key.push_back(ref.getAsOpaquePointer());
  auto [entry, isNew] = spans.try_emplace(key);
  std::vector<double> &result = entry->second;
  if (!isNew)
    return result;

  SmallVector<Stride> strides = getStrides(refs, axes);
  int64_t members = 1;
  for (Stride stride : strides)
    members *= stride.size;
  result.push_back(members);
  if (machine.links.size() == 1 && machine.links.front().devices >= devices) {
    result.push_back(1);
    return result;
  }
  // A device's group is named by its first member.
  std::vector<int64_t> groups(devices);
  for (int64_t device = 0; device < devices; ++device) {
    groups[device] = device;
    for (Stride stride : strides)
      groups[device] -= device / stride.stride % stride.size * stride.stride;
  }
  std::vector<std::pair<int64_t, int64_t>> touched(devices);
  for (const MachineLink &link : machine.links) {
    for (int64_t device = 0; device < devices; ++device)
      touched[device] = {groups[device], device / link.devices};
    llvm::sort(touched);
    int64_t most = 1, count = 0;
    for (int64_t i = 0; i < devices; ++i) {
      bool sameGroup = i > 0 && touched[i].first == touched[i - 1].first;
      if (!sameGroup)
        count = 0;
      if (!sameGroup || touched[i].second != touched[i - 1].second)
        most = std::max(most, ++count);
    }
    result.push_back(most);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static CostModel::Traffic getTraffic(Operation *op) {
  using Traffic = CostModel::Traffic;
  if (isa<CollectivePermuteOp, SendRecvOp, HaloExchangeOp, HaloReduceOp>(op))
    return Traffic::Message;
  if (isa<AllToAllOp, GatherRowsOp, ReduceRowsOp>(op))
    return Traffic::Exchange;
  if (isa<AllReduceOp>(op))
    return Traffic::AllReduce;
  return isa<BroadcastOp>(op) ? Traffic::Broadcast : Traffic::Ring;
}

double CostModel::getSeconds(CollectiveOpInterface collective) const {
  SmallVector<AxisRefAttr> refs = getAxisRefs(getCommAxes(collective));
  auto p = static_cast<int64_t>(getSpans(refs).front());
  return getSeconds(getTraffic(collective), refs,
                    collective.getBytesSentPerRank(p));
}

double CostModel::getSeconds(Traffic traffic, ArrayRef<AxisRefAttr> refs,
                             double sent) const {
  const std::vector<double> &blocks = getSpans(refs);
  double p = blocks.front();
  ArrayRef<MachineLink> links = machine.links;
  if (p < 2 || links.empty())
    return 0;
  // The outermost level that a group crosses.
  size_t outermost = 0;
  for (size_t level = 0; level < links.size(); ++level)
    if (blocks[level] > blocks[level + 1])
      outermost = level;

  if (traffic == Traffic::Message)
    return machine.callSeconds + links[outermost].stepSeconds +
           sent / links[outermost].bytesPerSecond;

  bool isAllReduce = traffic == Traffic::AllReduce;
  bool isExchange = traffic == Traffic::Exchange;
  bool isBroadcast = traffic == Traffic::Broadcast;
  double rounds = isAllReduce ? 2 : 1;
  // Bytes of the whole tensor, or of a rank's data for others and itself.
  double whole = isBroadcast ? sent : sent / rounds * p / (p - 1);
  double ring = 0, tree = 0, transfer = 0;
  for (size_t level = 0; level < links.size(); ++level) {
    const MachineLink &link = links[level];
    double inside = blocks[level], outside = blocks[level + 1];
    if (inside <= outside)
      continue;
    double fanOut = inside / outside;
    // Members of a block of the level before.
    double members = p / inside;
    ring += rounds * (inside - outside) * link.stepSeconds;
    tree += rounds * (level == 0 ? fanOut - 1 : std::log2(fanOut)) *
            link.stepSeconds;
    double bytes;
    if (isExchange)
      bytes = whole * (fanOut - 1) * members / p;
    else if (isBroadcast)
      bytes = whole;
    else
      bytes = rounds * whole * (fanOut - 1) / fanOut / members;
    transfer = std::max(transfer, bytes / link.bytesPerSecond);
  }
  double steps = isAllReduce  ? std::min(ring, tree)
                 : isExchange ? links[outermost].stepSeconds
                              : ring;
  return machine.callSeconds + steps + transfer;
}

LogicalResult mlir::dist::checkDevices(const Machine &machine, MeshOp mesh) {
  int64_t devices = 1;
  for (MeshAxisAttr axis : mesh.getAxes())
    devices *= axis.getSize();
  if (devices <= machine.getDevices())
    return success();
  return mesh.emitError() << "mesh @" << mesh.getSymName() << " has " << devices
                          << " devices; machine " << machine.name << " has "
                          << machine.getDevices()
                          << ": name a larger machine (as 128x8xH100, or a "
                          << "file), or take a smaller mesh";
}
