//===- Aliases.h - Which buffers may share memory ---------------*- C++ -*-===//
//
// Answers "may these two buffers share memory?" for all passes on buffers.
// Upstream's BufferViewFlowAnalysis tells which values a buffer is passed on as
// (views, results and arguments of branches, loops and selects). Here each
// buffer gets the set of allocations, arguments and globals that it may be in.
// Buffers may share memory unless it is proved that they do not.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_ALIASES_H
#define DIST_LOWERING_BUFFERS_ALIASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace mlir::dist {

/// The buffer that the views around `value` start from. Addresses are relative
/// to it. BufferAliases tells which other buffers may be in that memory.
Value getViewRoot(Value value);

/// Whether `op` only makes another view of its first operand.
bool isView(Operation *op);

/// Calls `visit` with each buffer that `op`, or an op in its regions, may read
/// or write. Returns false if it may touch memory that it does not name.
bool visitTouchedBuffers(Operation *op, llvm::function_ref<void(Value)> visit);

/// The memory that a buffer may lie in.
struct Origins {
  /// False: anywhere.
  bool known = true;
  /// Whether `ids` is complete. If it would be long, only `component` is kept.
  bool exact = true;
  /// Allocations, arguments and globals, by number, sorted.
  llvm::SmallVector<unsigned, 2> ids;
  /// Buffers of different components have no origin in common.
  unsigned component = 0;
};

/// Null stands for an unknown buffer.
bool mayAlias(const Origins *a, const Origins *b);

/// The buffers of one function, in time and memory linear in its size. Buffers
/// that are created later are unknown, and so may alias everything.
///
/// These are proved to be apart:
/// - different allocations, and globals of different names;
/// - the arguments that receive results (rt.num_results): the runtime never
///   passes memory there that holds anything else;
/// - arguments that the function updates (`dist.updated`). Other arguments may
///   share memory.
class BufferAliases {
public:
  explicit BufferAliases(func::FuncOp function);

  bool mayAlias(Value a, Value b) const;

  /// Null if the buffer is unknown.
  const Origins *getOrigins(Value buffer) const;

  /// All buffers of the function. Buffers come before those that they are
  /// passed on as, except around loops.
  ArrayRef<Value> getBuffers() const { return buffers; }

  /// The indices (in getBuffers()) of the buffers that the buffer at `index` is
  /// passed on as, directly: its views, and results and block arguments that
  /// may be it.
  ArrayRef<unsigned> getHandedOnAs(unsigned index) const {
    return handedOnAs[index];
  }

  /// The index of `buffer` in getBuffers(). It must be in this function.
  unsigned getIndex(Value buffer) const { return indices.lookup(buffer); }

private:
  void followFlow(func::FuncOp function);
  void findOrigins(func::FuncOp function);
  void spreadOrigins();

  std::vector<Value> buffers;
  llvm::DenseMap<Value, unsigned> indices;
  std::vector<llvm::SmallVector<unsigned, 1>> handedOnAs;
  std::vector<Origins> origins;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_ALIASES_H
