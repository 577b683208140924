//===- BodyEmitter.cpp - The body of a kernel's loops ---------------------===//

#include "lowering/kernels/BodyEmitter.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// What the kernel takes
//===----------------------------------------------------------------------===//

void BodyEmitter::addCaptured(Value value) {
  if (isa<MemRefType>(value.getType()))
    return;
  if (Operation *op = value.getDefiningOp();
      op && matchPattern(op, m_Constant()))
    constants[value] = op;
  else
    scalars.insert(value);
}

BodyEmitter::BodyEmitter(OpBuilder &builder, const KernelGroup &group,
                         Location loc,
                         llvm::function_ref<bool(Value)> isScratch)
    : builder(builder), group(group), loc(loc) {
  auto add = [&](const FlatBuffer &buffer) {
    if (!isScratch(buffer.root) && roots.insert(buffer.root))
      origins.push_back(buffer.origins);
    if (buffer.dynamicOffset)
      views.insert(buffer.dynamicOffset);
    if (isScratch(buffer.root))
      return;
    auto [start, isNew] =
        starts.try_emplace(buffer.root, buffer.offset, Value());
    start->second.first = std::min(start->second.first, buffer.offset);
  };
  for (const Member &member : group.members) {
    for (const Access &access : member.nest.accesses)
      add(access.buffer);
    for (const FlatBuffer &gather : member.nest.gathers)
      add(gather);
    if (!isa<linalg::LinalgOp>(member.nest.op))
      continue;
    for (Value operand : member.nest.op->getOperands())
      addCaptured(operand);
    llvm::SetVector<Value> above;
    getUsedValuesDefinedAbove(member.nest.op->getRegions(), above);
    for (Value value : above)
      addCaptured(value);
  }
  starts.remove_if([](const auto &start) { return start.second.first <= 0; });
}

SmallVector<int64_t> BodyEmitter::getStarts() const {
  return llvm::map_to_vector(
      starts, [](const auto &start) { return start.second.first; });
}

SmallVector<Type> BodyEmitter::getArgumentTypes() const {
  SmallVector<Type> types;
  for (Value root : roots) {
    auto type = cast<MemRefType>(root.getType());
    types.push_back(
        MemRefType::get({type.getNumElements()}, type.getElementType()));
  }
  for (Value scalar : scalars)
    types.push_back(scalar.getType());
  types.append(views.size() + starts.size(), builder.getIndexType());
  return types;
}

