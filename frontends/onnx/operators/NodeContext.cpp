//===- NodeContext.cpp - What converting one node sees --------------------===//

#include "NodeContext.h"

using namespace mlir;
using namespace mlir::dist::frontend;

LogicalResult NodeContext::unsupported(const Twine &what) {
  if (message.empty()) {
    lacks = true;
    message = what.str();
  }
  return failure();
}

LogicalResult NodeContext::invalid(const Twine &what) {
  if (message.empty() || lacks) {
    lacks = false;
    message = what.str();
  }
  return failure();
}

const Tensor &NodeContext::in(size_t i) {
  static const Tensor none;
  if (has(i))
    return *inputs[i];
  (void)invalid("input " + Twine(i) + " is missing");
  return none;
}

Value NodeContext::value(size_t i) {
  if (!has(i) || inputs[i]->isSequence || inputs[i]->type == DType::Undefined) {
    (void)invalid("input " + Twine(i) + " is missing or not a tensor");
    return emitter.filled({}, emitter.scalar(emitter.typeOf(DType::F32), 0.0));
  }
  Tensor &tensor = *inputs[i];
  if (!tensor.value)
    tensor.value = emitter.constant(*tensor.known);
  return tensor.value;
}

Value NodeContext::operand(size_t i) {
  const Tensor &tensor = in(i);
  if (tensor.known && tensor.known->size() > 0 &&
      (tensor.known->size() == 1 || tensor.known->isSplat()))
    return emitter.scalar(*tensor.known);
  return value(i);
}

const HostTensor *NodeContext::data(size_t i) const {
  if (!has(i))
    return nullptr;
  const Tensor &tensor = *inputs[i];
  if (tensor.known)
    return &*tensor.known;
  return tensor.recorded.get();
}

std::optional<SmallVector<int64_t>> NodeContext::openInts(size_t i) {
  const HostTensor *tensor = data(i);
  if (!tensor || isFloat(tensor->getType()))
    return std::nullopt;
  return tensor->getInts();
}

std::optional<SmallVector<int64_t>> NodeContext::ints(size_t i) {
  std::optional<SmallVector<int64_t>> list = openInts(i);
  return list && hasOpen(*list) ? std::nullopt : list;
}

std::optional<Progression>
NodeContext::progression(size_t i, int64_t size, int64_t component) {
  const Tensor &tensor = in(i);
  if (isOpen(size) || countElements(tensor.shape).value_or(0) == 0)
    return std::nullopt;
  if (!tensor.known)
    return findProgression(emitter, value(i), component, size);
  return readProgression(tensor.shape, component, size,
                         [&](int64_t i) { return tensor.known->getInt(i); });
}

std::optional<double> NodeContext::number(size_t i) {
  const HostTensor *tensor = data(i);
  if (!tensor || tensor->size() != 1 ||
      (!isFloat(tensor->getType()) && isOpen(tensor->getInt(0))))
    return std::nullopt;
  return tensor->getFloat(0);
}

//===----------------------------------------------------------------------===//
// Open sizes
//===----------------------------------------------------------------------===//

LogicalResult NodeContext::open(const Twine &what, ArrayRef<int64_t> list) {
  for (int64_t size : list)
    sizes().addNames(size, openNames);
  return unsupported(what);
}

LogicalResult NodeContext::checkWithin(ArrayRef<int64_t> part,
                                       ArrayRef<int64_t> whole, int64_t axis) {
  bool fits = part.size() == whole.size();
  for (int64_t i = 0, rank = whole.size(); fits && i < rank; ++i)
    fits = i == axis || sizes().isAtLeast(whole[i], part[i]);
  if (!fits)
    return disagree("are no indices and what they lie within", part, whole);
  return success();
}

LogicalResult NodeContext::disagree(const Twine &what, ArrayRef<int64_t> a,
                                    ArrayRef<int64_t> b) {
  std::string shapes = sizes().toString(a) + " and " + sizes().toString(b);
  if (!hasOpen(a) && !hasOpen(b))
    return invalid("shapes " + shapes + " " + what);
  SmallVector<int64_t> all(a);
  all.append(b.begin(), b.end());
  return open("shapes " + shapes + " perhaps " + what, all);
}

FailureOr<Shape> NodeContext::broadcastOf(ArrayRef<int64_t> a,
                                          ArrayRef<int64_t> b) {
  std::optional<Shape> both = broadcastShapes(a, b);
  if (both)
    return *both;
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i)
    if (std::optional<SizeLimit> limit =
            sizes().findLimit(a[a.size() - i], b[b.size() - i])) {
      limit->node = node.label().str() + " (" + node.opName() + ")";
      limits.push_back(*limit);
    }
  (void)disagree("do not broadcast", a, b);
  return failure();
}

