//===- DistCollectives.cpp - Verifiers and byte counts of collectives -----===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// Checks the axes and returns the number of devices in a group.
static FailureOr<int64_t> verifyGroup(Operation *op, ArrayAttr axes,
                                      FlatSymbolRefAttr meshName) {
  MeshOp mesh = lookupMesh(op, meshName);
  if (!mesh)
    return op->emitOpError() << (meshName ? "names no dist.mesh: "
                                          : "needs 'on @mesh', since the "
                                            "module has not exactly one mesh")
                             << (meshName ? meshName.getValue() : StringRef());
  SmallVector<AxisRefAttr> refs = getAxisRefs(axes);
  if (refs.empty())
    return op->emitOpError() << "needs at least one axis";
  if (failed(verifyAxes(refs, mesh, [&] { return op->emitOpError(); })))
    return failure();
  return getGroupSize(refs, mesh.getAxes());
}

int64_t mlir::dist::getElementBytes(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * getElementBytes(complex.getElementType());
  if (!element.isIntOrFloat())
    return 8;
  // An integer of an odd size takes what is round.
  return llvm::PowerOf2Ceil(
      llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

int64_t mlir::dist::getTensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  // More than any machine has is as good as that: sums of some stay numbers.
  constexpr uint64_t kMost = uint64_t(1) << 56;
  uint64_t bytes = getElementBytes(tensor.getElementType());
  for (int64_t size : tensor.getShape())
    bytes = llvm::SaturatingMultiply<uint64_t>(
        bytes, ShapedType::isDynamic(size) ? kAssumedSize : size);
  return std::min(bytes, kMost);
}

static int64_t bytesOf(Value value) { return getTensorBytes(value.getType()); }

/// A size that is not known stays so.
static void scale(int64_t &size, int64_t factor) {
  if (!ShapedType::isDynamic(size))
    size *= factor;
}

/// Whether a tensor of type `type` may be one of type `expected`.
static bool isOfType(RankedTensorType type, RankedTensorType expected) {
  return type.getElementType() == expected.getElementType() &&
         type.getEncoding() == expected.getEncoding() &&
         succeeded(verifyCompatibleShape(type, expected));
}

/// Checks that `large` is `small` with `factor` times the size on `dim`.
static LogicalResult verifyScaled(Operation *op, Value small, Value large,
                                  int64_t dim, int64_t factor) {
  auto smallType = cast<RankedTensorType>(small.getType());
  auto largeType = cast<RankedTensorType>(large.getType());
  if (dim < 0 || dim >= smallType.getRank())
    return op->emitOpError()
           << "dimension " << dim << " is out of range for a tensor of rank "
           << smallType.getRank();
  SmallVector<int64_t> expected(smallType.getShape());
  scale(expected[dim], factor);
  if (!isOfType(largeType, smallType.clone(expected)))
    return op->emitOpError()
           << "in groups of " << factor << " relates " << smallType << " to "
           << smallType.clone(expected) << " on dimension " << dim
           << ", but the other type is " << largeType;
  return success();
}

/// Whether a combiner exists for elements of `type`.
static LogicalResult verifyReduction(Operation *op, ReductionKind kind,
                                     Type type) {
  bool bitwise = kind == ReductionKind::And || kind == ReductionKind::Or;
  if (bitwise && !type.isInteger())
    return op->emitOpError()
           << "'" << stringifyReductionKind(kind)
           << "' needs integers, but the elements are " << type;
  if (!type.isIntOrIndexOrFloat())
    return op->emitOpError() << "cannot reduce elements of type " << type;
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyReduction(*this, getReduction(),
                             getResult().getType().getElementType())))
    return failure();
  return verifyGroup(*this, getAxes(), getMeshAttr());
}

int64_t AllReduceOp::getBytesSentPerRank(int64_t p) {
  return 2 * (p - 1) * bytesOf(getOperand()) / p;
}

LogicalResult AllGatherOp::verify() {
  FailureOr<int64_t> p = verifyGroup(*this, getAxes(), getMeshAttr());
  if (failed(p))
    return failure();
  return verifyScaled(*this, getOperand(), getResult(), getDim(), *p);
}

