//===- MicrobatchLoop.cpp - The loop over microbatches --------------------===//
//
// A forward pass, or a step of training of one batch, is a pipeline of one
// microbatch: its stages follow each other. A forward pass whose batch is in
// parts, as along an axis of the mesh, is one of several.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/MicrobatchLoop.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/Reads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/overlap/AxisInTime.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

/// What only new values of arguments are computed from, and is of no module:
/// the optimizer, sums that it wants completed, the norm of all gradients.
static llvm::DenseSet<Operation *> findEnd(func::FuncOp function) {
  llvm::DenseSet<Operation *> end;
  Block &block = function.getBody().front();
  Operation *last = block.getTerminator();
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (op.hasAttr(kScopeAttr) || op.hasAttr(kBackwardAttr) || op.use_empty())
      continue;
    bool isOfEnd = llvm::all_of(op.getUses(), [&](OpOperand &use) {
      Operation *reader = block.findAncestorOpInBlock(*use.getOwner());
      return reader == last ? function.getResultAttr(use.getOperandNumber(),
                                                     kUpdatesAttr) != nullptr
                            : end.contains(reader);
    });
    if (isOfEnd)
      end.insert(&op);
  }
  return end;
}

/// Rows of `whole` that are of microbatch `number`; there are `rows` of each.
static Value slice(OpBuilder &b, Location loc, Value whole, int64_t dim,
                   Value number, int64_t rows) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, whole);
  sizes[dim] = b.getIndexAttr(rows);
  Value size = arith::ConstantIndexOp::create(b, loc, rows);
  offsets[dim] = arith::MulIOp::create(b, loc, number, size).getResult();
  return tensor::ExtractSliceOp::create(b, loc, whole, offsets, sizes, strides);
}

/// Puts `part`, the rows of microbatch `number`, into `whole`.
static Value insert(OpBuilder &b, Location loc, Value part, Value whole,
                    int64_t dim, Value number) {
  auto type = cast<RankedTensorType>(part.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, part);
  Value rows = arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim));
  offsets[dim] = arith::MulIOp::create(b, loc, number, rows).getResult();
  return tensor::InsertSliceOp::create(b, loc, part, whole, offsets, sizes,
                                       strides);
}

/// An op in the loop that goes by the place along the axis goes by the number
/// of the microbatch.
static LogicalResult goByNumber(Operation *op, AxisInTime &axis, MeshOp mesh,
                                Value number) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto replace = [&](Value with) {
    op->getResult(0).replaceAllUsesWith(with);
    op->erase();
    return success();
  };
  auto getRows = [&](int64_t dim) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(dim);
  };
  if (auto index = dyn_cast<AxisIndexOp>(op))
    if (auto others = axis.getOthers(index.getAxesAttr())) {
      if (others->empty())
        return replace(number);
      Value place =
          cloneOver(b, index, *others, Value(), index.getResult().getType());
      Value size = arith::ConstantIndexOp::create(b, loc, axis.getSize());
      Value first = arith::MulIOp::create(b, loc, place, size);
      return replace(arith::AddIOp::create(b, loc, first, number));
    }
  if (auto part = dyn_cast<AllSliceOp>(op))
    if (auto others = axis.getOthers(part.getAxes())) {
      int64_t dim = part.getDim(), rows = getRows(dim);
      Value whole = part.getOperand();
      if (!others->empty()) {
        auto type = cast<RankedTensorType>(part.getResult().getType());
        SmallVector<int64_t> shape(type.getShape());
        shape[dim] *= axis.getSize();
        whole = cloneOver(b, part, *others, whole, type.clone(shape));
      }
      return replace(slice(b, loc, whole, dim, number, rows));
    }
  if (auto constant = dyn_cast<LocalConstantOp>(op)) {
    int64_t dim = -1;
    FailureOr<ShardingAttr> left =
        axis.removeAxis(constant.getSharding(), dim, "a constant");
    if (failed(left))
      return failure();
    int64_t rows = getRows(dim);
    auto made = cast<LocalConstantOp>(b.clone(*op));
    made.setShardingAttr(*left);
    made.getResult().setType(MeshLayout(mesh).localType(
        cast<RankedTensorType>(constant.getValue().getType()), *left));
    return replace(slice(b, loc, made.getResult(), dim, number, rows));
  }
  // What places a result has no line of the model.
  bool hasLine = false;
  op->getLoc()->walk([&](Location loc) {
    auto place = dyn_cast<FileLineColLoc>(loc);
    hasLine |= place && place.getLine() > 0;
    return WalkResult::advance();
  });
  InFlightDiagnostic error =
      emitError(hasLine ? op->getLoc() : Location(PipelineNote::get(mesh)->by));
  error << "'" << op->getName()
        << "' op reads all microbatches at once, which pass through the stages "
           "of the pipeline one by one";
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    error << " (in module \"" << scope.getValue() << "\")";
  return error << ": leave out --microbatches, or place what it reads so that "
                  "each microbatch has its own";
}

