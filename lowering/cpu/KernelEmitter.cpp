//===- KernelEmitter.cpp - A group of loop nests as a function ------------===//

#include "lowering/cpu/KernelEmitter.h"
#include "lowering/buffers/Sums.h"
#include "lowering/cpu/LoopHints.h"
#include "lowering/cpu/LoopOrder.h"
#include "lowering/cpu/TransposeLoops.h"
#include "lowering/kernels/Accumulators.h"
#include "lowering/kernels/BodyEmitter.h"
#include "lowering/kernels/KernelLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

/// Sums of few terms (Sums.h) are added up so many at a time.
static constexpr int64_t kFewSums = 64;

/// A row is added up in lanes: term i in lane i modulo their number, then the
/// lanes by halves. There are at most so many; fewer do not pay.
static constexpr int64_t kMostLanes = 32, kFewestLanes = 16;

/// Functions are chains of operations. Vectors of so many lanes at a time keep
/// a core busy, where registers are no longer.
static constexpr int64_t kLanesApart = 8;

/// Of columns so many terms are added up, then these sums; one where a term
/// takes more than so many operations, which are written out for each.
static constexpr int64_t kRowsAtOnce = 8, kMostOps = 64;

namespace {

/// The loops of one kernel, on one core.
class LoopEmitter {
public:
  LoopEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              BodyEmitter &body)
      : builder(builder), group(group), loc(loc), body(body),
        entry(builder.getInsertionBlock()) {}

  void emitLoops(ArrayRef<Loop> loops, ArrayRef<unsigned> members,
                 llvm::function_ref<void()> inside);
  /// The run; `fill` is the fill that it accumulates on, if that is not in
  /// memory yet.
  void emitRun(const Run &run, const Member *fill = nullptr);

private:
  /// From `start` on, before the end of the loop.
  void emitPart(const Run &run, size_t loop, int64_t start, int64_t end,
                int64_t step, llvm::function_ref<void()> inside);
  void emitTransposition(const Run &run, const Transposition &copy);
  void emitCarried(const Run &run, ArrayRef<Loop> loops,
                   MutableArrayRef<Value> carried);
  scf::ForOp
  emitFor(Value first, Value end, int64_t step, MutableArrayRef<Value> carried,
          llvm::function_ref<void(Value, MutableArrayRef<Value>)> inside);
  void emitTurns(const Run &run, ArrayRef<Loop> loops, Value first,
                 int64_t count, MutableArrayRef<Value> carried);
  Value plus(Value first, Value turns);
  Value plus(Value first, int64_t turns);
  Value combine(const Accumulator &output, Value a, Value b);
  void fillLanes(Accumulator &output, unsigned number);
  Value addLanes(const Accumulator &output);
  void emitLaneLoop(const Run &run, Value first, int64_t firstLane,
                    int64_t turns);
  void emitLanes(const Run &run, ArrayRef<Loop> loops, Value first,
                 int64_t count, MutableArrayRef<Value> carried);
  void emitColumns(const Run &run);

  OpBuilder &builder;
  const KernelGroup &group;
  Location loc;
  BodyEmitter &body;
  Block *entry;
  /// What the current run accumulates, and what its innermost loops carry.
  SmallVector<Accumulator> outputs;
  SmallVector<const Access *> carriedAccesses;
  /// Of each, whether all that they do to it is to add numbers, in any order.
  SmallVector<bool> areSums;
  /// How many lanes the innermost loop has; 0 for none.
  int64_t numLanes = 0;
  /// Memory for lanes, by type and number.
  DenseMap<std::pair<Type, unsigned>, Value> laneMemory;
};

} // namespace

