//===- Window.cpp - Sliding windows over space ----------------------------===//

#include "Window.h"

using namespace mlir;
using namespace mlir::dist::frontend;

LogicalResult
mlir::dist::frontend::positiveList(NodeContext &c, StringRef name, size_t count,
                                   SmallVectorImpl<int64_t> &list) {
  list.assign(count, 1);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr(name))
    list.assign(given->begin(), given->end());
  bool valid = list.size() == count;
  for (int64_t entry : list)
    valid &= entry > 0 && entry < (1 << 30);
  if (!valid)
    return c.invalid(name + " " + toString(list) + " for " + Twine(count) +
                     " dimensions");
  return success();
}

LogicalResult mlir::dist::frontend::padsAttr(NodeContext &c, size_t count,
                                             SmallVectorImpl<int64_t> &low,
                                             SmallVectorImpl<int64_t> &high) {
  low.assign(count, 0);
  high.assign(count, 0);
  std::optional<SmallVector<int64_t>> pads = c.intsAttr("pads");
  if (!pads)
    return success();
  bool valid = pads->size() == 2 * count;
  for (int64_t entry : *pads)
    valid &= entry >= 0 && entry < (1 << 30);
  if (!valid)
    return c.invalid("pads " + toString(*pads) + " for " + Twine(count) +
                     " dimensions");
  low.assign(pads->begin(), pads->begin() + count);
  high.assign(pads->begin() + count, pads->end());
  return success();
}

FailureOr<Windows> mlir::dist::frontend::readWindows(NodeContext &c,
                                                     ArrayRef<int64_t> kernel) {
  Windows w;
  ArrayRef<int64_t> space = ArrayRef<int64_t>(c.in(0).shape).drop_front(2);
  size_t count = space.size();
  if (hasOpen(space) || hasOpen(kernel)) {
    SmallVector<int64_t> all(space);
    all.append(kernel.begin(), kernel.end());
    (void)c.open(c.node.op + " of a window " + c.sizes().toString(kernel) +
                     " over " + c.sizes().toString(c.in(0).shape),
                 all);
    return failure();
  }
  w.kernel.assign(kernel.begin(), kernel.end());
  bool valid = kernel.size() == count && count > 0;
  for (int64_t size : kernel)
    valid &= size > 0 && size < (1 << 30);
  if (!valid) {
    (void)c.invalid("a window " + toString(kernel) + " over shape " +
                    toString(c.in(0).shape));
    return failure();
  }
  if (failed(positiveList(c, "strides", count, w.strides)) ||
      failed(positiveList(c, "dilations", count, w.dilations)) ||
      failed(padsAttr(c, count, w.low, w.high)))
    return failure();
  StringRef automatic = c.stringAttr("auto_pad", "NOTSET");
  bool ceil = c.boolAttr("ceil_mode", false);
  w.declaredHigh = w.high;
  for (size_t i = 0; i < count; ++i) {
    int64_t extent = w.extent(i), stride = w.strides[i];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      int64_t positions = (space[i] + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((positions - 1) * stride + extent - space[i], 0);
      w.low[i] = automatic == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
      w.high[i] = w.declaredHigh[i] = total - w.low[i];
    } else if (automatic == "VALID") {
      w.low[i] = w.high[i] = w.declaredHigh[i] = 0;
    } else if (automatic != "NOTSET") {
      (void)c.unsupported("auto_pad '" + automatic + "'");
      return failure();
    }
    int64_t room = space[i] + w.low[i] + w.high[i] - extent;
    // With ceil_mode a window may be larger than the tensor below it.
    int64_t rounded = room + (ceil ? stride - 1 : 0);
    if (rounded < 0) {
      (void)c.invalid("a window of " + Twine(extent) +
                      " over a padded dimension of " + Twine(room + extent));
      return failure();
    }
    int64_t positions = rounded / stride + 1;
    // The last one must start within the input or the padding before it.
    if (ceil && (positions - 1) * stride >= space[i] + w.low[i])
      --positions;
    w.high[i] = std::max(w.high[i], (positions - 1) * stride + extent -
                                        space[i] - w.low[i]);
    w.output.push_back(positions);
  }
  return w;
}

Value mlir::dist::frontend::padSpace(Emitter &e, Value value,
                                     ArrayRef<int64_t> low,
                                     ArrayRef<int64_t> high, Value with) {
  SmallVector<int64_t> allLow{0, 0}, allHigh{0, 0};
  allLow.append(low.begin(), low.end());
  allHigh.append(high.begin(), high.end());
  return e.pad(value, allLow, allHigh, with);
}
