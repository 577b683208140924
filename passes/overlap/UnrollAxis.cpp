//===- UnrollAxis.cpp - An axis of the mesh becomes chunks in time --------===//
//
// What the devices along the axis do, one device does in turns. What does not
// depend on the place along the axis is done once. A turn is done as a whole,
// up to where something is made of what all turns have.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/FunctionAttrs.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/cost/Work.h"
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
      : function(function), mesh(mesh), axis(axis),
        builder(function.getContext()), maps(axis.getSize()) {}

  LogicalResult run();

private:
  LogicalResult changeSignature();
  FailureOr<ShardingAttr> removeAxis(ShardingAttr sharding, int64_t &dim,
                                     const Twine &what);
  LogicalResult exchange(Operation *op);
  Value join(Location loc, Value value, int64_t dim);
  LogicalResult visit(Operation *op);
  LogicalResult flush();
  bool names(ArrayAttr axes) {
    return llvm::any_of(getAxisRefs(axes), [&](AxisRefAttr ref) {
      return ref.getName() == axis.getName();
    });
  }
  bool isExchange(Operation *op);
  Value slice(Location loc, Value whole, int64_t dim, int64_t chunk);

  FunctionOpInterface function;
  MeshOp mesh;
  MeshAxisAttr axis;
  OpBuilder builder;
  /// What each value of the program given is in each turn.
  SmallVector<IRMapping> maps;
  /// Values of the program given that are not the same in all turns.
  DenseSet<Value> varying;
  /// Ops of the program given that are to be done: those that each turn does or
  /// that turns need, and, after them, what is made of all turns' results.
  SmallVector<Operation *> turn, joined;
  /// Values that are made of what all turns have, and those of them that
  /// `joined` makes.
  DenseSet<Value> ofAll, ofJoined;
  /// For each result, the dimension in which turns are parts of it, or -1.
  SmallVector<int64_t> resultDims;
};

} // namespace

/// The sharding without the axis, and the dimension that it shards, or -1. What
/// is left must hold the turns' parts in their order.
FailureOr<ShardingAttr> Unrolling::removeAxis(ShardingAttr sharding,
                                              int64_t &dim, const Twine &what) {
  dim = -1;
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  for (auto [number, entry] : llvm::enumerate(dims)) {
    SmallVector<AxisRefAttr> axes = entry.getAllAxes();
    if (llvm::none_of(axes, [&](AxisRefAttr ref) {
          return ref.getName() == axis.getName();
        }))
      continue;
    if (dim >= 0 || entry.getSubDims().size() != 1 ||
        axes.back().getName() != axis.getName() || axes.back().isSubAxis())
      return function.emitOpError()
             << what << " is placed as " << sharding << "; to do axis '"
             << axis.getName()
             << "' in turns it must shard a dimension as the last of its axes";
    dim = number;
    axes.pop_back();
    entry = DimShardingAttr::get(builder.getContext(), axes);
  }
  return ShardingAttr::get(builder.getContext(), sharding.getMesh(), dims,
                           sharding.getPartialKind(),
                           sharding.getPartialAxes());
}

Value Unrolling::slice(Location loc, Value whole, int64_t dim, int64_t chunk) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  int64_t rows = type.getDimSize(dim) / axis.getSize();
  sizes[dim] = builder.getIndexAttr(rows);
  offsets[dim] = builder.getIndexAttr(chunk * rows);
  return tensor::ExtractSliceOp::create(builder, loc, whole, offsets, sizes,
                                        strides);
}

LogicalResult Unrolling::changeSignature() {
  MeshLayout layout(mesh);
  Block &entry = function.getFunctionBody().front();
  builder.setInsertionPointToStart(&entry);
  LogicalResult result = success();
  SmallVector<Type> arguments(function.getArgumentTypes()),
      results(function.getResultTypes());
  auto change = [&](const Twine &what, NamedAttrList &list, Type &type) {
    auto sharding = dyn_cast_or_null<ShardingAttr>(list.get(kShardingAttr));
    auto global = dyn_cast_or_null<TypeAttr>(list.get(kGlobalTypeAttr));
    int64_t dim = -1;
    if (failed(result) || !sharding || !global)
      return dim;
    FailureOr<ShardingAttr> left = removeAxis(sharding, dim, what);
    if (failed(left)) {
      result = failure();
      return dim;
    }
    if (dim < 0)
      return dim;
    auto local = cast<RankedTensorType>(type);
    RankedTensorType whole =
        layout.localType(cast<RankedTensorType>(global.getValue()), *left);
    if (whole.getDimSize(dim) != axis.getSize() * local.getDimSize(dim)) {
      result = function.emitOpError()
               << what << " has " << whole.getDimSize(dim)
               << " rows in dimension " << dim << ", which axis '"
               << axis.getName() << "' = " << axis.getSize()
               << " does not divide";
      return dim;
    }
    list.set(kShardingAttr, *left);
    type = whole;
    return dim;
  };
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    BlockArgument argument = entry.getArgument(number);
    int64_t dim = change("argument " + Twine(number), list, arguments[number]);
    argument.setType(arguments[number]);
    if (dim < 0 || failed(result))
      return;
    varying.insert(argument);
    for (auto [chunk, map] : llvm::enumerate(maps))
      map.map(argument, slice(argument.getLoc(), argument, dim, chunk));
  });
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    resultDims.push_back(
        change("result " + Twine(number), list, results[number]));
  });
  function.setType(FunctionType::get(builder.getContext(), arguments, results));
  return result;
}

