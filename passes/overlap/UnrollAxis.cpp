//===- UnrollAxis.cpp - An axis of the mesh becomes chunks in time --------===//
//
// One device does the work of the devices along the axis in turns. Ops that do
// not depend on the position along the axis are done once. A turn is done as a
// whole, up to where a value depends on all turns. Loops that send anything do
// all turns in each iteration; other loops belong to each turn.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/cost/Work.h"
#include "passes/overlap/AxisInTime.h"
#include "passes/overlap/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTUNROLLAXIS
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

class Unrolling {
public:
  Unrolling(FunctionOpInterface function, MeshOp mesh, MeshAxisAttr axis)
      : function(function), mesh(mesh), axis(function, mesh, axis),
        builder(function.getContext()), maps(axis.getSize()) {}

  LogicalResult run();

private:
  LogicalResult changeSignature();
  LogicalResult handOut(Operation *op, ArrayRef<Value> wholes, int64_t dim);
  LogicalResult exchange(Operation *op);
  Value join(Location loc, Value value, int64_t dim);
  void findOpenLoops();
  LogicalResult findVarying();
  LogicalResult visit(Operation *op);
  LogicalResult visitLoop(scf::ForOp loop);
  LogicalResult visitBody(Block &block);
  LogicalResult flush();
  Value slice(Location loc, Value whole, int64_t dim, int64_t chunk);

  FunctionOpInterface function;
  MeshOp mesh;
  AxisInTime axis;
  OpBuilder builder;
  /// The value in each turn, by value of the original program.
  SmallVector<IRMapping> maps;
  /// Values of the program given that are not the same in all turns.
  DenseSet<Value> varying;
  /// Loops of which each turn runs all iterations.
  DenseSet<Operation *> openLoops;
  /// Ops of the original program to emit: those of each turn or that turns
  /// need, and, after them, those that depend on all turns' results.
  SmallVector<Operation *> turn, joined;
  /// Values that depend on all turns, and those of them that `joined` computes.
  DenseSet<Value> ofAll, ofJoined;
  /// For each result, the dimension in which turns are parts of it, or -1.
  SmallVector<int64_t> resultDims;
};

} // namespace

Value Unrolling::slice(Location loc, Value whole, int64_t dim, int64_t chunk) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, whole);
  int64_t rows = type.getDimSize(dim) / axis.getSize();
  sizes[dim] = builder.getIndexAttr(rows);
  // A slice of nothing is not legal.
  if (llvm::is_contained(type.getShape(), 0))
    return tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  offsets[dim] = builder.getIndexAttr(chunk * rows);
  return tensor::ExtractSliceOp::create(builder, loc, whole, offsets, sizes,
                                        strides);
}

LogicalResult Unrolling::changeSignature() {
  SmallVector<int64_t> dims;
  if (failed(axis.changeSignature(dims, resultDims)))
    return failure();
  Block &entry = function.getFunctionBody().front();
  builder.setInsertionPointToStart(&entry);
  for (auto [argument, dim] : llvm::zip_equal(entry.getArguments(), dims)) {
    if (dim < 0)
      continue;
    varying.insert(argument);
    for (auto [chunk, map] : llvm::enumerate(maps))
      map.map(argument, slice(argument.getLoc(), argument, dim, chunk));
  }
  return success();
}

/// Ops that contain, only in loops, ops that name axes.
void Unrolling::findOpenLoops() {
  function.walk([&](Operation *op) {
    if (!speaksOfAxes(op))
      return;
    // From the outermost.
    SmallVector<Operation *> around;
    for (Operation *up = op->getParentOp(); up != function;
         up = up->getParentOp())
      around.push_back(up);
    for (Operation *up : llvm::reverse(around)) {
      if (!isa<scf::ForOp>(up))
        break;
      openLoops.insert(up);
    }
  });
}

