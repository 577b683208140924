//===- SpreadConvolutions.cpp - Convolutions of images full of zeros ------===//
//
// A transposed convolution of stride s is a convolution of the image with s - 1
// zeros between neighbours. Its results at places y = r (mod s) read only taps
// t of which r + t * dilation hits an element: the phase r is a convolution of
// the image itself with every s-th tap or so (Shi et al., "Real-Time Single
// Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional
// Neural Network", 2016, make upsampling of it). All phases together multiply
// no zeros.
//
//===----------------------------------------------------------------------===//

#include "lowering/kernels/SpreadConvolutions.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/buffers/Convolution.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

/// Phases of one convolution beyond which calls cost more than they save.
static constexpr int64_t kMaxPhases = 64;

static bool isZero(Value value) {
  return value && (matchPattern(value, m_AnyZeroFloat()) ||
                   matchPattern(value, m_PosZeroFloat()));
}

//===----------------------------------------------------------------------===//
// Where the elements of an image come from
//===----------------------------------------------------------------------===//

namespace {

/// Elements `begin` to `end` of a dimension of the source lie in the image at
/// `scale` times their place plus `offset`; all else there is zero.
struct Place {
  int64_t scale = 1, offset = 0, begin = 0, end = 0;
};

/// An image as its source and where that lies in it.
class Spread {
public:
  /// Follows `image` through zeros put around and between its elements along
  /// dimensions that `isMoved` names.
  Spread(Value image, const llvm::SmallBitVector &isMoved);

  bool hasZerosBetween() const {
    return llvm::any_of(places, [](const Place &p) { return p.scale > 1; });
  }

  Value source;
  SmallVector<Place> places;

private:
  bool throughPad(tensor::PadOp pad);
  bool throughSlice(tensor::ExtractSliceOp slice);
  bool throughSpread(tensor::CollapseShapeOp merge);

  const llvm::SmallBitVector &isMoved;
};

} // namespace

/// The zeros that a pad puts before and behind each dimension.
static bool getZeros(tensor::PadOp pad, ArrayRef<int64_t> &low,
                     ArrayRef<int64_t> &high) {
  low = pad.getStaticLow();
  high = pad.getStaticHigh();
  auto isCount = [](int64_t n) { return !ShapedType::isDynamic(n) && n >= 0; };
  return pad.getSourceType().hasStaticShape() && llvm::all_of(low, isCount) &&
         llvm::all_of(high, isCount) && isZero(pad.getConstantPaddingValue());
}

Spread::Spread(Value image, const llvm::SmallBitVector &isMoved)
    : source(image), isMoved(isMoved) {
  for (int64_t size : cast<RankedTensorType>(image.getType()).getShape())
    places.push_back({1, 0, 0, size});
  bool follows = true;
  while (follows) {
    Operation *op = source.getDefiningOp();
    if (auto pad = dyn_cast_or_null<tensor::PadOp>(op))
      follows = throughPad(pad);
    else if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
      follows = throughSlice(slice);
    else if (auto merge = dyn_cast_or_null<tensor::CollapseShapeOp>(op))
      follows = throughSpread(merge);
    else
      follows = false;
  }
}

bool Spread::throughPad(tensor::PadOp pad) {
  ArrayRef<int64_t> low, high;
  if (!getZeros(pad, low, high))
    return false;
  for (size_t dim = 0; dim < places.size(); ++dim)
    if ((low[dim] || high[dim]) && !isMoved[dim])
      return false;
  for (auto [dim, place] : llvm::enumerate(places)) {
    place.offset += low[dim] * place.scale;
    place.begin = std::max<int64_t>(place.begin - low[dim], 0);
    place.end =
        std::min(place.end - low[dim], pad.getSourceType().getDimSize(dim));
  }
  source = pad.getSource();
  return true;
}

