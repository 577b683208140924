//===- SplitWindows.cpp - Windows inside of an image, and at its edge -----===//
//
// A maximum or a sum in windows over a padded image is computed from the image
// itself. First come the positions whose windows are within it, then those at
// each edge, with the taps that reach it. The padding is the value that the
// result starts from, so leaving it out changes nothing.
//
// A maximum is first taken along all dimensions but the innermost one, then
// along that one, where this combines fewer elements.
//
//===----------------------------------------------------------------------===//

#include "lowering/bounds/Bounds.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

using namespace mlir;
using namespace mlir::dist;

namespace {

/// A loop over places and one over taps: place * stride + tap * dilation +
/// first is the index in the padded image.
struct Window {
  unsigned place, tap;
  int64_t stride, dilation, first;
  int64_t dim, low, size; // of the image
};

/// A part of a loop.
struct Turns {
  int64_t offset, size;
};

/// Neighbouring places whose windows reach the image with the same taps.
struct WindowRegion {
  Turns places, taps;
};

/// A window operation over a padded image.
struct PaddedWindows {
  linalg::GenericOp op;
  OpOperand *image;
  tensor::PadOp pad;
  linalg::FillOp fill;
  SmallVector<Window, 3> windows;
};

} // namespace

/// Reads place * stride + tap * dilation + first.
static std::optional<Window> matchWindow(linalg::GenericOp op,
                                         AffineExpr expr) {
  SmallVector<int64_t> factors;
  if (failed(getFlattenedAffineExpr(expr, op.getNumLoops(), 0, &factors)) ||
      factors.size() != op.getNumLoops() + 1)
    return std::nullopt;
  std::optional<unsigned> place, tap;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (factors[loop] == 0)
      continue;
    auto &role = kind == utils::IteratorType::parallel ? place : tap;
    if (role || factors[loop] < 0)
      return std::nullopt;
    role = static_cast<unsigned>(loop);
  }
  if (!place || !tap)
    return std::nullopt;
  return Window{*place, *tap, factors[*place], factors[*tap], factors.back(), 0,
                0,      0};
}

/// Whether op(x, ..., pad) is op(x, ...) where the result begins with `pad`.
static bool ignores(Operation *combiner, Attribute pad) {
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
          arith::MinUIOp>(combiner))
    return true;
  // A sum that begins with 0 is never -0.
  if (auto number = dyn_cast<FloatAttr>(pad))
    return isa<arith::AddFOp>(combiner) && number.getValue().isPosZero();
  return isa<arith::AddIOp>(combiner) && cast<IntegerAttr>(pad).getValue() == 0;
}

/// Whether the body only combines the element of `image` with the accumulator.
static bool combinesOnly(linalg::GenericOp op, OpOperand *image,
                         Attribute pad) {
  Block &body = *op.getBlock();
  Operation *combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || &body.front() != combiner || combiner->getNumOperands() != 2)
    return false;
  Value element = body.getArgument(image->getOperandNumber()),
        sum = body.getArguments().back();
  Value a = combiner->getOperand(0), b = combiner->getOperand(1);
  return ((a == element && b == sum) || (a == sum && b == element)) &&
         ignores(combiner, pad);
}

/// Other operands are read at loops themselves, so that a part of the loops
/// reads a slice of them.
static bool readSlices(linalg::GenericOp op, OpOperand *image) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return &operand == image ||
           (isa<RankedTensorType>(operand.get().getType()) &&
            op.getMatchingIndexingMap(&operand).isProjectedPermutation());
  });
}

static std::optional<PaddedWindows> match(linalg::GenericOp op,
                                          OpOperand *image) {
  auto pad = image->get().getDefiningOp<tensor::PadOp>();
  if (!pad || !pad.getSourceType().hasStaticShape() ||
      !pad.getResultType().hasStaticShape())
    return std::nullopt;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  Attribute with, start;
  if (!fill || !pad.getConstantPaddingValue() ||
      !matchPattern(pad.getConstantPaddingValue(), m_Constant(&with)) ||
      !matchPattern(fill.getInputs()[0], m_Constant(&start)) || with != start ||
      !combinesOnly(op, image, with) || !readSlices(op, image))
    return std::nullopt;
  PaddedWindows found{op, image, pad, fill, {}};
  llvm::SmallDenseSet<unsigned> used;
  AffineMap map = op.getMatchingIndexingMap(image);
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t low = pad.getStaticLow()[dim], high = pad.getStaticHigh()[dim];
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      if (low != 0 || high != 0 || !used.insert(loop.getPosition()).second)
        return std::nullopt;
      continue;
    }
    std::optional<Window> window = matchWindow(op, expr);
    if (!window || low < 0 || high < 0 || !used.insert(window->place).second ||
        !used.insert(window->tap).second)
      return std::nullopt;
    window->dim = dim;
    window->low = low;
    window->size = pad.getSourceType().getDimSize(dim);
    found.windows.push_back(*window);
  }
  return found.windows.empty() ? std::nullopt : std::optional(found);
}

