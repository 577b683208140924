//===- BodyEmitter.h - The body of a kernel's loops -------------*- C++ -*-===//
//
// Writes what one iteration of the loops of a group does: addresses in flat
// buffers, loads, the arithmetic of the linalg ops, stores. Which loops there
// are, in which order, and what runs them (a processor's loop, a device's block
// or thread), the target says by bindLoop.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_BODYEMITTER_H
#define DIST_LOWERING_KERNELS_BODYEMITTER_H

#include "lowering/kernels/KernelLoops.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

class BodyEmitter {
public:
  /// `group` must outlive this, and keep its members. `isScratch` tells the
  /// roots that the kernel makes itself (shrinkScratch).
  BodyEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              llvm::function_ref<bool(Value)> isScratch);

  //===--------------------------------------------------------------------===//
  // What a kernel takes (KernelTarget.h, Kernel), in this order
  //===--------------------------------------------------------------------===//

  ArrayRef<Value> getRoots() const { return roots.getArrayRef(); }
  ArrayRef<Value> getScalars() const { return scalars.getArrayRef(); }
  ArrayRef<Value> getViews() const { return views.getArrayRef(); }
  /// Their types: roots as memrefs of one dimension.
  SmallVector<Type> getArgumentTypes() const;
  /// Says of the roots' arguments what is proved: that they are only read, that
  /// no other names their memory (LLVM's readonly and noalias).
  void setAliasAttributes(FunctionOpInterface function) const;

  /// Binds the arguments, and copies captured constants to the builder's place.
  void begin(ValueRange arguments);
  /// The memory, flat, of a root that is scratch.
  void bindScratch(Value root, Value memory) { buffers[root] = memory; }

  //===--------------------------------------------------------------------===//
  // Within loops
  //===--------------------------------------------------------------------===//

  /// What `loop` of these members is at the builder's place.
  void bindLoop(ArrayRef<unsigned> members, const Loop &loop, Value iv);

  /// An index constant, made at the start of the block that begin was called
  /// for.
  Value constant(int64_t value);

  Value emitAddress(unsigned member, const Access &access);
  /// The memory, flat, that is walked over.
  Value getBuffer(const Access &access) {
    return buffers.lookup(access.buffer.root);
  }
  /// A scalar of the surrounding code.
  Value getScalar(Value value) const { return captured.lookup(value); }
  Value emitLoad(const Access &access, Value address);
  void emitStore(Value value, const Access &access, Value address);

  /// What one iteration of `member` does. The accesses `carried` stay in
  /// `values` instead of memory: read from there, and written there.
  void emitBody(unsigned member, ArrayRef<const Access *> carried,
                MutableArrayRef<Value> values);

private:
  void addCaptured(Value value);
  Value emitGatherAddress(const FlatBuffer &buffer, ValueRange indices);
  Value addTerm(Value sum, Value index, int64_t stride, bool backwards);
  Value addStart(Value sum, const FlatBuffer &buffer, bool backwards);
  void rewriteNested(Operation *op, unsigned member);
  Value indexOf(unsigned member, unsigned dim);

  OpBuilder &builder;
  const KernelGroup &group;
  Location loc;
  Block *entry = nullptr;

  llvm::SetVector<Value> roots, scalars, views;
  SmallVector<const Origins *> origins;          // of the roots
  llvm::MapVector<Value, Operation *> constants; // captured constants
  DenseMap<Value, Value> buffers;                // root to argument or scratch
  IRMapping captured;
  DenseMap<Value, Value> offsets; // view to argument
  DenseMap<int64_t, Value> indexConstants;
  /// Induction variable of (member, dim).
  DenseMap<std::pair<unsigned, int>, Value> ivs;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_BODYEMITTER_H