bool Spread::throughSlice(tensor::ExtractSliceOp slice) {
  RankedTensorType from = slice.getSourceType(), to = slice.getType();
  ArrayRef<int64_t> offsets = slice.getStaticOffsets();
  if (from.getRank() != to.getRank() || !from.hasStaticShape() ||
      llvm::any_of(slice.getStaticStrides(), [](int64_t s) { return s != 1; }))
    return false;
  for (size_t dim = 0; dim < places.size(); ++dim)
    if (ShapedType::isDynamic(offsets[dim]) ||
        (from.getDimSize(dim) != to.getDimSize(dim) && !isMoved[dim]))
      return false;
  for (auto [dim, place] : llvm::enumerate(places)) {
    place.offset -= offsets[dim] * place.scale;
    place.begin += offsets[dim];
    place.end += offsets[dim];
  }
  source = slice.getSource();
  return true;
}

/// [n] to [n, 1] to [n, s] to [n * s].
bool Spread::throughSpread(tensor::CollapseShapeOp merge) {
  auto pad = merge.getSrc().getDefiningOp<tensor::PadOp>();
  auto split =
      pad ? pad.getSource().getDefiningOp<tensor::ExpandShapeOp>() : nullptr;
  ArrayRef<int64_t> low, high;
  if (!split || !getZeros(pad, low, high) ||
      split.getSrcType().getRank() != int64_t(places.size()))
    return false;
  SmallVector<int64_t> scales(places.size(), 1);
  SmallVector<ReassociationIndices> parts = merge.getReassociationIndices();
  ArrayRef<int64_t> apart = pad.getSourceType().getShape();
  for (auto [dim, part] : llvm::enumerate(parts)) {
    // Extents of 1 may be split off one dimension and merged to the next.
    int64_t size = 1;
    for (int64_t one : part) {
      size *= apart[one];
      if (low[one] || (high[one] && one != part.back()))
        return false;
    }
    if (size != split.getSrcType().getDimSize(dim))
      return false;
    if (!high[part.back()])
      continue;
    if (part.size() != 2 || !isMoved[dim] || apart[part[1]] != 1)
      return false;
    scales[dim] = 1 + high[part[1]];
  }
  for (auto [place, scale] : llvm::zip_equal(places, scales)) {
    place.scale *= scale;
    place.begin = llvm::divideCeilSigned(place.begin, scale);
    place.end = llvm::divideCeilSigned(place.end, scale);
  }
  source = split.getSrc();
  return true;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

namespace {

/// Along one window: results first, first + step, ... as a convolution of the
/// source, of which it reads from `from` on, with every `tapStep`th tap.
struct Phase {
  int64_t first, step, count;
  int64_t firstTap = 0, tapStep, taps = 0;
  int64_t stride, dilation;
  int64_t from = 0;
  int64_t readEnd() const {
    return from + (count - 1) * stride + (taps - 1) * dilation + 1;
  }
};

/// A convolution, and its image without the zeros.
class Splitter {
public:
  Splitter(linalg::LinalgOp op, const Convolution &found, Value image,
           ArrayRef<int64_t> dims, const Spread &spread)
      : op(op), found(found), image(image), dims(dims), spread(spread),
        builder(op) {}

  LogicalResult run(const KernelTarget &target);

private:
  SmallVector<Phase> phasesOf(size_t window);
  Value convolve(ArrayRef<Phase> phases, Value init);
  Value takeImage(ArrayRef<Phase> phases);

  linalg::LinalgOp op;
  const Convolution &found;
  /// The op's image; that of `spread` is before dimensions are split.
  Value image;
  /// Of each window, the dimension of the source.
  ArrayRef<int64_t> dims;
  const Spread &spread;
  OpBuilder builder;
};

} // namespace

SmallVector<Phase> Splitter::phasesOf(size_t window) {
  const Convolution::Window &w = found.windows[window];
  const Place &place = spread.places[dims[window]];
  int64_t scale = place.scale, common = std::gcd(w.dilation, scale),
          period = scale / common;
  int64_t results =
      cast<ShapedType>(op->getOperand(2).getType()).getDimSize(w.out);
  int64_t taps = cast<ShapedType>(op->getOperand(found.kernel).getType())
                     .getDimSize(w.kernel);
  SmallVector<Phase> phases;
  for (int64_t first = 0; first < std::min(scale, results); ++first) {
    Phase phase;
    phase.first = first;
    phase.step = scale;
    phase.count = llvm::divideCeil(results - first, scale);
    phase.tapStep = period;
    phase.stride = w.stride;
    phase.dilation = w.dilation / common;
    // Taps that hit an element are every `period`th.
    for (int64_t tap = 0; tap < std::min(period, taps); ++tap) {
      int64_t at = first + tap * w.dilation - place.offset;
      if (at % scale != 0)
        continue;
      phase.firstTap = tap;
      phase.taps = llvm::divideCeil(taps - tap, period);
      phase.from = at / scale;
    }
    phases.push_back(phase);
  }
  return phases;
}

/// The part of the source that the phases read, with zeros around it.
Value Splitter::takeImage(ArrayRef<Phase> phases) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(spread.source.getType());
  SmallVector<int64_t> offsets(type.getRank(), 0), ones(type.getRank(), 1),
      sizes(type.getShape()), low(offsets), high(offsets);
  for (auto [phase, dim] : llvm::zip_equal(phases, dims)) {
    const Place &place = spread.places[dim];
    int64_t begin = std::max(phase.from, place.begin);
    int64_t end = std::min(phase.readEnd(), place.end);
    offsets[dim] = begin;
    sizes[dim] = end - begin;
    low[dim] = begin - phase.from;
    high[dim] = phase.readEnd() - end;
  }
  Value part = spread.source;
  auto attr = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(op.getContext(), values);
  };
  if (ArrayRef<int64_t>(sizes) != type.getShape())
    part = tensor::ExtractSliceOp::create(builder, loc, part, attr(offsets),
                                          attr(sizes), attr(ones));
  SmallVector<int64_t> shape(sizes);
  for (auto [size, before, behind] : llvm::zip_equal(shape, low, high))
    size += before + behind;
  if (shape != sizes) {
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(type.getElementType()));
    part = tensor::PadOp::create(builder, loc, type.clone(shape), part,
                                 attr(low), attr(high), zero);
  }
  auto split = image.getDefiningOp<tensor::ExpandShapeOp>();
  if (!split)
    return part;
  SmallVector<int64_t> apart(split.getResultType().getShape());
  for (auto [window, dim] : llvm::zip_equal(found.windows, dims))
    apart[window.image] = shape[dim];
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(apart), part,
                                       split.getReassociationIndices());
}

