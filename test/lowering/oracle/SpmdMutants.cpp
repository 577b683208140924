//===- SpmdMutants.cpp - SPMD programs with one fact changed --------------===//

#include "test/lowering/oracle/SpmdMutants.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "test/generator/Devices.h"
#include "test/generator/Interpreter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

static RankedTensorType typeOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

static SmallVector<AxisRefAttr> getAxes(Operation *op) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  return axes ? SmallVector<AxisRefAttr>(axes.getAsRange<AxisRefAttr>())
              : SmallVector<AxisRefAttr>();
}

/// The same elements, row-major, as another type of as many.
static Value reinterpret(OpBuilder &b, Location loc, Value value,
                         RankedTensorType type) {
  auto join = [](int64_t rank) {
    ReassociationIndices all;
    for (int64_t i = 0; i < rank; ++i)
      all.push_back(i);
    return SmallVector<ReassociationIndices>{all};
  };
  if (value.getType() == type)
    return value;
  if (int64_t rank = typeOf(value).getRank(); rank > 1)
    value = tensor::CollapseShapeOp::create(b, loc, value, join(rank));
  if (type.getRank() > 1)
    value = tensor::ExpandShapeOp::create(b, loc, type, value,
                                          join(type.getRank()));
  return value;
}

namespace {
class Finder {
public:
  explicit Finder(ModuleOp module) : devices(getDevices(module)) {
    for (auto mesh : module.getOps<MeshOp>())
      for (MeshAxisAttr axis : mesh.getAxes())
        meshAxes.push_back(
            AxisRefAttr::get(module.getContext(), axis.getName(), 1, 0));
  }
  std::vector<Mutation> found;
  void visit(Operation *op);

private:
  void add(llvm::StringLiteral kind, std::function<void()> apply) {
    found.push_back({kind, std::move(apply)});
  }
  void visitCollective(Operation *op);
  void visitAxes(Operation *op, bool keepsSize);
  void visitDimension(Operation *op);
  void visitReduction(Operation *op);
  void visitRanks(Operation *op);
  void visitNumbers(Operation *op);
  Value keepOwn(OpBuilder &b, Operation *op);

