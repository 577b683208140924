//===- RingAttention.cpp - Keys and values go round -----------------------===//
//
// Attention whose keys and values are gathered, in modules that dist.ring
// names. Each device computes with its own block of them, passes it on to the
// next one and gets that of the one before. What its queries have seen of
// blocks is put together as in online softmax (Milakov and Gimelshein 2018):
// weighted means o, the largest x m and the sums l of numerators relative to
// it, for each query:
//
//   m' = max(m, m_t), a = l exp(m - m'), b = l_t exp(m_t - m'), l' = a + b,
//   o' = (a o + b o_t) / l'
//
// A block that masks which hang on places alone leave nothing of adds nothing
// to rows that have seen a key before; where all have, it is passed on only.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Passes.h"
#include "passes/attention/FormAttention.h"
#include "passes/attention/ScoreRange.h"
#include "passes/spmd/DeviceBlocks.h"
#include "passes/spmd/Rings.h"
#include <limits>

namespace mlir::dist {
#define GEN_PASS_DEF_RINGATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What a dist.ring says.
struct Ring {
  StringRef module;
  ArrayAttr axes;
  Location by;
  int64_t devices;
  /// Which blocks of keys a device's queries may look at, by device; empty
  /// where that is not known.
  ArrayRef<bool> seen;
};

/// What queries have seen, in the type of scores.
struct Seen {
  Value means, largest, sums;
};

/// Blocks that go round: the device's own, what makes keys or values of one,
/// and which dimension of these is that of keys.
struct Traveller {
  Value block;
  SmallVector<Operation *> makers;
  Value made;
  int64_t place;
};

class RingWriter {
public:
  RingWriter(AttentionOp op, const Ring &ring, FlatSymbolRefAttr mesh)
      : op(op), ring(ring), mesh(mesh), loc(op.getLoc()),
        before(op->getPrevNode()), b(op), score(op.getScoreType()) {}

  LogicalResult write();

private:
  LogicalResult findBlocks();
  InFlightDiagnostic emitUnusable();
  Value constant(double number) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(score, number));
  }
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  Value empty(ArrayRef<int64_t> shape, Type element) {
    return tensor::EmptyOp::create(b, loc, shape, element);
  }
  /// Elementwise over a tensor like `like`, with the maps given.
  SmallVector<Value> map(RankedTensorType like, ValueRange inputs,
                         ArrayRef<AffineMap> maps, unsigned numResults,
                         function_ref<SmallVector<Value>(ValueRange)> body);
  Value convert(Value tensor, Type element);
  Value clearPadding(Value block, int64_t dim, Value owner);
  Value padExtra(Value extra, int64_t dim);
  Value passOn(Value block, StringRef what);
  /// Keys or values of a block that has come.
  Value make(const Traveller &traveller, Value block, Value owner);
  Seen compute(Value keyBlock, Value valueBlock, Value owner);
  Seen add(const Seen &before, const Seen &more);
  Value needs(const Seen &before, int64_t step);
  Value finish(const Seen &seen);
  void setScopes();
  void eraseWhole();

  AttentionOp op;
  const Ring &ring;
  FlatSymbolRefAttr mesh;
  Location loc;
  /// The op that what is made comes after.
  Operation *before;
  OpBuilder b;
  FloatType score;
  Traveller keys, values;
  int64_t numKeys = 0, blockKeys = 0;
  Value device;
  /// Of rows: shape, map from the op's dimensions, and from those of results.
  SmallVector<int64_t> rowShape;
  AffineMap rowMap, rowsOfMeans;
};
} // namespace

static RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

InFlightDiagnostic RingWriter::emitUnusable() {
  InFlightDiagnostic error = emitError(ring.by);
  error << "dist.ring: in module \"" << ring.module << "\" ";
  error.attachNote(loc) << "this attention";
  return error;
}

