//===- SyncedHalos.cpp - Rows that syncs bring beside a value -------------===//

#include "passes/halos/SyncedHalos.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Slices.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// What is past the ends
//===----------------------------------------------------------------------===//

TypedAttr mlir::dist::getConstantFill(Value fill) {
  TypedAttr constant;
  if (!fill || !matchPattern(fill, m_Constant(&constant)) ||
      !isa<IntegerAttr, FloatAttr>(constant))
    return {};
  return constant;
}

static bool isZero(TypedAttr number) {
  if (auto real = dyn_cast<FloatAttr>(number))
    return real.getValue().isPosZero();
  return cast<IntegerAttr>(number).getValue().isZero();
}

BoundaryAttr mlir::dist::getBoundary(TypedAttr fill) {
  if (!fill || isZero(fill))
    return {};
  return BoundaryAttr::get(fill.getContext(), BoundaryKind::Constant, fill);
}

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

LogicalResult SyncedRows::read(int64_t wantedLow, int64_t wantedHigh,
                               Location reader) {
  readLow = std::max(readLow, wantedLow);
  readHigh = std::max(readHigh, wantedHigh);
  if (wantedLow <= low && wantedHigh <= high)
    return success();
  InFlightDiagnostic error = sync.emitOpError()
                             << "'halo' brings " << low << " rows before and "
                             << high << " after blocks of " << block
                             << " of dimension " << dim << ", but " << wantedLow
                             << " and " << wantedHigh << " are read";
  error.attachNote(reader) << "they are read here";
  return error;
}

LogicalResult SyncedRows::checkEnds(Value fill, Location reader) const {
  SyncOp op = sync;
  BoundaryAttr boundary = op.getBoundaryAttr();
  if (!boundary)
    return success();
  TypedAttr constant = getConstantFill(fill);
  bool isSame = constant && boundary.getKind() != BoundaryKind::None &&
                (boundary.getValue() ? boundary.getValue() == constant
                                     : isZero(constant));
  if (isSame)
    return success();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringifyBoundaryKind(boundary.getKind());
  if (boundary.getValue())
    os << " " << boundary.getValue();
  InFlightDiagnostic error = op.emitOpError()
                             << "'halo' says that past the ends of dimension "
                             << dim << " there is '" << text << "', but ";
  if (constant)
    error << constant << " is read there";
  else
    error << "what is read there is no constant";
  error.attachNote(reader) << "it is read here";
  return error;
}

