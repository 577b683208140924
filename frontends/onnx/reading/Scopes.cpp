//===- Scopes.cpp - Which module of the model a node came from ------------===//

#include "Scopes.h"

#include "frontends/onnx/reading/ParameterRoles.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
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

/// 1 of "fc_1"; 0 of "fc".
static unsigned callNumber(StringRef component) {
  unsigned number = 0;
  size_t end = component.rfind('_');
  if (end != StringRef::npos &&
      component.drop_front(end + 1).getAsInteger(10, number))
    return 0;
  return number;
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
/// `/transformer/h.0/attn/c_proj/Gemm`. The modules whose forward is not called
/// (a ModuleDict, `self.model.decoder(x)`) are missing there, but not in the
/// names of the parameters that nodes read.
class ScriptNames {
public:
  explicit ScriptNames(const Model &model);
  std::optional<std::string> scopeOf(const Node &node);
  /// Whether nothing tells which of several modules of one name it is.
  bool isGuess(const Node &node);

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
  void findModules(const Node &node, StringRef module);
  void guess(unsigned before, StringRef component);
  void findNamesakes(const Model &model);
  /// The called path of a component below another; of the root if that is 0.
  unsigned calledBelow(unsigned path, StringRef component);

  PathTree tree;
  /// Modules that a parameter's name proves.
  DenseSet<unsigned> modules;
  /// Paths as they stand in the names of nodes, before calls are merged.
  DenseSet<unsigned> paths;
  /// By called path, which is one of all components of a node's name as they
  /// stand: the module that the parameters read there prove; "" where they
  /// contradict each other.
  DenseMap<unsigned, std::string> proven;
  /// By called path without the last number: the same, of any call.
  DenseMap<unsigned, std::string> provenCalls;
  /// By called path and number of a call: the module around what is called
  /// there with that number; "" where they contradict each other.
  DenseMap<std::pair<unsigned, unsigned>, std::string> provenAround;
  /// Where a called path is first, and the largest number behind it.
  DenseMap<unsigned, int64_t> firstOf;
  DenseMap<unsigned, unsigned> lastCall;
  /// Called paths that end with the number of another module of that name, not
  /// of another call.
  DenseSet<unsigned> namesakes;
  /// Called paths of modules that may be any of several, and which of them it
  /// is if calls are as many as next to it; or "".
  DenseMap<unsigned, std::string> guesses;
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

unsigned ScriptNames::calledBelow(unsigned path, StringRef component) {
  return tree.below(path == PathTree::kRoot ? tree.below(path, "/") : path,
                    component);
}

/// Whether an exporter's file has the name from the model.
static bool isModelName(StringRef name) {
  return !name.contains(':') && !name.contains('/');
}

ScriptNames::ScriptNames(const Model &model) {
  StringSet<> parameters;
  for (const auto &[name, value] : model.initializers) {
    if (!isModelName(name))
      continue;
    parameters.insert(name);
    unsigned path = PathTree::kRoot;
    if (StringRef module = modulePath(name); !module.empty())
      for (StringRef component : split(module, '.'))
        modules.insert(path = tree.below(path, component));
  }
  for (const Node &node : model.nodes) {
    // Of equal initialisers one is stored, and the others are named so.
    if (node.op == "Identity" && node.inputs.size() == 1 &&
        parameters.contains(node.inputs[0]) && isModelName(node.outputs[0]))
      parameters.insert(node.outputs[0]);
    if (!StringRef(node.name).starts_with("/"))
      continue;
    Walk walk;
    unsigned called = PathTree::kRoot;
    for (StringRef component : moduleComponents(node)) {
      take(walk, component, step(walk, component));
      paths.insert(walk.path());
      if (StringRef stem = withoutCallNumber(component); !stem.empty()) {
        unsigned &last = lastCall[calledBelow(called, stem)];
        last = std::max(last, callNumber(component));
      }
      called = calledBelow(called, component);
      firstOf.try_emplace(called, node.ordinal);
    }
    for (const std::string &input : node.inputs)
      if (parameters.contains(input))
        findModules(node, modulePath(input));
  }
  findNamesakes(model);
}

/// Finds the components of the node's name in `module`, from the end. Where the
/// last is its last, they are that module and those around it, as far as they
/// are there.
void ScriptNames::findModules(const Node &node, StringRef module) {
  Walk walk;
  struct Component {
    unsigned before, path;
  };
  SmallVector<Component> called;
  unsigned path = PathTree::kRoot;
  for (StringRef component : moduleComponents(node)) {
    take(walk, component, step(walk, component));
    called.truncate(walk.kept.size() - 1);
    unsigned before = path;
    called.push_back({before, path = calledBelow(path, component)});
  }
  SmallVector<std::pair<unsigned, StringRef>> found, foundCalls;
  SmallVector<std::pair<std::pair<unsigned, unsigned>, StringRef>> foundAround;
  StringRef rest = module;
  for (auto [component, at] :
       llvm::reverse(zip_equal(make_first_range(walk.kept), called))) {
    auto endsWith = [&](StringRef own) {
      return !own.empty() && rest.ends_with(own) &&
             (rest.size() == own.size() ||
              rest[rest.size() - own.size() - 1] == '.');
    };
    StringRef stem = withoutCallNumber(component);
    while (!endsWith(component) && !endsWith(stem) && !rest.empty() &&
           !found.empty())
      rest = modulePath(rest);
    if (!endsWith(component) && !endsWith(stem))
      break;
    found.push_back({at.path, rest});
    StringRef own = component;
    if (!endsWith(component)) {
      foundCalls.push_back({calledBelow(at.before, stem), rest});
      own = stem;
    }
    unsigned number = own == component ? 0 : callNumber(component);
    rest = rest.drop_back(own.size());
    rest.consume_back(".");
    foundAround.push_back({{at.before, number}, rest});
  }
  auto note = [](auto &proven, auto &found) {
    for (auto [path, module] : found) {
      auto [it, fresh] = proven.try_emplace(path, module.str());
      if (!fresh && it->second != module)
        it->second.clear();
    }
  };
  note(proven, found);
  note(provenCalls, foundCalls);
  note(provenAround, foundAround);
}

/// Called as often as what is next to it, it is in the same modules.
void ScriptNames::guess(unsigned before, StringRef component) {
  StringRef stem = withoutCallNumber(component);
  if (stem.empty())
    stem = component;
  std::string &module = guesses[calledBelow(before, component)];
  auto around = [&](unsigned number) -> StringRef {
    auto found = provenAround.find({before, number});
    return found == provenAround.end() ? StringRef() : found->second;
  };
  unsigned last = lastCall.lookup(calledBelow(before, stem));
  for (unsigned number = 0; number <= last; ++number)
    if (around(number).empty())
      return;
  if (around(last + 1).empty())
    module = joinPath(around(callNumber(component)), stem);
}

/// Two paths that would be two calls of one module, but whose weights differ,
/// are two modules.
void ScriptNames::findNamesakes(const Model &model) {
  StringMap<const HostTensor *> anonymous;
  for (const auto &[name, data] : model.initializers)
    if (!isModelName(name) && isFloat(data.getType()))
      anonymous[name] = &data;
  struct Caller {
    SmallVector<unsigned> called;
    StringRef component;
    SmallVector<const HostTensor *> weights;

    unsigned before() const {
      return called.size() > 1 ? called.rbegin()[1] : PathTree::kRoot;
    }
  };
  // By module, its calls in order.
  StringMap<MapVector<unsigned, Caller>> callers;
  for (const Node &node : model.nodes) {
    std::optional<std::string> scope = scopeOf(node);
    if (!scope)
      continue;
    SmallVector<unsigned> called;
    SmallVector<StringRef> components = moduleComponents(node);
    for (StringRef component : components)
      called.push_back(calledBelow(
          called.empty() ? PathTree::kRoot : called.back(), component));
    for (const std::string &input : node.inputs) {
      const HostTensor *data = anonymous.lookup(input);
      if (!data || called.empty())
        continue;
      Caller &caller = callers[*scope][called.back()];
      caller.called = called;
      caller.component = components.back();
      caller.weights.push_back(data);
      // Another call of that name is a module elsewhere.
      auto other = provenCalls.find(called.back());
      if (other != provenCalls.end() && other->second != *scope &&
          proven.lookup(called.back()).empty())
        guess(caller.before(), caller.component);
    }
  }
  auto isOther = [](const Caller &a, const Caller &b) {
    for (auto [x, y] : zip(a.weights, b.weights))
      if (x->getType() != y->getType() || x->getShape() != y->getShape() ||
          !x->hasSameData(*y))
        return true;
    return false;
  };
  for (auto &[scope, calls] : callers) {
    const Caller &first = calls.front().second;
    for (auto &[path, caller] : drop_begin(calls)) {
      if (!isOther(first, caller))
        continue;
      for (const Caller *one : {&first, &std::as_const(caller)})
        if (proven.lookup(one->called.back()).empty())
          guess(one->before(), one->component);
      namesakes.insert(caller.called.begin(), caller.called.end());
    }
  }
}

bool ScriptNames::isGuess(const Node &node) {
  if (!StringRef(node.name).starts_with("/"))
    return false;
  unsigned called = PathTree::kRoot;
  for (StringRef component : moduleComponents(node))
    called = calledBelow(called, component);
  return guesses.contains(called);
}

std::optional<std::string> ScriptNames::scopeOf(const Node &node) {
  if (!StringRef(node.name).starts_with("/"))
    return std::nullopt;
  Walk walk;
  unsigned path = PathTree::kRoot;
  // Merge calls, from the outside in.
  for (StringRef component : moduleComponents(node)) {
    unsigned before = path;
    path = calledBelow(path, component);
    Step called = step(walk, component);
    StringRef stem = withoutCallNumber(component);
    bool isCall = !stem.empty() && !modules.contains(called.path) &&
                  !namesakes.contains(path);
    // A first call is before the second.
    if (isCall)
      if (auto first = firstOf.find(calledBelow(before, stem));
          first != firstOf.end())
        isCall = first->second < firstOf.lookup(path);
    auto find = [](const DenseMap<unsigned, std::string> &modules,
                   unsigned path) -> StringRef {
      auto found = modules.find(path);
      return found == modules.end() ? StringRef() : found->second;
    };
    StringRef module = find(proven, path);
    if (module.empty() && isCall && !proven.contains(path))
      module = find(proven, calledBelow(before, stem));
    if (module.empty())
      module = find(guesses, path);
    if (!module.empty()) {
      // What follows may repeat the component, with all that is before it.
      StringRef own = module.ends_with(component) ? component : stem;
      StringRef around = module.drop_back(own.size());
      around.consume_back(".");
      walk.kept.clear();
      if (!around.empty())
        walk.kept.push_back({around, tree.below(PathTree::kRoot, around)});
      walk.kept.push_back({own, tree.below(walk.path(), own)});
      continue;
    }
    if (isCall) {
      Step once = step(walk, stem);
      if (modules.contains(once.path) || paths.contains(once.path)) {
        take(walk, stem, once);
        continue;
      }
    }
    take(walk, component, called);
  }
  return join(make_first_range(walk.kept), ".");
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
    if (!scope) {
      scope = scriptNames.scopeOf(node);
      if (scriptNames.isGuess(node))
        guesses.insert(node.ordinal);
    }
    // What took in the norm behind it says the norm's path.
    if (hasBatchNorm(node) && node.inputs.size() > 1 &&
        leafName(node.inputs[1]) == "weight")
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
