//===- InPlace.cpp - Which ops write over their operands ------------------===//
//
// Upstream's one-shot analysis compares, for each operand, all reads of all its
// aliases with all writes. That is cubic in the length of a chain of ops in
// place. Here ops are visited in program order. Then a write is safe if no
// existing value that may be in the same buffer is read later. The end of a
// live range is one number, and each alias class keeps a list of its live
// members.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/InPlace.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/buffers/Subsets.h"
#include "lowering/buffers/TensorUses.h"
#include "lowering/buffers/Updates.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

using namespace mlir;
using namespace mlir::bufferization;

static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }

namespace {

class InPlaceAnalysis {
public:
  InPlaceAnalysis(func::FuncOp function, dist::InPlaceState &state)
      : state(state), uses(function, state) {}

  LogicalResult run(func::FuncOp function) {
    uniteArguments(function);
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { prepare(op); });
    LogicalResult visited = visit(function.getBody());
    findShared(function);
    return visited;
  }

private:
  /// A value in its alias class: a union-find forest with the facts about the
  /// class at the roots.
  struct Entry {
    Value value;
    int64_t lastUse = -1;
    unsigned parent;
    /// Members that may be read later; those that are dead leave when met.
    SmallVector<unsigned, 2> live;
    bool writable = true;
    /// When an op that must be in place writes first, and when a member is read
    /// last, other than by results of such ops. The class may grow only while
    /// the second comes before the first.
    int64_t firstForced = INT64_MAX, lastRead = -1;
  };

  void uniteArguments(func::FuncOp function);
  void findShared(func::FuncOp function);
  void prepare(Operation *op);
  LogicalResult visit(Region &region);
  LogicalResult visit(Operation *op);
  LogicalResult decide(OpOperand &operand);
  bool mayShare(OpOperand &operand);
  bool mayWrite(OpOperand &operand);
  bool isPutBack(OpOperand &operand);
  bool areDisjoint(Value value, OpOperand &operand);
  bool isReadByOtherOperand(OpOperand &operand, unsigned root);
  bool isOverwrittenLater(unsigned member, OpOperand &operand);
  bool isReadInOtherBranchesOnly(unsigned member, Operation *op);
  void uniteEquivalent(Operation *op);
  void define(Value value);

  unsigned getEntry(Value value) {
    auto [found, isNew] = indices.try_emplace(value, entries.size());
    if (isNew) {
      entries.emplace_back();
      entries.back().value = value;
      entries.back().parent = found->second;
      entries.back().lastUse = entries.back().lastRead = uses.getLastUse(value);
    }
    return found->second;
  }
  unsigned find(unsigned index) {
    while (entries[index].parent != index) {
      entries[index].parent = entries[entries[index].parent].parent;
      index = entries[index].parent;
    }
    return index;
  }
  unsigned find(Value value) { return find(getEntry(value)); }
  void unite(Value a, Value b);

  dist::InPlaceState &state;
  dist::TensorUses uses;
  DenseMap<Value, unsigned> indices;
  std::vector<Entry> entries;
  dist::SubsetTrace subsets;
  /// When the destinations of insertions are needed last for something else.
  DenseMap<Operation *, int64_t> lastOtherUses;
};

} // namespace

//===----------------------------------------------------------------------===//
// Alias classes
//===----------------------------------------------------------------------===//

void InPlaceAnalysis::unite(Value a, Value b) {
  unsigned to = find(a), from = find(b);
  if (to == from)
    return;
  if (entries[to].live.size() < entries[from].live.size())
    std::swap(to, from);
  entries[from].parent = to;
  llvm::append_range(entries[to].live, entries[from].live);
  entries[from].live.clear();
  entries[to].writable &= entries[from].writable;
  entries[to].firstForced =
      std::min(entries[to].firstForced, entries[from].firstForced);
  entries[to].lastRead = std::max(entries[to].lastRead, entries[from].lastRead);
}

