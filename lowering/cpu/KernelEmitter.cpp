//===- KernelEmitter.cpp - A group of loop nests as a function ------------===//

#include "lowering/cpu/KernelEmitter.h"
#include "lowering/cpu/LoopOrder.h"
#include "lowering/cpu/TransposeLoops.h"
#include "lowering/kernels/BodyEmitter.h"
#include "lowering/kernels/KernelLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// The loops of one kernel, on one core.
class LoopEmitter {
public:
  LoopEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              BodyEmitter &body)
      : builder(builder), group(group), loc(loc), body(body) {}

  void emitLoops(ArrayRef<Loop> loops, ArrayRef<unsigned> members,
                 llvm::function_ref<void()> inside);
  void emitRun(const Run &run);

private:
  /// From `start` on, before the end of the loop.
  void emitPart(const Run &run, size_t loop, int64_t start, int64_t end,
                int64_t step, llvm::function_ref<void()> inside);
  void emitTransposition(const Run &run, const Transposition &copy);
  void emitCarried(const Run &run, ArrayRef<Loop> loops,
                   MutableArrayRef<Value> carried);

  OpBuilder &builder;
  const KernelGroup &group;
  Location loc;
  BodyEmitter &body;
  /// Outputs that the innermost loops of the current run carry.
  SmallVector<const Access *> carriedAccesses;
};

} // namespace

