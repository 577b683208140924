//===- RingWriter.cpp - What rings of attention are written of ------------===//

#include "passes/rings/RingWriter.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/attention/ScoreRange.h"
#include "passes/rings/DeviceBlocks.h"
#include "passes/spmd/verify/Uniformity.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

InFlightDiagnostic RingWriter::emitUnusable() {
  InFlightDiagnostic error = emitError(ring.by);
  error << "dist.ring: in module \"" << ring.module << "\" ";
  error.attachNote(loc) << "this attention";
  return error;
}

/// ", as 'dist.shard input …'", of an input that is as long as the keys.
std::string RingWriter::nameSequence() {
  auto function = op->getParentOfType<FunctionOpInterface>();
  for (unsigned i = 0; function && i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, kInputAttr);
    auto global = function.getArgAttrOfType<TypeAttr>(i, kGlobalTypeAttr);
    auto whole = dyn_cast<RankedTensorType>(
        global ? global.getValue() : function.getArgument(i).getType());
    if (!name || !whole)
      continue;
    const auto *dim = llvm::find(whole.getShape(), numKeys);
    if (dim != whole.getShape().end())
      return (", as 'dist.shard input \"" + name.getValue() + "\" [" +
              Twine(dim - whole.getShape().begin()) + " = {\"" +
              getAxisRefs(ring.axes).front().getName() + "\"}]'")
          .str();
  }
  return "";
}

LogicalResult RingWriter::findTravellers() {
  keys.place = *placeOf(1, op.getKeyDim());
  values.place = *placeOf(2, op.getKeyDim());
  SmallVector<int64_t> sizes = op.getDimSizes();
  if (llvm::any_of(op->getOperandTypes(), [](Type type) {
        return !cast<ShapedType>(type).hasStaticShape();
      }))
    return emitUnusable() << "sizes of attention are not known";
  numKeys = sizes[op.getKeyDim()];
  DeviceBlocks blocks(b, loc, mesh, ring.axes, ring.devices, *ring.uniform);
  keys.made = blocks.get(op->getOperand(1), keys.place);
  values.made = blocks.get(op->getOperand(2), values.place);
  if (!keys.made || !values.made) {
    InFlightDiagnostic error = emitUnusable();
    error << "no block of " << (keys.made ? "values" : "keys")
          << " can go round over ";
    llvm::interleaveComma(getAxisRefs(ring.axes), error);
    MeshOp devices = lookupMesh(op, mesh);
    if (devices &&
        !isEquallySpaced(MeshLayout(devices), getAxisRefs(ring.axes), numKeys))
      error << ": blocks of " << numKeys << " are cut into blocks of two sizes "
            << "there, and a ring needs blocks of one; take one axis, or as "
            << "many keys as these axes divide";
    else
      error << ": they are not gathered over just these axes, or what is done "
            << "with them after that cannot be done block by block; a sequence "
            << "is cut by its inputs" << nameSequence();
    return error;
  }
  blockKeys = typeOf(keys.made).getDimSize(keys.place);
  if (typeOf(values.made).getDimSize(values.place) != blockKeys ||
      blockKeys * ring.devices < numKeys)
    return emitUnusable() << "keys and values are in different blocks";
  // Blocks that are repeated for several heads circulate once, and readers
  // repeat them.
  for (CirculatingBlock *circulating : {&keys, &values})
    std::tie(circulating->block, circulating->makers) =
        blocks.findSmallest(circulating->made);
  return success();
}

Value RingWriter::empty(ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(b, loc, shape, element);
}

Value RingWriter::fill(RankedTensorType type, Value element) {
  return linalg::FillOp::create(b, loc, element,
                                empty(type.getShape(), type.getElementType()))
      .getResult(0);
}

Value RingWriter::zeros(RankedTensorType type) {
  return fill(type, arith::ConstantOp::create(
                        b, loc, b.getZeroAttr(type.getElementType())));
}

SmallVector<Value>
RingWriter::map(RankedTensorType like, ValueRange inputs,
                ArrayRef<AffineMap> maps, unsigned numResults,
                function_ref<SmallVector<Value>(ValueRange)> body) {
  SmallVector<Value> inits;
  for (unsigned i = 0; i < numResults; ++i)
    inits.push_back(empty(like.getShape(), like.getElementType()));
  auto made = createParallelLoops(
      b, loc, inputs, maps, inits,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        return body(arguments.drop_back(numResults));
      });
  return llvm::to_vector_of<Value>(made.getResults());
}

