//===- SelectConvolutions.cpp - Convolutions become runtime calls ---------===//
//
// Recognizes convolutions (Convolution.h) on tensors, where the ops around one
// are easy to see. Zeros around the image become the call's padding. A zero
// fill, a bias, a sum with another tensor and bounds of the result become part
// of the call. The target decides whether a call pays.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/buffers/Convolution.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

static bool isZero(Value value) {
  return value && (matchPattern(value, m_AnyZeroFloat()) ||
                   matchPattern(value, m_PosZeroFloat()));
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
/// An image without the zeros around it.
struct Unpadded {
  Value image;
  /// Zeros before it, by dimension.
  SmallVector<int64_t> low;
};
} // namespace

/// The source of a pad by zeros of dimensions over which windows move.
static std::optional<Unpadded>
removePad(Value image, const llvm::SmallDenseSet<int64_t> &moved) {
  auto pad = image.getDefiningOp<tensor::PadOp>();
  if (!pad || !pad.getSourceType().hasStaticShape() ||
      !isZero(pad.getConstantPaddingValue()))
    return std::nullopt;
  ArrayRef<int64_t> low = pad.getStaticLow(), high = pad.getStaticHigh();
  for (int64_t dim = 0, end = low.size(); dim < end; ++dim) {
    if (ShapedType::isDynamic(low[dim]) || ShapedType::isDynamic(high[dim]) ||
        low[dim] < 0 || high[dim] < 0 ||
        pad.getSourceType().getDimSize(dim) == 0)
      return std::nullopt;
    if ((low[dim] > 0 || high[dim] > 0) && !moved.contains(dim))
      return std::nullopt;
  }
  return Unpadded{pad.getSource(), llvm::to_vector(low)};
}

/// The same through a reshape that splits other dimensions, as into groups.
static std::optional<Unpadded> removePadding(OpBuilder &builder, Value image,
                                             const Convolution &convolution) {
  llvm::SmallDenseSet<int64_t> moved;
  for (const Convolution::Window &window : convolution.windows)
    moved.insert(window.image);
  auto split = image.getDefiningOp<tensor::ExpandShapeOp>();
  if (!split)
    return removePad(image, moved);
  llvm::SmallDenseSet<int64_t> whole;
  SmallVector<ReassociationIndices> parts = split.getReassociationIndices();
  for (auto [dim, part] : llvm::enumerate(parts))
    if (part.size() == 1 && moved.contains(part[0]))
      whole.insert(dim);
  std::optional<Unpadded> inner = removePad(split.getSrc(), whole);
  if (!inner)
    return std::nullopt;
  auto type = cast<RankedTensorType>(inner->image.getType());
  SmallVector<int64_t> shape(split.getResultType().getShape()),
      low(shape.size(), 0);
  for (auto [dim, part] : llvm::enumerate(parts)) {
    if (!whole.contains(dim))
      continue;
    shape[part[0]] = type.getDimSize(dim);
    low[part[0]] = inner->low[dim];
  }
  Value image2 = tensor::ExpandShapeOp::create(
      builder, split.getLoc(), type.clone(shape), inner->image, parts);
  return Unpadded{image2, low};
}

/// Whether windows begin in front of the image's end.
static bool beginsInside(const Unpadded &unpadded,
                         const Convolution &convolution) {
  auto type = cast<RankedTensorType>(unpadded.image.getType());
  return llvm::all_of(
      convolution.windows, [&](const Convolution::Window &window) {
        return window.offset <
               unpadded.low[window.image] + type.getDimSize(window.image);
      });
}

