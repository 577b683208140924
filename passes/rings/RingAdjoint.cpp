//===- RingAdjoint.cpp - The adjoint of ring attention --------------------===//
//
// The adjoint of ring attention (Liu et al., "Ring attention with blockwise
// transformers", 2023, appendix A). Keys and values circulate once more. The
// cotangents of a block travel with it, p - 1 times, and each device adds its
// part. Back at its owner, the owner adds its own part. The result is the sum
// over the devices that the program had there.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/attention/ScoreRange.h"
#include "passes/rings/DeviceBlocks.h"
#include "passes/rings/RingWriter.h"

using namespace mlir;
using namespace mlir::dist;

static constexpr StringLiteral kNames[] = {"keys", "values"};

/// The axes of `all` without those of a ring; null if one of these is missing.
static ArrayAttr getFurtherAxes(ArrayAttr all, ArrayAttr ring) {
  SmallVector<Attribute> further;
  for (Attribute axis : all)
    if (!llvm::is_contained(ring, axis))
      further.push_back(axis);
  if (further.size() + ring.size() != all.size())
    return {};
  return ArrayAttr::get(all.getContext(), further);
}

/// Whether it sums over the axes of a ring.
static bool isSumOver(Operation *op, ArrayAttr axes) {
  if (auto sum = dyn_cast<AllReduceOp>(op))
    return sum.getReduction() == ReductionKind::Sum &&
           getFurtherAxes(sum.getAxes(), axes);
  auto sum = dyn_cast<ReduceScatterOp>(op);
  return sum && sum.getReduction() == ReductionKind::Sum &&
         sum.getAxes() == axes;
}

/// Ops on a cotangent on its way, elementwise or reshapes.
static bool isMove(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureTensorSemantics();
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::ConcatOp, tensor::PadOp,
             AllReduceOp>(op);
}

LogicalResult RingAdjoint::findSums(SetVector<Operation *> &sums) {
  SetVector<Operation *> reached;
  for (std::optional<OwnerBlock> &ownerBlock : ownerBlocks)
    if (ownerBlock)
      reached.insert(ownerBlock->whole.user_begin(),
                     ownerBlock->whole.user_end());
  for (unsigned next = 0; next < reached.size(); ++next) {
    Operation *user = reached[next];
    if (isSumOver(user, ring.axes)) {
      sums.insert(user);
      continue;
    }
    if (!isMove(user) || user->getBlock() != op->getBlock())
      return failure();
    reached.insert(user->user_begin(), user->user_end());
  }
  return success();
}

LogicalResult RingAdjoint::findOwnBlock(Operation *sum) {
  Operation *from = sum->getPrevNode();
  OpBuilder at(sum);
  DeviceBlocks blocks(at, loc, mesh, ring.axes, ring.devices, *ring.uniform);
  blocks.setEndsInPadding();
  for (auto [number, ownerBlock] : llvm::enumerate(ownerBlocks))
    if (ownerBlock)
      blocks.set(ownerBlock->whole,
                 *placeOf(op.getFirstInit() + 1 + number, op.getKeyDim()),
                 ownerBlock->placeholder);
  SmallVector<int64_t> dims;
  auto scatter = dyn_cast<ReduceScatterOp>(sum);
  if (scatter)
    dims.push_back(scatter.getDim());
  else
    llvm::append_range(dims, llvm::seq(typeOf(sum->getOperand(0)).getRank()));
  for (int64_t dim : dims) {
    Value block = blocks.get(sum->getOperand(0), dim);
    if (!block || (scatter && block.getType() != scatter.getType()))
      continue;
    sums.push_back({sum, block, dim});
    setScopes(from, sum);
    return success();
  }
  return failure();
}

/// Whether a value depends on a placeholder.
static bool isMadeOf(Value value, Value placeholder, Operation *until) {
  SetVector<Operation *> users(placeholder.user_begin(),
                               placeholder.user_end());
  Operation *maker = value.getDefiningOp();
  for (unsigned next = 0; next < users.size(); ++next) {
    if (users[next] == maker)
      return true;
    if (users[next] != until)
      users.insert(users[next]->user_begin(), users[next]->user_end());
  }
  return value == placeholder;
}

