//===- KernelEmitter.cpp - A group of loop nests as a function
//--------------===//

#include "lowering/cpu/KernelEmitter.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

/// Stack that the scratch of one kernel may take, well below a thread's.
static constexpr int64_t kMaxScratchBytes = 512 * 1024;

namespace {

/// A loop to be written, for some members at once.
struct Loop {
  int64_t size;
  SmallVector<int> dims; // of each of these members
};

/// Members with the same inner loops, computed in one nest.
struct Run {
  SmallVector<unsigned> members;
  SmallVector<Loop> loops;
};

class Emitter {
public:
  Emitter(OpBuilder &builder, KernelGroup group)
      : builder(builder), group(std::move(group)) {}

  FailureOr<Kernel> emit(StringRef name, SmallVector<Value> &scratch);

private:
  // Analysis.
  void hoistFills();
  void shrinkScratch(SmallVector<Value> &scratch);
  void collectArguments();
  void addCaptured(Value value);
  SmallVector<Run> formRuns();
  void order(SmallVector<Loop> &loops, ArrayRef<unsigned> members);
  void coalesce(SmallVector<Loop> &loops, ArrayRef<unsigned> members);

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
  Value addTerm(Value sum, Value index, int64_t stride);
  Value addStart(Value sum, const FlatBuffer &buffer);
  void rewriteNested(Operation *op, unsigned member);
  Value indexOf(unsigned member, unsigned dim);
  void bind(ArrayRef<unsigned> members, const Loop &loop, Value iv);

  OpBuilder &builder;
  KernelGroup group;
  Location loc = UnknownLoc::get(builder.getContext());
  Block *entry = nullptr;

