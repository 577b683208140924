//===- SizeBindings.cpp - What is said of arguments' sizes ----------------===//

#include "passes/sizes/SizeBindings.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/Program.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// By place
//===----------------------------------------------------------------------===//

static std::optional<SizeBinding> parseBinding(StringRef text) {
  SizeBinding out;
  auto [place, size] = text.rsplit('=');
  if (place.empty() || size.getAsInteger(10, out.size) || out.size < 0)
    return std::nullopt;
  if (!place.consume_back("]"))
    return SizeBinding{place.str(), -1, out.size};
  auto [name, dim] = place.rsplit('[');
  if (name.empty() || dim.getAsInteger(10, out.dim) || out.dim < 0)
    return std::nullopt;
  out.argument = name.str();
  return out;
}

FailureOr<std::vector<SizeBinding>>
mlir::dist::parseBindings(ArrayRef<std::string> texts,
                          function_ref<void(const Twine &)> emitError) {
  std::vector<SizeBinding> out;
  for (const std::string &text : texts) {
    std::optional<SizeBinding> binding = parseBinding(text);
    if (!binding) {
      emitError(text + ": expected ARGUMENT[DIM]=SIZE, such as x[0]=8, or "
                       "NAME=SIZE with the name of a dimension, and "
                       "a SIZE of at least 1");
      return failure();
    }
    out.push_back(*binding);
  }
  return out;
}

SmallVector<std::string>
mlir::dist::formatBindings(ArrayRef<SizeBinding> bindings) {
  SmallVector<std::string> texts;
  for (const SizeBinding &binding : bindings) {
    std::string dim =
        binding.dim < 0 ? "" : "[" + std::to_string(binding.dim) + "]";
    texts.push_back(binding.argument + dim + "=" +
                    std::to_string(binding.size));
  }
  return texts;
}

std::string mlir::dist::getArgumentName(FunctionOpInterface function,
                                        unsigned number) {
  for (StringRef attr : {kParameterAttr, kInputAttr})
    if (auto name = function.getArgAttrOfType<StringAttr>(number, attr))
      return name.str();
  return "arg" + std::to_string(number);
}

std::vector<std::string> mlir::dist::getArgumentNames(ModuleOp module) {
  std::vector<std::string> names;
  auto entry = dyn_cast_or_null<FunctionOpInterface>(getEntryFunction(module));
  for (unsigned i = 0, e = entry ? entry.getNumArguments() : 0; i < e; ++i)
    names.push_back(getArgumentName(entry, i));
  return names;
}

RankedTensorType mlir::dist::getWholeType(FunctionOpInterface function,
                                          unsigned number) {
  if (auto type = function.getArgAttrOfType<TypeAttr>(number, kGlobalTypeAttr))
    return dyn_cast<RankedTensorType>(type.getValue());
  return dyn_cast<RankedTensorType>(function.getArgument(number).getType());
}

void mlir::dist::addSizes(ModuleOp module, StringRef name,
                          ArrayRef<int64_t> shape,
                          std::vector<SizeBinding> &bindings) {
  auto entry = dyn_cast_or_null<FunctionOpInterface>(getEntryFunction(module));
  for (unsigned i = 0, e = entry ? entry.getNumArguments() : 0; i < e; ++i) {
    RankedTensorType type = getWholeType(entry, i);
    if (getArgumentName(entry, i) != name || !type ||
        type.getRank() != static_cast<int64_t>(shape.size()))
      continue;
    for (auto [dim, size] : llvm::enumerate(shape)) {
      bool isBound = llvm::any_of(bindings, [&](const SizeBinding &other) {
        return other.argument == name && other.dim == static_cast<int64_t>(dim);
      });
      if (type.isDynamicDim(dim) && !isBound)
        bindings.push_back({name.str(), static_cast<int64_t>(dim), size});
    }
  }
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

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
  // By name: size, and its source.
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
      return function.emitError()
             << "--bind " << binding.argument << "=" << binding.size
             << ": the program has no dimension '" << binding.argument
             << "'; "
             << (known.empty() ? "no dimension has a name"
                               : "the dimensions with names are:" + known);
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
