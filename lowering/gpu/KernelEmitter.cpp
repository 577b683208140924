//===- KernelEmitter.cpp - Writes a group as a kernel of a GPU ------------===//

#include "lowering/gpu/KernelEmitter.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "lowering/buffers/Sums.h"
#include "lowering/gpu/Launch.h"
#include "lowering/kernels/Accumulators.h"
#include "lowering/kernels/BodyEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;

/// What a thread keeps of a cell that is its own: registers, most often.
static constexpr int64_t kThreadBytes = 128;
/// A cell of so many turns is several threads'; of fewer it is one's.
static constexpr int64_t kFewestTurns = 32;
/// Rows of so many terms are added up in as many parts as a block has threads;
/// shorter ones in as many as a warp has.
static constexpr int64_t kLongRow = 1024, kWarp = 32;

/// Bytes that a thread reads or writes at once.
static constexpr int64_t kVectorBytes = 16;
/// The most operations of bodies that a thread has for all its neighbours.
static constexpr int64_t kMostOps = 128;
/// A tile has as many rows and columns. A row in shared memory is one element
/// longer, so that a column lies in different banks.
static constexpr int64_t kTile = 32, kTileRow = kTile + 1;
/// Fewer are not worth a tile.
static constexpr int64_t kFewestInTile = 8;

/// How many parts a sum of so many terms is made of. It depends on nothing
/// else, so that ranks add up a row in the same order.
static int64_t countParts(int64_t terms) {
  if (terms < kFewestTurns)
    return 1;
  return terms < kLongRow ? kWarp : kThreads;
}

namespace {

/// Which threads of a block have a cell.
struct CellThreads {
  /// Of a cell: 1, or a power of two.
  int64_t count = 1;
  /// Neighbours have different cells, not different turns of one.
  bool areColumns = false;

  bool areSeveral() const { return count > 1; }
  int64_t cells() const { return kThreads / count; }
};

/// What a member reads.
struct TileRead {
  unsigned member;
  const Access *access;
};

/// What several runs read of memory, a turn each in the same order. The first
/// one keeps it where the threads of a cell share it.
struct Row {
  /// All that tells where it lies: strides of cells, then of turns.
  FlatBuffer buffer;
  SmallVector<int64_t> strides, sizes;
  int64_t turns, elementBytes;
  /// The readers, by run.
  SmallVector<std::pair<size_t, TileRead>> reads;
  Value kept;

  bool isOfSeveralRuns() const {
    return reads.front().first != reads.back().first;
  }
};

class CellEmitter {
public:
  CellEmitter(OpBuilder &builder, const KernelGroup &group, Location loc,
              BodyEmitter &body, CellThreads threads)
      : builder(builder), group(group), loc(loc), body(body), threads(threads) {
    Type i32 = builder.getI32Type();
    thread = toIndex(NVVM::ThreadIdXOp::create(builder, loc, i32));
    Value cells = body.constant(threads.cells()),
          count = body.constant(threads.count);
    if (threads.areColumns) {
      slot = arith::RemUIOp::create(builder, loc, thread, cells);
      lane = arith::DivUIOp::create(builder, loc, thread, cells);
    } else {
      slot = arith::DivUIOp::create(builder, loc, thread, count);
      lane = arith::RemUIOp::create(builder, loc, thread, count);
    }
  }

  /// Memory of a cell: this thread's own, or that of its cell.
  Value allocateOfCell(Type element, int64_t size);
  /// What is read once and kept.
  void keepRows(SmallVector<Row, 0> some);