Value RingWriter::reduce(Value tensor, Value start,
                         function_ref<Value(Value, Value)> combine) {
  Value from = fill(RankedTensorType::get({}, start.getType()), start);
  int64_t rank = typeOf(tensor).getRank();
  SmallVector<AffineMap> maps = {b.getMultiDimIdentityMap(rank),
                                 AffineMap::get(rank, 0, b.getContext())};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::reduction);
  auto reduced = linalg::GenericOp::create(
      b, loc, from.getType(), tensor, from, maps, loops,
      [&](OpBuilder &inner, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        linalg::YieldOp::create(b, loc, combine(args[0], args[1]));
      });
  return reduced.getResult(0);
}

Value RingWriter::getLargest(Value tensor) {
  Value &known = largest[tensor];
  if (!known)
    known = getElement(
        reduce(tensor, constant(0), [&](Value element, Value largest) {
          if (element.getType() != score)
            element = arith::ExtFOp::create(b, loc, score, element);
          return arith::MaximumFOp::create(
              b, loc, math::AbsFOp::create(b, loc, element), largest);
        }));
  return known;
}

Value RingWriter::getLeast(Value tensor) {
  return reduce(tensor, constant(std::numeric_limits<double>::infinity()),
                [&](Value one, Value least) -> Value {
                  return arith::MinimumFOp::create(b, loc, one, least);
                });
}

Value RingWriter::clearPadding(Value block, int64_t dim, Value owner) {
  RankedTensorType type = typeOf(block);
  Value start = arith::MulIOp::create(b, loc, owner, index(blockKeys));
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  return map(type, block, b.getMultiDimIdentityMap(type.getRank()), 1,
             [&](ValueRange args) -> SmallVector<Value> {
               Value place = arith::AddIOp::create(
                   b, loc, start, linalg::IndexOp::create(b, loc, dim));
               Value isKey = arith::CmpIOp::create(
                   b, loc, arith::CmpIPredicate::slt, place, index(numKeys));
               return {arith::SelectOp::create(b, loc, isKey, args[0], zero)};
             })[0];
}

Value RingWriter::padExtra(unsigned number, Value extra) {
  std::optional<unsigned> dim = placeOf(3 + number, op.getKeyDim());
  if (!isPadded() || !dim)
    return extra;
  RankedTensorType type = typeOf(extra);
  SmallVector<OpFoldResult> low(type.getRank(), b.getIndexAttr(0)), high = low;
  high[*dim] = b.getIndexAttr(blockKeys * ring.devices - numKeys);
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = blockKeys * ring.devices;
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(b, loc, type.clone(shape), extra, low, high,
                               zero);
}

StringAttr RingWriter::getCause(const Twine &what) {
  std::string cause;
  llvm::raw_string_ostream text(cause);
  if (auto file = dyn_cast<FileLineColLoc>(ring.by))
    text << file.getFilename().strref() << ":" << file.getLine() << ": ";
  text << "dist.ring \"" << ring.module << "\": " << what;
  return b.getStringAttr(cause);
}

Value RingWriter::passOn(Value block, StringRef what) {
  return SendRecvOp::create(b, loc, block.getType(), block,
                            b.getI64IntegerAttr(1), b.getUnitAttr(), ring.axes,
                            mesh, getCause("passes " + what + " on"));
}

Value RingWriter::make(const CirculatingBlock &circulating, Value block,
                       Value owner) {
  Value made = circulating.made;
  if (block != circulating.block) {
    IRMapping mapping;
    mapping.map(circulating.block, block);
    for (Operation *op : circulating.makers)
      b.clone(*op, mapping);
    made = mapping.lookupOrDefault(made);
  }
  return isPadded() ? clearPadding(made, circulating.place, owner) : made;
}

SmallVector<Value> RingWriter::cutExtras(ArrayRef<Value> extras, Value first) {
  SmallVector<Value> cut;
  for (auto [number, extra] : llvm::enumerate(extras)) {
    std::optional<unsigned> place = placeOf(3 + number, op.getKeyDim());
    if (!place) {
      cut.push_back(extra);
      continue;
    }
    RankedTensorType type = typeOf(extra);
    SmallVector<int64_t> shape(type.getShape());
    shape[*place] = blockKeys;
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        sizes = getAsIndexOpFoldResult(b.getContext(), shape),
        strides(type.getRank(), b.getIndexAttr(1));
    offsets[*place] = first;
    cut.push_back(tensor::ExtractSliceOp::create(
        b, loc, type.clone(shape), extra, offsets, sizes, strides));
  }
  return cut;
}