/// Moves what depends on inputs into a loop, in which `axis` is, if there is
/// one, the number of the microbatch.
static FailureOr<scf::ForOp> makeLoop(func::FuncOp function, MeshOp mesh,
                                      AxisInTime *axis) {
  SmallVector<int64_t> argumentDims, resultDims;
  if (axis && failed(axis->changeSignature(argumentDims, resultDims)))
    return failure();
  Block &block = function.getBody().front();
  for (auto [argument, dim] : llvm::zip(block.getArguments(), argumentDims))
    if (dim >= 0 && !cast<ShapedType>(argument.getType()).hasStaticShape())
      return function.emitError("--microbatches: argument ")
             << argument.getArgNumber() << " has sizes that are not known: "
             << "give them with --bind";
  Operation *last = block.getTerminator();
  llvm::DenseSet<Operation *> end = findEnd(function);
  llvm::DenseSet<Value> varying;
  for (BlockArgument argument : block.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kInputAttr) ||
        (axis && argumentDims[argument.getArgNumber()] >= 0))
      varying.insert(argument);
  llvm::SetVector<Operation *> body;
  for (Operation &op : block.without_terminator()) {
    bool varies = false;
    visitReads(
        &op, [&](OpOperand &read) { varies |= varying.contains(read.get()); });
    varies |= axis && axis->speaksOfAxis(&op);
    if (!varies || end.contains(&op))
      continue;
    body.insert(&op);
    varying.insert_range(op.getResults());
  }
  // Each microbatch has its part of a result that does not vary.
  for (OpOperand &operand : last->getOpOperands()) {
    Operation *def = operand.get().getDefiningOp();
    if (!axis || resultDims[operand.getOperandNumber()] < 0 || !def ||
        body.contains(def))
      continue;
    Operation *own = OpBuilder(last).clone(*def);
    operand.set(
        own->getResult(cast<OpResult>(operand.get()).getResultNumber()));
    body.insert(own);
  }
  // What others read of it.
  llvm::SetVector<Value> carried;
  for (Operation *op : body)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !body.contains(block.findAncestorOpInBlock(*user));
          })) {
        auto type = dyn_cast<RankedTensorType>(result.getType());
        if (!type || !type.hasStaticShape())
          return op->emitError("makes a value of type ")
                 << result.getType()
                 << ", which is no tensor of known sizes, for what comes "
                    "behind all stages";
        carried.insert(result);
      }
  // The dimension in which microbatches are parts of what is carried, or -1.
  SmallVector<std::optional<int64_t>> dims(carried.size());
  for (OpOperand &operand : last->getOpOperands())
    if (axis && carried.contains(operand.get())) {
      size_t at = llvm::find(carried, operand.get()) - carried.begin();
      int64_t dim = resultDims[operand.getOperandNumber()];
      if (dims[at].value_or(dim) != dim)
        return function.emitError("has one value as two results, and "
                                  "microbatches are parts of them in other "
                                  "dimensions");
      dims[at] = dim;
    }
  // What is of neither stays before it, the end comes behind.
  SmallVector<Operation *> behind;
  for (Operation &op : block.without_terminator())
    if (end.contains(&op))
      behind.push_back(&op);
  for (Operation *op : behind)
    op->moveBefore(last);
  Location loc = function.getLoc();
  OpBuilder b(behind.empty() ? last : behind.front());
  SmallVector<Value> inits;
  for (auto [value, dim] : llvm::zip(carried, dims)) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (dim.value_or(-1) >= 0)
      shape[*dim] *= axis->getSize();
    inits.push_back(
        tensor::EmptyOp::create(b, loc, shape, type.getElementType()));
  }
  Value low = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value count =
      axis ? arith::ConstantIndexOp::create(b, loc, axis->getSize()).getResult()
           : one;
  auto loop = scf::ForOp::create(b, loc, low, count, one, inits);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  OpBuilder in = OpBuilder::atBlockEnd(loop.getBody());
  for (auto [value, result] :
       llvm::zip(carried.getArrayRef(), loop.getResults()))
    Value(value).replaceUsesWithIf(result, [&](OpOperand &use) {
      return !body.contains(block.findAncestorOpInBlock(*use.getOwner()));
    });
  for (Operation *op : body) {
    op->remove();
    in.insert(op);
  }
  SmallVector<Value> yielded(carried.getArrayRef());
  Value number = loop.getInductionVar();
  for (auto [value, dim, whole] :
       llvm::zip(yielded, dims, loop.getRegionIterArgs()))
    if (dim.value_or(-1) >= 0)
      value = insert(in, loc, value, whole, *dim, number);
  scf::YieldOp::create(in, loc, yielded);
  if (!axis)
    return loop;
  OpBuilder first = OpBuilder::atBlockBegin(loop.getBody());
  for (auto [argument, dim] : llvm::zip(block.getArguments(), argumentDims)) {
    if (dim < 0 || argument.use_empty())
      continue;
    int64_t rows = cast<RankedTensorType>(argument.getType()).getDimSize(dim) /
                   axis->getSize();
    Value part = slice(first, argument.getLoc(), argument, dim, number, rows);
    argument.replaceUsesWithIf(part, [&](OpOperand &use) {
      return loop->isProperAncestor(use.getOwner()) &&
             use.getOwner() != part.getDefiningOp();
    });
  }
  SmallVector<Operation *> exchanges;
  loop.walk([&](Operation *op) {
    if (speaksOfAxes(op) && axis->speaksOfAxis(op))
      exchanges.push_back(op);
  });
  for (Operation *op : exchanges)
    if (failed(goByNumber(op, *axis, mesh, number)))
      return failure();
  return loop;
}

