//===- SparsifySums.cpp - Sums whose constant weights are mostly zeros ----===//
//
// A sum over windows of an image whose weights are constants, few of which are
// not zero (a resize from 14 elements to 25), adds only the elements that
// count. The n-th element of each position is looked up in a constant, as in
// ELLPACK, the format of sparse matrices with about as many elements in each
// row.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/decompose/Passes.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <optional>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSPARSIFYSUMS
#include "lowering/decompose/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// A sum over one loop: elements of an image, times constant weights.
struct WeightedSum {
  linalg::GenericOp op;
  arith::AddFOp add = {};
  OpOperand *image = nullptr, *weights = nullptr;
  /// The loop that is summed over, and where in the weights' shape it is.
  unsigned loop = 0, weightsDim = 0;
  /// The dimension of the image that it moves along, by how much each loop
  /// does, and a constant.
  unsigned imageDim = 0;
  SmallVector<int64_t> steps = {};
  /// The weights of all devices, and how a device's own are taken of them.
  DenseElementsAttr data = {};
  ShardingAttr sharding = {};
};

/// Where each place finds its n-th element, and its weight; by place, as the
/// weights are.
struct Terms {
  SmallVector<SmallVector<int64_t>> positions;
  SmallVector<SmallVector<APFloat>> weights;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding them
//===----------------------------------------------------------------------===//

/// The argument that is compared with zero where `value` is
/// select(argument == 0, 0, ...).
static BlockArgument findWeight(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ ||
      !matchPattern(compare.getRhs(), m_AnyZeroFloat()) ||
      !matchPattern(select.getTrueValue(), m_PosZeroFloat()))
    return {};
  return dyn_cast<BlockArgument>(compare.getLhs());
}

static bool findConstant(Value value, WeightedSum &sum) {
  ElementsAttr elements;
  if (auto part = value.getDefiningOp<LocalConstantOp>()) {
    elements = part.getValue();
    sum.sharding = part.getSharding();
  } else if (!matchPattern(value, m_Constant(&elements))) {
    return false;
  }
  sum.data = getDenseElements(elements);
  return sum.data && isa<FloatType>(sum.data.getElementType());
}

/// How the image is read: along one dimension by the loop that is summed over,
/// and by others that the weights have as well; along the others by a loop
/// each.
static bool findSteps(WeightedSum &sum) {
  linalg::GenericOp op = sum.op;
  AffineMap map = op.getMatchingIndexingMap(sum.image);
  AffineMap weights = op.getMatchingIndexingMap(sum.weights);
  unsigned found = 0;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(sum.loop)) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        return false;
      continue;
    }
    ++found;
    sum.imageDim = dim;
    if (failed(getFlattenedAffineExpr(expr, op.getNumLoops(), 0, &sum.steps)) ||
        sum.steps.size() != op.getNumLoops() + 1)
      return false;
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (sum.steps[loop] != 0 && !weights.isFunctionOfDim(loop))
        return false;
  }
  return found == 1;
}

static std::optional<WeightedSum> match(linalg::GenericOp op) {
  auto isStatic = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape();
  };
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 1 ||
      op.hasIndexSemantics() || !llvm::all_of(op->getOperands(), isStatic) ||
      llvm::is_contained(op.getStaticLoopRanges(), 0))
    return std::nullopt;
  WeightedSum sum{op};
  Block &body = *op.getBlock();
  sum.add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  BlockArgument before = body.getArguments().back();
  if (!sum.add || sum.add.getLhs() != before || !before.hasOneUse())
    return std::nullopt;
  BlockArgument weight = findWeight(sum.add.getRhs());
  if (!weight || weight.getOwner() != &body)
    return std::nullopt;
  sum.weights = op.getMatchingOpOperand(weight);
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  sum.loop = reduced.front();
  AffineMap map = op.getMatchingIndexingMap(sum.weights);
  std::optional<unsigned> dim =
      map.getResultPosition(getAffineDimExpr(sum.loop, op.getContext()));
  if (!dim || !map.isProjectedPermutation() ||
      !op.getIndexingMapsArray().back().isProjectedPermutation() ||
      !findConstant(sum.weights->get(), sum))
    return std::nullopt;
  sum.weightsDim = *dim;
  sum.image = nullptr;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (input == sum.weights ||
        !op.getMatchingIndexingMap(input).isFunctionOfDim(sum.loop))
      continue;
    if (sum.image)
      return std::nullopt;
    sum.image = input;
  }
  if (!sum.image || !findSteps(sum))
    return std::nullopt;
  return sum;
}

//===----------------------------------------------------------------------===//
// What counts
//===----------------------------------------------------------------------===//