LogicalResult RingWriter::findBlocks() {
  MLIRContext *context = op.getContext();
  auto placeOf = [&](unsigned operand, unsigned dim) {
    return *op.getMap(operand).getResultPosition(
        getAffineDimExpr(dim, context));
  };
  keys.place = placeOf(1, op.getKeyDim());
  values.place = placeOf(2, op.getKeyDim());
  SmallVector<int64_t> sizes = op.getDimSizes();
  if (llvm::any_of(op->getOperandTypes(), [](Type type) {
        return !cast<ShapedType>(type).hasStaticShape();
      }))
    return emitUnusable() << "sizes of attention are not known";
  numKeys = sizes[op.getKeyDim()];
  DeviceBlocks blocks(b, loc, mesh, ring.axes, ring.devices);
  keys.made = blocks.get(op.getKey(), keys.place);
  values.made = blocks.get(op.getValue(), values.place);
  if (!keys.made || !values.made) {
    InFlightDiagnostic error = emitUnusable();
    error << "no block of " << (keys.made ? "values" : "keys")
          << " can go round over ";
    llvm::interleaveComma(getAxisRefs(ring.axes), error, [&](AxisRefAttr axis) {
      error << "\"" << axis.getName() << "\"";
    });
    error << ": they are not gathered over it alone, or what is "
          << "done with them after that cannot be done block by block";
    return error;
  }
  blockKeys = typeOf(keys.made).getDimSize(keys.place);
  if (typeOf(values.made).getDimSize(values.place) != blockKeys ||
      blockKeys * ring.devices < numKeys)
    return emitUnusable() << "keys and values are in different blocks";
  // What is repeated for several heads is repeated by whoever needs it.
  for (Traveller *traveller : {&keys, &values})
    std::tie(traveller->block, traveller->makers) =
        blocks.findSmallest(traveller->made);
  SmallVector<AffineExpr> rows;
  SmallVector<AffineExpr> inMeans;
  AffineMap means = op.getMap(op.getNumOperands() - op.getInits().size());
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (dim >= op.getNumBatches() && dim != op.getQueryDim())
      continue;
    AffineExpr expr = getAffineDimExpr(dim, context);
    rows.push_back(expr);
    rowShape.push_back(sizes[dim]);
    inMeans.push_back(
        getAffineDimExpr(*means.getResultPosition(expr), context));
  }
  rowMap = AffineMap::get(op.getNumDims(), 0, rows, context);
  rowsOfMeans = AffineMap::get(means.getNumResults(), 0, inMeans, context);
  return success();
}

SmallVector<Value>
RingWriter::map(RankedTensorType like, ValueRange inputs,
                ArrayRef<AffineMap> maps, unsigned numResults,
                function_ref<SmallVector<Value>(ValueRange)> body) {
  SmallVector<Value> inits;
  SmallVector<Type> types;
  SmallVector<AffineMap> all(maps);
  for (unsigned i = 0; i < numResults; ++i) {
    inits.push_back(empty(like.getShape(), like.getElementType()));
    types.push_back(like);
    all.push_back(b.getMultiDimIdentityMap(like.getRank()));
  }
  SmallVector<utils::IteratorType> loops(like.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, loc, types, inputs, inits, all, loops,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        SmallVector<Value> results = body(arguments.drop_back(numResults));
        linalg::YieldOp::create(b, loc, results);
      });
  return llvm::to_vector_of<Value>(generic.getResults());
}

Value RingWriter::convert(Value tensor, Type element) {
  RankedTensorType type = typeOf(tensor);
  if (type.getElementType() == element)
    return tensor;
  bool widens = element.getIntOrFloatBitWidth() >
                type.getElementType().getIntOrFloatBitWidth();
  return map(type.clone(element), tensor,
             b.getMultiDimIdentityMap(type.getRank()), 1,
             [&](ValueRange args) -> SmallVector<Value> {
               if (widens)
                 return {arith::ExtFOp::create(b, loc, element, args[0])};
               return {arith::TruncFOp::create(b, loc, element, args[0])};
             })[0];
}

