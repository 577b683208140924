//===- PlacesTest.cpp - Where reshards are, against exhaustive search -----===//
//
// Random modules after --dist-insert-reshards: no other places of reshards may
// send fewer bytes. Ops that combine elements keep the factors that were chosen
// for them. Ops that only move elements, or compute them one by one, may have
// any. The best places are found by dynamic programming over all ways to shard
// these ops, in program order, with the copies that each value then has.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/spmd/graph/PlacementGraph.h"
#include "passes/spmd/reshard/ReshardPlan.h"
#include "test/generator/Check.h"
#include "test/generator/Fuzz.h"
#include "llvm/ADT/MapVector.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

static constexpr StringLiteral kNumber = "test.number";

namespace {
/// The placements of a value that are there so far, sorted.
using Copies = SmallVector<ShardingAttr, 2>;

/// One way to place an op: its operands, and its results.
struct Way {
  SmallVector<ShardingAttr, 4> operands, results;
  /// What moving rows on takes, where something is put in front of them.
  int64_t bytes = 0;
};

/// A module of one block of ops on tensors of known sizes.
class Search {
public:
  /// `placed` is `module` after --dist-insert-reshards.
  Search(func::FuncOp function, func::FuncOp placed, MeshOp mesh)
      : function(function), layout(mesh), planner(layout) {
    readPlaced(placed);
  }

  /// Whether the search can be complete.
  bool isSupported();
  /// The fewest bytes; nullopt where there are too many ways.
  std::optional<int64_t> run();
  /// What the reshards of the placed program send.
  int64_t getPlacedBytes() const { return placedBytes; }

private:
  void readPlaced(func::FuncOp placed);
  int64_t getBytes(Value value, ShardingAttr from, ShardingAttr to);
  int64_t getPadBytes(Operation *op, const Way &way) const;
  bool isMovable(Operation *op, const ShardingRule &rule) const;
  SmallVector<Way> getWays(Operation *op, const ShardingRule &rule);
  void addWays(Operation *op, const ShardingRule &rule,
               ArrayRef<DimShardingAttr> factors, ArrayRef<AxisRefAttr> unused,
               SmallVectorImpl<Way> &ways);

  func::FuncOp function;
  MeshLayout layout;
  ReshardPlanner planner;
  int64_t placedBytes = 0;
  bool isWhole = true;
  /// By number of the op: how it was placed.
  std::map<int64_t, Way> chosen;
  SmallVector<ShardingAttr> arguments;
  Way returned;
  llvm::SmallSetVector<AxisRefAttr, 4> axes;
  llvm::SmallSetVector<std::pair<int, Attribute>, 4> pendings;
  std::map<std::tuple<const void *, const void *, const void *>, int64_t> known;
};
} // namespace

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

void Search::readPlaced(func::FuncOp placed) {
  auto getPlacement = [&](Value value) -> ShardingAttr {
    if (!isTensor(value))
      return {};
    if (auto argument = dyn_cast<BlockArgument>(value))
      return placed.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                   kShardingAttr);
    auto list = value.getDefiningOp()->getAttrOfType<ArrayAttr>(kShardingsAttr);
    return list ? dyn_cast<ShardingAttr>(
                      list[cast<OpResult>(value).getResultNumber()])
                : ShardingAttr();
  };
  auto note = [&](ShardingAttr sharding) {
    if (!sharding)
      return;
    for (DimShardingAttr dim : sharding.getDims()) {
      isWhole &= dim.getSubDims().size() <= 1;
      for (AxisRefAttr axis : dim.getAllAxes())
        isWhole &= axis.getSize() == 0;
    }
    for (AxisRefAttr axis : sharding.getPartialAxes())
      isWhole &= axis.getSize() == 0;
  };
  for (MeshAxisAttr axis : layout.getAxes())
    if (axis.getSize() > 1)
      axes.insert(AxisRefAttr::get(layout.getContext(), axis.getName(), 1, 0));
  for (BlockArgument argument : placed.getArguments()) {
    arguments.push_back(getPlacement(argument));
    note(arguments.back());
    isWhole &= !isTensor(argument) || arguments.back();
  }
  for (Operation &op : placed.getBody().front()) {
    Way way;
    for (Value operand : op.getOperands())
      way.operands.push_back(getPlacement(operand));
    for (Value result : op.getResults()) {
      way.results.push_back(getPlacement(result));
      note(way.results.back());
    }
    if (auto reshard = dyn_cast<ReshardOp>(op))
      placedBytes += getBytes(reshard.getOperand(), reshard.getSource(),
                              reshard.getSharding());
    else if (isa<func::ReturnOp>(op))
      returned = way;
    else if (auto number = op.getAttrOfType<IntegerAttr>(kNumber))
      chosen[number.getInt()] = way;
  }
}