/// The taps with which the window at `place` reaches the image.
static Turns findTaps(const Window &window, int64_t place, int64_t taps) {
  int64_t start = place * window.stride + window.first - window.low;
  auto before = [&](int64_t index) {
    int64_t count = llvm::divideCeilSigned(index - start, window.dilation);
    return std::clamp<int64_t>(count, 0, taps);
  };
  int64_t from = before(0), to = before(window.size);
  return {from, std::max<int64_t>(to - from, 0)};
}

static SmallVector<WindowRegion> findPlaces(const Window &window,
                                            int64_t places, int64_t taps) {
  SmallVector<WindowRegion> found;
  for (int64_t place = 0; place < places; ++place) {
    Turns turns = findTaps(window, place, taps);
    if (!found.empty() && found.back().taps.offset == turns.offset &&
        found.back().taps.size == turns.size)
      ++found.back().places.size;
    else if (found.size() > kMostRegions)
      break;
    else
      found.push_back({{place, 1}, turns});
  }
  return found;
}

/// The part of `value` that the loops read, or write, through `map`.
static Value slice(OpBuilder &builder, Location loc, Value value, AffineMap map,
                   ArrayRef<Turns> loops) {
  SmallVector<OpFoldResult> offsets, sizes,
      strides(map.getNumResults(), builder.getIndexAttr(1));
  for (AffineExpr expr : map.getResults()) {
    const Turns &turns = loops[cast<AffineDimExpr>(expr).getPosition()];
    offsets.push_back(builder.getIndexAttr(turns.offset));
    sizes.push_back(builder.getIndexAttr(turns.size));
  }
  return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                        strides);
}

/// The part of the image that the windows of some loops reach.
static Value sliceImage(OpBuilder &builder, PaddedWindows padded,
                        ArrayRef<Turns> loops) {
  linalg::GenericOp op = padded.op;
  AffineMap map = op.getMatchingIndexingMap(padded.image);
  SmallVector<OpFoldResult> offsets, sizes,
      strides(map.getNumResults(), builder.getIndexAttr(1));
  const Window *window = padded.windows.begin();
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    Turns turns;
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      turns = loops[loop.getPosition()];
    } else {
      const Turns &place = loops[window->place], &tap = loops[window->tap];
      turns.offset = place.offset * window->stride +
                     tap.offset * window->dilation + window->first -
                     window->low;
      turns.size = (place.size - 1) * window->stride +
                   (tap.size - 1) * window->dilation + 1;
      ++window;
    }
    offsets.push_back(builder.getIndexAttr(turns.offset));
    sizes.push_back(builder.getIndexAttr(turns.size));
  }
  Value image = padded.pad.getSource();
  return tensor::ExtractSliceOp::create(builder, op.getLoc(), image, offsets,
                                        sizes, strides);
}

/// Computes some loops of it, and inserts the results in `result`.
static Value compute(OpBuilder &builder, PaddedWindows padded,
                     ArrayRef<Turns> loops, Value result) {
  linalg::GenericOp op = padded.op;
  Location loc = op.getLoc();
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  Value out = slice(builder, loc, result, outMap, loops);
  auto outSlice = out.getDefiningOp<tensor::ExtractSliceOp>();
  Value part =
      linalg::FillOp::create(builder, loc, padded.fill.getInputs()[0], out)
          .getResult(0);
  bool reaches =
      llvm::all_of(loops, [](const Turns &turns) { return turns.size > 0; });
  if (reaches) {
    SmallVector<Value> operands;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      if (&operand == op.getDpsInitOperand(0)) {
        operands.push_back(part);
      } else if (&operand != padded.image) {
        operands.push_back(
            slice(builder, loc, operand.get(), maps[number], loops));
      } else {
        operands.push_back(sliceImage(builder, padded, loops));
        SmallVector<AffineExpr> exprs(maps[number].getResults());
        for (const Window &window : padded.windows)
          exprs[window.dim] =
              builder.getAffineDimExpr(window.place) * window.stride +
              builder.getAffineDimExpr(window.tap) * window.dilation;
        maps[number] =
            AffineMap::get(op.getNumLoops(), 0, exprs, builder.getContext());
      }
    }
    auto some = linalg::GenericOp::create(builder, loc, part.getType(),
                                          ArrayRef(operands).drop_back(), part,
                                          maps, op.getIteratorTypesArray());
    some->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    IRMapping mapping;
    op.getRegion().cloneInto(&some.getRegion(), mapping);
    part = some.getResult(0);
  }
  return tensor::InsertSliceOp::create(
      builder, loc, part, result, outSlice.getMixedOffsets(),
      outSlice.getMixedSizes(), outSlice.getMixedStrides());
}

