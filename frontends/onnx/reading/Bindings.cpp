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

/// What an open dimension is called: by its name, else by its place.
static std::string labelOf(const ValueInfo &input, size_t dim) {
  return input.dims[dim].name.empty() ? placeOf(input, dim)
                                      : input.dims[dim].name;
}

llvm::Error mlir::dist::frontend::checkBindings(const Model &model,
                                                const Bindings &bindings) {
  llvm::StringSet<> known;
  std::string names;
  for (const ValueInfo &input : model.inputs)
    for (auto [i, dim] : llvm::enumerate(input.dims)) {
      if (dim.size >= 0)
        continue;
      known.insert(placeOf(input, i));
      if (known.insert(labelOf(input, i)).second || dim.name.empty())
        names += (names.empty() ? "" : ", ") + labelOf(input, i);
    }
  for (const auto &[name, value] : bindings) {
    std::string what = "--bind " + name + "=" + value;
    auto unknown = [&](const std::string &asked) {
      return error(
          model, what, ": no input has a dynamic dimension '", asked, "'; ",
          names.empty() ? "all are static" : "the dynamic ones are " + names);
    };
    if (!known.contains(name))
      return unknown(name);
    int64_t size;
    if (llvm::StringRef(value).getAsInteger(10, size)) {
      if (!known.contains(value))
        return unknown(value);
      if (value == name || bindings.count(value))
        return error(model, what, ": '", value,
                     value == name
                         ? "' is itself"
                         : "' is bound, too; name what it is bound to");
    } else if (size < 0) {
      return error(model, what, ": a size is not negative");
    }
  }
  return llvm::Error::success();
}

llvm::Expected<Shape> mlir::dist::frontend::inputShape(const Model &model,
                                                       const ValueInfo &input,
                                                       const Bindings &bindings,
                                                       Sizes &sizes) {
  Shape shape, numbers;
  for (auto [i, dim] : llvm::enumerate(input.dims)) {
    int64_t size = dim.size;
    if (size < 0) {
      auto bound = bindings.find(placeOf(input, i));
      if (bound == bindings.end())
        bound = bindings.find(labelOf(input, i));
      std::string is =
          bound == bindings.end() ? labelOf(input, i) : bound->second;
      if (llvm::StringRef(is).getAsInteger(10, size))
        size = sizes.named(is);
    }
    shape.push_back(size);
    numbers.push_back(isOpen(size) ? 1 : size);
  }
  if (!countElements(numbers))
    return error(model, "input '", input.name, "' has an impossible shape ",
                 toString(shape));
  return shape;
}
