//===- Rt.cpp - The dialect of runtime calls ------------------------------===//

#include "lowering/rt/Rt.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::rt;

#include "lowering/rt/RtDialect.cpp.inc"
#include "lowering/rt/RtEnums.cpp.inc"
#include "lowering/rt/RtInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "lowering/rt/RtAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "lowering/rt/RtTypes.cpp.inc"

/// An array of numbers is printed in a form that cannot be parsed again if one
/// is infinite.
static ParseResult parseBounds(OpAsmParser &parser, DenseF32ArrayAttr &bounds) {
  FloatAttr low, high;
  Type type = parser.getBuilder().getF32Type();
  if (parser.parseLSquare() || parser.parseAttribute(low, type) ||
      parser.parseComma() || parser.parseAttribute(high, type) ||
      parser.parseRSquare())
    return failure();
  bounds = parser.getBuilder().getDenseF32ArrayAttr(
      {low.getValue().convertToFloat(), high.getValue().convertToFloat()});
  return success();
}

static void printBounds(OpAsmPrinter &printer, Operation *,
                        DenseF32ArrayAttr bounds) {
  Builder builder(bounds.getContext());
  printer << "[";
  llvm::interleaveComma(bounds.asArrayRef(), printer, [&](float bound) {
    printer.printAttributeWithoutType(builder.getF32FloatAttr(bound));
  });
  printer << "]";
}

#define GET_OP_CLASSES
#include "lowering/rt/RtOps.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lowering/rt/RtAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "lowering/rt/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lowering/rt/RtOps.cpp.inc"
      >();
}

namespace {
struct Dtype {
  const char *name;
  int32_t value; // dist_dtype
};
} // namespace

/// Names and numbers as in runtime.h and docs/internals/bundle.md.
static Dtype lookupDtype(Type type) {
  if (type.isF64())
    return {"f64", 0};
  if (type.isF32())
    return {"f32", 1};
  if (type.isF16())
    return {"f16", 2};
  if (type.isBF16())
    return {"bf16", 3};
  if (type.isUnsignedInteger())
    switch (type.getIntOrFloatBitWidth()) {
    case 64:
      return {"u64", 12};
    case 32:
      return {"u32", 11};
    case 16:
      return {"u16", 10};
    case 8:
      return {"u8", 8};
    }
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 64:
      return {"i64", 4};
    case 32:
      return {"i32", 5};
    case 16:
      return {"i16", 6};
    case 8:
      return {"i8", 7};
    case 1:
      return {"i1", 9};
    }
  }
  if (type.isIndex())
    return {"i64", 4};
  return {"", -1};
}

FailureOr<int32_t> mlir::rt::getDtype(Type elementType) {
  Dtype dtype = lookupDtype(elementType);
  if (dtype.value < 0)
    return failure();
  return dtype.value;
}

StringRef mlir::rt::getDtypeName(Type elementType) {
  return lookupDtype(elementType).name;
}

