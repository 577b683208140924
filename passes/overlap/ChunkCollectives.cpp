//===- ChunkCollectives.cpp - Collectives in chunks, with their products --===//
//
// A schedule may want a collective in chunks (dist.overlap "…" chunks 2). Then
// there is one for each part of a dimension that it does not touch. The ops
// that are cut with it (ChunkPlan.h) become one a part, too. While one part
// travels, another one is computed (Wang et al., "Overlap communication with
// dependent computation via decomposition", 2023).
//
// For a ring, the collective becomes calls to the neighbour, with the blocks of
// the dimension that it gathers or scatters. Readers of the result compute with
// each block as it arrives. Ops that compute the operand compute each block
// before it is sent.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/overlap/ChunkPlan.h"
#include "passes/overlap/OverlapProblem.h"
#include "passes/overlap/Passes.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCHUNKCOLLECTIVES
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
class Chunking {
public:
  Chunking(ChunkPlan plan)
      : plan(std::move(plan)), chunks(this->plan.chunks),
        b(this->plan.collective->getContext()) {}
  void write();

private:
  int64_t getSize(int64_t whole, int64_t number) const {
    return whole * (number + 1) / chunks - whole * number / chunks;
  }
  OpFoldResult getBegin(int64_t whole, int64_t number);
  void findPlaces(bool isForward);
  void writeChunks();
  void writeGatherRing(AllGatherOp gather);
  void writeScatterRing(ReduceScatterOp scatter);
  Value passOn(Operation *collective, Value block, int64_t shift);
  void finish();
  Value getPart(Value whole, int64_t dim, int64_t number);
  void writeOp(const ChunkedOp &chunked);
  void writeApart();
  void passSlices();
  void join(Value whole);

  ChunkPlan plan;
  int64_t chunks;
  OpBuilder b;
  /// For a ring: for each part, by its number, the number of its block; and the
  /// position of these, by total size. They are created before `first`.
  Operation *first = nullptr;
  SmallVector<Value> places;
  DenseMap<int64_t, SmallVector<Value>> begins;
  /// Values that are in chunks, and along which dimension.
  llvm::MapVector<Value, std::pair<int64_t, SmallVector<Value>>> made;
};
} // namespace

/// Part `number` of a ring is block `places[number]`: from this device on
/// forward, or from the one before it backward.
void Chunking::findPlaces(bool isForward) {
  first = plan.producers.empty() ? plan.collective
                                 : plan.producers.front().op.getOperation();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(first);
  Location loc = plan.collective->getLoc();
  auto axes = plan.collective->getAttrOfType<ArrayAttr>("axes");
  auto mesh = plan.collective->getAttrOfType<FlatSymbolRefAttr>("mesh");
  Value here = AxisIndexOp::create(b, loc, axes, mesh);
  Value devices = arith::ConstantIndexOp::create(b, loc, chunks);
  for (int64_t number = 0; number < chunks; ++number) {
    Value apart = arith::ConstantIndexOp::create(
        b, loc, isForward ? number : chunks - 1 - number);
    places.push_back(arith::RemUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, here, apart), devices));
  }
}

/// Where part `number` of `whole` elements begins.
OpFoldResult Chunking::getBegin(int64_t whole, int64_t number) {
  if (!plan.isRing)
    return b.getIndexAttr(whole * number / chunks);
  SmallVector<Value> &known = begins[whole];
  if (known.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(first);
    Location loc = plan.collective->getLoc();
    Value size = arith::ConstantIndexOp::create(b, loc, whole / chunks);
    for (Value place : places)
      known.push_back(arith::MulIOp::create(b, loc, place, size));
  }
  return known[number];
}

