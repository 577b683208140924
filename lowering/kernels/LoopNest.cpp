//===- LoopNest.cpp - Loops over flat buffers -----------------------------===//

#include "lowering/kernels/LoopNest.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "lowering/buffers/Sums.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<FlatBuffer> mlir::dist::flatten(Value buffer, Operation *op,
                                          const BufferAliases *aliases) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  FlatBuffer flat;
  flat.root = getViewRoot(buffer);
  flat.origins = aliases ? aliases->getOrigins(flat.root) : nullptr;
  auto rootType = dyn_cast<MemRefType>(flat.root.getType());
  // Nothing of an empty buffer is touched; its strides mean nothing.
  if (type && type.hasStaticShape() && type.getNumElements() == 0) {
    flat.strides.assign(type.getRank(), 1);
    return flat;
  }
  if (!type || !type.hasStaticShape() || !rootType ||
      !rootType.hasStaticShape() || !rootType.getLayout().isIdentity() ||
      failed(type.getStridesAndOffset(flat.strides, flat.offset)) ||
      llvm::is_contained(flat.strides, ShapedType::kDynamic)) {
    op->emitOpError("buffer of type ")
        << buffer.getType() << " in " << flat.root.getType()
        << " has no static shape and strides; only static shapes can be "
           "lowered";
    return failure();
  }
  if (ShapedType::isDynamic(flat.offset)) {
    flat.offset = 0;
    flat.dynamicOffset = buffer;
  }
  return flat;
}

bool LoopNest::mayWrite(const FlatBuffer &buffer) const {
  return llvm::any_of(accesses, [&](const Access &access) {
    return access.writes && mayAlias(access.buffer, buffer);
  });
}

bool LoopNest::mayTouch(const FlatBuffer &buffer) const {
  return llvm::any_of(gathers,
                      [&](const FlatBuffer &gather) {
                        return mayAlias(gather, buffer);
                      }) ||
         llvm::any_of(accesses, [&](const Access &access) {
           return mayAlias(access.buffer, buffer);
         });
}

/// Computes the stride of each loop from the map's coefficients.
static void computeStrides(Access &access, unsigned numLoops) {
  access.strides.assign(numLoops, 0);
  for (auto [expr, stride] :
       llvm::zip_equal(access.map.getResults(), access.buffer.strides)) {
    if (!expr.isPureAffine()) {
      access.linear = false;
      return;
    }
    SmallVector<AffineExpr> pending = {expr};
    // Sums of dim * constant; everything else is left to the map.
    while (!pending.empty()) {
      AffineExpr term = pending.pop_back_val();
      if (auto dim = dyn_cast<AffineDimExpr>(term)) {
        access.strides[dim.getPosition()] += stride;
        continue;
      }
      if (auto constant = dyn_cast<AffineConstantExpr>(term)) {
        access.buffer.offset += constant.getValue() * stride;
        continue;
      }
      auto binary = dyn_cast<AffineBinaryOpExpr>(term);
      if (binary && term.getKind() == AffineExprKind::Add) {
        pending.push_back(binary.getLHS());
        pending.push_back(binary.getRHS());
        continue;
      }
      if (binary && term.getKind() == AffineExprKind::Mul) {
        auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
        auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
        if (dim && factor) {
          // Only a loop of one turn leaves 64 bits: it goes nowhere.
          int64_t step;
          if (!llvm::MulOverflow(stride, factor.getValue(), step))
            access.strides[dim.getPosition()] += step;
          continue;
        }
      }
      access.linear = false;
      return;
    }
  }
}

static FailureOr<Access> buildAccess(Operation *op, unsigned operand,
                                     AffineMap map, unsigned numLoops,
                                     const BufferAliases &aliases) {
  FailureOr<FlatBuffer> buffer = flatten(op->getOperand(operand), op, &aliases);
  if (failed(buffer))
    return failure();
  Access access;
  access.buffer = *buffer;
  access.operand = operand;
  access.map = map;
  Type element =
      cast<MemRefType>(op->getOperand(operand).getType()).getElementType();
  access.elementBytes = getElementBytes(element);
  int64_t constant = access.buffer.offset;
  computeStrides(access, numLoops);
  if (!access.linear)
    access.buffer.offset = constant;
  return access;
}