FailureOr<int32_t> mlir::rt::getStorageDtype(Type elementType) {
  if (FailureOr<int32_t> dtype = getDtype(elementType); succeeded(dtype))
    return dtype;
  if (!elementType.isIntOrFloat())
    return failure();
  return getDtype(IntegerType::get(elementType.getContext(),
                                   8 * dist::getElementBytes(elementType)));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void rt::detail::addCollectiveEffects(
    OpOperand &input, OpOperand &init,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(input.get().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &input);
  if (isa<MemRefType>(init.get().getType()))
    effects.emplace_back(MemoryEffects::Write::get(), &init);
}

static bool isContiguous(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return true;
  int64_t offset;
  SmallVector<int64_t> strides;
  return succeeded(memref.getStridesAndOffset(strides, offset)) &&
         memref.areTrailingDimsContiguous(memref.getRank());
}

/// A buffer of a call that takes no strides.
static LogicalResult verifyBuffer(Operation *op, Value buffer) {
  auto type = cast<ShapedType>(buffer.getType());
  if (!type.hasStaticShape())
    return op->emitOpError("operand of type ")
           << type << " has no static shape";
  if (!isContiguous(type))
    return op->emitOpError("operand of type ") << type << " is not contiguous";
  if (failed(getDtype(type.getElementType())))
    return op->emitOpError("the runtime has no element type ")
           << type.getElementType();
  return success();
}

static LogicalResult verifyElementTypes(Operation *op, Value a, Value b) {
  Type from = getElementTypeOrSelf(a.getType());
  Type to = getElementTypeOrSelf(b.getType());
  if (from != to)
    return op->emitOpError("operand has elements of type ")
           << from << ", destination of " << to;
  return success();
}

LogicalResult rt::detail::verifyCollective(Operation *op) {
  auto collective = cast<rt::CollectiveOpInterface>(op);
  Value sent = collective.getSent(), received = collective.getReceived();
  for (Value buffer : {sent, received})
    if (failed(verifyBuffer(op, buffer)))
      return failure();
  if (failed(verifyElementTypes(op, sent, received)))
    return failure();
  Value tensor = collective.getTensor(), token = collective.getToken();
  unsigned expected = (tensor ? 1 : 0) + (token ? 1 : 0);
  if (op->getNumResults() != expected ||
      (token && tensor == op->getResults().back()))
    return op->emitOpError("has results other than a tensor and a token");
  if (token && collective.getStream() == 0)
    return op->emitOpError("is started on stream 0, which computes; another "
                           "stream is wanted");
  if (!token)
    return success();
  if (!token.hasOneUse() || !isa<WaitOp>(*token.user_begin()))
    return op->emitOpError("has a token that is not used by one rt.wait alone");
  if (tensor && !tensor.hasOneUse())
    return op->emitOpError("has a result in flight that is used elsewhere than "
                           "in its rt.wait");
  return success();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

rt::CollectiveOpInterface WaitOp::getStart() {
  return getToken().getDefiningOp<rt::CollectiveOpInterface>();
}

void WaitOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  rt::detail::addCollectiveEffects(getInputMutable(), getInitMutable(),
                                   effects);
}

LogicalResult WaitOp::verify() {
  rt::CollectiveOpInterface start = getStart();
  // Once loops and branches between the two are blocks, one region has them.
  Region *region = (*this)->getParentRegion();
  bool isOneBlock = region && region->hasOneBlock();
  if (!start || start->getParentRegion() != region ||
      (isOneBlock && start->getBlock() != (*this)->getBlock()))
    return emitOpError("waits for no collective of its own block");
  auto isSame = [&](StringRef what, Value named,
                    Value inFlight) -> LogicalResult {
    if (named == inFlight)
      return success();
    InFlightDiagnostic error = emitOpError()
                               << what << " is not that of the collective";
    error.attachNote(start.getLoc()) << "which starts here";
    return error;
  };
  if (failed(isSame("what it reads", getInput(), start.getSent())))
    return failure();
  Value tensor = start.getTensor();
  return isSame("what it writes", getInit(),
                tensor ? tensor : start.getReceived());
}

static int64_t countOf(Value buffer) {
  return cast<ShapedType>(buffer.getType()).getNumElements();
}

static LogicalResult verifyCount(Operation *op, StringRef what, Value buffer,
                                 int64_t expected) {
  if (countOf(buffer) != expected)
    return op->emitOpError() << what << " has " << countOf(buffer)
                             << " elements, but " << expected << " are wanted";
  return success();
}

/// The other member's operand has as many elements as this one's destination.
static LogicalResult verifySameCount(Operation *op, Value input, Value init) {
  return verifyCount(op, "destination", init, countOf(input));
}

/// A block of [outer, whole, inner]: some rows of it, `extra` beside.
static LogicalResult verifyBlock(Operation *op, StringRef what, Value buffer,
                                 int64_t outer, int64_t whole, int64_t inner) {
  int64_t row = outer * inner, count = countOf(buffer);
  if (row == 0 ? count != 0 : count % row != 0 || count / row > whole)
    return op->emitOpError()
           << what << " has " << count << " elements, which is no block of ["
           << outer << ", " << whole << ", " << inner << "]";
  return success();
}

static LogicalResult verifyReduction(Operation *op, Reduction reduction,
                                     Value input) {
  Type element = getElementTypeOrSelf(input.getType());
  if (isa<FloatType>(element) &&
      (reduction == Reduction::And || reduction == Reduction::Or))
    return op->emitOpError()
           << stringifyReduction(reduction) << " is not defined on " << element;
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyReduction(*this, getReduction(), getInput())))
    return failure();
  return verifySameCount(*this, getInput(), getInit());
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyBlock(*this, "operand", getInput(), getOuter(), getWhole(),
                         getInner())))
    return failure();
  return verifyCount(*this, "destination", getInit(),
                     getOuter() * getWhole() * getInner());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyReduction(*this, getReduction(), getInput())) ||
      failed(verifyCount(*this, "operand", getInput(),
                         getOuter() * getWhole() * getInner())))
    return failure();
  return verifyBlock(*this, "destination", getInit(), getOuter(), getWhole(),
                     getInner());
}

