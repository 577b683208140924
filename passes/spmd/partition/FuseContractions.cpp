//===- FuseContractions.cpp - Layers of one input are one contraction -----===//
//
// Fuses contractions marked by dist.fuse, in the program of one device: there a
// layer's weight is the device's part of it, so that all placements are
// compatible.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/partition/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_FUSECONTRACTIONSPASS
#include "passes/spmd/partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Contractions that are to be one.
class Group {
public:
  Group(LocationAttr directive, unsigned weight)
      : directive(directive), weight(weight) {}

  void add(linalg::LinalgOp op) { layers.push_back(op); }
  LogicalResult fuse();

private:
  InFlightDiagnostic fail(Operation *op, const Twine &note);
  LogicalResult checkWeight(linalg::LinalgOp op);
  LogicalResult findFeatures();
  LogicalResult checkLike(linalg::LinalgOp op);
  StringAttr getScope();
  void build();

  LocationAttr directive;
  unsigned weight;
  SmallVector<linalg::LinalgOp> layers;
  /// The dimensions that the output features are.
  int64_t weightDim = 0, resultDim = 0;
};
} // namespace

InFlightDiagnostic Group::fail(Operation *op, const Twine &note) {
  InFlightDiagnostic error = emitError(Location(directive));
  error.attachNote(op->getLoc()) << note;
  return error;
}

/// Whether the weight is a parameter as it was loaded.
LogicalResult Group::checkWeight(linalg::LinalgOp op) {
  Value value = op->getOperand(weight);
  if (isArgumentWith(value, kParameterAttr) &&
      cast<RankedTensorType>(value.getType()).hasStaticShape())
    return success();
  InFlightDiagnostic error =
      fail(op, "the layer")
      << "cannot be fused: a weight is no parameter as it was loaded, so that "
         "it would be joined with the others in each step; leave the layer out";
  if (Operation *maker = value.getDefiningOp())
    error.attachNote(maker->getLoc())
        << "what the layer reads is made by " << maker->getName();
  return error;
}

/// Finds the loop that the weights differ in: of the output features the one
/// that is the major dimension of the result.
LogicalResult Group::findFeatures() {
  linalg::LinalgOp op = layers.front();
  AffineMap ofWeight = op.getMatchingIndexingMap(&op->getOpOperand(weight)),
            ofResult = op.getIndexingMapMatchingResult(op->getResult(0));
  for (auto [dim, expr] : llvm::enumerate(ofResult.getResults())) {
    auto *place = llvm::find(ofWeight.getResults(), expr);
    bool isShared = llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *in) {
      return in->getOperandNumber() != weight &&
             llvm::any_of(op.getMatchingIndexingMap(in).getResults(),
                          [&, expr = expr](AffineExpr read) {
                            return read.isFunctionOfDim(
                                cast<AffineDimExpr>(expr).getPosition());
                          });
    });
    if (place == ofWeight.getResults().end() || isShared)
      continue;
    weightDim = place - ofWeight.getResults().begin();
    resultDim = dim;
    return success();
  }
  return fail(op, "the layer")
         << "cannot be fused: its layers have no output features";
}

/// Whether the types are equal, except for one dimension.
static bool areAlike(Type a, Type b, int64_t dim) {
  auto first = cast<RankedTensorType>(a), second = cast<RankedTensorType>(b);
  SmallVector<int64_t> shape(first.getShape());
  if (dim < second.getRank() && first.getRank() == second.getRank())
    shape[dim] = second.getDimSize(dim);
  return first.clone(shape) == second;
}

/// What a contraction accumulates onto, if that is one number everywhere.
static Attribute getStart(linalg::LinalgOp op) {
  auto fill = op.getDpsInitOperand(0)->get().getDefiningOp<linalg::FillOp>();
  Attribute number;
  if (fill)
    matchPattern(fill.getInputs()[0], m_Constant(&number));
  return number;
}

LogicalResult Group::checkLike(linalg::LinalgOp op) {
  linalg::LinalgOp first = layers.front();
  auto say = [&](StringRef why) -> LogicalResult {
    InFlightDiagnostic error = fail(first, "one layer");
    error << "cannot be fused: " << why;
    error.attachNote(op->getLoc()) << "another";
    return error;
  };
  if (op->getBlock() != first->getBlock())
    return say("the layers are in different blocks");
  if (op.getNumDpsInputs() != first.getNumDpsInputs() ||
      op.getIndexingMapsArray() != first.getIndexingMapsArray() ||
      op.getIteratorTypesArray() != first.getIteratorTypesArray() ||
      !OperationEquivalence::isRegionEquivalentTo(
          &op->getRegion(0), &first->getRegion(0),
          OperationEquivalence::IgnoreLocations))
    return say("the layers do not compute alike");
  for (OpOperand *input : first.getDpsInputOperands()) {
    unsigned number = input->getOperandNumber();
    if (number != weight && op->getOperand(number) != input->get())
      return say("placed as they are, the layers do not read the same tensor; "
                 "what places one of them must place the others alike");
  }
  if (!areAlike(op->getOperand(weight).getType(),
                first->getOperand(weight).getType(), weightDim) ||
      !areAlike(op->getResult(0).getType(), first->getResult(0).getType(),
                resultDim))
    return say("the layers differ in more than their output features");
  Attribute start = getStart(op);
  if (!start || start != getStart(first))
    return say("a layer's sum begins with something else than a number, its "
               "bias perhaps; dist.decompose adds that afterwards");
  return success();
}

