//===- FormKernels.cpp - Linalg on buffers becomes kernels ----------------===//
//
// Walks over each block once, gathers neighbouring ops into groups
// (KernelGroup.h), has the target write each group as a function
// (KernelTarget.h) and calls it. Equal functions are one.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/ByComputation.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Equal kernels
//===----------------------------------------------------------------------===//

/// A hash of everything but locations and the function's name.
static llvm::hash_code hashKernel(FunctionOpInterface kernel) {
  return llvm::hash_combine(kernel.getFunctionType(),
                            hashRegion(kernel.getFunctionBody()));
}

static bool areEqual(FunctionOpInterface a, FunctionOpInterface b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a.getAllArgAttrs() == b.getAllArgAttrs() &&
         a->getDiscardableAttrDictionary() ==
             b->getDiscardableAttrDictionary() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getFunctionBody(), &b.getFunctionBody(),
             OperationEquivalence::IgnoreLocations);
}

namespace {

class KernelTable {
public:
  /// Returns an earlier equal kernel, after erasing `kernel`, or `kernel`.
  FunctionOpInterface unique(FunctionOpInterface kernel) {
    SmallVector<FunctionOpInterface, 1> &known = byHash[hashKernel(kernel)];
    for (FunctionOpInterface other : known)
      if (areEqual(other, kernel)) {
        kernel.erase();
        return other;
      }
    known.push_back(kernel);
    ++count;
    return kernel;
  }
  unsigned size() const { return count; }

private:
  DenseMap<size_t, SmallVector<FunctionOpInterface, 1>> byHash;
  unsigned count = 0;
};

//===----------------------------------------------------------------------===//
// Groups of a block
//===----------------------------------------------------------------------===//

class BlockScheduler {
public:
  BlockScheduler(ModuleOp module, const BufferAliases &aliases,
                 const KernelTarget &target, KernelTable &table)
      : module(module), aliases(aliases), target(target),
        limits(target.groupLimits()), table(table) {}

  LogicalResult run(Block &block);

private:
  LogicalResult visit(Operation *op);
  LogicalResult add(LoopNest nest);
  LogicalResult flush();
  LogicalResult flushFills(llvm::function_ref<bool(const LoopNest &)> filter);
  LogicalResult emit(KernelGroup group, Operation *at);
  /// In place of ops, the last of which is `at`.
  LogicalResult call(FailureOr<Kernel> kernel, ArrayRef<Operation *> ops,
                     Operation *at);

  std::string getNextName() const {
    return "kernel_" + std::to_string(table.size());
  }

  ModuleOp module;
  const BufferAliases &aliases;
  const KernelTarget &target;
  GroupLimits limits;
  KernelTable &table;
  KernelGroup group;
  Operation *last = nullptr; // op at whose place the group is computed
  /// Fills that wait for the op that accumulates on them.
  SmallVector<LoopNest, 0> fills;
};

} // namespace

static bool isCopyToSelf(const LoopNest &nest) {
  if (!isa<memref::CopyOp>(nest.op))
    return false;
  const FlatBuffer &from = nest.accesses[0].buffer;
  const FlatBuffer &to = nest.accesses[1].buffer;
  return from.root == to.root && from.offset == to.offset &&
         from.dynamicOffset == to.dynamicOffset && from.strides == to.strides;
}

/// Whether no other ops use the buffer or its views. Stops at the first other
/// user: the buffer of a residual stream has thousands.
static bool isUsedOnlyBy(Value buffer, const DenseSet<Operation *> &ops) {
  SmallVector<Value::user_range> pending = {buffer.getUsers()};
  while (!pending.empty()) {
    if (pending.back().empty()) {
      pending.pop_back();
      continue;
    }
    Operation *user = *pending.back().begin();
    pending.back() = llvm::drop_begin(pending.back());
    if (isView(user))
      pending.push_back(user->getResult(0).getUsers());
    else if (!ops.contains(user))
      return false;
  }
  return true;
}

