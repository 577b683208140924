//===- KernelEmitter.cpp - A group of loop nests as a function ------------===//

#include "lowering/cpu/KernelEmitter.h"
#include "dialects/dist/IR/FunctionAttrs.h"
#include "lowering/kernels/KernelLoops.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class Emitter {
public:
  Emitter(OpBuilder &builder, KernelGroup group, const Machine &machine)
      : builder(builder), group(std::move(group)), machine(machine) {}

  FailureOr<Kernel> emit(StringRef name, SmallVector<Value> &scratch);

private:
  // Analysis.
  void collectArguments();
  void addCaptured(Value value);
  void setAliasAttributes(func::FuncOp function);

  // Emission.
  Value constant(int64_t value);
  void emitLoops(ArrayRef<Loop> loops, ArrayRef<unsigned> members,
                 llvm::function_ref<void()> body);
  void emitRun(const Run &run);
  void emitCarried(const Run &run, ArrayRef<Loop> loops,
                   MutableArrayRef<Value> carried);
  void emitBody(unsigned member, MutableArrayRef<Value> carried);
  Value emitAddress(unsigned member, const Access &access);
  Value emitGatherAddress(const FlatBuffer &buffer, ValueRange indices);
  Value addTerm(Value sum, Value index, int64_t stride, bool backwards);
  Value addStart(Value sum, const FlatBuffer &buffer, bool backwards);
  void rewriteNested(Operation *op, unsigned member);
  Value indexOf(unsigned member, unsigned dim);
  void bind(ArrayRef<unsigned> members, const Loop &loop, Value iv);

  OpBuilder &builder;
  KernelGroup group;
  const Machine &machine;
  Location loc = UnknownLoc::get(builder.getContext());
  Block *entry = nullptr;

  llvm::SetVector<Value> roots, scalars, views;
  SmallVector<const Origins *> origins;          // of the roots
  llvm::MapVector<Value, Operation *> constants; // captured constants
  DenseMap<Value, int64_t> scratchSizes;
  DenseMap<Value, Value> buffers; // root to argument or scratch
  IRMapping captured;
  DenseMap<Value, Value> offsets; // view to argument
  DenseMap<int64_t, Value> indexConstants;
  /// Induction variable of (member, dim).
  DenseMap<std::pair<unsigned, int>, Value> ivs;
  /// Outputs that the innermost loops of the current run carry.
  SmallVector<std::pair<unsigned, const Access *>> carriedAccesses;
};

} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

void Emitter::addCaptured(Value value) {
  if (isa<MemRefType>(value.getType()))
    return;
  if (Operation *op = value.getDefiningOp();
      op && matchPattern(op, m_Constant()))
    constants[value] = op;
  else
    scalars.insert(value);
}

void Emitter::collectArguments() {
  auto add = [&](const FlatBuffer &buffer) {
    if (!scratchSizes.contains(buffer.root) && roots.insert(buffer.root))
      origins.push_back(buffer.origins);
    if (buffer.dynamicOffset)
      views.insert(buffer.dynamicOffset);
  };
  for (Member &member : group.members) {
    for (Access &access : member.nest.accesses)
      add(access.buffer);
    for (FlatBuffer &gather : member.nest.gathers)
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
}

/// What LLVM may assume of the roots. `readonly` speaks of the argument;
/// `noalias` speaks of memory: what lies there is written through this argument
/// alone, or not at all while the kernel runs.
void Emitter::setAliasAttributes(func::FuncOp function) {
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
    bool isApart = true;
    for (size_t other = 0; other < roots.size(); ++other)
      if (other != i && (written[i] || written[other]))
        isApart &= !mayAlias(origins[i], origins[other]);
    if (isApart)
      list.set(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  });
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Value Emitter::constant(int64_t value) {
  Value &known = indexConstants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    known = arith::ConstantIndexOp::create(builder, loc, value);
  }
  return known;
}

void Emitter::bind(ArrayRef<unsigned> members, const Loop &loop, Value iv) {
  for (auto [index, dim] : llvm::zip_equal(members, loop.dims))
    ivs[{index, dim}] = iv;
}

