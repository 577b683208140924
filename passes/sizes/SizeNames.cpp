//===- SizeNames.cpp - Dimensions of one name are of one size -------------===//

#include "passes/sizes/SizeNames.h"
#include "dialects/dist/IR/EntryAttrs.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<StringRef>
mlir::dist::getDimensionNames(FunctionOpInterface function, unsigned number) {
  SmallVector<StringRef> names;
  if (auto attr = function.getArgAttrOfType<ArrayAttr>(number, kDimensionsAttr))
    for (StringAttr name : attr.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  return names;
}

FailureOr<llvm::StringMap<int64_t>>
mlir::dist::findNamedSizes(FunctionOpInterface function,
                           ArrayRef<SizeBinding> bindings) {
  llvm::StringMap<int64_t> sizeOfName;
  // By name: size, and who said so.
  llvm::StringMap<std::string> said;
  std::string known;
  auto bind = [&](StringRef name, int64_t size,
                  const std::string &who) -> LogicalResult {
    auto [it, fresh] = sizeOfName.try_emplace(name, size);
    if (fresh)
      said[name] = who;
    if (it->second != size)
      return function.emitError()
             << "dimension '" << name << "' is of size " << it->second << " by "
             << said[name] << ", and of size " << size << " by " << who;
    if (size < 1)
      return function.emitError()
             << "dimension '" << name << "' is of size " << size << " by "
             << who << "; the program is for sizes of at least 1";
    return success();
  };
  llvm::StringSet<> names;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    for (StringRef name : getDimensionNames(function, i))
      if (!name.empty() && names.insert(name).second)
        known += " " + name.str();
  for (const SizeBinding &binding : bindings) {
    if (binding.dim >= 0)
      continue;
    if (!names.contains(binding.argument))
      return function.emitError() << "has no dimension '" << binding.argument
                                  << "'; the dimensions with names are:"
                                  << (known.empty() ? " none" : known);
    if (failed(bind(binding.argument, binding.size,
                    "--bind " + binding.argument + "=" +
                        std::to_string(binding.size))))
      return failure();
  }
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    std::string argument = getArgumentName(function, i);
    for (auto [dim, name] : llvm::enumerate(getDimensionNames(function, i)))
      for (const SizeBinding &binding : bindings)
        if (!name.empty() && binding.argument == argument &&
            binding.dim == static_cast<int64_t>(dim) &&
            failed(bind(name, binding.size,
                        "argument '" + argument + "', dimension " +
                            std::to_string(dim))))
          return failure();
  }
  return sizeOfName;
}
