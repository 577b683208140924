//===- JoinHalos.cpp - Layers that follow each other exchange once --------===//
//
// Dynamic programming over the levels of a chain chooses the exchanges to join.
// Groups of consecutive levels are independent, since no group needs more rows
// of an exchange outside of it. (Communication-avoiding stencils: Demmel,
// Hoemmen, Mohiyuddin, Yelick, "Avoiding communication in sparse matrix
// computations", IPDPS 2008; for convolutions, fused tiles: Alwani, Chen,
// Ferdman, Milder, "Fused-layer CNN accelerators", MICRO 2016.)
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/bounds/Bounds.h"
#include "passes/halos/JoinedWriter.h"
#include "passes/halos/Passes.h"
#include "passes/halos/SeparateRows.h"
#include "passes/overlap/OverlapProblem.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTJOINHALOS
#include "passes/halos/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The groups that a chain falls into.
class ChainChoice {
public:
  ChainChoice(HaloChains &chains, unsigned chain, unsigned layers, bool byTime);

  /// Those of several levels.
  std::vector<JoinedHalos> takeGroups();
  std::string describe();

private:
  void findGroups();
  void findGroupsTo(unsigned end);
  std::optional<JoinedHalos> join(unsigned first, unsigned end) const {
    return HaloGroup::join(chains, chain, first + 1, end);
  }
  double getCost(const JoinedHalos &joined) const;
  /// Seconds more than apart with so many levels in each group but the last.
  std::optional<double> getEqualGroups(unsigned size) const;

  HaloChains &chains;
  unsigned chain, layers, levels;
  bool byTime;
  /// For the first so many levels: their lowest cost, and the first level of
  /// their last group.
  std::vector<double> best;
  std::vector<unsigned> from;
  std::vector<JoinedHalos> chosen;
};
} // namespace

ChainChoice::ChainChoice(HaloChains &chains, unsigned chain, unsigned layers,
                         bool byTime)
    : chains(chains), chain(chain), levels(chains.countLevels(chain)),
      byTime(byTime), best(levels + 1, 0), from(levels + 1, 0) {
  this->layers = std::min(layers, levels);
  findGroups();
  for (unsigned end = levels; end > 0; end = from[end])
    chosen.push_back(*join(from[end], end));
  std::reverse(chosen.begin(), chosen.end());
}

void ChainChoice::findGroups() {
  // As few exchanges as there can be: one, and nothing else need be tried.
  if (!byTime && layers == levels && join(0, levels)) {
    from[levels] = 0;
    return;
  }
  for (unsigned end = 1; end <= levels; ++end)
    findGroupsTo(end);
}

/// Finds the group that ends with a level and is best together with what is
/// before it.
///
/// The additional cost of joining two levels is a lower bound for all groups
/// that contain both, since the ops in between compute at least as many more
/// rows. So if it is not negative, larger groups need not be tried.
///
/// They need not be tried either if they cannot be best. Cut in two behind the
/// first level of this group, a larger group costs the same except for the
/// additional cost of these two levels. Its front part is at most as good as
/// `best`. So no walk is much longer than twice the best group, however many
/// levels there are. For a group that may still grow, costs are lower bounds.
void ChainChoice::findGroupsTo(unsigned end) {
  HaloGroup group(chains, chain, end);
  double before = std::numeric_limits<double>::infinity();
  for (unsigned size = 1; size <= std::min(layers, end); ++size) {
    unsigned first = end - size;
    if (size > 1)
      group.extend();
    bool isPossible = group.isPossible();
    double cost = getCost(group.get());
    double least = cost - group.get().headSeconds;
    if (byTime && size > 1 && best[first + 1] + least >= best[end])
      return;
    if (group.isUncertain() && !group.isAtEnd()) {
      HaloGroup::AsItIs settled(group);
      isPossible = group.isPossible();
      cost = getCost(group.get());
    }
    if (isPossible && (size == 1 || best[first] + cost < best[end])) {
      best[end] = best[first] + cost;
      from[end] = first;
    }
    if (group.isAtEnd() || (byTime && least >= before))
      return;
    before = isPossible ? cost : std::numeric_limits<double>::infinity();
  }
}

double ChainChoice::getCost(const JoinedHalos &joined) const {
  if (byTime)
    return joined.getSeconds();
  // As few exchanges as there can be, then as few rows twice.
  return joined.rowsTwice - 1e9 * joined.wider.size();
}

std::optional<double> ChainChoice::getEqualGroups(unsigned size) const {
  double seconds = 0;
  for (unsigned first = 0; first < levels; first += size) {
    std::optional<JoinedHalos> joined =
        join(first, std::min(first + size, levels));
    if (!joined)
      return std::nullopt;
    seconds += joined->getSeconds();
  }
  return seconds;
}

std::vector<JoinedHalos> ChainChoice::takeGroups() {
  llvm::erase_if(chosen,
                 [](const JoinedHalos &group) { return group.joined.empty(); });
  return std::move(chosen);
}

