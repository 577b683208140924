//===- CutTasks.cpp - A step as the tasks of stages -----------------------===//

#include "passes/pipeline/CutTasks.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Reads.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// A task, before it is written.
struct Piece {
  TaskKind kind;
  int64_t stage, part = 0;
  /// What it computes, in program order; light ops besides are cloned where
  /// they are read.
  SmallVector<Operation *> ops;
  /// What others read of it, and what else it gives.
  llvm::SetVector<Value> exports;
  SmallVector<Value> extras;
  TaskOp task = {};

  Piece(TaskKind kind = TaskKind::Begin, int64_t stage = 0)
      : kind(kind), stage(stage) {}
  Value getResult(Value value) {
    auto found = llvm::find(exports, value);
    return task.getResult(found - exports.begin());
  }
  Value getExtra(unsigned number) {
    return task.getResult(exports.size() + number);
  }
};

class Cutter {
public:
  Cutter(func::FuncOp function, scf::ForOp loop, const StagePlaces &body,
         const OuterReads &outer)
      : function(function), block(function.getBody().front()),
        loopBody(*loop.getBody()), loop(loop), body(body), outer(outer),
        end(function, loop, body, outer, findHolders()) {}

  LogicalResult run();

private:
  std::vector<Stages> findHolders();
  LogicalResult addArguments();
  void makePieces();
  void wantOuter(Value value, int64_t stage);
  void addExports(Piece &piece);
  Piece *getProvider(Value value, const Piece &reader);
  Piece &getEnd(int64_t stage, int64_t part) {
    Piece &piece = ends[{part, stage}];
    piece.kind = TaskKind::End;
    piece.stage = stage;
    piece.part = part;
    return piece;
  }
  /// The part in which a stage has a value that is given at the end.
  int64_t getPart(Value value, int64_t stage);
  void write(Piece &piece, OpBuilder &builder);
  Value get(Value value, Piece &piece, IRMapping &mapping, OpBuilder &builder);
  void clone(Operation *op, Piece &piece, IRMapping &mapping,
             OpBuilder &builder);
  bool isInLoop(Operation *op) const {
    return op && op->getBlock() == &loopBody;
  }
  bool isBefore(Operation *op) const {
    return op && op->getBlock() == &block && op->isBeforeInBlock(loop);
  }
  void visitRoots(Operation *op, function_ref<void(Value)> visit);

  func::FuncOp function;
  Block &block, &loopBody;
  scf::ForOp loop, written;
  const StagePlaces &body;
  const OuterReads &outer;
  /// Ops before the loop that have an effect.
  SmallVector<Operation *> checks;
  EndPlaces end;
  /// By argument and stage.
  std::map<std::pair<unsigned, int64_t>, Value> arguments;
  /// By stage; by task; by part and stage.
  std::map<int64_t, Piece> begins;
  std::vector<Piece> tasks;
  std::map<std::pair<int64_t, int64_t>, Piece> ends;
  /// Outer ops that a stage's begin computes.
  std::map<int64_t, llvm::DenseSet<Operation *>> wantedOuter;
  /// By a value of a task and the stage that reads it.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> transfers;
};

} // namespace

/// Visits what an op reads, behind light ops.
void Cutter::visitRoots(Operation *op, function_ref<void(Value)> visit) {
  visitBehindLight(
      op, [](Operation *) { return true; }, visit);
}

