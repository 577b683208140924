//===- KernelEmitter.cpp - A group of loop nests as a function ------------===//

#include "lowering/cpu/KernelEmitter.h"
#include "lowering/buffers/Sums.h"
#include "lowering/cpu/LoopOrder.h"
#include "lowering/cpu/TransposeLoops.h"
#include "lowering/kernels/BodyEmitter.h"
#include "lowering/kernels/KernelLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

/// Sums of few terms (Sums.h) are added up so many at a time.
static constexpr int64_t kFewSums = 64;

/// A loop that accumulates a sum uses vectors of at most so many elements, and
/// so many separate accumulators, if it is long enough.
static constexpr int64_t kLanes = 16, kVectorsAtOnce = 4;

/// How many turns of a loop LLVM may make a row of.
static constexpr int64_t kLongestRow = 128;

namespace {

/// The loops of one kernel, on one core.
class LoopEmitter {
public:
  LoopEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              BodyEmitter &body)
      : builder(builder), group(group), loc(loc), body(body) {}

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
  void emitFor(Value first, Value end, int64_t step,
               MutableArrayRef<Value> carried,
               llvm::function_ref<void(Value, MutableArrayRef<Value>)> inside);
  void emitTurns(const Run &run, ArrayRef<Loop> loops, Value first,
                 int64_t count, MutableArrayRef<Value> carried);

  OpBuilder &builder;
  const KernelGroup &group;
  Location loc;
  BodyEmitter &body;
  /// Outputs that the innermost loops of the current run carry.
  SmallVector<const Access *> carriedAccesses;
  /// Whether all that they do to them is to add numbers, in any order.
  bool carriesSums = false;
};

} // namespace

/// LLVM's options for a loop.
static LLVM::LoopAnnotationAttr
getAnnotation(MLIRContext *context, LLVM::LoopVectorizeAttr vectorize,
              LLVM::LoopInterleaveAttr interleave, LLVM::LoopUnrollAttr unroll,
              BoolAttr isVectorized) {
  return LLVM::LoopAnnotationAttr::get(
      context, /*disableNonforced=*/{}, vectorize, interleave, unroll,
      /*unrollAndJam=*/{}, /*licm=*/{}, /*distribute=*/{}, /*pipeline=*/{},
      /*peeled=*/{}, /*unswitch=*/{}, /*mustProgress=*/{}, isVectorized,
      /*startLoc=*/{}, /*endLoc=*/{}, /*parallelAccesses=*/{});
}

/// LLVM fully unrolls short loops with small bodies before it vectorizes, and
/// then finds other vectors or no vectors. This forbids it, so that the loop
/// vectorizer sees them first. Of loops around others, copies would be most of
/// the code and of the time to compile it. `interleave`: null if LLVM may
/// choose.
static void annotate(scf::ForOp loop, int64_t count, bool isInnermost,
                     LLVM::LoopInterleaveAttr interleave = {}) {
  MLIRContext *context = loop.getContext();
  LLVM::LoopVectorizeAttr vectorize;
  LLVM::LoopUnrollAttr unroll;
  if (count > kLanes && (count <= kLongestRow || !isInnermost)) {
    auto yes = BoolAttr::get(context, true);
    unroll = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/yes, /*count=*/{}, /*runtimeDisable=*/{},
        /*full=*/{}, /*followupUnrolled=*/{}, /*followupRemainder=*/{},
        /*followupAll=*/{});
    vectorize = LLVM::LoopVectorizeAttr::get(
        context, /*disable=*/{}, /*predicateEnable=*/{},
        /*scalableEnable=*/{}, /*width=*/{}, /*followupVectorized=*/
        getAnnotation(context, {}, {}, {}, /*isVectorized=*/yes),
        /*followupEpilogue=*/{}, /*followupAll=*/{});
  }
  if (interleave || unroll)
    loop->setAttr(kLoopAnnotationAttr,
                  getAnnotation(context, vectorize, interleave, unroll,
                                /*isVectorized=*/{}));
}

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

