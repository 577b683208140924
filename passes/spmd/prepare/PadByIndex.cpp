//===- PadByIndex.cpp - Circular and reflected padding --------------------===//

#include "passes/spmd/prepare/PadByIndex.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/Windows.h"
#include "passes/spmd/prepare/SeparateDims.h"
#include "passes/spmd/prepare/TiedRows.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A value joined with rows of its own.
struct PadByIndex {
  tensor::ConcatOp concat;
  /// Which of its operands is not made of rows of another.
  unsigned number;
  /// Of the rows before and behind the source: which of its rows they are.
  SmallVector<int64_t> low, high;
  /// The ops that replace the concatenation, last to first.
  SmallVector<Operation *> made = {};

  int64_t getDim() const { return tensor::ConcatOp(concat).getDim(); }
  RankedTensorType getType() const {
    return tensor::ConcatOp(concat).getResultType();
  }
  Value getSource() const { return concat->getOperand(number); }
  int64_t getSize() const {
    return cast<RankedTensorType>(getSource().getType()).getDimSize(getDim());
  }
  /// The rows that are repeated, each once.
  SmallVector<int64_t> getRepeated() const {
    llvm::SmallSetVector<int64_t, 8> rows(low.begin(), low.end());
    rows.insert(high.begin(), high.end());
    return rows.takeVector();
  }
};
} // namespace

/// Appends the rows of `source` that `slice` selects. False if it is no such
/// slice.
static bool collectRows(Value piece, Value source, int64_t dim,
                        SmallVectorImpl<int64_t> &rows) {
  // Slices may have moved before what merged other dimensions of both.
  auto merged = piece.getDefiningOp<tensor::CollapseShapeOp>(),
       whole = source.getDefiningOp<tensor::CollapseShapeOp>();
  if (merged && whole &&
      merged.getReassociationIndices() == whole.getReassociationIndices()) {
    ReassociationIndices group = whole.getReassociationIndices()[dim];
    if (group.size() == 1) {
      piece = merged.getSrc();
      source = whole.getSrc();
      dim = group.front();
    }
  }
  auto slice = piece.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSource() != source ||
      slice.getType().getRank() != slice.getSourceType().getRank())
    return false;
  for (auto [other, size] : llvm::enumerate(slice.getSourceType().getShape())) {
    int64_t offset = slice.getStaticOffsets()[other],
            count = slice.getStaticSizes()[other],
            stride = slice.getStaticStrides()[other];
    if (static_cast<int64_t>(other) != dim) {
      if (offset != 0 || count != size || stride != 1)
        return false;
      continue;
    }
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(count) ||
        ShapedType::isDynamic(stride) || rows.size() + count > kMostEnds)
      return false;
    for (int64_t row = 0; row < count; ++row)
      rows.push_back(offset + row * stride);
  }
  return true;
}

static std::optional<PadByIndex> matchPadByIndex(tensor::ConcatOp concat) {
  RankedTensorType type = concat.getResultType();
  if (!isPlain(concat) || !type.getElementType().isIntOrFloat() ||
      type.getNumElements() == 0)
    return std::nullopt;
  int64_t dim = concat.getDim();
  OperandRange inputs = concat.getInputs();
  auto getSize = [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getDimSize(dim);
  };
  unsigned number =
      llvm::max_element(
          inputs, [&](Value a, Value b) { return getSize(a) < getSize(b); }) -
      inputs.begin();
  PadByIndex rows{concat, number, {}, {}};
  for (auto [other, input] : llvm::enumerate(inputs))
    if (other != number && !collectRows(input, inputs[number], dim,
                                        other < number ? rows.low : rows.high))
      return std::nullopt;
  if (rows.low.empty() && rows.high.empty())
    return std::nullopt;
  return rows;
}