/// Facts about the roots for LLVM. `readonly` is about the argument. `noalias`
/// is about memory: it is written only through this argument, or not at all
/// while the kernel runs.
void BodyEmitter::setAliasAttributes(FunctionOpInterface function,
                                     bool areShared) const {
  SmallVector<bool> written(roots.size(), false);
  for (const Member &member : group.members)
    for (const Access &access : member.nest.accesses)
      if (auto it = llvm::find(roots, access.buffer.root);
          access.writes && it != roots.end())
        written[it - roots.begin()] = true;
  updateArgAttrs(function, [&](unsigned i, NamedAttrList &list) {
    if (i >= roots.size())
      return;
    if (!written[i])
      list.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    bool isApart = !(areShared && written[i]);
    for (size_t other = 0; other < roots.size(); ++other)
      if (other != i && (written[i] || written[other]))
        isApart &= !mayAlias(origins[i], origins[other]);
    if (isApart)
      list.set(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  });
}

void BodyEmitter::begin(ValueRange arguments) {
  entry = builder.getInsertionBlock();
  size_t next = 0;
  for (Value root : roots)
    buffers[root] = arguments[next++];
  for (Value scalar : scalars)
    captured.map(scalar, arguments[next++]);
  for (Value view : views)
    offsets[view] = arguments[next++];
  for (auto &[root, start] : starts)
    start.second = arguments[next++];
  for (auto &[value, op] : constants)
    captured.map(value, builder.clone(*op)->getResult(0));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value BodyEmitter::constant(int64_t value) {
  Value &known = indexConstants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    known = arith::ConstantIndexOp::create(builder, loc, value);
  }
  return known;
}

void BodyEmitter::bindLoop(ArrayRef<unsigned> members, const Loop &loop,
                           Value iv) {
  for (auto [index, dim] : llvm::zip_equal(members, loop.dims))
    ivs[{index, dim}] = iv;
}

Value BodyEmitter::indexOf(unsigned member, unsigned dim) {
  Value iv = ivs.lookup({member, int(dim)});
  return iv ? iv : constant(0);
}

/// Where a loop walks `backwards`, sums on the way may be negative.
Value BodyEmitter::addTerm(Value sum, Value index, int64_t stride,
                           bool backwards) {
  auto flags = arith::IntegerOverflowFlags::nsw;
  if (!backwards)
    flags = flags | arith::IntegerOverflowFlags::nuw;
  if (stride == 0)
    return sum;
  if (stride != 1)
    index = arith::MulIOp::create(builder, loc, index, constant(stride), flags);
  if (!sum)
    return index;
  return arith::AddIOp::create(builder, loc, sum, index, flags);
}

Value BodyEmitter::addStart(Value sum, const FlatBuffer &buffer,
                            bool backwards) {
  if (buffer.dynamicOffset)
    sum = addTerm(sum, offsets.lookup(buffer.dynamicOffset), 1, backwards);
  int64_t offset = buffer.offset;
  if (auto start = starts.find(buffer.root); start != starts.end()) {
    sum = addTerm(sum, start->second.second, 1, backwards);
    offset -= start->second.first;
  }
  if (offset != 0)
    sum = addTerm(sum, constant(offset), 1, backwards);
  return sum ? sum : constant(0);
}

static bool anyNegative(ArrayRef<int64_t> strides) {
  return llvm::any_of(strides, [](int64_t stride) { return stride < 0; });
}

Value BodyEmitter::emitAddress(unsigned member, const Access &access) {
  const LoopNest &nest = group.members[member].nest;
  Value sum;
  if (access.linear) {
    bool backwards = anyNegative(access.strides);
    for (auto [dim, stride] : llvm::enumerate(access.strides))
      if (Value iv = ivs.lookup({member, int(dim)}))
        sum = addTerm(sum, iv, stride, backwards);
    return addStart(sum, access.buffer, backwards);
  }
  bool backwards = anyNegative(access.buffer.strides);
  SmallVector<Value> loops;
  for (unsigned dim = 0; dim < nest.sizes.size(); ++dim)
    loops.push_back(indexOf(member, dim));
  for (auto [expr, stride] :
       llvm::zip_equal(access.map.getResults(), access.buffer.strides))
    sum = addTerm(sum, affine::expandAffineExpr(builder, loc, expr, loops, {}),
                  stride, backwards);
  return addStart(sum, access.buffer, backwards);
}

Value BodyEmitter::emitGatherAddress(const FlatBuffer &buffer,
                                     ValueRange indices) {
  Value sum;
  bool backwards = anyNegative(buffer.strides);
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    sum = addTerm(sum, index, stride, backwards);
  return addStart(sum, buffer, backwards);
}

Value BodyEmitter::emitLoad(const Access &access, Value address) {
  return memref::LoadOp::create(builder, loc, getBuffer(access), address);
}

void BodyEmitter::emitStore(Value value, const Access &access, Value address) {
  memref::StoreOp::create(builder, loc, value, getBuffer(access), address);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// The product that a sum is fused with, if both are of one body: the first of
/// its operands that is one, and is nothing else's operand.
static arith::MulFOp getFused(Operation *sum) {
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(sum))
    for (Value operand : sum->getOperands())
      if (auto product = operand.getDefiningOp<arith::MulFOp>();
          product && product->hasOneUse() &&
          product->getBlock() == sum->getBlock())
        return product;
  return {};
}

/// Whether the op may be contracted: a product and the sum that reads it become
/// a fused multiply-add if they are in one body. Values between ops are
/// rounded: a result must not depend on whether ops share a kernel, or on where
/// the value is stored. Functions are expanded to such ops.
static bool isContracted(Operation *op) {
  if (isa<arith::MulFOp>(op))
    return op->hasOneUse() && getFused(*op->user_begin()) == op;
  return getFused(op) || isa<math::MathDialect>(op->getDialect());
}

/// Contraction to fused multiply-add is the one liberty taken. That the sign of
/// zero does not matter is for the op to say. On a conversion the flag would
/// say that rounding may be left out.
static void setFastMath(Operation *op, bool contract) {
  auto arith = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!arith || isa<arith::ExtFOp, arith::TruncFOp>(op))
    return;
  auto flags = arith::FastMathFlags::none;
  if (contract)
    flags = flags | arith::FastMathFlags::contract;
  if (arith::FastMathFlagsAttr known = arith.getFastMathFlagsAttr())
    flags = flags | (known.getValue() & (arith::FastMathFlags::nsz |
                                         arith::FastMathFlags::afn));
  op->setAttr(arith.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

/// Replaces loop indices and reads of buffers in a cloned op.
void BodyEmitter::rewriteNested(Operation *root, unsigned member) {
  const LoopNest &nest = group.members[member].nest;
  // The views in the original op's order; clones keep that order.
  root->walk([&](Operation *op) {
    OpBuilder::InsertionGuard guard(builder);
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      op->getResult(0).replaceAllUsesWith(indexOf(member, index.getDim()));
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      Value base = getViewRoot(load.getMemRef());
      for (const FlatBuffer &gather : nest.gathers) {
        if (gather.root != base)
          continue;
        FailureOr<FlatBuffer> buffer = flatten(load.getMemRef(), load);
        if (failed(buffer))
          return;
        builder.setInsertionPoint(load);
        Value address = emitGatherAddress(*buffer, load.getIndices());
        Value value =
            memref::LoadOp::create(builder, loc, buffers.lookup(base), address);
        load.getResult().replaceAllUsesWith(value);
        break;
      }
    }
  });
  SmallVector<Operation *> dead;
  root->walk([&](Operation *op) {
    if (isa<linalg::IndexOp>(op) ||
        (isa<memref::LoadOp>(op) && op->use_empty()))
      dead.push_back(op);
  });
  for (Operation *op : dead)
    op->erase();
}

void BodyEmitter::emitBody(unsigned index, ArrayRef<const Access *> carried,
                           MutableArrayRef<Value> values) {
  const LoopNest &nest = group.members[index].nest;
  auto load = [&](const Access &access) {
    for (auto [slot, owner] : llvm::zip_equal(values, carried))
      if (owner == &access)
        return slot;
    return emitLoad(access, emitAddress(index, access));
  };
  auto store = [&](Value value, const Access &access) {
    for (auto [slot, owner] : llvm::zip_equal(values, carried))
      if (owner == &access) {
        slot = value;
        return;
      }
    emitStore(value, access, emitAddress(index, access));
  };
  if (isa<memref::CopyOp>(nest.op))
    return store(load(nest.accesses[0]), nest.accesses[1]);

  auto linalgOp = cast<linalg::LinalgOp>(nest.op);
  Block *body = linalgOp.getBlock();
  IRMapping mapping = captured;
  DenseMap<unsigned, const Access *> byOperand;
  for (const Access &access : nest.accesses)
    byOperand[access.operand] = &access;
  for (OpOperand &operand : nest.op->getOpOperands()) {
    BlockArgument argument = body->getArgument(operand.getOperandNumber());
    const Access *access = byOperand.lookup(operand.getOperandNumber());
    if (!access) {
      if (!isa<MemRefType>(operand.get().getType()))
        mapping.map(argument, captured.lookup(operand.get()));
      continue;
    }
    if (access->reads)
      mapping.map(argument, load(*access));
  }
  Operation *yield = body->getTerminator();
  for (Operation &op : body->without_terminator()) {
    if (auto loopIndex = dyn_cast<linalg::IndexOp>(op)) {
      mapping.map(op.getResult(0), indexOf(index, loopIndex.getDim()));
      continue;
    }
    if (auto gather = dyn_cast<memref::LoadOp>(op)) {
      FailureOr<FlatBuffer> buffer = flatten(gather.getMemRef(), gather);
      if (failed(buffer))
        return;
      SmallVector<Value> indices;
      for (Value value : gather.getIndices())
        indices.push_back(mapping.lookupOrDefault(value));
      mapping.map(op.getResult(0),
                  memref::LoadOp::create(builder, loc,
                                         buffers.lookup(buffer->root),
                                         emitGatherAddress(*buffer, indices))
                      .getResult());
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    setFastMath(clone, isContracted(&op));
    if (clone->getNumRegions() > 0)
      rewriteNested(clone, index);
  }
  for (auto [position, value] : llvm::enumerate(yield->getOperands())) {
    OpOperand *init = linalgOp.getDpsInitOperand(position);
    if (const Access *access = byOperand.lookup(init->getOperandNumber()))
      store(mapping.lookupOrDefault(value), *access);
  }
}
