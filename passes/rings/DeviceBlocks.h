//===- DeviceBlocks.h - A device's own block of a tensor --------*- C++ -*-===//
//
// For a tensor that every device has whole because something it is computed
// from was gathered: the block of it that can be computed from the device's own
// part. The ops between the gather and the tensor are repeated, for that block
// only.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_RINGS_DEVICEBLOCKS_H
#define DIST_PASSES_RINGS_DEVICEBLOCKS_H

#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

class DeviceBlocks {
public:
  /// For dimensions that are gathered over `axes`, with `devices` in a group.
  /// `uniform` tells which values are equal on these. A value that is not, and
  /// was not gathered, need not be a part of the same tensor on all of them.
  DeviceBlocks(OpBuilder &builder, Location loc, FlatSymbolRefAttr mesh,
               ArrayAttr axes, int64_t devices,
               const llvm::DenseSet<Value> &uniform)
      : builder(builder), loc(loc), mesh(mesh), axes(axes), devices(devices),
        uniform(uniform) {}

  /// The device's block of `whole` along `dim`: as many elements as the gather
  /// took, so the last block may have padding behind its elements. Null if it
  /// cannot be computed, or if nothing was gathered along `dim`.
  Value get(Value whole, int64_t dim);
  /// Declares `block` to be the device's block of `whole` along `dim`.
  void set(Value whole, int64_t dim, Value block) {
    known[{whole, dim}] = {block, true};
    differing[block] = true;
  }
  /// Treats padding behind a tensor's last element as the padding of blocks,
  /// whose value is unknown.
  void setEndsInPadding() { endsInPadding = true; }
  /// Whether a value is a block, or computed from one.
  bool differs(Value value) const { return differing.contains(value); }
  /// The ops, in order, that compute a block from something smaller, and from
  /// nothing else that differs from device to device. One operand of the first
  /// op is a block, which is returned. No ops and `block` if there are no such
  /// ops.
  std::pair<Value, SmallVector<Operation *>> findSmallest(Value block) const;

private:
  /// A value that is equal on all devices, or gathered, cut along `dim`.
  struct Block {
    Value value;
    bool isGathered = false;
  };
  bool isSameForAll(Value value) const;
  Block find(Value whole, int64_t dim);
  Block make(Value whole, int64_t dim);
  Block makeLinalg(OpResult whole, int64_t dim);
  Block makeExpanded(Value whole, int64_t dim);
  Block makeCollapsed(Value whole, int64_t dim);
  Block makeSliced(Value whole, int64_t dim);
  Block makeJoined(Value whole, int64_t dim);
  Block makePadded(Value whole, int64_t dim);
  Block cut(Value whole, int64_t dim);

  OpBuilder &builder;
  Location loc;
  FlatSymbolRefAttr mesh;
  ArrayAttr axes;
  int64_t devices;
  const llvm::DenseSet<Value> &uniform;
  bool endsInPadding = false;
  llvm::DenseMap<std::pair<Value, int64_t>, Block> known;
  /// Values that differ from device to device, and whether they were gathered.
  llvm::DenseMap<Value, bool> differing;
};

} // namespace mlir::dist

#endif // DIST_PASSES_RINGS_DEVICEBLOCKS_H