/// A block travels where it is smallest.
void RingAdjoint::findSmallest(OwnerBlock &ownerBlock) {
  int64_t least = getTensorBytes(ownerBlock.travels.getType());
  SmallVector<Operation *> path;
  for (Value block = ownerBlock.placeholder; block.hasOneUse();) {
    Operation *user = *block.user_begin();
    bool isAlone = user->getNumResults() == 1 && isMove(user);
    for (const Sum &sum : sums)
      isAlone &= user != sum.op;
    // Only ops that can be repeated where it is sent.
    for (Value operand : user->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      isAlone &= operand == block || !maker || maker->isBeforeInBlock(op) ||
                 isa<tensor::EmptyOp, linalg::FillOp>(maker) ||
                 maker->hasTrait<OpTrait::ConstantLike>();
      for (std::optional<OwnerBlock> &other : ownerBlocks)
        isAlone &= operand == block || !other ||
                   !isMadeOf(operand, other->placeholder, user);
    }
    if (!isAlone || isa<AllReduceOp>(user))
      break;
    path.push_back(user);
    block = user->getResult(0);
    if (getTensorBytes(block.getType()) < least) {
      least = getTensorBytes(block.getType());
      ownerBlock.travels = block;
      ownerBlock.makers = path;
    }
  }
}

LogicalResult RingAdjoint::findOwnerBlocks() {
  for (unsigned number : {0u, 1u}) {
    Value whole = op->getResult(number + 1);
    if (whole.use_empty())
      continue;
    SmallVector<int64_t> shape(typeOf(whole).getShape());
    shape[*placeOf(op.getFirstInit() + 1 + number, op.getKeyDim())] = blockKeys;
    Value placeholder = empty(shape, typeOf(whole).getElementType());
    ownerBlocks[number] = {whole, placeholder, {}, placeholder};
  }
  SetVector<Operation *> found;
  if (failed(findSums(found)) || llvm::any_of(found, [&](Operation *sum) {
        return failed(findOwnBlock(sum));
      }))
    return emitUnusable()
           << "cotangents of keys and values do not become sums over the "
              "ring's devices block by block";
  for (std::optional<OwnerBlock> &ownerBlock : ownerBlocks)
    if (ownerBlock)
      findSmallest(*ownerBlock);
  return success();
}

Value RingAdjoint::toTravel(const OwnerBlock &ownerBlock, Value block) {
  IRMapping mapping;
  mapping.map(ownerBlock.placeholder, block);
  // Together with ops that were created for it further down.
  auto clone = [&](auto &&clone, Operation *made) -> void {
    for (Value operand : made->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!mapping.contains(operand) && maker &&
          maker->getBlock() == op->getBlock() && !maker->isBeforeInBlock(op))
        clone(clone, maker);
    }
    b.clone(*made, mapping);
  };
  for (Operation *maker : ownerBlock.makers)
    clone(clone, maker);
  return mapping.lookup(ownerBlock.travels);
}

void RingAdjoint::returnToOwner(const Sum &given) {
  auto [sum, block, dim] = given;
  if (isa<ReduceScatterOp>(sum)) {
    sum->getResult(0).replaceAllUsesWith(block);
    return;
  }
  // Readers of the whole gather it.
  OpBuilder at(sum);
  Operation *from = sum->getPrevNode();
  auto reduce = cast<AllReduceOp>(sum);
  ArrayAttr further = getFurtherAxes(reduce.getAxes(), ring.axes);
  if (!further.empty())
    block = AllReduceOp::create(at, loc, block.getType(), block,
                                reduce.getReductionAttr(), further, mesh,
                                reduce.getCauseAttr());
  auto type = typeOf(sum->getResult(0));
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = typeOf(block).getDimSize(dim) * ring.devices;
  Value whole = AllGatherOp::create(at, loc, type.clone(shape), block,
                                    at.getI64IntegerAttr(dim), ring.axes, mesh,
                                    reduce.getCauseAttr());
  if (whole.getType() != type) {
    SmallVector<OpFoldResult> starts(shape.size(), at.getIndexAttr(0)),
        strides(shape.size(), at.getIndexAttr(1));
    whole = tensor::ExtractSliceOp::create(
        at, loc, type, whole, starts,
        getAsIndexOpFoldResult(at.getContext(), type.getShape()), strides);
  }
  sum->getResult(0).replaceAllUsesWith(whole);
  setScopes(from, sum);
  // Except ops that take their own block of the result.
  llvm::SetVector<Operation *> reached(whole.user_begin(), whole.user_end());
  SmallVector<AllSliceOp> slices;
  for (unsigned next = 0; next < reached.size(); ++next) {
    Operation *user = reached[next];
    if (auto slice = dyn_cast<AllSliceOp>(user)) {
      if (slice.getAxes() == ring.axes)
        slices.push_back(slice);
      continue;
    }
    auto structured = dyn_cast<linalg::LinalgOp>(user);
    if (!isMove(user) || isa<AllReduceOp>(user) ||
        user->getBlock() != op->getBlock() ||
        (structured &&
         structured.getNumLoops() != structured.getNumParallelLoops()))
      continue;
    for (Operation *further : user->getUsers())
      reached.insert(further);
  }
  for (AllSliceOp slice : slices) {
    OpBuilder at(slice);
    Operation *from = slice->getPrevNode();
    DeviceBlocks blocks(at, loc, mesh, ring.axes, ring.devices, *ring.uniform);
    blocks.setEndsInPadding();
    Value own = blocks.get(slice.getOperand(), slice.getDim());
    if (!own || own.getType() != slice.getType())
      continue;
    setScopes(from, slice);
    slice.getResult().replaceAllUsesWith(own);
    eraseDead(slice.getOperation(), isOpTriviallyDead, ring.forget);
  }
}

