//===- LoopNest.h - Loops over flat buffers ---------------------*- C++ -*-===//
//
// The input of kernels: a linalg op on buffers of static shape, as loops of
// known sizes. Every operand is a start and a stride for each loop in one flat
// buffer. Views become starts and strides.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_LOOPNEST_H
#define DIST_LOWERING_KERNELS_LOOPNEST_H

#include "lowering/buffers/Aliases.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// A buffer, through its views: element [i, j, …] is at offset + i * strides[0]
/// + j * strides[1] + … of the flat `root`.
struct FlatBuffer {
  Value root;
  /// The memory that the root may be in; null: anywhere.
  const Origins *origins = nullptr;
  int64_t offset = 0;
  /// The view that has the offset, if it is known only at run time.
  Value dynamicOffset;
  SmallVector<int64_t> strides;
};

/// Whether they may share memory, at any offset in their roots.
inline bool mayAlias(const FlatBuffer &a, const FlatBuffer &b) {
  return a.root == b.root || mayAlias(a.origins, b.origins);
}

/// Looks through views; fails (with an error at `op`) for a layout that is not
/// strided with static sizes and strides. Origins are found if `aliases` are
/// given.
FailureOr<FlatBuffer> flatten(Value buffer, Operation *op,
                              const BufferAliases *aliases = nullptr);

/// How loops access an operand.
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
  /// Whether the loops that are not parallel must run in their order, because
  /// their body accumulates something other than sums, maxima or the like.
  bool isOrdered = false;
  SmallVector<Access> accesses;
  /// Buffers that the body reads at computed positions.
  SmallVector<FlatBuffer> gathers;

  bool isEmpty() const { return llvm::is_contained(sizes, 0); }
  /// Whether the memory that the nest writes, or reads or writes, may overlap
  /// the buffer.
  bool mayWrite(const FlatBuffer &buffer) const;
  bool mayTouch(const FlatBuffer &buffer) const;
};

/// The nest of a linalg op or memref.copy; fails with an error at the op.
/// `aliases` must outlive it.
FailureOr<LoopNest> buildLoopNest(Operation *op, const BufferAliases &aliases);

/// Whether loop `dim` is a digit of the address: in different iterations of it,
/// the other loops reach disjoint parts of the buffer.
bool isSeparable(const LoopNest &nest, const Access &access, unsigned dim);

/// The same for accesses that start at different positions of the buffer: in
/// each iteration of `dim`, both stay within one cell of its stride.
bool shareCells(const LoopNest &nest, const Access &access, unsigned dim,
                const LoopNest &otherNest, const Access &other,
                unsigned otherDim);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_LOOPNEST_H
