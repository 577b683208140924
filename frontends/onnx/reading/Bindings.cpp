//===- Bindings.cpp - Sizes of dynamic dimensions -------------------------===//

#include "Bindings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

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

/// What an open dimension is called: by its name, else by its place.
static std::string labelOf(const ValueInfo &input, size_t dim) {
  return input.dims[dim].name.empty() ? placeOf(input, dim)
                                      : input.dims[dim].name;
}

llvm::Expected<BoundDims>
mlir::dist::frontend::resolveBindings(const Model &model,
                                      const Bindings &bindings) {
  // The dimension that each name and each place means, by its label.
  llvm::StringMap<std::string> labels;
  std::string names;
  for (const ValueInfo &input : model.inputs)
    for (auto [i, dim] : llvm::enumerate(input.dims)) {
      if (dim.size >= 0)
        continue;
      std::string label = labelOf(input, i);
      labels[placeOf(input, i)] = label;
      if (labels.try_emplace(label, label).second || dim.name.empty())
        names += (names.empty() ? "" : ", ") + label;
    }
  BoundDims bound;
  // Who said it, for messages.
  std::map<std::string, std::string> said;
  for (const auto &[name, value] : bindings) {
    std::string what = "--bind " + name + "=" + value;
    auto unknown = [&](const std::string &asked) {
      return error(
          model, what, ": no input has a dynamic dimension '", asked, "'; ",
          names.empty() ? "all are static" : "the dynamic ones are " + names);
    };
    auto found = labels.find(name);
    if (found == labels.end())
      return unknown(name);
    std::string label = found->second;
    Bound is;
    int64_t size;
    if (!llvm::StringRef(value).getAsInteger(10, size)) {
      if (size < 1)
        return error(model, what, ": the program is for sizes of at least 1");
      is.size = size;
    } else if (auto other = labels.find(value); other != labels.end()) {
      is.like = other->second;
    } else {
      return unknown(value);
    }
    if (is.like == label)
      return error(model, what, ": '", value, "' is itself");
    auto [it, fresh] = bound.try_emplace(label, is);
    if (!fresh && (it->second.size != is.size || it->second.like != is.like))
      return error(model, what, ": dimension '", label, "' is another size by ",
                   said[label]);
    said[label] = what;
  }
  for (const auto &[label, is] : bound)
    if (!is.size && bound.count(is.like))
      return error(model, said[label], ": '", is.like,
                   "' is bound, too; name what it is bound to");
  return bound;
}

llvm::Expected<Shape> mlir::dist::frontend::inputShape(const Model &model,
                                                       const ValueInfo &input,
                                                       const BoundDims &bound,
                                                       Sizes &sizes) {
  Shape shape, numbers;
  for (auto [i, dim] : llvm::enumerate(input.dims)) {
    int64_t size = dim.size;
    if (size < 0) {
      std::string label = labelOf(input, i);
      auto it = bound.find(label);
      if (it == bound.end())
        size = sizes.named(label);
      else
        size =
            it->second.size ? *it->second.size : sizes.named(it->second.like);
    }
    shape.push_back(size);
    numbers.push_back(isOpen(size) ? 1 : size);
  }
  if (!countElements(numbers))
    return error(model, "input '", input.name, "' has an impossible shape ",
                 toString(shape));
  return shape;
}
