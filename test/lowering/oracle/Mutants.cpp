//===- Mutants.cpp - Lowered programs with one fact changed ---------------===//

#include "test/lowering/oracle/Mutants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::dist::test;

namespace {
class Finder {
public:
  std::vector<Mutation> found;
  void visit(Operation *op);

private:
  void add(llvm::StringLiteral kind, std::function<void()> apply) {
    found.push_back({kind, std::move(apply)});
  }
  void visitBody(Operation *op);
  void visitMaps(linalg::GenericOp op);
  void visitLoop(scf::ForOp op);
  template <typename SliceOp> void visitSlice(SliceOp op);
  void visitFill(linalg::FillOp op);
  void visitOperands(Operation *op);
  void visitAlloc(memref::AllocOp op);
  void visitPlace(memref::ViewOp op);

  /// Earlier ones in the same block, by type.
  llvm::DenseMap<std::pair<Block *, Type>, memref::AllocOp> allocs;
  llvm::DenseMap<Block *, memref::ViewOp> places;
};
} // namespace

template <typename T> struct Tag { using type = T; };

/// Puts another op of the same operands in place of `op`.
template <typename Op> static void replaceBy(Operation *op) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), Op::getOperationName(), op->getOperands(),
                       op->getResultTypes());
  Operation *made = builder.create(state);
  op->replaceAllUsesWith(made->getResults());
  op->erase();
}

static void swapOperands(Operation *op, unsigned a, unsigned b) {
  Value first = op->getOperand(a);
  op->setOperand(a, op->getOperand(b));
  op->setOperand(b, first);
}

/// The op of a computation: another one, or its operands the other way round.
void Finder::visitBody(Operation *op) {
  auto becomes = [&](auto tag) {
    using Op = typename decltype(tag)::type;
    add("body", [op] { replaceBy<Op>(op); });
  };
  if (isa<arith::AddFOp>(op))
    becomes(Tag<arith::SubFOp>());
  if (isa<arith::MulFOp>(op))
    becomes(Tag<arith::AddFOp>());
  if (isa<arith::MaximumFOp>(op))
    becomes(Tag<arith::MinimumFOp>());
  if (isa<arith::MinimumFOp>(op))
    becomes(Tag<arith::MaximumFOp>());
  if (isa<arith::AddIOp>(op))
    becomes(Tag<arith::SubIOp>());
  if (isa<arith::MulIOp>(op))
    becomes(Tag<arith::AddIOp>());
  if (isa<arith::AndIOp>(op))
    becomes(Tag<arith::OrIOp>());
  if (isa<arith::OrIOp, arith::XOrIOp>(op))
    becomes(Tag<arith::AndIOp>());
  if (isa<arith::MaxSIOp>(op))
    becomes(Tag<arith::MinSIOp>());
  if (isa<arith::MinSIOp>(op))
    becomes(Tag<arith::MaxSIOp>());
  if (isa<arith::SubFOp, arith::SubIOp, arith::CmpFOp>(op))
    add("body", [op] { swapOperands(op, 0, 1); });
  if (isa<arith::SelectOp>(op))
    add("body", [op] { swapOperands(op, 1, 2); });
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    add("body", [compare]() mutable {
      compare.setPredicate(arith::invertPredicate(compare.getPredicate()));
    });
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    add("constant", [constant]() mutable {
      constant->setAttr(
          "value",
          Builder(constant.getContext()).getIndexAttr(constant.value() + 1));
    });
}

/// Two dimensions of an operand that are walked over the other way round.
void Finder::visitMaps(linalg::GenericOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    ArrayRef<int64_t> shape = op.getShape(&operand);
    for (unsigned a = 0; a < map.getNumResults(); ++a)
      for (unsigned b = a + 1; b < map.getNumResults(); ++b) {
        if (shape[a] != shape[b] || map.getResult(a) == map.getResult(b))
          continue;
        unsigned number = operand.getOperandNumber();
        add("map", [op, number, a, b]() mutable {
          SmallVector<AffineMap> maps = op.getIndexingMapsArray();
          SmallVector<AffineExpr> results(maps[number].getResults());
          std::swap(results[a], results[b]);
          maps[number] = AffineMap::get(maps[number].getNumDims(), 0, results,
                                        op.getContext());
          op.setIndexingMapsAttr(
              Builder(op.getContext()).getAffineMapArrayAttr(maps));
        });
      }
  }
}

