//===- ChooseLayouts.cpp - Channels innermost around convolutions ---------===//
//
// Libraries are fast for convolutions whose channels are innermost; models have
// them outside of space. A buffer of a convolution is allocated with the
// channels innermost, and a view shows the dimensions in the old order. So
// nothing else has to change: kernels, copies and calls read any strides.
// Buffers that other ops read or write together with such a buffer get the same
// order. Buffers that leave the function, or that other ops need contiguous,
// keep their order.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/kernels/Constants.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

/// Dimensions from the outermost to the innermost in memory.
using Order = SmallVector<int64_t>;

static bool isIdentity(ArrayRef<int64_t> order) {
  return llvm::equal(order, llvm::seq<int64_t>(0, order.size()));
}

//===----------------------------------------------------------------------===//
// Orders of views
//===----------------------------------------------------------------------===//

/// The type, with its dimensions in memory as `order` says.
static MemRefType reorder(MemRefType type, ArrayRef<int64_t> order) {
  SmallVector<int64_t> strides(type.getRank());
  int64_t span = 1;
  for (int64_t dim : llvm::reverse(order)) {
    strides[dim] = span;
    span *= type.getDimSize(dim);
  }
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides),
      type.getMemorySpace());
}

/// The order that strides give; of dimensions of one stride, the first is
/// outermost.
static Order orderOf(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return {};
  Order order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  llvm::stable_sort(
      order, [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  return order;
}

/// The type of a view if that of its source changes; null if the view cannot be
/// created then.
static MemRefType retype(Operation *view, MemRefType source) {
  auto type = cast<MemRefType>(view->getResult(0).getType());
  if (auto part = dyn_cast<memref::SubViewOp>(view))
    return memref::SubViewOp::inferRankReducedResultType(
        type.getShape(), source, part.getMixedOffsets(), part.getMixedSizes(),
        part.getMixedStrides());
  if (auto split = dyn_cast<memref::ExpandShapeOp>(view)) {
    FailureOr<MemRefType> result = memref::ExpandShapeOp::computeExpandedType(
        source, type.getShape(), split.getReassociationIndices());
    return succeeded(result) ? *result : MemRefType();
  }
  auto merge = cast<memref::CollapseShapeOp>(view);
  SmallVector<ReassociationIndices> parts = merge.getReassociationIndices();
  if (!memref::CollapseShapeOp::isGuaranteedCollapsible(source, parts))
    return {};
  return memref::CollapseShapeOp::computeCollapsedType(source, parts);
}

static bool isReorderedView(Operation *op) {
  return isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(
      op);
}

/// Whether all that looks at `value` can do so if it has that type; calls
/// `visit` with the views and their new types.
static bool canRetype(Value value, MemRefType type,
                      llvm::function_ref<void(Value, MemRefType)> visit) {
  visit(value, type);
  for (Operation *user : value.getUsers()) {
    if (isReorderedView(user)) {
      MemRefType view = retype(user, type);
      if (!view || !canRetype(user->getResult(0), view, visit))
        return false;
    } else if (!isa<linalg::LinalgOp, memref::CopyOp, rt::ConvolveOp>(user)) {
      return false;
    }
  }
  return true;
}

/// The order of the source of `view`, if that of the view is `order`.
static std::optional<Order> orderOfSource(Operation *view, Order order) {
  SmallVector<ReassociationIndices> parts;
  auto source = cast<MemRefType>(view->getOperand(0).getType());
  auto type = cast<MemRefType>(view->getResult(0).getType());
  if (isa<memref::SubViewOp>(view))
    return source.getRank() == type.getRank() ? std::optional(order)
                                              : std::nullopt;
  Order result;
  if (auto merge = dyn_cast<memref::CollapseShapeOp>(view)) {
    parts = merge.getReassociationIndices();
    for (int64_t dim : order)
      llvm::append_range(result, parts[dim]);
    return result;
  }
  parts = cast<memref::ExpandShapeOp>(view).getReassociationIndices();
  SmallVector<int64_t> partOf(type.getRank());
  for (auto [index, part] : llvm::enumerate(parts))
    for (int64_t dim : part)
      partOf[dim] = index;
  for (int64_t dim : order)
    if (!llvm::is_contained(result, partOf[dim]))
      result.push_back(partOf[dim]);
  return result;
}

//===----------------------------------------------------------------------===//
// Who shares an order
//===----------------------------------------------------------------------===//

namespace {

class LayoutChoice {
public:
  void chooseFor(rt::ConvolveOp call);
  void apply();

private:
  void want(Value value, Order order);
  void spread(Value value, ArrayRef<int64_t> order);
  void spreadOver(linalg::LinalgOp op, Value value, ArrayRef<int64_t> order);

  struct Wish {
    Value value;
    Order order;
  };
  SmallVector<Wish, 0> pending;
  llvm::MapVector<Value, Order> orders; // of allocations
  /// Allocations that could not be changed as wanted.
  DenseSet<Value> refused;
};

} // namespace

void LayoutChoice::want(Value value, Order order) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isReorderedView(op))
      break;
    std::optional<Order> source = orderOfSource(op, order);
    if (!source)
      return;
    order = *source;
    value = op->getOperand(0);
  }
  auto alloc = value.getDefiningOp<memref::AllocOp>();
  if (!alloc || orders.contains(value) || isIdentity(order) ||
      !alloc.getType().hasStaticShape() ||
      !alloc.getType().getLayout().isIdentity() || refused.contains(value))
    return;
  SmallVector<std::pair<Value, MemRefType>> views;
  if (!canRetype(value, reorder(alloc.getType(), order),
                 [&](Value view, MemRefType type) {
                   views.push_back({view, type});
                 })) {
    refused.insert(value);
    return;
  }
  orders[value] = order;
  for (auto &[view, type] : views)
    pending.push_back({view, orderOf(type)});
}