  /// All cells, of which this many blocks do some each. A thread has this many
  /// neighbours of the innermost loop.
  int64_t emitCells(ArrayRef<Loop> cells, ArrayRef<Run> runs,
                    int64_t neighbours);
  /// The same in tiles of the innermost loop and of `across`, along which the
  /// memory of `reads` lies: a tile of it is read in that order.
  int64_t emitTiles(ArrayRef<Loop> cells, size_t across, ArrayRef<Run> runs,
                    ArrayRef<TileRead> reads);

private:
  int64_t emitBlocks(int64_t count, llvm::function_ref<void(Value)> emitBlock);
  void emitRun(const Run &run, size_t number);
  void emitInOrder(const Run &run);
  void emitParts(const Run &run, size_t number, ArrayRef<Accumulator> outputs);
  void loadRows(size_t run, Value turn, SmallVector<const Access *> &accesses,
                SmallVector<Value> &values);
  Value combineParts(const Accumulator &output, Value part, int64_t count);
  Value combineWarps(const Accumulator &output, Value part, int64_t warps,
                     bool byHalves);
  Value shuffleDown(Value value, int64_t offset);
  Value combine(const Accumulator &output, Value a, Value b);
  void emitLoops(ArrayRef<unsigned> members, ArrayRef<Loop> loops,
                 llvm::function_ref<void()> inside);
  void bindAll(ArrayRef<unsigned> members, ArrayRef<Loop> loops, Value index);
  Value getPlace(ArrayRef<Loop> loops, Value index, size_t position);
  void emitIf(Value condition, llvm::function_ref<void()> inside);
  Value isLess(Value a, int64_t b);
  /// All threads of a cell wait for each other.
  void emitBarrier() {
    if (threads.count == kWarp && !threads.areColumns)
      NVVM::SyncWarpOp::create(
          builder, loc, arith::ConstantIntOp::create(builder, loc, -1, 32));
    else
      NVVM::BarrierOp::create(builder, loc);
  }
  /// `turns`, or none where this thread has no cell.
  Value getTurns(int64_t turns) {
    Value all = body.constant(turns);
    return hasCell ? arith::SelectOp::create(builder, loc, hasCell, all,
                                             body.constant(0))
                         .getResult()
                   : all;
  }
  Value toIndex(Value number) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        number);
  }

  OpBuilder &builder;
  const KernelGroup &group;
  Location loc;
  BodyEmitter &body;
  const CellThreads threads;
  /// Numbers of the thread in its block, of its cell there, and of the thread
  /// in the cell.
  Value thread, slot, lane;
  /// Whether there is a cell for it; null if always.
  Value hasCell;
  SmallVector<Row, 0> rows;
  /// Whether a block's threads share memory.
  bool usesShared = false;
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

/// The place in loop `position` in iteration `index` of all of them.
Value CellEmitter::getPlace(ArrayRef<Loop> loops, Value index,
                            size_t position) {
  int64_t below = countTurns(loops.drop_front(position + 1));
  if (below > 1)
    index = arith::DivUIOp::create(builder, loc, index, body.constant(below));
  if (position == 0)
    return index;
  return arith::RemUIOp::create(builder, loc, index,
                                body.constant(loops[position].size));
}

/// The loops' places in iteration `index` of all of them.
void CellEmitter::bindAll(ArrayRef<unsigned> members, ArrayRef<Loop> loops,
                          Value index) {
  for (size_t position = 0; position < loops.size(); ++position)
    body.bindLoop(members, loops[position], getPlace(loops, index, position));
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

Value CellEmitter::allocateOfCell(Type element, int64_t size) {
  if (!threads.areSeveral())
    return memref::AllocaOp::create(builder, loc,
                                    MemRefType::get({size}, element));
  // Neighbouring cells read the same place at once: in different banks.
  int64_t apart = threads.areColumns ? size | 1 : size;
  auto type = MemRefType::get({threads.cells() * apart}, element,
                              MemRefLayoutAttrInterface(),
                              builder.getI64IntegerAttr(kShared));
  Value all = memref::AllocaOp::create(builder, loc, type);
  if (threads.cells() == 1)
    return all;
  OpFoldResult offset =
      arith::MulIOp::create(builder, loc, slot, body.constant(apart))
          .getResult();
  OpFoldResult count = builder.getIndexAttr(size),
               step = builder.getIndexAttr(1);
  return memref::SubViewOp::create(builder, loc, all, offset, count, step);
}

/// `count` blocks, of which each launched one does some. Returns the number of
/// those.
int64_t CellEmitter::emitBlocks(int64_t count,
                                llvm::function_ref<void(Value)> emitBlock) {
  Value block =
      toIndex(NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()));
  if (count <= kMostBlocks) {
    emitBlock(block);
    return count;
  }
  auto loop = scf::ForOp::create(builder, loc, block, body.constant(count),
                                 body.constant(kMostBlocks));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitBlock(loop.getInductionVar());
  if (usesShared)
    emitBarrier(); // the next block has the same shared memory
  return kMostBlocks;
}

