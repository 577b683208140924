//===- LoopNest.h - Loops over flat buffers ---------------------*- C++ -*-===//
//
// What the kernels are made from: a linalg op on buffers of static shape, seen
// as loops of known sizes in which every operand is a start and a stride for
// each loop within one flat buffer. Views disappear into starts and strides.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_LOOPNEST_H
#define DIST_LOWERING_KERNELS_LOOPNEST_H

#include "lowering/buffers/Aliases.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// A buffer seen through views: element [i, j, …] lies at
/// offset + i * strides[0] + j * strides[1] + … of the flat `root`.
struct FlatBuffer {
  Value root;
  /// What memory the root may lie in; null: anywhere.
  const Origins *origins = nullptr;
  int64_t offset = 0;
  /// The view whose offset it is, where that is known at run time only.
  Value dynamicOffset;
  SmallVector<int64_t> strides;
};

/// Whether they may share memory, wherever in their roots they lie.
inline bool mayAlias(const FlatBuffer &a, const FlatBuffer &b) {
  return a.root == b.root || mayAlias(a.origins, b.origins);
}

/// Looks through views; fails (with an error at `op`) for a layout that is not
/// strided with static sizes and strides. Origins are found if `aliases` are
/// given.
FailureOr<FlatBuffer> flatten(Value buffer, Operation *op,
                              const BufferAliases *aliases = nullptr);

/// How an operand is walked over.
struct Access {
  FlatBuffer buffer;
  unsigned operand; // of the op
  bool reads = false, writes = false;
  /// The stride of each loop. Not meaningful unless `linear`.
  SmallVector<int64_t> strides;
  /// Whether the address is a sum of loops times strides (no floordiv, mod).
  bool linear = true;
  /// From loops to the buffer's indices.
  AffineMap map;
  int64_t elementBytes = 0;
};

/// A linalg op or a copy on buffers.
struct LoopNest {
  Operation *op = nullptr;
  SmallVector<int64_t> sizes;
  SmallVector<bool> parallel;
  /// Whether the loops that are not parallel must run in their order: what
  /// their body accumulates is no sum, maximum or the like.
  bool isOrdered = false;
  SmallVector<Access> accesses;
  /// Buffers that the body reads at computed places.
  SmallVector<FlatBuffer> gathers;

  bool isEmpty() const { return llvm::is_contained(sizes, 0); }
  /// Whether what the nest writes, or reads or writes, may share memory with
  /// the buffer.
  bool mayWrite(const FlatBuffer &buffer) const;
  bool mayTouch(const FlatBuffer &buffer) const;
};

/// The nest of a linalg op or memref.copy; fails with an error at the op.
/// `aliases` must outlive it.
FailureOr<LoopNest> buildLoopNest(Operation *op, const BufferAliases &aliases);

/// Whether loop `dim` is a digit of the address: as it goes from 0 to its size,
/// the parts of the buffer that the other loops reach are disjoint.
bool isSeparable(const LoopNest &nest, const Access &access, unsigned dim);

/// The same for accesses that start at different places of the buffer: in each
/// iteration of `dim` both stay within one cell of its stride.
bool shareCells(const LoopNest &nest, const Access &access, unsigned dim,
                const LoopNest &otherNest, const Access &other,
                unsigned otherDim);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_LOOPNEST_H