void LoopEmitter::emitLoops(ArrayRef<Loop> loops, ArrayRef<unsigned> members,
                            llvm::function_ref<void()> inside) {
  if (loops.empty())
    return inside();
  auto loop =
      scf::ForOp::create(builder, loc, body.constant(0),
                         body.constant(loops.front().size), body.constant(1));
  body.bindLoop(members, loops.front(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitLoops(loops.drop_front(), members, inside);
}

/// The innermost loops, whose accumulators are `carried` in registers.
void LoopEmitter::emitCarried(const Run &run, ArrayRef<Loop> loops,
                              MutableArrayRef<Value> carried) {
  if (loops.empty()) {
    for (unsigned member : run.members)
      body.emitBody(member, carriedAccesses, carried);
    return;
  }
  auto loop = scf::ForOp::create(builder, loc, body.constant(0),
                                 body.constant(loops.front().size),
                                 body.constant(1), carried);
  body.bindLoop(run.members, loops.front(), loop.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    emitCarried(run, loops.drop_front(), inner);
    if (!inner.empty())
      scf::YieldOp::create(builder, loc, inner);
  }
  llvm::copy(loop.getResults(), carried.begin());
}

void LoopEmitter::emitPart(const Run &run, size_t loop, int64_t start,
                           int64_t end, int64_t step,
                           llvm::function_ref<void()> inside) {
  if (start == end)
    return;
  auto part = scf::ForOp::create(builder, loc, body.constant(start),
                                 body.constant(end), body.constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(part.getBody());
  body.bindLoop(run.members, run.loops[loop], part.getInductionVar());
  inside();
}

/// Squares, and what is left beside and below them.
void LoopEmitter::emitTransposition(const Run &run, const Transposition &copy) {
  SmallVector<Loop> around;
  for (auto [position, loop] : llvm::enumerate(run.loops))
    if (position != copy.readLoop && position != copy.writtenLoop)
      around.push_back(loop);
  int64_t rows = run.loops[copy.writtenLoop].size,
          columns = run.loops[copy.readLoop].size;
  int64_t wholeRows = rows / copy.lanes * copy.lanes,
          wholeColumns = columns / copy.lanes * copy.lanes;
  auto single = [&] { body.emitBody(run.members.front(), {}, {}); };
  emitLoops(around, run.members, [&] {
    emitPart(run, copy.writtenLoop, 0, wholeRows, copy.lanes, [&] {
      emitPart(run, copy.readLoop, 0, wholeColumns, copy.lanes,
               [&] { emitSquare(builder, loc, body, run, copy); });
    });
    emitPart(run, copy.readLoop, wholeColumns, columns, 1,
             [&] { emitPart(run, copy.writtenLoop, 0, wholeRows, 1, single); });
    emitPart(run, copy.writtenLoop, wholeRows, rows, 1,
             [&] { emitPart(run, copy.readLoop, 0, columns, 1, single); });
  });
}

void LoopEmitter::emitRun(const Run &run) {
  if (std::optional<Transposition> copy = findTransposition(group, run))
    return emitTransposition(run, *copy);
  // Outputs that do not move in the innermost loops; all that start standing
  // still at the same loop are carried.
  size_t depth = run.loops.size();
  SmallVector<std::tuple<size_t, unsigned, const Access *>> still;
  for (auto [position, index] : llvm::enumerate(run.members))
    for (const Access &access : group.members[index].nest.accesses) {
      if (!access.writes || !access.linear)
        continue;
      size_t from = run.loops.size();
      while (from > 0 &&
             access.strides[run.loops[from - 1].dims[position]] == 0)
        --from;
      if (from == run.loops.size())
        continue;
      still.push_back({from, index, &access});
      depth = std::min(depth, from);
    }
  carriedAccesses.clear();
  for (auto [from, index, access] : still)
    if (from == depth)
      carriedAccesses.push_back(access);

  emitLoops(ArrayRef(run.loops).take_front(depth), run.members, [&] {
    SmallVector<Value> carried, addresses;
    for (auto [from, index, access] : still) {
      if (from != depth)
        continue;
      addresses.push_back(body.emitAddress(index, *access));
      carried.push_back(body.emitLoad(*access, addresses.back()));
    }
    emitCarried(run, ArrayRef(run.loops).drop_front(depth), carried);
    for (auto [access, value, address] :
         llvm::zip_equal(carriedAccesses, carried, addresses))
      body.emitStore(value, *access, address);
  });
  carriedAccesses.clear();
}

FailureOr<Kernel> mlir::dist::emitCpuKernel(OpBuilder &builder, StringRef name,
                                            KernelGroup group,
                                            const Machine &machine,
                                            SmallVector<Value> &scratch) {
  Location loc = group.members.back().nest.op->getLoc();
  // A nest alone chooses its own loop order.
  if (group.members.size() == 1) {
    group.sizes.clear();
    group.members.front().shared.clear();
  }
  hoistFills(group);
  DenseMap<Value, int64_t> scratchSizes =
      shrinkScratch(group, scratch, machine.scratchBytes);
  BodyEmitter body(builder, group, loc,
                   [&](Value root) { return scratchSizes.contains(root); });

  OpBuilder::InsertionGuard guard(builder);
  auto function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(body.getArgumentTypes(), {}));
  function.setPrivate();
  body.setAliasAttributes(function);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Operation *end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  for (Value root : scratch) {
    auto type =
        MemRefType::get({scratchSizes[root]},
                        cast<MemRefType>(root.getType()).getElementType());
    body.bindScratch(root,
                     memref::AllocaOp::create(builder, loc, type,
                                              builder.getI64IntegerAttr(64)));
  }
  body.begin(entry->getArguments());

  auto all = llvm::to_vector(llvm::seq<unsigned>(0, group.members.size()));
  SmallVector<Loop> shared;
  for (auto [position, size] : llvm::enumerate(group.sizes)) {
    Loop loop{size, {}};
    for (Member &member : group.members)
      loop.dims.push_back(member.shared[position]);
    shared.push_back(std::move(loop));
  }
  SmallVector<Run> runs = formRuns(group);
  orderLoops(group, shared, all);
  coalesceLoops(group, shared, all);
  LoopEmitter loops(builder, group, loc, body);
  loops.emitLoops(shared, all, [&] {
    for (Run &run : runs) {
      orderLoops(group, run.loops, run.members);
      coalesceLoops(group, run.loops, run.members);
      loops.emitRun(run);
    }
  });
  return Kernel{function, llvm::to_vector(body.getRoots()),
                llvm::to_vector(body.getScalars()),
                llvm::to_vector(body.getViews())};
}
