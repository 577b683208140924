//===- RingAttention.cpp - Keys and values go round -----------------------===//
//
// Attention whose keys and values are gathered, in modules that dist.ring
// names. Each device computes with its own block of them, passes it on to the
// next device and gets that of the device before. The results of the blocks are
// combined as in online softmax (Milakov and Gimelshein 2018). For each query
// these are the weighted means o, the largest x m and the sums l of numerators
// relative to it:
//
//   m' = max(m, m_t), a = l exp(m - m'), b = l_t exp(m_t - m'), l' = a + b,
//   o' = (a o + b o_t) / l'
//
// Some blocks are excluded by masks that depend only on positions. Such a block
// adds nothing to rows that have seen a key before; if all rows have, it is
// only passed on. In zigzag each device does that for the second half of its
// queries, and for the first half of the mirror's (RingZigzag.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/attention/FormAttention.h"
#include "passes/attention/ScoreRange.h"
#include "passes/rings/DeviceBlocks.h"
#include "passes/rings/Passes.h"
#include "passes/rings/RingWriter.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "passes/spmd/verify/Uniformity.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

namespace mlir::dist {
#define GEN_PASS_DEF_RINGATTENTIONPASS
#include "passes/rings/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

LogicalResult RingAttention::findBlocks() {
  if (failed(findTravellers()))
    return failure();
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> rows;
  SmallVector<AffineExpr> inMeans;
  AffineMap means = op.getMap(op.getNumOperands() - op.getInits().size());
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (dim >= op.getNumBatches() && dim != op.getQueryDim())
      continue;
    AffineExpr expr = getAffineDimExpr(dim, context);
    rows.push_back(expr);
    inMeans.push_back(
        getAffineDimExpr(*means.getResultPosition(expr), context));
  }
  rowMap = AffineMap::get(op.getNumDims(), 0, rows, context);
  rowsOfMeans = AffineMap::get(means.getNumResults(), 0, inMeans, context);
  rowPlace = rows.size() - 1;
  meansPlace = rowsOfMeans.getDimPosition(rowPlace);
  return success();
}

RankedTensorType RingAttention::getRowType(const Queries &queries) {
  SmallVector<int64_t> sizes = op.getDimSizes(), shape;
  for (AffineExpr row : rowMap.getResults())
    shape.push_back(sizes[cast<AffineDimExpr>(row).getPosition()]);
  shape[rowPlace] = countQueries(queries);
  return RankedTensorType::get(shape, score);
}

RankedTensorType RingAttention::getMeansType(const Queries &queries) {
  SmallVector<int64_t> shape(typeOf(op.getInits()[0]).getShape());
  shape[meansPlace] = countQueries(queries);
  return RankedTensorType::get(shape, score);
}