/// The results of the parts of arguments, in `varying`, and of parts of
/// exchanges, up to where they are concatenated.
LogicalResult Unrolling::findVarying() {
  SmallVector<Value> pending(varying.begin(), varying.end());
  auto mark = [&](Value value) {
    if (varying.insert(value).second)
      pending.push_back(value);
  };
  auto isOpen = [&](Operation *around) {
    return around == function || openLoops.contains(around);
  };
  function.walk([&](Operation *op) {
    if (isa<AllSliceOp, AxisIndexOp, LocalConstantOp>(op) &&
        axis.speaksOfAxis(op) && isOpen(op->getParentOp()))
      mark(op->getResult(0));
  });
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *op = use.getOwner();
      while (!isOpen(op->getParentOp()))
        op = op->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(op); loop && isOpen(loop)) {
        if (use.getOperandNumber() < loop.getNumControlOperands())
          return loop.emitOpError()
                 << "turns as often as the place along axis '" << axis.getName()
                 << "' says, and sends something, so that one device cannot "
                    "do that axis in turns";
        mark(loop.getTiedLoopRegionIterArg(&use));
        mark(loop.getTiedLoopResult(&use));
      } else if (op->hasTrait<OpTrait::IsTerminator>()) {
        if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp())) {
          mark(loop.getRegionIterArg(use.getOperandNumber()));
          mark(loop.getResult(use.getOperandNumber()));
        }
      } else if (!isa<AllGatherOp>(op) || !axis.speaksOfAxis(op)) {
        for (Value result : op->getResults())
          mark(result);
      }
    }
  return success();
}

/// The value of all turns, contiguous along `dim`.
Value Unrolling::join(Location loc, Value value, int64_t dim) {
  SmallVector<Value> parts;
  for (IRMapping &map : maps)
    parts.push_back(map.lookupOrDefault(value));
  // Slices of one tensor that this pass created.
  Value whole;
  for (auto [chunk, part] : llvm::enumerate(parts)) {
    auto type = cast<RankedTensorType>(part.getType());
    auto made = part.getDefiningOp<tensor::ExtractSliceOp>();
    bool isPart = made && made.hasUnitStride() &&
                  made.getSourceType().getRank() == type.getRank() &&
                  (!whole || whole == made.getSource());
    for (auto [number, offset] : llvm::enumerate(
             isPart ? made.getStaticOffsets() : ArrayRef<int64_t>()))
      isPart &=
          offset ==
          (int64_t(number) == dim ? int64_t(chunk) * type.getDimSize(dim) : 0);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] *= axis.getSize();
    if (!isPart || made.getSourceType().getShape() != ArrayRef(shape))
      return tensor::ConcatOp::create(builder, loc, dim, parts);
    whole = made.getSource();
  }
  return whole;
}

/// Gives each turn its part of a value that is whole; the first turn's part if
/// the value has no others.
LogicalResult Unrolling::handOut(Operation *op, ArrayRef<Value> wholes,
                                 int64_t dim) {
  Value part = op->getResult(0);
  int64_t rows =
      cast<RankedTensorType>(wholes.front().getType()).getDimSize(dim);
  if (ShapedType::isDynamic(rows))
    return op->emitOpError() << "is a part of rows in dimension " << dim
                             << " whose number is not known: give sizes "
                                "(--bind batch=8, "
                                "--dist-bind-sizes=sizes=batch=8)";
  if (rows !=
      axis.getSize() * cast<RankedTensorType>(part.getType()).getDimSize(dim))
    return op->emitOpError() << "is a part of " << rows << " rows in dimension "
                             << dim << ", which axis '" << axis.getName()
                             << "' = " << axis.getSize() << " does not divide";
  for (auto [chunk, map] : llvm::enumerate(maps))
    map.map(part, slice(op->getLoc(), wholes[wholes.size() > 1 ? chunk : 0],
                        dim, chunk));
  return success();
}