/// Buffers that only the group's ops use, and that are made anew each time that
/// the group runs: one from outside of a loop may carry something round it.
static SmallVector<Value> findScratch(const KernelGroup &group) {
  DenseSet<Operation *> ops;
  for (const Member &member : group.members)
    ops.insert(member.nest.op);
  SmallVector<Value> scratch;
  DenseSet<Value> seen;
  for (const Member &member : group.members)
    for (const Access &access : member.nest.accesses) {
      Value root = access.buffer.root;
      if (!access.writes || !root.getDefiningOp<memref::AllocOp>() ||
          root.getParentBlock() != member.nest.op->getBlock() ||
          !seen.insert(root).second)
        continue;
      if (isUsedOnlyBy(root, ops))
        scratch.push_back(root);
    }
  return scratch;
}

/// The buffer with one dimension.
static Value flattenForCall(OpBuilder &builder, Location loc, Value root) {
  auto type = cast<MemRefType>(root.getType());
  if (type.getRank() == 1)
    return root;
  auto flat = MemRefType::get({type.getNumElements()}, type.getElementType());
  if (type.getRank() == 0)
    return memref::ExpandShapeOp::create(builder, loc, flat, root,
                                         ArrayRef<ReassociationIndices>{});
  ReassociationIndices all =
      llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  return memref::CollapseShapeOp::create(builder, loc, flat, root,
                                         ArrayRef<ReassociationIndices>{all});
}

LogicalResult BlockScheduler::emit(KernelGroup group, Operation *at) {
  SmallVector<Value> scratch = findScratch(group);
  SmallVector<Operation *> ops;
  for (const Member &member : group.members)
    ops.push_back(member.nest.op);

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return call(
      target.emitKernel(builder, getNextName(), std::move(group), scratch), ops,
      at);
}

LogicalResult BlockScheduler::call(FailureOr<Kernel> kernel,
                                   ArrayRef<Operation *> ops, Operation *at) {
  if (failed(kernel))
    return failure();
  kernel->function = table.unique(kernel->function);

  OpBuilder builder(at);
  Location loc = at->getLoc();
  SmallVector<Value> operands;
  for (Value root : kernel->roots)
    operands.push_back(flattenForCall(builder, loc, root));
  llvm::append_range(operands, kernel->scalars);
  for (Value view : kernel->views)
    operands.push_back(
        memref::ExtractStridedMetadataOp::create(builder, loc, view)
            .getOffset());
  for (int64_t start : kernel->starts)
    operands.push_back(arith::ConstantIndexOp::create(builder, loc, start));
  target.emitCall(builder, loc, kernel->function, operands);
  // Several modules may have a part of it; the last op decides.
  for (Operation *op : llvm::reverse(ops))
    if (Attribute scope = op->getAttr(kScopeAttr)) {
      at->getPrevNode()->setAttr(kScopeAttr, scope);
      break;
    }

  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return success();
}

/// The buffer that a fill writes.
static const FlatBuffer &getFilled(const LoopNest &fill) {
  return fill.accesses.front().buffer;
}

LogicalResult BlockScheduler::flush() {
  if (group.empty())
    return success();
  KernelGroup done = std::move(group);
  group = {};
  return emit(std::move(done), last);
}

LogicalResult
BlockScheduler::flushFills(llvm::function_ref<bool(const LoopNest &)> filter) {
  SmallVector<LoopNest, 0> kept;
  for (LoopNest &fill : fills) {
    if (!filter(fill)) {
      kept.push_back(std::move(fill));
      continue;
    }
    KernelGroup alone;
    join(alone, {fill}, limits);
    if (failed(emit(std::move(alone), fill.op)))
      return failure();
  }
  fills = std::move(kept);
  return success();
}

