//===- Adjoints.cpp - Cotangents of values, and who makes them ------------===//

#include "dialects/dist/Interfaces/Adjoints.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/dist/Interfaces/DifferentiableOpInterface.cpp.inc"

bool mlir::dist::isDifferentiable(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) &&
         isa<FloatType, RankedTensorType>(type);
}

Value mlir::dist::createConstantLike(OpBuilder &b, Location loc, Value like,
                                     double number) {
  FloatAttr value =
      b.getFloatAttr(getElementTypeOrSelf(like.getType()), number);
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type)
    return arith::ConstantOp::create(b, loc, value);
  Value scalar = arith::ConstantOp::create(b, loc, value);
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, like), type.getElementType());
  return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
}

void Adjoints::add(OpBuilder &b, Location loc, Value value, Value cotangent) {
  if (!isActive(value))
    return;
  assert(cotangent.getType() == value.getType());
  // A cotangent that passes unchanged follows something already.
  if (isFollowing && isa<RankedTensorType>(value.getType()) &&
      !cotangent.getDefiningOp<FollowOp>())
    cotangent = FollowOp::create(b, loc, value.getType(), cotangent, value,
                                 /*moved=*/false);
  Value &known = cotangents[value];
  known = known ? createSum(b, loc, known, cotangent) : cotangent;
}

void Adjoints::addSlice(Location loc, Value value, ArrayRef<int64_t> offsets,
                        Value cotangent) {
  if (isActive(value))
    slices[value].push_back({loc, llvm::to_vector<4>(offsets), cotangent});
}

void Adjoints::carry(Value value, Value sum) {
  setActive(value);
  carried.insert(value);
  cotangents[value] = sum;
}

Value Adjoints::takeCarried(Value value) {
  if (!carried.contains(value))
    return nullptr;
  return std::exchange(cotangents[value], nullptr);
}

void Adjoints::giveBack(OpBuilder &b, Location loc, Value value, Value sum) {
  if (carried.contains(value))
    cotangents[value] = sum;
  else
    add(b, loc, value, sum);
}

/// The concatenation of slices that are side by side along one dimension and
/// whole along the others, with zeros between them; null if they are not.
Value Adjoints::concatenate(OpBuilder &b, RankedTensorType type,
                            MutableArrayRef<Slice> parts) {
  auto getSize = [](const Slice &part, int64_t dim) {
    return cast<RankedTensorType>(part.cotangent.getType()).getDimSize(dim);
  };
  std::optional<int64_t> cut;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    for (const Slice &part : parts)
      if (getSize(part, dim) != type.getDimSize(dim)) {
        if (cut && *cut != dim)
          return nullptr;
        cut = dim;
      }
  if (parts.size() < 2 || !cut)
    return nullptr;
  llvm::stable_sort(parts, [&](const Slice &x, const Slice &y) {
    return x.offsets[*cut] < y.offsets[*cut];
  });
  Location loc = parts.front().loc;
  SmallVector<Value> inputs;
  int64_t end = 0;
  auto fillTo = [&](int64_t next) {
    if (next == end)
      return;
    SmallVector<int64_t> shape(type.getShape());
    shape[*cut] = next - end;
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
    Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
    inputs.push_back(linalg::FillOp::create(b, loc, zero, empty).getResult(0));
  };
  for (const Slice &part : parts)
    if (part.offsets[*cut] < end) // they overlap
      return nullptr;
    else
      end = part.offsets[*cut] + getSize(part, *cut);
  end = 0;
  for (const Slice &part : parts) {
    fillTo(part.offsets[*cut]);
    inputs.push_back(part.cotangent);
    end = part.offsets[*cut] + getSize(part, *cut);
  }
  fillTo(type.getDimSize(*cut));
  return tensor::ConcatOp::create(b, loc, type, *cut, inputs);
}

void Adjoints::settle(OpBuilder &b, Value value) {
  auto found = slices.find(value);
  if (found == slices.end())
    return;
  SmallVector<Slice, 2> parts = std::move(found->second);
  slices.erase(found);
  auto type = cast<RankedTensorType>(value.getType());
  if (Value whole = concatenate(b, type, parts))
    return add(b, parts.front().loc, value, whole);
  for (const Slice &part : parts) {
    auto size = cast<RankedTensorType>(part.cotangent.getType()).getShape();
    SmallVector<OpFoldResult> low, high;
    for (auto [offset, size, all] :
         llvm::zip_equal(part.offsets, size, type.getShape())) {
      low.push_back(b.getIndexAttr(offset));
      high.push_back(b.getIndexAttr(all - offset - size));
    }
    Value zero = arith::ConstantOp::create(
        b, part.loc, b.getZeroAttr(type.getElementType()));
    add(b, part.loc, value,
        tensor::PadOp::create(b, part.loc, type, part.cotangent, low, high,
                              zero));
  }
}

bool mlir::dist::readsAny(Operation *op, function_ref<bool(Value)> matches) {
  return op
      ->walk([&](Operation *nested) {
        return llvm::any_of(nested->getOperands(), matches)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void Adjoints::spreadActivity(Block &block) {
  for (Operation &op : block)
    if (readsAny(&op, [&](Value operand) { return isActive(operand); }))
      for (Value result : op.getResults())
        if (isDifferentiable(result.getType()))
          setActive(result);
}

LogicalResult Adjoints::reverse(OpBuilder &b, ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    Block *block = b.getInsertionBlock();
    bool isFirst = b.getInsertionPoint() == block->begin();
    auto before =
        isFirst ? b.getInsertionPoint() : std::prev(b.getInsertionPoint());
    for (Value result : op->getResults())
      settle(b, result);
    if (llvm::none_of(op->getResults(),
                      [&](Value result) { return lookup(result); }))
      continue;
    auto iface = dyn_cast<DifferentiableOpInterface>(op);
    if (!iface)
      return op->emitOpError("has no derivative that is known: "
                             "DifferentiableOpInterface is to give it");
    if (failed(iface.addAdjoints(b, *this)))
      return failure();
    // The cotangents of a module's values belong to the module.
    Attribute scope = op->getDiscardableAttr(kScopeAttr);
    Attribute checkpoint = op->getDiscardableAttr(kCheckpointAttr);
    for (Operation &made :
         llvm::make_range(isFirst ? block->begin() : std::next(before),
                          b.getInsertionPoint())) {
      if (scope)
        made.setDiscardableAttr(kScopeAttr, scope);
      if (checkpoint)
        made.setDiscardableAttr(kCheckpointAttr, checkpoint);
      made.setDiscardableAttr(kBackwardAttr, b.getUnitAttr());
    }
  }
  for (Operation *op : replaced)
    op->erase();
  replaced.clear();
  return success();
}

void Adjoints::replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  replaced.push_back(op);
}