/// Writes what takes the place of a join in front of it.
static void rewrite(PadByIndex &rows) {
  OpBuilder b(rows.concat);
  Location loc = rows.concat.getLoc();
  auto note = [&](auto op) {
    rows.made.push_back(op);
    op->setDiscardableAttrs(rows.concat->getDiscardableAttrDictionary());
    op->removeDiscardableAttr(kShardingsAttr);
    return op->getResult(0);
  };
  RankedTensorType type = rows.getType();
  int64_t dim = rows.getDim(), rank = type.getRank();
  Type element = type.getElementType();
  SmallVector<OpFoldResult> zeros(rank, b.getIndexAttr(0)),
      ones(rank, b.getIndexAttr(1)), sizes, low = zeros, high = zeros;
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  sizes[dim] = b.getIndexAttr(1);
  low[dim] = b.getIndexAttr(rows.low.size());
  high[dim] = b.getIndexAttr(rows.high.size());
  Value zero = note(arith::ConstantOp::create(b, loc, b.getZeroAttr(element)));
  SmallVector<Value> inputs{note(
      tensor::PadOp::create(b, loc, type, rows.getSource(), low, high, zero))};

  // All rows that are repeated are brought at once.
  SmallVector<int64_t> shape(type.getShape()), repeated = rows.getRepeated();
  shape[dim] = 1;
  SmallVector<Value> single;
  for (int64_t row : repeated) {
    SmallVector<OpFoldResult> offsets = zeros;
    offsets[dim] = b.getIndexAttr(row);
    single.push_back(note(tensor::ExtractSliceOp::create(
        b, loc, type.clone(shape), rows.getSource(), offsets, sizes, ones)));
  }
  Value all = single.front();
  if (single.size() > 1)
    all = note(tensor::ConcatOp::create(b, loc, dim, single));
  shape.erase(shape.begin() + dim);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps{identity};
  llvm::SmallDenseMap<int64_t, unsigned> numbers;
  for (auto [number, row] : llvm::enumerate(repeated)) {
    SmallVector<OpFoldResult> offsets = zeros;
    offsets[dim] = b.getIndexAttr(number);
    numbers[row] = inputs.size();
    inputs.push_back(note(tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, element), all, offsets, sizes,
        ones)));
    maps.push_back(identity.dropResult(dim));
  }
  Value empty = note(tensor::EmptyOp::create(b, loc, type.getShape(), element));
  int64_t behind = rows.low.size() + rows.getSize();
  using Values = SmallVector<Value>;
  note(createParallelLoops(
      b, loc, inputs, maps, empty,
      [&](OpBuilder &inner, Location at, ValueRange args) -> Values {
        Value index = linalg::IndexOp::create(inner, at, dim), value = args[0];
        auto choose = [&](int64_t place, int64_t row) {
          Value here = arith::CmpIOp::create(
              inner, at, arith::CmpIPredicate::eq, index,
              arith::ConstantIndexOp::create(inner, at, place));
          value = arith::SelectOp::create(inner, at, here, args[numbers[row]],
                                          value);
        };
        for (auto [place, row] : llvm::enumerate(rows.low))
          choose(place, row);
        for (auto [place, row] : llvm::enumerate(rows.high))
          choose(behind + place, row);
        return {value};
      }));
  rows.concat.getResult().replaceAllUsesWith(rows.made.back()->getResult(0));
}

/// Whether less is sent where the ends are chosen by their index than where the
/// rows are gathered.
static bool sendsLess(const PadByIndex &rows, const PlacementGraph &graph,
                      const Placements &placements, const MeshLayout &layout,
                      const TiedRows &tied) {
  unsigned source = graph.getIndex(rows.getSource()),
           padded = graph.getIndex(rows.made.back()->getResult(0));
  int64_t dim = rows.getDim(), size = rows.getSize(),
          whole = rows.getType().getDimSize(dim);
  if (source == PlacementGraph::kNone || padded == PlacementGraph::kNone)
    return false;
  DimShardingAttr before = placements.getDims(source)[dim].sharding,
                  sharding = placements.getDims(padded)[dim].sharding;
  if (before != sharding || before.getSubDims().size() != 1)
    return false;
  WindowPlan plan(layout, sharding, size, whole,
                  {/*dim=*/0, /*stride=*/1, /*extent=*/1,
                   -static_cast<int64_t>(rows.low.size())});
  if (!plan.isLine() || !plan.isExchanged)
    return false;
  int64_t rowBytes = getTensorBytes(rows.getType()) / whole,
          devices = plan.rows.devices,
          repeated = rows.getRepeated().size() * rowBytes;
  int64_t sent =
      plan.sent * rowBytes + 2 * repeated / devices * (devices - 1) +
      tied.getNeeds(tied.getTie(padded, dim)).getHaloBytes(layout, sharding);
  return sent < (devices - 1) * plan.rows.extent * rowBytes;
}

LogicalResult mlir::dist::rewritePadsByIndex(ModuleOp module, MeshOp mesh) {
  if (llvm::all_of(mesh.getAxes(),
                   [](MeshAxisAttr axis) { return axis.getSize() == 1; }))
    return success();
  SmallVector<PadByIndex> found;
  module.walk([&](tensor::ConcatOp concat) {
    if (std::optional<PadByIndex> rows = matchPadByIndex(concat))
      found.push_back(std::move(*rows));
  });
  if (found.empty())
    return success();
  eraseBackwardSyncs(module);
  // All at once, as what is behind one is placed when its rows are.
  for (PadByIndex &rows : found)
    rewrite(rows);
  SmallVector<bool> isKept;
  {
    PlacementAnalysis analysis(module);
    if (failed(analysis.getStatus()))
      return failure();
    if (!analysis.getLayout()) {
      isKept.assign(found.size(), false);
    } else {
      analysis.propagate();
      TiedRows tied(analysis.getGraph(), analysis.getPlacements(),
                    *analysis.getLayout());
      for (const PadByIndex &rows : found)
        isKept.push_back(sendsLess(rows, analysis.getGraph(),
                                   analysis.getPlacements(),
                                   *analysis.getLayout(), tied));
    }
  }
  for (auto [rows, keep] : llvm::zip_equal(found, isKept)) {
    if (keep) {
      SmallVector<Operation *> pieces;
      for (Value input : rows.concat.getInputs()) {
        if (auto merged = input.getDefiningOp<tensor::CollapseShapeOp>();
            merged && !llvm::is_contained(pieces, merged)) {
          pieces.push_back(merged);
          input = merged.getSrc();
        }
        if (auto slice = input.getDefiningOp<tensor::ExtractSliceOp>();
            slice && !llvm::is_contained(pieces, slice))
          pieces.push_back(slice);
      }
      rows.concat.erase();
      for (Operation *piece : pieces)
        if (isOpTriviallyDead(piece))
          piece->erase();
      continue;
    }
    rows.made.back()->getResult(0).replaceAllUsesWith(rows.concat.getResult());
    for (Operation *op : llvm::reverse(rows.made))
      op->erase();
  }
  return success();
}
