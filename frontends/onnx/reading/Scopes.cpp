//===- Scopes.cpp - Which module of the model a node came from ------------===//

#include "Scopes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <set>

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
  auto components = split(StringRef(items[items.size() - 2]), '.');
  return join(
      map_range(components,
                [](StringRef component) { return component.split('@').first; }),
      ".");
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
/// Module paths, each as its last component below another path: time and memory
/// are linear in the length of the names, whatever they look like.
class PathTree {
public:
  static constexpr unsigned kRoot = 0;

  /// The path `text`, which may have dots, below `path`.
  unsigned below(unsigned path, StringRef text) {
    while (true) {
      auto [first, rest] = text.split('.');
      std::string key(reinterpret_cast<const char *>(&path), sizeof(path));
      path =
          paths.try_emplace(key + first.str(), paths.size() + 1).first->second;
      if (first.size() == text.size())
        return path;
      text = rest;
    }
  }

private:
  StringMap<unsigned> paths;
};

/// Reads the names that the script exporter gives to nodes:
/// `/transformer/h.0/attn/c_proj/Gemm`.
class ScriptNames {
public:
  explicit ScriptNames(const Model &model);
  std::optional<std::string> scopeOf(const Node &node);

private:
  /// A path while its components are read from the outside in.
  struct Walk {
    /// What is kept of the components, each with the path so far.
    SmallVector<std::pair<StringRef, unsigned>> kept;

    unsigned path(size_t up = 0) const {
      return kept.size() <= up ? PathTree::kRoot : kept.rbegin()[up].second;
    }
  };
  /// The result of a component in a walk: the path, and whether it replaces its
  /// parent.
  struct Step {
    unsigned path;
    bool replaces;
  };
  Step step(const Walk &walk, StringRef component);
  static void take(Walk &walk, StringRef component, Step step);
  void findSkipped(const Model &model);

  PathTree tree;
  /// Modules that a parameter's name proves.
  DenseSet<unsigned> modules;
  /// Outermost modules, and the path that is missing before them. If a module's
  /// forward is not called (`self.model.decoder(x)`), its name is missing in
  /// the names of nodes, but not in those of the parameters that they read.
  StringMap<std::string> skipped;
  /// Paths as they stand in the names of nodes, before calls are merged.
  DenseSet<unsigned> paths;
};
} // namespace

/// A Sequential's child repeats its parent's name (`/layer1/layer1.0/conv`)
/// unless parameters prove a module `layer1.layer1`.
ScriptNames::Step ScriptNames::step(const Walk &walk, StringRef component) {
  unsigned path = tree.below(walk.path(), component);
  if (walk.kept.empty() || modules.contains(path))
    return {path, false};
  StringRef parent = walk.kept.back().first;
  if (!component.starts_with(parent) ||
      !component.substr(parent.size()).starts_with("."))
    return {path, false};
  return {tree.below(walk.path(1), component), true};
}

void ScriptNames::take(Walk &walk, StringRef component, Step step) {
  if (step.replaces)
    walk.kept.pop_back();
  walk.kept.push_back({component, step.path});
}

static SmallVector<StringRef> moduleComponents(const Node &node) {
  SmallVector<StringRef> components;
  StringRef(node.name).drop_front().split(components, '/');
  components.pop_back();
  return components;
}

ScriptNames::ScriptNames(const Model &model) {
  for (const auto &[name, value] : model.initializers) {
    StringRef module = modulePath(name);
    if (module.empty() || StringRef(name).contains(':') ||
        StringRef(name).contains('/'))
      continue;
    unsigned path = PathTree::kRoot;
    for (StringRef component : split(module, '.'))
      modules.insert(path = tree.below(path, component));
  }
  for (const Node &node : model.nodes) {
    if (!StringRef(node.name).starts_with("/"))
      continue;
    Walk walk;
    for (StringRef component : moduleComponents(node)) {
      take(walk, component, step(walk, component));
      paths.insert(walk.path());
    }
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
    if (!scope || scope->empty() ||
        modules.contains(tree.below(PathTree::kRoot, *scope)))
      continue;
    for (const std::string &input : node.inputs) {
      StringRef module = modulePath(input);
      if (!parameters.contains(input) || !module.consume_back(*scope) ||
          !module.consume_back("."))
        continue;
      auto [it, fresh] = skipped.try_emplace(firstModule(*scope), module.str());
      if (!fresh && it->second != module)
        ambiguous.insert(it->first());
    }
  }
  for (StringRef name : ambiguous.keys())
    skipped.erase(name);
}

std::optional<std::string> ScriptNames::scopeOf(const Node &node) {
  if (!StringRef(node.name).starts_with("/"))
    return std::nullopt;
  Walk walk;
  // Merge calls, from the outside in.
  for (StringRef component : moduleComponents(node)) {
    Step called = step(walk, component);
    StringRef stem = withoutCallNumber(component);
    if (!stem.empty() && !modules.contains(called.path)) {
      Step once = step(walk, stem);
      if (modules.contains(once.path) || paths.contains(once.path)) {
        take(walk, stem, once);
        continue;
      }
    }
    take(walk, component, called);
  }
  std::string path = join(make_first_range(walk.kept), ".");
  auto before = skipped.find(firstModule(path));
  return before == skipped.end() ? path : joinPath(before->second, path);
}

/// The innermost module that both are within: a part of `a`.
static StringRef commonPath(StringRef a, StringRef b) {
  size_t same = 0, shorter = std::min(a.size(), b.size());
  while (same < shorter && a[same] == b[same])
    ++same;
  auto ends = [&](StringRef path) {
    return same == path.size() || path[same] == '.';
  };
  if (ends(a) && ends(b))
    return a.take_front(same);
  return modulePath(a.take_front(same));
}

Scopes::Scopes(const Model &model) {
  ScriptNames scriptNames(model);
  std::vector<std::optional<StringRef>> found;
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
    found.push_back(std::nullopt);
    if (scope)
      found.back() = texts.insert(*scope).first->first();
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
  auto visitNeighbours = [&](int64_t number, auto visit) {
    const Node &node = model.nodes[number];
    for (const std::string &input : node.inputs)
      if (auto it = producer.find(input); it != producer.end())
        visit(it->second);
    for (const std::string &output : node.outputs)
      if (auto it = consumers.find(output); it != consumers.end())
        for (int64_t user : it->second)
          visit(user);
  };
  // In passes from the first node to the last; after the first pass, of those
  // only that have a new neighbour.
  std::set<int64_t> pass;
  for (auto [i, scope] : enumerate(found))
    if (!scope)
      pass.insert(i);
  while (!pass.empty()) {
    std::set<int64_t> next;
    for (int64_t number : pass) {
      std::optional<StringRef> scope;
      visitNeighbours(number, [&](int64_t other) {
        if (found[other])
          scope = scope ? commonPath(*scope, *found[other]) : *found[other];
      });
      if (!scope)
        continue;
      found[number] = scope;
      visitNeighbours(number, [&](int64_t other) {
        if (!found[other])
          (other > number ? pass : next).insert(other);
      });
    }
    pass = std::move(next);
  }
  for (std::optional<StringRef> scope : found)
    scopes.push_back(scope.value_or(""));
}