/// Padding may be anything, also what 0 times is not 0.
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

/// As long as all blocks together.
Value RingWriter::padExtra(Value extra, int64_t dim) {
  RankedTensorType type = typeOf(extra);
  SmallVector<OpFoldResult> low(type.getRank(), b.getIndexAttr(0)), high = low;
  high[dim] = b.getIndexAttr(blockKeys * ring.devices - numKeys);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = blockKeys * ring.devices;
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(b, loc, type.clone(shape), extra, low, high,
                               zero);
}

Value RingWriter::passOn(Value block, StringRef what) {
  std::string cause;
  llvm::raw_string_ostream text(cause);
  if (auto file = dyn_cast<FileLineColLoc>(ring.by))
    text << file.getFilename().strref() << ":" << file.getLine() << ": ";
  text << "dist.ring \"" << ring.module << "\": passes " << what << " on";
  return SendRecvOp::create(b, loc, block.getType(), block,
                            b.getI64IntegerAttr(1), b.getUnitAttr(), ring.axes,
                            mesh, b.getStringAttr(cause));
}

Value RingWriter::make(const Traveller &traveller, Value block, Value owner) {
  Value made = traveller.made;
  if (block != traveller.block) {
    IRMapping mapping;
    mapping.map(traveller.block, block);
    for (Operation *op : traveller.makers)
      b.clone(*op, mapping);
    made = mapping.lookupOrDefault(made);
  }
  if (&traveller == &values && blockKeys * ring.devices > numKeys)
    made = clearPadding(made, traveller.place, owner);
  return made;
}

/// What queries see of the block of `owner`.
Seen RingWriter::compute(Value keyBlock, Value valueBlock, Value owner) {
  Value keys = make(this->keys, keyBlock, owner),
        values = make(this->values, valueBlock, owner);
  Value first = arith::MulIOp::create(b, loc, owner, index(blockKeys));
  SmallVector<Value> extras;
  for (auto [number, extra] : llvm::enumerate(op.getExtras())) {
    std::optional<unsigned> place = op.getMap(3 + number)
                                        .getResultPosition(getAffineDimExpr(
                                            op.getKeyDim(), op.getContext()));
    if (!place) {
      extras.push_back(extra);
      continue;
    }
    RankedTensorType type = typeOf(extra);
    SmallVector<int64_t> shape(type.getShape());
    shape[*place] = blockKeys;
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        sizes = getAsIndexOpFoldResult(b.getContext(), shape),
        strides(type.getRank(), b.getIndexAttr(1));
    offsets[*place] = first;
    extras.push_back(tensor::ExtractSliceOp::create(
        b, loc, type.clone(shape), extra, offsets, sizes, strides));
  }
  RankedTensorType meansType = typeOf(op.getInits()[0]);
  SmallVector<Value> inits = {
      empty(meansType.getShape(), meansType.getElementType()),
      empty(rowShape, score), empty(rowShape, score)};
  SmallVector<AffineMap> maps;
  for (unsigned operand = 0; operand < 4 + extras.size(); ++operand)
    maps.push_back(op.getMap(operand));
  maps.append({rowMap, rowMap});
  auto block = AttentionOp::create(b, loc, TypeRange(ValueRange(inits)),
                                   op.getQuery(), keys, values, extras, inits,
                                   b.getAffineMapArrayAttr(maps),
                                   op.getNanIsZeroAttr(), DenseI64ArrayAttr());
  IRMapping mapping;
  op.getBody().cloneInto(&block.getBody(), mapping);
  // The body speaks of keys by their places in the sequence.
  Block &body = block.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  Value local = body.getArguments().back();
  Value place = arith::AddIOp::create(b, loc, local, first);
  local.replaceAllUsesExcept(place, place.getDefiningOp());
  if (blockKeys * ring.devices > numKeys) {
    auto yield = cast<AttentionYieldOp>(body.getTerminator());
    b.setInsertionPoint(yield);
    Value isKey = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                        place, index(numKeys));
    Value none = constant(-std::numeric_limits<double>::infinity());
    yield.setOperand(
        arith::SelectOp::create(b, loc, isKey, yield.getOperand(), none));
  }
  b.setInsertionPointAfter(block);
  return {convert(block.getResult(0), score), block.getResult(1),
          block.getResult(2)};
}

