//===- Definitions.cpp - What operators look like in each opset -----------===//

#include "frontends/onnx/definitions/Definitions.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// How an operator is defined from some opset on.
struct Definition {
  llvm::StringLiteral op;
  int64_t since;
  int64_t mostInputs, mostOutputs;
  /// "name:kind=default;…"; kinds are i, f, s, their lists I, F, S, t for a
  /// tensor and o for what else there is.
  llvm::StringLiteral attributes;
  /// "T:f i64;T;I:i64": the types of each input or output, after the variable
  /// that stands for one type of them. f, i and u are all sizes of a kind, and
  /// * stands before elements of sequences. The last may be there often.
  llvm::StringLiteral inputTypes, outputTypes;
};

/// Something that a node may say without a difference to the numbers.
struct Harmless {
  llvm::StringLiteral op;
  /// An attribute, or an input by its number.
  llvm::StringLiteral what;
  llvm::StringLiteral reason;
};

/// A type that exporters write where ONNX does not have it.
struct TakenType {
  llvm::StringLiteral op;
  size_t input;
  DType type;
  /// What it is taken as.
  llvm::StringLiteral meaning;
};

/// Definitions that their converters do not follow yet.
struct NotFollowed {
  llvm::StringLiteral op;
  int64_t since;
  llvm::StringLiteral change;
};
} // namespace

static constexpr Definition kDefinitions[] = {
#include "frontends/onnx/definitions/Definitions.inc"
};

static constexpr Harmless kHarmless[] = {
    {"BatchNormalization", "momentum", "only training reads it"},
    {"Cast", "round_mode", "only for 8-bit floating point, which is refused"},
    {"Cast", "saturate", "only for 8-bit floating point, which is refused"},
    {"CastLike", "round_mode", "as Cast's"},
    {"CastLike", "saturate", "as Cast's"},
    {"Dropout", "1", "the ratio: only training reads it"},
    {"Dropout", "seed", "the seed is an input of the program"},
    {"GRU", "activation_alpha", "no supported activation has parameters"},
    {"GRU", "activation_beta", "no supported activation has parameters"},
    {"If", "else_branch", "the reader puts its nodes before the If"},
    {"If", "then_branch", "the reader puts its nodes before the If"},
    {"LSTM", "activation_alpha", "no supported activation has parameters"},
    {"LSTM", "activation_beta", "no supported activation has parameters"},
    {"MaxPool", "storage_order", "only the second result shows it"},
    {"Pad", "2", "the value: only mode constant reads it"},
    {"QuantizeLinear", "saturate", "only for 8-bit floating point"},
    {"RNN", "activation_alpha", "no supported activation has parameters"},
    {"RNN", "activation_beta", "no supported activation has parameters"},
    {"Resize", "1", "the region: only tf_crop_and_resize reads it"},
    {"Resize", "extrapolation_value", "only tf_crop_and_resize reads it"},
    {"TopK", "sorted", "results in order are right without it, too"},
};

static constexpr TakenType kTakenTypes[] = {
    {"CumSum", 0, DType::Bool, "summed as int64, as PyTorch does"},
};

static constexpr NotFollowed kNotFollowed[] = {
    {"BitShift", 28, "signed integers, and shifts by all bits and more"},
    {"Mod", 28, "floating point without fmod"},
    {"Range", 27, "the precision that float16 and bfloat16 are summed in"},
};

/// The definition in force; none where the operator came later.
static const Definition *findDefinition(StringRef op, int64_t opset) {
  const Definition *found = nullptr;
  auto before = [](const Definition &definition, StringRef name) {
    return definition.op < name;
  };
  for (const Definition *it = std::lower_bound(
           std::begin(kDefinitions), std::end(kDefinitions), op, before);
       it != std::end(kDefinitions) && it->op == op && it->since <= opset; ++it)
    found = it;
  return found;
}

/// The attribute's kind and default, as "i=1"; none if there is no such one.
static std::optional<StringRef> findAttribute(const Definition &definition,
                                              StringRef name) {
  for (StringRef entry : llvm::split(definition.attributes, ';')) {
    auto [own, rest] = entry.split(':');
    if (!own.empty() && own == name)
      return rest;
  }
  return std::nullopt;
}

static bool isHarmless(StringRef op, StringRef what) {
  return llvm::any_of(kHarmless, [&](const Harmless &entry) {
    return entry.op == op && entry.what == what;
  });
}

static std::string printNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