void InPlaceAnalysis::define(Value value) {
  if (!isTensor(value))
    return;
  unsigned index = getEntry(value), root = find(index);
  entries[root].writable &= state.isWritable(value);
  if (entries[index].lastUse >= 0)
    entries[root].live.push_back(index);
}

/// Calls `visit` with each argument that was made for the new value of another.
static void visitPlaces(
    func::FuncOp function,
    function_ref<void(BlockArgument place, BlockArgument argument)> visit) {
  for (BlockArgument place : function.getArguments())
    if (auto number = function.getArgAttrOfType<IntegerAttr>(
            place.getArgNumber(), dist::kSameMemoryAttr))
      visit(place, function.getArgument(number.getInt()));
}

void InPlaceAnalysis::uniteArguments(func::FuncOp function) {
  visitPlaces(function, [&](BlockArgument place, BlockArgument argument) {
    unite(place, argument);
    state.unionEquivalenceClasses(place, argument);
  });
}

/// Tells the state which places share a class with another one, or with
/// read-only memory.
void InPlaceAnalysis::findShared(func::FuncOp function) {
  DenseSet<unsigned> roots;
  visitPlaces(function, [&](BlockArgument place, BlockArgument) {
    unsigned root = find(place);
    if (!roots.insert(root).second || !entries[root].writable)
      state.addShared(place);
  });
}

/// Ops that must be in place whatever else is decided, and the origins of
/// subsets.
void InPlaceAnalysis::prepare(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTensor(operand.get()) || !state.isInPlace(operand))
      continue;
    bool writes = state.bufferizesToMemoryWrite(operand);
    for (const AliasingValue &alias : state.getAliasingValues(operand)) {
      if (writes)
        entries[find(alias.value)].lastRead = -1;
      unite(operand.get(), alias.value);
    }
    if (writes) {
      int64_t &first = entries[find(operand.get())].firstForced;
      first = std::min(first, uses.getBegin(op));
    }
  }

  if (auto branch = dyn_cast<BranchOpInterface>(op))
    for (OpOperand &operand : op->getOpOperands())
      if (auto argument =
              branch.getSuccessorBlockArgument(operand.getOperandNumber());
          argument && isTensor(*argument))
        unite(operand.get(), *argument);

  subsets.trace(op, state);
}

/// Tells the state which buffers are the same, as upstream's analysis does.
void InPlaceAnalysis::uniteEquivalent(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isTensor(result))
      continue;
    AliasingOpOperandList aliases = state.getAliasingOpOperands(result);
    if (aliases.getNumAliases() == 0)
      continue;
    Value first = aliases.begin()->opOperand->get();
    bool allEquivalent = true;
    for (const AliasingOpOperand &alias : aliases) {
      bool isSame = alias.relation == BufferRelation::Equivalent &&
                    state.isInPlace(*alias.opOperand);
      if (isSame && alias.isDefinite) {
        state.unionEquivalenceClasses(result, alias.opOperand->get());
        allEquivalent = false;
        break;
      }
      allEquivalent &= isSame && state.areEquivalentBufferizedValues(
                                     alias.opOperand->get(), first);
    }
    if (allEquivalent)
      state.unionEquivalenceClasses(result, first);
  }
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Whether the op reads, through another operand, memory that it would
/// overwrite through this one.
bool InPlaceAnalysis::isReadByOtherOperand(OpOperand &operand, unsigned root) {
  Operation *op = operand.getOwner();
  for (OpOperand &other : op->getOpOperands()) {
    if (&other == &operand || !isTensor(other.get()) ||
        find(other.get()) != root)
      continue;
    if (state.bufferizesToMemoryWrite(other)) {
      if (state.isInPlace(other))
        return true;
      // It was copied before.
      if (other.getOperandNumber() < operand.getOperandNumber())
        continue;
    }
    if (!uses.needsContents(other))
      continue;
    if (state.areEquivalentBufferizedValues(other.get(), operand.get())) {
      OpOperand *both[] = {&other, &operand};
      auto bufferizable = state.getOptions().dynCastBufferizableOp(op);
      if (bufferizable &&
          bufferizable.bufferizesToElementwiseAccess(state, both))
        continue;
    }
    if (areDisjoint(other.get(), operand))
      continue;
    // One of two buffers, of which the destination may be one. A tensor of its
    // size that is in it is all of it, so each element is written to its own
    // position.
    if (isa<MaterializeInDestinationOp>(op) &&
        other.get().getType() == operand.get().getType() &&
        cast<TensorType>(operand.get().getType()).hasStaticShape())
      continue;
    return true;
  }
  return false;
}