Seen RingWriter::add(const Seen &before, const Seen &more) {
  auto rowType = RankedTensorType::get(rowShape, score);
  AffineMap all = b.getMultiDimIdentityMap(rowType.getRank());
  Value none = constant(-std::numeric_limits<double>::infinity());
  Value zero = constant(0), one = constant(1);
  auto isEqual = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  };
  // m', l', and the shares a / l' and b / l'.
  SmallVector<Value> rows =
      map(rowType, {before.largest, before.sums, more.largest, more.sums},
          {all, all, all, all}, 4, [&](ValueRange args) -> SmallVector<Value> {
            Value largest = arith::MaximumFOp::create(b, loc, args[0], args[2]);
            auto weigh = [&](Value own, Value sum) {
              Value power = math::ExpOp::create(
                  b, loc, arith::SubFOp::create(b, loc, own, largest));
              power = select(isEqual(own, largest), one, power);
              Value weight = arith::MulFOp::create(b, loc, sum, power);
              // Of rows that have seen no key there is nothing.
              return select(isEqual(own, none), zero, weight);
            };
            Value a = weigh(args[0], args[1]), c = weigh(args[2], args[3]);
            Value sum = arith::AddFOp::create(b, loc, a, c);
            return {largest, sum, arith::DivFOp::create(b, loc, a, sum),
                    arith::DivFOp::create(b, loc, c, sum)};
          });
  RankedTensorType type = typeOf(before.means);
  AffineMap each = b.getMultiDimIdentityMap(type.getRank());
  Value means = map(
      type,
      {before.means, more.means, before.largest, more.largest, rows[2],
       rows[3]},
      {each, each, rowsOfMeans, rowsOfMeans, rowsOfMeans, rowsOfMeans}, 1,
      [&](ValueRange args) -> SmallVector<Value> {
        auto part = [&](Value mean, Value largest, Value share) {
          return select(isEqual(largest, none), zero,
                        arith::MulFOp::create(b, loc, mean, share));
        };
        return {arith::AddFOp::create(b, loc, part(args[0], args[2], args[4]),
                                      part(args[1], args[3], args[5]))};
      })[0];
  return {means, rows[0], rows[1]};
}

/// Whether the device's queries may see anything of the block that is there
/// after so many steps, or a row has seen nothing that would outweigh what is
/// masked.
Value RingWriter::needs(const Seen &before, int64_t step) {
  Value start = linalg::FillOp::create(
                    b, loc, constant(std::numeric_limits<double>::infinity()),
                    empty({}, score))
                    .getResult(0);
  int64_t rank = rowShape.size();
  SmallVector<AffineMap> maps = {b.getMultiDimIdentityMap(rank),
                                 AffineMap::get(rank, 0, b.getContext())};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::reduction);
  Value least = linalg::GenericOp::create(
                    b, loc, start.getType(), before.largest, start, maps, loops,
                    [&](OpBuilder &inner, Location, ValueRange args) {
                      Value less = arith::MinimumFOp::create(inner, loc,
                                                             args[0], args[1]);
                      linalg::YieldOp::create(inner, loc, less);
                    })
                    .getResult(0);
  least = tensor::ExtractOp::create(b, loc, least, ValueRange());
  // Also where one is NaN.
  Value needed = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ULE, least,
                                       constant(kNegligibleScore / 10));
  SmallVector<int64_t> table;
  for (int64_t number = 0; number < ring.devices; ++number)
    table.push_back(ring.seen[number * ring.devices +
                              (number + ring.devices - step) % ring.devices]);
  if (llvm::all_of(table, [](int64_t sees) { return sees == 0; }))
    return needed;
  auto type = RankedTensorType::get(ring.devices, b.getI64Type());
  Value all = arith::ConstantOp::create(
      b, loc, DenseIntElementsAttr::get(type, ArrayRef<int64_t>(table)));
  Value sees = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ne,
      tensor::ExtractOp::create(b, loc, all, device),
      arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0)));
  return arith::OrIOp::create(b, loc, needed, sees);
}