/// Blocks that a dimension's blocks are cut into, one after the other.
static std::optional<SmallVector<int64_t>>
getBlocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size) {
  SmallVector<int64_t> blocks;
  if (dim.getSubDims().size() > 1)
    return std::nullopt;
  for (AxisRefAttr axis : dim.getAllAxes())
    blocks.push_back(size = llvm::divideCeil(size, layout.size(axis)));
  return blocks;
}

/// For each index of each dimension of the weights the one within the device's
/// part.
static std::optional<SmallVector<SmallVector<int64_t>>>
getLocalIndices(const WeightedSum &sum, const MeshLayout *layout) {
  SmallVector<SmallVector<int64_t>> indices;
  for (auto [dim, size] : llvm::enumerate(sum.data.getType().getShape())) {
    indices.emplace_back(llvm::to_vector(llvm::seq<int64_t>(0, size)));
    if (!sum.sharding)
      continue;
    auto blocks = getBlocks(*layout, sum.sharding.getDims()[dim], size);
    if (!blocks || (dim == sum.weightsDim && !blocks->empty()))
      return std::nullopt;
    for (int64_t block : *blocks)
      for (int64_t &index : indices.back())
        index %= block;
  }
  return indices;
}

/// The elements that count for each place, those that count for nothing left
/// out, in their order. None if these are few.
static std::optional<Terms> findTerms(WeightedSum &sum,
                                      const MeshLayout *layout) {
  auto indices = getLocalIndices(sum, layout);
  if (!indices)
    return std::nullopt;
  ArrayRef<int64_t> shape = sum.data.getType().getShape();
  AffineMap map = sum.op.getMatchingIndexingMap(sum.weights);
  int64_t extent = shape[sum.weightsDim], inner = 1;
  for (int64_t size : shape.drop_front(sum.weightsDim + 1))
    inner *= size;
  Terms terms;
  terms.positions.resize(sum.data.getNumElements() / extent);
  terms.weights.resize(terms.positions.size());
  SmallVector<int64_t> at(shape.size(), 0);
  int64_t element = 0;
  for (const APFloat &weight : sum.data.getValues<APFloat>()) {
    if (!weight.isZero()) {
      int64_t place = element / (inner * extent) * inner + element % inner;
      int64_t position = sum.steps.back();
      for (auto [dim, index] : llvm::enumerate(at))
        position += sum.steps[map.getDimPosition(dim)] * (*indices)[dim][index];
      terms.positions[place].push_back(position);
      terms.weights[place].push_back(weight);
    }
    ++element;
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++at[dim] < shape[dim])
        break;
      at[dim] = 0;
    }
  }
  size_t most = 0;
  for (ArrayRef<int64_t> positions : terms.positions)
    most = std::max(most, positions.size());
  if (most == 0 || 2 * static_cast<int64_t>(most) >= extent)
    return std::nullopt;
  const auto &semantics =
      cast<FloatType>(sum.data.getElementType()).getFloatSemantics();
  for (auto [positions, weights] :
       llvm::zip_equal(terms.positions, terms.weights)) {
    positions.resize(most, positions.empty() ? 0 : positions.back());
    weights.resize(most, APFloat::getZero(semantics));
  }
  return terms;
}

/// Reads the tensor before padding, if no weight counts padding. False if some
/// position is outside of the image.
static bool readUnpadded(WeightedSum &sum, Terms &terms, Value &image) {
  auto isWithin = [&](int64_t low, int64_t size) {
    for (auto [positions, weights] :
         llvm::zip_equal(terms.positions, terms.weights))
      for (auto [position, weight] : llvm::zip_equal(positions, weights))
        if (!weight.isZero() && (position < low || position - low >= size))
          return false;
    return true;
  };
  image = sum.image->get();
  auto pad = image.getDefiningOp<tensor::PadOp>();
  int64_t low = 0;
  if (pad && pad.getSourceType().hasStaticShape()) {
    auto addsOnly = [&](ArrayRef<int64_t> counts) {
      for (auto [dim, count] : llvm::enumerate(counts))
        if (count != 0 && dim != sum.imageDim)
          return false;
      return true;
    };
    low = pad.getStaticLow()[sum.imageDim];
    if (!ShapedType::isDynamic(low) && addsOnly(pad.getStaticLow()) &&
        addsOnly(pad.getStaticHigh()) &&
        isWithin(low, pad.getSourceType().getDimSize(sum.imageDim)))
      image = pad.getSource();
    else
      low = 0;
  }
  int64_t size =
      cast<RankedTensorType>(image.getType()).getDimSize(sum.imageDim);
  if (!isWithin(low, size))
    return false;
  for (SmallVector<int64_t> &positions : terms.positions)
    for (int64_t &position : positions)
      position = std::clamp<int64_t>(position - low, 0, size - 1);
  return true;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
class Writer {
public:
  Writer(WeightedSum &sum, const MeshLayout *layout)
      : sum(sum), op(sum.op), layout(layout), b(op), loc(op.getLoc()) {}
  void write(const Terms &terms, Value image);

private:
  void mergeLoops();
  SmallVector<ReassociationIndices> groupDims(AffineMap map,
                                              std::optional<unsigned> without);
  AffineMap renumber(AffineMap map, std::optional<unsigned> without);
  void addTables(const Terms &terms);
  Value addUp(OpBuilder &inner, Location at, Value image, ValueRange others,
              Value position, Value weight, Value before);
  Value makeTable(ArrayRef<Attribute> elements, Type element);
  Value collapse(Value value, ArrayRef<ReassociationIndices> groups);

  WeightedSum &sum;
  linalg::GenericOp op;
  const MeshLayout *layout;
  OpBuilder b;
  Location loc;
  /// For each loop the one that it becomes; whether it is one with that before.
  SmallVector<unsigned> numbers;
  SmallVector<bool> isMerged;
  unsigned loops = 0;
  /// Of the op that is written.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
};
} // namespace