int64_t CellEmitter::emitCells(ArrayRef<Loop> cells, ArrayRef<Run> runs,
                               int64_t neighbours) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, group.members.size()));
  auto ofThread = llvm::to_vector(cells);
  if (neighbours > 1)
    ofThread.back().size /= neighbours;
  int64_t count = countTurns(ofThread), perBlock = threads.cells();
  auto emitRuns = [&] {
    for (auto [number, run] : llvm::enumerate(runs)) {
      // What other threads have written.
      if (number > 0 && threads.areSeveral())
        emitBarrier();
      emitRun(run, number);
    }
  };
  auto emitCell = [&](Value cell) {
    bindAll(all, ofThread, cell);
    if (neighbours == 1)
      return emitRuns();
    Value first = arith::MulIOp::create(
        builder, loc, getPlace(ofThread, cell, cells.size() - 1),
        body.constant(neighbours));
    for (int64_t next = 0; next < neighbours; ++next) {
      body.bindLoop(
          all, cells.back(),
          arith::AddIOp::create(builder, loc, first, body.constant(next)));
      emitRuns();
    }
  };
  // The cells of a block lie side by side. All its threads meet at barriers,
  // also those that have none.
  usesShared = threads.areSeveral();
  return emitBlocks(llvm::divideCeil(count, perBlock), [&](Value block) {
    Value first =
        arith::MulIOp::create(builder, loc, block, body.constant(perBlock));
    Value cell = arith::AddIOp::create(builder, loc, first, slot);
    if (count % perBlock == 0)
      return emitCell(cell);
    Value isCell = isLess(cell, count);
    if (!threads.areSeveral())
      return emitIf(isCell, [&] { emitCell(cell); });
    hasCell = isCell;
    emitCell(
        arith::SelectOp::create(builder, loc, isCell, cell, body.constant(0)));
  });
}

int64_t CellEmitter::emitTiles(ArrayRef<Loop> cells, size_t across,
                               ArrayRef<Run> runs, ArrayRef<TileRead> reads) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, group.members.size()));
  const Loop &rows = cells[across], &columns = cells.back();
  auto tiles = llvm::to_vector(cells);
  for (size_t position : {across, cells.size() - 1})
    tiles[position].size = llvm::divideCeil(cells[position].size, kTile);
  SmallVector<const Access *> accesses;
  SmallVector<Value> memory;
  for (const TileRead &read : reads) {
    accesses.push_back(read.access);
    auto element = cast<MemRefType>(body.getBuffer(*read.access).getType())
                       .getElementType();
    memory.push_back(memref::AllocaOp::create(
        builder, loc,
        MemRefType::get({kTile * kTileRow}, element,
                        MemRefLayoutAttrInterface(),
                        builder.getI64IntegerAttr(kShared))));
  }
  Value width = body.constant(kTile);
  Value x = arith::RemUIOp::create(builder, loc, thread, width);
  Value y = arith::DivUIOp::create(builder, loc, thread, width);
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b);
  };
  auto times = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, loc, a, body.constant(b));
  };
  usesShared = true;
  return emitBlocks(countTurns(tiles), [&](Value block) {
    bindAll(all, tiles, block);
    Value row = times(getPlace(tiles, block, across), kTile);
    Value column = times(getPlace(tiles, block, cells.size() - 1), kTile);
    // Threads of a warp have neighbours along `x` of the tile.
    auto emitPart = [&](Value rowInTile, Value columnInTile,
                        llvm::function_ref<void()> inside) {
      Value r = add(row, rowInTile), c = add(column, columnInTile);
      body.bindLoop(all, rows, r);
      body.bindLoop(all, columns, c);
      Value isInside;
      for (auto [place, size] : {std::pair(r, rows.size), {c, columns.size}}) {
        if (size % kTile == 0)
          continue;
        Value fits = isLess(place, size);
        isInside = isInside
                       ? arith::AndIOp::create(builder, loc, isInside, fits)
                             .getResult()
                       : fits;
      }
      isInside ? emitIf(isInside, inside) : inside();
    };
    // The threads' rows of a tile, or its columns.
    auto forEach = [&](llvm::function_ref<void(Value)> inside) {
      auto loop = scf::ForOp::create(builder, loc, body.constant(0), width,
                                     body.constant(kThreads / kTile));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      inside(add(y, loop.getInductionVar()));
    };
    forEach([&](Value other) {
      emitPart(x, other, [&] {
        for (auto [read, tile] : llvm::zip_equal(reads, memory)) {
          Value address = body.emitAddress(read.member, *read.access);
          memref::StoreOp::create(builder, loc,
                                  body.emitLoad(*read.access, address), tile,
                                  add(times(other, kTileRow), x));
        }
      });
    });
    emitBarrier();
    forEach([&](Value other) {
      emitPart(other, x, [&] {
        SmallVector<Value> values;
        for (Value tile : memory)
          values.push_back(memref::LoadOp::create(
              builder, loc, tile, add(times(x, kTileRow), other)));
        for (const Run &run : runs)
          for (unsigned member : run.members)
            body.emitBody(member, accesses, values);
      });
    });
  });
}