/// Rows without any key are what softmax of nothing is: no number, or zero.
Value RingWriter::finish(const Seen &seen) {
  RankedTensorType type = typeOf(seen.means);
  bool isZero = op.getNanIsZero();
  Value instead =
      isZero ? constant(0) : constant(std::numeric_limits<double>::quiet_NaN());
  Value means =
      map(type, {seen.means, isZero ? seen.sums : seen.largest},
          {b.getMultiDimIdentityMap(type.getRank()), rowsOfMeans}, 1,
          [&](ValueRange args) -> SmallVector<Value> {
            Value isNone =
                isZero
                    ? arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                            args[1], args[1])
                    : arith::CmpFOp::create(
                          b, loc, arith::CmpFPredicate::OEQ, args[1],
                          constant(-std::numeric_limits<double>::infinity()));
            return {arith::SelectOp::create(b, loc, isNone, instead, args[0])};
          })[0];
  return convert(means, typeOf(op.getInits()[0]).getElementType());
}

/// All that was made is the module's; ops within others but branches have no
/// scope.
void RingWriter::setScopes() {
  Attribute scope = op->getAttr(kScopeAttr);
  if (!scope)
    return;
  auto set = [&](auto &&set, Operation *made) -> void {
    if (made->hasTrait<OpTrait::IsTerminator>())
      return;
    if (!made->hasAttr(kScopeAttr))
      made->setAttr(kScopeAttr, scope);
    if (isa<scf::IfOp>(made))
      for (Region &region : made->getRegions())
        for (Operation &inner : region.front())
          set(set, &inner);
  };
  Operation *made = before ? before->getNextNode() : &op->getBlock()->front();
  for (; made != op; made = made->getNextNode())
    set(set, made);
}

/// The attention, and what was made for it alone: gathers.
void RingWriter::eraseWhole() {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert_range(op->getOperands());
  op.erase();
  while (!used.empty()) {
    Operation *maker = used.pop_back_val().getDefiningOp();
    if (!maker || !isOpTriviallyDead(maker))
      continue;
    used.insert_range(maker->getOperands());
    maker->erase();
  }
}

