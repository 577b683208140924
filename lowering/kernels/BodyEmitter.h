//===- BodyEmitter.h - The body of a kernel's loops -------------*- C++ -*-===//
//
// Writes one iteration of the loops of a group: addresses in flat buffers,
// loads, the arithmetic of the linalg ops, stores. The target decides by
// bindLoop which loops there are, their order, and what runs them: a
// processor's loop, a device's block or thread.
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
  /// `group` must outlive this object, and keep its members. `isScratch` tells
  /// which roots the kernel allocates itself (shrinkScratch).
  BodyEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              llvm::function_ref<bool(Value)> isScratch);

  //===--------------------------------------------------------------------===//
  // What a kernel takes (KernelTarget.h, Kernel), in this order
  //===--------------------------------------------------------------------===//

  ArrayRef<Value> getRoots() const { return roots.getArrayRef(); }
  ArrayRef<Value> getScalars() const { return scalars.getArrayRef(); }
  ArrayRef<Value> getViews() const { return views.getArrayRef(); }
  SmallVector<int64_t> getStarts() const;
  /// Their types: roots as memrefs of one dimension.
  SmallVector<Type> getArgumentTypes() const;
  /// Adds the proved attributes to the roots' arguments: that they are only
  /// read, that no other argument aliases them (LLVM's readonly and noalias).
  /// If threads read what others have written (`areShared`), the latter is said
  /// of what nobody writes: LLVM takes it to mean that a barrier changes
  /// nothing there.
  void setAliasAttributes(FunctionOpInterface function,
                          bool areShared = false) const;

  /// Binds the arguments, and copies captured constants to the insertion point.
  void begin(ValueRange arguments);
  /// The memory, flat, of a root that is scratch.
  void bindScratch(Value root, Value memory) { buffers[root] = memory; }

  //===--------------------------------------------------------------------===//
  // Within loops
  //===--------------------------------------------------------------------===//

  /// The value of `loop` of these members at the insertion point.
  void bindLoop(ArrayRef<unsigned> members, const Loop &loop, Value iv);

  /// An index constant, created at the start of the block that begin was called
  /// for.
  Value constant(int64_t value);

  Value emitAddress(unsigned member, const Access &access);
  /// The flat memory of an access.
  Value getBuffer(const Access &access) {
    return buffers.lookup(access.buffer.root);
  }
  /// A scalar of the surrounding code.
  Value getScalar(Value value) const { return captured.lookup(value); }
  Value emitLoad(const Access &access, Value address);
  void emitStore(Value value, const Access &access, Value address);

  /// One iteration of `member`. The accesses `carried` stay in `values` instead
  /// of memory: they are read and written there.
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
  /// Of roots: the first of the constant offsets there, where it is not 0, and
  /// its argument.
  llvm::MapVector<Value, std::pair<int64_t, Value>> starts;
  DenseMap<int64_t, Value> indexConstants;
  /// Induction variable of (member, dim).
  DenseMap<std::pair<unsigned, int>, Value> ivs;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_BODYEMITTER_H
