//===- Scopes.cpp - Which module of the model a node came from ------------===//

#include "Scopes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir::dist::frontend;
using namespace llvm;

StringRef mlir::dist::frontend::modulePath(StringRef parameter) {
  return parameter.contains('.') ? parameter.rsplit('.').first : StringRef();
}

StringRef mlir::dist::frontend::leafName(StringRef parameter) {
  return parameter.contains('.') ? parameter.rsplit('.').second : parameter;
}

std::string mlir::dist::frontend::joinPath(StringRef module, StringRef leaf) {
  return module.empty() ? leaf.str() : (module + "." + leaf).str();
}

bool mlir::dist::frontend::isWithin(StringRef inner, StringRef outer) {
  return outer.empty() || inner == outer ||
         (inner.starts_with(outer) && inner[outer.size()] == '.');
}

/// The strings of a Python list: "['', 'model', 'model.norm', 'mul']".
static SmallVector<std::string> parseStringList(StringRef text) {
  SmallVector<std::string> items;
  while (true) {
    size_t start = text.find_first_of("'\"");
    if (start == StringRef::npos)
      return items;
    size_t end = text.find(text[start], start + 1);
    if (end == StringRef::npos)
      return items;
    items.push_back(text.slice(start + 1, end).str());
    text = text.drop_front(end + 1);
  }
}

/// What the dynamo exporter says: the modules from the root inwards, then the
/// operation. A module called again is marked `layer@1`.
static std::optional<std::string> fromMetadata(const Node &node) {
  auto it = node.metadata.find("pkg.torch.onnx.name_scopes");
  if (it == node.metadata.end())
    return std::nullopt;
  SmallVector<std::string> items = parseStringList(it->second);
  if (items.empty())
    return std::nullopt;
  if (items.size() == 1)
    return "";
  std::string path;
  for (StringRef component : split(items[items.size() - 2], '.'))
    path = joinPath(path, component.split('@').first);
  return path;
}

/// "fc" of "fc_1", which is how the script exporter calls the second call of
/// fc; "" where there is no such suffix.
static StringRef withoutCallNumber(StringRef component) {
  StringRef stem = component.rtrim("0123456789");
  if (stem.size() == component.size() || !stem.ends_with("_"))
    return "";
  return stem.drop_back();
}

namespace {
/// Reads the names that the script exporter gives to nodes:
/// `/transformer/h.0/attn/c_proj/Gemm`.
class ScriptNames {
public:
  explicit ScriptNames(const Model &model);
  std::optional<std::string> scopeOf(const Node &node) const;

private:
  void findSkipped(const Model &model);

  /// Modules that a parameter's name proves.
  StringSet<> modules;
  /// Outermost modules and what is missing before them: a module whose forward
  /// is passed over (`self.model.decoder(x)`) leaves no trace in the names of
  /// nodes, but in those of the parameters that they read.
  StringMap<std::string> skipped;
  /// Paths as they stand in the names of nodes, before calls are merged.
  StringSet<> paths;
};
} // namespace

/// Components joined with dots. A Sequential's child repeats its parent's name
/// (`/layer1/layer1.0/conv`) unless parameters prove a module `layer1.layer1`.
static std::string joinComponents(ArrayRef<StringRef> components,
                                  const StringSet<> &modules) {
  SmallVector<StringRef> kept;
  for (StringRef component : components) {
    kept.push_back(component);
    if (kept.size() < 2 || modules.contains(join(kept, ".")))
      continue;
    StringRef parent = kept[kept.size() - 2];
    if (component.starts_with(parent) &&
        component.substr(parent.size()).starts_with("."))
      kept.erase(kept.end() - 2);
  }
  return join(kept, ".");
}

static SmallVector<StringRef> moduleComponents(const Node &node) {
  SmallVector<StringRef> components;
  StringRef(node.name).drop_front().split(components, '/');
  components.pop_back();
  return components;
}