Value CellEmitter::combine(const Accumulator &output, Value a, Value b) {
  OperationState state(loc, output.combiner->getName(), {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

/// The value of the thread that is `offset` further on in the warp.
Value CellEmitter::shuffleDown(Value value, int64_t offset) {
  Type type = value.getType(), i32 = builder.getI32Type();
  auto constant = [&](int64_t number, Type ofType) -> Value {
    return arith::ConstantIntOp::create(builder, loc, ofType, number);
  };
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Type exact = builder.getIntegerType(width),
       whole = builder.getIntegerType(llvm::alignTo(width, 32));
  Value bits = value;
  if (type.isIndex())
    bits = arith::IndexCastOp::create(builder, loc, exact, value);
  else if (type != exact)
    bits = arith::BitcastOp::create(builder, loc, exact, value);
  if (exact != whole)
    bits = arith::ExtUIOp::create(builder, loc, whole, bits);
  Value moved;
  for (unsigned start = 0; start < width; start += 32) {
    // Each word by itself.
    Value word = bits, by = whole == i32 ? Value() : constant(start, whole);
    if (start > 0)
      word = arith::ShRUIOp::create(builder, loc, word, by);
    if (by)
      word = arith::TruncIOp::create(builder, loc, i32, word);
    word = NVVM::ShflOp::create(builder, loc, i32, constant(-1, i32), word,
                                constant(offset, i32), constant(kWarp - 1, i32),
                                NVVM::ShflKind::down, UnitAttr());
    if (by)
      word = arith::ExtUIOp::create(builder, loc, whole, word);
    if (start > 0)
      word = arith::ShLIOp::create(builder, loc, word, by);
    moved = moved ? arith::OrIOp::create(builder, loc, moved, word) : word;
  }
  if (exact != whole)
    moved = arith::TruncIOp::create(builder, loc, exact, moved);
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, moved);
  return type == exact
             ? moved
             : arith::BitcastOp::create(builder, loc, type, moved).getResult();
}

/// The parts of the first `warps` warps, which each thread of the first one
/// reads in shared memory: in their order, or by halves.
Value CellEmitter::combineWarps(const Accumulator &output, Value part,
                                int64_t warps, bool byHalves) {
  Value &parts = partsOf[part.getType()];
  if (parts)
    emitBarrier(); // others still read the last sum there
  else
    parts = memref::AllocaOp::create(
        builder, loc,
        MemRefType::get({kThreads}, part.getType(), MemRefLayoutAttrInterface(),
                        builder.getI64IntegerAttr(kShared)));
  memref::StoreOp::create(builder, loc, part, parts, thread);
  emitBarrier();
  auto branch =
      scf::IfOp::create(builder, loc, part.getType(), isLess(thread, kWarp),
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, part);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> values = {part};
  for (int64_t warp = 1; warp < warps; ++warp) {
    Value other = arith::AddIOp::create(builder, loc, thread,
                                        body.constant(warp * kWarp));
    values.push_back(memref::LoadOp::create(builder, loc, parts, other));
  }
  for (int64_t half = warps / 2; byHalves && half > 0; half /= 2)
    for (int64_t warp = 0; warp < half; ++warp)
      values[warp] = combine(output, values[warp], values[warp + half]);
  for (int64_t warp = 1; !byHalves && warp < warps; ++warp)
    values[0] = combine(output, values[0], values[warp]);
  scf::YieldOp::create(builder, loc, values[0]);
  return branch.getResult(0);
}

/// The parts of the first `count` threads of a cell; the first one has the
/// result. Of 256 parts those that are 32 apart are added in their order. 32
/// parts are added by halves.
Value CellEmitter::combineParts(const Accumulator &output, Value part,
                                int64_t count) {
  int64_t apart = threads.areColumns ? threads.cells() : 1;
  // Columns have 4 threads in each warp: the first of the halves are warps.
  int64_t ofWarp = std::min(count, kWarp / apart);
  if (count > ofWarp)
    part = combineWarps(output, part, count / ofWarp,
                        /*byHalves=*/threads.areColumns);
  for (int64_t half = ofWarp / 2; half > 0; half /= 2)
    part = combine(output, part, shuffleDown(part, half * apart));
  return part;
}

/// Turn i is thread i's, modulo their number. What all turns accumulate is made
/// of the threads' parts, as many as a row of this length has.
void CellEmitter::emitParts(const Run &run, size_t number,
                            ArrayRef<Accumulator> outputs) {
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
  int64_t turns = countTurns(run.loops), count = threads.count;
  // One after the other, a thread makes several parts of a long column.
  int64_t step = count;
  Value end = getTurns(turns);
  if (!outputs.empty()) {
    step = countParts(turns);
    count = std::min(count, step);
  }
  if (count < threads.count) // other runs of the kernel have longer rows
    end = arith::SelectOp::create(builder, loc, isLess(lane, count), end,
                                  body.constant(0));
  auto emitTurns = [&](Value first, Value end, ValueRange values) {
    return emitFor(
        first, end, step, values, [&](Value turn, SmallVector<Value> &carried) {
          bindAll(run.members, run.loops, turn);
          SmallVector<const Access *> known = accesses;
          SmallVector<Value> all = carried;
          loadRows(number, turn, known, all);
          for (unsigned member : run.members)
            body.emitBody(member, known, all);
          llvm::copy(ArrayRef(all).take_front(carried.size()), carried.begin());
        });
  };
  auto combineAll = [&](SmallVector<Value> &sums, ValueRange more) {
    for (auto [output, sum, part] : llvm::zip_equal(outputs, sums, more))
      sum = combine(output, sum, part);
  };
  auto emitPart = [&](Value first) -> ValueRange {
    if (turns <= step * kMostTerms || outputs.empty())
      return emitTurns(first, end, neutral);
    // One sum of many terms loses small terms against the sum so far.
    int64_t apart = step * kFewTerms;
    return emitFor(
        first, end, apart, neutral,
        [&](Value first, SmallVector<Value> &carried) {
          Value last = arith::MinUIOp::create(
              builder, loc, end,
              arith::AddIOp::create(builder, loc, first, body.constant(apart)));
          combineAll(carried, emitTurns(first, last, neutral));
        });
  };
  ValueRange parts =
      step == count
          ? emitPart(lane)
          : emitFor(body.constant(0), body.constant(step), count, neutral,
                    [&](Value first, SmallVector<Value> &carried) {
                      combineAll(carried, emitPart(arith::AddIOp::create(
                                              builder, loc, lane, first)));
                    });
  for (auto [output, part] : llvm::zip_equal(outputs, parts)) {
    Value sum = combineParts(output, part, count);
    Value isFirst = isLess(lane, 1);
    if (hasCell)
      isFirst = arith::AndIOp::create(builder, loc, isFirst, hasCell);
    emitIf(isFirst, [&] {
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
  if (!threads.areSeveral())
    return emitLoops(run.members, apart, emitTurns);
  auto loop =
      scf::ForOp::create(builder, loc, lane, getTurns(countTurns(apart)),
                         body.constant(threads.count));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  bindAll(run.members, apart, loop.getInductionVar());
  emitTurns();
}

/// Whether turns are in any order, and what they accumulate, if anything, is
/// one number each.
static bool isInParts(const KernelGroup &group, const Run &run,
                      ArrayRef<Accumulator> outputs) {
  if (llvm::any_of(outputs, [](const Accumulator &output) {
        return output.from != 0 || !output.combiner;
      }))
    return false;
  // Nothing accumulates along some loops alone.
  for (auto [position, member] : llvm::enumerate(run.members))
    for (const Access &access : group.members[member].nest.accesses)
      if (access.writes &&
          llvm::none_of(outputs, [&](const Accumulator &output) {
            return output.access == &access;
          }))
        for (const Loop &loop : run.loops)
          if (!group.members[member].nest.parallel[loop.dims[position]])
            return false;
  return true;
}

void CellEmitter::emitRun(const Run &run, size_t number) {
  SmallVector<Accumulator> outputs = findAccumulators(group, run);
  if (threads.areSeveral() && isInParts(group, run, outputs))
    return emitParts(run, number, outputs);
  emitInOrder(run);
}

void CellEmitter::keepRows(SmallVector<Row, 0> some) {
  rows = std::move(some);
  for (Row &row : rows) {
    Type element =
        cast<MemRefType>(
            body.getBuffer(*row.reads.front().second.access).getType())
            .getElementType();
    row.kept = allocateOfCell(element, row.turns);
  }
}

/// What this turn of the run reads of the rows that are kept.
void CellEmitter::loadRows(size_t run, Value turn,
                           SmallVector<const Access *> &accesses,
                           SmallVector<Value> &values) {
  for (const Row &row : rows) {
    Value value;
    for (const auto &[reader, read] : row.reads) {
      if (reader != run)
        continue;
      if (!value && run == row.reads.front().first) {
        Value address = body.emitAddress(read.member, *read.access);
        value = body.emitLoad(*read.access, address);
        memref::StoreOp::create(builder, loc, value, row.kept, turn);
      } else if (!value) {
        value = memref::LoadOp::create(builder, loc, row.kept, turn);
      }
      accesses.push_back(read.access);
      values.push_back(value);
    }
  }
}

/// The loops over cells, such that what is written last is written side by
/// side.
static SmallVector<Loop> getCells(const KernelGroup &group) {
  const Member &last = group.members.back();
  SmallVector<std::pair<int64_t, size_t>> order;
  for (size_t position = 0; position < group.sizes.size(); ++position) {
    int64_t stride = 0;
    for (const Access &access : last.nest.accesses)
      if (access.writes)
        stride = std::abs(access.strides[last.shared[position]]);
    order.push_back({-stride, position});
  }
  llvm::sort(order);
  SmallVector<Loop> cells;
  for (auto [stride, position] : order) {
    Loop loop{group.sizes[position], {}};
    for (const Member &member : group.members)
      loop.dims.push_back(member.shared[position]);
    cells.push_back(std::move(loop));
  }
  return cells;
}

/// Whether neighbouring threads should have neighbouring cells: more of the
/// accesses to memory go by 1 from cell to cell than from turn to turn.
static bool areColumns(const KernelGroup &group, ArrayRef<Run> runs,
                       ArrayRef<Loop> cells, ArrayRef<Value> scratch) {
  if (cells.empty())
    return false;
  int64_t byCells = 0, byTurns = 0;
  for (const Run &run : runs) {
    if (run.loops.empty())
      continue;
    for (auto [position, index] : llvm::enumerate(run.members))
      for (const Access &access : group.members[index].nest.accesses) {
        if (llvm::is_contained(scratch, access.buffer.root))
          continue;
        byCells += access.strides[cells.back().dims[index]] == 1;
        byTurns += access.strides[run.loops.back().dims[position]] == 1;
      }
  }
  return byCells > byTurns;
}

static CellThreads chooseThreads(const KernelGroup &group, ArrayRef<Run> runs,
                                 ArrayRef<Loop> cells,
                                 ArrayRef<Value> scratch) {
  int64_t most = 0;
  for (const Run &run : runs)
    most = std::max(most, countTurns(run.loops));
  CellThreads threads;
  threads.count = countParts(most);
  if (threads.areSeveral() && areColumns(group, runs, cells, scratch))
    threads = {kWarp, true};
  return threads;
}

static bool isWritten(const KernelGroup &group, const FlatBuffer &buffer) {
  return llvm::any_of(group.members, [&](const Member &member) {
    return member.nest.mayWrite(buffer);
  });
}

/// What several runs read, of at most `mostBytes` in all.
static SmallVector<Row, 0> findRows(const KernelGroup &group,
                                    ArrayRef<Run> runs, ArrayRef<Loop> cells,
                                    ArrayRef<Value> scratch,
                                    int64_t mostBytes) {
  SmallVector<Row, 0> rows;
  for (auto [number, run] : llvm::enumerate(runs)) {
    if (run.loops.empty() ||
        !isInParts(group, run, findAccumulators(group, run)))
      continue;
    for (auto [position, member] : llvm::enumerate(run.members))
      for (const Access &access : group.members[member].nest.accesses) {
        if (!access.reads || access.writes || !access.linear ||
            llvm::is_contained(scratch, access.buffer.root) ||
            isWritten(group, access.buffer))
          continue;
        Row row = {access.buffer,       {}, {}, countTurns(run.loops),
                   access.elementBytes, {}, {}};
        for (const Loop &cell : cells)
          row.strides.push_back(access.strides[cell.dims[member]]);
        for (const Loop &loop : run.loops) {
          row.strides.push_back(access.strides[loop.dims[position]]);
          row.sizes.push_back(loop.size);
        }
        // Each turn has its own element.
        if (llvm::is_contained(ArrayRef(row.strides).drop_front(cells.size()),
                               0))
          continue;
        auto *same = llvm::find_if(rows, [&](const Row &other) {
          return other.buffer.root == row.buffer.root &&
                 other.buffer.offset == row.buffer.offset &&
                 other.buffer.dynamicOffset == row.buffer.dynamicOffset &&
                 other.strides == row.strides && other.sizes == row.sizes;
        });
        if (same == rows.end()) {
          rows.push_back(std::move(row));
          same = std::prev(rows.end());
        }
        same->reads.push_back({number, {member, &access}});
      }
  }
  SmallVector<Row, 0> kept;
  for (Row &row : rows) {
    int64_t bytes = row.turns * row.elementBytes;
    if (!row.isOfSeveralRuns() || bytes > mostBytes)
      continue;
    mostBytes -= bytes;
    kept.push_back(std::move(row));
  }
  return kept;
}

/// Whether a cell is one turn.
static bool areShort(ArrayRef<Run> runs) {
  return llvm::all_of(runs, [](const Run &run) { return run.loops.empty(); });
}

/// How many neighbours of the innermost loop one thread has, so that it reads
/// and writes vectors.
static int64_t countNeighbours(const KernelGroup &group, ArrayRef<Run> runs,
                               ArrayRef<Loop> cells, ArrayRef<Value> scratch) {
  if (cells.empty() || !areShort(runs))
    return 1;
  int64_t bytes = 1;
  for (auto [member, dim] : llvm::zip_equal(group.members, cells.back().dims))
    for (const Access &access : member.nest.accesses) {
      if (llvm::is_contained(scratch, access.buffer.root))
        continue;
      if (access.writes && access.strides[dim] != 1)
        return 1;
      bytes = std::max(bytes, access.elementBytes);
    }
  int64_t ops = 0;
  for (const Member &member : group.members)
    member.nest.op->walk([&](Operation *) { ++ops; });
  int64_t count = kVectorBytes / bytes;
  // A power of two that leaves work for a block.
  while (count > 1 &&
         (count * ops > kMostOps || cells.back().size % count != 0 ||
          countTurns(cells) / count < kThreads))
    count /= 2;
  return std::max<int64_t>(count, 1);
}

/// Whether a thread's neighbours touch all elements of vectors in a buffer. If
/// LLVM knows the alignment of others, it reads vectors that go beyond what is
/// used.
static bool isReadInVectors(const KernelGroup &group, ArrayRef<Loop> cells,
                            Value root) {
  const Access *first = nullptr;
  SmallVector<int64_t> strides;
  for (auto [index, member] : llvm::enumerate(group.members)) {
    for (const FlatBuffer &gather : member.nest.gathers)
      if (gather.root == root)
        return false;
    for (const Access &access : member.nest.accesses) {
      if (access.buffer.root != root)
        continue;
      SmallVector<int64_t> ofCells;
      for (const Loop &cell : cells)
        ofCells.push_back(access.strides[cell.dims[index]]);
      if (!access.linear || ofCells.back() != 1 ||
          (first &&
           (ofCells != strides ||
            access.buffer.offset != first->buffer.offset ||
            access.buffer.dynamicOffset != first->buffer.dynamicOffset)))
        return false;
      first = &access;
      strides = ofCells;
    }
  }
  return true;
}

/// What is read along another loop than it is written along; that loop.
static SmallVector<TileRead>
findTileReads(const KernelGroup &group, ArrayRef<Run> runs,
              ArrayRef<Loop> cells, ArrayRef<Value> scratch, size_t &across) {
  SmallVector<TileRead> reads;
  if (cells.size() < 2 || !areShort(runs) || cells.back().size < kFewestInTile)
    return reads;
  int64_t bytes = 0;
  for (auto [index, member] : llvm::enumerate(group.members))
    for (const Access &access : member.nest.accesses) {
      if (!access.reads || access.writes || !access.linear ||
          access.strides[cells.back().dims[index]] == 1 ||
          llvm::is_contained(scratch, access.buffer.root) ||
          isWritten(group, access.buffer))
        continue;
      for (size_t position = 0; position + 1 < cells.size(); ++position) {
        if (access.strides[cells[position].dims[index]] != 1 ||
            access.strides[cells.back().dims[index]] == 0 ||
            cells[position].size < kFewestInTile ||
            (!reads.empty() && across != position))
          continue;
        int64_t more = kTile * kTileRow * access.elementBytes;
        if (bytes + more > kSharedBytes / 2)
          break;
        bytes += more;
        across = position;
        reads.push_back({unsigned(index), &access});
        break;
      }
    }
  return reads;
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
  SmallVector<Loop> cells = getCells(group);
  CellThreads threads = chooseThreads(group, runs, cells, scratch);
  DenseMap<Value, int64_t> scratchSizes = shrinkScratch(
      group, scratch, threads.areSeveral() ? kSharedBytes / 2 : kThreadBytes);
  // Each cell of a block has its own.
  DenseMap<Value, int64_t> elementBytes;
  for (const Member &member : group.members)
    for (const Access &access : member.nest.accesses)
      elementBytes[access.buffer.root] = access.elementBytes;
  int64_t bytes = 0;
  for (Value root : scratch)
    bytes += scratchSizes[root] * elementBytes[root];
  if (threads.areSeveral() && bytes * threads.cells() > kSharedBytes / 2)
    threads = {kThreads, false};
  SmallVector<Row, 0> rows;
  if (threads.areSeveral())
    rows = findRows(group, runs, cells, scratch,
                    kSharedBytes / 2 / threads.cells() - bytes);
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, group.members.size()));
  coalesceLoops(group, cells, all);
  for (Run &run : runs)
    coalesceLoops(group, run.loops, run.members);
  BodyEmitter body(builder, group, loc,
                   [&](Value root) { return scratchSizes.contains(root); });

  OpBuilder::InsertionGuard guard(builder);
  auto function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(body.getArgumentTypes(), {}));
  function.setPrivate();
  body.setAliasAttributes(function, /*areShared=*/threads.areSeveral());
  size_t across = 0;
  SmallVector<TileRead> reads;
  int64_t neighbours = 1;
  if (!threads.areSeveral()) {
    reads = findTileReads(group, runs, cells, scratch, across);
    if (reads.empty())
      neighbours = countNeighbours(group, runs, cells, scratch);
  }
  updateArgAttrs(function, [&](unsigned i, NamedAttrList &list) {
    if (neighbours > 1 && i < body.getRoots().size() &&
        isReadInVectors(group, cells, body.getRoots()[i]))
      list.set(LLVM::LLVMDialect::getAlignAttrName(),
               builder.getI64IntegerAttr(kVectorBytes));
  });
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Operation *end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  body.begin(entry->getArguments());
  CellEmitter emitter(builder, group, loc, body, threads);
  for (Value root : scratch)
    body.bindScratch(root,
                     emitter.allocateOfCell(
                         cast<MemRefType>(root.getType()).getElementType(),
                         scratchSizes[root]));
  emitter.keepRows(std::move(rows));
  int64_t blocks = reads.empty()
                       ? emitter.emitCells(cells, runs, neighbours)
                       : emitter.emitTiles(cells, across, runs, reads);
  function->setAttr(kBlocksAttr, builder.getI64IntegerAttr(blocks));
  return Kernel{function, llvm::to_vector(body.getRoots()),
                llvm::to_vector(body.getScalars()),
                llvm::to_vector(body.getViews()), body.getStarts()};
}
