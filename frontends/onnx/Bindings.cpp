//===- Bindings.cpp - Sizes of dynamic dimensions -------------------------===//

#include "Bindings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir::dist::frontend;

template <typename... Parts>
static llvm::Error error(const Model &model, const Parts &...parts) {
  std::string text = model.file + ": ";
  ((text += parts), ...);
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::Twine(text));
}

/// A dimension by place, as --bind takes it.
static std::string placeOf(const ValueInfo &input, size_t dim) {
  return input.name + "[" + std::to_string(dim) + "]";
}

llvm::Error mlir::dist::frontend::checkBindings(const Model &model,
                                                const ImportOptions &options) {
  llvm::StringSet<> known;
  std::string names;
  for (const ValueInfo &input : model.inputs)
    for (auto [i, dim] : llvm::enumerate(input.dims)) {
      if (dim.size >= 0)
        continue;
      known.insert(placeOf(input, i));
      std::string name = dim.name.empty() ? placeOf(input, i) : dim.name;
      if (known.insert(name).second || dim.name.empty())
        names += (names.empty() ? "" : ", ") + name;
    }
  for (const auto &[name, size] : options.bindings) {
    if (!known.contains(name))
      return error(model, "--bind ", name, "=", std::to_string(size),
                   ": no input has a dynamic dimension '", name, "'; ",
                   names.empty() ? "all are static"
                                 : "the dynamic ones are " + names);
    if (size < 0)
      return error(model, "--bind ", name, "=", std::to_string(size),
                   ": a size is not negative");
  }
  return llvm::Error::success();
}

llvm::Expected<Shape>
mlir::dist::frontend::inputShape(const Model &model, const ValueInfo &input,
                                 const ImportOptions &options) {
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(input.dims)) {
    int64_t size = dim.size;
    std::string place = placeOf(input, i);
    if (size < 0) {
      auto bound = options.bindings.find(place);
      if (bound == options.bindings.end())
        bound = options.bindings.find(dim.name);
      if (bound == options.bindings.end()) {
        std::string name = dim.name.empty() ? place : dim.name;
        return error(model, "input '", input.name,
                     "' has the dynamic dimension ", std::to_string(i),
                     dim.name.empty() ? "" : " '" + dim.name + "'",
                     "; give it a size: --bind ", name, "=N");
      }
      size = bound->second;
    }
    shape.push_back(size);
  }
  if (!countElements(shape))
    return error(model, "input '", input.name, "' has an impossible shape ",
                 toString(shape));
  return shape;
}