/// The image from the first window on, if windows do not begin in the padding
/// before it. Otherwise `low` becomes the number of padding zeros that they
/// read.
static Value takeOffsets(OpBuilder &builder, Location loc, Value image,
                         const Convolution &convolution,
                         SmallVector<int64_t> &low) {
  auto type = cast<RankedTensorType>(image.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(builder, loc, image);
  bool isCut = false;
  for (const Convolution::Window &window : convolution.windows) {
    int64_t cut = std::max<int64_t>(window.offset - low[window.image], 0);
    low[window.image] = std::max<int64_t>(low[window.image] - window.offset, 0);
    if (cut == 0)
      continue;
    isCut = true;
    offsets[window.image] = builder.getIndexAttr(cut);
    sizes[window.image] =
        builder.getIndexAttr(type.getDimSize(window.image) - cut);
  }
  if (!isCut)
    return image;
  return tensor::ExtractSliceOp::create(builder, loc, image, offsets, sizes,
                                        strides);
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

static int64_t countWork(linalg::LinalgOp op) {
  int64_t work = 1;
  for (int64_t size : op.getStaticLoopRanges())
    work = ShapedType::isDynamic(size) ? 0 : work * size;
  return work;
}

/// Replaces `op` if it is a convolution that the target's library does.
static rt::ConvolveOp select(linalg::LinalgOp op, const KernelTarget &target) {
  FailureOr<Convolution> found = matchConvolution(op);
  if (failed(found) || !op.hasPureTensorSemantics())
    return {};
  Value image = op->getOperand(found->image),
        kernel = op->getOperand(found->kernel), init = op->getOperand(2);
  Type element = getElementTypeOrSelf(init);
  if (getElementTypeOrSelf(image) != element ||
      getElementTypeOrSelf(kernel) != element ||
      !target.isConvolutionCall(element, countWork(op)))
    return {};
  OpBuilder builder(op);
  SmallVector<int64_t> low(cast<ShapedType>(image.getType()).getRank(), 0);
  if (auto unpadded = removePadding(builder, image, *found);
      unpadded && beginsInside(*unpadded, *found)) {
    image = unpadded->image;
    low = unpadded->low;
  }
  image = takeOffsets(builder, op.getLoc(), image, *found, low);
  SmallVector<Attribute> windows;
  for (const Convolution::Window &window : found->windows)
    windows.push_back(rt::WindowAttr::get(
        op.getContext(), window.image, window.kernel, window.out, window.stride,
        window.dilation, low[window.image]));
  auto fill = init.getDefiningOp<linalg::FillOp>();
  bool accumulate = !fill || !isZero(fill.getInputs()[0]);
  auto type = cast<RankedTensorType>(init.getType());
  if (!accumulate)
    init = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                   type.getElementType());
  auto call = rt::ConvolveOp::create(
      builder, op.getLoc(), type, image, kernel, /*bias=*/Value(), init,
      found->batch, found->group, found->channel, found->feature,
      builder.getArrayAttr(windows), accumulate, /*constant=*/false,
      /*clamp=*/DenseF32ArrayAttr());
  if (Attribute scope = op->getAttr(kScopeAttr))
    call->setAttr(kScopeAttr, scope);
  op->replaceAllUsesWith(call->getResults());
  op->erase();
  return call;
}

//===----------------------------------------------------------------------===//
// What is added to the result
//===----------------------------------------------------------------------===//

/// The other operand of an elementwise sum of `value`, whose only use that is.
static OpOperand *matchSum(Value value, linalg::GenericOp &sum) {
  if (!value.hasOneUse())
    return nullptr;
  sum = dyn_cast<linalg::GenericOp>(*value.user_begin());
  if (!sum || sum.getNumDpsInputs() != 2 || sum.getNumDpsInits() != 1 ||
      !sum.hasPureTensorSemantics() ||
      sum.getNumParallelLoops() != sum.getNumLoops() ||
      sum->getResult(0).getType() != value.getType())
    return nullptr;
  OpOperand *use = value.use_begin().getOperand();
  OpOperand *other = sum.getDpsInputOperand(1 - use->getOperandNumber());
  if (use->getOperandNumber() > 1 ||
      !sum.getMatchingIndexingMap(use).isIdentity() ||
      !sum.getMatchingIndexingMap(sum.getDpsInitOperand(0)).isIdentity())
    return nullptr;
  Block &body = *sum.getBlock();
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return nullptr;
  Value in[] = {body.getArgument(0), body.getArgument(1)};
  bool adds = (add.getLhs() == in[0] && add.getRhs() == in[1]) ||
              (add.getLhs() == in[1] && add.getRhs() == in[0]);
  return adds ? other : nullptr;
}

/// The result of `call` in the form of its readers: groups and features in one.
static Value throughMerge(rt::ConvolveOp call, int64_t &features) {
  Value result = call.getResult();
  ArrayRef<int64_t> group = call.getGroup(), feature = call.getFeature();
  features = feature.empty() ? (group.empty() ? -1 : group[2]) : feature[1];
  if (!result.hasOneUse())
    return result;
  auto merge = dyn_cast<tensor::CollapseShapeOp>(*result.user_begin());
  if (!merge || group.empty() || feature.empty())
    return result;
  SmallVector<ReassociationIndices> parts = merge.getReassociationIndices();
  for (auto [dim, part] : llvm::enumerate(parts)) {
    bool merges =
        part.size() == 2 && part[0] == group[2] && part[1] == feature[1];
    if (part.size() != 1 && !merges)
      return result;
    if (merges)
      features = dim;
  }
  return merge.getResult();
}

/// One dimension of it all.
static Value flatten(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  ReassociationIndices all =
      llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  return tensor::CollapseShapeOp::create(builder, loc, value,
                                         ArrayRef<ReassociationIndices>{all});
}

/// Whether `other` has a number for each feature and nothing else.
static bool isBias(linalg::GenericOp sum, OpOperand *other, int64_t features,
                   int64_t count) {
  auto type = dyn_cast<RankedTensorType>(other->get().getType());
  if (!type || features < 0 || type.getRank() == 0 ||
      type.getNumElements() != count)
    return false;
  AffineMap map = sum.getMatchingIndexingMap(other);
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape())) {
    bool isFeature = expr == getAffineDimExpr(features, map.getContext());
    if (size != (isFeature ? count : 1))
      return false;
  }
  return true;
}

