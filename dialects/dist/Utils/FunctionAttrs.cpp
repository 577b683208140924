//===- FunctionAttrs.cpp - Attributes of all arguments or results ---------===//

#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/IR/Attributes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

static SmallVector<DictionaryAttr>
update(ArrayAttr lists, unsigned count, MLIRContext *context,
       function_ref<void(unsigned, NamedAttrList &)> update) {
  SmallVector<DictionaryAttr> updated;
  updated.reserve(count);
  for (unsigned number = 0; number < count; ++number) {
    NamedAttrList list;
    if (lists)
      list = NamedAttrList(cast<DictionaryAttr>(lists[number]));
    update(number, list);
    updated.push_back(list.getDictionary(context));
  }
  return updated;
}

void mlir::dist::updateArgAttrs(
    FunctionOpInterface function,
    function_ref<void(unsigned, NamedAttrList &)> change) {
  function.setAllArgAttrs(update(function.getArgAttrsAttr(),
                                 function.getNumArguments(),
                                 function.getContext(), change));
}

void mlir::dist::updateResultAttrs(
    FunctionOpInterface function,
    function_ref<void(unsigned, NamedAttrList &)> change) {
  function.setAllResultAttrs(update(function.getResAttrsAttr(),
                                    function.getNumResults(),
                                    function.getContext(), change));
}

LogicalResult mlir::dist::eraseArguments(FunctionOpInterface function,
                                         const llvm::BitVector &erased) {
  SmallVector<int64_t> numbers;
  for (unsigned number = 0, kept = 0; number < erased.size(); ++number) {
    numbers.push_back(kept);
    kept += !erased.test(number);
  }
  Builder builder(function.getContext());
  updateResultAttrs(function, [&](unsigned, NamedAttrList &list) {
    if (auto old = dyn_cast_or_null<IntegerAttr>(list.get(kUpdatesAttr)))
      list.set(kUpdatesAttr, builder.getI64IntegerAttr(numbers[old.getInt()]));
  });
  return function.eraseArguments(erased);
}

bool mlir::dist::isArgumentWith(Value value, StringRef attribute) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return false;
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), attribute);
}
