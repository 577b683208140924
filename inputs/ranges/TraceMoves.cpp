//===- TraceMoves.cpp - Ops that move elements ----------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "inputs/ranges/Tracer.h"
#include "inputs/ranges/Values.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

/// More single places than this count as all.
static constexpr size_t kMostPlaces = 64;

/// The integers of a constant, in row-major order, also where it was reshaped.
static std::optional<SmallVector<int64_t>> findIntegers(Value value) {
  value = skipCasts(value);
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = skipCasts(op->getOperand(0));
  }
  DenseIntElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  return llvm::map_to_vector(
      constant.getValues<APInt>(),
      [](const APInt &number) { return number.getSExtValue(); });
}

/// Whether the element at row-major place `index` of `shape` is in `region`.
static bool isIn(int64_t index, ArrayRef<int64_t> shape,
                 ArrayRef<Span> region) {
  for (size_t dim = shape.size(); dim-- > 0;) {
    const Span &span = region[dim];
    int64_t at = index % shape[dim] - span.first;
    if (at < 0 || at % span.step != 0 || at / span.step >= span.count)
      return false;
    index /= shape[dim];
  }
  return true;
}

void Tracer::traceGather(tensor::GatherOp op, const Wanted &wanted) {
  ArrayRef<int64_t> shape = op.getSourceType().getShape();
  ArrayRef<int64_t> indices = op.getIndicesType().getShape();
  size_t batch = indices.size() - 1;
  bool isDropped = wanted.region.size() != batch + shape.size();
  Places region = getWhole(shape);
  size_t next = batch;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    bool isGathered =
        llvm::is_contained(op.getGatherDims(), static_cast<int64_t>(dim));
    if (!isGathered)
      region[dim] = wanted.region[next];
    next += !(isGathered && isDropped);
  }
  // Constant indices say which places are taken.
  auto numbers = findIntegers(op.getIndices());
  std::set<std::vector<int64_t>> places;
  int64_t width = op.getGatherDims().size();
  if (numbers && width > 0 && !llvm::any_of(indices, ShapedType::isDynamic))
    for (size_t i = 0; i + width <= numbers->size(); i += width)
      if (isIn(i / width, indices.drop_back(),
               ArrayRef(wanted.region).take_front(batch)))
        places.insert(std::vector<int64_t>(numbers->begin() + i,
                                           numbers->begin() + i + width));
  if (places.empty() || places.size() > kMostPlaces)
    return trace(op.getSource(), wanted.at(region));
  for (const std::vector<int64_t> &place : places) {
    for (auto [dim, at] : llvm::zip_equal(op.getGatherDims(), place))
      region[dim] = Span::at(at);
    trace(op.getSource(), wanted.at(region));
  }
}

/// Dims of a slice that its type has.
static SmallVector<int64_t> getKept(const llvm::SmallBitVector &dropped) {
  SmallVector<int64_t> kept;
  for (unsigned dim = 0; dim < dropped.size(); ++dim)
    if (!dropped.test(dim))
      kept.push_back(dim);
  return kept;
}