static void split(PaddedWindows padded) {
  linalg::GenericOp op = padded.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<SmallVector<WindowRegion>> choices;
  size_t regions = 1;
  for (const Window &window : padded.windows) {
    choices.push_back(
        findPlaces(window, extents[window.place], extents[window.tap]));
    regions *= choices.back().size();
    if (regions > kMostRegions)
      return;
  }
  OpBuilder builder(op);
  SmallVector<Turns> loops;
  for (int64_t extent : extents)
    loops.push_back({0, extent});
  Value result = padded.fill.getOutputs()[0];
  for (size_t region = 0; region < regions; ++region) {
    size_t rest = region;
    for (auto [window, places] : llvm::zip_equal(padded.windows, choices)) {
      const WindowRegion &chosen = places[rest % places.size()];
      rest /= places.size();
      loops[window.place] = chosen.places;
      loops[window.tap] = chosen.taps;
    }
    result = compute(builder, padded, loops, result);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// Tensors that kernels access together with the images of convolutions, whose
/// channels will be innermost (ChooseLayouts.cpp).
static DenseSet<Value> findConvolved(func::FuncOp function) {
  DenseSet<Value> found;
  SmallVector<Value> pending;
  auto add = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()) && found.insert(value).second)
      pending.push_back(value);
  };
  function.walk([&](rt::ConvolveOp call) {
    add(call.getImage());
    llvm::for_each(call->getResults(), add);
  });
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    SmallVector<Operation *> ops(value.getUsers());
    if (Operation *op = value.getDefiningOp())
      ops.push_back(op);
    for (Operation *op : ops) {
      if (!isa<linalg::LinalgOp, tensor::PadOp, tensor::ExtractSliceOp,
               tensor::InsertSliceOp, rt::ConvolveOp>(op))
        continue;
      auto addSame = [&](Value other) {
        auto type = dyn_cast<RankedTensorType>(other.getType());
        if (type && type.getRank() == rank)
          add(other);
      };
      llvm::for_each(op->getOperands(), addSame);
      llvm::for_each(op->getResults(), addSame);
    }
  }
  return found;
}

/// Whether combining along the innermost dimension of the image last,
/// separately from the others, combines fewer elements. The order must not
/// matter, so sums are excluded.
static bool paysApart(PaddedWindows padded) {
  linalg::GenericOp op = padded.op;
  const Window &last = padded.windows.back();
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (padded.windows.size() < 2 || isa<arith::AddFOp, arith::AddIOp>(combiner))
    return false;
  auto inner = dyn_cast<AffineDimExpr>(outMap.getResults().back());
  if (last.dim + 1 != padded.pad.getSourceType().getRank() || !inner ||
      inner.getPosition() != last.place)
    return false;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t others = 1;
  for (const Window &window : ArrayRef(padded.windows).drop_back())
    others *= extents[window.tap];
  double columns = double(last.size) / extents[last.place];
  return (others - 1) * columns + (extents[last.tap] - 1) <
         others * extents[last.tap] - 1;
}