  Devices devices;
  SmallVector<AxisRefAttr> meshAxes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// What a device makes of its own operand alone, in the shape of the result.
Value Finder::keepOwn(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  Value own = op->getOperand(0);
  RankedTensorType type = typeOf(op->getResult(0));
  auto slice = [&](int64_t dim) -> Value {
    SmallVector<int64_t> shape(typeOf(own).getShape());
    shape[dim] /= devices.getSize(getAxes(op));
    OperationState state(loc, AllSliceOp::getOperationName(), own,
                         type.clone(shape));
    state.addAttribute("dim", b.getI64IntegerAttr(dim));
    for (StringRef name : {"axes", "mesh"})
      if (Attribute attr = op->getAttr(name))
        state.addAttribute(name, attr);
    return b.create(state)->getResult(0);
  };
  auto repeat = [&](int64_t dim) -> Value {
    SmallVector<Value> copies(devices.getSize(getAxes(op)), own);
    return tensor::ConcatOp::create(b, loc, dim, copies);
  };
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return repeat(gather.getDim());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return slice(scatter.getDim());
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    own = slice(exchange.getSplitDim());
    return repeat(exchange.getConcatDim());
  }
  if (auto halo = dyn_cast<HaloExchangeOp>(op)) {
    SmallVector<OpFoldResult> low(type.getRank(), b.getIndexAttr(0)), high(low);
    low[halo.getDim()] = b.getIndexAttr(halo.getLow());
    high[halo.getDim()] = b.getIndexAttr(halo.getHigh());
    Value zero = arith::ConstantOp::create(
        b, loc, cast<TypedAttr>(b.getZeroAttr(type.getElementType())));
    return tensor::PadOp::create(b, loc, type, own, low, high, zero);
  }
  if (auto halo = dyn_cast<HaloReduceOp>(op)) {
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        ones(type.getRank(), b.getIndexAttr(1)),
        sizes = getAsIndexOpFoldResult(b.getContext(), type.getShape());
    offsets[halo.getDim()] = b.getIndexAttr(halo.getLow());
    return tensor::ExtractSliceOp::create(b, loc, type, own, offsets, sizes,
                                          ones);
  }
  return own.getType() == type ? own : Value();
}

/// Other lists of axes, of the same number of devices where `keepsSize`.
void Finder::visitAxes(Operation *op, bool keepsSize) {
  SmallVector<AxisRefAttr> axes = getAxes(op);
  std::vector<SmallVector<AxisRefAttr>> others;
  auto offer = [&](SmallVector<AxisRefAttr> list) {
    if (!list.empty() && list != axes && !llvm::is_contained(others, list) &&
        (!keepsSize || devices.getSize(list) == devices.getSize(axes)))
      others.push_back(std::move(list));
  };
  for (AxisRefAttr axis : meshAxes)
    offer({axis});
  offer(meshAxes);
  offer(llvm::to_vector(llvm::reverse(axes)));
  for (size_t i = 0; i < axes.size(); ++i) {
    SmallVector<AxisRefAttr> fewer(axes);
    fewer.erase(fewer.begin() + i);
    offer(fewer);
  }
  // A part of an axis.
  for (AxisRefAttr axis : meshAxes)
    if (int64_t size = devices.getSize(axis); size > 2 && size % 2 == 0)
      offer({AxisRefAttr::get(op->getContext(), axis.getName(), 1, size / 2)});
  for (const SmallVector<AxisRefAttr> &list : others)
    add("axes", [op, list] {
      op->setAttr("axes", Builder(op->getContext())
                              .getArrayAttr(SmallVector<Attribute>(
                                  list.begin(), list.end())));
    });
}

/// Another dimension, where as many elements come of it.
void Finder::visitDimension(Operation *op) {
  auto dim = op->getAttrOfType<IntegerAttr>("dim");
  RankedTensorType from = typeOf(op->getOperand(0)),
                   to = typeOf(op->getResult(0));
  int64_t p = devices.getSize(getAxes(op));
  if (isa<AllToAllOp>(op))
    return add("dimension", [op, p] {
      // Splits what was to be joined.
      auto exchange = cast<AllToAllOp>(op);
      auto operand = typeOf(exchange.getOperand());
      auto result = typeOf(exchange.getResult());
      int64_t split = exchange.getConcatDim(), join = exchange.getSplitDim();
      SmallVector<int64_t> shape(operand.getShape());
      if (shape[split] % p != 0)
        return;
      shape[split] /= p;
      shape[join] *= p;
      exchange.setSplitDim(split);
      exchange.setConcatDim(join);
      exchange.getResult().setType(operand.clone(shape));
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Value same = reinterpret(b, op->getLoc(), exchange.getResult(), result);
      exchange.getResult().replaceUsesWithIf(same, [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return user->getBlock() != op->getBlock() ||
               (user != same.getDefiningOp() &&
                !user->isBeforeInBlock(same.getDefiningOp()));
      });
    });
  if (!dim || isa<HaloExchangeOp, HaloReduceOp, GatherRowsOp, ReduceRowsOp>(op))
    return;
  bool joins = isa<AllGatherOp>(op);
  for (int64_t other = 0; other < from.getRank(); ++other) {
    if (other == dim.getInt() || (!joins && from.getDimSize(other) % p != 0))
      continue;
    SmallVector<int64_t> shape(from.getShape());
    shape[other] = joins ? shape[other] * p : shape[other] / p;
    add("dimension", [op, other, shape, from, to] {
      OpBuilder b(op);
      Operation *changed = b.clone(*op);
      changed->setAttr("dim", b.getI64IntegerAttr(other));
      changed->getResult(0).setType(from.clone(shape));
      op->getResult(0).replaceAllUsesWith(
          reinterpret(b, op->getLoc(), changed->getResult(0), to));
      op->erase();
    });
  }
}

void Finder::visitReduction(Operation *op) {
  auto kind = op->getAttrOfType<ReductionKindAttr>("reduction");
  if (!kind)
    return;
  for (ReductionKind other : {ReductionKind::Sum, ReductionKind::Max,
                              ReductionKind::Min, ReductionKind::Prod})
    if (other != kind.getValue())
      add("reduction", [op, other] {
        op->setAttr("reduction",
                    ReductionKindAttr::get(op->getContext(), other));
      });
}

/// On one rank the result of `op` is its own operand, or another value.
void Finder::visitRanks(Operation *op) {
  int64_t count = devices.getCount();
  for (int64_t rank : {int64_t(0), count - 1})
    add("rank", [this, op, rank] {
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Location loc = op->getLoc();
      Value result = op->getResult(0), other = keepOwn(b, op);
      RankedTensorType type = typeOf(result);
      Type element = type.getElementType();
      if (!other || rank == 0) {
        Value one = arith::ConstantOp::create(
            b, loc,
            DenseElementsAttr::get(
                type, isa<FloatType>(element)
                          ? Attribute(b.getFloatAttr(element, 1))
                          : Attribute(b.getIntegerAttr(element, 1))));
        other = isa<FloatType>(element)
                    ? Value(arith::AddFOp::create(b, loc, result, one))
                    : Value(arith::AddIOp::create(b, loc, result, one));
      }
      SmallVector<Attribute> axes(meshAxes.begin(), meshAxes.end());
      OperationState state(loc, AxisIndexOp::getOperationName(), ValueRange(),
                           b.getIndexType());
      state.addAttribute("axes", b.getArrayAttr(axes));
      if (Attribute mesh = op->getAttr("mesh"))
        state.addAttribute("mesh", mesh);
      Value place = b.create(state)->getResult(0);
      Value here =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place,
                                arith::ConstantIndexOp::create(b, loc, rank));
      Value chosen = arith::SelectOp::create(b, loc, here, other, result);
      result.replaceUsesWithIf(chosen, [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return user != chosen.getDefiningOp() && user != other.getDefiningOp();
      });
    });
}