bool Search::isSupported() {
  if (!isWhole || axes.size() > 2)
    return false;
  unsigned ops = 0;
  for (Operation &op : function.getBody().front()) {
    auto isKnown = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return !tensor || tensor.hasStaticShape();
    };
    if (!llvm::all_of(op.getOperandTypes(), isKnown) ||
        !llvm::all_of(op.getResultTypes(), isKnown))
      return false;
    if (op.getNumRegions() && !isa<linalg::LinalgOp, tensor::PadOp>(op))
      return false;
    if (isa<ShardingConstraintOp, SyncOp>(op))
      return false;
    ops += !isa<func::ReturnOp>(op) && op.getNumResults() &&
           isTensor(op.getResult(0)) && !isFreeValue(op.getResult(0));
  }
  return ops > 1 && ops <= 12;
}

int64_t Search::getBytes(Value value, ShardingAttr from, ShardingAttr to) {
  if (from == to)
    return 0;
  auto type = cast<RankedTensorType>(value.getType());
  auto [at, isNew] =
      known.try_emplace({type.getAsOpaquePointer(), from.getAsOpaquePointer(),
                         to.getAsOpaquePointer()},
                        -1);
  if (!isNew)
    return at->second;
  const ReshardRoute *route = planner.get(type, from, to);
  if (!route)
    return at->second = -1;
  int64_t bytes = 0;
  for (const ReshardLeg &leg : route->legs)
    for (const ReshardStep &step : leg.steps)
      bytes += step.bytes;
  return at->second = bytes;
}

/// The first element of each device's block of a dimension, and how many
/// elements a block has.
static std::pair<SmallVector<int64_t>, int64_t>
getBlocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size) {
  SmallVector<int64_t> starts{0};
  for (AxisRefAttr axis : dim.getAllAxes()) {
    size = llvm::divideCeil(size, layout.size(axis));
    SmallVector<int64_t> next;
    for (int64_t start : starts)
      for (int64_t i = 0; i < layout.size(axis); ++i)
        next.push_back(start + i * size);
    starts = next;
  }
  return {starts, size};
}

/// The rows that each device's part of a padded dimension has, and that its
/// part of the operand does not. They come from the devices beside it; from all
/// devices if that is fewer bytes, or if those beside it do not have them.
int64_t Search::getPadBytes(Operation *op, const Way &way) const {
  auto pad = dyn_cast<tensor::PadOp>(op);
  if (!pad || !way.operands[0])
    return 0;
  int64_t sum = 0;
  RankedTensorType type = pad.getSourceType();
  auto local = layout.localType(type, way.operands[0]);
  for (auto [dim, sharding] : llvm::enumerate(way.operands[0].getDims())) {
    int64_t front = pad.getStaticLow()[dim];
    if (sharding == layout.none() ||
        (front == 0 && pad.getStaticHigh()[dim] == 0))
      continue;
    int64_t size = type.getDimSize(dim);
    auto [starts, block] = getBlocks(layout, sharding, size);
    auto [padded, paddedBlock] =
        getBlocks(layout, sharding, pad.getType().getDimSize(dim));
    int64_t low = 0, high = 0, p = starts.size();
    bool isFar = false;
    for (int64_t i = 0; i < p; ++i) {
      isFar |= starts[i] != i * block || padded[i] != i * paddedBlock;
      for (int64_t row = padded[i] - front;
           row < padded[i] - front + paddedBlock; ++row)
        if (row >= 0 && row < size) {
          low = std::max(low, starts[i] - row);
          high = std::max(high, row - starts[i] - block + 1);
        }
    }
    // What the busiest device sends to those around it, which may be several.
    int64_t rows = 0;
    for (int64_t i = 0; i < p; ++i) {
      int64_t sent = 0;
      for (int64_t other = 0; other < p; ++other)
        if (other != i)
          sent += std::clamp<int64_t>((other < i ? high : low) -
                                          (std::abs(other - i) - 1) * block,
                                      0, block);
      rows = std::max(rows, sent);
    }
    int64_t others = (p - 1) * block;
    if (isFar || (rows >= others && low + high > others))
      rows = others;
    sum += getTensorBytes(local) / block * rows;
  }
  return sum;
}