int64_t AllGatherOp::getBytesSentPerRank(int64_t p) {
  return (p - 1) * bytesOf(getOperand());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyReduction(*this, getReduction(),
                             getResult().getType().getElementType())))
    return failure();
  FailureOr<int64_t> p = verifyGroup(*this, getAxes(), getMeshAttr());
  if (failed(p))
    return failure();
  return verifyScaled(*this, getResult(), getOperand(), getDim(), *p);
}

int64_t ReduceScatterOp::getBytesSentPerRank(int64_t p) {
  return (p - 1) * bytesOf(getResult());
}

LogicalResult AllToAllOp::verify() {
  FailureOr<int64_t> p = verifyGroup(*this, getAxes(), getMeshAttr());
  if (failed(p))
    return failure();
  auto in = cast<RankedTensorType>(getOperand().getType());
  int64_t split = getSplitDim(), concat = getConcatDim();
  for (int64_t dim : {split, concat})
    if (dim < 0 || dim >= in.getRank())
      return emitOpError() << "dimension " << dim
                           << " is out of range for a tensor of rank "
                           << in.getRank();
  if (split == concat)
    return emitOpError() << "splits and concatenates the same dimension "
                         << split;
  SmallVector<int64_t> expected(in.getShape());
  if (!in.isDynamicDim(split)) {
    expected[split] /= *p;
    if (expected[split] * *p != in.getDimSize(split))
      return emitOpError() << "cannot split dimension " << split << " of size "
                           << in.getDimSize(split) << " among " << *p
                           << " devices";
  }
  scale(expected[concat], *p);
  if (!isOfType(getResult().getType(), in.clone(expected)))
    return emitOpError() << "makes " << in.clone(expected) << " of " << in
                         << ", but the result type is "
                         << getResult().getType();
  return success();
}

int64_t AllToAllOp::getBytesSentPerRank(int64_t p) {
  return (p - 1) * bytesOf(getOperand()) / p;
}

LogicalResult AllSliceOp::verify() {
  FailureOr<int64_t> p = verifyGroup(*this, getAxes(), getMeshAttr());
  if (failed(p))
    return failure();
  return verifyScaled(*this, getResult(), getOperand(), getDim(), *p);
}

int64_t AllSliceOp::getBytesSentPerRank(int64_t) { return 0; }

LogicalResult CollectivePermuteOp::verify() {
  FailureOr<int64_t> from = verifyGroup(*this, getAxes(), getMeshAttr());
  FailureOr<int64_t> to = verifyGroup(*this, getToAxes(), getMeshAttr());
  if (failed(from) || failed(to))
    return failure();
  if (*from != *to)
    return emitOpError() << "goes from " << *from << " blocks to " << *to;
  if (getReversed() && getAxes() != getToAxes())
    return emitOpError() << "is reversed, but goes to other axes than it "
                         << "comes from";
  return success();
}

int64_t CollectivePermuteOp::getBytesSentPerRank(int64_t) {
  return bytesOf(getOperand());
}

LogicalResult BroadcastOp::verify() {
  FailureOr<int64_t> p = verifyGroup(*this, getAxes(), getMeshAttr());
  if (failed(p))
    return failure();
  if (int64_t root = getRoot(); root < 0 || root >= *p)
    return emitOpError() << "root " << root << " is not in a group of " << *p;
  return success();
}

int64_t BroadcastOp::getBytesSentPerRank(int64_t) {
  return bytesOf(getOperand());
}

/// The rows of the blocks of a dimension of `size`, ceil by ceil.
static int64_t getBlockRows(int64_t size, ArrayRef<AxisRefAttr> axes,
                            MeshOp mesh) {
  for (AxisRefAttr axis : axes)
    size = llvm::divideCeil(size, getAxisSize(axis, mesh.getAxes()));
  return size;
}

/// Checks that blocks of `rows` are those of a dimension of `of` rows.
template <typename OpTy>
static LogicalResult verifyBlockSize(OpTy op, int64_t rows) {
  if (!op.getSize() || ShapedType::isDynamic(rows))
    return success();
  int64_t size = *op.getSize();
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  int64_t all =
      size < 0 ? -1 : getBlockRows(size, getAxisRefs(op.getAxes()), mesh);
  if (all == rows)
    return success();
  return op.emitOpError() << "is of a dimension of " << size
                          << " rows, of which a device's block has "
                          << std::max<int64_t>(all, 0) << ", not " << rows;
}