/// Whether the op writes a value to where it is already, so that nothing
/// changes.
bool InPlaceAnalysis::isPutBack(OpOperand &operand) {
  auto insertion = dyn_cast<SubsetInsertionOpInterface>(operand.getOwner());
  if (!insertion || &insertion.getDestinationOperand() != &operand)
    return false;
  Value source = insertion.getSourceOperand().get();
  if (isa<MaterializeInDestinationOp>(*insertion))
    return state.areEquivalentBufferizedValues(source, operand.get());
  Value taken = subsets.getExtractionPutBack(insertion);
  return taken && state.areEquivalentBufferizedValues(source, taken);
}

bool InPlaceAnalysis::areDisjoint(Value value, OpOperand &operand) {
  return subsets.areDisjoint(value, operand, [&](Value a, Value b) {
    return state.areEquivalentBufferizedValues(a, b);
  });
}

/// Whether the member is the destination of a later insertion that overwrites
/// the subset of `operand`, and is not needed otherwise.
bool InPlaceAnalysis::isOverwrittenLater(unsigned member, OpOperand &operand) {
  Operation *insertion =
      subsets.findInsertion(operand.get(), entries[member].value);
  if (!insertion)
    return false;
  auto [found, isNew] = lastOtherUses.try_emplace(insertion);
  if (isNew)
    found->second = uses.getLastUse(entries[member].value, insertion);
  return found->second <= uses.getBegin(operand.getOwner());
}

/// Whether all later reads of the member are in branches that are not taken
/// when `op` is reached.
bool InPlaceAnalysis::isReadInOtherBranchesOnly(unsigned member,
                                                Operation *op) {
  Value value = entries[member].value;
  Region *home = value.getParentRegion();
  if (op->getParentRegion() == home || !home->hasOneBlock())
    return false;
  int64_t now = uses.getBegin(op);
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    int64_t position = uses.getPosition(user, home);
    return position <= now || !uses.needsContents(use) ||
           (position == uses.getBegin(user) &&
            insideMutuallyExclusiveRegions(op, user));
  });
}

/// Whether the op may overwrite the memory of the operand.
bool InPlaceAnalysis::mayWrite(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned root = find(operand.get());
  if (!entries[root].writable)
    return false;
  if (isPutBack(operand))
    return true;
  if (isReadByOtherOperand(operand, root))
    return false;
  int64_t now = uses.getBegin(op);
  SmallVector<unsigned, 2> &live = entries[root].live;
  SmallVector<unsigned, 2> kept;
  bool isFree = true;
  // Each step removes a dead member for good or is one of few that are kept.
  while (!live.empty()) {
    unsigned member = live.back();
    if (entries[member].lastUse > now) {
      if (!isOverwrittenLater(member, operand) &&
          !isReadInOtherBranchesOnly(member, op) &&
          (kept.size() >= dist::kMostDisjoint ||
           !areDisjoint(entries[member].value, operand))) {
        isFree = false;
        break;
      }
      kept.push_back(member);
    }
    live.pop_back();
  }
  llvm::append_range(live, llvm::reverse(kept));
  return isFree;
}