LogicalResult AllToAllOp::verify() {
  int64_t rest = getOuter() * getMiddle() * getInner();
  if (failed(verifyBlock(*this, "operand", getInput(), rest * getSplitWhole(),
                         getConcatWhole(), 1)))
    return failure();
  return verifyBlock(*this, "destination", getInit(), rest * getConcatWhole(),
                     getSplitWhole(), 1);
}

LogicalResult BroadcastOp::verify() {
  return verifySameCount(*this, getInput(), getInit());
}

LogicalResult CollectivePermuteOp::verify() {
  ArrayRef<int64_t> pairs = getPairs();
  if (pairs.size() % 2 != 0)
    return emitOpError("pairs holds sources and targets, ")
           << pairs.size() << " integers given";
  llvm::DenseSet<int64_t> sources, targets;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i] < 0 || pairs[i + 1] < 0)
      return emitOpError("pairs holds a negative place");
    if (!sources.insert(pairs[i]).second)
      return emitOpError("source ") << pairs[i] << " occurs twice in the pairs";
    if (!targets.insert(pairs[i + 1]).second)
      return emitOpError("target ")
             << pairs[i + 1] << " occurs twice in the pairs";
  }
  return verifySameCount(*this, getInput(), getInit());
}

/// The elements of a block and of it with its halo.
template <typename HaloOp>
static LogicalResult verifyHalo(HaloOp op, StringRef whatBlock, Value block,
                                StringRef whatWide, Value wide) {
  if (failed(verifyBlock(op, whatBlock, block, op.getOuter(), op.getWhole(),
                         op.getInner())))
    return failure();
  return verifyCount(op, whatWide, wide,
                     countOf(block) + op.getOuter() *
                                          (op.getLow() + op.getHigh()) *
                                          op.getInner());
}

LogicalResult HaloExchangeOp::verify() {
  return verifyHalo(*this, "operand", getInput(), "destination", getInit());
}

LogicalResult HaloReduceOp::verify() {
  return verifyHalo(*this, "destination", getInit(), "operand", getInput());
}

//===----------------------------------------------------------------------===//
// Rows that indices name
//===----------------------------------------------------------------------===//

void PlanRowsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getIndices().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getIndicesMutable());
}

LogicalResult PlanRowsOp::verify() {
  auto type = cast<ShapedType>(getIndices().getType());
  if (failed(verifyBuffer(*this, getIndices())))
    return failure();
  if (type.getRank() != 1 || !(type.getElementType().isIndex() ||
                               type.getElementType().isSignlessInteger(64)))
    return emitOpError("indices of type ")
           << type << "; one dimension of index or i64 is wanted";
  for (Operation *user : getPlan().getUsers())
    if (!isa<GatherRowsOp, ReduceRowsOp>(user))
      return emitOpError("plan is read by another op than gather_rows and "
                         "reduce_rows");
  return success();
}

template <typename RowsOp>
static LogicalResult verifyRows(RowsOp op, StringRef whatBlock, Value block,
                                StringRef whatRows, Value rows) {
  if (failed(verifyBlock(op, whatBlock, block, op.getOuter(), op.getWhole(),
                         op.getInner())))
    return failure();
  auto plan = op.getPlan().template getDefiningOp<PlanRowsOp>();
  if (!plan) // an argument, as blocks have them in LLVM's dialect
    return success();
  if (plan.getComm() != op.getComm() || plan.getWhole() != op.getWhole())
    return op.emitOpError("has a plan for communicator ")
           << plan.getComm() << " and " << plan.getWhole() << " rows";
  return verifyCount(op, whatRows, rows,
                     countOf(plan.getIndices()) * op.getOuter() *
                         op.getInner());
}

LogicalResult GatherRowsOp::verify() {
  return verifyRows(*this, "operand", getInput(), "destination", getInit());
}

LogicalResult ReduceRowsOp::verify() {
  return verifyRows(*this, "destination", getInit(), "operand", getInput());
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

LogicalResult LoopAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               LoopKind kind, int64_t extent, int64_t a,
                               int64_t b, int64_t c) {
  if (extent < 0)
    return emitError() << "a loop has " << extent << " iterations";
  if ((kind == LoopKind::N && a != 0) || (kind == LoopKind::M && b != 0) ||
      (kind == LoopKind::K && c != 0))
    return emitError() << "a loop of kind " << stringifyLoopKind(kind)
                       << " has a stride in the operand that does not depend "
                          "on it";
  return success();
}

