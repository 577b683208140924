//===- Aliases.h - Which buffers may share memory ---------------*- C++ -*-===//
//
// The one answer to "may these two buffers share memory?", for every pass on
// buffers. Upstream's BufferViewFlowAnalysis says as what a buffer is handed on
// (views, results and arguments of branches, loops and selects); here each
// buffer gets the set of allocations, arguments and globals that it may lie in.
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

/// The buffer that the views around `value` start from. Addresses are counted
/// from there; what else may lie in that memory, BufferAliases says.
Value getViewRoot(Value value);

/// Whether `op` only makes another view of its first operand.
bool isView(Operation *op);

/// Calls `visit` with each buffer that `op`, or an op in its regions, may read
/// or write. Returns false where it may touch memory that it does not name.
bool visitTouchedBuffers(Operation *op, llvm::function_ref<void(Value)> visit);

/// The memory that a buffer may lie in.
struct Origins {
  /// False: anywhere.
  bool known = true;
  /// Whether `ids` are all. Where they would be many, only `component` is kept.
  bool exact = true;
  /// Allocations, arguments and globals, by number, sorted.
  llvm::SmallVector<unsigned, 2> ids;
  /// Buffers of different components have no origin in common.
  unsigned component = 0;
};

/// Null stands for a buffer of which nothing is known.
bool mayAlias(const Origins *a, const Origins *b);

/// The buffers of one function, in time and memory linear in its size. What is
/// made after this analysis is not known to it, and so may alias everything.
///
/// Proved to be apart are different allocations, globals of different names,
/// and of a function's arguments those that receive its results
/// (rt.num_results: the runtime never passes memory there that anything else
/// lies in), and those that it gives new values (`dist.updated`). Its other
/// arguments may share memory.
class BufferAliases {
public:
  explicit BufferAliases(func::FuncOp function);

  bool mayAlias(Value a, Value b) const;

  /// Null where nothing is known of the buffer.
  const Origins *getOrigins(Value buffer) const;

  /// All buffers of the function. What a buffer is handed on as comes after it,
  /// but for what goes round a loop.
  ArrayRef<Value> getBuffers() const { return buffers; }

  /// The places (in getBuffers()) of what the buffer at place `index` is handed
  /// on as, directly: its views, and results and block arguments that may be
  /// it.
  ArrayRef<unsigned> getHandedOnAs(unsigned index) const {
    return handedOnAs[index];
  }

  /// The place of `buffer` in getBuffers(); it must be of this function.
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
