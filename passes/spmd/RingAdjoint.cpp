//===- RingAdjoint.cpp - Cotangents of keys and values go round -----------===//
//
// The adjoint of attention whose keys and values went round (Liu et al., "Ring
// attention with blockwise transformers", 2023, appendix A). They go round
// once more. What a device adds to the cotangents of a block is added to what
// came with the block and goes on with it, p - 1 times, until it is home, where
// the owner adds its own part: the sum over the devices that stood there.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/attention/ScoreRange.h"
#include "passes/spmd/DeviceBlocks.h"
#include "passes/spmd/RingWriter.h"

using namespace mlir;
using namespace mlir::dist;

static constexpr StringLiteral kNames[] = {"keys", "values"};

/// The axes of `all` without those of a ring; null where one of these lacks.
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

/// What is done with a cotangent on its way, element by element or in another
/// shape.
static bool isMove(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureTensorSemantics();
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::ConcatOp, tensor::PadOp,
             AllReduceOp>(op);
}

LogicalResult RingAdjoint::findSums(SetVector<Operation *> &sums) {
  SetVector<Operation *> reached;
  for (std::optional<Home> &home : homes)
    if (home)
      reached.insert(home->whole.user_begin(), home->whole.user_end());
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
  for (auto [number, home] : llvm::enumerate(homes))
    if (home)
      blocks.set(home->whole,
                 *placeOf(op.getFirstInit() + 1 + number, op.getKeyDim()),
                 home->placeholder);
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

/// Whether a value is made of a placeholder.
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
void RingAdjoint::findSmallest(Home &home) {
  int64_t least = getTensorBytes(home.travels.getType());
  SmallVector<Operation *> path;
  for (Value block = home.placeholder; block.hasOneUse();) {
    Operation *user = *block.user_begin();
    bool isAlone = user->getNumResults() == 1 && isMove(user);
    for (const Sum &sum : sums)
      isAlone &= user != sum.op;
    // Nothing else but what can be made again where it is sent.
    for (Value operand : user->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      isAlone &= operand == block || !maker || maker->isBeforeInBlock(op) ||
                 isa<tensor::EmptyOp, linalg::FillOp>(maker) ||
                 maker->hasTrait<OpTrait::ConstantLike>();
      for (std::optional<Home> &other : homes)
        isAlone &= operand == block || !other ||
                   !isMadeOf(operand, other->placeholder, user);
    }
    if (!isAlone || isa<AllReduceOp>(user))
      break;
    path.push_back(user);
    block = user->getResult(0);
    if (getTensorBytes(block.getType()) < least) {
      least = getTensorBytes(block.getType());
      home.travels = block;
      home.makers = path;
    }
  }
}

LogicalResult RingAdjoint::findHomes() {
  for (unsigned number : {0u, 1u}) {
    Value whole = op->getResult(number + 1);
    if (whole.use_empty())
      continue;
    SmallVector<int64_t> shape(typeOf(whole).getShape());
    shape[*placeOf(op.getFirstInit() + 1 + number, op.getKeyDim())] = blockKeys;
    Value placeholder = empty(shape, typeOf(whole).getElementType());
    homes[number] = {whole, placeholder, {}, placeholder};
  }
  SetVector<Operation *> found;
  if (failed(findSums(found)) || llvm::any_of(found, [&](Operation *sum) {
        return failed(findOwnBlock(sum));
      }))
    return emitUnusable()
           << "cotangents of keys and values do not become sums over the "
              "ring's devices block by block";
  for (std::optional<Home> &home : homes)
    if (home)
      findSmallest(*home);
  return success();
}

Value RingAdjoint::toTravel(const Home &home, Value block) {
  IRMapping mapping;
  mapping.map(home.placeholder, block);
  // With what was made for it further down.
  auto clone = [&](auto &&clone, Operation *made) -> void {
    for (Value operand : made->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!mapping.contains(operand) && maker &&
          maker->getBlock() == op->getBlock() && !maker->isBeforeInBlock(op))
        clone(clone, maker);
    }
    b.clone(*made, mapping);
  };
  for (Operation *maker : home.makers)
    clone(clone, maker);
  return mapping.lookup(home.travels);
}

void RingAdjoint::bringHome(const Sum &given) {
  auto [sum, block, dim] = given;
  if (isa<ReduceScatterOp>(sum)) {
    sum->getResult(0).replaceAllUsesWith(block);
    return;
  }
  // Whoever needs all of it gathers it.
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
  // But for those who take their own blocks of what is made of it.
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
    eraseWithMakers(slice, ring);
  }
}

SmallVector<Value> RingAdjoint::compute(Value keyBlock, Value valueBlock,
                                        Value owner) {
  Value first = arith::MulIOp::create(b, loc, owner, index(blockKeys));
  SmallVector<Value> inits;
  for (unsigned result = 0; result < 3; ++result) {
    RankedTensorType type = typeOf(op.getInits()[result]);
    SmallVector<int64_t> shape(type.getShape());
    if (std::optional<unsigned> place =
            placeOf(op.getFirstInit() + result, op.getKeyDim()))
      shape[*place] = blockKeys;
    inits.push_back(empty(shape, type.getElementType()));
  }
  auto part = AttentionAdjointOp::create(
      b, loc, TypeRange(ValueRange(inits)), op.getQuery(), keyBlock, valueBlock,
      cutExtras(extras, first), op.getResult(), op.getLargest(), op.getSums(),
      op.getCotangent(), inits, op.getIndexingMaps(), op.getNanIsZeroAttr());
  writeBody(op.getBody(), part.getBody(), first,
            -std::numeric_limits<double>::infinity());
  writeBody(op.getAdjoint(), part.getAdjoint(), first, 0);
  return llvm::to_vector_of<Value>(part.getResults());
}