/// An op that names the axis, done by one device. Its part along other axes is
/// done once for all turns.
LogicalResult Unrolling::exchange(Operation *op) {
  Location loc = op->getLoc();
  if (auto index = dyn_cast<AxisIndexOp>(op))
    if (auto others = axis.getOthers(index.getAxesAttr())) {
      Value first; // of this device's turns
      if (!others->empty()) {
        Value place = cloneOver(builder, index, *others, Value(),
                                index.getResult().getType());
        first = arith::MulIOp::create(
            builder, loc, place,
            arith::ConstantIndexOp::create(builder, loc, axis.getSize()));
      }
      for (auto [chunk, map] : llvm::enumerate(maps)) {
        Value turn = arith::ConstantIndexOp::create(builder, loc, chunk);
        map.map(index.getResult(),
                first ? arith::AddIOp::create(builder, loc, first, turn)
                      : turn);
      }
      return success();
    }
  if (auto part = dyn_cast<AllSliceOp>(op))
    if (auto others = axis.getOthers(part.getAxes())) {
      auto type = cast<RankedTensorType>(part.getResult().getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[part.getDim()] *= axis.getSize();
      SmallVector<Value> wholes;
      for (IRMapping &map : maps) {
        if (!wholes.empty() && !varying.contains(part.getOperand()))
          break;
        wholes.push_back(map.lookupOrDefault(part.getOperand()));
        if (!others->empty())
          wholes.back() = cloneOver(builder, part, *others, wholes.back(),
                                    type.clone(shape));
      }
      return handOut(op, wholes, part.getDim());
    }
  if (auto gather = dyn_cast<AllGatherOp>(op))
    if (auto others = axis.getOthers(gather.getAxes())) {
      Value whole = join(loc, gather.getOperand(), gather.getDim());
      if (!others->empty())
        whole = cloneOver(builder, gather, *others, whole,
                          gather.getResult().getType());
      for (IRMapping &map : maps)
        map.map(gather.getResult(), whole);
      return success();
    }
  if (auto constant = dyn_cast<LocalConstantOp>(op)) {
    int64_t dim = -1;
    FailureOr<ShardingAttr> left =
        axis.removeAxis(constant.getSharding(), dim, "a constant");
    if (failed(left))
      return failure();
    auto made = cast<LocalConstantOp>(builder.clone(*op));
    made.setShardingAttr(*left);
    made.getResult().setType(MeshLayout(mesh).localType(
        cast<RankedTensorType>(constant.getValue().getType()), *left));
    return handOut(op, made.getResult(), dim);
  }
  if (op->getNumRegions() > 0 && !isa<CollectiveOpInterface>(op))
    return op->emitOpError()
           << "holds what is sent along axis '" << axis.getName()
           << "', or goes by the place along it, so that one device cannot do "
              "that axis in turns; of loops and branches it can scf.for";
  return op->emitOpError()
         << "cannot be done by one device in turns along axis '"
         << axis.getName() << "': all_gather, all_slice and axis_index can "
         << "where that is the last of their axes, what reduces would sum in "
         << "another order; place what is in turns so that no more is needed";
}

/// Each turn runs all of `turn`, except ops that are equal in all turns. Then
/// come the ops that read all turns. None of these share a kernel, so that
/// kernels are those of the program without turns.
LogicalResult Unrolling::flush() {
  bool isJoined = !joined.empty();
  for (auto [chunk, map] : llvm::enumerate(maps)) {
    for (Operation *op : turn) {
      if (chunk == 0 || op->getNumResults() == 0 ||
          varying.contains(op->getResult(0))) {
        builder.clone(*op, map);
        continue;
      }
      for (Value result : op->getResults())
        map.map(result, maps[0].lookup(result));
    }
    if (isJoined)
      FenceOp::create(builder, function.getLoc());
  }
  for (Operation *op : joined) {
    if (axis.speaksOfAxis(op)) {
      if (failed(exchange(op)))
        return failure();
      continue;
    }
    builder.clone(*op, maps[0]);
    for (IRMapping &map : maps)
      for (Value result : op->getResults())
        map.map(result, maps[0].lookup(result));
  }
  if (isJoined)
    FenceOp::create(builder, function.getLoc());
  turn.clear();
  joined.clear();
  ofJoined.clear();
  return success();
}

/// Whether the op is part of a kernel, or ends one.
static bool isComputed(Operation *op) {
  return !isa<tensor::EmptyOp, linalg::FillOp>(op) && !getViewSource(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

/// In each iteration of the loop the turns follow each other; carried values
/// are carried for each turn.
LogicalResult Unrolling::visitLoop(scf::ForOp loop) {
  if (failed(flush()))
    return failure();
  auto getCopies = [&](Value value) {
    return MutableArrayRef(maps).take_front(
        varying.contains(value) ? maps.size() : 1);
  };
  SmallVector<Value> inits;
  for (auto [argument, init] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInits()))
    for (IRMapping &map : getCopies(argument))
      inits.push_back(map.lookupOrDefault(init));
  auto bound = [&](Value value) { return maps[0].lookupOrDefault(value); };
  auto made = scf::ForOp::create(
      builder, loop.getLoc(), bound(loop.getLowerBound()),
      bound(loop.getUpperBound()), bound(loop.getStep()), inits,
      /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  // The facts about a value of all turns, or about its parts.
  auto give = [&](Value value, auto &next) {
    Value one;
    for (IRMapping &map : maps) {
      if (!one || varying.contains(value))
        one = *next++;
      map.map(value, one);
    }
  };
  for (IRMapping &map : maps)
    map.map(loop.getInductionVar(), made.getInductionVar());
  auto argument = made.getRegionIterArgs().begin();
  for (Value given : loop.getRegionIterArgs())
    give(given, argument);
  // Nothing in a loop shares a kernel with ops before it.
  DenseSet<Value> before;
  std::swap(before, ofAll);
  if (!made.getBody()->empty())
    made.getBody()->back().erase();
  builder.setInsertionPointToEnd(made.getBody());
  if (failed(visitBody(*loop.getBody())))
    return failure();
  SmallVector<Value> yielded;
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    for (IRMapping &map : getCopies(argument))
      yielded.push_back(map.lookupOrDefault(value));
  scf::YieldOp::create(builder, loop.getBody()->getTerminator()->getLoc(),
                       yielded);
  builder.setInsertionPointAfter(made);
  std::swap(before, ofAll);
  auto result = made.getResults().begin();
  for (Value given : loop.getResults())
    give(given, result);
  return success();
}

LogicalResult Unrolling::visitBody(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  return flush();
}

LogicalResult Unrolling::visit(Operation *op) {
  if (openLoops.contains(op))
    return visitLoop(cast<scf::ForOp>(op));
  bool varies = false, readsAll = false, readsJoined = false;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      varies |= varying.contains(operand);
      readsAll |= ofAll.contains(operand);
      readsJoined |= ofJoined.contains(operand);
    }
  });
  bool joins = isa<AllGatherOp>(op) && axis.speaksOfAxis(op);
  if (joins || (!varies && readsAll && !axis.speaksOfAxis(op))) {
    joined.push_back(op);
    ofAll.insert(op->result_begin(), op->result_end());
    ofJoined.insert(op->result_begin(), op->result_end());
    return success();
  }
  if (axis.speaksOfAxis(op))
    return failed(flush()) ? failure() : exchange(op);
  if (varies && !joined.empty() && (readsJoined || isComputed(op)) &&
      failed(flush()))
    return failure();
  turn.push_back(op);
  return success();
}