/// Ops whose elements are each made of one of each operand.
bool Search::isMovable(Operation *op, const ShardingRule &rule) const {
  return op->getNumResults() == 1 && !rule.isContraction &&
         llvm::none_of(rule.factors, [](const Factor &factor) {
           return factor.kind == FactorKind::Reduction;
         });
}

void Search::addWays(Operation *op, const ShardingRule &rule,
                     ArrayRef<DimShardingAttr> factors,
                     ArrayRef<AxisRefAttr> unused, SmallVectorImpl<Way> &ways) {
  MLIRContext *context = layout.getContext();
  SmallVector<DimShardingAttr, 4> dims;
  auto make = [&](ArrayRef<bool> passed, ReductionKind kind,
                  ArrayRef<AxisRefAttr> partial) {
    Way way;
    auto place = [&](Value value, const TensorRule &tensor, bool isPending) {
      if (!isTensor(value)) {
        return ShardingAttr();
      }
      if (!rule.joinDims(layout, tensor, factors, dims))
        return ShardingAttr();
      return ShardingAttr::get(context, layout.getName(), dims,
                               isPending ? kind : ReductionKind::Sum,
                               isPending ? partial : ArrayRef<AxisRefAttr>());
    };
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      way.operands.push_back(
          place(operand, rule.operands[i], !passed.empty() && passed[i]));
      if (isTensor(operand) && !way.operands.back())
        return;
    }
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      way.results.push_back(place(result, rule.results[i], !passed.empty()));
      if (isTensor(result) && !way.results.back())
        return;
    }
    ways.push_back(std::move(way));
  };
  make({}, ReductionKind::Sum, {});
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || pendings.empty())
    return;
  SmallVector<unsigned> tied;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (isTensor(operand) && !isFreeValue(operand))
      tied.push_back(i);
  if (tied.size() > 3)
    return;
  for (unsigned set = 1; set < 1u << tied.size(); ++set) {
    SmallVector<bool> passed(op->getNumOperands(), false);
    for (unsigned i = 0; i < tied.size(); ++i)
      passed[tied[i]] = set >> i & 1;
    for (auto [kindNumber, list] : pendings) {
      auto kind = ReductionKind(kindNumber);
      SmallVector<AxisRefAttr> partial;
      for (Attribute axis : cast<ArrayAttr>(list))
        partial.push_back(cast<AxisRefAttr>(axis));
      if (llvm::any_of(partial,
                       [&](AxisRefAttr axis) {
                         return !llvm::is_contained(unused, axis);
                       }) ||
          iface.getPartialResult(passed, kind) != PartialResult::Partial)
        continue;
      make(passed, kind, partial);
    }
  }
}

SmallVector<Way> Search::getWays(Operation *op, const ShardingRule &rule) {
  if (!isMovable(op, rule)) {
    auto found = chosen.find(op->getAttrOfType<IntegerAttr>(kNumber).getInt());
    if (found == chosen.end())
      return {};
    return {found->second};
  }
  SmallVector<Way> ways;
  MLIRContext *context = layout.getContext();
  SmallVector<DimShardingAttr, 8> factors(rule.factors.size(), layout.none());
  SmallVector<SmallVector<AxisRefAttr>> lists(rule.factors.size());
  SmallVector<AxisRefAttr> unused;
  // Every axis shards a factor or none, in every order.
  auto assign = [&](auto &&self, size_t next) -> void {
    if (next == axes.size()) {
      for (auto [list, factor, known] :
           llvm::zip_equal(lists, factors, rule.factors)) {
        factor =
            list.empty()
                ? layout.none()
                : layout.canonical(
                      DimShardingAttr::get(context, ArrayRef<AxisRefAttr>(list),
                                           /*isOpen=*/false),
                      known.size);
        if (!factor || !known.accepts(layout, factor))
          return;
      }
      addWays(op, rule, factors, unused, ways);
      return;
    }
    AxisRefAttr axis = axes[next];
    unused.push_back(axis);
    self(self, next + 1);
    unused.pop_back();
    for (auto [list, known] : llvm::zip_equal(lists, rule.factors)) {
      if (known.kind != FactorKind::Parallel)
        continue;
      for (size_t at = 0; at <= list.size(); ++at) {
        list.insert(list.begin() + at, axis);
        self(self, next + 1);
        list.erase(list.begin() + at);
      }
    }
  };
  assign(assign, 0);
  return ways;
}

