//===- UnrollAxis.cpp - An axis of the mesh becomes chunks in time --------===//
//
// What the devices along the axis do, one device does in turns. What does not
// depend on the place along the axis is done once. A turn is done as a whole,
// up to where a turn needs what others have.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/FunctionAttrs.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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
  void repeat(ArrayRef<Operation *> ops);
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
    SmallVector<Value> parts;
    for (IRMapping &map : maps)
      parts.push_back(map.lookupOrDefault(gather.getOperand()));
    Value whole =
        tensor::ConcatOp::create(builder, loc, gather.getDim(), parts);
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

/// Each turn does all of `ops`, but for those that are equal in all turns.
void Unrolling::repeat(ArrayRef<Operation *> ops) {
  for (auto [chunk, map] : llvm::enumerate(maps))
    for (Operation *op : ops) {
      if (chunk == 0) {
        bool varies = false;
        op->walk([&](Operation *inner) {
          varies |= llvm::any_of(inner->getOperands(), [&](Value operand) {
            return varying.contains(operand);
          });
        });
        if (varies)
          varying.insert(op->result_begin(), op->result_end());
      } else if (op->getNumResults() > 0 &&
                 !varying.contains(op->getResult(0))) {
        for (Value result : op->getResults())
          map.map(result, maps[0].lookup(result));
        continue;
      }
      builder.clone(*op, map);
    }
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
  ArrayRef<Operation *> left = given;
  while (!left.empty()) {
    ArrayRef<Operation *> turn =
        left.take_until([&](Operation *op) { return isExchange(op); });
    repeat(turn);
    left = left.drop_front(turn.size());
    if (left.empty())
      break;
    if (failed(exchange(left.front())))
      return failure();
    left = left.drop_front();
  }
  for (OpOperand &operand : terminator->getOpOperands()) {
    int64_t dim = resultDims[operand.getOperandNumber()];
    Value first = maps[0].lookupOrDefault(operand.get());
    if (dim < 0) {
      operand.set(first);
      continue;
    }
    SmallVector<Value> parts;
    for (IRMapping &map : maps)
      parts.push_back(map.lookupOrDefault(operand.get()));
    operand.set(
        tensor::ConcatOp::create(builder, terminator->getLoc(), dim, parts));
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
