//===- JoinParameters.cpp - Concatenated parameters are loaded so ---------===//
//
// --dist-join-parameters: the concatenation of parameters becomes an argument
// of its own, whose pieces the runtime loads side by side.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/rt/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTJOINPARAMETERS
#include "lowering/rt/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Whether the value is a parameter as it is in the weights file.
static bool isParameter(FunctionOpInterface entry, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->getParentOp() == entry &&
         entry.getArgAttr(argument.getArgNumber(), kParameterAttr) &&
         !entry.getArgAttr(argument.getArgNumber(), kJoinedAttr) &&
         cast<RankedTensorType>(value.getType()).getNumElements() > 0;
}

/// The attributes of the argument that `op` makes.
static DictionaryAttr describe(FunctionOpInterface entry, tensor::ConcatOp op) {
  Builder builder(op.getContext());
  std::string name;
  SmallVector<Attribute> pieces;
  for (Value input : op.getInputs()) {
    unsigned number = cast<BlockArgument>(input).getArgNumber();
    NamedAttrList piece(entry.getArgAttrDict(number));
    name += name.empty() ? "" : " + ";
    name += cast<StringAttr>(piece.get(kParameterAttr)).getValue();
    piece.set("type", TypeAttr::get(input.getType()));
    pieces.push_back(piece.getDictionary(op.getContext()));
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(kParameterAttr, builder.getStringAttr(name)),
       builder.getNamedAttr(
           kJoinedAttr, builder.getDictionaryAttr(
                            {builder.getNamedAttr(
                                 "dim", builder.getI64IntegerAttr(op.getDim())),
                             builder.getNamedAttr(
                                 "pieces", builder.getArrayAttr(pieces))}))});
}

/// Whether results take the places of arguments from one call to the next,
/// which are told apart by their numbers.
static bool isStep(FunctionOpInterface entry) {
  for (unsigned i = 0, end = entry.getNumResults(); i < end; ++i)
    if (entry.getResultAttr(i, kUpdatesAttr))
      return true;
  return false;
}

static LogicalResult joinParameters(FunctionOpInterface entry) {
  SmallVector<tensor::ConcatOp> joins;
  entry->walk([&](tensor::ConcatOp op) {
    if (op.getInputs().size() > 1 && op.getResultType().hasStaticShape() &&
        llvm::all_of(op.getInputs(),
                     [&](Value input) { return isParameter(entry, input); }))
      joins.push_back(op);
  });
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Location> locations;
  llvm::BitVector read(entry.getNumArguments());
  for (tensor::ConcatOp op : joins) {
    types.push_back(op.getType());
    attrs.push_back(describe(entry, op));
    locations.push_back(op.getLoc());
    for (Value input : op.getInputs())
      read.set(cast<BlockArgument>(input).getArgNumber());
  }
  unsigned first = entry.getNumArguments();
  if (failed(entry.insertArguments(SmallVector<unsigned>(joins.size(), first),
                                   types, attrs, locations)))
    return failure();
  for (auto [number, op] : llvm::enumerate(joins)) {
    op.replaceAllUsesWith(entry.getArgument(first + number));
    op.erase();
  }
  llvm::BitVector unread(entry.getNumArguments());
  for (unsigned number : read.set_bits())
    if (entry.getArgument(number).use_empty())
      unread.set(number);
  return entry.eraseArguments(unread);
}

namespace {
struct JoinParameters : dist::impl::DistJoinParametersBase<JoinParameters> {
  void runOnOperation() override {
    auto entry =
        dyn_cast_or_null<FunctionOpInterface>(getEntryFunction(getOperation()));
    if (entry && !entry.isExternal() && !isStep(entry) &&
        failed(joinParameters(entry)))
      signalPassFailure();
  }
};
} // namespace
