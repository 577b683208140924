//===- ForgetSizes.cpp - Programs that know less about their sizes --------===//

#include "test/generator/ForgetSizes.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "test/generator/Choices.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
class Forgetter {
public:
  Forgetter(ModuleOp module, uint64_t seed)
      : module(module), choices(seed * 991 + 3), b(module.getContext()) {}

  std::vector<SizeBinding> run();

private:
  void forgetArguments(func::FuncOp entry);
  void visit(Operation *op);
  bool visitElementwise(Operation *op);
  bool visitLinalg(linalg::LinalgOp op);
  bool visitExpand(tensor::ExpandShapeOp expand);
  bool visitSlice(tensor::ExtractSliceOp slice);
  bool visitOther(Operation *op);
  void visitReturn(func::ReturnOp op);

  static bool isUnknown(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && !type.hasStaticShape();
  }
  Value dimOf(Value tensor, int64_t dim) {
    return tensor::DimOp::create(b, tensor.getLoc(), tensor, dim);
  }
  /// The value with its sizes known again.
  Value remember(Value value) {
    return tensor::CastOp::create(b, value.getLoc(), known.lookup(value),
                                  value);
  }
  Value cast(Value value, ArrayRef<int64_t> shape) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    return type.getShape() == shape
               ? value
               : tensor::CastOp::create(b, value.getLoc(), type.clone(shape),
                                        value)
                     .getResult();
  }
  void setShape(Value value, ArrayRef<int64_t> shape) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    known[value] = type;
    value.setType(type.clone(shape));
  }
  void replace(Operation *op, Value with) {
    known[with] = llvm::cast<RankedTensorType>(op->getResult(0).getType());
    with.getDefiningOp()->setDiscardableAttrs(
        op->getDiscardableAttrDictionary());
    op->getResult(0).replaceAllUsesWith(with);
    op->erase();
  }
  Value makeInit(linalg::LinalgOp op, Value init, ArrayRef<int64_t> shape,
                 AffineMap map);

  ModuleOp module;
  Choices choices;
  OpBuilder b;
  std::vector<SizeBinding> forgotten;
  /// The types that values had.
  llvm::DenseMap<Value, RankedTensorType> known;
};
} // namespace

void Forgetter::forgetArguments(func::FuncOp entry) {
  auto meshes = module.getOps<MeshOp>();
  std::optional<MeshLayout> layout;
  if (!meshes.empty())
    layout.emplace(*meshes.begin());
  for (BlockArgument argument : entry.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    auto sharding = entry.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, size] : llvm::enumerate(shape)) {
      // Blocks of sub-dimensions would depend on the size.
      bool fits = !sharding || !layout ||
                  (sharding.getDims()[dim].getSubDims().size() == 1 &&
                   layout->isEven(sharding.getDims()[dim], size));
      if (!fits || !choices.chance(60))
        continue;
      forgotten.push_back(
          {getArgumentName(entry, number), static_cast<int64_t>(dim), size});
      size = ShapedType::kDynamic;
    }
    if (ArrayRef(shape) != type.getShape())
      setShape(argument, shape);
  }
}

bool Forgetter::visitElementwise(Operation *op) {
  SmallVector<int64_t> shape(
      llvm::cast<RankedTensorType>(op->getResult(0).getType()).getShape());
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      for (auto [size, other] : llvm::zip_equal(shape, type.getShape()))
        if (ShapedType::isDynamic(other))
          size = other;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      operand.set(cast(operand.get(), shape));
  for (Value result : op->getResults())
    setShape(result, shape);
  return true;
}

/// A destination of shape `shape`: the same empty one, filled or not, else a
/// cast.
Value Forgetter::makeInit(linalg::LinalgOp op, Value init,
                          ArrayRef<int64_t> shape, AffineMap map) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  Value empty = fill ? fill.getDpsInitOperand(0)->get() : init;
  if (!empty.getDefiningOp<tensor::EmptyOp>() || choices.chance(25))
    return cast(init, shape);
  SmallVector<OpFoldResult> sizes;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape)) {
    sizes.push_back(b.getIndexAttr(size));
    if (!ShapedType::isDynamic(size))
      continue;
    for (OpOperand *input : op.getDpsInputOperands())
      for (auto [dim, other] :
           llvm::enumerate(op.getMatchingIndexingMap(input).getResults()))
        if (other == expr &&
            llvm::cast<RankedTensorType>(input->get().getType())
                .isDynamicDim(dim))
          sizes.back() = dimOf(input->get(), dim);
  }
  Value made = tensor::EmptyOp::create(
      b, init.getLoc(), sizes,
      llvm::cast<RankedTensorType>(init.getType()).getElementType());
  return fill ? linalg::FillOp::create(b, init.getLoc(), fill.getInputs()[0],
                                       made)
                    .getResult(0)
              : made;
}

bool Forgetter::visitLinalg(linalg::LinalgOp op) {
  SmallVector<bool> isUnknownLoop(op.getNumLoops(), false);
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (!type)
      continue;
    for (auto [expr, size] : llvm::zip_equal(
             op.getMatchingIndexingMap(input).getResults(), type.getShape())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (ShapedType::isDynamic(size) && !loop)
        return false;
      if (ShapedType::isDynamic(size))
        isUnknownLoop[loop.getPosition()] = true;
    }
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    OpOperand *init = op.getDpsInitOperand(number);
    AffineMap map = op.getMatchingIndexingMap(init);
    auto type = llvm::cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && isUnknownLoop[loop.getPosition()])
        size = ShapedType::kDynamic;
    init->set(makeInit(op, init->get(), shape, map));
    setShape(result, shape);
  }
  return true;
}