/// The stages whose tasks read each parameter before the end.
std::vector<Stages> Cutter::findHolders() {
  std::vector<Stages> holders(function.getNumArguments());
  auto hold = [&](Value value, int64_t stage) {
    for (unsigned argument : outer.getParameters(value))
      holders[argument].insert(stage);
  };
  for (Operation &op : *loop.getBody())
    for (unsigned task : body.getTasks(&op))
      visitRoots(&op, [&](Value value) { hold(value, body.getStage(task)); });
  for (auto [number, init] : llvm::enumerate(loop.getInitArgs()))
    hold(init, body.getHome(number));
  // Checks of what is given are the first stage's.
  for (Operation &op : block) {
    if (&op == loop)
      break;
    if (isMemoryEffectFree(&op) || isLight(&op))
      continue;
    checks.push_back(&op);
    visitRoots(&op, [&](Value value) { hold(value, 0); });
  }
  return holders;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// Says which stage holds a parameter. Others that hold it, too, get an
/// argument of their own.
LogicalResult Cutter::addArguments() {
  Builder builder(function.getContext());
  SmallVector<unsigned> places;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Location> locs;
  unsigned count = function.getNumArguments();
  SmallVector<std::pair<unsigned, int64_t>> added;
  llvm::DenseMap<unsigned, int64_t> first;
  for (unsigned i = 0; i < count; ++i)
    for (int64_t stage : end.getHolders(i)) {
      if (first.try_emplace(i, stage).second) {
        arguments[{i, stage}] = function.getArgument(i);
        continue;
      }
      NamedAttrList own(function.getArgAttrDict(i));
      own.set(kStageAttr, builder.getI64IntegerAttr(stage));
      places.push_back(count);
      types.push_back(function.getArgument(i).getType());
      attrs.push_back(own.getDictionary(builder.getContext()));
      locs.push_back(function.getArgument(i).getLoc());
      added.push_back({i, stage});
    }
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (auto found = first.find(number); found != first.end())
      list.set(kStageAttr, builder.getI64IntegerAttr(found->second));
  });
  if (failed(function.insertArguments(places, types, attrs, locs)))
    return failure();
  for (auto [number, place] : llvm::enumerate(added))
    arguments[place] = function.getArgument(count + number);
  return success();
}

//===----------------------------------------------------------------------===//
// What each task computes
//===----------------------------------------------------------------------===//

/// A stage reads a value that is made before the loop.
void Cutter::wantOuter(Value value, int64_t stage) {
  SmallVector<Value> todo{value};
  while (!todo.empty()) {
    Operation *op = todo.pop_back_val().getDefiningOp();
    if (isBefore(op) && wantedOuter[stage].insert(op).second)
      visitValues(op, [&](Value read) { todo.push_back(read); });
  }
}

int64_t Cutter::getPart(Value value, int64_t stage) {
  Operation *op = value.getDefiningOp();
  if (op == loop)
    return body.getHome(cast<OpResult>(value).getResultNumber()) != stage;
  const std::map<int64_t, int64_t> &parts = end.getParts(op);
  if (parts.empty())
    return 0;
  auto own = parts.find(stage);
  return own != parts.end() ? own->second : parts.begin()->second + 1;
}

/// The piece that `reader` reads a value from; null if it is no piece's.
Piece *Cutter::getProvider(Value value, const Piece &reader) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  if (isInLoop(op)) {
    unsigned task = body.getTask(reader.kind, reader.stage);
    ArrayRef<unsigned> all = body.getTasks(op);
    Piece *provider = llvm::is_contained(all, task)
                          ? &tasks[task]
                          : &tasks[body.getProvider(op, task)];
    return provider == &reader ? nullptr : provider;
  }
  if (op == loop) {
    int64_t home = body.getHome(cast<OpResult>(value).getResultNumber());
    return home == reader.stage ? nullptr : &getEnd(home, 0);
  }
  if (isBefore(op))
    return isLight(op) || reader.kind == TaskKind::Begin
               ? nullptr
               : &begins[reader.stage];
  if (isLight(op))
    return nullptr;
  const std::map<int64_t, int64_t> &parts = end.getParts(op);
  auto own = parts.find(reader.stage);
  if (own == parts.end())
    own = parts.begin();
  Piece *provider = &getEnd(own->first, own->second);
  return provider == &reader ? nullptr : provider;
}

void Cutter::addExports(Piece &piece) {
  auto add = [&](Value value) {
    if (Piece *provider = getProvider(value, piece))
      provider->exports.insert(value);
  };
  for (Operation *op : piece.ops)
    visitRoots(op, add);
  for (Value value : piece.extras) {
    Operation *op = value.getDefiningOp();
    if (op && isLight(op))
      visitRoots(op, add);
    else
      add(value);
  }
}