void Finder::visitCollective(Operation *op) {
  bool keepsSize = isa<AllGatherOp, ReduceScatterOp, AllToAllOp, AllSliceOp,
                       CollectivePermuteOp>(op);
  if (isa<AllSliceOp>(op)) {
    // Sends nothing that could be left out; every device takes the first slice.
    add("slice", [op] {
      OpBuilder b(op);
      RankedTensorType type = typeOf(op->getResult(0));
      SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
          strides(type.getRank(), b.getIndexAttr(1)),
          sizes = getAsIndexOpFoldResult(op->getContext(), type.getShape());
      op->getResult(0).replaceAllUsesWith(tensor::ExtractSliceOp::create(
          b, op->getLoc(), op->getOperand(0), offsets, sizes, strides));
      op->erase();
    });
  } else {
    add("removed", [this, op] {
      OpBuilder b(op);
      if (Value own = keepOwn(b, op)) {
        op->getResult(0).replaceAllUsesWith(own);
        op->erase();
      }
    });
  }
  visitAxes(op, keepsSize);
  visitDimension(op);
  visitReduction(op);
  visitRanks(op);
  if (auto permute = dyn_cast<CollectivePermuteOp>(op))
    add("axes", [permute]() mutable {
      if (permute.getAxes() == permute.getToAxes()) {
        permute.setReversed(!permute.getReversed());
        return;
      }
      ArrayAttr from = permute.getAxes();
      permute.setAxesAttr(permute.getToAxes());
      permute.setToAxesAttr(from);
    });
  if (auto root = op->getAttrOfType<IntegerAttr>("root");
      root && devices.getSize(getAxes(op)) > 1)
    add("slice", [op, root] {
      op->setAttr(
          "root",
          Builder(op->getContext()).getI64IntegerAttr(root.getInt() == 0));
    });
  if (auto pass = dyn_cast<SendRecvOp>(op))
    add("slice", [pass]() mutable { pass.setShift(-pass.getShift()); });
}

//===----------------------------------------------------------------------===//
// Masks and slices
//===----------------------------------------------------------------------===//

