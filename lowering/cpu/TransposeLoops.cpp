//===- TransposeLoops.cpp - Copies that change the order ------------------===//

#include "lowering/cpu/TransposeLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dist;

/// Bytes of a square's row: a line of the cache, and the largest registers that
/// there are. Smaller ones take several.
static constexpr int64_t kRowBytes = 64;

/// Whether each element is written as it is read.
static bool isPlainCopy(const LoopNest &nest) {
  if (isa<memref::CopyOp>(nest.op))
    return true;
  auto op = dyn_cast<linalg::LinalgOp>(nest.op);
  return op && op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
         op.getBlock()->getTerminator()->getOperand(0) ==
             op.getBlock()->getArgument(0);
}

/// Whether elements can be those of a vector.
static bool isScalar(const Access &access) {
  return VectorType::isValidElementType(
      getElementTypeOrSelf(access.buffer.root.getType()));
}

std::optional<Transposition>
mlir::dist::findTransposition(const KernelGroup &group, const Run &run) {
  if (run.members.size() != 1)
    return std::nullopt;
  const LoopNest &nest = group.members[run.members.front()].nest;
  if (!isPlainCopy(nest) || nest.accesses.size() != 2 ||
      !nest.gathers.empty() || llvm::is_contained(nest.parallel, false))
    return std::nullopt;
  const Access &from = nest.accesses[0], &to = nest.accesses[1];
  if (from.writes || !to.writes || !from.linear || !to.linear ||
      from.elementBytes != to.elementBytes || from.elementBytes < 4 ||
      from.elementBytes > 8 || !isScalar(from) ||
      mayAlias(from.buffer, to.buffer))
    return std::nullopt;
  Transposition copy = {&from, &to, run.loops.size(), run.loops.size(),
                        kRowBytes / from.elementBytes};
  for (auto [position, loop] : llvm::enumerate(run.loops)) {
    int64_t read = from.strides[loop.dims[0]],
            written = to.strides[loop.dims[0]];
    if (loop.size < copy.lanes)
      continue;
    if (read == 1 && written > 1)
      copy.readLoop = position;
    if (written == 1 && read > 1)
      copy.writtenLoop = position;
  }
  if (copy.readLoop == run.loops.size() || copy.writtenLoop == run.loops.size())
    return std::nullopt;
  return copy;
}

void mlir::dist::emitSquare(OpBuilder &b, Location loc, BodyEmitter &body,
                            const Run &run, const Transposition &copy) {
  unsigned member = run.members.front();
  auto [lanes, from, to] = std::tuple(copy.lanes, copy.from, copy.to);
  int64_t apart = from->strides[run.loops[copy.writtenLoop].dims[0]];
  Value source = body.getBuffer(*from), target = body.getBuffer(*to);
  auto type = VectorType::get(
      {lanes}, cast<MemRefType>(source.getType()).getElementType());
  auto rowAt = [&](Value first, int64_t distance) -> Value {
    return arith::AddIOp::create(b, loc, first, body.constant(distance));
  };
  Value address = body.emitAddress(member, *from);
  SmallVector<Value> rows;
  for (int64_t row = 0; row < lanes; ++row)
    rows.push_back(vector::LoadOp::create(
        b, loc, type, source, ValueRange(rowAt(address, row * apart))));
  // Squares of twice the size at a time (Eklundh 1972): blocks above the
  // diagonal are exchanged with those below.
  for (int64_t size = 1; size < lanes; size *= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool isRight = lane & size;
      upper.push_back(isRight ? lanes + lane - size : lane);
      lower.push_back(isRight ? lanes + lane : lane + size);
    }
    for (int64_t row = 0; row < lanes; ++row) {
      if (row & size)
        continue;
      Value above = rows[row], below = rows[row + size];
      rows[row] = vector::ShuffleOp::create(b, loc, above, below, upper);
      rows[row + size] = vector::ShuffleOp::create(b, loc, above, below, lower);
    }
  }
  apart = to->strides[run.loops[copy.readLoop].dims[0]];
  address = body.emitAddress(member, *to);
  for (auto [row, value] : llvm::enumerate(rows))
    vector::StoreOp::create(b, loc, value, target,
                            ValueRange(rowAt(address, row * apart)));
}