/// Moves `call` to `place`, where the values that it is given are known.
static void moveDown(rt::ConvolveOp call, Value seen, Operation *place) {
  // Its destination is its own: an empty tensor, or one that only it adds to.
  call->moveBefore(place);
  if (Operation *merge = seen.getDefiningOp(); merge != call)
    merge->moveBefore(place);
}

static bool fuseBias(rt::ConvolveOp call) {
  int64_t features;
  Value seen = throughMerge(call, features);
  linalg::GenericOp sum;
  OpOperand *other = call.getBias() ? nullptr : matchSum(seen, sum);
  auto type = cast<RankedTensorType>(seen.getType());
  if (!other || features < 0 || sum->getBlock() != call->getBlock() ||
      !isBias(sum, other, features, type.getDimSize(features)))
    return false;
  moveDown(call, seen, sum);
  OpBuilder builder(call);
  call.getBiasMutable().assign(flatten(builder, sum.getLoc(), other->get()));
  sum->getResult(0).replaceAllUsesWith(seen);
  sum->erase();
  return true;
}

/// Whether `user` is the last op that needs `value`, which may be written over.
static bool isLastUser(Operation *user, Value value) {
  Operation *source = value.getDefiningOp();
  if (!source || source->hasTrait<OpTrait::ConstantLike>() ||
      source->getBlock() != user->getBlock())
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *other) {
    return other == user || (other->getBlock() == user->getBlock() &&
                             other->isBeforeInBlock(user));
  });
}

/// A sum with a tensor without other uses is computed in place.
static bool fuseSum(rt::ConvolveOp call) {
  linalg::GenericOp sum;
  Value result = call.getResult();
  OpOperand *other = call.getAccumulate() ? nullptr : matchSum(result, sum);
  if (!other || sum->getBlock() != call->getBlock() ||
      !sum.getMatchingIndexingMap(other).isIdentity() ||
      other->get().getType() != result.getType() || other->get() == result ||
      !isLastUser(sum, other->get()))
    return false;
  moveDown(call, result, sum);
  call.getInitMutable().assign(other->get());
  call.setAccumulate(true);
  sum->getResult(0).replaceAllUsesWith(result);
  sum->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Bounds of the result
//===----------------------------------------------------------------------===//

namespace {
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
} // namespace

/// The constant that `Op` compares the other operand with, which is set.
template <typename Op>
static std::optional<float> matchBound(Value value, Value &other) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return std::nullopt;
  for (auto [one, bound] : {std::pair(op.getLhs(), op.getRhs()),
                            std::pair(op.getRhs(), op.getLhs())}) {
    APFloat number(0.0f);
    if (!matchPattern(bound, m_ConstantFloat(&number)) ||
        !bound.getType().isF32())
      continue;
    other = one;
    return number.convertToFloat();
  }
  return std::nullopt;
}

/// The bounds that an elementwise op puts on its operand, if it does nothing
/// else: minimum(maximum(x, low), high), or one of them.
static std::optional<Bounds> matchBounds(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      !op.hasPureTensorSemantics() ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  Block &body = *op.getBlock();
  Value value = body.getTerminator()->getOperand(0);
  Bounds bounds;
  bool isBounded = false;
  if (auto high = matchBound<arith::MinimumFOp>(value, value)) {
    bounds.high = *high;
    isBounded = true;
  }
  if (auto low = matchBound<arith::MaximumFOp>(value, value)) {
    bounds.low = *low;
    isBounded = true;
  }
  if (!isBounded || value != body.getArgument(0) ||
      !rt::ConvolveOp::isClamp(bounds.low, bounds.high))
    return std::nullopt;
  return bounds;
}

static bool fuseClamp(rt::ConvolveOp call) {
  int64_t features;
  Value seen = throughMerge(call, features);
  if (!seen.hasOneUse())
    return false;
  auto op = dyn_cast<linalg::GenericOp>(*seen.user_begin());
  if (!op || op.getNumDpsInputs() != 1 || op.getInputs()[0] != seen ||
      op->getResult(0).getType() != seen.getType())
    return false;
  std::optional<Bounds> bounds = matchBounds(op);
  if (!bounds)
    return false;
  call.setClamp(std::array<float, 2>{bounds->low, bounds->high});
  op->getResult(0).replaceAllUsesWith(seen);
  op->erase();
  return true;
}

void mlir::dist::selectConvolutions(func::FuncOp function,
                                    const KernelTarget &target) {
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  SmallVector<rt::ConvolveOp> calls;
  for (linalg::LinalgOp op : ops)
    if (rt::ConvolveOp call = select(op, target))
      calls.push_back(call);
  for (rt::ConvolveOp call : calls)
    fuseBias(call);
  for (rt::ConvolveOp call : calls)
    fuseSum(call);
  for (rt::ConvolveOp call : calls)
    fuseClamp(call);
}