/// The module that all layers are in.
StringAttr Group::getScope() {
  std::optional<StringRef> common;
  for (linalg::LinalgOp op : layers) {
    auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
    if (!scope)
      return {};
    if (!common) {
      common = scope.getValue();
      continue;
    }
    while (!common->empty() && *common != scope.getValue() &&
           !scope.getValue().starts_with((*common + ".").str()))
      common = common->contains('.') ? common->rsplit('.').first : "";
  }
  return StringAttr::get(directive.getContext(), *common);
}

void Group::build() {
  linalg::LinalgOp first = layers.front();
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<Value> weights;
  int64_t features = 0;
  for (linalg::LinalgOp op : layers) {
    locations.push_back(op->getLoc());
    weights.push_back(op->getOperand(weight));
    features +=
        cast<RankedTensorType>(weights.back().getType()).getDimSize(weightDim);
  }
  Location loc = builder.getFusedLoc(locations);
  auto inherit = [](Operation *made, Attribute scope) {
    if (scope)
      made->setAttr(kScopeAttr, scope);
    return made->getResult(0);
  };
  StringAttr scope = getScope();
  SmallVector<Value> operands(first->getOperands());
  operands[weight] = inherit(
      tensor::ConcatOp::create(builder, loc, weightDim, weights), scope);
  OpOperand *init = first.getDpsInitOperand(0);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, init->get());
  sizes[resultDim] = builder.getIndexAttr(features);
  Value empty = inherit(
      tensor::EmptyOp::create(
          builder, loc, sizes,
          cast<RankedTensorType>(init->get().getType()).getElementType()),
      scope);
  auto start = init->get().getDefiningOp<linalg::FillOp>();
  operands[init->getOperandNumber()] = inherit(
      linalg::FillOp::create(builder, loc, start.getInputs(), empty), scope);
  Operation *fused = clone(
      builder, first, operands[init->getOperandNumber()].getType(), operands);
  fused->setLoc(loc);
  fused->removeAttr(kFuseAttr);
  Value whole = inherit(fused, scope);

  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  int64_t offset = 0;
  for (linalg::LinalgOp op : layers) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    offsets[resultDim] = builder.getIndexAttr(offset);
    sizes[resultDim] = builder.getIndexAttr(type.getDimSize(resultDim));
    auto slice = tensor::ExtractSliceOp::create(builder, op->getLoc(), type,
                                                whole, offsets, sizes, strides);
    op->getResult(0).replaceAllUsesWith(
        inherit(slice, op->getAttr(kScopeAttr)));
    offset += type.getDimSize(resultDim);
  }
  for (linalg::LinalgOp op : layers)
    op->erase();
}

LogicalResult Group::fuse() {
  linalg::LinalgOp first = layers.front();
  if (layers.size() == 1)
    return fail(first, "the one that is left")
           << "cannot be fused: of the layers only one is left";
  for (linalg::LinalgOp op : layers)
    if (failed(checkWeight(op)))
      return failure();
  if (failed(findFeatures()))
    return failure();
  for (linalg::LinalgOp op : llvm::drop_begin(layers))
    if (failed(checkLike(op)))
      return failure();
  // The first is where the others' input is known to be there.
  llvm::sort(layers, [](linalg::LinalgOp a, linalg::LinalgOp b) {
    return a->isBeforeInBlock(b);
  });
  build();
  return success();
}

namespace {
struct FuseContractionsPass
    : mlir::dist::impl::FuseContractionsPassBase<FuseContractionsPass> {
  void runOnOperation() override {
    llvm::MapVector<std::pair<Attribute, Attribute>, Group> groups;
    getOperation()->walk([&](linalg::LinalgOp op) {
      auto fuse = op->getAttrOfType<DictionaryAttr>(kFuseAttr);
      if (!fuse)
        return;
      auto by = fuse.getAs<LocationAttr>("by");
      groups
          .try_emplace(
              {by, fuse.get("group")}, by,
              static_cast<unsigned>(fuse.getAs<IntegerAttr>("weight").getInt()))
          .first->second.add(op);
    });
    if (groups.empty())
      return markAllAnalysesPreserved();
    bool hasFailed = false;
    for (auto &[key, group] : groups)
      hasFailed |= failed(group.fuse());
    if (hasFailed)
      signalPassFailure();
  }
};
} // namespace