void Finder::visitLoop(scf::ForOp op) {
  auto moved = [op](Value value, int64_t by) {
    OpBuilder builder(op);
    Value amount = arith::ConstantOp::create(
        builder, op->getLoc(), builder.getIntegerAttr(value.getType(), by));
    return arith::AddIOp::create(builder, op->getLoc(), value, amount)
        .getResult();
  };
  add("bound", [op, moved]() mutable {
    op.setUpperBound(moved(op.getUpperBound(), -1));
  });
  add("bound", [op, moved]() mutable {
    op.setLowerBound(moved(op.getLowerBound(), 1));
  });
  add("bound", [op, moved]() mutable { op.setStep(moved(op.getStep(), 1)); });
}

/// The part of a tensor that begins one beside where it should.
template <typename SliceOp> void Finder::visitSlice(SliceOp op) {
  RankedTensorType whole;
  if constexpr (std::is_same_v<SliceOp, tensor::ExtractSliceOp>)
    whole = op.getSourceType();
  else
    whole = op.getDestType();
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    if (op.isDynamicOffset(dim) || op.isDynamicSize(dim) ||
        op.isDynamicStride(dim))
      continue;
    int64_t offset = op.getStaticOffset(dim);
    int64_t last =
        offset + (op.getStaticSize(dim) - 1) * op.getStaticStride(dim);
    int64_t next = last + 1 < whole.getDimSize(dim) ? offset + 1 : offset - 1;
    if (next < 0)
      continue;
    add("offset", [op, dim, next]() mutable {
      SmallVector<int64_t> offsets(op.getStaticOffsets());
      offsets[dim] = next;
      op.setStaticOffsets(offsets);
    });
  }
}

/// A fill that comes after who reads it.
void Finder::visitFill(linalg::FillOp op) {
  if (!op.hasPureBufferSemantics())
    return;
  Value buffer = op.getOutputs()[0];
  Operation *next = nullptr;
  for (Operation *user : buffer.getUsers())
    if (user->getBlock() == op->getBlock() && op->isBeforeInBlock(user) &&
        (!next || user->isBeforeInBlock(next)))
      next = user;
  if (next)
    add("fill", [op, next] { op->moveAfter(next); });
}

/// A call that gets one buffer for two, or two the other way round.
void Finder::visitOperands(Operation *op) {
  for (unsigned a = 0; a < op->getNumOperands(); ++a)
    for (unsigned b = a + 1; b < op->getNumOperands(); ++b) {
      Value first = op->getOperand(a), second = op->getOperand(b);
      if (first == second || first.getType() != second.getType() ||
          !isa<MemRefType>(first.getType()))
        continue;
      add("alias", [op, a, second] { op->setOperand(a, second); });
      add("operands", [op, a, b] { swapOperands(op, a, b); });
    }
}

void Finder::visitAlloc(memref::AllocOp op) {
  memref::AllocOp &other = allocs[{op->getBlock(), op.getType()}];
  if (other)
    add("buffer",
        [op, other]() mutable { op.replaceAllUsesWith(other.getResult()); });
  other = op;
}

/// Two buffers at one place of the arena.
void Finder::visitPlace(memref::ViewOp op) {
  memref::ViewOp &other = places[op->getBlock()];
  if (other && other.getByteShift() != op.getByteShift() &&
      other.getType().getNumElements() > 0)
    add("place", [op, other]() mutable {
      op.getByteShiftMutable().set(other.getByteShift());
    });
  other = op;
}

void Finder::visit(Operation *op) {
  visitBody(op);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    visitMaps(generic);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    visitLoop(loop);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    visitSlice(slice);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    visitSlice(slice);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    visitFill(fill);
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    visitAlloc(alloc);
  if (auto view = dyn_cast<memref::ViewOp>(op))
    visitPlace(view);
  if (isa<memref::CopyOp>(op))
    add("copy", [op] { op->erase(); });
  if (isa<func::CallOp>(op) && op->getNumResults() == 0) {
    visitOperands(op);
    add("call", [op] { op->erase(); });
  }
}

std::vector<Mutation> mlir::dist::test::findMutations(Operation *root) {
  Finder finder;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { finder.visit(op); });
  return std::move(finder.found);
}