FailureOr<scf::ForOp> mlir::dist::findLoop(func::FuncOp function, MeshOp mesh,
                                           StringRef axis) {
  for (auto loop : function.getBody().front().getOps<scf::ForOp>())
    if (loop->hasAttr(kMicrobatchesAttr)) {
      if (axis.empty())
        return loop;
      return function.emitError("--microbatches: a step of training has those "
                                "of --accumulate");
    }
  if (axis.empty())
    return makeLoop(function, mesh, nullptr);
  SmallVector<MeshAxisAttr> left;
  MeshAxisAttr own;
  for (MeshAxisAttr one : mesh.getAxes()) {
    if (one.getName() == axis)
      own = one;
    else
      left.push_back(one);
  }
  if (!own)
    return mesh.emitError("has no axis \"") << axis << "\"";
  for (unsigned i = 0, end = function.getNumResults(); i < end; ++i)
    if (function.getResultAttr(i, kUpdatesAttr))
      return function.emitError("--microbatches: result ")
             << i
             << " is the new value of an argument; a step of training has "
                "the microbatches of --accumulate";
  AxisInTime inTime(function, mesh, own);
  if (failed(inTime.checkModule()))
    return failure();
  FailureOr<scf::ForOp> loop = makeLoop(function, mesh, &inTime);
  if (succeeded(loop))
    mesh.setAxesAttr(MeshAxesAttr::get(mesh.getContext(), left));
  return loop;
}