SyncedRows *SyncedHalo::find(int64_t dim) const {
  for (const Dim &entry : dims)
    if (entry.dim == dim)
      return entry.rows;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// What is brought
//===----------------------------------------------------------------------===//

Value SyncedHalo::take(OpBuilder &builder, Location loc, int64_t dim,
                       int64_t low, int64_t high) const {
  Value value = wide;
  for (auto [other, rows] : dims)
    value =
        other == dim
            ? sliceAlong(builder, loc, value, dim, rows->low - low,
                         low + rows->block + high)
            : sliceAlong(builder, loc, value, other, rows->low, rows->block);
  return value;
}

/// The position of a dimension after a reshape that neither splits nor merges
/// it, except with dimensions of size 1; -1 if it does. `apart`: the whole
/// tensor on the side with more dimensions.
static int64_t findKept(ArrayRef<ReassociationIndices> groups,
                        RankedTensorType apart, bool isExpanded, int64_t dim) {
  for (auto [merged, group] : llvm::enumerate(groups)) {
    if (isExpanded ? static_cast<int64_t>(merged) != dim
                   : !llvm::is_contained(group, dim))
      continue;
    int64_t kept = isExpanded ? group.front() : dim;
    for (int64_t other : group)
      if (isExpanded && apart.getDimSize(other) != 1)
        kept = other;
    bool isAlone = llvm::all_of(group, [&](int64_t other) {
      return other == kept || apart.getDimSize(other) == 1;
    });
    return !isAlone ? -1 : isExpanded ? kept : static_cast<int64_t>(merged);
  }
  return -1;
}

const SyncedHalo *SyncedHalos::findReshaped(OpBuilder &builder, Value value,
                                            const WholeValues &wholes) {
  if (halos.empty())
    return nullptr;
  if (const SyncedHalo *known = find(value))
    return known;
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (!expand && !collapse)
    return nullptr;
  Operation *op = value.getDefiningOp();
  Value source = op->getOperand(0);
  const SyncedHalo *before = findReshaped(builder, source, wholes);
  auto type = cast<RankedTensorType>(value.getType());
  auto apart = wholes.find(expand ? value : source);
  if (!before || !type.hasStaticShape() || apart == wholes.end())
    return nullptr;
  SmallVector<ReassociationIndices> groups =
      expand ? expand.getReassociationIndices()
             : collapse.getReassociationIndices();
  auto wideType = cast<RankedTensorType>(before->wide.getType());
  SmallVector<int64_t> shape(type.getShape());
  SyncedHalo halo;
  for (auto [dim, rows] : before->dims) {
    int64_t kept = findKept(groups, apart->second.type, expand != nullptr, dim);
    if (kept < 0)
      return nullptr;
    shape[kept] = wideType.getDimSize(dim);
    halo.dims.push_back({kept, rows});
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(op);
  Operation *made =
      expand
          ? tensor::ExpandShapeOp::create(
                builder, op->getLoc(), type.clone(shape), before->wide, groups)
                .getOperation()
          : tensor::CollapseShapeOp::create(
                builder, op->getLoc(), type.clone(shape), before->wide, groups)
                .getOperation();
  if (Attribute scope = op->getAttr(kScopeAttr))
    made->setDiscardableAttr(kScopeAttr, scope);
  halo.wide = made->getResult(0);
  return &(halos[value] = std::move(halo));
}

void SyncedHalos::exchange(OpBuilder &builder, SyncOp sync, int64_t size) {
  Value operand = sync.getOperand();
  int64_t dim = *sync.getDim(), low = *sync.getLow(), high = *sync.getHigh();
  SyncedHalo halo;
  halo.wide = operand;
  if (const SyncedHalo *before = find(operand))
    halo = *before;
  builder.setInsertionPoint(sync);
  auto type = cast<RankedTensorType>(halo.wide.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t block = shape[dim];
  if (!type.isDynamicDim(dim))
    shape[dim] += low + high;
  // Windows mask rows that they take for something else. Missing rows are zero,
  // since they may be multiplied by zero.
  BoundaryAttr boundary = sync.getBoundaryAttr();
  if (boundary && boundary.getKind() != BoundaryKind::Constant)
    boundary = {};
  auto made = HaloExchangeOp::create(
      builder, sync.getLoc(), type.clone(shape), halo.wide, sync.getDimAttr(),
      ShapedType::isDynamic(size) ? IntegerAttr()
                                  : builder.getI64IntegerAttr(size),
      sync.getLowAttr(), sync.getHighAttr(), boundary, sync.getAxesAttr(),
      sync.getMeshAttr(), sync.getCauseAttr());
  if (Attribute scope = sync->getAttr(kScopeAttr))
    made->setDiscardableAttr(kScopeAttr, scope);
  made->setDiscardableAttr(kFixedRowsAttr, builder.getUnitAttr());
  exchanges.insert(made);
  halo.wide = made.getResult();
  all.push_back(
      std::make_unique<SyncedRows>(SyncedRows{sync, dim, low, high, block}));
  halo.dims.push_back({dim, all.back().get()});
  sync.getResult().setType(cast<RankedTensorType>(operand.getType()));
  halos[sync.getResult()] = std::move(halo);
}

LogicalResult SyncedHalos::finish() {
  for (const std::unique_ptr<SyncedRows> &rows : all) {
    SyncOp sync = rows->sync;
    if (rows->readLow == 0 && rows->readHigh == 0)
      return sync.emitOpError()
             << "'halo' brings " << rows->low << " rows before and "
             << rows->high << " after blocks of " << rows->block
             << " of dimension " << rows->dim
             << ", but no op reads this value in windows that reach over its "
                "blocks; the sync belongs where one does";
    if (rows->readLow < rows->low || rows->readHigh < rows->high)
      sync.emitRemark() << "'halo' brings " << rows->low << " rows before and "
                        << rows->high << " after blocks of dimension "
                        << rows->dim << ", of which " << rows->readLow
                        << " and " << rows->readHigh << " are read";
  }
  for (const std::unique_ptr<SyncedRows> &rows : all) {
    rows->sync.getResult().replaceAllUsesWith(rows->sync.getOperand());
    rows->sync.erase();
  }
  all.clear();
  halos.clear();
  exchanges.clear();
  return success();
}