Value RingAttention::convert(Value tensor, Type element) {
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

/// The results of queries for a block.
RingAttention::PartialAttention RingAttention::compute(const Queries &queries,
                                                       const Step &step) {
  Value first = arith::MulIOp::create(b, loc, step.owner, index(blockKeys));
  SmallVector<Value> extras = cutExtras(queries.extras, first);
  ArrayRef<int64_t> rows = getRowType(queries).getShape();
  SmallVector<Value> inits = {empty(getMeansType(queries).getShape(),
                                    typeOf(op.getInits()[0]).getElementType()),
                              empty(rows, score), empty(rows, score)};
  SmallVector<AffineMap> maps;
  for (unsigned operand = 0; operand < 4 + extras.size(); ++operand)
    maps.push_back(op.getMap(operand));
  maps.append({rowMap, rowMap});
  auto block = AttentionOp::create(b, loc, TypeRange(ValueRange(inits)),
                                   queries.tensor, step.keys, step.values,
                                   extras, inits, b.getAffineMapArrayAttr(maps),
                                   op.getNanIsZeroAttr(), DenseI64ArrayAttr());
  writeBody(op.getBody(), block.getBody(), queries, first,
            -std::numeric_limits<double>::infinity());
  return {convert(block.getResult(0), score), block.getResult(1),
          block.getResult(2)};
}

RingAttention::PartialAttention
RingAttention::add(const PartialAttention &before,
                   const PartialAttention &more) {
  RankedTensorType rowType = typeOf(before.largest);
  AffineMap all = b.getMultiDimIdentityMap(rowType.getRank());
  Value none = constant(-std::numeric_limits<double>::infinity());
  Value zero = constant(0), one = constant(1);
  auto isEqual = [&](Value x, Value y) {
    return compare(arith::CmpFPredicate::OEQ, x, y);
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
              // Rows that have seen no key add nothing.
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

/// Whether queries may see anything of a block, or a row has seen nothing that
/// would outweigh masked keys, or numbers are so large that nothing would.
Value RingAttention::needs(const Queries &queries,
                           const PartialAttention &before, const Step &step) {
  Value needed;
  if (before.means)
    needed = isAnyMasked(getElement(getLeast(before.largest)));
  // The mirror's own keys outweigh masked ones, unless isMirrorMasked.
  if (queries.kind == Queries::MirrorsFirstHalf)
    needed = both(needed, isMirrorMasked);
  needed = either(needed,
                  mayBeLarge(getLargest(queries.tensor), getLargest(step.keys),
                             op.getDimSizes()[op.getFeatureDim()]));
  needed = either(needed, mayBeLarge(getLargest(step.values), constant(1), 1));
  return either(needed, isSeen(queries.kind, step.number));
}

RingAttention::PartialAttention
RingAttention::advance(const Queries &queries, const PartialAttention &before,
                       const Step &step) {
  // What the mirror computes with itself.
  auto isHere = [&](int64_t device) {
    int64_t p = ring.devices;
    return queries.kind != Queries::MirrorsFirstHalf ||
           (device + p - step.number) % p != getHolder(queries.kind, device);
  };
  auto withMore = [&] {
    PartialAttention more = compute(queries, step);
    return before.means ? add(before, more) : more;
  };
  bool isHereForAll = llvm::all_of(llvm::seq<int64_t>(0, ring.devices), isHere);
  if (isHereForAll && isAlwaysSeen(queries.kind, step.number))
    return withMore();
  Value condition = isHereForAll ? Value() : lookUp(isHere);
  if (!isHereForAll && !condition)
    return before;
  condition = both(condition, needs(queries, before, step));
  RankedTensorType means = getMeansType(queries), rows = getRowType(queries);
  SmallVector<Value> seen = choose(
      condition, {means, rows, rows},
      [&]() -> SmallVector<Value> {
        PartialAttention more = withMore();
        return {more.means, more.largest, more.sums};
      },
      [&]() -> SmallVector<Value> {
        if (before.means)
          return {before.means, before.largest, before.sums};
        Value none = constant(-std::numeric_limits<double>::infinity());
        return {fill(means, constant(0)), fill(rows, none),
                fill(rows, constant(0))};
      });
  return {seen[0], seen[1], seen[2]};
}

RingAttention::PartialAttention
RingAttention::cutHalf(const PartialAttention &seen, bool isFirst) {
  return {RingWriter::cutHalf(seen.means, meansPlace, isFirst),
          RingWriter::cutHalf(seen.largest, rowPlace, isFirst),
          RingWriter::cutHalf(seen.sums, rowPlace, isFirst)};
}

/// The results of the device at the other end for this device's first half.
RingAttention::PartialAttention
RingAttention::returnToOwner(const PartialAttention &ofMirrors) {
  // As precise as a block's own means are.
  Type element = typeOf(op.getInits()[0]).getElementType();
  Value means = exchangeWithMirrorRank(convert(ofMirrors.means, element),
                                       "their means, back");
  auto [largest, sums] = exchangeWithMirrorRank(
      ofMirrors.largest, ofMirrors.sums, "their largest scores and sums, back");
  return {convert(means, score), largest, sums};
}

RingAttention::PartialAttention
RingAttention::join(const PartialAttention &firstHalf,
                    const PartialAttention &secondHalf) {
  return {RingWriter::join(firstHalf.means, secondHalf.means, meansPlace),
          RingWriter::join(firstHalf.largest, secondHalf.largest, rowPlace),
          RingWriter::join(firstHalf.sums, secondHalf.sums, rowPlace)};
}

/// Rows without any key get the softmax of nothing: NaN, or zero.
Value RingAttention::finish(const PartialAttention &seen) {
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

LogicalResult RingAttention::write() {
  if (failed(findBlocks()))
    return failure();
  int64_t p = ring.devices;
  device = AxisIndexOp::create(b, loc, b.getIndexType(), ring.axes, mesh);
  Queries own = getOwn(Queries::Own), mirrors;
  if (ring.isZigzag && failed(getMirrors(mirrors)))
    return failure();
  PartialAttention seen, ofFirstHalf, ofMirrors;
  Value keyBlock = keys.block, valueBlock = values.block;
  for (int64_t number = 0; number < p; ++number) {
    Value nextKeys, nextValues;
    if (number + 1 < p) {
      nextKeys = passOn(keyBlock, "keys");
      nextValues = passOn(valueBlock, "values");
    }
    Step step;
    step.number = number;
    step.owner = getOwner(number);
    step.keys = make(keys, keyBlock, step.owner);
    step.values = make(values, valueBlock, step.owner);
    if (number == 0) {
      seen = compute(own, step);
      if (!ring.seen.empty())
        seen.largest.getDefiningOp()->setAttr(kRingAttr, describeRing());
      if (ring.isZigzag) {
        // The first half continues at the other end, where blocks that a mask
        // excludes come first. This device decides whether they may be skipped,
        // since it has rows that have seen something.
        ofFirstHalf = cutHalf(seen, /*isFirst=*/true);
        isMirrorMasked = isAnyMasked(getElement(exchangeWithMirrorRank(
            getLeast(ofFirstHalf.largest),
            "the least of the largest scores of half of the "
            "queries, with their own keys")));
        own = getOwn(Queries::OwnSecondHalf);
        seen = cutHalf(seen, /*isFirst=*/false);
      }
    } else {
      seen = advance(own, seen, step);
    }
    if (ring.isZigzag)
      ofMirrors = advance(mirrors, ofMirrors, step);
    keyBlock = nextKeys;
    valueBlock = nextValues;
  }
  if (ring.isZigzag)
    seen = join(add(ofFirstHalf, returnToOwner(ofMirrors)), seen);
  op.getResult(0).replaceAllUsesWith(finish(seen));
  replaceRows(seen);
  setScopes(before, op);
  return success();
}

DictionaryAttr RingAttention::describeRing() {
  NamedAttrList note;
  note.set("axes", ring.axes);
  note.set("seen", b.getDenseBoolArrayAttr(ring.seen));
  if (ring.isZigzag)
    note.set("zigzag", b.getUnitAttr());
  if (ring.window)
    note.set("window", ring.window);
  note.set("block_bytes",
           b.getI64IntegerAttr(getTensorBytes(typeOf(keys.block)) +
                               getTensorBytes(typeOf(values.block))));
  return note.getDictionary(b.getContext());
}

/// The op's numbers of rows, in its order of dimensions.
void RingAttention::replaceRows(const PartialAttention &seen) {
  auto replace = [&](unsigned result, ValueRange inputs,
                     function_ref<Value(ValueRange)> get) {
    auto type = typeOf(op.getResult(result));
    AffineMap map =
        op.getMap(op.getNumOperands() - op.getNumResults() + result);
    SmallVector<AffineExpr> places;
    for (AffineExpr row : rowMap.getResults())
      places.push_back(
          getAffineDimExpr(*map.getResultPosition(row), op.getContext()));
    SmallVector<AffineMap> rows(
        inputs.size(),
        AffineMap::get(type.getRank(), 0, places, op.getContext()));
    Value made = this->map(
        type, inputs, rows, 1,
        [&](ValueRange args) -> SmallVector<Value> { return {get(args)}; })[0];
    op.getResult(result).replaceAllUsesWith(made);
  };
  auto first = [](ValueRange args) { return args[0]; };
  if (op.getNumResults() == 2) {
    // The logarithms of sums of exp(x).
    replace(1, {seen.largest, seen.sums}, [&](ValueRange args) -> Value {
      return arith::AddFOp::create(b, loc, args[0],
                                   math::LogOp::create(b, loc, args[1]));
    });
  } else if (op.getNumResults() == 3) {
    replace(1, seen.largest, first);
    replace(2, seen.sums, first);
  }
}

/// Gathers keys and values over the axes again, and repeats the ops before the
/// adjoint on them. So an iteration of a loop keeps only blocks for it.
static void gatherAgain(AttentionAdjointOp op, ArrayAttr axes) {
  Block *block = op->getBlock();
  auto isGather = [&](Operation *maker) {
    auto gather = dyn_cast<AllGatherOp>(maker);
    return gather && gather.getAxes() == axes;
  };
  SetVector<Operation *> makers;
  auto addMaker = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    if (maker && maker->getBlock() == block && maker->getNumRegions() <= 1)
      makers.insert(maker);
  };
  for (unsigned number : {1u, 2u})
    addMaker(op->getOperand(number));
  for (unsigned next = 0; next < makers.size(); ++next)
    if (!isGather(makers[next]))
      for (Value operand : makers[next]->getOperands())
        addMaker(operand);
  SmallVector<Operation *> inOrder = makers.takeVector();
  llvm::sort(inOrder,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  OpBuilder b(op);
  IRMapping again;
  for (Operation *maker : inOrder)
    if (isGather(maker) || llvm::any_of(maker->getOperands(), [&](Value value) {
          return again.contains(value);
        }))
      b.clone(*maker, again);
  for (unsigned number : {1u, 2u})
    op->setOperand(number, again.lookupOrDefault(op->getOperand(number)));
}

namespace {
struct RingAttentionPass
    : mlir::dist::impl::RingAttentionPassBase<RingAttentionPass> {
  /// What there is in a module in which nothing goes round.
  void sayUnused(InFlightDiagnostic &error, const NamedAttribute &attr,
                 DictionaryAttr rings) {
    auto ring = cast<DictionaryAttr>(attr.getValue());
    AttentionOp whole;
    getOperation()->walk([&](AttentionOp op) {
      if (findModuleNote(op, rings) == &attr)
        whole = op;
    });
    if (whole) {
      error << "has attention already as one op, "
            << (whole.getWindow()
                    ? "to the keys near a query (a window), for which "
                      "neighbours exchange rows"
                    : "which stays as it is")
            << ", and nothing goes round: leave dist.ring out";
      error.attachNote(whole.getLoc()) << "this attention";
      return;
    }
    if (auto sizes = ring.getAs<DenseI64ArrayAttr>("sizes")) {
      auto describe = [](int64_t size, StringRef one, StringRef many) {
        return (ShapedType::isDynamic(size) ? "?" : std::to_string(size)) +
               (size == 1 ? one : many).str();
      };
      error << "has attention of " << describe(sizes[0], " query", " queries")
            << " to " << describe(sizes[1], " key", " keys")
            << ", but devices have no block of its queries with all "
               "keys: the keys stay where they are, queries are whole there, "
               "and the softmax is put together, as this moves less where "
               "there are fewer queries than keys or these are replicated; "
               "keys go round where queries are cut over just the ring's axes "
               "(leave dist.ring out)";
      return;
    }
    Operation *folded = nullptr;
    std::string sink;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (findModuleNote(op, rings) == &attr)
        sink = describeFoldedSink(op);
      if (sink.empty())
        return WalkResult::advance();
      folded = op;
      return WalkResult::interrupt();
    });
    if (folded) {
      error << "has " << sink;
      error.attachNote(folded->getLoc()) << "this product";
      return;
    }
    error << "has no attention, softmax between two contractions, whose "
             "weights nothing else reads but its adjoint: name the module "
             "that it is in; what goes back through loops within loops does "
             "not go round (leave dist.ring out: keys and values are "
             "gathered)";
  }

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    auto rings = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kRingsAttr)
                       : DictionaryAttr();
    if (!rings)
      return markAllAnalysesPreserved();
    SmallVector<std::pair<AttentionOp, const NamedAttribute *>> found;
    llvm::SmallPtrSet<const NamedAttribute *, 8> used;
    SmallVector<AttentionAdjointOp> adjoints;
    llvm::SmallPtrSet<Operation *, 8> others;
    getOperation()->walk([&](AttentionAdjointOp op) { others.insert(op); });
    formAttentions(
        getOperation(), /*minScores=*/1, WithAdjoints::Yes,
        /*withFactors=*/true,
        [&](AttentionOp op, AttentionMatch &) {
          const NamedAttribute *ring = findModuleNote(op, rings);
          if (ring)
            found.push_back({op, ring});
          return success(ring != nullptr);
        },
        [&](Block &turn) {
          turn.walk([&](AttentionAdjointOp op) {
            if (const NamedAttribute *ring = findModuleNote(op, rings))
              gatherAgain(op, cast<DictionaryAttr>(ring->getValue())
                                  .getAs<ArrayAttr>("axes"));
          });
        });
    getOperation()->walk([&](AttentionAdjointOp op) {
      if (!others.contains(op))
        adjoints.push_back(op);
    });
    MeshLayout layout(*mesh);
    auto describe = [&](const NamedAttribute &attr) {
      auto ring = cast<DictionaryAttr>(attr.getValue());
      auto axes = ring.getAs<ArrayAttr>("axes");
      auto seen = ring.getAs<DenseBoolArrayAttr>("seen");
      return Ring{getNotedModule(attr.getName()),
                  axes,
                  ring.getAs<LocationAttr>("by"),
                  layout.size(getAxisRefs(axes)),
                  ring.contains("zigzag"),
                  seen ? seen.asArrayRef() : ArrayRef<bool>(),
                  ring.getAs<DenseI64ArrayAttr>("window"),
                  nullptr,
                  nullptr};
    };
    bool failed = false;
    llvm::MapVector<ArrayAttr, llvm::DenseSet<Value>> uniform;
    auto forget = [&](Operation *erased) {
      erased->walk([&](Operation *inner) {
        for (auto &entry : uniform) {
          for (Value value : inner->getResults())
            entry.second.erase(value);
          for (Region &region : inner->getRegions())
            for (Value value : region.getArguments())
              entry.second.erase(value);
        }
      });
    };
    auto addUniform = [&](Ring &ring) {
      auto [known, isNew] = uniform.try_emplace(ring.axes);
      if (isNew)
        known->second =
            findUniformValues(getOperation(), layout, getAxisRefs(ring.axes));
      ring.uniform = &known->second;
      ring.forget = forget;
    };
    llvm::SmallPtrSet<Operation *, 8> written;
    for (auto [op, attr] : found) {
      Ring ring = describe(*attr);
      used.insert(attr);
      if (ring.devices == 1)
        continue;
      if (ring.isZigzag && ring.seen.empty()) {
        emitError(ring.by) << "dist.ring: in module \"" << ring.module
                           << "\" it is not known which keys masks leave, by "
                              "which zigzag shares them out: run "
                              "--dist-plan-rings at level 2";
        failed = true;
        continue;
      }
      addUniform(ring);
      AttentionAdjointOp adjoint;
      if (op.getNumResults() == 3)
        for (Operation *user : op->getResult(0).getUsers())
          if (auto found = dyn_cast<AttentionAdjointOp>(user))
            adjoint = found;
      RingAttention forward(op, ring, layout.getName());
      bool isWritten = succeeded(forward.write());
      if (isWritten && adjoint)
        isWritten = succeeded(RingAdjoint(adjoint, forward).write());
      failed |= !isWritten;
      written.insert(adjoint);
      if (!isWritten)
        continue;
      if (adjoint)
        eraseDead(adjoint.getOperation(), isOpTriviallyDead, forget);
      eraseDead(op.getOperation(), isOpTriviallyDead, forget);
    }
    // Those of loops that go back through other loops.
    for (AttentionAdjointOp op : adjoints) {
      if (failed || written.contains(op))
        continue;
      const NamedAttribute *attr = findModuleNote(op, rings);
      assert(attr && "what is made in backward has the scope of its forward");
      Ring ring = describe(*attr);
      if (ring.devices == 1)
        continue;
      addUniform(ring);
      if (mlir::failed(RingAdjoint(op, ring, layout.getName()).write()))
        failed = true;
      else
        eraseDead(op.getOperation(), isOpTriviallyDead, forget);
    }
    // By directive: one may name many modules.
    llvm::MapVector<Attribute, SmallVector<const NamedAttribute *>> unused;
    for (const NamedAttribute &attr : rings)
      if (!used.contains(&attr))
        unused[LocationAttr(describe(attr).by)].push_back(&attr);
    for (auto &[by, modules] : unused) {
      InFlightDiagnostic error = emitError(cast<LocationAttr>(by));
      error << "dist.ring: module \""
            << getNotedModule(modules.front()->getName()) << "\" ";
      if (modules.size() > 1)
        error << "(and " << modules.size() - 1 << " more) ";
      sayUnused(error, *modules.front(), rings);
      failed = true;
    }
    if (failed)
      return signalPassFailure();
    (*mesh)->removeAttr(kRingsAttr);
  }
};
} // namespace