/// Single elements that the body reads are all that it may do to memory.
static LogicalResult collectGathers(LoopNest &nest,
                                    const BufferAliases &aliases) {
  WalkResult walked = nest.op->walk([&](Operation *inner) {
    if (inner == nest.op)
      return WalkResult::advance();
    if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      FailureOr<FlatBuffer> buffer = flatten(load.getMemRef(), load, &aliases);
      if (failed(buffer))
        return WalkResult::interrupt();
      nest.gathers.push_back(*buffer);
      return WalkResult::advance();
    }
    if (llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<BaseMemRefType>) ||
        llvm::any_of(inner->getResultTypes(), llvm::IsaPred<BaseMemRefType>)) {
      inner->emitOpError("works on a buffer in the body of ")
          << nest.op->getName() << "; only single elements can be read there";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

FailureOr<LoopNest> mlir::dist::buildLoopNest(Operation *op,
                                              const BufferAliases &aliases) {
  LoopNest nest;
  nest.op = op;
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    auto type = cast<MemRefType>(copy.getTarget().getType());
    nest.sizes.assign(type.getShape().begin(), type.getShape().end());
    nest.parallel.assign(type.getRank(), true);
    AffineMap identity =
        AffineMap::getMultiDimIdentityMap(type.getRank(), op->getContext());
    for (unsigned i : {0u, 1u}) {
      FailureOr<Access> access =
          buildAccess(op, i, identity, type.getRank(), aliases);
      if (failed(access))
        return failure();
      (i == 0 ? access->reads : access->writes) = true;
      nest.accesses.push_back(*access);
    }
    return nest;
  }

  auto linalgOp = cast<linalg::LinalgOp>(op);
  nest.sizes = linalgOp.getStaticLoopRanges();
  if (llvm::any_of(nest.sizes, ShapedType::isDynamic))
    return op->emitOpError("has loops of unknown size; only static shapes can "
                           "be lowered");
  for (utils::IteratorType iterator : linalgOp.getIteratorTypesArray())
    nest.parallel.push_back(iterator == utils::IteratorType::parallel);
  auto reductions = llvm::count_if(
      llvm::zip_equal(nest.sizes, nest.parallel), [](const auto &loop) {
        return std::get<0>(loop) > 1 && !std::get<1>(loop);
      });
  if (reductions > 1)
    for (int64_t i = 0, e = linalgOp.getNumDpsInits(); i < e; ++i)
      nest.isOrdered |=
          !getReduction(linalgOp, i) &&
          !isSum(linalgOp.getBlock()->getTerminator()->getOperand(i),
                 linalgOp.getRegionOutputArgs()[i]);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    FailureOr<Access> access = buildAccess(
        op, operand.getOperandNumber(),
        linalgOp.getMatchingIndexingMap(&operand), nest.sizes.size(), aliases);
    if (failed(access))
      return failure();
    access->writes = linalgOp.isDpsInit(&operand);
    access->reads = linalgOp.payloadUsesValueFromOperand(&operand);
    if (access->reads || access->writes)
      nest.accesses.push_back(*access);
  }
  if (failed(collectGathers(nest, aliases)))
    return failure();
  return nest;
}

/// Whether the loop is a digit of the address, where the loops below it begin
/// at `below`.
static bool isDigit(const LoopNest &nest, const Access &access, unsigned dim,
                    int64_t below) {
  int64_t stride = access.strides[dim], size = nest.sizes[dim];
  if (stride <= 0)
    return false;
  for (auto [other, otherStride] : llvm::enumerate(access.strides)) {
    if (other == dim || otherStride == 0 || nest.sizes[other] <= 1)
      continue;
    if (otherStride < 0)
      return false;
    if (otherStride < stride)
      below += (nest.sizes[other] - 1) * otherStride;
    else if (otherStride % (stride * size) != 0)
      return false;
  }
  return below < stride;
}

bool mlir::dist::isSeparable(const LoopNest &nest, const Access &access,
                             unsigned dim) {
  return isDigit(nest, access, dim, 0);
}

bool mlir::dist::shareCells(const LoopNest &nest, const Access &access,
                            unsigned dim, const LoopNest &otherNest,
                            const Access &other, unsigned otherDim) {
  int64_t stride = access.strides[dim];
  int64_t start = access.buffer.offset, otherStart = other.buffer.offset;
  return stride > 0 && other.strides[otherDim] == stride &&
         access.buffer.dynamicOffset == other.buffer.dynamicOffset &&
         start >= 0 && otherStart >= 0 &&
         start / stride == otherStart / stride &&
         isDigit(nest, access, dim, start % stride) &&
         isDigit(otherNest, other, otherDim, otherStart % stride);
}