Value RingWriter::getOwner(int64_t step) {
  if (step == 0)
    return device;
  return arith::RemUIOp::create(
      b, loc, arith::AddIOp::create(b, loc, device, index(ring.devices - step)),
      index(ring.devices));
}

void RingWriter::writeBody(Region &from, Region &to, const Queries &queries,
                           Value first, double none) {
  IRMapping mapping = queries.outside;
  from.cloneInto(&to, mapping);
  // The body speaks of keys by their places in the sequence, and of queries by
  // those in their block.
  Block &body = to.front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  auto move = [&](Value local, Value by) -> Value {
    Value place = arith::AddIOp::create(b, loc, local, by);
    local.replaceAllUsesExcept(place, place.getDefiningOp());
    return place;
  };
  Value query = *std::prev(body.args_end(), 2);
  if (queries.first != 0 && !query.use_empty())
    move(query, index(queries.first));
  Value place = move(body.getArguments().back(), first);
  if (!isPadded())
    return;
  auto yield = cast<AttentionYieldOp>(body.getTerminator());
  b.setInsertionPoint(yield);
  Value isKey = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, place,
                                      index(numKeys));
  // The score, and terms of totals.
  for (OpOperand &operand : yield->getOpOperands())
    if (operand.get().getType() == score)
      operand.set(select(isKey, operand.get(), constant(none)));
}

bool RingWriter::sees(Queries::Kind kind, int64_t device, int64_t step) const {
  int64_t p = ring.devices, block = (device + p - step) % p;
  int64_t holder = getHolder(kind, device);
  if (ring.seen.empty())
    return true;
  bool first = ring.seen[2 * holder * p + block],
       second = ring.seen[(2 * holder + 1) * p + block];
  return kind == Queries::MirrorsFirstHalf ? first
         : kind == Queries::OwnSecondHalf  ? second
                                           : first || second;
}

bool RingWriter::isAlwaysSeen(Queries::Kind kind, int64_t step) const {
  return llvm::all_of(llvm::seq<int64_t>(0, ring.devices),
                      [&](int64_t number) { return sees(kind, number, step); });
}

Value RingWriter::lookUp(function_ref<bool(int64_t)> holds) {
  SmallVector<int64_t> table;
  for (int64_t number = 0; number < ring.devices; ++number)
    table.push_back(holds(number));
  if (llvm::all_of(table, [](int64_t here) { return here == 0; }))
    return {};
  auto type = RankedTensorType::get(ring.devices, b.getI64Type());
  Value all = arith::ConstantOp::create(
      b, loc, DenseIntElementsAttr::get(type, ArrayRef<int64_t>(table)));
  return arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ne,
      tensor::ExtractOp::create(b, loc, all, device),
      arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0)));
}

Value RingWriter::isAnyMasked(Value least) {
  // Also where one is NaN.
  return compare(arith::CmpFPredicate::ULE, least,
                 constant(kNegligibleScore / 10));
}

SmallVector<Value> RingWriter::choose(Value condition, TypeRange types,
                                      function_ref<SmallVector<Value>()> yes,
                                      function_ref<SmallVector<Value>()> no) {
  auto branch = scf::IfOp::create(b, loc, types, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, yes());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, no());
  return llvm::to_vector_of<Value>(branch.getResults());
}

Value RingWriter::mayBeLarge(Value largestX, Value largestY, int64_t count) {
  Value sum = arith::MulFOp::create(
      b, loc, arith::MulFOp::create(b, loc, largestX, largestY),
      constant(count));
  return compare(arith::CmpFPredicate::UGT, sum, constant(getLargestScore(op)));
}

void RingWriter::setScopes(Operation *from, Operation *to) {
  SmallVector<std::pair<StringRef, Attribute>> attrs;
  for (StringRef name : {StringRef(kScopeAttr), StringRef(kBackwardAttr)})
    if (Attribute attr = op->getAttr(name))
      attrs.push_back({name, attr});
  auto set = [&](auto &&set, Operation *made) -> void {
    if (made->hasTrait<OpTrait::IsTerminator>())
      return;
    for (auto [name, attr] : attrs)
      if (!made->hasAttr(name))
        made->setAttr(name, attr);
    if (isa<scf::IfOp>(made))
      for (Region &region : made->getRegions())
        for (Operation &inner : region.front())
          set(set, &inner);
  };
  Operation *made = from ? from->getNextNode() : &to->getBlock()->front();
  for (; made != to; made = made->getNextNode())
    set(set, made);
}
