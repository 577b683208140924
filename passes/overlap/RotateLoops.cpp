//===- RotateLoops.cpp - Loops fetch what the next turn reads -------------===//
//
// Collectives that do not depend on loop-carried values (those of a layer's
// parameters that are stored sharded) are issued one iteration early, so that
// they travel beside the iteration before. Upstream's pipeliner rewrites the
// loop. This file decides for which collectives that pays.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Reads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/overlap/OverlapProblem.h"
#include "passes/overlap/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTROTATELOOPS
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
class LoopRotation {
public:
  LoopRotation(scf::ForOp loop, MeshOp mesh, StepTimes &times,
               CommNumbers &comms)
      : loop(loop), mesh(mesh), times(times), comms(comms) {}

  /// Finds the transfers that could be a turn ahead; none in most loops.
  bool findCandidates();
  /// The number of collectives, from the first on, with the best estimate;
  /// empty if no number saves the margin within the memory.
  void choose(double margin, double memory);
  std::string describe() const;
  bool pays() const { return chosen > 0; }
  LogicalResult rotate();

private:
  bool isFree(Operation *op) {
    return times.getCost(op).time.getTotal() == 0 && isMemoryEffectFree(op);
  }
  bool isFetchable(Operation *op);
  void findMakers();
  void separateMakers();

  scf::ForOp loop;
  MeshOp mesh;
  StepTimes &times;
  CommNumbers &comms;
  int64_t turns = 0;
  /// Ops that do not depend on loop-carried values.
  llvm::SmallPtrSet<Operation *, 16> fetchable;
  SmallVector<Operation *> candidates;
  size_t chosen = 0;
  /// Whether more could be sent ahead with more memory.
  bool lacksMemory = false;
  OverlapCost given, least;
  /// The ops that are moved one iteration ahead.
  llvm::SmallSetVector<Operation *, 16> ahead;
};
} // namespace

bool LoopRotation::isFetchable(Operation *op) {
  if (!isMemoryEffectFree(op) ||
      (isTransfer(op) && getWish(op, mesh) == OverlapTask::Never))
    return false;
  // Values that others read as well would have to be kept for an iteration.
  if (!isTransfer(op) && !isFree(op) && !op->hasOneUse())
    return false;
  bool hangsOnLoop = false;
  visitReads(op, [&](OpOperand &operand) {
    Value value = operand.get();
    if (value.getParentBlock() == loop.getBody() &&
        value != loop.getInductionVar() &&
        !fetchable.contains(value.getDefiningOp()))
      hangsOnLoop = true;
  });
  return !hangsOnLoop;
}

bool LoopRotation::findCandidates() {
  std::optional<APInt> count = loop.getStaticTripCount();
  if (!count || count->ult(2) || count->getActiveBits() > 62)
    return false;
  turns = count->getZExtValue();
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!isFetchable(&op))
      continue;
    fetchable.insert(&op);
    auto type = op.getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                    : RankedTensorType();
    if (isTransfer(&op) && type && type.hasStaticShape() && !op.use_empty())
      candidates.push_back(&op);
  }
  return !candidates.empty();
}

/// The problem of an iteration that gets these transfers' results from the
/// iteration before it, and issues them for the next one.
static OverlapProblem
bringAhead(OverlapProblem problem,
           const llvm::SmallPtrSetImpl<Operation *> &ops) {
  for (auto [number, transfer] : llvm::enumerate(problem.tasks)) {
    if (transfer.kind != OverlapTask::Transfer ||
        !ops.contains(transfer.ops.front()))
      continue;
    for (unsigned user : transfer.users) {
      OverlapTask &task = problem.tasks[user];
      auto *place = llvm::find(task.needs, number);
      if (place - task.needs.begin() < task.numReads)
        --task.numReads;
      task.needs.erase(place);
    }
    transfer.users.clear();
  }
  return problem;
}

/// The fastest order that needs no more than `bytes`.
static std::optional<OverlapCost> findLeast(const OverlapProblem &problem,
                                            double bytes) {
  std::optional<OverlapCost> least;
  for (const ListPolicy &policy : getListPolicies()) {
    OverlapCost cost = simulate(problem, listSchedule(problem, policy));
    if (cost.bytes <= bytes &&
        (!least || cost.getCautious() < least->getCautious()))
      least = cost;
  }
  return least;
}

void LoopRotation::choose(double margin, double memory) {
  OverlapProblem problem = buildProblem(*loop.getBody(), mesh, times, comms);
  given = simulate(problem, getGivenOrder(problem));
  double allowed = memory * given.bytes;
  std::optional<OverlapCost> best = findLeast(problem, allowed);
  // All turns, of the loop as it is.
  least = best && best->getCautious() < given.seconds ? *best : given;
  double leastSeconds = turns * least.getCautious() * (1 - margin);
  SmallVector<size_t> counts;
  for (size_t count = 1; count < candidates.size(); count *= 2)
    counts.push_back(count);
  counts.push_back(candidates.size());
  for (size_t count : counts) {
    llvm::SmallPtrSet<Operation *, 16> ops;
    double first = 0, kept = 0;
    for (Operation *op : ArrayRef(candidates).take_front(count)) {
      ops.insert(op);
      first += times.getCost(op).time.getTotal();
      kept +=
          getTensorBytes(cast<RankedTensorType>(op->getResult(0).getType()));
    }
    // Besides the loop there is a buffer for an iteration's input, and new
    // values are copied there.
    Work copy;
    copy.bytes = 2 * kept;
    std::optional<OverlapCost> cost =
        findLeast(bringAhead(problem, ops), allowed - kept);
    if (!cost) {
      lacksMemory = true;
      continue;
    }
    double turn = cost->getCautious() +
                  times.getModel().getComputeSeconds(copy) +
                  count * times.getModel().getOpSeconds();
    if (double all = first + turns * turn; all < leastSeconds) {
      leastSeconds = all;
      least = *cost;
      chosen = count;
    }
  }
}