LogicalResult RingAdjoint::findParts() {
  auto place = [&](unsigned operand) {
    return *placeOf(operand, op.getQueryDim());
  };
  unsigned ofResult = op.getResultOperand(), ofLargest = op.getLargestOperand(),
           ofSums = op.getSumsOperand(), ofCotangent = op.getCotangentOperand();
  Part own;
  auto setOwn = [&](auto cut) {
    own.result = cut(ofResult);
    own.largestX = cut(ofLargest);
    own.sums = cut(ofSums);
    own.cotangent = cut(ofCotangent);
    parts.push_back(own);
  };
  if (!ring.isZigzag) {
    static_cast<Queries &>(own) = getOwn(Queries::Own);
    setOwn([&](unsigned operand) { return op->getOperand(operand); });
    return success();
  }
  static_cast<Queries &>(own) = getOwn(Queries::OwnSecondHalf);
  auto cut = [&](unsigned operand, bool isFirst) {
    return cutHalf(op->getOperand(operand), place(operand), isFirst);
  };
  setOwn([&](unsigned operand) { return cut(operand, /*isFirst=*/false); });
  Part mirrors;
  if (failed(getMirrors(mirrors)))
    return failure();
  auto first = [&](unsigned operand) { return cut(operand, /*isFirst=*/true); };
  mirrors.result =
      exchangeWithMirrorRank(first(ofResult), "results of half of the queries");
  std::tie(mirrors.largestX, mirrors.sums) =
      exchangeWithMirrorRank(first(ofLargest), first(ofSums),
                             "largest scores and sums of half of the queries");
  mirrors.cotangent = exchangeWithMirrorRank(
      first(ofCotangent), "cotangents of half of the results");
  parts.push_back(mirrors);
  return success();
}

RankedTensorType RingAdjoint::getTypeOf(unsigned result, const Part &part) {
  RankedTensorType type = typeOf(op.getInits()[result]);
  SmallVector<int64_t> shape(type.getShape());
  auto resize = [&](unsigned dim, int64_t size) {
    if (std::optional<unsigned> place =
            placeOf(op.getFirstInit() + result, dim))
      shape[*place] = size;
  };
  resize(op.getKeyDim(), blockKeys);
  resize(op.getQueryDim(), countQueries(part));
  return type.clone(shape);
}

SmallVector<Value> RingAdjoint::compute(const Part &part, Value keyBlock,
                                        Value valueBlock, Value owner) {
  Value first = arith::MulIOp::create(b, loc, owner, index(blockKeys));
  SmallVector<Value> inits;
  for (unsigned result = 0; result < op.getNumResults(); ++result) {
    RankedTensorType type = getTypeOf(result, part);
    inits.push_back(empty(type.getShape(), type.getElementType()));
  }
  auto made = AttentionAdjointOp::create(
      b, loc, TypeRange(ValueRange(inits)), part.tensor, keyBlock, valueBlock,
      cutExtras(part.extras, first), part.result, part.largestX, part.sums,
      part.cotangent, inits, op.getIndexingMaps(), op.getNanIsZeroAttr(),
      /*window=*/nullptr);
  writeBody(op.getBody(), made.getBody(), part, first,
            -std::numeric_limits<double>::infinity());
  writeBody(op.getAdjoint(), made.getAdjoint(), part, first, 0);
  return llvm::to_vector_of<Value>(made.getResults());
}