/// Loops that come one after the other in the result and in the weights, and
/// that nothing else is read by, are one, which has more turns.
void Writer::mergeLoops() {
  AffineMap out = op.getIndexingMapsArray().back();
  AffineMap weights = op.getMatchingIndexingMap(sum.weights);
  SmallVector<unsigned> order;
  for (AffineExpr expr : weights.getResults())
    if (cast<AffineDimExpr>(expr).getPosition() != sum.loop)
      order.push_back(cast<AffineDimExpr>(expr).getPosition());
  auto isReadElsewhere = [&](unsigned loop) {
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        if (input != sum.weights && expr.isFunctionOfDim(loop) &&
            (input != sum.image || dim != sum.imageDim))
          return true;
    }
    return false;
  };
  isMerged.assign(op.getNumLoops(), false);
  for (size_t i = 1; i < order.size(); ++i) {
    auto before = out.getResultPosition(b.getAffineDimExpr(order[i - 1]));
    auto after = out.getResultPosition(b.getAffineDimExpr(order[i]));
    isMerged[order[i]] = before && after && *after == *before + 1 &&
                         !isReadElsewhere(order[i - 1]) &&
                         !isReadElsewhere(order[i]);
  }
  numbers.assign(op.getNumLoops(), 0);
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (loop != sum.loop && !isMerged[loop])
      numbers[loop] = loops++;
  for (size_t i = 1; i < order.size(); ++i)
    if (isMerged[order[i]])
      numbers[order[i]] = numbers[order[i - 1]];
}

/// The dimensions of a tensor, but one, by the loops that they become.
SmallVector<ReassociationIndices>
Writer::groupDims(AffineMap map, std::optional<unsigned> without) {
  SmallVector<ReassociationIndices> groups;
  int64_t number = 0;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (dim == without)
      continue;
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (loop && isMerged[loop.getPosition()])
      groups.back().push_back(number++);
    else
      groups.push_back({number++});
  }
  return groups;
}

/// The loops that a tensor, but one dimension, is read by.
AffineMap Writer::renumber(AffineMap map, std::optional<unsigned> without) {
  SmallVector<AffineExpr> dims, kept, exprs;
  for (unsigned number : numbers)
    dims.push_back(b.getAffineDimExpr(number));
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (dim != without)
      kept.push_back(expr);
  for (const ReassociationIndices &group : groupDims(map, without))
    exprs.push_back(kept[group.front()]);
  return AffineMap::get(op.getNumLoops(), 0, exprs, op.getContext())
      .replaceDimsAndSymbols(dims, {}, loops, 0);
}

Value Writer::collapse(Value value, ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(value.getType());
  if (static_cast<int64_t>(groups.size()) == type.getRank())
    return value;
  return tensor::CollapseShapeOp::create(b, loc, value, groups);
}

/// A constant that is placed like the weights, without the summed dimensions.
Value Writer::makeTable(ArrayRef<Attribute> elements, Type element) {
  SmallVector<int64_t> shape(sum.data.getType().getShape());
  shape.erase(shape.begin() + sum.weightsDim);
  auto type = RankedTensorType::get(shape, element);
  auto data = DenseElementsAttr::get(type, elements);
  Value table;
  if (sum.sharding) {
    SmallVector<DimShardingAttr> dims(sum.sharding.getDims());
    dims.erase(dims.begin() + sum.weightsDim);
    auto sharding = ShardingAttr::get(b.getContext(), layout->getName(), dims,
                                      ReductionKind::Sum, {});
    table = LocalConstantOp::create(b, loc, layout->localType(type, sharding),
                                    data, sharding);
  } else {
    table = arith::ConstantOp::create(b, loc, data);
  }
  AffineMap map = op.getMatchingIndexingMap(sum.weights);
  return collapse(table, groupDims(map, sum.weightsDim));
}