std::string ChainChoice::describe() {
  std::string text, sizes;
  int64_t rows = 0, bytes = 0;
  double seconds = 0;
  unsigned end = levels;
  for (const JoinedHalos &joined : llvm::reverse(chosen)) {
    unsigned size = end - from[end];
    end -= size;
    sizes = std::to_string(size) + (sizes.empty() ? "" : " + ") + sizes;
    rows += joined.rowsTwice;
    bytes += joined.bytes;
    seconds += joined.getSeconds();
  }
  llvm::raw_string_ostream os(text);
  os << "halos of " << levels << " layers that follow each other, one exchange "
     << "for " << sizes << ": ";
  if (byTime) {
    double apart = 0;
    for (unsigned number : chains.getChain(chain))
      apart += chains.getSeconds(number);
    os << llvm::formatv("apart {0:F3} ms", apart * 1e3);
    // All small ones; then ever larger, so that long chains take no square.
    for (unsigned size = 2; size <= layers;
         size = size < kAllGroupsUpTo ? size + 1 : 2 * size) {
      std::optional<double> more = getEqualGroups(size);
      os << ", by " << size << " ";
      if (more)
        os << llvm::formatv("{0:F3}", (apart + *more) * 1e3);
      else
        os << "not possible";
    }
    os << llvm::formatv(", as chosen {0:F3} with what is computed twice; ",
                        (apart + seconds) * 1e3);
  }
  os << rows << " rows of inputs are computed twice, and " << std::abs(bytes)
     << " bytes " << (bytes > 0 ? "more" : "less") << " are sent";
  return text;
}

/// Exchanges a value before it gets other dimensions of size 1: others read the
/// same rows in the old shape, as residuals around a depthwise convolution do.
static void moveBeforeReshapes(HaloExchangeOp op) {
  auto expand = op.getOperand().getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand || expand->getBlock() != op->getBlock() ||
      op->hasAttr(kFixedRowsAttr) ||
      !op.getResult().getType().hasStaticShape())
    return;
  auto isRows = [&](const ReassociationIndices &group) {
    return llvm::is_contained(group, static_cast<int64_t>(op.getDim()));
  };
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  auto group = llvm::find_if(groups, isRows);
  RankedTensorType narrow = expand.getSrcType();
  int64_t dim = group - groups.begin();
  if (narrow.getDimSize(dim) !=
      op.getOperand().getType().getDimSize(op.getDim()))
    return;
  OpBuilder b(op);
  SmallVector<int64_t> shape(narrow.getShape());
  shape[dim] += op.getLow() + op.getHigh();
  auto before = HaloExchangeOp::create(
      b, op.getLoc(), narrow.clone(shape), expand.getSrc(),
      b.getI64IntegerAttr(dim), op.getSizeAttr(), op.getLowAttr(),
      op.getHighAttr(), op.getBoundaryAttr(), op.getAxesAttr(),
      op.getMeshAttr(), op.getCauseAttr());
  before->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  auto after = tensor::ExpandShapeOp::create(
      b, expand.getLoc(), op.getResult().getType(), before.getResult(), groups);
  after->setDiscardableAttrs(expand->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(after.getResult());
  op.erase();
  if (expand->use_empty())
    expand->erase();
}

namespace {
struct JoinHalos : mlir::dist::impl::DistJoinHalosBase<JoinHalos> {
  using DistJoinHalosBase::DistJoinHalosBase;

  void joinAlong(Block &block, const DeviceLine &line, StepTimes *times) {
    HaloChains chains(block, line, times);
    std::vector<JoinedHalos> groups;
    for (unsigned chain = 0; chain < chains.countChains(); ++chain) {
      ChainChoice choice(chains, chain, layers, times != nullptr);
      if (report)
        emitRemark(chains.halos[chains.getChain(chain).front()].op.getLoc())
            << choice.describe();
      llvm::append_range(groups, choice.takeGroups());
    }
    if (report)
      for (ChainedHalo &halo : chains.halos)
        if (!halo.why.empty())
          emitRemark(halo.op.getLoc())
              << "halo not joined with one before it: " << halo.why;
    writeJoined(chains, line, groups);
  }

  /// Whether rows were merged with others where chains would go on.
  bool separate(const MeshLayout &layout, ArrayAttr axes,
                ArrayRef<Block *> blocks) {
    DeviceLine line(getOperation(), layout, axes);
    if (line.getDevices() == 1)
      return false;
    llvm::SetVector<tensor::ExpandShapeOp> merged;
    for (Block *block : blocks)
      merged.insert_range(
          HaloChains(*block, line, /*times=*/nullptr).getMerged());
    return separateRows(merged.getArrayRef());
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Location loc = module.getLoc();
    if (join != "auto" && join != "always") {
      emitError(loc) << "--dist-join-halos: join=" << join
                     << ": expected auto or always";
      return signalPassFailure();
    }
    if (layers < 1) {
      emitError(loc) << "--dist-join-halos: layers=" << layers.getValue()
                     << ": expected 1 or more";
      return signalPassFailure();
    }
    FailureOr<MeshOp> mesh = findProgramMesh(module);
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    FailureOr<Machine> machine = Machine();
    if (join == "auto")
      machine = loadMachine(loc, "--dist-join-halos", machineName, link);
    if (failed(machine))
      return signalPassFailure();
    SmallVector<HaloExchangeOp> halos;
    module.walk([&](HaloExchangeOp op) { halos.push_back(op); });
    llvm::for_each(halos, moveBeforeReshapes);
    // One dimension after the other.
    llvm::MapVector<Attribute, llvm::SetVector<Block *>> lines;
    module.walk([&](HaloExchangeOp op) {
      lines[op.getAxesAttr()].insert(op->getBlock());
    });
    MeshLayout layout(*mesh);
    StepTimes times(module, *machine, *mesh);
    for (auto &[axes, blocks] : lines) {
      // Separate dimensions may be merged further up.
      for (unsigned round = 0; round < kMostMerges; ++round)
        if (!separate(layout, cast<ArrayAttr>(axes), blocks.getArrayRef()))
          break;
      DeviceLine line(module, layout, cast<ArrayAttr>(axes));
      if (line.getDevices() > 1)
        for (Block *block : blocks)
          joinAlong(*block, line, join == "auto" ? &times : nullptr);
    }
  }
};
} // namespace