LogicalResult Unrolling::run() {
  if (!function.getFunctionBody().hasOneBlock())
    return function.emitOpError("has several blocks; only structured control "
                                "flow can be done in turns");
  Block &block = function.getFunctionBody().front();
  SmallVector<Operation *> given;
  for (Operation &op : block.without_terminator())
    given.push_back(&op);
  if (failed(changeSignature()))
    return failure();
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  findOpenLoops();
  if (failed(findVarying()))
    return failure();
  for (Operation *op : given)
    if (failed(visit(op)))
      return failure();
  if (failed(flush()))
    return failure();
  for (OpOperand &operand : terminator->getOpOperands()) {
    int64_t dim = resultDims[operand.getOperandNumber()];
    Value first = maps[0].lookupOrDefault(operand.get());
    if (dim < 0) {
      operand.set(first);
      continue;
    }
    operand.set(join(terminator->getLoc(), operand.get(), dim));
  }
  for (Operation *op : llvm::reverse(given))
    op->erase();
  return success();
}

namespace {
struct UnrollAxis : mlir::dist::impl::DistUnrollAxisBase<UnrollAxis> {
  using DistUnrollAxisBase::DistUnrollAxisBase;

  LogicalResult run() {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> mesh = findProgramMesh(module);
    FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
    if (failed(mesh) || failed(entry))
      return failure();
    int64_t size = *mesh ? mesh->getAxisSize(axis) : 0;
    if (size == 0)
      return module.emitError("--dist-unroll-axis: the program's mesh has no "
                              "axis '")
             << axis << "'";
    SmallVector<MeshAxisAttr> left;
    MeshAxisAttr turns;
    for (MeshAxisAttr given : mesh->getAxes()) {
      if (given.getName() == axis)
        turns = given;
      else
        left.push_back(given);
    }
    if (failed(AxisInTime(*entry, *mesh, turns).checkModule()))
      return failure();
    if (failed(Unrolling(*entry, *mesh, turns).run()))
      return failure();
    mesh->setAxesAttr(MeshAxesAttr::get(&getContext(), left));
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