RankedTensorType RingAdjoint::getTypeOfTotal(unsigned total, const Part &part) {
  unsigned result = 3 + total;
  RankedTensorType type = getTypeOf(result, part);
  std::optional<unsigned> place =
      placeOf(op.getFirstInit() + result, op.getKeyDim());
  if (!place)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[*place] = blockKeys * ring.devices;
  return type.clone(shape);
}

Value RingAdjoint::addToTotal(unsigned total, const Part &part, Value made,
                              Value owner) {
  Value before = part.totals[total];
  std::optional<unsigned> place =
      placeOf(op.getFirstTotal() + total, op.getKeyDim());
  if (!place)
    return before ? add(before, made) : made;
  // Each block of keys comes once.
  RankedTensorType type = getTypeOfTotal(total, part);
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = tensor::getMixedSizes(b, loc, made),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[*place] =
      arith::MulIOp::create(b, loc, owner, index(blockKeys)).getResult();
  return tensor::InsertSliceOp::create(
      b, loc, made, before ? before : zeros(type), offsets, sizes, strides);
}

Value RingAdjoint::finishTotal(unsigned total) {
  unsigned operand = op.getFirstTotal() + total;
  Value made = parts[0].totals[total];
  if (ring.isZigzag) {
    Value ofMirrors = parts[1].totals[total];
    std::optional<unsigned> place = placeOf(operand, op.getQueryDim());
    // Sums over queries are summed over devices later.
    made = place
               ? join(exchangeWithMirrorRank(ofMirrors,
                                             "what was summed for half of the "
                                             "queries, back"),
                      made, *place)
               : add(made, ofMirrors);
  }
  RankedTensorType type = typeOf(op->getResult(3 + total));
  if (made.getType() == type)
    return made;
  SmallVector<OpFoldResult> starts(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      b, loc, type, made, starts,
      getAsIndexOpFoldResult(b.getContext(), type.getShape()), strides);
}

/// Whether the block of a step must be computed with. That is so if queries may
/// see anything of it. It is also so if masked keys count, because a row has
/// seen so little, or because numbers are so large.
Value RingAdjoint::needs(Part &part, Value keyBlock, Value valueBlock,
                         int64_t step) {
  if (!part.isAnyRowMasked)
    part.isAnyRowMasked = isAnyMasked(getElement(getLeast(part.largestX)));
  SmallVector<int64_t> sizes = op.getDimSizes();
  Value needed =
      either(part.isAnyRowMasked,
             mayBeLarge(getLargest(part.tensor), getLargest(keyBlock),
                        sizes[op.getFeatureDim()]));
  needed = either(needed,
                  mayBeLarge(getLargest(part.cotangent), getLargest(valueBlock),
                             sizes[op.getValueDim()]));
  return either(needed, isSeen(part.kind, step));
}