  llvm::SetVector<Value> roots, scalars, views;
  DenseMap<Value, Operation *> constants; // captured constants
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

/// Whether the nest's loops are asked for one by one.
static bool needsLoopIndices(const LoopNest &nest) {
  if (llvm::any_of(nest.accesses,
                   [](const Access &access) { return !access.linear; }))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(nest.op);
  return linalgOp && linalgOp.hasIndexSemantics();
}

/// A fill of one element per iteration of the shared loops would come between
/// nests that could share their inner loops: it goes first where it may.
void Emitter::hoistFills() {
  for (size_t index = 0; index < group.members.size(); ++index) {
    const Member &member = group.members[index];
    if (!isa<linalg::FillOp>(member.nest.op) ||
        member.shared.size() !=
            size_t(llvm::count_if(member.nest.sizes,
                                  [](int64_t size) { return size != 1; })))
      continue;
    Value root = member.nest.accesses.front().buffer.root;
    auto before = ArrayRef(group.members).take_front(index);
    if (llvm::none_of(before, [&](const Member &other) {
          return other.nest.touches(root);
        }))
      std::rotate(group.members.begin(), group.members.begin() + index,
                  group.members.begin() + index + 1);
  }
}

/// A buffer that is used within one iteration of the shared loops only needs
/// room for what one iteration touches. Its new strides are compact, in the
/// order of the old ones.
void Emitter::shrinkScratch(SmallVector<Value> &scratch) {
  int64_t total = 0;
  llvm::erase_if(scratch, [&](Value root) {
    SmallVector<std::pair<int64_t, int64_t>> digits; // stride, size
    const FlatBuffer *start = nullptr;
    int64_t elementBytes = 0;
    for (Member &member : group.members) {
      if (llvm::any_of(member.nest.gathers, [&](const FlatBuffer &gather) {
            return gather.root == root;
          }))
        return true;
      for (Access &access : member.nest.accesses) {
        if (access.buffer.root != root)
          continue;
        if (!access.linear || access.buffer.dynamicOffset ||
            (start && start->offset != access.buffer.offset))
          return true;
        start = &access.buffer;
        elementBytes = access.elementBytes;
        for (int dim : member.shared)
          if (!isSeparable(member.nest, access, dim))
            return true;
        for (auto [dim, stride] : llvm::enumerate(access.strides)) {
          std::pair<int64_t, int64_t> digit(stride, member.nest.sizes[dim]);
          if (stride == 0 || digit.second <= 1 ||
              llvm::is_contained(member.shared, int(dim)) ||
              llvm::is_contained(digits, digit))
            continue;
          digits.push_back(digit);
        }
      }
    }
    if (!start)
      return true;
    llvm::sort(digits);
    DenseMap<int64_t, int64_t> compact;
    int64_t count = 1, end = 1;
    for (auto [stride, size] : digits) {
      if (stride < end)
        return true; // overlapping digits
      end = stride * size;
      compact[stride] = count;
      count *= size;
    }
    if (total + count * elementBytes > kMaxScratchBytes)
      return true;
    total += count * elementBytes;
    scratchSizes[root] = count;
    for (Member &member : group.members)
      for (Access &access : member.nest.accesses) {
        if (access.buffer.root != root)
          continue;
        access.buffer.offset = 0;
        for (auto [dim, stride] : llvm::enumerate(access.strides)) {
          bool outer = llvm::is_contained(member.shared, int(dim));
          if (outer || stride == 0 || member.nest.sizes[dim] <= 1)
            stride = 0;
          else
            stride = compact[stride];
        }
      }
    return false;
  });
}

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
    if (!scratchSizes.contains(buffer.root))
      roots.insert(buffer.root);
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

/// Splits the members into runs with equal inner loops.
SmallVector<Run> Emitter::formRuns() {
  SmallVector<Run> runs;
  SmallVector<Member, 0> current; // members of the last run, with inner dims
  for (auto [index, member] : llvm::enumerate(group.members)) {
    SmallVector<int> inner;
    for (auto [dim, size] : llvm::enumerate(member.nest.sizes))
      if (size != 1 && !llvm::is_contained(member.shared, int(dim)))
        inner.push_back(dim);
    if (!runs.empty() && runs.back().loops.size() == inner.size()) {
      Run &run = runs.back();
      SmallVector<int64_t> sizes;
      for (const Loop &loop : run.loops)
        sizes.push_back(loop.size);
      bool related = false;
      SmallVector<int> dims = matchLoops(current, sizes, member.nest,
                                         /*parallelOnly=*/false, related);
      bool fits = llvm::all_of(
          dims, [&](int dim) { return llvm::is_contained(inner, dim); });
      // What accumulates in memory must stay apart from what reads it: that is
      // a dependence, which matchLoops sees as a stride of zero. Without inner
      // loops, order alone keeps dependences.
      if (fits) {
        for (auto [loop, dim] : llvm::zip_equal(run.loops, dims))
          loop.dims.push_back(dim);
        run.members.push_back(index);
        current.push_back({member.nest, dims});
        continue;
      }
    }
    Run run;
    run.members.push_back(index);
    for (int dim : inner)
      run.loops.push_back({member.nest.sizes[dim], {dim}});
    current.assign(1, Member{member.nest, inner});
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Innermost goes the loop along which most operands are contiguous; reductions
/// go inside of parallel loops, so that their accumulators stay in registers or
/// in the cache.
void Emitter::order(SmallVector<Loop> &loops, ArrayRef<unsigned> members) {
  if (loops.size() < 2)
    return;
  size_t best = 0;
  double bestScore = -1e300;
  for (auto [position, loop] : llvm::enumerate(loops)) {
    double score = 0;
    for (auto [index, dim] : llvm::zip_equal(members, loop.dims))
      for (const Access &access : group.members[index].nest.accesses) {
        if (!access.linear)
          continue;
        int64_t stride = access.strides[dim];
        double weight = access.writes ? 3 : 1;
        score += weight * (stride == 1 ? 2 : stride == 0 ? 1 : -1);
      }
    score *= std::min<int64_t>(loop.size, 16);
    if (score >= bestScore) {
      bestScore = score;
      best = position;
    }
  }
  Loop innermost = loops[best];
  loops.erase(loops.begin() + best);
  llvm::stable_sort(loops, [&](const Loop &a, const Loop &b) {
    auto reduces = [&](const Loop &loop) {
      for (auto [index, dim] : llvm::zip_equal(members, loop.dims))
        if (!group.members[index].nest.parallel[dim])
          return true;
      return false;
    };
    return reduces(a) < reduces(b);
  });
  loops.push_back(innermost);
}

/// Joins loops that walk over memory as one.
void Emitter::coalesce(SmallVector<Loop> &loops, ArrayRef<unsigned> members) {
  for (unsigned index : members)
    if (needsLoopIndices(group.members[index].nest))
      return;
  for (size_t outer = 0; outer + 1 < loops.size();) {
    Loop &a = loops[outer], &b = loops[outer + 1];
    bool fits = true;
    for (auto [index, dimA, dimB] : llvm::zip_equal(members, a.dims, b.dims)) {
      const LoopNest &nest = group.members[index].nest;
      fits &= nest.parallel[dimA] == nest.parallel[dimB];
      for (const Access &access : nest.accesses)
        fits &= access.strides[dimA] == access.strides[dimB] * b.size;
    }
    if (!fits) {
      ++outer;
      continue;
    }
    b.size *= a.size;
    loops.erase(loops.begin() + outer);
  }
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

Value Emitter::addTerm(Value sum, Value index, int64_t stride) {
  auto flags =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  if (stride == 0)
    return sum;
  if (stride != 1)
    index = arith::MulIOp::create(builder, loc, index, constant(stride), flags);
  if (!sum)
    return index;
  return arith::AddIOp::create(builder, loc, sum, index, flags);
}

Value Emitter::addStart(Value sum, const FlatBuffer &buffer) {
  if (buffer.dynamicOffset)
    sum = addTerm(sum, offsets.lookup(buffer.dynamicOffset), 1);
  if (buffer.offset != 0)
    sum = addTerm(sum, constant(buffer.offset), 1);
  return sum ? sum : constant(0);
}

Value Emitter::emitAddress(unsigned member, const Access &access) {
  const LoopNest &nest = group.members[member].nest;
  Value sum;
  if (access.linear) {
    for (auto [dim, stride] : llvm::enumerate(access.strides))
      if (Value iv = ivs.lookup({member, int(dim)}))
        sum = addTerm(sum, iv, stride);
    return addStart(sum, access.buffer);
  }
  SmallVector<Value> loops;
  for (unsigned dim = 0; dim < nest.sizes.size(); ++dim)
    loops.push_back(indexOf(member, dim));
  for (auto [expr, stride] :
       llvm::zip_equal(access.map.getResults(), access.buffer.strides))
    sum = addTerm(sum, affine::expandAffineExpr(builder, loc, expr, loops, {}),
                  stride);
  return addStart(sum, access.buffer);
}

Value Emitter::emitGatherAddress(const FlatBuffer &buffer, ValueRange indices) {
  Value sum;
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    sum = addTerm(sum, index, stride);
  return addStart(sum, buffer);
}

/// Contraction to fused multiply-add is the one liberty taken everywhere;
/// reassociation is taken in reductions, whose order is the compiler's choice.
static void setFastMath(Operation *op, bool reassociate) {
  auto arith = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!arith)
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
      Value base = getRoot(load.getMemRef());
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
  hoistFills();
  shrinkScratch(scratch);
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

  size_t next = 0;
  for (Value root : roots) {
    bool written = group.writes(root);
    function.setArgAttr(next, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    if (!written)
      function.setArgAttr(next, LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
    buffers[root] = entry->getArgument(next++);
  }
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
  SmallVector<Run> runs = formRuns();
  order(shared, all);
  coalesce(shared, all);
  emitLoops(shared, all, [&] {
    for (Run &run : runs) {
      order(run.loops, run.members);
      coalesce(run.loops, run.members);
      emitRun(run);
    }
  });
  return Kernel{function, roots.takeVector(), scalars.takeVector(),
                views.takeVector()};
}

FailureOr<Kernel> mlir::dist::emitKernel(OpBuilder &builder, StringRef name,
                                         KernelGroup group,
                                         SmallVector<Value> &scratch) {
  return Emitter(builder, std::move(group)).emit(name, scratch);
}