/// An attribute's value for messages.
static std::string print(const AttributeValue &value) {
  auto quote = [](StringRef string) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "'";
    llvm::printEscapedString(string.take_front(64), os);
    os << (string.size() > 64 ? "…'" : "'");
    return text;
  };
  auto list = [](const auto &values, auto print) {
    std::string text = "[";
    for (size_t i = 0; i < std::min<size_t>(values.size(), 8); ++i)
      text += (i ? ", " : "") + print(values[i]);
    return text + (values.size() > 8 ? ", …]" : "]");
  };
  switch (value.kind) {
  case AttributeValue::Int:
    return std::to_string(value.integer);
  case AttributeValue::Float:
    return printNumber(value.number);
  case AttributeValue::String:
    return quote(value.string);
  case AttributeValue::Tensor:
    return nameOf(value.tensor.getType()) + " " +
           toString(value.tensor.getShape());
  case AttributeValue::Ints:
    return list(value.ints, [](int64_t i) { return std::to_string(i); });
  case AttributeValue::Floats:
    return list(value.floats, printNumber);
  case AttributeValue::Strings:
    return list(value.strings, quote);
  case AttributeValue::Other:
    break;
  }
  return "something else than numbers, strings and tensors";
}

/// Whether the value is the default that `described` ("f=0.5") gives.
static bool isDefault(const AttributeValue &value, StringRef described) {
  auto [kind, text] = described.split('=');
  if (!described.contains('='))
    return false;
  int64_t integer;
  double number;
  switch (value.kind) {
  case AttributeValue::Int:
    return kind == "i" && !text.getAsInteger(10, integer) &&
           integer == value.integer;
  case AttributeValue::Float:
    return kind == "f" && !text.getAsDouble(number) &&
           static_cast<float>(number) == static_cast<float>(value.number);
  case AttributeValue::String:
    return kind == "s" && text == value.string;
  case AttributeValue::Strings:
    return kind == "S" && text == llvm::join(value.strings, ",");
  default:
    return false;
  }
}

/// Names of the attributes in order, so that messages are always the same.
static SmallVector<StringRef> attributeNames(const Node &node) {
  auto names = llvm::to_vector(node.attributes.keys());
  llvm::sort(names);
  return names;
}

/// The reader adds the results of its branches to the inputs of an If.
static size_t countInputs(const Node &node) {
  return node.op == "If" ? 1 : node.inputs.size();
}

std::vector<std::string> mlir::dist::frontend::checkDefinition(const Node &node,
                                                               int64_t opset) {
  std::string of = node.op + " of opset " + std::to_string(opset);
  const Definition *definition = findDefinition(node.op, opset);
  if (!definition)
    return {"the operator came after opset " + std::to_string(opset)};
  for (const NotFollowed &entry : kNotFollowed)
    if (entry.op == definition->op && entry.since == definition->since)
      return {"its definition changed in opset " + std::to_string(entry.since) +
              " (" + entry.change.str() + "), which is not supported"};
  std::vector<std::string> problems;
  for (StringRef name : attributeNames(node))
    if (!findAttribute(*definition, name))
      problems.push_back("attribute '" + name.str() +
                         "' = " + print(node.attributes.find(name)->second) +
                         ", which " + of + " does not have");
  for (size_t i = definition->mostInputs; i < countInputs(node); ++i)
    if (!node.inputs[i].empty())
      problems.push_back("input " + std::to_string(i) + " '" + node.inputs[i] +
                         "', but " + of + " has at most " +
                         std::to_string(definition->mostInputs));
  for (size_t i = definition->mostOutputs; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      problems.push_back("output " + std::to_string(i) + " '" +
                         node.outputs[i] + "', but " + of + " has at most " +
                         std::to_string(definition->mostOutputs));
  return problems;
}

/// The name of a type in the definitions.
static StringRef shortName(DType type) {
  switch (type) {
  case DType::F16:
    return "f16";
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  case DType::BF16:
    return "bf16";
  case DType::I8:
    return "i8";
  case DType::I16:
    return "i16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::U8:
    return "u8";
  case DType::U16:
    return "u16";
  case DType::U32:
    return "u32";
  case DType::U64:
    return "u64";
  case DType::Bool:
    return "bool";
  case DType::String:
    return "string";
  case DType::Undefined:
    break;
  }
  return "";
}

/// Whether `types` ("f bf16 *i64") has the type, of elements of a sequence or
/// of a tensor.
static bool hasType(StringRef types, DType type, bool isSequence) {
  StringRef name = shortName(type);
  for (StringRef word : llvm::split(types, ' ')) {
    if (word.consume_front("*") != isSequence)
      continue;
    if (word == name || (word.size() == 1 && name.starts_with(word)))
      return true;
  }
  return false;
}

/// Whether the operator takes the type: as defined, or as exporters of
/// bfloat16 write it, which most operators were given late.
static bool takesType(StringRef types, DType type, bool isSequence) {
  return hasType(types, type, isSequence) ||
         (type == DType::BF16 && hasType(types, DType::F32, isSequence));
}

/// The variable and the types of the input or output of that number.
static std::pair<StringRef, StringRef> describedType(StringRef described,
                                                     size_t number) {
  SmallVector<StringRef> all;
  described.split(all, ';');
  StringRef own = all[std::min(number, all.size() - 1)];
  for (StringRef other : all)
    if (!own.contains(':') && other.split(':').first == own)
      return other.split(':');
  return own.split(':');
}

static std::string listTypes(StringRef types, bool isSequence) {
  std::string text;
  for (DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,
                     DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                     DType::U32, DType::U64, DType::Bool, DType::String})
    if (hasType(types, type, isSequence))
      text += (text.empty() ? "" : ", ") + nameOf(type);
  return text;
}