/// That `strides`, of loops with `extents`, stay within the buffer.
static LogicalResult verifyReach(Operation *op, StringRef name, Value buffer,
                                 ArrayRef<int64_t> extents,
                                 ArrayRef<int64_t> strides) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> steps;
  int64_t offset;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(steps, offset)) ||
      llvm::is_contained(steps, ShapedType::kDynamic))
    return op->emitOpError()
           << name << " of type " << type << " has no static shape and strides";
  if (llvm::is_contained(extents, 0))
    return success();
  int64_t last = 0, reach = 0;
  for (auto [size, step] : llvm::zip_equal(type.getShape(), steps))
    last += (size - 1) * step;
  for (auto [extent, stride] : llvm::zip_equal(extents, strides)) {
    if (stride < 0)
      return op->emitOpError() << name << " has the negative stride " << stride;
    reach += (extent - 1) * stride;
  }
  if (type.getNumElements() == 0 || reach > last)
    return op->emitOpError() << "the loops reach element " << reach << " of "
                             << name << ", whose type is " << type;
  return success();
}

LogicalResult ContractOp::verify() {
  auto elementOf = [](Value buffer) {
    return cast<MemRefType>(buffer.getType()).getElementType();
  };
  Type in = elementOf(getA()), out = elementOf(getC());
  if (elementOf(getB()) != in)
    return emitOpError("a has elements of type ")
           << in << ", b of " << elementOf(getB());
  if (!(in.isF32() && out.isF32()) && !(in.isBF16() && out.isBF16()) &&
      !(in.isBF16() && out.isF32()))
    return emitOpError("does not multiply ")
           << in << " to " << out
           << ": f32 to f32, bf16 to bf16 and bf16 to f32 are known";
  SmallVector<int64_t> extents, a, b, c;
  for (LoopAttr loop : getLoops().getAsRange<LoopAttr>()) {
    extents.push_back(loop.getExtent());
    a.push_back(loop.getA());
    b.push_back(loop.getB());
    c.push_back(loop.getC());
  }
  if (failed(verifyReach(*this, "a", getA(), extents, a)) ||
      failed(verifyReach(*this, "b", getB(), extents, b)))
    return failure();
  return verifyReach(*this, "c", getC(), extents, c);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t image, int64_t kernel, int64_t out,
                                 int64_t stride, int64_t dilation,
                                 int64_t low) {
  if (image < 0 || kernel < 0 || out < 0)
    return emitError() << "a window has a negative dimension";
  if (stride < 1 || dilation < 1)
    return emitError() << "a window has stride " << stride << " and dilation "
                       << dilation << "; both must be at least 1";
  if (low < 0)
    return emitError() << "a window has " << low << " zeros before the image";
  return success();
}

void ConvolveOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isInit = operand.get() == getInit() && isDpsInit(&operand);
    if (!isInit || getAccumulate())
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

void ScatterOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

SmallVector<int64_t> ScatterOp::getSliceDims() {
  int64_t rank = cast<ShapedType>(getInit().getType()).getRank();
  bool keepsAll =
      cast<ShapedType>(getSource().getType()).getRank() - int64_t(getBatch()) ==
      rank;
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (keepsAll || !llvm::is_contained(getDims(), dim))
      dims.push_back(dim);
  return dims;
}