std::optional<int64_t> Search::run() {
  constexpr size_t kMostStates = 60'000;
  MLIRContext *context = layout.getContext();
  Block &block = function.getBody().front();
  for (auto &[number, way] : chosen)
    for (ShardingAttr result : way.results)
      if (result && result.isPartial()) {
        SmallVector<Attribute> list(result.getPartialAxes());
        pendings.insert(
            {int(result.getPartialKind()), ArrayAttr::get(context, list)});
      }
  // Values that are still to be used, in a fixed order; their last users.
  llvm::MapVector<Value, Operation *> lastUser;
  auto noteUses = [&](Value value) {
    if (!isTensor(value) || isFreeValue(value))
      return;
    Operation *last = nullptr;
    for (Operation *user : value.getUsers()) {
      user = block.findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(user))
        last = user;
    }
    if (last)
      lastUser[value] = last;
  };
  for (BlockArgument argument : function.getArguments())
    noteUses(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      noteUses(result);

  using State = std::vector<std::pair<unsigned, Copies>>;
  auto byPointer = [](ShardingAttr a, ShardingAttr b) {
    return a.getAsOpaquePointer() < b.getAsOpaquePointer();
  };
  struct Less {
    bool operator()(const State &a, const State &b) const {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(),
          [](const auto &x, const auto &y) {
            if (x.first != y.first)
              return x.first < y.first;
            return std::lexicographical_compare(
                x.second.begin(), x.second.end(), y.second.begin(),
                y.second.end(), [](ShardingAttr a, ShardingAttr b) {
                  return a.getAsOpaquePointer() < b.getAsOpaquePointer();
                });
          });
    }
  };
  llvm::DenseMap<Value, unsigned> numbers;
  for (auto [i, pair] : llvm::enumerate(lastUser))
    numbers[pair.first] = i;
  std::map<State, int64_t, Less> states;
  State first;
  for (auto [argument, placement] :
       llvm::zip_equal(function.getArguments(), arguments))
    if (numbers.count(argument))
      first.push_back({numbers[argument], {placement}});
  states[first] = 0;
  for (Operation &op : block) {
    bool isReturn = isa<func::ReturnOp>(op);
    if (!isReturn &&
        (op.getNumResults() == 0 ||
         (op.getNumResults() == 1 && isFreeValue(op.getResult(0)))))
      continue;
    if (!isReturn && llvm::none_of(op.getOperands(), isTensor) &&
        llvm::none_of(op.getResults(), isTensor))
      continue;
    SmallVector<Way> ways;
    if (isReturn)
      ways.push_back(returned);
    else
      ways = getWays(&op, getShardingRule(&op));
    for (Way &way : ways)
      way.bytes = getPadBytes(&op, way);
    auto number = op.getAttrOfType<IntegerAttr>(kNumber);
    if (auto found = chosen.find(number.getInt()); found != chosen.end())
      placedBytes += getPadBytes(&op, found->second);
    if (ways.empty())
      return std::nullopt;
    std::map<State, int64_t, Less> next;
    for (const auto &[state, spent] : states)
      for (const Way &way : ways) {
        State after = state;
        int64_t cost = spent + way.bytes;
        bool isLegal = true;
        for (auto [operand, wanted] :
             llvm::zip_equal(op.getOperands(), way.operands)) {
          if (!isTensor(operand) || isFreeValue(operand))
            continue;
          unsigned number = numbers[operand];
          auto at = llvm::find_if(
              after, [&](const auto &entry) { return entry.first == number; });
          if (llvm::is_contained(at->second, wanted))
            continue;
          int64_t least = -1;
          for (ShardingAttr copy : at->second) {
            int64_t bytes = getBytes(operand, copy, wanted);
            if (bytes >= 0 && (least < 0 || bytes < least))
              least = bytes;
          }
          if (least < 0) {
            isLegal = false;
            break;
          }
          cost += least;
          at->second.insert(llvm::upper_bound(at->second, wanted, byPointer),
                            wanted);
        }
        if (!isLegal)
          continue;
        llvm::erase_if(after, [&](const auto &entry) {
          return lastUser.begin()[entry.first].second == &op;
        });
        for (auto [result, placement] : llvm::zip(op.getResults(), way.results))
          if (numbers.count(result))
            after.push_back({numbers[result], {placement}});
        auto [entry, isNew] = next.try_emplace(std::move(after), cost);
        if (!isNew)
          entry->second = std::min(entry->second, cost);
      }
    states = std::move(next);
    if (states.size() > kMostStates)
      return std::nullopt;
  }
  int64_t best = INT64_MAX;
  for (const auto &[state, cost] : states)
    best = std::min(best, cost);
  return states.empty() ? std::nullopt : std::optional(best);
}