void Cutter::makePieces() {
  for (unsigned i = 0; i < body.getNumTasks(); ++i)
    tasks.emplace_back(body.getKind(i), body.getStage(i));
  for (Operation &op : loop.getBody()->without_terminator())
    for (unsigned task : body.getTasks(&op)) {
      tasks[task].ops.push_back(&op);
      visitValues(&op,
                  [&](Value read) { wantOuter(read, body.getStage(task)); });
    }
  auto yield = loop.getBody()->getTerminator();
  for (auto [number, value] : llvm::enumerate(yield->getOperands()))
    if (Operation *op = value.getDefiningOp(); isInLoop(op))
      tasks[body.getTasks(op).front()].extras.push_back(value);
  for (Operation *op = loop->getNextNode(); op->getNextNode();
       op = op->getNextNode())
    for (auto [stage, part] : end.getParts(op)) {
      visitValues(op, [&](Value read) { wantOuter(read, stage); });
      if (!isLight(op))
        getEnd(stage, part).ops.push_back(op);
    }
  for (auto [number, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    for (int64_t stage : end.getResultStages(number)) {
      wantOuter(value, stage);
      getEnd(stage, getPart(value, stage)).extras.push_back(value);
    }
  for (auto [number, init] : llvm::enumerate(loop.getInitArgs())) {
    wantOuter(init, body.getHome(number));
    begins[body.getHome(number)].extras.push_back(init);
  }
  for (Operation *op : checks) {
    wantedOuter[0].insert(op);
    visitValues(op, [&](Value read) { wantOuter(read, 0); });
  }
  for (auto &[stage, wanted] : wantedOuter)
    if (llvm::any_of(wanted, [](Operation *op) { return !isLight(op); }))
      begins[stage];
  for (auto &[stage, piece] : begins) {
    piece.kind = TaskKind::Begin;
    piece.stage = stage;
    for (Operation &op : block)
      if (&op == loop)
        break;
      else if (wantedOuter[stage].contains(&op) && !isLight(&op))
        piece.ops.push_back(&op);
  }
  for (Piece &piece : tasks)
    addExports(piece);
  // The last first: each may make a piece before it.
  for (auto it = ends.rbegin(); it != ends.rend(); ++it)
    addExports(it->second);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The value as `piece` has it.
Value Cutter::get(Value value, Piece &piece, IRMapping &mapping,
                  OpBuilder &builder) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    if (argument.getOwner() == loop.getBody())
      return written.getBody()->getArgument(argument.getArgNumber());
    auto own = arguments.find({argument.getArgNumber(), piece.stage});
    return own == arguments.end() ? value : own->second;
  }
  if (Piece *provider = getProvider(value, piece)) {
    assert(provider->task && "is read before it is written");
    Value result = provider->getResult(value);
    if (provider->stage == piece.stage)
      return result;
    Value &transfer = transfers[{result, piece.stage}];
    if (!transfer) {
      OpBuilder after(provider->task->getContext());
      after.setInsertionPointAfter(provider->task);
      transfer = TransferOp::create(after, value.getLoc(), value.getType(),
                                    result, provider->stage, piece.stage);
    }
    return transfer;
  }
  if (op == loop)
    return written.getResult(cast<OpResult>(value).getResultNumber());
  assert(isLight(op) && "of no piece");
  clone(op, piece, mapping, builder);
  return mapping.lookup(value);
}

void Cutter::clone(Operation *op, Piece &piece, IRMapping &mapping,
                   OpBuilder &builder) {
  auto barrier = dyn_cast<OptimizationBarrierOp>(op);
  if (barrier && barrier.getAfter() && !mapping.contains(barrier.getAfter())) {
    // Another task is before this one, or does not matter to it.
    Value operand = get(barrier.getOperand(), piece, mapping, builder);
    mapping.map(barrier.getResult(),
                OptimizationBarrierOp::create(
                    builder, op->getLoc(), operand.getType(), operand, Value())
                    .getResult());
    return;
  }
  visitReads(op, [&](OpOperand &read) {
    Value value = read.get();
    if (!mapping.contains(value))
      mapping.map(value, get(value, piece, mapping, builder));
  });
  builder.clone(*op, mapping);
}

void Cutter::write(Piece &piece, OpBuilder &builder) {
  SmallVector<Type> types;
  for (Value value : piece.exports)
    types.push_back(value.getType());
  for (Value value : piece.extras)
    types.push_back(value.getType());
  if (types.empty() && piece.ops.empty())
    return;
  piece.task = TaskOp::create(builder, function.getLoc(), types, piece.stage,
                              piece.kind, piece.part);
  Block &inside = piece.task.getBody().emplaceBlock();
  OpBuilder in = OpBuilder::atBlockEnd(&inside);
  IRMapping mapping;
  for (Operation *op : piece.ops)
    clone(op, piece, mapping, in);
  SmallVector<Value> yielded;
  for (Value value : piece.exports)
    yielded.push_back(get(value, piece, mapping, in));
  for (Value value : piece.extras)
    yielded.push_back(get(value, piece, mapping, in));
  TaskYieldOp::create(in, function.getLoc(), yielded);
}

LogicalResult Cutter::run() {
  end.place();
  if (failed(addArguments()))
    return failure();
  makePieces();
  OpBuilder builder(loop);
  for (auto &[stage, piece] : begins)
    write(piece, builder);
  llvm::DenseMap<const Piece *, unsigned> taken;
  SmallVector<Value> inits;
  for (unsigned i = 0, count = loop.getInitArgs().size(); i < count; ++i) {
    Piece &piece = begins[body.getHome(i)];
    inits.push_back(piece.getExtra(taken[&piece]++));
  }
  written = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                               loop.getUpperBound(), loop.getStep(), inits);
  written->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!written.getBody()->empty())
    written.getBody()->back().erase();
  OpBuilder in = OpBuilder::atBlockEnd(written.getBody());
  for (Piece &piece : tasks)
    write(piece, in);
  SmallVector<Value> yielded;
  for (Value value : loop.getBody()->getTerminator()->getOperands()) {
    Operation *op = value.getDefiningOp();
    if (!isInLoop(op)) { // carried as it is
      auto argument = cast<BlockArgument>(value);
      yielded.push_back(
          written.getBody()->getArgument(argument.getArgNumber()));
      continue;
    }
    Piece &piece = tasks[body.getTasks(op).front()];
    yielded.push_back(piece.getExtra(taken[&piece]++));
  }
  scf::YieldOp::create(in, loop.getLoc(), yielded);
  for (auto &[place, piece] : ends)
    write(piece, builder);

  // The results; those of further holders of a parameter come last.
  Operation *last = block.getTerminator();
  SmallVector<Value> results, more;
  SmallVector<Attribute> attrs;
  SmallVector<Attribute> moreAttrs;
  Builder attrBuilder(function.getContext());
  for (auto [number, value] : llvm::enumerate(last->getOperands())) {
    bool isFirst = true;
    for (int64_t stage : end.getResultStages(number)) {
      Piece &piece = getEnd(stage, getPart(value, stage));
      NamedAttrList own(function.getResultAttrDict(number));
      own.set(kStageAttr, attrBuilder.getI64IntegerAttr(stage));
      if (auto updates =
              function.getResultAttrOfType<IntegerAttr>(number, kUpdatesAttr)) {
        auto argument =
            cast<BlockArgument>(arguments[{updates.getInt(), stage}]);
        own.set(kUpdatesAttr,
                attrBuilder.getI64IntegerAttr(argument.getArgNumber()));
      }
      (isFirst ? results : more).push_back(piece.getExtra(taken[&piece]++));
      (isFirst ? attrs : moreAttrs)
          .push_back(own.getDictionary(function.getContext()));
      isFirst = false;
    }
  }
  llvm::append_range(results, more);
  llvm::append_range(attrs, moreAttrs);
  last->setOperands(results);
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(),
                                     ValueRange(results).getTypes()));
  function.setResAttrsAttr(attrBuilder.getArrayAttr(attrs));

  // What was cut.
  SmallVector<Operation *> old;
  for (Operation &op : block)
    if (!isa<TaskOp, TransferOp>(op) && &op != written && &op != last)
      old.push_back(&op);
  llvm::SmallPtrSet<Operation *, 8> kept;
  for (Value bound :
       {written.getLowerBound(), written.getUpperBound(), written.getStep()})
    kept.insert(bound.getDefiningOp());
  for (Operation *op : llvm::reverse(old))
    if (!kept.contains(op))
      op->erase();
  return success();
}

LogicalResult mlir::dist::cutTasks(func::FuncOp function, scf::ForOp loop,
                                   const StagePlaces &body,
                                   const OuterReads &outer) {
  return Cutter(function, loop, body, outer).run();
}