LogicalResult ScatterOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  auto keys = cast<ShapedType>(getKeys().getType());
  auto init = cast<ShapedType>(getInit().getType());
  for (ShapedType type : {source, keys, init})
    if (!type.hasStaticShape() || llvm::is_contained(type.getShape(), 0) ||
        isa<RankedTensorType>(type) != isa<RankedTensorType>(init))
      return emitOpError("has the operands ")
             << source << ", " << keys << " and " << init
             << "; they are all tensors or all buffers, of known sizes, and "
                "none is empty";
  if (source.getElementType() != init.getElementType() ||
      !init.getElementType().isIntOrIndexOrFloat())
    return emitOpError("puts elements of ")
           << source << " in " << init << "; both have the same numbers";
  int64_t slices = 1, rows = 1, last = 0;
  bool isTooLarge = false;
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= init.getRank() || llvm::count(getDims(), dim) > 1)
      return emitOpError("has dimension ")
             << dim << ", which " << init << " has not, or twice";
    isTooLarge |= llvm::MulOverflow(rows, init.getDimSize(dim), rows);
  }
  int64_t batch = getBatch();
  if (batch < 0 || batch > source.getRank())
    return emitOpError("has a batch of ")
           << batch << " dimensions in " << source;
  SmallVector<int64_t> slice;
  for (int64_t dim : getSliceDims())
    slice.push_back(llvm::is_contained(getDims(), dim) ? 1
                                                       : init.getDimSize(dim));
  if (source.getShape().drop_front(batch) != ArrayRef<int64_t>(slice))
    return emitOpError("has slices in ")
           << source << " that are none of " << init;
  for (int64_t size : source.getShape().take_front(batch))
    isTooLarge |= llvm::MulOverflow(slices, size, slices);
  if (isTooLarge || keys.getRank() != 1 ||
      !keys.getElementType().isInteger(64) ||
      !llvm::isPowerOf2_64(keys.getDimSize(0)) || keys.getDimSize(0) < slices ||
      llvm::MulOverflow(rows, keys.getDimSize(0), last))
    return emitOpError("has keys ")
           << keys << "; they are a power of two of i64, no fewer than the "
           << "slices in " << source << ", and times the rows of " << init
           << " no more than 64 bits count";
  if (bool(getResult()) != isa<RankedTensorType>(init) ||
      (getResult() && getResult().getType() != init))
    return emitOpError("has a result that is not its destination");
  return success();
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// That the named dimensions are those of the operands, each once.
static LogicalResult verifyDimensions(ConvolveOp op) {
  StringRef names[] = {"image", "kernel", "destination"};
  Value operands[] = {op.getImage(), op.getKernel(), op.getInit()};
  SmallVector<int64_t> used[3];
  // Which operands a list names dimensions of.
  struct {
    StringRef name;
    ArrayRef<int64_t> dims;
    SmallVector<unsigned, 3> operands;
  } lists[] = {{"batch", op.getBatch(), {0, 2}},
               {"group", op.getGroup(), {0, 1, 2}},
               {"channel", op.getChannel(), {0, 1}},
               {"feature", op.getFeature(), {1, 2}}};
  auto shapeOf = [&](unsigned operand) {
    return cast<ShapedType>(operands[operand].getType()).getShape();
  };
  for (auto &[name, dims, of] : lists) {
    if (dims.empty())
      continue;
    if (dims.size() != of.size())
      return op.emitOpError() << name << " names " << dims.size()
                              << " dimensions, " << of.size() << " are wanted";
    int64_t size = -1;
    for (auto [dim, operand] : llvm::zip_equal(dims, of)) {
      ArrayRef<int64_t> shape = shapeOf(operand);
      if (dim < 0 || dim >= int64_t(shape.size()))
        return op.emitOpError()
               << name << ": " << names[operand] << " has no dimension " << dim;
      if (size >= 0 && shape[dim] != size)
        return op.emitOpError()
               << name << " is " << size << " and " << shape[dim];
      size = shape[dim];
      used[operand].push_back(dim);
    }
  }
  for (WindowAttr window : op.getWindows().getAsRange<WindowAttr>()) {
    used[0].push_back(window.getImage());
    used[1].push_back(window.getKernel());
    used[2].push_back(window.getOut());
  }
  for (unsigned operand = 0; operand < 3; ++operand) {
    llvm::sort(used[operand]);
    SmallVector<int64_t> all =
        llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(operand).size()));
    if (used[operand] != all)
      return op.emitOpError()
             << "each of the " << all.size() << " dimensions of the "
             << names[operand] << " must be named once";
  }
  return success();
}

bool ConvolveOp::isClamp(float low, float high) {
  bool isNegativeZero = low == 0 && std::signbit(low);
  return low <= high && !isNegativeZero && high != 0;
}

LogicalResult ConvolveOp::verify() {
  if (std::optional<ArrayRef<float>> clamp = getClamp();
      clamp && (clamp->size() != 2 || !isClamp((*clamp)[0], (*clamp)[1])))
    return emitOpError("clamp is no lower bound, other than -0, and an upper "
                       "one that is not less, other than 0");
  int64_t count = getWindows().size();
  if (count < 1 || count > 3)
    return emitOpError() << "has " << count << " windows; 1 to 3 are known";
  for (Value operand : getOperands()) {
    auto type = cast<ShapedType>(operand.getType());
    if (!type.hasStaticShape() || llvm::is_contained(type.getShape(), 0))
      return emitOpError("operand of type ")
             << type << " has no static shape, or is empty";
    if (!type.getElementType().isF32())
      return emitOpError("has an operand of ")
             << type.getElementType() << "; f32 is known";
  }
  if (failed(verifyDimensions(*this)))
    return failure();
  if (getBias()) {
    auto sizeOf = [&](ArrayRef<int64_t> dims) {
      return dims.empty() ? 1
                          : cast<ShapedType>(getInit().getType())
                                .getDimSize(dims.back());
    };
    if (!isContiguous(getBias().getType()))
      return emitOpError("bias of type ")
             << getBias().getType() << " is not contiguous";
    return verifyCount(*this, "bias", getBias(),
                       sizeOf(getGroup()) * sizeOf(getFeature()));
  }
  return success();
}
