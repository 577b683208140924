//===- KernelEmitter.cpp - Writes a group as a kernel of a GPU ------------===//

#include "lowering/gpu/KernelEmitter.h"
#include "lowering/buffers/Sums.h"
#include "lowering/gpu/Launch.h"
#include "lowering/kernels/Accumulators.h"
#include "lowering/kernels/BodyEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;

/// A cell of so many iterations is a block's; of fewer it is a thread's.
static constexpr int64_t kFewestOfBlock = 64;

namespace {

class CellEmitter {
public:
  CellEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              BodyEmitter &body, bool isOfBlock)
      : builder(builder), group(group), loc(loc), body(body),
        isOfBlock(isOfBlock) {}

  /// All cells, of which this many blocks do some each.
  int64_t emitCells(ArrayRef<Loop> cells, ArrayRef<Run> runs);

private:
  void emitRun(const Run &run);
  void emitInOrder(const Run &run);
  void emitParts(const Run &run, ArrayRef<Accumulator> outputs);
  Value combineParts(const Accumulator &output, Value part);
  Value combine(const Accumulator &output, Value a, Value b);
  void emitLoops(ArrayRef<unsigned> members, ArrayRef<Loop> loops,
                 llvm::function_ref<void()> inside);
  void bindAll(ArrayRef<unsigned> members, ArrayRef<Loop> loops, Value index);
  void emitIf(Value condition, llvm::function_ref<void()> inside);
  Value isLess(Value a, int64_t b);
  void emitBarrier() { NVVM::BarrierOp::create(builder, loc); }
  Value toIndex(Value number) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        number);
  }

  OpBuilder &builder;
  const KernelGroup &group;
  Location loc;
  BodyEmitter &body;
  const bool isOfBlock;
  Value thread;
  /// By type: shared memory for a number of each thread.
  DenseMap<Type, Value> partsOf;
};

} // namespace

static int64_t countTurns(ArrayRef<Loop> loops) {
  int64_t turns = 1;
  for (const Loop &loop : loops)
    turns *= loop.size;
  return turns;
}

Value CellEmitter::isLess(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a,
                               body.constant(b));
}

void CellEmitter::emitIf(Value condition, llvm::function_ref<void()> inside) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  inside();
}

/// The loops' places in iteration `index` of all of them.
void CellEmitter::bindAll(ArrayRef<unsigned> members, ArrayRef<Loop> loops,
                          Value index) {
  for (const Loop &loop : llvm::reverse(loops)) {
    Value place = index;
    if (&loop != &loops.front()) {
      Value size = body.constant(loop.size);
      place = arith::RemUIOp::create(builder, loc, index, size);
      index = arith::DivUIOp::create(builder, loc, index, size);
    }
    body.bindLoop(members, loop, place);
  }
}

void CellEmitter::emitLoops(ArrayRef<unsigned> members, ArrayRef<Loop> loops,
                            llvm::function_ref<void()> inside) {
  if (loops.empty())
    return inside();
  auto loop =
      scf::ForOp::create(builder, loc, body.constant(0),
                         body.constant(loops.front().size), body.constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body.bindLoop(members, loops.front(), loop.getInductionVar());
  emitLoops(members, loops.drop_front(), inside);
}

int64_t CellEmitter::emitCells(ArrayRef<Loop> cells, ArrayRef<Run> runs) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, group.members.size()));
  int64_t count = countTurns(cells);
  Type i32 = builder.getI32Type();
  thread = toIndex(NVVM::ThreadIdXOp::create(builder, loc, i32));
  Value block = toIndex(NVVM::BlockIdXOp::create(builder, loc, i32));
  auto emitCell = [&](Value cell) {
    bindAll(all, cells, cell);
    for (auto [number, run] : llvm::enumerate(runs)) {
      // What other threads have written.
      if (number > 0 && isOfBlock)
        emitBarrier();
      emitRun(run);
    }
  };
  int64_t blocks = isOfBlock ? count : llvm::divideCeil(count, kThreads);
  Value cell = block;
  if (!isOfBlock)
    cell = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, block, body.constant(kThreads)),
        thread);
  if (blocks <= kMostBlocks) {
    if (isOfBlock)
      emitCell(cell);
    else
      emitIf(isLess(cell, count), [&] { emitCell(cell); });
    return blocks;
  }
  int64_t step = kMostBlocks * (isOfBlock ? 1 : kThreads);
  auto loop = scf::ForOp::create(builder, loc, cell, body.constant(count),
                                 body.constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitCell(loop.getInductionVar());
  if (isOfBlock)
    emitBarrier(); // the next cell has the same shared memory
  return kMostBlocks;
}

