//===- StaticBounds.cpp - Numbers of a program that leave tensors ---------===//
//
// --dist-check-bounds. MLIR's verifiers look at some of these numbers, in 64
// bits that wrap, and at maps in two corners of their loops. What they let
// through would be read and written outside of tensors.
//
//===----------------------------------------------------------------------===//

#include "passes/sizes/StaticBounds.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/bounds/Bounds.h"
#include "passes/sizes/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_CHECKBOUNDSPASS
#include "passes/sizes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Up to the limit, sums of sizes in bytes stay within 64 bits.
static bool isTooLarge(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || llvm::is_contained(tensor.getShape(), 0))
    return false;
  int64_t elements = 1;
  for (int64_t size : tensor.getShape())
    if (!ShapedType::isDynamic(size) &&
        llvm::MulOverflow(elements, size, elements))
      return true;
  return elements > kMostElements;
}

static LogicalResult checkTypes(Operation *op, TypeRange types) {
  auto large = llvm::find_if(types, isTooLarge);
  if (large == types.end())
    return success();
  return op->emitOpError() << "has a tensor of more than 2^46 elements: "
                           << *large;
}

//===----------------------------------------------------------------------===//
// Slices and pads
//===----------------------------------------------------------------------===//

/// Elements of one dimension of `whole`; a position that is computed may be
/// any.
static LogicalResult checkSlice(OffsetSizeAndStrideOpInterface slice,
                                RankedTensorType whole) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  for (auto [dim, extent] : llvm::enumerate(whole.getShape())) {
    std::optional<int64_t> offset = getConstantIntValue(offsets[dim]),
                           size = getConstantIntValue(sizes[dim]),
                           stride = getConstantIntValue(strides[dim]);
    if (stride && *stride < 1)
      return slice->emitOpError() << "has stride " << *stride
                                  << " in dimension " << dim
                                  << "; it must be at least 1";
    if (size && *size < 0)
      return slice->emitOpError()
             << "is of " << *size << " elements in dimension " << dim;
    if (offset && *offset < 0)
      return slice->emitOpError() << "begins at " << *offset << " in dimension "
                                  << dim << "; it must be at least 0";
    if (!size || *size == 0 || ShapedType::isDynamic(extent))
      continue;
    int64_t last;
    if (!llvm::MulOverflow(*size - 1, stride.value_or(1), last) &&
        !llvm::AddOverflow(last, offset.value_or(0), last) && last < extent)
      continue;
    InFlightDiagnostic error = slice->emitOpError("of ")
                               << *size << " elements with stride "
                               << stride.value_or(1) << " in dimension " << dim
                               << " of " << extent << " is in range nowhere";
    if (offset)
      error << " from " << *offset << " on";
    return error;
  }
  return success();
}

static LogicalResult checkPad(tensor::PadOp pad) {
  for (auto [dim, low, high] :
       llvm::enumerate(pad.getMixedLowPad(), pad.getMixedHighPad())) {
    int64_t sum = pad.getSourceType().getDimSize(dim);
    bool isKnown = !ShapedType::isDynamic(sum);
    for (OpFoldResult value : {low, high}) {
      std::optional<int64_t> amount = getConstantIntValue(value);
      isKnown &= amount.has_value();
      if (!amount)
        continue;
      if (*amount < 0 || *amount > kMostElements)
        return pad->emitOpError()
               << "pads dimension " << dim << " by " << *amount
               << "; it must be 0 to 2^46 (tensor.extract_slice takes "
                  "elements away)";
      sum += *amount;
    }
    int64_t size = pad.getResultType().getDimSize(dim);
    if (isKnown && !ShapedType::isDynamic(size) && size != sum)
      return pad->emitOpError()
             << "makes " << sum << " elements in dimension " << dim
             << ", where its result has " << size;
  }
  return success();
}

static LogicalResult checkDim(tensor::DimOp op) {
  std::optional<int64_t> index = getConstantIntValue(op.getIndex());
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (!index || !type || (*index >= 0 && *index < type.getRank()))
    return success();
  return op.emitOpError() << "asks for dimension " << *index
                          << " of a tensor of rank " << type.getRank();
}

