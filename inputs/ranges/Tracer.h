//===- Tracer.h - Follows indices back to arguments -------------*- C++ -*-===//
//
// visit says what an op asks of its operands; trace follows that back, op by
// op, to the arguments of the entry function. What hangs on several inputs at
// once waits for finish, when all that is known of each alone has been found.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_INPUTS_RANGES_TRACER_H
#define DIST_INPUTS_RANGES_TRACER_H

#include "inputs/ranges/Inversion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>

namespace mlir::dist::ranges {

/// What was found of some elements of an argument.
struct Found {
  Places region;
  Interval worth = Interval::none(), legal = {};
};
using FoundByRegion = std::map<std::vector<int64_t>, Found>;

class Tracer {
public:
  explicit Tracer(ModuleOp module);

  /// Looks at all that `op` asks of its operands.
  void visit(Operation *op);
  /// To be called after all ops have been visited.
  void finish();

  /// What was found of an argument of the entry function, if anything was.
  const FoundByRegion *getFound(Value argument) const;

private:
  // Tracer.cpp
  void trace(Value value, Wanted wanted);
  void traceArgument(BlockArgument argument, const Wanted &wanted);
  void traceOp(OpResult result, const Wanted &wanted);
  bool traceSelect(arith::SelectOp op, const Wanted &wanted);
  // TraceLoops.cpp
  bool traceLoop(Value value, const Wanted &wanted);
  void traceCarried(LoopLikeOpInterface loop, BlockArgument argument,
                    const Wanted &wanted, bool isResult);
  void traceTurn(scf::ForOp loop, const Wanted &wanted);
  void traceAfter(scf::WhileOp loop, Value before, const Wanted &wanted);
  // TraceSums.cpp
  bool traceSum(Value value, const Wanted &wanted);
  bool traceProduct(Operation *op, const Wanted &wanted);
  bool traceQuotient(Operation *op, const Wanted &wanted);
  bool traceBinary(Operation *op, const Wanted &wanted);
  bool defer(Value value, const Wanted &wanted);
  std::optional<Interval> findLimit(Value value, bool isHint = false);
  // TraceMoves.cpp
  bool traceMove(OpResult result, const Wanted &wanted);
  void traceGather(tensor::GatherOp op, const Wanted &wanted);
  // Visit.cpp
  void traceIndex(Value value, int64_t size, Places region = {});
  void traceTuples(Value indices, ArrayRef<int64_t> sizes);
  void traceOffsets(OffsetSizeAndStrideOpInterface slice);
  void visitComparison(arith::CmpIOp compare, Value value, Value with);
  void visitLimited(Operation *op);

  ModuleOp module;
  Operation *entry;
  llvm::StringMap<SmallVector<func::CallOp>> calls;
  llvm::DenseMap<Value, FoundByRegion> found;
  std::map<void *, std::set<decltype(Wanted().key())>> visited;
  /// What loops carry and is being traced: its further turns say nothing more.
  llvm::DenseSet<Value> active;
  std::vector<std::pair<Value, Wanted>> deferred;
  bool isFinishing = false;
};

/// Of x, given what is wanted of factor * x + offset.
Wanted solve(const Wanted &wanted, Interval offset, double factor, Type type);

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_TRACER_H