/// Whether the device's queries may see anything of the block that is there
/// after so many steps, or a row has so little that what is masked counts, or
/// numbers are so large that they would.
Value RingAdjoint::needs(Value keyBlock, Value valueBlock, int64_t step) {
  auto either = [&](Value x, Value y) -> Value {
    return arith::OrIOp::create(b, loc, x, y);
  };
  SmallVector<int64_t> sizes = op.getDimSizes();
  Value needed =
      either(isAnyRowMasked, mayBeLarge(largestQuery, getLargest(keyBlock),
                                        sizes[op.getFeatureDim()]));
  needed = either(needed, mayBeLarge(largestCotangent, getLargest(valueBlock),
                                     sizes[op.getValueDim()]));
  Value sees = isSeen(step);
  return sees ? either(needed, sees) : needed;
}

Value RingAdjoint::add(Value x, Value y) {
  AffineMap all = b.getMultiDimIdentityMap(typeOf(x).getRank());
  return map(typeOf(x), {x, y}, {all, all}, 1,
             [&](ValueRange args) -> SmallVector<Value> {
               return {arith::AddFOp::create(b, loc, args[0], args[1])};
             })[0];
}

LogicalResult RingAdjoint::write() {
  if (failed(findHomes()))
    return failure();
  extras = llvm::to_vector(op.getExtras());
  padExtras(extras);
  bool skips = isZeroOfZero(op);
  auto isNeeded = [&](int64_t step) { return !skips || isAlwaysSeen(step); };
  if (!llvm::all_of(llvm::seq<int64_t>(1, ring.devices), isNeeded)) {
    isAnyRowMasked = isAnyMasked(op.getLargest());
    largestQuery = getLargest(op.getQuery());
    largestCotangent = getLargest(op.getCotangent());
  }
  // First the own block, whose owner adds its part at the end.
  SmallVector<Value> own = compute(make(keys, keys.block, device),
                                   make(values, values.block, device), device);
  // The cotangent of queries, and those that travel.
  Value ofQueries = own[0], totals[2];
  Value keyBlock = keys.block, valueBlock = values.block;
  for (int64_t step = 1; step < ring.devices; ++step) {
    keyBlock = passOn(keyBlock, "keys");
    valueBlock = passOn(valueBlock, "values");
    for (unsigned number : {0u, 1u})
      if (totals[number])
        totals[number] =
            passOn(totals[number], ("cotangents of " + kNames[number]).str());
    Value owner = getOwner(step);
    Value madeKeys = make(keys, keyBlock, owner),
          madeValues = make(values, valueBlock, owner);
    // What there is with this block.
    auto more = [&] {
      SmallVector<Value> parts = compute(madeKeys, madeValues, owner);
      SmallVector<Value> sums = {add(ofQueries, parts[0])};
      for (unsigned number : {0u, 1u}) {
        if (!homes[number])
          continue;
        Value part = toTravel(*homes[number], parts[number + 1]);
        sums.push_back(totals[number] ? add(totals[number], part) : part);
      }
      return sums;
    };
    SmallVector<Value> sums;
    if (isNeeded(step)) {
      sums = more();
    } else {
      SmallVector<Type> types = {ofQueries.getType()};
      for (std::optional<Home> &home : homes)
        if (home)
          types.push_back(home->travels.getType());
      auto branch =
          scf::IfOp::create(b, loc, types, needs(madeKeys, madeValues, step),
                            /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, more());
      b.setInsertionPointToStart(branch.elseBlock());
      SmallVector<Value> same = {ofQueries};
      for (unsigned number : {0u, 1u})
        if (homes[number])
          same.push_back(totals[number]
                             ? totals[number]
                             : zeros(typeOf(homes[number]->travels)));
      scf::YieldOp::create(b, loc, same);
      sums = llvm::to_vector_of<Value>(branch.getResults());
    }
    ofQueries = sums[0];
    unsigned next = 1;
    for (unsigned number : {0u, 1u})
      if (homes[number])
        totals[number] = sums[next++];
  }
  for (unsigned number : {0u, 1u}) {
    if (!homes[number])
      continue;
    Value came =
        passOn(totals[number], ("cotangents of " + kNames[number]).str());
    Value total = add(came, toTravel(*homes[number], own[number + 1]));
    for (Sum &sum : sums)
      if (sum.block == homes[number]->travels)
        sum.block = total;
    homes[number]->travels.replaceAllUsesWith(total);
  }
  for (const Sum &sum : sums)
    bringHome(sum);
  op->getResult(0).replaceAllUsesWith(ofQueries);
  setScopes(before, op);
  // What became of the whole cotangents.
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
