//===- SplitWindows.cpp - Windows inside of an image, and at its edge -----===//
//
// A maximum or a sum under windows that move over a padded image is computed
// from the image itself: the places whose windows lie within it, then those at
// each edge, with the taps that reach it. What is padded with is what the
// result begins with, so leaving it out changes nothing.
//
//===----------------------------------------------------------------------===//

#include "lowering/kernels/KernelTarget.h"
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
struct Places {
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

/// More regions than that are left to the padded image.
static constexpr size_t kMostRegions = 32;

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

/// Whether the body does nothing but combine the element of `image` with what
/// there is.
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

static SmallVector<Places> findPlaces(const Window &window, int64_t places,
                                      int64_t taps) {
  SmallVector<Places> found;
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

/// Computes some loops of it, and puts what comes out into `result`.
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
  SmallVector<SmallVector<Places>> choices;
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
      const Places &chosen = places[rest % places.size()];
      rest /= places.size();
      loops[window.place] = chosen.places;
      loops[window.tap] = chosen.taps;
    }
    result = compute(builder, padded, loops, result);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void mlir::dist::splitWindows(func::FuncOp function) {
  SmallVector<linalg::GenericOp> ops;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && op.getNumDpsInits() == 1 &&
        llvm::none_of(op.getStaticLoopRanges(), ShapedType::isDynamic) &&
        !llvm::is_contained(op.getStaticLoopRanges(), 0))
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops)
    for (OpOperand *image : op.getDpsInputOperands())
      if (std::optional<PaddedWindows> padded = match(op, image)) {
        split(*padded);
        break;
      }
}