/// The windows of some taps over `image`, along the other loops of `op`; the
/// indices of the image are `exprs`.
static linalg::GenericOp combine(OpBuilder &builder, linalg::GenericOp op,
                                 Value image, ArrayRef<AffineExpr> exprs,
                                 ArrayRef<unsigned> taps,
                                 ArrayRef<int64_t> shape, Value start) {
  Location loc = op.getLoc();
  SmallVector<int64_t> extents = op.getStaticLoopRanges(), sizes;
  SmallVector<AffineExpr> loops, tapExprs;
  unsigned places = op.getNumParallelLoops(), next = places, place = 0;
  SmallVector<utils::IteratorType> iterators(places,
                                             utils::IteratorType::parallel);
  // WindowRegion first, then the taps that there are.
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool isTap = llvm::is_contained(taps, loop);
    if (kind != utils::IteratorType::parallel && !isTap) {
      loops.push_back(builder.getAffineConstantExpr(0));
      continue;
    }
    loops.push_back(builder.getAffineDimExpr(isTap ? next++ : place++));
    if (!isTap)
      continue;
    iterators.push_back(utils::IteratorType::reduction);
    tapExprs.push_back(loops.back());
    sizes.push_back(extents[loop]);
  }
  auto map = [&](ArrayRef<AffineExpr> results) {
    AffineMap old =
        AffineMap::get(loops.size(), 0, results, builder.getContext());
    return old.replaceDimsAndSymbols(loops, {}, next, 0);
  };
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  Type element = getElementTypeOrSelf(image);
  Value window = tensor::EmptyOp::create(builder, loc, sizes, element);
  Value out = tensor::EmptyOp::create(builder, loc, shape, element);
  out = linalg::FillOp::create(builder, loc, start, out).getResult(0);
  auto result = linalg::GenericOp::create(
      builder, loc, out.getType(), ValueRange{image, window}, out,
      ArrayRef<AffineMap>{
          map(exprs), AffineMap::get(next, 0, tapExprs, builder.getContext()),
          map(outMap.getResults())},
      iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Operation *body =
            op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
        Operation *combined = b.clone(*body);
        combined->setOperands({args[2], args[0]});
        linalg::YieldOp::create(b, l, combined->getResult(0));
      });
  result->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return result;
}

/// `image` with the padding of some dimensions, if there is any.
static Value padSome(OpBuilder &builder, PaddedWindows padded, Value image,
                     llvm::function_ref<bool(unsigned)> filter) {
  auto type = cast<RankedTensorType>(image.getType());
  SmallVector<int64_t> low(padded.pad.getStaticLow()),
      high(padded.pad.getStaticHigh()), shape(type.getShape());
  bool pads = false;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (!filter(dim))
      low[dim] = high[dim] = 0;
    pads |= low[dim] + high[dim] > 0;
    shape[dim] += low[dim] + high[dim];
  }
  if (!pads)
    return image;
  auto indices = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  return tensor::PadOp::create(
      builder, padded.op.getLoc(),
      RankedTensorType::get(shape, type.getElementType()), image, indices(low),
      indices(high), padded.fill.getInputs()[0]);
}

/// Combines along the innermost dimension last. Returns the op along the
/// others.
static linalg::GenericOp goApart(PaddedWindows padded) {
  linalg::GenericOp op = padded.op;
  OpBuilder builder(op);
  const Window &last = padded.windows.back();
  Value start = padded.fill.getInputs()[0];
  SmallVector<AffineExpr> exprs(
      op.getMatchingIndexingMap(padded.image).getResults());
  SmallVector<unsigned> taps;
  for (const Window &window : ArrayRef(padded.windows).drop_back())
    taps.push_back(window.tap);
  llvm::sort(taps);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  AffineExpr along = exprs.back();
  exprs.back() = builder.getAffineDimExpr(last.place);
  shape.back() = last.size;
  Value image = padSome(builder, padded, padded.pad.getSource(),
                        [&](unsigned dim) { return dim != last.dim; });
  linalg::GenericOp others =
      combine(builder, op, image, exprs, taps, shape, start);
  Value rows = padSome(builder, padded, others.getResult(0),
                       [&](unsigned dim) { return dim == last.dim; });
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  exprs.assign(outMap.getResults().begin(), outMap.getResults().end());
  exprs.back() = along;
  linalg::GenericOp whole =
      combine(builder, op, rows, exprs, last.tap, type.getShape(), start);
  op->getResult(0).replaceAllUsesWith(whole.getResult(0));
  op->erase();
  return others;
}

/// The padded image of `op`, if it is a window operation over one.
static std::optional<PaddedWindows> matchAny(linalg::GenericOp op) {
  for (OpOperand *image : op.getDpsInputOperands())
    if (std::optional<PaddedWindows> padded = match(op, image))
      return padded;
  return std::nullopt;
}

void mlir::dist::splitWindows(func::FuncOp function) {
  SmallVector<linalg::GenericOp> ops;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && op.getNumDpsInits() == 1 &&
        llvm::none_of(op.getStaticLoopRanges(), ShapedType::isDynamic) &&
        !llvm::is_contained(op.getStaticLoopRanges(), 0))
      ops.push_back(op);
  });
  DenseSet<Value> convolved = findConvolved(function);
  for (linalg::GenericOp op : ops) {
    std::optional<PaddedWindows> padded = matchAny(op);
    if (padded && !convolved.contains(op.getResult(0)) && paysApart(*padded))
      padded = matchAny(goApart(*padded));
    if (padded)
      split(*padded);
  }
}