/// Ops that access `value` together with other buffers should have these in the
/// same order.
void LayoutChoice::spread(Value value, ArrayRef<int64_t> order) {
  for (Operation *user : value.getUsers()) {
    if (auto copy = dyn_cast<memref::CopyOp>(user)) {
      want(copy.getSource(), Order(order));
      want(copy.getTarget(), Order(order));
    } else if (auto op = dyn_cast<linalg::LinalgOp>(user)) {
      spreadOver(op, value, order);
    }
  }
}

/// The parallel loop with which a dimension is walked over, or -1.
static int64_t getLoop(AffineExpr expr,
                       ArrayRef<utils::IteratorType> iterators) {
  int64_t loop = -1;
  expr.walk([&](AffineExpr part) {
    auto dim = dyn_cast<AffineDimExpr>(part);
    if (dim && loop < 0 &&
        iterators[dim.getPosition()] == utils::IteratorType::parallel)
      loop = dim.getPosition();
  });
  return loop;
}

void LayoutChoice::spreadOver(linalg::LinalgOp op, Value value,
                              ArrayRef<int64_t> order) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> place(op.getNumLoops(), -1);
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.get() != value)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [position, dim] : llvm::enumerate(order))
      if (int64_t loop = getLoop(map.getResult(dim), iterators); loop >= 0)
        place[loop] = position;
    break;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || type.getRank() != int64_t(order.size()) ||
        operand.get() == value)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<int64_t> places;
    for (auto [expr, size] :
         llvm::zip_equal(map.getResults(), type.getShape())) {
      int64_t loop = getLoop(expr, iterators);
      places.push_back(loop < 0 ? -1 : place[loop]);
      if (places.back() < 0 && size > 1)
        break;
    }
    if (places.size() != order.size() ||
        (places.back() < 0 && type.getShape().back() > 1))
      continue;
    Order wanted = llvm::to_vector(llvm::seq<int64_t>(0, order.size()));
    llvm::stable_sort(
        wanted, [&](int64_t a, int64_t b) { return places[a] < places[b]; });
    want(operand.get(), wanted);
  }
}

void LayoutChoice::chooseFor(rt::ConvolveOp call) {
  ArrayRef<int64_t> group = call.getGroup();
  auto wish = [&](Value value, ArrayRef<int64_t> batch, auto getWindow,
                  std::optional<int64_t> ofGroup,
                  std::optional<int64_t> channel) {
    Order order(batch);
    SmallVector<int64_t> space;
    for (auto window : call.getWindows().getAsRange<rt::WindowAttr>())
      space.push_back(getWindow(window));
    llvm::sort(space);
    order.append(space);
    if (ofGroup)
      order.push_back(*ofGroup);
    if (channel)
      order.push_back(*channel);
    want(value, order);
  };
  auto at = [](ArrayRef<int64_t> dims,
               unsigned index) -> std::optional<int64_t> {
    return dims.empty() ? std::nullopt : std::optional(dims[index]);
  };
  ArrayRef<int64_t> batch = call.getBatch();
  wish(
      call.getImage(), batch.take_front(),
      [](rt::WindowAttr window) { return window.getImage(); }, at(group, 0),
      at(call.getChannel(), 0));
  wish(
      call.getInit(), batch.drop_front(batch.empty() ? 0 : 1),
      [](rt::WindowAttr window) { return window.getOut(); }, at(group, 2),
      at(call.getFeature(), 1));
  while (!pending.empty()) {
    Wish next = pending.pop_back_val();
    spread(next.value, next.order);
  }
}

void LayoutChoice::apply() {
  for (auto &[value, order] : orders) {
    auto alloc = cast<memref::AllocOp>(value.getDefiningOp());
    MemRefType type = alloc.getType();
    OpBuilder builder(alloc);
    SmallVector<int64_t> shape;
    for (int64_t dim : order)
      shape.push_back(type.getDimSize(dim));
    Value memory = memref::AllocOp::create(
        builder, alloc.getLoc(),
        MemRefType::get(shape, type.getElementType(), AffineMap(),
                        type.getMemorySpace()),
        alloc.getAlignmentAttr());
    MemRefType seen = reorder(type, order);
    SmallVector<int64_t> strides;
    int64_t offset;
    (void)seen.getStridesAndOffset(strides, offset);
    Value view =
        memref::ReinterpretCastOp::create(builder, alloc.getLoc(), seen, memory,
                                          offset, type.getShape(), strides);
    alloc.replaceAllUsesWith(view);
    alloc.erase();
    canRetype(view, seen,
              [](Value view, MemRefType type) { view.setType(type); });
  }
}

void mlir::dist::chooseLayouts(func::FuncOp function) {
  LayoutChoice choice;
  SmallVector<rt::ConvolveOp> calls;
  function.walk([&](rt::ConvolveOp call) {
    call.setConstant(isConstantBuffer(call.getKernel()));
    calls.push_back(call);
  });
  for (rt::ConvolveOp call : calls)
    choice.chooseFor(call);
  choice.apply();
}