bool NodeContext::isPossible(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> known;
  for (int64_t size : shape)
    if (!isOpen(size))
      known.push_back(size);
  return countElements(known).has_value();
}

bool NodeContext::hasOpenInput() const {
  return llvm::any_of(inputs, [](const Tensor *input) {
    return input && (hasOpen(input->shape) ||
                     (input->known && input->type == DType::I64 &&
                      hasOpen(input->known->getInts())));
  });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeValue *NodeContext::attribute(StringRef name) {
  auto it = node.attributes.find(name);
  if (it == node.attributes.end())
    return nullptr;
  readAttributes.insert(name);
  return &it->second;
}

int64_t NodeContext::intAttr(StringRef name, int64_t otherwise) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return otherwise;
  if (given->kind != AttributeValue::Int)
    (void)invalid("attribute '" + name + "' is not an integer");
  return given->integer;
}

bool NodeContext::boolAttr(StringRef name, bool otherwise) {
  int64_t given = intAttr(name, otherwise);
  if (given != 0 && given != 1)
    (void)invalid("attribute '" + name + "' = " + Twine(given) +
                  " is neither 0 nor 1");
  return given != 0;
}

double NodeContext::floatAttr(StringRef name, double otherwise) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return otherwise;
  if (given->kind != AttributeValue::Float)
    (void)invalid("attribute '" + name + "' is not a number");
  return given->number;
}

StringRef NodeContext::stringAttr(StringRef name, StringRef otherwise) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return otherwise;
  if (given->kind != AttributeValue::String)
    (void)invalid("attribute '" + name + "' is not a string");
  return given->string;
}

std::optional<SmallVector<int64_t>> NodeContext::intsAttr(StringRef name) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return std::nullopt;
  if (given->kind != AttributeValue::Ints)
    (void)invalid("attribute '" + name + "' is not a list of integers");
  return SmallVector<int64_t>(ArrayRef<int64_t>(given->ints));
}

std::optional<SmallVector<double>> NodeContext::floatsAttr(StringRef name) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return std::nullopt;
  if (given->kind != AttributeValue::Floats)
    (void)invalid("attribute '" + name + "' is not a list of numbers");
  return SmallVector<double>(ArrayRef<double>(given->floats));
}

std::optional<SmallVector<StringRef>> NodeContext::stringsAttr(StringRef name) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return std::nullopt;
  if (given->kind != AttributeValue::Strings)
    (void)invalid("attribute '" + name + "' is not a list of strings");
  return SmallVector<StringRef>(given->strings.begin(), given->strings.end());
}

std::optional<HostTensor> NodeContext::tensorAttr(StringRef name) {
  const AttributeValue *given = attribute(name);
  if (!given)
    return std::nullopt;
  if (given->kind != AttributeValue::Tensor) {
    (void)invalid("attribute '" + name + "' is not a tensor");
    return std::nullopt;
  }
  if (given->tensor.getType() == DType::String) {
    (void)unsupported(node.op + " of strings");
    return std::nullopt;
  }
  return given->tensor;
}

std::optional<SmallVector<int64_t>> NodeContext::intsAttrOrInput(StringRef name,
                                                                 size_t index) {
  if (has(index)) {
    std::optional<SmallVector<int64_t>> known = ints(index);
    if (!known)
      (void)unsupported("'" + name + "' computed at run time");
    return known;
  }
  return intsAttr(name);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void NodeContext::set(size_t i, Value value, DType type) {
  if (i >= results.size())
    return;
  results[i] = Tensor();
  results[i].type = type;
  results[i].shape = emitter.shapeOf(value);
  results[i].value = value;
}

void NodeContext::set(size_t i, HostTensor value) {
  if (i >= results.size())
    return;
  results[i] = Tensor();
  results[i].type = value.getType();
  results[i].shape = Shape(value.getShape());
  results[i].known = std::move(value);
}

void NodeContext::set(size_t i, Tensor value) {
  if (i < results.size())
    results[i] = std::move(value);
}

FailureOr<int64_t> NodeContext::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    (void)invalid("axis " + Twine(axis) + " of a tensor of rank " +
                  Twine(rank));
    return failure();
  }
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> NodeContext::axes(ArrayRef<int64_t> list,
                                                  int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t entry : list) {
    FailureOr<int64_t> normal = axis(entry, rank);
    if (failed(normal))
      return failure();
    result.push_back(*normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    (void)invalid("axes " + toString(list) + " name one twice");
    return failure();
  }
  return result;
}