Value Chunking::getPart(Value whole, int64_t dim, int64_t number) {
  if (auto found = made.find(whole);
      found != made.end() && found->second.first == dim)
    return found->second.second[number];
  if (!plan.isRing && isInChunks(whole, dim, chunks))
    return whole.getDefiningOp<tensor::ConcatOp>().getInputs()[number];
  RankedTensorType type = typeOf(whole);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = getSize(type.getDimSize(dim), number);
  Location loc = whole.getLoc();
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  if (auto fill = whole.getDefiningOp<linalg::FillOp>())
    return linalg::FillOp::create(b, loc, fill.getInputs(),
                                  Value(tensor::EmptyOp::create(
                                      b, loc, shape, type.getElementType())))
        .getResult(0);
  DenseElementsAttr constant;
  if (matchPattern(whole, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, loc,
                                     constant.resizeSplat(type.clone(shape)));
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[dim] = getBegin(type.getDimSize(dim), number);
  return tensor::ExtractSliceOp::create(
      b, loc, type.clone(shape), whole, offsets,
      getAsIndexOpFoldResult(b.getContext(), shape), strides);
}

void Chunking::writeOp(const ChunkedOp &chunked) {
  linalg::LinalgOp op = chunked.op;
  b.setInsertionPoint(op);
  SmallVector<Value> parts;
  int64_t result =
      **findLoopDim(op.getIndexingMapsArray().back(), chunked.loop);
  for (int64_t number = 0; number < chunks; ++number) {
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      auto dim =
          *findLoopDim(op.getMatchingIndexingMap(&operand), chunked.loop);
      operands.push_back(dim ? getPart(operand.get(), *dim, number)
                             : operand.get());
    }
    parts.push_back(
        clone(b, op.getOperation(), operands.back().getType(), operands)
            ->getResult(0));
  }
  made[op->getResult(0)] = {result, std::move(parts)};
}

/// The chunks of a value that is split.
void Chunking::writeApart() {
  tensor::ExpandShapeOp expand = plan.apart;
  b.setInsertionPoint(expand);
  int64_t narrow = *findBlocksOf(expand.getReassociationIndices(), plan.dim);
  SmallVector<int64_t> shape(expand.getResultType().getShape());
  shape[plan.dim] /= chunks;
  SmallVector<Value> parts;
  for (int64_t number = 0; number < chunks; ++number) {
    auto part = tensor::ExpandShapeOp::create(
        b, expand.getLoc(), expand.getResultType().clone(shape),
        getPart(expand.getSrc(), narrow, number),
        expand.getReassociationIndices());
    part->setDiscardableAttrs(expand->getDiscardableAttrDictionary());
    parts.push_back(part);
  }
  made[expand.getResult()] = {plan.dim, std::move(parts)};
}

/// Who takes slices of blocks that were merged again takes them of the chunk
/// that they are in.
void Chunking::passSlices() {
  Value whole = plan.collective->getResult(0);
  // For blocks of which each chunk has the same number.
  if (typeOf(whole).getDimSize(plan.dim) % chunks)
    return;
  ArrayRef<Value> parts = made[whole].second;
  for (Operation *user : llvm::make_early_inc_range(whole.getUsers())) {
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(user);
    if (!collapse)
      continue;
    auto narrow = findBlocksOf(collapse.getReassociationIndices(), plan.dim);
    if (!narrow)
      continue;
    SmallVector<int64_t> shape(collapse.getResultType().getShape());
    int64_t size = shape[*narrow] / chunks;
    shape[*narrow] = size;
    SmallVector<Value> merged(chunks);
    for (Operation *reader :
         llvm::make_early_inc_range(collapse.getResult().getUsers())) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(reader);
      if (!slice)
        continue;
      int64_t offset = slice.getStaticOffsets()[*narrow],
              count = slice.getStaticSizes()[*narrow];
      if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(count) ||
          slice.getStaticStrides()[*narrow] != 1 || count == 0 ||
          offset / size != (offset + count - 1) / size)
        continue;
      int64_t number = offset / size;
      if (!merged[number]) {
        b.setInsertionPoint(collapse);
        auto op = tensor::CollapseShapeOp::create(
            b, collapse.getLoc(), collapse.getResultType().clone(shape),
            parts[number], collapse.getReassociationIndices());
        op->setDiscardableAttrs(collapse->getDiscardableAttrDictionary());
        merged[number] = op;
      }
      SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
      offsets[*narrow] = b.getIndexAttr(offset % size);
      b.setInsertionPoint(slice);
      auto taken = tensor::ExtractSliceOp::create(
          b, slice.getLoc(), slice.getType(), merged[number], offsets,
          slice.getMixedSizes(), slice.getMixedStrides());
      taken->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
      slice.replaceAllUsesWith(taken.getResult());
      slice.erase();
    }
    if (collapse->use_empty())
      collapse.erase();
  }
}

