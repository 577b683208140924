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

/// The binding of an open dimension, by place or by name.
static std::optional<int64_t> boundSize(const ValueInfo &input, size_t dim,
                                        const Bindings &bindings) {
  auto bound = bindings.find(placeOf(input, dim));
  if (bound == bindings.end() && !input.dims[dim].name.empty())
    bound = bindings.find(input.dims[dim].name);
  if (bound == bindings.end())
    return std::nullopt;
  return bound->second;
}

/// "x [batch, 3, ?]".
static std::string describe(const ValueInfo &input) {
  std::string text = input.name + " [";
  for (auto [i, dim] : llvm::enumerate(input.dims))
    text += (i ? ", " : "") + (dim.size >= 0      ? std::to_string(dim.size)
                               : dim.name.empty() ? "?"
                                                  : dim.name);
  return text + "]";
}

llvm::Error mlir::dist::frontend::checkBindings(const Model &model,
                                                const Bindings &bindings) {
  llvm::StringSet<> known;
  std::string names, missing, open;
  llvm::StringSet<> asked;
  for (const ValueInfo &input : model.inputs) {
    bool isOpen = false;
    for (auto [i, dim] : llvm::enumerate(input.dims)) {
      if (dim.size >= 0)
        continue;
      known.insert(placeOf(input, i));
      std::string name = dim.name.empty() ? placeOf(input, i) : dim.name;
      if (known.insert(name).second || dim.name.empty())
        names += (names.empty() ? "" : ", ") + name;
      if (boundSize(input, i, bindings))
        continue;
      isOpen = true;
      if (asked.insert(name).second)
        missing += " --bind " + name + "=N";
    }
    if (isOpen)
      open += (open.empty() ? "" : ", ") + describe(input);
  }
  for (const auto &[name, size] : bindings) {
    if (!known.contains(name))
      return error(model, "--bind ", name, "=", std::to_string(size),
                   ": no input has a dynamic dimension '", name, "'; ",
                   names.empty() ? "all are static"
                                 : "the dynamic ones are " + names);
    if (size < 0)
      return error(model, "--bind ", name, "=", std::to_string(size),
                   ": a size is not negative");
  }
  if (!missing.empty())
    return error(model, "inputs have dynamic dimensions: ", open,
                 "; give them sizes:", missing);
  return llvm::Error::success();
}

llvm::Expected<Shape>
mlir::dist::frontend::inputShape(const Model &model, const ValueInfo &input,
                                 const Bindings &bindings) {
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(input.dims))
    shape.push_back(dim.size >= 0 ? dim.size : *boundSize(input, i, bindings));
  if (!countElements(shape))
    return error(model, "input '", input.name, "' has an impossible shape ",
                 toString(shape));
  return shape;
}