std::string LoopRotation::describe() const {
  return llvm::formatv(
             "{0} of {1} collectives that do not depend on loop-carried values "
             "are "
             "issued one iteration early: {2:F3} ms an iteration as given "
             "({3:F3} waiting), {4:F3} ({5:F3}) at best{6}",
             chosen, candidates.size(), given.seconds * 1e3,
             given.exposed * 1e3, least.seconds * 1e3, least.exposed * 1e3,
             lacksMemory ? "; more would need more memory than allowed" : "")
      .str();
}

/// The chosen transfers, and the ops that they depend on.
void LoopRotation::findMakers() {
  llvm::SmallPtrSet<Operation *, 16> found;
  SmallVector<Operation *> pending(ArrayRef(candidates).take_front(chosen));
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!found.insert(op).second)
      continue;
    visitReads(op, [&](OpOperand &operand) {
      Operation *maker = operand.get().getDefiningOp();
      if (maker && maker->getBlock() == loop.getBody())
        pending.push_back(maker);
    });
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (found.contains(&op))
      ahead.insert(&op);
}

/// Free ops are created for both iterations; and if an op was between two
/// kernels, an op stays there.
void LoopRotation::separateMakers() {
  IRMapping copies;
  SmallVector<Operation *> free;
  llvm::SmallSetVector<Operation *, 16> separate;
  for (Operation *op : ahead) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    if (isFree(op)) {
      separate.insert(builder.clone(*op, copies));
      free.push_back(op);
      continue;
    }
    visitReads(op, [&](OpOperand &operand) {
      operand.set(copies.lookupOrDefault(operand.get()));
    });
    FenceOp::create(builder, op->getLoc());
    separate.insert(op);
  }
  for (Operation *op : llvm::reverse(free))
    if (op->use_empty())
      op->erase();
  ahead = std::move(separate);
}

namespace {
/// The arithmetic that upstream writes for places in the loop.
struct PlaceCounter : RewriterBase::Listener {
  SmallVector<Operation *> ops;

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (isa<arith::ArithDialect>(op->getDialect()) &&
        op->getResult(0).getType().isIntOrIndex())
      ops.push_back(op);
  }
  void notifyOperationErased(Operation *op) override { llvm::erase(ops, op); }
  void fold() {
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(ops, FrozenRewritePatternSet(), config);
  }
};
} // namespace

LogicalResult LoopRotation::rotate() {
  findMakers();
  separateMakers();
  scf::PipeliningOption options;
  options.getScheduleFn =
      [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &schedule) {
        for (Operation *op : ahead)
          schedule.push_back({op, 0});
        for (Operation &op : loop.getBody()->without_terminator())
          if (!ahead.contains(&op))
            schedule.push_back({&op, 1});
      };
  // The last turn comes after the loop, where other kernels are.
  Operation *last = nullptr;
  options.annotateFn =
      [&](Operation *op, scf::PipeliningOption::PipelinerPart part, unsigned) {
        if (part == scf::PipeliningOption::PipelinerPart::Epilogue)
          last = op;
      };
  PlaceCounter places;
  IRRewriter rewriter(loop->getContext(), &places);
  rewriter.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  FenceOp::create(rewriter, loc);
  if (failed(scf::pipelineForLoop(rewriter, loop, options)))
    return emitError(loc) << "--dist-rotate-loops: cannot be pipelined";
  if (last) {
    rewriter.setInsertionPointAfter(last);
    FenceOp::create(rewriter, loc);
  }
  // Counts of turns are constants, which all that counts work relies on.
  places.fold();
  return success();
}

namespace {
struct RotateLoops : mlir::dist::impl::DistRotateLoopsBase<RotateLoops> {
  using DistRotateLoopsBase::DistRotateLoopsBase;

  void runOnOperation() override {
    FailureOr<Machine> machine = loadMachine(
        getOperation().getLoc(), "--dist-rotate-loops", machineName, link);
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(machine) || failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    StepTimes times(getOperation(), *machine, *mesh);
    CommNumbers comms;
    // Inner loops first: their initial values may be moved as well.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      LoopRotation rotation(loop, *mesh, times, comms);
      if (!rotation.findCandidates())
        continue;
      rotation.choose(margin, memory);
      if (report)
        emitRemark(loop.getLoc())
            << (rotation.pays() ? "rotated: " : "left as it is: ")
            << rotation.describe();
      if (rotation.pays() && failed(rotation.rotate()))
        return signalPassFailure();
    }
  }
};
} // namespace