/// The common checks of halo_exchange and its adjoint: `block` is a device's
/// part, `wide` has its halo as well.
template <typename HaloOp>
static LogicalResult verifyHalo(HaloOp op, RankedTensorType block,
                                RankedTensorType wide) {
  if (failed(verifyGroup(op, op.getAxes(), op.getMeshAttr())) ||
      failed(verifyHaloRows(op, op.getLow(), op.getHigh())))
    return failure();
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= block.getRank())
    return op.emitOpError()
           << "dimension " << dim << " is out of range for a tensor of rank "
           << block.getRank();
  SmallVector<int64_t> expected(block.getShape());
  int64_t rows = expected[dim];
  if (!block.isDynamicDim(dim))
    expected[dim] += op.getLow() + op.getHigh();
  if (!isOfType(wide, block.clone(expected)))
    return op.emitOpError() << "relates " << block << " to "
                            << block.clone(expected) << ", but the other type "
                            << "is " << wide;
  return verifyBlockSize(op, rows);
}

/// Whether a ring of no rows is to give some.
template <typename HaloOp> static bool isEmptyRing(HaloOp op, int64_t rows) {
  bool isEmpty = rows == 0 || (op.getSize() && *op.getSize() == 0);
  return isEmpty && op.getLow() + op.getHigh() != 0;
}

static InFlightDiagnostic emitEmptyRing(Operation *op, int64_t low,
                                        int64_t high) {
  return op->emitOpError() << "is periodic over 0 rows, of which none is "
                           << "among the " << low << " before and the " << high
                           << " after a block";
}

LogicalResult HaloExchangeOp::verify() {
  RankedTensorType block = getOperand().getType();
  if (failed(verifyHalo(*this, block, getResult().getType())) ||
      failed(verifyBoundary(*this, getBoundaryAttr(), block)))
    return failure();
  if (getBoundaryKind() == BoundaryKind::Periodic &&
      isEmptyRing(*this, block.getDimSize(getDim())))
    return emitEmptyRing(*this, getLow(), getHigh());
  return success();
}

LogicalResult HaloReduceOp::verify() {
  RankedTensorType block = getResult().getType();
  if (failed(verifyHalo(*this, block, getOperand().getType())) ||
      failed(
          verifyReduction(*this, ReductionKind::Sum, block.getElementType())))
    return failure();
  if (getPeriodic() && isEmptyRing(*this, block.getDimSize(getDim())))
    return emitEmptyRing(*this, getLow(), getHigh());
  return success();
}

/// Bytes of the rows of `block` that a device sends, or gets back.
template <typename HaloOp>
static int64_t getHaloBytes(HaloOp op, Value block, bool isRing, int64_t p) {
  auto type = cast<RankedTensorType>(block.getType());
  int64_t rows = type.isDynamicDim(op.getDim()) ? kAssumedSize
                                                : type.getDimSize(op.getDim());
  if (rows == 0)
    return 0;
  auto count = isRing ? getRingRowsSent : getHaloRowsSent;
  return getTensorBytes(type) / rows *
         count(rows, p, op.getLow(), op.getHigh());
}

int64_t HaloExchangeOp::getBytesSentPerRank(int64_t p) {
  return getHaloBytes(*this, getOperand(),
                      getBoundaryKind() == BoundaryKind::Periodic, p);
}

int64_t HaloReduceOp::getBytesSentPerRank(int64_t p) {
  return getHaloBytes(*this, getResult(), getPeriodic(), p);
}