/// Whether the op speaks of the axis.
bool Unrolling::isExchange(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(inner))
      found |= names(collective.getAxes());
    else if (auto index = dyn_cast<AxisIndexOp>(inner))
      found |= names(index.getAxesAttr());
    else if (auto constant = dyn_cast<LocalConstantOp>(inner))
      for (DimShardingAttr dim : constant.getSharding().getDims())
        for (AxisRefAttr ref : dim.getAllAxes())
          found |= ref.getName() == axis.getName();
  });
  return found;
}

/// What the turns have of the value, in one piece along `dim`.
Value Unrolling::join(Location loc, Value value, int64_t dim) {
  SmallVector<Value> parts;
  for (IRMapping &map : maps)
    parts.push_back(map.lookupOrDefault(value));
  // Slices that this pass made of one tensor.
  Value whole;
  for (auto [chunk, part] : llvm::enumerate(parts)) {
    auto type = cast<RankedTensorType>(part.getType());
    auto made = part.getDefiningOp<tensor::ExtractSliceOp>();
    bool isPart = made && made->getBlock() == builder.getBlock() &&
                  made.hasUnitStride() &&
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

/// An op that speaks of the axis and of no other, done by one device.
LogicalResult Unrolling::exchange(Operation *op) {
  auto isOnlyAxis = [&](ArrayAttr axes) {
    SmallVector<AxisRefAttr> refs = getAxisRefs(axes);
    return refs.size() == 1 && !refs.front().isSubAxis();
  };
  Location loc = op->getLoc();
  if (auto index = dyn_cast<AxisIndexOp>(op);
      index && isOnlyAxis(index.getAxesAttr())) {
    varying.insert(index.getResult());
    for (auto [chunk, map] : llvm::enumerate(maps))
      map.map(index.getResult(),
              arith::ConstantIndexOp::create(builder, loc, chunk).getResult());
    return success();
  }
  if (auto part = dyn_cast<AllSliceOp>(op);
      part && isOnlyAxis(part.getAxesAttr())) {
    varying.insert(part.getResult());
    for (auto [chunk, map] : llvm::enumerate(maps))
      map.map(part.getResult(),
              slice(loc, map.lookupOrDefault(part.getOperand()), part.getDim(),
                    chunk));
    return success();
  }
  if (auto gather = dyn_cast<AllGatherOp>(op);
      gather && isOnlyAxis(gather.getAxes())) {
    Value whole = join(loc, gather.getOperand(), gather.getDim());
    for (IRMapping &map : maps)
      map.map(gather.getResult(), whole);
    return success();
  }
  return op->emitOpError()
         << "cannot be done by one device in turns along axis '"
         << axis.getName() << "': all_gather, all_slice and axis_index over "
         << "that axis alone can, what reduces would sum in another order; "
         << "place what is in turns so that no more is needed";
}

/// Each turn does all of `turn`, but for what is equal in all turns. Then comes
/// what is made of all of them. None of these share a kernel, so that kernels
/// are those of the program without turns.
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
    if (isExchange(op)) {
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

LogicalResult Unrolling::visit(Operation *op) {
  bool varies = false, readsAll = false, readsJoined = false;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      varies |= varying.contains(operand);
      readsAll |= ofAll.contains(operand);
      readsJoined |= ofJoined.contains(operand);
    }
  });
  bool joins = isa<AllGatherOp>(op) && isExchange(op);
  if (joins || (!varies && readsAll && !isExchange(op))) {
    joined.push_back(op);
    ofAll.insert(op->result_begin(), op->result_end());
    ofJoined.insert(op->result_begin(), op->result_end());
    return success();
  }
  if (isExchange(op))
    return failed(flush()) ? failure() : exchange(op);
  if (varies) {
    varying.insert(op->result_begin(), op->result_end());
    if (!joined.empty() && (readsJoined || isComputed(op)) && failed(flush()))
      return failure();
  }
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