/// Readers of the whole get it in one piece.
void Chunking::join(Value whole) {
  if (whole.use_empty())
    return;
  Operation *maker = whole.getDefiningOp();
  b.setInsertionPointAfter(maker);
  auto &[dim, parts] = made[whole];
  Operation *joined = nullptr;
  if (!plan.isRing) {
    joined = tensor::ConcatOp::create(b, whole.getLoc(), dim, parts);
  } else {
    RankedTensorType type = typeOf(whole);
    Value into = tensor::EmptyOp::create(b, whole.getLoc(), type.getShape(),
                                         type.getElementType());
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        strides(type.getRank(), b.getIndexAttr(1));
    for (auto [number, part] : llvm::enumerate(parts)) {
      offsets[dim] = getBegin(type.getDimSize(dim), number);
      joined = tensor::InsertSliceOp::create(
          b, whole.getLoc(), part, into, offsets,
          getAsIndexOpFoldResult(b.getContext(), typeOf(part).getShape()),
          strides);
      into = joined->getResult(0);
    }
  }
  if (Attribute scope = maker->getAttr(kScopeAttr))
    joined->setAttr(kScopeAttr, scope);
  whole.replaceAllUsesWith(joined->getResult(0));
}

void Chunking::writeChunks() {
  for (const ChunkedOp &producer : plan.producers)
    writeOp(producer);
  if (plan.apart)
    writeApart();
  Operation *collective = plan.collective;
  b.setInsertionPoint(collective);
  SmallVector<Value> parts;
  for (int64_t number = 0; number < chunks; ++number) {
    Value operand = getPart(collective->getOperand(0), plan.dim, number);
    RankedTensorType type = typeOf(collective->getResult(0));
    SmallVector<int64_t> shape(type.getShape());
    shape[plan.dim] = typeOf(operand).getDimSize(plan.dim);
    parts.push_back(
        clone(b, collective, Type(type.clone(shape)), operand)->getResult(0));
  }
  made[collective->getResult(0)] = {plan.dim, std::move(parts)};
  for (const ChunkedOp &consumer : plan.consumers)
    writeOp(consumer);
  passSlices();
}

/// The neighbour's block, for `collective`.
Value Chunking::passOn(Operation *collective, Value block, int64_t shift) {
  auto cause = collective->getAttrOfType<StringAttr>("cause");
  auto next = SendRecvOp::create(
      b, collective->getLoc(), block.getType(), block,
      b.getI64IntegerAttr(shift), b.getUnitAttr(),
      collective->getAttrOfType<ArrayAttr>("axes"),
      collective->getAttrOfType<FlatSymbolRefAttr>("mesh"), cause);
  next->setDiscardableAttrs(collective->getDiscardableAttrDictionary());
  return next;
}

/// A device has its own block first, then that of the next one, and so on.
void Chunking::writeGatherRing(AllGatherOp gather) {
  findPlaces(/*isForward=*/true);
  b.setInsertionPoint(gather);
  SmallVector<Value> parts = {gather.getOperand()};
  while (static_cast<int64_t>(parts.size()) < chunks)
    parts.push_back(passOn(gather, parts.back(), -1));
  made[gather.getResult()] = {plan.dim, std::move(parts)};
  for (const ChunkedOp &consumer : plan.consumers)
    writeOp(consumer);
}