Value CellEmitter::combine(const Accumulator &output, Value a, Value b) {
  OperationState state(loc, output.combiner->getName(), {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

/// The parts of all threads, by halves; every thread has the result.
Value CellEmitter::combineParts(const Accumulator &output, Value part) {
  Value &parts = partsOf[part.getType()];
  if (parts)
    emitBarrier(); // others still read the last sum there
  else
    parts = memref::AllocaOp::create(
        builder, loc,
        MemRefType::get({kThreads}, part.getType(), MemRefLayoutAttrInterface(),
                        builder.getI64IntegerAttr(kShared)));
  memref::StoreOp::create(builder, loc, part, parts, thread);
  for (int64_t half = kThreads / 2; half > 0; half /= 2) {
    emitBarrier();
    emitIf(isLess(thread, half), [&] {
      Value other =
          arith::AddIOp::create(builder, loc, thread, body.constant(half));
      Value sum =
          combine(output, memref::LoadOp::create(builder, loc, parts, thread),
                  memref::LoadOp::create(builder, loc, parts, other));
      memref::StoreOp::create(builder, loc, sum, parts, thread);
    });
  }
  emitBarrier();
  return memref::LoadOp::create(builder, loc, parts,
                                ValueRange(body.constant(0)));
}

/// Iteration i is thread i's, modulo their number. What all iterations
/// accumulate is made of the threads' parts.
void CellEmitter::emitParts(const Run &run, ArrayRef<Accumulator> outputs) {
  SmallVector<const Access *> accesses;
  SmallVector<Value> neutral;
  for (const Accumulator &output : outputs) {
    accesses.push_back(output.access);
    neutral.push_back(arith::ConstantOp::create(builder, loc, output.neutral));
  }
  auto emitFor =
      [&](Value first, Value end, int64_t step, ValueRange values,
          llvm::function_ref<void(Value, SmallVector<Value> &)> inside)
      -> ValueRange {
    auto loop = scf::ForOp::create(builder, loc, first, end,
                                   body.constant(step), values);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    auto carried = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    inside(loop.getInductionVar(), carried);
    if (!carried.empty())
      scf::YieldOp::create(builder, loc, carried);
    return loop.getResults();
  };
  auto emitTurns = [&](Value first, Value end, ValueRange values) {
    return emitFor(first, end, kThreads, values,
                   [&](Value turn, SmallVector<Value> &carried) {
                     bindAll(run.members, run.loops, turn);
                     for (unsigned member : run.members)
                       body.emitBody(member, accesses, carried);
                   });
  };
  int64_t turns = countTurns(run.loops);
  ValueRange parts;
  if (turns <= kThreads * kMostTerms || outputs.empty()) {
    parts = emitTurns(thread, body.constant(turns), neutral);
  } else {
    // One sum of many terms loses small terms against the sum so far.
    int64_t apart = kThreads * kFewTerms;
    parts = emitFor(
        thread, body.constant(turns), apart, neutral,
        [&](Value first, SmallVector<Value> &carried) {
          Value end = arith::MinUIOp::create(
              builder, loc, body.constant(turns),
              arith::AddIOp::create(builder, loc, first, body.constant(apart)));
          ValueRange few = emitTurns(first, end, neutral);
          for (auto [output, sum, part] :
               llvm::zip_equal(outputs, carried, few))
            sum = combine(output, sum, part);
        });
  }
  for (auto [output, part] : llvm::zip_equal(outputs, parts)) {
    Value sum = combineParts(output, part);
    emitIf(isLess(thread, 1), [&] {
      Value address = body.emitAddress(output.member, *output.access);
      Value before = body.emitLoad(*output.access, address);
      body.emitStore(combine(output, before, sum), *output.access, address);
    });
  }
}

/// Loops that accumulate for any member run in their order, in one thread; the
/// others are the threads'.
void CellEmitter::emitInOrder(const Run &run) {
  SmallVector<Loop> apart, inOrder;
  for (const Loop &loop : run.loops)
    (accumulates(group, run.members, loop) ? inOrder : apart).push_back(loop);
  auto emitTurns = [&] {
    emitLoops(run.members, inOrder, [&] {
      for (unsigned member : run.members)
        body.emitBody(member, {}, {});
    });
  };
  if (!isOfBlock)
    return emitLoops(run.members, apart, emitTurns);
  auto loop =
      scf::ForOp::create(builder, loc, thread, body.constant(countTurns(apart)),
                         body.constant(kThreads));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  bindAll(run.members, apart, loop.getInductionVar());
  emitTurns();
}

void CellEmitter::emitRun(const Run &run) {
  SmallVector<Accumulator> outputs = findAccumulators(group, run);
  bool areWhole = llvm::all_of(outputs, [](const Accumulator &output) {
    return output.from == 0 && output.combiner;
  });
  // Nothing accumulates along some loops alone.
  bool isNothingElse = true;
  for (unsigned member : run.members)
    for (const Access &access : group.members[member].nest.accesses)
      if (access.writes &&
          llvm::none_of(outputs, [&](const Accumulator &output) {
            return output.access == &access;
          }))
        for (auto [position, loop] : llvm::enumerate(run.loops))
          isNothingElse &=
              group.members[member]
                  .nest.parallel[loop.dims[llvm::find(run.members, member) -
                                           run.members.begin()]];
  if (isOfBlock && areWhole && isNothingElse)
    return emitParts(run, outputs);
  emitInOrder(run);
}

FailureOr<Kernel> mlir::dist::emitGpuKernel(OpBuilder &builder, StringRef name,
                                            KernelGroup group,
                                            SmallVector<Value> &scratch) {
  Location loc = group.members.back().nest.op->getLoc();
  // A nest alone has what it does not accumulate as cells.
  if (group.members.size() == 1) {
    Member &only = group.members.front();
    group.sizes.clear();
    only.shared.clear();
    for (auto [dim, size] : llvm::enumerate(only.nest.sizes))
      if (only.nest.parallel[dim] && size > 1) {
        group.sizes.push_back(size);
        only.shared.push_back(dim);
      }
  }
  hoistFills(group);
  SmallVector<Run> runs = formRuns(group);
  int64_t most = 0;
  for (const Run &run : runs)
    most = std::max(most, countTurns(run.loops));
  bool isOfBlock = most >= kFewestOfBlock;
  if (!isOfBlock)
    scratch.clear();
  DenseMap<Value, int64_t> scratchSizes =
      shrinkScratch(group, scratch, kSharedBytes / 2);
  BodyEmitter body(builder, group, loc,
                   [&](Value root) { return scratchSizes.contains(root); });

  OpBuilder::InsertionGuard guard(builder);
  auto function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(body.getArgumentTypes(), {}));
  function.setPrivate();
  body.setAliasAttributes(function, /*areShared=*/isOfBlock);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Operation *end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  for (Value root : scratch) {
    auto element = cast<MemRefType>(root.getType()).getElementType();
    auto type = MemRefType::get({scratchSizes[root]}, element,
                                MemRefLayoutAttrInterface(),
                                builder.getI64IntegerAttr(kShared));
    body.bindScratch(root, memref::AllocaOp::create(builder, loc, type));
  }
  body.begin(entry->getArguments());
  SmallVector<Loop> cells;
  for (auto [position, size] : llvm::enumerate(group.sizes)) {
    Loop loop{size, {}};
    for (Member &member : group.members)
      loop.dims.push_back(member.shared[position]);
    cells.push_back(std::move(loop));
  }
  CellEmitter emitter(builder, group, loc, body, isOfBlock);
  int64_t blocks = emitter.emitCells(cells, runs);
  function->setAttr(kBlocksAttr, builder.getI64IntegerAttr(blocks));
  return Kernel{function, llvm::to_vector(body.getRoots()),
                llvm::to_vector(body.getScalars()),
                llvm::to_vector(body.getViews()), body.getStarts()};
}