ScriptNames::ScriptNames(const Model &model) {
  for (const auto &[name, value] : model.initializers)
    if (!StringRef(name).contains(':') && !StringRef(name).contains('/'))
      for (StringRef module = modulePath(name); !module.empty();
           module = modulePath(module))
        modules.insert(module);
  for (const Node &node : model.nodes) {
    if (!StringRef(node.name).starts_with("/"))
      continue;
    SmallVector<StringRef> components = moduleComponents(node);
    for (size_t i = 1; i <= components.size(); ++i)
      paths.insert(joinComponents(ArrayRef(components).take_front(i), modules));
  }
  findSkipped(model);
}

/// The outermost module of a path.
static StringRef firstModule(StringRef path) { return path.split('.').first; }

void ScriptNames::findSkipped(const Model &model) {
  StringSet<> parameters, ambiguous;
  for (const auto &[name, value] : model.initializers)
    parameters.insert(name);
  for (const Node &node : model.nodes) {
    std::optional<std::string> scope = scopeOf(node);
    if (!scope || scope->empty())
      continue;
    for (const std::string &input : node.inputs) {
      StringRef module = modulePath(input);
      if (!parameters.contains(input) || modules.contains(*scope) ||
          !module.consume_back("." + *scope))
        continue;
      auto [it, fresh] = skipped.try_emplace(firstModule(*scope), module.str());
      if (!fresh && it->second != module)
        ambiguous.insert(it->first());
    }
  }
  for (StringRef name : ambiguous.keys())
    skipped.erase(name);
}

std::optional<std::string> ScriptNames::scopeOf(const Node &node) const {
  if (!StringRef(node.name).starts_with("/"))
    return std::nullopt;
  SmallVector<StringRef> components = moduleComponents(node);
  // Merge calls, from the outside in.
  for (size_t i = 0; i < components.size(); ++i) {
    StringRef stem = withoutCallNumber(components[i]);
    if (stem.empty())
      continue;
    std::string full =
        joinComponents(ArrayRef(components).take_front(i + 1), modules);
    StringRef called = components[i];
    components[i] = stem;
    std::string once =
        joinComponents(ArrayRef(components).take_front(i + 1), modules);
    if (modules.contains(full) ||
        !(modules.contains(once) || paths.contains(once)))
      components[i] = called;
  }
  std::string path = joinComponents(components, modules);
  auto before = skipped.find(firstModule(path));
  return before == skipped.end() ? path : joinPath(before->second, path);
}

static std::string commonPath(StringRef a, StringRef b) {
  while (!isWithin(a, b))
    b = modulePath(b);
  return b.str();
}

Scopes::Scopes(const Model &model) {
  ScriptNames scriptNames(model);
  std::vector<std::optional<std::string>> found;
  for (const Node &node : model.nodes) {
    std::optional<std::string> scope = fromMetadata(node);
    if (!scope)
      scope = scriptNames.scopeOf(node);
    // A convolution that took in the norm behind it says the norm's path.
    auto rule = node.metadata.find("pkg.onnxscript.rewriter.rule_name");
    if (rule != node.metadata.end() && node.op == "Conv" &&
        StringRef(rule->second).contains("FuseBatchNorm") &&
        node.inputs.size() > 1 && leafName(node.inputs[1]) == "weight")
      scope = modulePath(node.inputs[1]).str();
    found.push_back(std::move(scope));
  }

  // The rest is where its neighbours are: the innermost module with them all.
  StringMap<int64_t> producer;
  StringMap<SmallVector<int64_t, 2>> consumers;
  for (auto [i, node] : enumerate(model.nodes)) {
    for (const std::string &output : node.outputs)
      producer[output] = i;
    for (const std::string &input : node.inputs)
      consumers[input].push_back(i);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [i, node] : enumerate(model.nodes)) {
      if (found[i])
        continue;
      std::optional<std::string> scope;
      auto meet = [&](int64_t other) {
        if (!found[other])
          return;
        scope = scope ? commonPath(*scope, *found[other]) : *found[other];
      };
      for (const std::string &input : node.inputs)
        if (auto it = producer.find(input); it != producer.end())
          meet(it->second);
      for (const std::string &output : node.outputs)
        for (int64_t user : consumers.lookup(output))
          meet(user);
      if (scope) {
        found[i] = scope;
        changed = true;
      }
    }
  }
  for (std::optional<std::string> &scope : found)
    scopes.push_back(scope.value_or(""));
}