bool Tracer::traceMove(OpResult result, const Wanted &wanted) {
  Operation *op = result.getOwner();
  if (!isa_and_nonnull<tensor::TensorDialect, DistDialect>(op->getDialect()))
    return false;
  auto traceAll = [&](Value value) {
    Wanted inside = wanted.at({});
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      inside.region = getWhole(type.getShape());
    trace(value, inside);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
            tensor::ExtractSliceOp>([&](auto move) {
        trace(move->getOperand(0), wanted.at(ofSource(move, wanted.region)));
      })
      .Case([&](tensor::CastOp cast) { trace(cast.getSource(), wanted); })
      .Case([&](tensor::ConcatOp concat) {
        std::optional<int64_t> offset = 0;
        for (Value input : concat.getInputs()) {
          Places region = wanted.region;
          Span &along = region[concat.getDim()];
          int64_t size = cast<RankedTensorType>(input.getType())
                             .getDimSize(concat.getDim());
          bool isKnown = offset && !ShapedType::isDynamic(size);
          std::optional<Span> inside =
              isKnown ? within(along, *offset, size) : Span::whole(size);
          offset = isKnown ? std::optional(*offset + size) : std::nullopt;
          if (!inside)
            continue;
          along = *inside;
          trace(input, wanted.at(region));
        }
      })
      .Case([&](tensor::PadOp pad) {
        Places region = wanted.region;
        ArrayRef<int64_t> shape = pad.getSourceType().getShape();
        bool isInside = true;
        for (auto [span, low, size] :
             llvm::zip_equal(region, pad.getStaticLow(), shape)) {
          bool isKnown = !ShapedType::isDynamic(low);
          std::optional<Span> inside =
              isKnown ? within(span, low, size) : Span::whole(size);
          isInside &= inside.has_value();
          span = inside.value_or(span);
        }
        if (isInside)
          trace(pad.getSource(), wanted.at(region));
        traceAll(pad.getBody()->getTerminator()->getOperand(0));
      })
      .Case([&](tensor::InsertSliceOp insert) {
        Places region;
        bool isInside = true, isCovered = true;
        for (int64_t dim : getKept(insert.getDroppedDims())) {
          int64_t offset = insert.getStaticOffset(dim),
                  size = insert.getStaticSize(dim);
          bool isKnown = !ShapedType::isDynamic(offset) &&
                         !ShapedType::isDynamic(size) &&
                         insert.getStaticStride(dim) == 1;
          std::optional<Span> inside =
              isKnown ? within(wanted.region[dim], offset, size)
                      : Span::whole(size);
          isInside &= inside.has_value();
          region.push_back(inside.value_or(Span()));
          isCovered &=
              isKnown && inside && inside->count == wanted.region[dim].count;
        }
        for (unsigned dim : insert.getDroppedDims().set_bits())
          isCovered &=
              wanted.region[dim] == Span::at(insert.getStaticOffset(dim));
        if (isInside)
          trace(insert.getSource(), wanted.at(region));
        if (!isCovered)
          trace(insert.getDest(), wanted);
      })
      .Case([&](tensor::ExtractOp extract) {
        Places region;
        for (auto [index, size] :
             llvm::zip_equal(extract.getIndices(),
                             extract.getTensor().getType().getShape())) {
          auto number = skipCasts(index).getDefiningOp<linalg::IndexOp>();
          std::optional<double> constant = findNumber(index);
          bool isLoop =
              number && wanted.body &&
              number->getParentOfType<linalg::LinalgOp>() == wanted.body;
          region.push_back(constant ? Span::at(*constant)
                           : isLoop ? wanted.region[number.getDim()]
                                    : Span::whole(size));
        }
        trace(extract.getTensor(), wanted.at(region));
      })
      .Case([&](tensor::FromElementsOp from) {
        for (auto [i, element] : llvm::enumerate(from.getElements()))
          if (isIn(i, from.getType().getShape(), wanted.region))
            traceAll(element);
      })
      .Case([&](tensor::InsertOp insert) {
        traceAll(insert.getScalar());
        trace(insert.getDest(), wanted);
      })
      .Case([&](tensor::SplatOp splat) { traceAll(splat.getInput()); })
      .Case([&](tensor::GenerateOp generate) {
        traceAll(generate.getBody().front().getTerminator()->getOperand(0));
      })
      .Case([&](tensor::GatherOp gather) { traceGather(gather, wanted); })
      .Default([&](Operation *) {
        for (Value operand : op->getOperands()) {
          if (!isa<RankedTensorType>(operand.getType()) ||
              getElementTypeOrSelf(operand) != getElementTypeOrSelf(result))
            continue;
          if (op->getNumOperands() == 1 &&
              operand.getType() == result.getType())
            trace(operand, wanted);
          else
            traceAll(operand);
        }
      });
  return true;
}