namespace {
struct Tally {
  unsigned compared = 0, near = 0, unsupported = 0, tooMany = 0;
  /// Of those that must send something.
  unsigned send = 0, nearAndSend = 0;
};
class Places : public testing::TestWithParam<uint64_t> {};
} // namespace

static void compare(MLIRContext *context, uint64_t seed, Tally &tally) {
  static constexpr StringLiteral kFamilies =
      "elementwise,contraction,reduction,transpose,broadcast,reshape,slice,"
      "concat,pad";
  std::string text = makeScaledProgram(seed, kFamilies, 16);
  auto module = parseSourceString<ModuleOp>(text, context);
  ASSERT_TRUE(module) << text;
  module->walk([](ShardingConstraintOp constraint) {
    constraint.getResult().replaceAllUsesWith(constraint.getOperand());
    constraint.erase();
  });
  auto functions = module->getOps<func::FuncOp>();
  if (std::distance(functions.begin(), functions.end()) != 1)
    return;
  func::FuncOp function = *functions.begin();
  Builder b(context);
  int64_t count = 0;
  for (Operation &op : function.getBody().front())
    op.setDiscardableAttr(kNumber, b.getI64IntegerAttr(count++));
  OwningOpRef<ModuleOp> placed = module->clone();
  PassManager pm(context, ModuleOp::getOperationName());
  pm.addPass(createPropagatePass());
  pm.addPass(createInsertReshardsPass());
  buildImproveReshardsPipeline(pm);
  if (failed(pm.run(*placed)))
    return;
  Search search(function, *placed->getOps<func::FuncOp>().begin(),
                *module->getOps<MeshOp>().begin());
  if (!search.isSupported()) {
    ++tally.unsupported;
    return;
  }
  std::optional<int64_t> least = search.run();
  if (!least) {
    ++tally.tooMany;
    return;
  }
  int64_t ours = search.getPlacedBytes();
  ++tally.compared;
  tally.send += *least > 0;
  if (ours <= *least * 1.01) {
    ++tally.near;
    tally.nearAndSend += *least > 0;
    return;
  }
  // What may be mended next.
  if (getenv("DIST_PLACES_VERBOSE"))
    llvm::errs() << "seed " << seed << ": " << ours << " for " << *least << "\n"
                 << *placed << "\n";
}

TEST_P(Places, SendNoMoreThanTheBest) {
  std::unique_ptr<MLIRContext> context = makeContext();
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  Tally tally;
  for (uint64_t seed = GetParam(); seed < GetParam() + 500; ++seed)
    compare(context.get(), seed, tally);
  llvm::outs() << tally.compared << " compared, " << tally.near
               << " within 1%; of " << tally.send << " that send something "
               << tally.nearAndSend << "; " << tally.unsupported
               << " not searched, " << tally.tooMany << " with too many ways\n";
  EXPECT_GE(tally.send, 100u);
  EXPECT_GE(tally.near * 100, tally.compared * 95);
  EXPECT_GE(tally.nearAndSend * 100, tally.send * 90);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Places,
                         testing::Range(uint64_t(0), uint64_t(1000),
                                        uint64_t(500)));
