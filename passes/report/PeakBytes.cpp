//===- PeakBytes.cpp - Memory that the values alive at once need ----------===//
//
// A linear scan over a block: buffers are made by results, shared by views, and
// freed after the last use of any of their values.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/cost/Work.h"
#include "passes/report/Report.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class Scan {
public:
  explicit Scan(Block &block) : block(block) {}

  int64_t run();

private:
  struct Buffer {
    int64_t bytes;
    size_t lastUse;
  };

  /// The operand that result `result` may overwrite.
  static Value getDestination(OpResult result) {
    Operation *op = result.getOwner();
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      return destination.getDpsInitOperand(result.getResultNumber())->get();
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      if (OpOperand *init = loop.getTiedLoopInit(result))
        return init->get();
    return {};
  }

  /// Position of the last use of `value` and of its views in the block.
  size_t getLastUse(Value value) const { return lastUses.lookup(value); }
  void assign(OpResult result, size_t position, Buffer *&made);

  Block &block;
  llvm::DenseMap<Operation *, size_t> positions;
  llvm::DenseMap<Value, size_t> lastUses;
  /// Buffers of this block; values from outside are not counted.
  llvm::DenseMap<Value, Buffer *> buffers;
  std::vector<std::unique_ptr<Buffer>> storage;
};
} // namespace

void Scan::assign(OpResult result, size_t position, Buffer *&made) {
  made = nullptr;
  Operation *op = result.getOwner();
  if (Value source = getViewSource(op)) {
    buffers[result] = buffers.lookup(source);
    return;
  }
  // A destination gets memory when it is written; constants are elsewhere.
  if (isa<tensor::EmptyOp, LocalConstantOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return;
  size_t lastUse = std::max(position, getLastUse(result));
  if (Value destination = getDestination(result)) {
    Buffer *buffer = buffers.lookup(destination);
    if (buffer && buffer->lastUse == position) {
      buffer->lastUse = lastUse;
      buffers[result] = buffer;
      return;
    }
  }
  storage.push_back(std::make_unique<Buffer>(
      Buffer{getTensorBytes(result.getType()), lastUse}));
  made = buffers[result] = storage.back().get();
}

int64_t Scan::run() {
  size_t count = 0;
  for (Operation &op : block)
    positions[&op] = count++;

  // Backwards: a view's last use is one of its source's.
  for (Operation &op : llvm::reverse(block)) {
    size_t position = positions[&op];
    auto use = [&](Value value, size_t at) {
      size_t &last = lastUses[value];
      last = std::max(last, at);
    };
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (isa<TensorType>(operand.getType()))
          use(operand, position);
    });
    if (Value source = getViewSource(&op))
      use(source, getLastUse(op.getResult(0)));
  }

  int64_t live = 0, peak = 0;
  for (Operation &op : block) {
    size_t position = positions[&op];
    SmallVector<Buffer *, 2> made;
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      Buffer *buffer;
      assign(result, position, buffer);
      if (buffer) {
        live += buffer->bytes;
        made.push_back(buffer);
      }
    }
    int64_t nested = 0;
    if (!isa<linalg::LinalgOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          nested = std::max(nested, getPeakBytes(inner));
    peak = std::max(peak, live + nested);

    // Values that this op used last are freed after it.
    llvm::SmallPtrSet<Buffer *, 4> done;
    auto release = [&](Buffer *buffer) {
      if (buffer && buffer->lastUse == position && done.insert(buffer).second)
        live -= buffer->bytes;
    };
    for (Buffer *buffer : made)
      release(buffer);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        release(buffers.lookup(operand));
    });
  }
  return peak;
}

int64_t mlir::dist::getPeakBytes(Block &block) { return Scan(block).run(); }