void RingAdjoint::advance(Part &part, Value keyBlock, Value valueBlock,
                          int64_t step, MutableArrayRef<Value> totals,
                          bool doTravel) {
  Value owner = getOwner(step);
  SmallVector<Type> types = {getTypeOf(0, part)};
  for (std::optional<OwnerBlock> &ownerBlock : ownerBlocks)
    if (ownerBlock)
      types.push_back(
          (doTravel ? ownerBlock->travels : ownerBlock->placeholder).getType());
  unsigned numTotals = op.getNumTotals();
  for (unsigned total = 0; total < numTotals; ++total)
    types.push_back(getTypeOfTotal(total, part));
  part.totals.resize(numTotals);
  auto more = [&] {
    SmallVector<Value> made = compute(part, keyBlock, valueBlock, owner);
    SmallVector<Value> sums = {part.ofQueries ? add(part.ofQueries, made[0])
                                              : made[0]};
    for (unsigned number : {0u, 1u}) {
      if (!ownerBlocks[number])
        continue;
      Value block = made[number + 1];
      if (doTravel)
        block = toTravel(*ownerBlocks[number], block);
      sums.push_back(totals[number] ? add(totals[number], block) : block);
    }
    for (unsigned total = 0; total < numTotals; ++total)
      sums.push_back(addToTotal(total, part, made[3 + total], owner));
    return sums;
  };
  auto same = [&] {
    SmallVector<Value> sums = {part.ofQueries};
    for (unsigned number : {0u, 1u})
      if (ownerBlocks[number])
        sums.push_back(totals[number]);
    llvm::append_range(sums, part.totals);
    for (auto [sum, type] : llvm::zip_equal(sums, types))
      if (!sum)
        sum = zeros(cast<RankedTensorType>(type));
    return sums;
  };
  // With its own block a device computes in any case.
  bool isNeeded = !skips || isAlwaysSeen(part.kind, step) ||
                  (step == 0 && part.kind != Queries::MirrorsFirstHalf);
  SmallVector<Value> sums =
      isNeeded
          ? more()
          : choose(needs(part, keyBlock, valueBlock, step), types, more, same);
  part.ofQueries = sums[0];
  unsigned next = 1;
  for (unsigned number : {0u, 1u})
    if (ownerBlocks[number])
      totals[number] = sums[next++];
  llvm::copy(ArrayRef(sums).drop_front(next), part.totals.begin());
}

Value RingAdjoint::add(Value x, Value y) { return createSum(b, loc, x, y); }

LogicalResult RingAdjoint::write() {
  if (!device) {
    if (failed(findTravellers()))
      return failure();
    device = AxisIndexOp::create(b, loc, b.getIndexType(), ring.axes, mesh);
  }
  if (failed(findOwnerBlocks()) || failed(findParts()))
    return failure();
  skips = isZeroOfZero(op);
  // For the own block, whose owner adds its part at the end; and those that
  // travel.
  Value own[2], totals[2];
  Value keyBlock = keys.block, valueBlock = values.block;
  for (int64_t step = 0; step < ring.devices; ++step) {
    if (step > 0) {
      keyBlock = passOn(keyBlock, "keys");
      valueBlock = passOn(valueBlock, "values");
      for (unsigned number : {0u, 1u})
        if (totals[number])
          totals[number] =
              passOn(totals[number], ("cotangents of " + kNames[number]).str());
    }
    Value owner = getOwner(step);
    Value madeKeys = make(keys, keyBlock, owner),
          madeValues = make(values, valueBlock, owner);
    for (Part &part : parts)
      advance(part, madeKeys, madeValues, step, step == 0 ? own : totals,
              /*doTravel=*/step > 0);
  }
  for (unsigned number : {0u, 1u}) {
    if (!ownerBlocks[number])
      continue;
    Value came =
        passOn(totals[number], ("cotangents of " + kNames[number]).str());
    Value total = add(came, toTravel(*ownerBlocks[number], own[number]));
    for (Sum &sum : sums)
      if (sum.block == ownerBlocks[number]->travels)
        sum.block = total;
    ownerBlocks[number]->travels.replaceAllUsesWith(total);
  }
  Value ofQueries = parts[0].ofQueries;
  if (ring.isZigzag)
    ofQueries =
        join(exchangeWithMirrorRank(parts[1].ofQueries,
                                    "cotangents of half of the queries, back"),
             ofQueries, *placeOf(op.getFirstInit(), op.getQueryDim()));
  for (const Sum &sum : sums)
    returnToOwner(sum);
  op->getResult(0).replaceAllUsesWith(ofQueries);
  for (unsigned total = 0; total < op.getNumTotals(); ++total)
    op->getResult(3 + total).replaceAllUsesWith(finishTotal(total));
  setScopes(before, op);
  // The results derived from the whole cotangents.
  llvm::SetVector<Operation *> users(op->user_begin(), op->user_end());
  for (unsigned next = 0; next < users.size(); ++next)
    for (Operation *further : users[next]->getUsers())
      users.insert(further);
  SmallVector<Operation *> inOrder = users.takeVector();
  llvm::sort(inOrder,
             [](Operation *x, Operation *y) { return y->isBeforeInBlock(x); });
  for (Operation *user : inOrder)
    user->erase();
  return success();
}