/// One phase of each window, added to `init`.
Value Splitter::convolve(ArrayRef<Phase> phases, Value init) {
  Location loc = op.getLoc();
  Value kernel = op->getOperand(found.kernel);
  auto type = cast<RankedTensorType>(kernel.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(op.getContext(), type.getShape());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<AffineExpr> reads(maps[found.image].getResults());
  for (auto [phase, window] : llvm::zip_equal(phases, found.windows)) {
    offsets[window.kernel] = builder.getIndexAttr(phase.firstTap);
    strides[window.kernel] = builder.getIndexAttr(phase.tapStep);
    sizes[window.kernel] = builder.getIndexAttr(phase.taps);
    reads[window.image] =
        maps[2].getResult(window.out) * phase.stride +
        maps[found.kernel].getResult(window.kernel) * phase.dilation;
  }
  maps[found.image] =
      AffineMap::get(op.getNumLoops(), 0, reads, op.getContext());
  Value operands[2];
  operands[found.image] = takeImage(phases);
  operands[found.kernel] = tensor::ExtractSliceOp::create(
      builder, loc, kernel, offsets, sizes, strides);
  auto phase = linalg::GenericOp::create(
      builder, loc, TypeRange{init.getType()},
      ValueRange{operands[0], operands[1]}, ValueRange{init}, maps,
      op.getIteratorTypesArray());
  IRMapping mapping;
  op->getRegion(0).cloneInto(&phase.getRegion(), mapping);
  if (Attribute scope = op->getAttr(kScopeAttr))
    phase->setAttr(kScopeAttr, scope);
  return phase.getResult(0);
}

LogicalResult Splitter::run(const KernelTarget &target) {
  SmallVector<SmallVector<Phase>> byWindow;
  int64_t count = 1, work = 1;
  for (size_t window = 0; window < found.windows.size(); ++window) {
    int64_t scale = spread.places[dims[window]].scale;
    if ((scale > 1 && found.windows[window].stride != 1) ||
        scale > kMaxPhases / count)
      return failure();
    count *= scale;
    byWindow.push_back(phasesOf(window));
  }
  for (int64_t size : op.getStaticLoopRanges())
    work *= size;
  Value init = op->getOperand(2);
  auto type = cast<RankedTensorType>(init.getType());
  if (!target.isConvolutionCall(type.getElementType(), work / count / count))
    return failure();
  Location loc = op.getLoc();
  auto fill = init.getDefiningOp<linalg::FillOp>();
  bool isFromZero = fill && isZero(fill.getInputs()[0]);
  Value result = init;
  if (isFromZero)
    result = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                     type.getElementType());
  // The phases of the last window are next to each other.
  for (SmallVector<size_t> at(byWindow.size(), 0);
       at[0] < byWindow[0].size();) {
    SmallVector<Phase> phases;
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
        strides(type.getRank(), builder.getIndexAttr(1)),
        sizes = getAsIndexOpFoldResult(op.getContext(), type.getShape());
    bool readsSource = true;
    for (size_t i = 0; i < at.size(); ++i) {
      Phase phase = byWindow[i][at[i]];
      const Place &place = spread.places[dims[i]];
      int64_t out = found.windows[i].out;
      offsets[out] = builder.getIndexAttr(phase.first);
      strides[out] = builder.getIndexAttr(phase.step);
      sizes[out] = builder.getIndexAttr(phase.count);
      readsSource &= phase.taps > 0 && std::max(phase.from, place.begin) <
                                           std::min(phase.readEnd(), place.end);
      phases.push_back(phase);
    }
    if (readsSource || isFromZero) {
      Value part;
      if (isFromZero) {
        Value empty =
            tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
        part = linalg::FillOp::create(builder, loc, fill.getInputs(), empty)
                   .getResult(0);
      } else {
        part = tensor::ExtractSliceOp::create(builder, loc, result, offsets,
                                              sizes, strides);
      }
      if (readsSource)
        part = convolve(phases, part);
      result = tensor::InsertSliceOp::create(builder, loc, part, result,
                                             offsets, sizes, strides);
    }
    size_t i = at.size();
    while (i-- > 0 && ++at[i] == byWindow[i].size() && i > 0)
      at[i] = 0;
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return success();
}

static void split(linalg::LinalgOp op, const KernelTarget &target) {
  FailureOr<Convolution> found = matchConvolution(op);
  if (failed(found) || !op.hasPureTensorSemantics() ||
      llvm::any_of(op->getOperandTypes(), [](Type type) {
        auto shaped = cast<ShapedType>(type);
        return !shaped.hasStaticShape() || shaped.getNumElements() == 0;
      }))
    return;
  Value image = op->getOperand(found->image), whole = image;
  auto split = image.getDefiningOp<tensor::ExpandShapeOp>();
  SmallVector<int64_t> dims;
  if (split) {
    // As into groups.
    whole = split.getSrc();
    SmallVector<ReassociationIndices> parts = split.getReassociationIndices();
    for (const Convolution::Window &window : found->windows)
      for (auto [dim, part] : llvm::enumerate(parts))
        if (part.size() == 1 && part[0] == window.image)
          dims.push_back(dim);
    if (dims.size() != found->windows.size())
      return;
  } else {
    for (const Convolution::Window &window : found->windows)
      dims.push_back(window.image);
  }
  llvm::SmallBitVector isMoved(
      cast<RankedTensorType>(whole.getType()).getRank());
  for (int64_t dim : dims)
    isMoved.set(dim);
  Spread spread(whole, isMoved);
  if (spread.hasZerosBetween())
    (void)Splitter(op, *found, image, dims, spread).run(target);
}

void mlir::dist::splitSpreadConvolutions(func::FuncOp function,
                                         const KernelTarget &target) {
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops)
    split(op, target);
}