bool mlir::dist::runsAlways(Operation *op) {
  return isa_and_present<FunctionOpInterface>(op->getParentOp());
}

/// The place of one element.
static LogicalResult checkElement(Operation *op, Value tensor,
                                  ValueRange indices) {
  if (!runsAlways(op))
    return success();
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [dim, value] : llvm::enumerate(indices)) {
    std::optional<int64_t> index = getConstantIntValue(value);
    int64_t size = type.getDimSize(dim);
    if (index &&
        (*index < 0 || (!ShapedType::isDynamic(size) && *index >= size)))
      return op->emitOpError() << "is at " << *index << " in dimension " << dim
                               << " of " << type;
  }
  return success();
}

/// What is known of tensors whose casts forgot it.
using KnownShapes = DenseMap<Value, RankedTensorType>;

/// A size that a cast forgets is not another one after the next.
static LogicalResult checkCast(tensor::CastOp op, KnownShapes &shapes) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  auto known = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (RankedTensorType before = shapes.lookup(op.getSource()))
    known = before;
  if (!known)
    return success();
  if (!type) {
    shapes[op] = known;
    return success();
  }
  if (runsAlways(op) && failed(verifyCompatibleShape(type, known)))
    return op.emitOpError() << "makes " << type << " of what is " << known;
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, before] : llvm::zip_equal(shape, known.getShape()))
    if (ShapedType::isDynamic(size))
      size = before;
  shapes[op] = type.clone(shape);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static std::string print(const APInt &number) {
  return llvm::toString(number, 10, /*Signed=*/true);
}