/// LLVM would choose the number of separate accumulators from the rest of the
/// loop and the positions of its buffers. But the order in which a row is
/// summed must depend only on its length, so that a kernel of some rows gives
/// the bits of a kernel of all.
static void fixOrder(scf::ForOp loop) {
  std::optional<APInt> count = loop.getStaticTripCount();
  if (!count)
    return;
  int64_t vectors = llvm::bit_floor(uint64_t(
      std::clamp<int64_t>(count->getZExtValue() / kLanes, 1, kVectorsAtOnce)));
  Builder builder(loop.getContext());
  annotate(loop, count->getZExtValue(), /*isInnermost=*/true,
           LLVM::LoopInterleaveAttr::get(loop.getContext(),
                                         builder.getI32IntegerAttr(vectors)));
}

/// A loop from `first` to before `end` whose accumulators are `carried`.
void LoopEmitter::emitFor(
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
  if (carriesSums)
    fixOrder(loop);
  llvm::copy(loop.getResults(), carried.begin());
}

/// How many turns, with `inside` terms each, are added up apart from others.
static int64_t getTurnsApart(int64_t turns, int64_t inside) {
  int64_t apart = kFewTerms;
  while (apart * kFewSums < turns * inside)
    apart *= kFewSums;
  return std::max<int64_t>(1, apart / inside);
}

/// `count` iterations from `first` on. One sum of many terms loses small terms
/// against the sum so far. So sums of few terms are added, then sums of few of
/// these.
void LoopEmitter::emitTurns(const Run &run, ArrayRef<Loop> loops, Value first,
                            int64_t count, MutableArrayRef<Value> carried) {
  int64_t inside = 1;
  for (const Loop &loop : loops.drop_front())
    inside *= loop.size;
  int64_t apart = carriesSums && count * inside > kMostTerms
                      ? getTurnsApart(count, inside)
                      : count;
  auto plus = [&](int64_t turns) -> Value {
    if (matchPattern(first, m_Zero()))
      return body.constant(turns);
    auto flags =
        arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
    return arith::AddIOp::create(builder, loc, first, body.constant(turns),
                                 flags);
  };
  auto addApart = [&](Value start, int64_t turns, MutableArrayRef<Value> sums) {
    SmallVector<Value> own;
    for (Value sum : sums)
      own.push_back(arith::ConstantOp::create(
          builder, loc, builder.getFloatAttr(sum.getType(), -0.0)));
    emitTurns(run, loops, start, turns, own);
    for (auto [sum, part] : llvm::zip_equal(sums, own))
      sum = arith::AddFOp::create(builder, loc, sum, part);
  };
  if (apart < count) {
    int64_t whole = count / apart * apart;
    emitFor(first, plus(whole), apart, carried,
            [&](Value start, MutableArrayRef<Value> sums) {
              addApart(start, apart, sums);
            });
    if (whole < count)
      addApart(plus(whole), count - whole, carried);
    return;
  }
  emitFor(first, plus(count), 1, carried,
          [&](Value turn, MutableArrayRef<Value> inner) {
            body.bindLoop(run.members, loops.front(), turn);
            emitCarried(run, loops.drop_front(), inner);
          });
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

/// Whether floats are added up there, in an order that is the compiler's
/// choice.
static bool isSum(const LoopNest &nest, const Access &access) {
  auto op = dyn_cast<linalg::LinalgOp>(nest.op);
  if (!op || nest.isOrdered)
    return false;
  OpOperand &init = nest.op->getOpOperand(access.operand);
  BlockArgument accumulator = op.getMatchingBlockArgument(&init);
  return isSum(op.getMatchingYieldValue(&init)->get(), accumulator);
}

void LoopEmitter::emitRun(const Run &run, const Member *fill) {
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
  carriesSums = true;
  for (auto [from, index, access] : still)
    if (from == depth) {
      carriedAccesses.push_back(access);
      carriesSums &= isSum(group.members[index].nest, *access);
    }

  emitLoops(ArrayRef(run.loops).take_front(depth), run.members, [&] {
    SmallVector<Value> carried, addresses;
    for (auto [from, index, access] : still) {
      if (from != depth)
        continue;
      addresses.push_back(body.emitAddress(index, *access));
      bool isFilled =
          fill && access->buffer.root == fill->nest.accesses[0].buffer.root;
      carried.push_back(
          isFilled ? body.getScalar(
                         cast<linalg::FillOp>(fill->nest.op).getInputs()[0])
                   : body.emitLoad(*access, addresses.back()));
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
    orderLoops(group, run.loops, run.members);
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