LogicalResult BlockScheduler::add(LoopNest nest) {
  Operation *op = nest.op;
  Unit unit;
  SmallVector<LoopNest, 0> kept;
  for (LoopNest &fill : fills) {
    bool touched = nest.mayTouch(getFilled(fill));
    (touched ? unit : kept).push_back(std::move(fill));
  }
  fills = std::move(kept);
  unit.push_back(std::move(nest));
  if (join(group, unit, limits)) {
    last = op;
    return success();
  }
  if (failed(flush()))
    return failure();
  if (!join(group, unit, limits)) {
    // The fills on their own, in place.
    fills.append(unit.begin(), std::prev(unit.end()));
    LoopNest alone = unit.back();
    if (failed(flushFills([&](const LoopNest &fill) {
          return alone.mayTouch(getFilled(fill));
        })))
      return failure();
    join(group, {alone}, limits);
  }
  last = op;
  return success();
}

LogicalResult BlockScheduler::visit(Operation *op) {
  if (isa<linalg::LinalgOp, memref::CopyOp>(op)) {
    FailureOr<LoopNest> nest = buildLoopNest(op, aliases);
    if (failed(nest))
      return failure();
    if (nest->isEmpty() || isCopyToSelf(*nest)) {
      op->erase();
      return success();
    }
    if (isa<linalg::FillOp>(op)) {
      // It may be computed later, but not earlier than its position, and fills
      // of one memory keep their order. An op that accesses one of two roots
      // need not access the other.
      FlatBuffer filled = getFilled(*nest);
      if (group.mayTouch(filled)) {
        // Another part of the buffers that the group computes.
        bool isFirst = llvm::none_of(fills, [&](const LoopNest &fill) {
          return mayAlias(getFilled(fill), filled);
        });
        if (isFirst && join(group, {*nest}, limits)) {
          last = op;
          return success();
        }
        if (failed(flush()))
          return failure();
      }
      bool isFull = fills.size() >= kMostWaiting;
      if (failed(flushFills([&](const LoopNest &fill) {
            return isFull || (getFilled(fill).root != filled.root &&
                              mayAlias(getFilled(fill), filled));
          })))
        return failure();
      fills.push_back(std::move(*nest));
      return success();
    }
    return add(std::move(*nest));
  }
  if (isa<FenceOp>(op)) {
    op->erase();
    return flush();
  }
  if (op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>()) {
    if (failed(flush()) ||
        failed(flushFills([](const LoopNest &) { return true; })))
      return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(BlockScheduler(module, aliases, target, table).run(block)))
          return failure();
    return success();
  }
  if (auto scatter = dyn_cast<rt::ScatterOp>(op)) {
    if (failed(flush()) ||
        failed(flushFills([](const LoopNest &) { return true; })))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    return call(target.emitScatter(builder, getNextName(), scatter, aliases),
                op, op);
  }
  SmallVector<Value> touched;
  bool namesAll =
      visitTouchedBuffers(op, [&](Value buffer) { touched.push_back(buffer); });
  if (namesAll && touched.empty())
    return success();
  if (failed(flush()))
    return failure();
  return flushFills([&](const LoopNest &fill) {
    return !namesAll || llvm::any_of(touched, [&](Value buffer) {
      return mayAlias(aliases.getOrigins(buffer), getFilled(fill).origins);
    });
  });
}

LogicalResult BlockScheduler::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(&op)))
      return failure();
  if (failed(flush()))
    return failure();
  return flushFills([](const LoopNest &) { return true; });
}

LogicalResult mlir::dist::formKernels(ModuleOp module,
                                      const KernelTarget &target) {
  KernelTable table;
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    BufferAliases aliases(function);
    for (Block &block : function.getBody())
      if (failed(BlockScheduler(module, aliases, target, table).run(block)))
        return failure();
  }
  // Buffers that shrank to a row of their kernel are not needed any more.
  for (func::FuncOp function : functions)
    for (Block &block : function.getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if ((isa<memref::AllocOp>(op) || isView(&op)) && op.use_empty())
          op.erase();
  module->setAttr(rt::kKernelsAttr,
                  Builder(module.getContext()).getI64IntegerAttr(table.size()));
  return success();
}