/// Whether the op's results may be in the operand's buffer, given the positions
/// where ops that must be in place write there.
bool InPlaceAnalysis::mayShare(OpOperand &operand) {
  const Entry &entry = entries[find(operand.get())];
  int64_t firstForced = entry.firstForced, lastRead = entry.lastRead;
  for (const AliasingValue &alias : state.getAliasingValues(operand)) {
    const Entry &result = entries[find(alias.value)];
    firstForced = std::min(firstForced, result.firstForced);
    lastRead = std::max(lastRead, result.lastRead);
  }
  return firstForced <= uses.getBegin(operand.getOwner()) ||
         lastRead <= firstForced;
}

LogicalResult InPlaceAnalysis::decide(OpOperand &operand) {
  Operation *op = operand.getOwner();
  // Nothing is known of other ops; bufferization will refuse them.
  if (!state.getOptions().dynCastBufferizableOp(op))
    return success();
  bool isForced = state.isInPlace(operand);
  bool writes = state.bufferizesToMemoryWrite(operand);
  if ((writes && !mayWrite(operand)) || (!isForced && !mayShare(operand))) {
    if (auto result = dyn_cast<MaterializeInDestinationOp>(op);
        result && isForced) {
      state.addUnplaced(result);
      return success();
    }
    if (isForced)
      return op->emitOpError("must write over operand #")
             << operand.getOperandNumber()
             << ", but what lies there is still needed";
    state.bufferizeOutOfPlace(operand);
    if (isa<LoopLikeOpInterface>(op) && !uses.reads(operand))
      state.addUnread(operand);
    return success();
  }
  state.bufferizeInPlace(operand);
  for (const AliasingValue &alias : state.getAliasingValues(operand))
    unite(operand.get(), alias.value);
  return success();
}

LogicalResult InPlaceAnalysis::visit(Operation *op) {
  for (Region &region : op->getRegions())
    if (failed(visit(region)))
      return failure();
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get()) && failed(decide(operand)))
      return failure();
  uniteEquivalent(op);
  for (Value result : op->getResults())
    define(result);
  return success();
}

LogicalResult InPlaceAnalysis::visit(Region &region) {
  for (Block &block : region) {
    for (Value argument : block.getArguments())
      define(argument);
    for (Operation &op : block)
      if (failed(visit(&op)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

void dist::InPlaceState::findUndefined(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](BufferizableOpInterface op) {
    // Results of a region count as written.
    if (op->getNumRegions() > 0)
      return;
    for (OpResult result : op->getOpResults()) {
      if (!isTensor(result))
        continue;
      AliasingOpOperandList aliases = getAliasingOpOperands(result);
      bool isUndefined =
          aliases.getNumAliases() == 0
              ? !op.resultBufferizesToMemoryWrite(result, *this)
              : llvm::all_of(aliases, [&](const AliasingOpOperand &alias) {
                  return undefined.contains(alias.opOperand->get()) &&
                         !bufferizesToMemoryWrite(*alias.opOperand);
                });
      if (isUndefined)
        undefined.insert(result);
    }
  });
}

LogicalResult dist::InPlaceState::analyze(func::FuncOp function) {
  WalkResult checked = function.walk([](ToTensorOp op) {
    if (op.getRestrict())
      return WalkResult::advance();
    op.emitOpError("without `restrict`: the tensor may change unseen");
    return WalkResult::interrupt();
  });
  if (checked.wasInterrupted())
    return failure();
  if (failed(InPlaceAnalysis(function, *this).run(function)))
    return failure();
  if (!unplaced.empty() || !shared.empty())
    return success();
  findUndefined(function);
  WalkResult verified = function.walk([&](BufferizableOpInterface op) {
    return failed(op.verifyAnalysis(*this)) ? WalkResult::interrupt()
                                            : WalkResult::advance();
  });
  return failure(verified.wasInterrupted());
}