/// The sum of a block begins at the device behind the one that it is for, and
/// goes on to that.
void Chunking::writeScatterRing(ReduceScatterOp scatter) {
  findPlaces(/*isForward=*/false);
  for (const ChunkedOp &producer : plan.producers)
    writeOp(producer);
  b.setInsertionPoint(scatter);
  Location loc = scatter.getLoc();
  Value sum = getPart(scatter.getOperand(), plan.dim, 0);
  RankedTensorType type = typeOf(sum);
  for (int64_t number = 1; number < chunks; ++number) {
    Value others = passOn(scatter, sum, 1),
          own = getPart(scatter.getOperand(), plan.dim, number);
    Value empty =
        tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
    auto add = linalg::AddOp::create(b, loc, ValueRange{others, own}, empty);
    if (Attribute scope = scatter->getAttr(kScopeAttr))
      add->setAttr(kScopeAttr, scope);
    sum = add->getResult(0);
  }
  scatter.getResult().replaceAllUsesWith(sum);
  scatter.erase();
}

/// Concatenates values that are read whole, and erases ops that are done in
/// parts.
void Chunking::finish() {
  // The last first: each is read by later ones only.
  SmallVector<Operation *> done;
  for (auto &entry : made)
    done.push_back(entry.first.getDefiningOp());
  for (Operation *op : llvm::reverse(done)) {
    join(op->getResult(0));
    op->erase();
  }
}

void Chunking::write() {
  if (!plan.isRing)
    writeChunks();
  else if (auto gather = dyn_cast<AllGatherOp>(plan.collective))
    writeGatherRing(gather);
  else
    writeScatterRing(cast<ReduceScatterOp>(plan.collective));
  finish();
}

namespace {
struct ChunkCollectives
    : mlir::dist::impl::DistChunkCollectivesBase<ChunkCollectives> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    // Directives, and whether they have found something to cut.
    llvm::MapVector<Attribute, std::pair<StringRef, bool>> asked;
    if (auto modules = (*mesh)->getAttrOfType<DictionaryAttr>(kOverlapAttr))
      for (NamedAttribute module : modules)
        if (auto wish = dyn_cast<DictionaryAttr>(module.getValue()))
          asked[module.getValue()].first = getNotedModule(module.getName());
    // One device sends nothing.
    if (asked.empty() || (*mesh).getNumDevices() == 1)
      return;
    SmallVector<std::pair<Operation *, DictionaryAttr>> found;
    getOperation().walk([&](Operation *op) {
      if (DictionaryAttr wish = getChunkWish(op, *mesh); wish && isTransfer(op))
        found.push_back({op, wish});
    });
    for (auto [op, wish] : found) {
      auto chunksAttr = wish.getAs<IntegerAttr>("chunks");
      if (!chunksAttr) {
        FailureOr<ChunkPlan> ring = findRing(op, *mesh);
        if (succeeded(ring) && ring->products > 0) {
          asked[wish].second = true;
          Chunking(std::move(*ring)).write();
        }
        continue;
      }
      std::optional<ChunkPlan> best = findChunks(op, chunksAttr.getInt());
      if (!best)
        continue;
      asked[wish].second = true;
      Chunking(std::move(*best)).write();
    }
    // The operands of a concatenation for a collective that is in chunks as
    // well.
    getOperation().walk([](tensor::ConcatOp joined) {
      if (joined->use_empty())
        joined.erase();
    });
    bool failed = false;
    for (auto &[wish, module] : asked)
      if (!module.second) {
        auto by = cast<DictionaryAttr>(wish).getAs<LocationAttr>("by");
        emitError(by) << "dist.overlap: module \"" << module.first
                      << (cast<DictionaryAttr>(wish).get("ring")
                              ? "\" has no all_gather whose blocks, as large "
                                "on all devices, a product can read one by "
                                "one, and no reduce_scatter of a sum whose "
                                "blocks one can make so; of an all_reduce "
                                "\'chunks\' can be made"
                              : "\" has no collective that can be done in so "
                                "many chunks with a product beside it, of rows "
                                "that it leaves apart");
        failed = true;
      }
    if (failed)
      return signalPassFailure();
    // An op is not split twice.
    NamedAttrList left;
    for (NamedAttribute module :
         (*mesh)->getAttrOfType<DictionaryAttr>(kOverlapAttr))
      if (!asked.contains(module.getValue()))
        left.append(module);
    if (left.empty())
      (*mesh)->removeAttr(kOverlapAttr);
    else
      (*mesh)->setAttr(kOverlapAttr, left.getDictionary(&getContext()));
  }
};
} // namespace