bool Forgetter::visitExpand(tensor::ExpandShapeOp expand) {
  Value source = expand.getSrc();
  RankedTensorType from = expand.getSrcType();
  SmallVector<int64_t> shape(expand.getResultType().getShape());
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : shape)
    sizes.push_back(b.getIndexAttr(size));
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    if (!from.isDynamicDim(dim))
      continue;
    int64_t chosen = group[choices.below(group.size())], others = 1;
    for (int64_t part : group)
      others *= part == chosen ? 1 : shape[part];
    if (others == 0)
      return false;
    Value size = dimOf(source, dim);
    if (group.size() > 1)
      size = arith::DivUIOp::create(
          b, expand.getLoc(), size,
          arith::ConstantIndexOp::create(b, expand.getLoc(), others));
    shape[chosen] = ShapedType::kDynamic;
    sizes[chosen] = size;
  }
  replace(expand, tensor::ExpandShapeOp::create(
                      b, expand.getLoc(), expand.getResultType().clone(shape),
                      source, expand.getReassociationIndices(), sizes));
  return true;
}

bool Forgetter::visitSlice(tensor::ExtractSliceOp slice) {
  RankedTensorType from = slice.getSourceType();
  if (slice.getDroppedDims().any())
    return false;
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  ArrayRef<int64_t> whole = known.lookup(slice.getSource()).getShape();
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    if (!from.isDynamicDim(dim))
      continue;
    if (slice.getStaticOffset(dim) != 0 || slice.getStaticStride(dim) != 1 ||
        slice.getStaticSize(dim) != whole[dim])
      return false;
    sizes[dim] = dimOf(slice.getSource(), dim);
  }
  replace(slice, tensor::ExtractSliceOp::create(
                     b, slice.getLoc(), slice.getSource(),
                     slice.getMixedOffsets(), sizes, slice.getMixedStrides()));
  return true;
}

/// Ops whose result's shape is read off their operands' types.
bool Forgetter::visitOther(Operation *op) {
  Value source = op->getOperand(0);
  if (isa<ShardingConstraintOp, FollowOp, SyncOp>(op)) {
    setShape(op->getResult(0),
             llvm::cast<RankedTensorType>(source.getType()).getShape());
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    setShape(collapse.getResult(),
             tensor::CollapseShapeOp::inferCollapsedType(
                 collapse.getSrcType(), collapse.getReassociationMaps())
                 .getShape());
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    setShape(concat.getResult(),
             tensor::ConcatOp::inferResultType(concat.getDim(),
                                               concat.getInputs().getTypes())
                 .getShape());
  } else if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    SmallVector<int64_t> shape(pad.getResultType().getShape());
    for (auto [dim, size] : llvm::enumerate(shape))
      if (pad.getSourceType().isDynamicDim(dim))
        size = ShapedType::kDynamic;
    setShape(pad.getResult(), shape);
  } else if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
    ArrayRef<int64_t> shape = softmax.getInputOperandType().getShape();
    op->getOpOperand(1).set(cast(op->getOperand(1), shape));
    setShape(op->getResult(0), shape);
  } else {
    return false;
  }
  return true;
}

void Forgetter::visitReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isUnknown(operand.get()) && choices.chance(50))
      operand.set(remember(operand.get()));
  auto function = llvm::cast<func::FuncOp>(op->getParentOp());
  function.setType(FunctionType::get(module.getContext(),
                                     function.getBody().getArgumentTypes(),
                                     op->getOperandTypes()));
}

void Forgetter::visit(Operation *op) {
  b.setInsertionPoint(op);
  if (auto end = dyn_cast<func::ReturnOp>(op))
    return visitReturn(end);
  bool isConcerned = llvm::any_of(op->getOperands(), isUnknown);
  if (isConcerned && !isa<tensor::DimOp>(op) && choices.chance(90)) {
    bool isDone = false;
    if (op->hasTrait<OpTrait::Elementwise>())
      isDone = visitElementwise(op);
    else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      isDone = visitLinalg(linalgOp);
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      isDone = visitExpand(expand);
    else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      isDone = visitSlice(slice);
    else
      isDone = visitOther(op);
    if (isDone)
      return;
  }
  // This op, and those within, see what they saw before.
  if (isa<tensor::DimOp>(op))
    return;
  op->walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      if (isUnknown(operand.get()) && !isa<tensor::DimOp>(nested)) {
        b.setInsertionPoint(op);
        operand.set(remember(operand.get()));
      }
  });
}

std::vector<SizeBinding> Forgetter::run() {
  auto entry = llvm::cast<func::FuncOp>(getEntryFunction(module));
  forgetArguments(entry);
  for (Operation &op : llvm::make_early_inc_range(entry.getBody().front()))
    visit(&op);
  return std::move(forgotten);
}

std::vector<SizeBinding> mlir::dist::test::forgetSizes(ModuleOp module,
                                                       uint64_t seed) {
  return Forgetter(module, seed).run();
}