void LoopEmitter::emitLoops(ArrayRef<Loop> loops, ArrayRef<unsigned> members,
                            llvm::function_ref<void()> inside) {
  if (loops.empty())
    return inside();
  auto loop =
      scf::ForOp::create(builder, loc, body.constant(0),
                         body.constant(loops.front().size), body.constant(1));
  annotate(loop, loops.front().size, /*isInnermost=*/loops.size() == 1);
  body.bindLoop(members, loops.front(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitLoops(loops.drop_front(), members, inside);
}

/// The innermost loops, whose accumulators are `carried` in registers.
void LoopEmitter::emitCarried(const Run &run, ArrayRef<Loop> loops,
                              MutableArrayRef<Value> carried) {
  if (!loops.empty())
    return emitTurns(run, loops, body.constant(0), loops.front().size, carried);
  for (unsigned member : run.members)
    body.emitBody(member, carriedAccesses, carried);
}

/// A loop from `first` to before `end` whose accumulators are `carried`.
scf::ForOp LoopEmitter::emitFor(
    Value first, Value end, int64_t step, MutableArrayRef<Value> carried,
    llvm::function_ref<void(Value, MutableArrayRef<Value>)> inside) {
  auto loop = scf::ForOp::create(builder, loc, first, end, body.constant(step),
                                 carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    inside(loop.getInductionVar(), inner);
    if (!inner.empty())
      scf::YieldOp::create(builder, loc, inner);
  }
  llvm::copy(loop.getResults(), carried.begin());
  return loop;
}

/// How many turns, with `inside` terms each, are added up apart from others.
static int64_t getTurnsApart(int64_t turns, int64_t inside) {
  int64_t apart = kFewTerms;
  while (apart * kFewSums < turns * inside)
    apart *= kFewSums;
  return std::max<int64_t>(1, apart / inside);
}

Value LoopEmitter::plus(Value first, Value turns) {
  auto flags =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return arith::AddIOp::create(builder, loc, first, turns, flags);
}

Value LoopEmitter::plus(Value first, int64_t turns) {
  return matchPattern(first, m_Zero()) ? body.constant(turns)
                                       : plus(first, body.constant(turns));
}

Value LoopEmitter::combine(const Accumulator &output, Value a, Value b) {
  OperationState state(loc, output.combiner->getName(), {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

void LoopEmitter::fillLanes(Accumulator &output, unsigned number) {
  auto type = VectorType::get({numLanes}, output.neutral.getType());
  Value &memory = laneMemory[{type.getElementType(), number}];
  if (!memory) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    memory = memref::AllocaOp::create(
        builder, loc, MemRefType::get({kMostLanes}, type.getElementType()),
        builder.getI64IntegerAttr(64));
  }
  output.lanes = memory;
  Value none = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(output.neutral)));
  vector::StoreOp::create(builder, loc, none, memory,
                          ValueRange(body.constant(0)));
}

/// Short floats as f32.
Value LoopEmitter::addLanes(const Accumulator &output) {
  Type element = output.neutral.getType();
  auto type = VectorType::get({numLanes}, element);
  bool isShort =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  Value sum = vector::LoadOp::create(builder, loc, type, output.lanes,
                                     ValueRange(body.constant(0)));
  if (isShort)
    sum = arith::ExtFOp::create(builder, loc, type.clone(builder.getF32Type()),
                                sum);
  for (int64_t half = numLanes / 2; half > 0; half /= 2) {
    auto take = [&](int64_t first) -> Value {
      return vector::ShuffleOp::create(
          builder, loc, sum, sum,
          llvm::to_vector(llvm::seq(first, first + half)));
    };
    Value low = take(0), high = take(half);
    sum = combine(output, low, high);
  }
  sum = vector::ExtractOp::create(builder, loc, sum, 0);
  return isShort ? arith::TruncFOp::create(builder, loc, element, sum) : sum;
}

/// Iterations of the innermost loop from `first` on, each in a lane of its own.
void LoopEmitter::emitLaneLoop(const Run &run, Value first, int64_t firstLane,
                               int64_t turns) {
  auto loop =
      scf::ForOp::create(builder, loc, body.constant(firstLane),
                         body.constant(firstLane + turns), body.constant(1));
  vectorizeFirst(loop, std::max<int64_t>(1, turns / kLanesApart));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value lane = loop.getInductionVar();
  body.bindLoop(run.members, run.loops.back(), plus(first, lane));
  SmallVector<const Access *> accesses;
  SmallVector<Value> values;
  for (const Accumulator &output : outputs) {
    accesses.push_back(output.access);
    values.push_back(memref::LoadOp::create(builder, loc, output.lanes, lane));
  }
  for (unsigned member : run.members)
    body.emitBody(member, accesses, values);
  for (auto [output, value] : llvm::zip_equal(outputs, values))
    memref::StoreOp::create(builder, loc, value, output.lanes, lane);
}

/// The same with outputs in lanes. LLVM would choose an order from all that it
/// sees. It must depend only on the number of terms, so that a kernel of some
/// rows gives the bits of a kernel of all. So lanes are written out, side by
/// side in memory. LLVM makes vectors of them, and keeps these in registers.
void LoopEmitter::emitLanes(const Run &run, ArrayRef<Loop> loops, Value first,
                            int64_t count, MutableArrayRef<Value> carried) {
  size_t position = run.loops.size() - loops.size();
  SmallVector<Accumulator *> own;
  for (auto [number, output] : llvm::enumerate(outputs))
    if (output.from <= position && !output.lanes) {
      own.push_back(&output);
      fillLanes(output, number);
    }
  if (loops.size() > 1) {
    emitFor(first, plus(first, count), 1, {},
            [&](Value turn, MutableArrayRef<Value>) {
              body.bindLoop(run.members, loops.front(), turn);
              emitLanes(run, loops.drop_front(), body.constant(0),
                        loops[1].size, {});
            });
  } else {
    int64_t whole = count / numLanes * numLanes;
    if (whole > 0) {
      auto emitAll = [&](Value start, MutableArrayRef<Value>) {
        emitLaneLoop(run, start, 0, numLanes);
      };
      // Unrolled, the terms of one lane would follow each other.
      setUnroll(emitFor(first, plus(first, whole), numLanes, {}, emitAll),
                /*isFull=*/false);
    }
    // Whole vectors, so that none is indexed by a variable.
    for (int64_t lane = 0, rest = count - whole, turns; rest > 0;
         lane += turns, rest -= turns) {
      turns = llvm::bit_floor(uint64_t(rest));
      emitLaneLoop(run, plus(first, whole), lane, turns);
    }
  }
  for (Accumulator *output : own) {
    Value sum = addLanes(*output);
    output->lanes = {};
    auto slot = llvm::find(carriedAccesses, output->access);
    if (slot != carriedAccesses.end()) {
      Value &value = carried[slot - carriedAccesses.begin()];
      value = combine(*output, value, sum);
      continue;
    }
    Value address = body.emitAddress(output->member, *output->access);
    Value before = body.emitLoad(*output->access, address);
    body.emitStore(combine(*output, before, sum), *output->access, address);
  }
}

/// `count` iterations from `first` on. One sum of many terms loses small terms
/// against the sum so far. So sums of few terms are added, then sums of few of
/// these.
void LoopEmitter::emitTurns(const Run &run, ArrayRef<Loop> loops, Value first,
                            int64_t count, MutableArrayRef<Value> carried) {
  int64_t inside = 1;
  for (const Loop &loop : loops.drop_front())
    inside *= loop.size;
  bool isLong =
      llvm::is_contained(areSums, true) && count * inside > kMostTerms;
  int64_t apart = isLong ? getTurnsApart(count, inside) : count;
  auto addApart = [&](Value start, int64_t turns, MutableArrayRef<Value> sums) {
    auto own = llvm::to_vector(ValueRange(sums));
    for (auto [value, isSum] : llvm::zip_equal(own, areSums))
      if (isSum)
        value = arith::ConstantOp::create(
            builder, loc, builder.getFloatAttr(value.getType(), -0.0));
    emitTurns(run, loops, start, turns, own);
    for (auto [sum, part, isSum] : llvm::zip_equal(sums, own, areSums))
      sum = isSum ? arith::AddFOp::create(builder, loc, sum, part) : part;
  };
  if (apart < count) {
    int64_t whole = count / apart * apart;
    emitFor(first, plus(first, whole), apart, carried,
            [&](Value start, MutableArrayRef<Value> sums) {
              addApart(start, apart, sums);
            });
    if (whole < count)
      addApart(plus(first, whole), count - whole, carried);
    return;
  }
  // Parts of a sum that is split have lanes of their own.
  if (numLanes > 0 && !isLong)
    return emitLanes(run, loops, first, count, carried);
  scf::ForOp loop = emitFor(first, plus(first, count), 1, carried,
                            [&](Value turn, MutableArrayRef<Value> inner) {
                              body.bindLoop(run.members, loops.front(), turn);
                              emitCarried(run, loops.drop_front(), inner);
                            });
  if (run.areTermsApart)
    setUnroll(loop, /*isFull=*/true);
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

/// Squares, and the rest beside and below them.
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

/// Strides and sizes of the loops that are not shared and move the access.
static SmallVector<std::pair<int64_t, int64_t>>
getDigits(const Member &member, const Access &access) {
  SmallVector<std::pair<int64_t, int64_t>> digits;
  for (auto [dim, stride] : llvm::enumerate(access.strides))
    if (stride != 0 && member.nest.sizes[dim] > 1 &&
        !llvm::is_contained(member.shared, int(dim)))
      digits.push_back({stride, member.nest.sizes[dim]});
  llvm::sort(digits);
  return digits;
}

/// Whether a run only fills the accumulators of the next one, each element in
/// one iteration of its outer loops. Then the accumulators start with the
/// number itself.
static const Member *findFill(const KernelGroup &group, const Run &before,
                              const Run &run) {
  const Member &fill = group.members[before.members.front()];
  const Member &sum = group.members[run.members.front()];
  if (before.members.size() != 1 || run.members.size() != 1 ||
      !isa<linalg::FillOp>(fill.nest.op))
    return nullptr;
  const Access &filled = fill.nest.accesses.front();
  const Access *accumulated = nullptr;
  auto writes = [](const Access &access) { return access.writes; };
  if (llvm::count_if(sum.nest.accesses, writes) != 1)
    return nullptr;
  for (const Access &access : sum.nest.accesses)
    if (access.buffer.root == filled.buffer.root) {
      if (accumulated || !access.writes || !access.linear)
        return nullptr;
      accumulated = &access;
    }
  if (!accumulated || !filled.linear ||
      accumulated->buffer.offset != filled.buffer.offset ||
      accumulated->buffer.dynamicOffset != filled.buffer.dynamicOffset ||
      getDigits(sum, *accumulated) != getDigits(fill, filled))
    return nullptr;
  // Loops that move it, then at least one that does not.
  auto isStill = [&](const Loop &loop) {
    return accumulated->strides[loop.dims.front()] == 0;
  };
  auto inner = llvm::find_if(run.loops, isStill);
  return inner != run.loops.end() &&
                 std::all_of(inner, run.loops.end(), isStill)
             ? &fill
             : nullptr;
}

/// Sums over rows, in memory. Of each column few terms are added up apart, in a
/// register; these sums follow each other in the order of the rows.
void LoopEmitter::emitColumns(const Run &run) {
  size_t rowsAt = run.loops.size() - 2;
  const Loop &rows = run.loops[rowsAt], &columns = run.loops.back();
  outputs = findAccumulators(group, run, rowsAt);
  // Functions are some operations each.
  constexpr int64_t kOpsOfFunction = 16;
  int64_t numOps = 0;
  for (unsigned member : run.members)
    group.members[member].nest.op->walk([&](Operation *op) {
      numOps += isa<math::MathDialect>(op->getDialect()) ? kOpsOfFunction : 1;
    });
  int64_t atOnce = numOps > kMostOps ? 1 : kRowsAtOnce;
  for (const Accumulator &output : outputs)
    carriedAccesses.push_back(output.access);
  auto emitRows = [&](Value start, int64_t turns) {
    auto loop =
        scf::ForOp::create(builder, loc, body.constant(0),
                           body.constant(columns.size), body.constant(1));
    annotate(loop, columns.size, /*isInnermost=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body.bindLoop(run.members, columns, loop.getInductionVar());
    SmallVector<Value> values;
    for (const Accumulator &output : outputs)
      values.push_back(
          output.isSum
              ? arith::ConstantOp::create(builder, loc, output.neutral)
              : body.emitLoad(*output.access,
                              body.emitAddress(output.member, *output.access)));
    auto emitRow = [&](Value turn, MutableArrayRef<Value> inner) {
      body.bindLoop(run.members, rows, plus(start, turn));
      for (unsigned member : run.members)
        body.emitBody(member, carriedAccesses, inner);
    };
    // So that the loop around them is vectorized.
    setUnroll(
        emitFor(body.constant(0), body.constant(turns), 1, values, emitRow),
        /*isFull=*/true);
    for (auto [output, value] : llvm::zip_equal(outputs, values)) {
      Value address = body.emitAddress(output.member, *output.access);
      if (output.isSum)
        value = combine(output, body.emitLoad(*output.access, address), value);
      body.emitStore(value, *output.access, address);
    }
  };
  emitLoops(ArrayRef(run.loops).take_front(rowsAt), run.members, [&] {
    int64_t whole = rows.size / atOnce * atOnce;
    if (whole > 0)
      emitFor(body.constant(0), body.constant(whole), atOnce, {},
              [&](Value start, MutableArrayRef<Value>) {
                emitRows(start, atOnce);
              });
    if (whole < rows.size)
      emitRows(body.constant(whole), rows.size - whole);
  });
  carriedAccesses.clear();
}

void LoopEmitter::emitRun(const Run &run, const Member *fill) {
  if (std::optional<Transposition> copy = findTransposition(group, run))
    return emitTransposition(run, *copy);
  outputs = findAccumulators(group, run);
  size_t depth = run.loops.size();
  if (outputs.empty() && depth > 1 &&
      accumulates(group, run.members, run.loops[depth - 2]) &&
      !accumulates(group, run.members, run.loops[depth - 1]))
    return emitColumns(run);
  // What has an order of its own stays in memory beside lanes. It has no say in
  // them: of fewer rows it may be a kernel of its own.
  bool hasLanes =
      !outputs.empty() && !run.areTermsApart &&
      run.loops.back().size >= kFewestLanes &&
      llvm::any_of(outputs, [](const Accumulator &output) {
        return output.combiner && isa<FloatType>(output.neutral.getType());
      });
  if (hasLanes)
    llvm::erase_if(outputs,
                   [](const Accumulator &output) { return !output.combiner; });
  numLanes = hasLanes ? llvm::bit_floor(uint64_t(
                            std::min(run.loops.back().size, kMostLanes)))
                      : 0;
  for (const Accumulator &output : outputs)
    depth = std::min(depth, output.from);
  areSums.clear();
  for (const Accumulator &output : outputs)
    if (output.from == depth) {
      carriedAccesses.push_back(output.access);
      areSums.push_back(output.isSum);
    }

  emitLoops(ArrayRef(run.loops).take_front(depth), run.members, [&] {
    SmallVector<Value> carried, addresses;
    for (const Accumulator &output : outputs) {
      if (output.from != depth)
        continue;
      const Access &access = *output.access;
      addresses.push_back(body.emitAddress(output.member, access));
      bool isFilled =
          fill && access.buffer.root == fill->nest.accesses[0].buffer.root;
      carried.push_back(
          isFilled ? body.getScalar(
                         cast<linalg::FillOp>(fill->nest.op).getInputs()[0])
                   : body.emitLoad(access, addresses.back()));
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
  for (Run &run : runs) {
    run.areTermsApart = orderLoops(group, run.loops, run.members);
    coalesceLoops(group, run.loops, run.members);
  }
  loops.emitLoops(shared, all, [&] {
    const Member *fill = nullptr;
    for (auto [index, run] : llvm::enumerate(runs)) {
      const Member *own = std::exchange(fill, nullptr);
      if (index + 1 < runs.size())
        fill = findFill(group, run, runs[index + 1]);
      if (!fill)
        loops.emitRun(run, own);
    }
  });
  return Kernel{function, llvm::to_vector(body.getRoots()),
                llvm::to_vector(body.getScalars()),
                llvm::to_vector(body.getViews()), body.getStarts()};
}