void Emitter::emitLoops(ArrayRef<Loop> loops, ArrayRef<unsigned> members,
                        llvm::function_ref<void()> body) {
  if (loops.empty())
    return body();
  auto loop = scf::ForOp::create(builder, loc, constant(0),
                                 constant(loops.front().size), constant(1));
  bind(members, loops.front(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitLoops(loops.drop_front(), members, body);
}

Value Emitter::indexOf(unsigned member, unsigned dim) {
  Value iv = ivs.lookup({member, int(dim)});
  return iv ? iv : constant(0);
}

/// Where a loop walks `backwards`, sums on the way may be negative.
Value Emitter::addTerm(Value sum, Value index, int64_t stride, bool backwards) {
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

Value Emitter::addStart(Value sum, const FlatBuffer &buffer, bool backwards) {
  if (buffer.dynamicOffset)
    sum = addTerm(sum, offsets.lookup(buffer.dynamicOffset), 1, backwards);
  if (buffer.offset != 0)
    sum = addTerm(sum, constant(buffer.offset), 1, backwards);
  return sum ? sum : constant(0);
}

static bool anyNegative(ArrayRef<int64_t> strides) {
  return llvm::any_of(strides, [](int64_t stride) { return stride < 0; });
}

Value Emitter::emitAddress(unsigned member, const Access &access) {
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

Value Emitter::emitGatherAddress(const FlatBuffer &buffer, ValueRange indices) {
  Value sum;
  bool backwards = anyNegative(buffer.strides);
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    sum = addTerm(sum, index, stride, backwards);
  return addStart(sum, buffer, backwards);
}

/// Contraction to fused multiply-add is the one liberty taken everywhere;
/// reassociation is taken in reductions, whose order is the compiler's choice.
/// On a conversion the flag would say that rounding may be left out.
static void setFastMath(Operation *op, bool reassociate) {
  auto arith = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!arith || isa<arith::ExtFOp, arith::TruncFOp>(op))
    return;
  auto flags = arith::FastMathFlags::contract;
  if (reassociate)
    flags = flags | arith::FastMathFlags::reassoc;
  op->setAttr(arith.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

/// Replaces loop indices and reads of buffers in a cloned op.
void Emitter::rewriteNested(Operation *root, unsigned member) {
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

void Emitter::emitBody(unsigned index, MutableArrayRef<Value> carried) {
  const LoopNest &nest = group.members[index].nest;
  auto load = [&](const Access &access) -> Value {
    return memref::LoadOp::create(builder, loc,
                                  buffers.lookup(access.buffer.root),
                                  emitAddress(index, access));
  };
  auto store = [&](Value value, const Access &access) {
    for (auto [slot, owner] : llvm::zip(carried, carriedAccesses))
      if (owner.second == &access) {
        slot = value;
        return;
      }
    memref::StoreOp::create(builder, loc, value,
                            buffers.lookup(access.buffer.root),
                            emitAddress(index, access));
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
    Value value;
    for (auto [slot, owner] : llvm::zip(carried, carriedAccesses))
      if (owner.second == access)
        value = slot;
    if (!value && access->reads)
      value = load(*access);
    if (value)
      mapping.map(argument, value);
  }
  Operation *yield = body->getTerminator();
  for (Operation &op : body->without_terminator()) {
    bool combines = false;
    for (auto [position, value] : llvm::enumerate(yield->getOperands())) {
      OpOperand *init = linalgOp.getDpsInitOperand(position);
      BlockArgument accumulator = body->getArgument(init->getOperandNumber());
      combines |= value.getDefiningOp() == &op &&
                  llvm::is_contained(op.getOperands(), accumulator);
    }
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
    setFastMath(clone, combines);
    if (clone->getNumRegions() > 0)
      rewriteNested(clone, index);
  }
  for (auto [position, value] : llvm::enumerate(yield->getOperands())) {
    OpOperand *init = linalgOp.getDpsInitOperand(position);
    if (const Access *access = byOperand.lookup(init->getOperandNumber()))
      store(mapping.lookupOrDefault(value), *access);
  }
}

/// The innermost loops, whose accumulators are `carried` in registers.
void Emitter::emitCarried(const Run &run, ArrayRef<Loop> loops,
                          MutableArrayRef<Value> carried) {
  if (loops.empty()) {
    for (unsigned member : run.members)
      emitBody(member, carried);
    return;
  }
  auto loop =
      scf::ForOp::create(builder, loc, constant(0),
                         constant(loops.front().size), constant(1), carried);
  bind(run.members, loops.front(), loop.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    emitCarried(run, loops.drop_front(), inner);
    if (!inner.empty())
      scf::YieldOp::create(builder, loc, inner);
  }
  llvm::copy(loop.getResults(), carried.begin());
}

void Emitter::emitRun(const Run &run) {
  // Outputs that do not move in the innermost loops; all that start standing
  // still at the same loop are carried.
  size_t depth = run.loops.size();
  SmallVector<std::tuple<size_t, unsigned, const Access *>> still;
  for (auto [position, index] : llvm::enumerate(run.members))
    for (const Access &access : group.members[index].nest.accesses) {
      if (!access.writes || !access.linear)
        continue;
      size_t from = run.loops.size();
      while (from > 0 &&
             access.strides[run.loops[from - 1].dims[position]] == 0)
        --from;
      if (from == run.loops.size())
        continue;
      still.push_back({from, index, &access});
      depth = std::min(depth, from);
    }
  carriedAccesses.clear();
  for (auto [from, index, access] : still)
    if (from == depth)
      carriedAccesses.push_back({index, access});

  emitLoops(ArrayRef(run.loops).take_front(depth), run.members, [&] {
    SmallVector<Value> carried, addresses;
    for (auto [index, access] : carriedAccesses) {
      addresses.push_back(emitAddress(index, *access));
      carried.push_back(memref::LoadOp::create(
          builder, loc, buffers.lookup(access->buffer.root), addresses.back()));
    }
    emitCarried(run, ArrayRef(run.loops).drop_front(depth), carried);
    for (auto [owner, value, address] :
         llvm::zip_equal(carriedAccesses, carried, addresses))
      memref::StoreOp::create(builder, loc, value,
                              buffers.lookup(owner.second->buffer.root),
                              address);
  });
  carriedAccesses.clear();
}

FailureOr<Kernel> Emitter::emit(StringRef name, SmallVector<Value> &scratch) {
  loc = group.members.back().nest.op->getLoc();
  // A nest alone chooses its own loop order.
  if (group.members.size() == 1) {
    group.sizes.clear();
    group.members.front().shared.clear();
  }
  hoistFills(group);
  scratchSizes = shrinkScratch(group, scratch, machine.scratchBytes);
  collectArguments();

  SmallVector<Type> types;
  for (Value root : roots) {
    auto type = cast<MemRefType>(root.getType());
    types.push_back(
        MemRefType::get({type.getNumElements()}, type.getElementType()));
  }
  for (Value scalar : scalars)
    types.push_back(scalar.getType());
  types.append(views.size(), builder.getIndexType());

  OpBuilder::InsertionGuard guard(builder);
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Operation *end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);

  setAliasAttributes(function);
  size_t next = 0;
  for (Value root : roots)
    buffers[root] = entry->getArgument(next++);
  for (Value scalar : scalars)
    captured.map(scalar, entry->getArgument(next++));
  for (Value view : views)
    offsets[view] = entry->getArgument(next++);
  for (Value root : scratch) {
    auto type =
        MemRefType::get({scratchSizes[root]},
                        cast<MemRefType>(root.getType()).getElementType());
    buffers[root] = memref::AllocaOp::create(builder, loc, type,
                                             builder.getI64IntegerAttr(64));
  }
  for (auto &[value, op] : constants)
    captured.map(value, builder.clone(*op)->getResult(0));

  auto all = llvm::to_vector(llvm::seq<unsigned>(0, group.members.size()));
  SmallVector<Loop> shared;
  for (auto [position, size] : llvm::enumerate(group.sizes)) {
    Loop loop{size, {}};
    for (Member &member : group.members)
      loop.dims.push_back(member.shared[position]);
    shared.push_back(std::move(loop));
  }
  SmallVector<Run> runs = formRuns(group);
  orderLoops(group, shared, all);
  coalesceLoops(group, shared, all);
  emitLoops(shared, all, [&] {
    for (Run &run : runs) {
      orderLoops(group, run.loops, run.members);
      coalesceLoops(group, run.loops, run.members);
      emitRun(run);
    }
  });
  return Kernel{function, roots.takeVector(), scalars.takeVector(),
                views.takeVector()};
}

FailureOr<Kernel> mlir::dist::emitCpuKernel(OpBuilder &builder, StringRef name,
                                            KernelGroup group,
                                            const Machine &machine,
                                            SmallVector<Value> &scratch) {
  return Emitter(builder, std::move(group), machine).emit(name, scratch);
}
