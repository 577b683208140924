//===- DeviceBlocks.h - A device's own block of a tensor --------*- C++ -*-===//
//
// Of a tensor that every device has whole since something it is made of was
// gathered, the block that is made of the device's own part: what is between
// the gather and the tensor is written again, for the block alone.
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
  /// Of dimensions that are gathered over `axes`, with `devices` in a group.
  /// `uniform` are values that these agree on: what of the others is not made
  /// by gathering is not known to be a part of the same on all of them.
  DeviceBlocks(OpBuilder &builder, Location loc, FlatSymbolRefAttr mesh,
               ArrayAttr axes, int64_t devices,
               const llvm::DenseSet<Value> &uniform)
      : builder(builder), loc(loc), mesh(mesh), axes(axes), devices(devices),
        uniform(uniform) {}

  /// The device's block of `whole` along `dim`: as many elements as the gather
  /// took, so that the last block may have padding behind its elements. Null if
  /// that cannot be written, or if nothing was gathered along `dim`.
  Value get(Value whole, int64_t dim);
  /// Takes `block` for the device's block of `whole` along `dim`.
  void set(Value whole, int64_t dim, Value block) {
    known[{whole, dim}] = {block, true};
    differing[block] = true;
  }
  /// Takes what a tensor is padded with behind its last element for the padding
  /// of blocks, of which nothing is known.
  void setEndsInPadding() { endsInPadding = true; }
  /// Whether a value is a block, or made of one.
  bool differs(Value value) const { return differing.contains(value); }
  /// The ops, in order, that make a block of something smaller, and of nothing
  /// else that differs from device to device: of their first one's operands one
  /// is a block, which is returned. Nothing and `block` where there are none.
  std::pair<Value, SmallVector<Operation *>> findSmallest(Value block) const;

private:
  /// What is the same on all devices, or made by gathering, cut along `dim`.
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
  /// What differs from device to device, and whether it was gathered.
  llvm::DenseMap<Value, bool> differing;
};

} // namespace mlir::dist

#endif // DIST_PASSES_RINGS_DEVICEBLOCKS_H