static LogicalResult checkLoop(LoopLikeOpInterface loop) {
  std::optional<SmallVector<OpFoldResult>> from = loop.getLoopLowerBounds(),
                                           to = loop.getLoopUpperBounds(),
                                           steps = loop.getLoopSteps();
  std::optional<SmallVector<Value>> variables = loop.getLoopInductionVars();
  if (!from || !to || !steps || !variables)
    return success();
  auto counted = dyn_cast<scf::ForOp>(loop.getOperation());
  bool isUnsigned = counted && counted.getUnsignedCmp();
  for (unsigned dim = 0; dim < variables->size(); ++dim) {
    Type type = (*variables)[dim].getType();
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    // Two bits more than the numbers have hold their sums.
    auto read = [&](OpFoldResult value) -> std::optional<APInt> {
      APInt number;
      if (auto attr = dyn_cast<Attribute>(value))
        number = cast<IntegerAttr>(attr).getValue();
      else if (!matchPattern(cast<Value>(value), m_ConstantInt(&number)))
        return std::nullopt;
      return isUnsigned ? number.zext(width + 2) : number.sext(width + 2);
    };
    std::optional<APInt> first = read((*from)[dim]), end = read((*to)[dim]),
                         step = read((*steps)[dim]);
    if (step && !step->isStrictlyPositive())
      return loop->emitOpError()
             << "has step " << print(*step) << ", which must be at least 1";
    if (!first || !end || !step)
      continue;
    APInt one(width + 2, 1);
    APInt turns = (*end - *first + *step - one).sdiv(*step);
    APInt most =
        APInt::getLowBitsSet(width + 2, isUnsigned ? width : width - 1);
    if (first->slt(*end) && (*first + turns * *step).sgt(most))
      return loop->emitOpError()
             << "from " << print(*first) << " to " << print(*end) << " by "
             << print(*step)
             << " does not end: its last step leaves " << type;
    // MLIR reads steps, and counts the turns of a signed loop, in signed
    // numbers of the type.
    APInt half = APInt::getLowBitsSet(width + 2, width - 1);
    if ((!isUnsigned && (*end - *first).abs().sgt(half)) || step->sgt(half))
      return loop->emitOpError()
             << "from " << print(*first) << " to " << print(*end) << " by "
             << print(*step) << " takes more than half of " << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing maps
//===----------------------------------------------------------------------===//

namespace {
/// Numbers from `low` to `high`.
struct Interval {
  int64_t low, high;
};
} // namespace

/// What `expr` is within `box`, or more. Nothing if that leaves 64 bits, or
/// divides by what is no positive constant.
static std::optional<Interval> getRange(AffineExpr expr,
                                        ArrayRef<Interval> box) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Interval{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return box[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<Interval> a = getRange(binary.getLHS(), box),
                       b = getRange(binary.getRHS(), box);
  if (!a || !b)
    return std::nullopt;
  Interval range;
  if (expr.getKind() == AffineExprKind::Add) {
    if (llvm::AddOverflow(a->low, b->low, range.low) ||
        llvm::AddOverflow(a->high, b->high, range.high))
      return std::nullopt;
    return range;
  }
  if (expr.getKind() == AffineExprKind::Mul) {
    int64_t corners[4];
    if (llvm::MulOverflow(a->low, b->low, corners[0]) ||
        llvm::MulOverflow(a->low, b->high, corners[1]) ||
        llvm::MulOverflow(a->high, b->low, corners[2]) ||
        llvm::MulOverflow(a->high, b->high, corners[3]))
      return std::nullopt;
    auto [low, high] = std::minmax_element(corners, corners + 4);
    return Interval{*low, *high};
  }
  int64_t by = b->low;
  if (by < 1 || b->high != by)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return Interval{llvm::divideCeilSigned(a->low, by),
                 llvm::divideCeilSigned(a->high, by)};
  int64_t first = llvm::divideFloorSigned(a->low, by),
          last = llvm::divideFloorSigned(a->high, by);
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return Interval{first, last};
  if (first != last)
    return Interval{0, by - 1};
  return Interval{llvm::mod(a->low, by), llvm::mod(a->high, by)};
}

static std::string print(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// Checks that `expr` is an index of `size` elements everywhere in `box`. Where
/// its range tells too little, the box is halved, down to one place, where a
/// range is exact.
static LogicalResult
checkIndex(AffineExpr expr, int64_t size, SmallVector<Interval> box,
           function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<SmallVector<Interval>> pending = {std::move(box)};
  for (unsigned looked = 0; !pending.empty(); ++looked) {
    SmallVector<Interval> next = pending.pop_back_val();
    std::optional<Interval> range = getRange(expr, next);
    if (range && range->low >= 0 && range->high < size)
      continue;
    int64_t widest = 0;
    unsigned at = 0;
    for (auto [dim, places] : llvm::enumerate(next))
      if (places.high - places.low > widest && expr.isFunctionOfDim(dim)) {
        widest = places.high - places.low;
        at = dim;
      }
    if (looked == kMostBoxes)
      return emitError() << "an index " << print(expr)
                         << " that cannot be proved to be among the " << size
                         << " of its dimension";
    bool isOutside = range && (range->high < 0 || range->low >= size);
    if (widest == 0 || isOutside) {
      InFlightDiagnostic error = emitError() << "an index " << print(expr);
      if (!range)
        return error << " that leaves 64 bits, or divides by what is not "
                        "positive";
      return error << " of "
                   << (range->low < 0 ? range->low : range->high)
                   << ", where its dimension has " << size;
    }
    int64_t middle = next[at].low + widest / 2;
    pending.push_back(next);
    pending.back()[at].high = middle;
    next[at].low = middle + 1;
    pending.push_back(std::move(next));
  }
  return success();
}

static LogicalResult checkMaps(linalg::LinalgOp op) {
  // MLIR has compared the sizes of dimensions.
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (llvm::all_of(maps, [](AffineMap map) {
        return map.isProjectedPermutation();
      }))
    return success();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (llvm::is_contained(extents, 0))
    return success();
  SmallVector<Interval> box;
  for (int64_t extent : extents)
    box.push_back({0, extent - 1});
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<ShapedType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = maps[operand.getOperandNumber()];
    for (auto [expr, size] :
         llvm::zip_equal(map.getResults(), type.getShape())) {
      bool isOpen = ShapedType::isDynamic(size);
      for (auto [dim, extent] : llvm::enumerate(extents))
        isOpen |= ShapedType::isDynamic(extent) && expr.isFunctionOfDim(dim);
      if (isOpen)
        continue;
      if (failed(checkIndex(expr, size, box, [&] {
            return op->emitOpError("operand #")
                   << operand.getOperandNumber() << " has ";
          })))
        return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

static LogicalResult checkOp(Operation *op, KnownShapes &shapes) {
  if (failed(checkTypes(op, op->getResultTypes())))
    return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(checkTypes(op, block.getArgumentTypes())))
        return failure();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return checkSlice(slice, slice.getSourceType());
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return checkSlice(slice, slice.getDestType());
  if (auto slice = dyn_cast<tensor::ParallelInsertSliceOp>(op))
    return checkSlice(slice, slice.getDestType());
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return checkPad(pad);
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return checkDim(dim);
  if (auto element = dyn_cast<tensor::ExtractOp>(op))
    return checkElement(op, element.getTensor(), element.getIndices());
  if (auto element = dyn_cast<tensor::InsertOp>(op))
    return checkElement(op, element.getDest(), element.getIndices());
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return checkCast(cast, shapes);
  if (auto generic = dyn_cast<linalg::LinalgOp>(op))
    return checkMaps(generic);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return checkLoop(loop);
  return success();
}

LogicalResult mlir::dist::checkStaticBounds(Operation *root) {
  KnownShapes shapes;
  WalkResult result = root->walk<WalkOrder::PreOrder>(
      [&](Operation *op) -> WalkResult { return checkOp(op, shapes); });
  return failure(result.wasInterrupted());
}

/// The number that stands for a size that is given as a value is written as a
/// number where no value is, which MLIR's verifiers take on trust.
static LogicalResult checkMixed(Operation *op, StringRef list,
                                ValueRange values) {
  auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(
      op->getInherentAttr(list).value_or(nullptr));
  if (!numbers) // The verifier says that it is missing.
    return success();
  int64_t open = llvm::count(numbers.asArrayRef(), ShapedType::kDynamic);
  if (open == static_cast<int64_t>(values.size()))
    return success();
  return op->emitOpError("has ")
         << values.size() << " values in a list that leaves " << open
         << " open (" << ShapedType::kDynamic << " stands for a value)";
}

/// What MLIR's verifiers take for granted.
static LogicalResult checkBeforeVerifier(Operation *op) {
  // Lists of operands that are none are the verifier's.
  if (auto segments = dyn_cast_or_null<DenseI32ArrayAttr>(
          op->getInherentAttr("operandSegmentSizes").value_or(nullptr))) {
    int64_t sum = 0;
    for (int32_t size : segments.asArrayRef()) {
      if (size < 0)
        return success();
      sum += size;
    }
    if (sum != op->getNumOperands())
      return success();
  }
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  if (concat && concat.getDimAttr()) {
    auto dim = static_cast<int64_t>(concat.getDim());
    if (dim < 0)
      return op->emitOpError("has dim ")
             << dim << ", which must be at least 0";
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return success(succeeded(checkMixed(op, "static_low", pad.getLow())) &&
                   succeeded(checkMixed(op, "static_high", pad.getHigh())));
  if (auto all = dyn_cast<scf::ForallOp>(op))
    return success(
        succeeded(
            checkMixed(op, "staticLowerBound", all.getDynamicLowerBound())) &&
        succeeded(
            checkMixed(op, "staticUpperBound", all.getDynamicUpperBound())) &&
        succeeded(checkMixed(op, "staticStep", all.getDynamicStep())));
  if (auto pack = dyn_cast<linalg::PackOp>(op))
    return checkMixed(op, "static_inner_tiles", pack.getInnerTiles());
  if (auto pack = dyn_cast<linalg::UnPackOp>(op))
    return checkMixed(op, "static_inner_tiles", pack.getInnerTiles());
  return success();
}

LogicalResult mlir::dist::verifyInput(Operation *root) {
  WalkResult result = root->walk(
      [](Operation *op) -> WalkResult { return checkBeforeVerifier(op); });
  return failure(result.wasInterrupted() || failed(verify(root)) ||
                 failed(checkStaticBounds(root)));
}

namespace {
struct CheckBoundsPass : dist::impl::CheckBoundsPassBase<CheckBoundsPass> {
  void runOnOperation() override {
    if (failed(checkStaticBounds(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