/// The common checks of gather_rows and its adjoint: `block` is a device's
/// part, `rows` are those that indices name.
template <typename RowsOp>
static LogicalResult verifyRows(RowsOp op, RankedTensorType block,
                                RankedTensorType rows) {
  if (failed(verifyGroup(op, op.getAxes(), op.getMeshAttr())))
    return failure();
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= block.getRank())
    return op.emitOpError()
           << "dimension " << dim << " is out of range for a tensor of rank "
           << block.getRank();
  RankedTensorType indices = op.getIndices().getType();
  if (indices.getRank() != 1)
    return op.emitOpError()
           << "has indices of type " << indices << "; one dimension is wanted";
  SmallVector<int64_t> expected(block.getShape());
  expected.erase(expected.begin() + dim);
  expected.insert(expected.begin(), indices.getDimSize(0));
  if (!isOfType(rows, block.clone(expected)))
    return op.emitOpError()
           << "relates " << block << " by " << indices << " to "
           << block.clone(expected) << ", but the other type is " << rows;
  return verifyBlockSize(op, block.getDimSize(dim));
}

LogicalResult GatherRowsOp::verify() {
  return verifyRows(*this, getOperand().getType(), getResult().getType());
}

LogicalResult ReduceRowsOp::verify() {
  if (failed(verifyRows(*this, getResult().getType(), getOperand().getType())))
    return failure();
  return verifyReduction(*this, ReductionKind::Sum,
                         getResult().getType().getElementType());
}

static int64_t getAssumedSize(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.isDynamicDim(dim) ? kAssumedSize : type.getDimSize(dim);
}

/// At most: to each other device as many rows as there are, or as it names.
int64_t GatherRowsOp::getBytesSentPerRank(int64_t p) {
  int64_t rows = getAssumedSize(getOperand(), getDim());
  int64_t named = std::min(rows, getAssumedSize(getIndices(), 0));
  return rows == 0 ? 0 : bytesOf(getOperand()) / rows * named * (p - 1);
}

/// At most: a sum for each index, or for each row of the others.
int64_t ReduceRowsOp::getBytesSentPerRank(int64_t p) {
  int64_t rows = getAssumedSize(getResult(), getDim());
  int64_t sums = std::min(rows * (p - 1), getAssumedSize(getIndices(), 0));
  return rows == 0 ? 0 : bytesOf(getResult()) / rows * sums;
}

LogicalResult SendRecvOp::verify() {
  FailureOr<int64_t> p = verifyGroup(*this, getAxes(), getMeshAttr());
  if (failed(p))
    return failure();
  int64_t shift = getShift();
  if (shift == 0 || shift >= *p || shift <= -*p)
    return emitOpError() << "shift " << shift
                         << " reaches nobody in a group of " << *p;
  return success();
}

int64_t SendRecvOp::getBytesSentPerRank(int64_t) {
  return bytesOf(getOperand());
}

LogicalResult AxisIndexOp::verify() {
  return verifyGroup(*this, getAxes(), getMeshAttr());
}

LogicalResult LocalConstantOp::verify() {
  ShardingAttr sharding = getSharding();
  auto whole = dyn_cast<RankedTensorType>(getValue().getShapedType());
  if (!whole)
    return emitOpError() << "is a part of a constant of type "
                         << getValue().getShapedType()
                         << "; it must be a tensor";
  MeshOp mesh = lookupMesh(*this, sharding.getMesh());
  if (!mesh)
    return emitOpError() << "sharding " << sharding << " names no dist.mesh";
  if (failed(sharding.verifyFor(whole.getShape(), mesh.getAxes(),
                                [&] { return emitOpError(); })))
    return failure();
  if (sharding.isPartial())
    return emitOpError() << "sharding " << sharding
                         << " is partial; a part of a constant is not";
  RankedTensorType local =
      whole.clone(sharding.getLocalShape(whole.getShape(), mesh.getAxes()));
  if (getType() != local)
    return emitOpError() << "has type " << getType()
                         << ", but of a constant of "
                         << "type " << whole << " under sharding " << sharding
                         << " a device holds " << local;
  return success();
}

/// Zeros are the default.
static ParseResult parseBoundary(OpAsmParser &parser, BoundaryAttr &boundary) {
  if (dist::parseBoundaryAttr(parser, boundary))
    return failure();
  if (boundary.getKind() == BoundaryKind::Zero)
    boundary = {};
  return success();
}

static void printBoundary(OpAsmPrinter &printer, Operation *,
                          BoundaryAttr boundary) {
  dist::printBoundaryAttr(printer, boundary);
}

#include "dialects/dist/IR/CollectiveOpInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistCollectives.cpp.inc"
