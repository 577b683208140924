//===- Visit.cpp - What ops ask of their operands -------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "inputs/ranges/Tracer.h"
#include "inputs/ranges/Values.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

void Tracer::traceIndex(Value value, int64_t size, Places region) {
  if (ShapedType::isDynamic(size) || size <= 0)
    return;
  // What indexes is signed, also where files hold it as unsigned.
  Interval inside = Interval{0, static_cast<double>(size - 1)} &
                    getHeld(value.getType(), /*isUnsigned=*/false);
  trace(value, {inside, inside, std::move(region)});
}

/// The last dimension of `indices` holds one index for each of `sizes`.
void Tracer::traceTuples(Value indices, ArrayRef<int64_t> sizes) {
  Places region =
      getWhole(cast<RankedTensorType>(indices.getType()).getShape());
  for (auto [column, size] : llvm::enumerate(sizes)) {
    if (sizes.size() > 1)
      region.back() = Span::at(column);
    traceIndex(indices, size, region);
  }
}

/// Whether the program ends where the comparison does not hold.
static bool isRequired(Operation *compare) {
  return llvm::all_of(compare->getUsers(), [](Operation *user) {
    return isa<cf::AssertOp>(user) ||
           (isa<arith::AndIOp, arith::OrIOp>(user) && isRequired(user));
  });
}

/// A place is also named by comparing with the numbers of all places, and so is
/// a length; and of a number both sides are worth reaching.
void Tracer::visitComparison(arith::CmpIOp compare, Value value, Value with) {
  constexpr double kLargest = int64_t(1) << 31;
  bool isPlace = compare.getPredicate() == arith::CmpIPredicate::eq ||
                 compare.getPredicate() == arith::CmpIPredicate::ne;
  if (std::optional<int64_t> count = findCount(with))
    trace(value, {{0, static_cast<double>(isPlace ? *count - 1 : *count)}, {}});
  else if (std::optional<double> number = findNumber(with);
           number && std::abs(*number) < kLargest && !isRequired(compare))
    trace(value, {{std::min(isPlace ? *number : *number - 1, 0.0),
                   std::max(*number + 1, 0.0)},
                  {}});
}

void Tracer::traceOffsets(OffsetSizeAndStrideOpInterface slice) {
  auto insertion = dyn_cast<tensor::InsertSliceOp>(slice.getOperation());
  auto whole =
      dyn_cast<RankedTensorType>(insertion ? insertion.getDest().getType()
                                           : slice->getOperand(0).getType());
  for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    std::optional<int64_t> size =
        getConstantIntValue(slice.getMixedSizes()[dim]);
    auto value = dyn_cast<Value>(offset);
    if (value && size && whole && !whole.isDynamicDim(dim))
      traceIndex(value, whole.getDimSize(dim) - *size + 1);
  }
}

/// Operands for which some values have no result.
void Tracer::visitLimited(Operation *op) {
  // None of them is worth more than others.
  const Interval none = Interval::none();
  constexpr double kLeast = std::numeric_limits<float>::min();
  if (op->getNumOperands() < 1 || op->getNumResults() != 1)
    return;
  Value last = op->getOperand(op->getNumOperands() - 1);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) {
    trace(last, {none, {1, kNoBound}});
  } else if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) {
    double most = getElementTypeOrSelf(last).isIndex()
                      ? 63
                      : getElementTypeOrSelf(last).getIntOrFloatBitWidth() - 1;
    trace(last, {none, {0, most}});
  } else if (isa<arith::DivFOp, math::LogOp, math::Log2Op, math::Log10Op,
                 math::RsqrtOp>(op)) {
    trace(last, {none, {kLeast, kNoBound}});
  } else if (isa<math::SqrtOp>(op)) {
    trace(last, {none, {0, kNoBound}});
  }
}

void Tracer::visit(Operation *op) {
  auto traceInto = [&](Value indices, ShapedType type, ArrayRef<int64_t> dims) {
    traceTuples(indices, llvm::map_to_vector(dims, [&](int64_t dim) {
                  return type.getDimSize(dim);
                }));
  };
  auto traceElement = [&](ValueRange indices, ShapedType type) {
    for (auto [index, size] : llvm::zip_equal(indices, type.getShape()))
      traceIndex(index, size);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tensor::GatherOp gather) {
        traceInto(gather.getIndices(), gather.getSourceType(),
                  gather.getGatherDims());
      })
      .Case([&](tensor::ScatterOp scatter) {
        traceInto(scatter.getIndices(), scatter.getDestType(),
                  scatter.getScatterDims());
      })
      .Case([&](ScatterAddOp scatter) {
        traceInto(scatter.getIndices(), scatter.getDest().getType(),
                  scatter.getDims());
      })
      .Case([&](tensor::ExtractOp extract) {
        traceElement(extract.getIndices(), extract.getTensor().getType());
      })
      .Case([&](tensor::InsertOp insert) {
        traceElement(insert.getIndices(), insert.getDest().getType());
      })
      .Case([&](OffsetSizeAndStrideOpInterface slice) { traceOffsets(slice); })
      .Case([&](arith::CmpIOp compare) {
        visitComparison(compare, compare.getLhs(), compare.getRhs());
        visitComparison(compare, compare.getRhs(), compare.getLhs());
      })
      .Default([&](Operation *) { visitLimited(op); });
}