LogicalResult RingWriter::write() {
  if (failed(findBlocks()))
    return failure();
  int64_t p = ring.devices;
  device = AxisIndexOp::create(b, loc, b.getIndexType(), ring.axes, mesh);
  SmallVector<Value> extras(op.getExtras());
  if (blockKeys * p > numKeys)
    for (auto [number, extra] : llvm::enumerate(extras))
      if (std::optional<unsigned> place =
              op.getMap(3 + number)
                  .getResultPosition(
                      getAffineDimExpr(op.getKeyDim(), op.getContext())))
        op.getExtrasMutable()[number].set(padExtra(extra, *place));
  Seen seen;
  Value keyBlock = keys.block, valueBlock = values.block;
  for (int64_t step = 0; step < p; ++step) {
    Value nextKeys, nextValues;
    if (step + 1 < p) {
      nextKeys = passOn(keyBlock, "keys");
      nextValues = passOn(valueBlock, "values");
    }
    // Whose block it is.
    Value owner = device;
    if (step > 0)
      owner = arith::RemUIOp::create(
          b, loc, arith::AddIOp::create(b, loc, device, index(p - step)),
          index(p));
    bool isAlwaysSeen = true;
    for (int64_t number = 0; number < p && !ring.seen.empty(); ++number)
      isAlwaysSeen &= ring.seen[number * p + (number + p - step) % p];
    if (step == 0) {
      seen = compute(keyBlock, valueBlock, owner);
    } else if (isAlwaysSeen) {
      seen = add(seen, compute(keyBlock, valueBlock, owner));
    } else {
      Value condition = needs(seen, step);
      auto branch = scf::IfOp::create(b, loc,
                                      TypeRange{seen.means.getType(),
                                                seen.largest.getType(),
                                                seen.sums.getType()},
                                      condition, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Seen more = add(seen, compute(keyBlock, valueBlock, owner));
      scf::YieldOp::create(b, loc,
                           ValueRange{more.means, more.largest, more.sums});
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc,
                           ValueRange{seen.means, seen.largest, seen.sums});
      seen = {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
    }
    keyBlock = nextKeys;
    valueBlock = nextValues;
  }
  op.getResult(0).replaceAllUsesWith(finish(seen));
  if (op.getInits().size() > 1) {
    // The logarithms of sums of exp(x).
    auto type = typeOf(op.getResult(1));
    AffineMap map = op.getMap(op.getNumOperands() - 1);
    SmallVector<AffineExpr> places;
    for (AffineExpr row : rowMap.getResults())
      places.push_back(
          getAffineDimExpr(*map.getResultPosition(row), op.getContext()));
    AffineMap rows = AffineMap::get(type.getRank(), 0, places, op.getContext());
    Value logarithms =
        this->map(type, {seen.largest, seen.sums}, {rows, rows}, 1,
                  [&](ValueRange args) -> SmallVector<Value> {
                    return {arith::AddFOp::create(
                        b, loc, args[0], math::LogOp::create(b, loc, args[1]))};
                  })[0];
    op.getResult(1).replaceAllUsesWith(logarithms);
  }
  setScopes();
  eraseWhole();
  return success();
}

namespace {
struct RingAttentionPass
    : mlir::dist::impl::RingAttentionPassBase<RingAttentionPass> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    auto rings = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kRingsAttr)
                       : DictionaryAttr();
    if (!rings)
      return;
    SmallVector<std::pair<AttentionOp, const NamedAttribute *>> found;
    llvm::SmallPtrSet<const NamedAttribute *, 8> used;
    formAttentions(getOperation(), /*minScores=*/1, /*withAdjoints=*/false,
                   [&](AttentionOp op) {
                     const NamedAttribute *ring = findRing(op, rings);
                     if (ring)
                       found.push_back({op, ring});
                     return success(ring != nullptr);
                   });
    MeshLayout layout(*mesh);
    auto describe = [&](const NamedAttribute &attr) {
      auto ring = cast<DictionaryAttr>(attr.getValue());
      auto axes = ring.getAs<ArrayAttr>("axes");
      auto seen = ring.getAs<DenseBoolArrayAttr>("seen");
      return Ring{attr.getName(), axes, ring.getAs<LocationAttr>("by"),
                  layout.size(getAxisRefs(axes)),
                  seen ? seen.asArrayRef() : ArrayRef<bool>()};
    };
    bool failed = false;
    for (auto [op, attr] : found) {
      Ring ring = describe(*attr);
      used.insert(attr);
      if (ring.devices > 1)
        failed |= mlir::failed(RingWriter(op, ring, layout.getName()).write());
    }
    for (const NamedAttribute &attr : rings)
      if (!used.contains(&attr)) {
        Ring ring = describe(attr);
        emitError(ring.by)
            << "dist.ring: module \"" << ring.module
            << "\" has no attention, softmax between two contractions, whose "
               "weights nothing else reads: name the module that it is in. "
               "(Gradients read the weights.)";
        failed = true;
      }
    if (failed)
      return signalPassFailure();
    (*mesh)->removeAttr(kRingsAttr);
  }
};
} // namespace
