//===- Packing.cpp - What collectives copy beside what they send ----------===//

#include "dialects/dist/Utils/Packing.h"
#include "dialects/dist/IR/Collectives.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;

/// Bytes of `value` if it is stored in `order` with something of more than one
/// element before `dim`, else 0.
static int64_t bytesUnlessLeading(Value value, ArrayRef<int64_t> order,
                                  int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  for (int64_t place = 0; place < type.getRank(); ++place) {
    int64_t outer = order.empty() ? place : order[place];
    if (outer == dim)
      return 0;
    if (type.getDimSize(outer) != 1)
      break;
  }
  return getTensorBytes(type);
}

/// Rows at the border of a block, once as they are sent and once as they come.
template <typename HaloOp>
static int64_t bytesOfHalo(HaloOp op, Value block, ArrayRef<int64_t> order) {
  int64_t rows =
      cast<RankedTensorType>(block.getType()).getDimSize(op.getDim());
  if (ShapedType::isDynamic(rows))
    rows = kAssumedSize;
  int64_t bytes = bytesUnlessLeading(block, order, op.getDim());
  return rows ? 2 * (bytes / rows) * int64_t(op.getLow() + op.getHigh()) : 0;
}

int64_t mlir::dist::getPackedBytes(Operation *collective,
                                   ArrayRef<int64_t> operand,
                                   ArrayRef<int64_t> result) {
  auto iface = cast<CollectiveOpInterface>(collective);
  MeshOp mesh = lookupMesh(collective, iface.getMeshAttr());
  if (!mesh || getGroupSize(getAxisRefs(iface.getAxes()), mesh.getAxes()) < 2)
    return 0;
  return llvm::TypeSwitch<Operation *, int64_t>(collective)
      // Blocks come one after the other.
      .Case([&](AllGatherOp op) {
        return bytesUnlessLeading(op.getResult(), result, op.getDim());
      })
      // They are sent so.
      .Case([&](ReduceScatterOp op) {
        return bytesUnlessLeading(op.getOperand(), operand, op.getDim());
      })
      .Case([&](AllToAllOp op) {
        return bytesUnlessLeading(op.getOperand(), operand, op.getSplitDim()) +
               bytesUnlessLeading(op.getResult(), result, op.getConcatDim());
      })
      .Case([&](HaloExchangeOp op) {
        return bytesOfHalo(op, op.getOperand(), operand);
      })
      .Case([&](HaloReduceOp op) {
        return bytesOfHalo(op, op.getResult(), result);
      })
      .Default([](Operation *) { return 0; });
}