/// Where the n-th elements are, and their weights.
void Writer::addTables(const Terms &terms) {
  AffineMap map = op.getMatchingIndexingMap(sum.weights);
  AffineMap table = renumber(map, sum.weightsDim);
  for (size_t term = 0; term < terms.positions.front().size(); ++term) {
    SmallVector<Attribute> positions, weights;
    for (auto [all, of] : llvm::zip_equal(terms.positions, terms.weights)) {
      positions.push_back(b.getI64IntegerAttr(all[term]));
      weights.push_back(b.getFloatAttr(sum.data.getElementType(), of[term]));
    }
    inputs.push_back(makeTable(positions, b.getI64Type()));
    inputs.push_back(makeTable(weights, sum.data.getElementType()));
    maps.append(2, table);
  }
}

/// The body once more, with the element of `image` at `position`.
Value Writer::addUp(OpBuilder &inner, Location at, Value image,
                    ValueRange others, Value position, Value weight,
                    Value before) {
  SmallVector<Value> coordinates;
  AffineMap map = op.getMatchingIndexingMap(sum.image);
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (dim != sum.imageDim) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      coordinates.push_back(linalg::IndexOp::create(inner, at, numbers[loop]));
      continue;
    }
    // Padding of a device's part may be any number.
    int64_t size = cast<RankedTensorType>(image.getType()).getDimSize(dim);
    Value last = arith::ConstantIndexOp::create(inner, at, size - 1);
    position =
        arith::IndexCastOp::create(inner, at, inner.getIndexType(), position);
    coordinates.push_back(arith::MinUIOp::create(inner, at, position, last));
  }
  Block &body = *op.getBlock();
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value;
    if (input == sum.image)
      value = tensor::ExtractOp::create(inner, at, image, coordinates);
    else if (input == sum.weights)
      value = weight;
    else
      value = others.front(), others = others.drop_front();
    mapping.map(body.getArgument(input->getOperandNumber()), value);
  }
  mapping.map(body.getArguments().back(), before);
  for (Operation &nested : body.without_terminator())
    inner.clone(nested, mapping);
  return mapping.lookup(sum.add.getResult());
}

void Writer::write(const Terms &terms, Value image) {
  mergeLoops();
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (input == sum.image || input == sum.weights)
      continue;
    inputs.push_back(input->get());
    maps.push_back(renumber(op.getMatchingIndexingMap(input), std::nullopt));
  }
  size_t others = inputs.size();
  addTables(terms);
  AffineMap out = op.getIndexingMapsArray().back();
  auto groups = groupDims(out, std::nullopt);
  Value init = collapse(op.getDpsInits()[0], groups);
  maps.push_back(renumber(out, std::nullopt));
  auto sparse = linalg::GenericOp::create(
      b, loc, init.getType(), inputs, init, maps,
      SmallVector<utils::IteratorType>(loops, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location at, ValueRange args) {
        Value result = args.back();
        for (size_t i = others; i + 1 < args.size(); i += 2)
          result = addUp(inner, at, image, args.take_front(others), args[i],
                         args[i + 1], result);
        linalg::YieldOp::create(inner, at, result);
      });
  sparse->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Value result = sparse.getResult(0);
  Type type = op.getResult(0).getType();
  if (result.getType() != type)
    result = tensor::ExpandShapeOp::create(b, loc, type, result, groups);
  op.getResult(0).replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct SparsifySums : dist::impl::DistSparsifySumsBase<SparsifySums> {
  void runOnOperation() override {
    SmallVector<WeightedSum> sums;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (std::optional<WeightedSum> sum = match(op))
        sums.push_back(*sum);
    });
    if (sums.empty())
      return;
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    std::optional<MeshLayout> layout;
    if (*mesh)
      layout.emplace(*mesh);
    for (WeightedSum &sum : sums) {
      if (sum.sharding && !layout)
        continue;
      const MeshLayout *known = layout ? &*layout : nullptr;
      std::optional<Terms> terms = findTerms(sum, known);
      Value image;
      if (terms && readUnpadded(sum, *terms, image))
        Writer(sum, known).write(*terms, image);
    }
  }
};
} // namespace