/// Adds ±1 to one static offset of a slice where it stays inside of `whole`.
template <typename SliceOp>
static void findMoves(SliceOp op, RankedTensorType whole,
                      function_ref<void(std::function<void()>)> add) {
  for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets()))
    for (int64_t step : {-1, 1}) {
      int64_t size = op.getStaticSizes()[dim];
      if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
          whole.isDynamicDim(dim) || offset + step < 0 ||
          offset + step + (size - 1) * op.getStaticStrides()[dim] >=
              whole.getDimSize(dim))
        continue;
      add([op, dim = dim, moved = offset + step]() mutable {
        SmallVector<int64_t> offsets(op.getStaticOffsets());
        offsets[dim] = moved;
        op.setStaticOffsets(offsets);
      });
    }
}

/// Whether the number of the device is among what `value` is made of.
static bool hangsOnDevice(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<AxisIndexOp>(op))
    return true;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return hangsOnDevice(operand, depth - 1);
  });
}

void Finder::visitNumbers(Operation *op) {
  auto addSlice = [&](std::function<void()> apply) { add("slice", apply); };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    findMoves(slice, slice.getSourceType(), addSlice);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    findMoves(slice, slice.getDestType(), addSlice);
  bool isOfDevice = llvm::any_of(
      op->getOperands(), [](Value operand) { return hangsOnDevice(operand); });
  if (isa<AxisIndexOp>(op)) {
    visitAxes(op, /*keepsSize=*/false);
    for (int64_t step : {-1, 1})
      add("slice", [op, step] {
        OpBuilder b(op->getContext());
        b.setInsertionPointAfter(op);
        Value moved = arith::AddIOp::create(
            b, op->getLoc(), op->getResult(0),
            arith::ConstantIndexOp::create(b, op->getLoc(), step));
        op->getResult(0).replaceAllUsesExcept(moved, moved.getDefiningOp());
      });
  }
  if (!isOfDevice)
    return;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    static constexpr std::pair<P, P> moves[] = {
        {P::slt, P::sle}, {P::sle, P::slt}, {P::sgt, P::sge}, {P::sge, P::sgt},
        {P::ult, P::ule}, {P::ule, P::ult}, {P::eq, P::ne},   {P::ne, P::eq}};
    for (auto [from, to] : moves)
      if (compare.getPredicate() == from)
        add("slice",
            [compare, to = to]() mutable { compare.setPredicate(to); });
  }
  if (isa<arith::SelectOp>(op))
    for (unsigned side : {1u, 2u})
      add("mask", [op, side] {
        op->getResult(0).replaceAllUsesWith(op->getOperand(side));
        op->erase();
      });
  // Bounds and factors.
  for (OpOperand &operand : op->getOpOperands()) {
    auto number = operand.get().getDefiningOp<arith::ConstantOp>();
    auto value =
        number ? dyn_cast<IntegerAttr>(number.getValue()) : IntegerAttr();
    if (!value || !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                       arith::CmpIOp, arith::MinSIOp, arith::MaxSIOp>(op))
      continue;
    unsigned place = operand.getOperandNumber();
    for (int64_t step : {-1, 1})
      add("slice", [op, place, value, step] {
        OpBuilder b(op);
        op->setOperand(place, arith::ConstantOp::create(
                                  b, op->getLoc(),
                                  b.getIntegerAttr(
                                      value.getType(),
                                      value.getValue().getSExtValue() + step)));
      });
  }
}

void Finder::visit(Operation *op) {
  if (isa<CollectiveOpInterface>(op))
    visitCollective(op);
  else
    visitNumbers(op);
}

std::vector<Mutation> mlir::dist::test::findSpmdMutations(ModuleOp module) {
  // What is applied later still asks it.
  auto finder = std::make_shared<Finder>(module);
  module.walk([&](Operation *op) { finder->visit(op); });
  std::vector<Mutation> out = std::move(finder->found);
  for (Mutation &one : out)
    one.apply = [finder, apply = std::move(one.apply)] { apply(); };
  return out;
}