/// What else would do for a type that the operator does not take.
static std::string remedyFor(const Definition &definition, size_t input,
                             DType type) {
  std::string remedy = "; cast it before";
  for (const Definition *later = &definition + 1;
       later != std::end(kDefinitions) && later->op == definition.op; ++later)
    if (hasType(describedType(later->inputTypes, input).second, type, false))
      return remedy +
             ", or export with opset_version=" + std::to_string(later->since);
  return remedy;
}

namespace {
/// A type, of a tensor or of a sequence's elements.
struct OwnType {
  OwnType(const Tensor &tensor)
      : type(tensor.isSequence && !tensor.elements.empty()
                 ? tensor.elements.front().type
                 : tensor.type),
        isSequence(tensor.isSequence) {}
  /// None that a program can hold, which the converters say, or no element that
  /// would have one.
  bool isOpaque() const { return sizeOf(type) == 0; }
  DType type;
  bool isSequence;
};
} // namespace

std::vector<std::string> mlir::dist::frontend::checkTypes(
    const Node &node, int64_t opset, ArrayRef<Tensor *> inputs,
    ArrayRef<Tensor> results, std::vector<std::string> &taken) {
  const Definition *definition = findDefinition(node.op, opset);
  std::string of = node.op + " of opset " + std::to_string(opset);
  std::vector<std::string> problems;
  // The first input of each variable, and its type.
  llvm::StringMap<std::pair<size_t, DType>> bound;
  for (size_t i = 0; i < std::min(inputs.size(), countInputs(node)); ++i) {
    if (!inputs[i])
      continue;
    OwnType own(*inputs[i]);
    if (own.isOpaque())
      continue;
    auto [variable, types] = describedType(definition->inputTypes, i);
    auto known = llvm::find_if(kTakenTypes, [&](const TakenType &entry) {
      return entry.op == node.op && entry.input == i && entry.type == own.type;
    });
    if (known != std::end(kTakenTypes)) {
      taken.push_back(of + " has no input of type " + nameOf(own.type) + ": " +
                      known->meaning.str());
      continue;
    }
    std::string what =
        "input " + std::to_string(i) + " of type " + nameOf(own.type);
    auto [first, isFirst] = bound.try_emplace(variable, i, own.type);
    // Of one variable it has been said.
    if (!isFirst && !variable.empty() && first->second.second == own.type)
      continue;
    if (!takesType(types, own.type, own.isSequence)) {
      problems.push_back(what + ", which " + of + " does not have (but " +
                         listTypes(types, own.isSequence) + ")" +
                         remedyFor(*definition, i, own.type));
      continue;
    }
    if (!hasType(types, own.type, own.isSequence))
      taken.push_back(of + " has no input of type " + nameOf(own.type) +
                      ": taken as float is, and rounded");
    if (!isFirst && !variable.empty())
      problems.push_back(what + " beside input " +
                         std::to_string(first->second.first) + " of type " +
                         nameOf(first->second.second) + ", but " + of +
                         " has them of one type; cast one");
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    OwnType own(result);
    auto [variable, types] = describedType(definition->outputTypes, i);
    if (!own.isOpaque() && !takesType(types, own.type, own.isSequence))
      problems.push_back("output " + std::to_string(i) + " of type " +
                         nameOf(own.type) + ", which " + of +
                         " does not have (but " +
                         listTypes(types, own.isSequence) + ")");
  }
  return problems;
}

std::vector<std::string>
mlir::dist::frontend::findIgnored(const NodeContext &c) {
  std::vector<std::string> problems;
  const Definition *definition = findDefinition(c.node.op, c.opset);
  for (StringRef name : attributeNames(c.node)) {
    const AttributeValue &value = c.node.attributes.find(name)->second;
    std::optional<StringRef> described = findAttribute(*definition, name);
    if (c.wasRead(name) || isHarmless(c.node.op, name) ||
        (described && isDefault(value, *described)))
      continue;
    problems.push_back("attribute '" + name.str() + "' = " + print(value) +
                       ", which is not supported");
  }
  for (size_t i = 0; i < countInputs(c.node); ++i)
    if (!c.node.inputs[i].empty() && !c.wasRead(i) &&
        !isHarmless(c.node.op, std::to_string(i)))
      problems.push_back("input " + std::to_string(i) + " '" +
                         c.node.inputs[i] + "', which is not supported");
  return problems;
}
