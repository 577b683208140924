//===- PlanWriter.cpp - What was decided, as a plan -----------------------===//
//
// From shardings to JSON.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/files/PlanWriter.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/schedule/directives/ModuleBorder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;

/// On the ops of the model: their numbers, and the types of their operands.
/// They have no dialect's prefix, since they are gone when the plan is written.
static constexpr StringLiteral kMarkAttr = "plan.mark",
                               kTypesAttr = "plan.types";

PlanWriter::PlanWriter(ModuleOp model) {
  ScopeIndex scopes(model);
  Origins origins;
  Builder builder(model.getContext());
  auto getUses = [&](ArrayRef<OpOperand *> operands) {
    SmallVector<Use, 2> uses;
    for (OpOperand *operand : operands) {
      unsigned mark = scopes.getPosition(operand->getOwner());
      uses.push_back({mark, operand->getOperandNumber()});
    }
    return uses;
  };
  model.walk([&](Operation *op) {
    unsigned mark = scopes.getPosition(op);
    op->setDiscardableAttr(kMarkAttr, builder.getI64IntegerAttr(mark));
    op->setDiscardableAttr(
        kTypesAttr,
        builder.getTypeArrayAttr(SmallVector<Type>(op->getOperandTypes())));
  });
  for (unsigned scope = 1; scope < scopes.getScopeEnd(); ++scope) {
    ModuleBorder module(scopes, origins, scope);
    std::string path = scopes.getPath(scope).str();
    Border &inputs = borders.emplace_back(Border{path, true, {}});
    for (auto &[value, uses] : module.findInputs())
      inputs.values.push_back(getUses(uses));
    Border &outputs = borders.emplace_back(Border{path, false, {}});
    for (Value output : module.findOutputs())
      outputs.values.push_back(getUses(module.findOutsideUses(output)));
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static bool isNumber(StringRef component) {
  return !component.empty() && llvm::all_of(component, llvm::isDigit);
}

/// The regular expression that matches `name` and names that differ from it
/// only in numbers, or with `isExact` that name alone.
static std::string getKey(StringRef name, bool isExact) {
  std::string key;
  for (StringRef rest = name;;) {
    auto [component, after] = rest.split('.');
    key += isNumber(component) && !isExact ? "\\d+"
                                           : llvm::Regex::escape(component);
    if (component.size() == rest.size())
      return key;
    key += "\\.";
    rest = after;
  }
}

static std::string quote(StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream(quoted)
      << llvm::json::Value(llvm::json::fixUTF8(text));
  return quoted;
}

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

namespace mlir::dist {
/// A plan while it is written.
class PlanText {
public:
  PlanText(ArrayRef<MeshAxisAttr> axes, ModuleOp placed);

  void addParameters(FunctionOpInterface entry);
  void addBorders(ArrayRef<PlanWriter::Border> borders);
  void addProgramBorder(FunctionOpInterface entry, bool isInput);

  void print(llvm::raw_ostream &plan) const;
  void printNotes(llvm::raw_ostream &notes) const;

private:
  /// The name of a tensor or module, and its placement in the plan; empty if it
  /// has no entry.
  struct Entry {
    std::string name, suffix, value;
  };

  /// The part of a parameter that an argument is, and its placement.
  struct Part {
    PartAttr part;
    ArrayRef<int64_t> shape;
    ShardingAttr sharding;
  };
  /// The blocks that a dimension is split into.
  struct Blocks {
    int64_t dim = -1;
    std::string sizes;
  };

  std::string describe(ShardingAttr sharding, StringRef name,
                       const Blocks &blocks);
  std::string describeParts(ArrayRef<Part> parts, StringRef name);
  std::string describeUses(ArrayRef<PlanWriter::Use> uses, StringRef name,
                           const PlanWriter::Border &border);
  std::string giveUp(StringRef name, StringRef why);
  std::vector<std::string> group(ArrayRef<Entry> entries) const;

  ArrayRef<MeshAxisAttr> axes;
  llvm::DenseMap<unsigned, SmallVector<Operation *, 1>> marked;
  std::vector<Entry> parameters, forward;
  std::vector<std::string> inputs, outputs;
  /// Placements that a plan cannot express, by name (numbers left open) and
  /// reason: the names, and their number.
  llvm::MapVector<std::pair<std::string, std::string>, unsigned,
                  std::map<std::pair<std::string, std::string>, unsigned>>
      unsaid;
};
} // namespace mlir::dist

PlanText::PlanText(ArrayRef<MeshAxisAttr> axes, ModuleOp placed) : axes(axes) {
  placed.walk([&](Operation *op) {
    auto mark = op->getAttrOfType<IntegerAttr>(kMarkAttr);
    if (!mark)
      return;
    marked[mark.getInt()].push_back(op);
  });
}

std::string PlanText::giveUp(StringRef name, StringRef why) {
  std::string open;
  for (StringRef component : llvm::split(name, '.'))
    open += (open.empty() ? "" : ".") +
            (isNumber(component) ? "*" : component).str();
  ++unsaid[{std::move(open), why.str()}];
  return "null";
}

/// `["R", "S(0)"]`, or `{"tp": "S(0)", "dp": "S(0)"}` if that order, which is
/// not the mesh's, matters.
std::string PlanText::describe(ShardingAttr sharding, StringRef name,
                               const Blocks &blocks) {
  SmallVector<std::string> placements(axes.size(), "R");
  SmallVector<size_t> order;
  bool isInOrder = true;
  std::string unclear;
  auto place = [&](AxisRefAttr axis, std::string text) {
    size_t number = llvm::find_if(axes,
                                  [&](MeshAxisAttr one) {
                                    return one.getName() == axis.getName();
                                  }) -
                    axes.begin();
    if (axis.isSubAxis() || number == axes.size())
      unclear = "a part of axis '" + axis.getName().str() + "'";
    else
      placements[number] = std::move(text);
    order.push_back(number);
  };
  for (auto [number, dim] : llvm::enumerate(sharding.getDims())) {
    ArrayRef<SubDimAttr> subDims = dim.getSubDims();
    SmallVector<AxisRefAttr> cuts = dim.getAllAxes();
    std::string at = std::to_string(number), text = "S(" + at + ")";
    bool isInterleaved = subDims.size() == 2 && subDims[0].getAxes().empty();
    bool isInPieces = subDims.size() == 2 && subDims[1].getAxes().empty();
    if (static_cast<int64_t>(number) == blocks.dim)
      text = "IS(" + at + ",[" + blocks.sizes + "])";
    else if (isInterleaved)
      text = "IS(" + at + "," + std::to_string(subDims[0].getSize()) + ")";
    else if (isInPieces)
      text = "S(" + at + "," + std::to_string(subDims[0].getSize()) + ")";
    if (!cuts.empty() && subDims.size() > 1 &&
        (!(isInterleaved || isInPieces) ||
         static_cast<int64_t>(number) == blocks.dim))
      unclear = "several parts of dimension " + at + ", each cut by itself";
    for (AxisRefAttr axis : cuts) {
      size_t before = axis == cuts.front() ? 0 : order.back();
      place(axis, text);
      isInOrder &= order.back() >= before;
    }
  }
  for (AxisRefAttr axis : sharding.getPartialAxes()) {
    ReductionKind kind = sharding.getPartialKind();
    place(axis, kind == ReductionKind::Sum
                    ? std::string("P")
                    : "P(" + stringifyReductionKind(kind).str() + ")");
  }
  if (!unclear.empty()) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "is placed as " << sharding << ", and a plan has no word for "
        << unclear;
    return giveUp(name, text);
  }
  std::string text;
  if (isInOrder) {
    for (const std::string &placement : placements)
      text += (text.empty() ? "" : ", ") + quote(placement);
    return "[" + text + "]";
  }
  for (size_t axis : order)
    text += (text.empty() ? "" : ", ") + quote(axes[axis].getName()) + ": " +
            quote(placements[axis]);
  return "{" + text + "}";
}

/// For several arguments of one name, or a parameter that has been split:
/// `["IS(0,[64,16,16])"]`.
std::string PlanText::describeParts(ArrayRef<Part> parts, StringRef name) {
  Blocks blocks;
  SmallVector<std::pair<int64_t, int64_t>> found; // offsets and sizes
  bool isClear = true, isWhole = !parts.front().part;
  for (const Part &part : parts) {
    isClear &= isWhole == !part.part && part.sharding == parts.front().sharding;
    if (!isClear || isWhole)
      continue;
    ArrayRef<int64_t> whole = part.part.getShape();
    for (auto [dim, size] : llvm::enumerate(part.shape))
      if (size != whole[dim]) {
        isClear &= blocks.dim < 0 || blocks.dim == static_cast<int64_t>(dim);
        blocks.dim = dim;
        found.emplace_back(part.part.getOffsets()[dim], size);
      }
  }
  if (!isClear)
    return giveUp(name, "is in several parts, which are placed differently");
  llvm::sort(found);
  for (auto [offset, size] : found)
    blocks.sizes += (blocks.sizes.empty() ? "" : ",") + std::to_string(size);
  return describe(parts.front().sharding, name, blocks);
}

/// Whether an op belongs to the module, or to one within it.
static bool isWithin(Operation *op, StringRef path) {
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  StringRef rest = scope ? scope.getValue() : StringRef();
  return rest.consume_front(path) && (rest.empty() || rest.front() == '.');
}

std::string PlanText::describeUses(ArrayRef<PlanWriter::Use> uses,
                                   StringRef name,
                                   const PlanWriter::Border &border) {
  ShardingAttr found;
  for (const PlanWriter::Use &use : uses)
    for (Operation *op : marked.lookup(use.mark)) {
      auto types = op->getAttrOfType<ArrayAttr>(kTypesAttr);
      if (use.operand >= std::min<size_t>(op->getNumOperands(), types.size()))
        continue;
      Value value = op->getOperand(use.operand);
      if (failed(verifyCompatibleShape(
              value.getType(), cast<TypeAttr>(types[use.operand]).getValue())))
        return giveUp(name, "is read by ops that have been taken apart");
      // An output of a module is moved by its readers only afterwards.
      if (!border.isInput)
        while (auto reshard = value.getDefiningOp<ReshardOp>()) {
          if (isWithin(reshard, border.path))
            break;
          value = reshard.getOperand();
        }
      ShardingAttr here = getPlacement(value);
      if (!here)
        continue;
      if (found && here != found)
        return giveUp(name, "is in different places where it is read");
      found = here;
    }
  if (!found)
    return giveUp(name, "is read by ops that have been taken apart");
  return describe(found, name, {});
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

void PlanText::addParameters(FunctionOpInterface entry) {
  llvm::MapVector<StringRef, SmallVector<Part, 1>> found;
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i) {
    auto attr = entry.getArgAttrOfType<StringAttr>(i, kParameterAttr);
    auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    if (attr && type)
      found[attr.getValue()].push_back(
          {entry.getArgAttrOfType<PartAttr>(i, kPartAttr), type.getShape(),
           entry.getArgAttrOfType<ShardingAttr>(i, kShardingAttr)});
  }
  for (auto &[name, parts] : found) {
    std::string value = parts.size() > 1 || parts.front().part
                            ? describeParts(parts, name)
                            : describe(parts.front().sharding, name, {});
    parameters.push_back({name.str(), "", value});
  }
}

void PlanText::addBorders(ArrayRef<PlanWriter::Border> borders) {
  for (const PlanWriter::Border &border : borders) {
    std::string suffix = border.isInput ? "\\.input" : "\\.output", list;
    std::string name = border.path + (border.isInput ? ".input" : ".output");
    bool isAnySaid = false;
    for (const auto &uses : border.values) {
      std::string value = describeUses(uses, name, border);
      isAnySaid |= value != "null";
      list += (list.empty() ? "" : ", ") + value;
    }
    std::string value = border.values.empty() ? ""
                        : isAnySaid           ? "[" + list + "]"
                                              : "null";
    forward.push_back({border.path, suffix, value});
  }
}

void PlanText::addProgramBorder(FunctionOpInterface entry, bool isInput) {
  unsigned number = 0;
  llvm::StringSet<> seen;
  TypeRange types = isInput ? entry.getArgumentTypes() : entry.getResultTypes();
  for (unsigned i = 0; i < types.size(); ++i) {
    auto get = [&](StringRef name) {
      return isInput ? entry.getArgAttr(i, name) : entry.getResultAttr(i, name);
    };
    auto attr =
        dyn_cast_or_null<StringAttr>(get(isInput ? kInputAttr : kOutputAttr));
    auto sharding = dyn_cast_or_null<ShardingAttr>(get(kShardingAttr));
    std::string what =
        (isInput ? "input " : "output ") + std::to_string(number);
    if (!attr) {
      if (!isInput || !get(kParameterAttr))
        giveUp((isInput ? "argument " : "result ") + std::to_string(i),
               "has no name that a plan could say");
      continue;
    }
    // A name that is a number, or of several, would be taken for another one.
    StringRef name = attr.getValue();
    bool isClear = seen.insert(name).second && !name.empty() &&
                   !llvm::all_of(name, llvm::isDigit);
    std::string key = isClear ? name.str() : std::to_string(number);
    ++number;
    if (!sharding)
      continue;
    (isInput ? inputs : outputs)
        .push_back(quote(key) + ": " + describe(sharding, what, {}));
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Members of an object: one key for all names that differ only in numbers, if
/// all of them have the same placement.
std::vector<std::string> PlanText::group(ArrayRef<Entry> entries) const {
  llvm::MapVector<std::string, SmallVector<const Entry *, 2>,
                  std::map<std::string, unsigned>>
      groups;
  for (const Entry &entry : entries)
    groups[getKey(entry.name, /*isExact=*/false) + entry.suffix].push_back(
        &entry);
  std::vector<std::string> members;
  auto add = [&](const std::string &key, const Entry &entry) {
    if (!entry.value.empty())
      members.push_back(quote(key) + ": " + entry.value);
  };
  for (const auto &group : groups) {
    const auto &alike = group.second;
    const std::string &value = alike.front()->value;
    if (alike.size() > 1 && llvm::all_of(alike, [&](const Entry *entry) {
          return entry->value == value;
        })) {
      add(group.first, *alike.front());
      continue;
    }
    for (const Entry *entry : alike)
      add(getKey(entry->name, /*isExact=*/true) + entry->suffix, *entry);
  }
  return members;
}

void PlanText::print(llvm::raw_ostream &plan) const {
  auto print = [&](ArrayRef<std::string> members, StringRef indent) {
    plan << "{";
    llvm::interleave(
        members, plan,
        [&](const std::string &member) {
          plan << "\n" << indent << "  " << member;
        },
        ",");
    if (!members.empty())
      plan << "\n" << indent;
    plan << "}";
  };
  plan << "{\n  \"mesh\": {";
  llvm::interleaveComma(axes, plan, [&](MeshAxisAttr axis) {
    plan << quote(axis.getName()) << ": " << axis.getSize();
  });
  plan << "},\n  \"parameter\": ";
  print(group(parameters), "  ");
  std::vector<std::string> members;
  auto addProgram = [&](StringRef key, ArrayRef<std::string> named) {
    if (!named.empty())
      members.push_back("\"" + key.str() + "\": {" + llvm::join(named, ", ") +
                        "}");
  };
  addProgram("input", inputs);
  llvm::append_range(members, group(forward));
  addProgram("output", outputs);
  plan << ",\n  \"forward\": ";
  print(members, "  ");
  plan << "\n}\n";
}

void PlanText::printNotes(llvm::raw_ostream &notes) const {
  for (const auto &[what, count] : unsaid) {
    notes << what.first;
    if (count > 1)
      notes << " (" << count << " of them)";
    notes << " " << what.second << "; null in the plan\n";
  }
}

LogicalResult PlanWriter::write(ModuleOp placed, llvm::raw_ostream &plan,
                                llvm::raw_ostream &notes) const {
  FailureOr<FunctionOpInterface> entry = findEntryFunction(placed);
  FailureOr<MeshOp> mesh = findProgramMesh(placed);
  if (failed(entry) || failed(mesh))
    return failure();
  if (!*mesh || getLevel(placed) != 2)
    return placed.emitError("has nothing placed that a plan could say; "
                            "--schedule says how it is distributed");
  PlanText text(mesh->getAxes(), placed);
  text.addParameters(*entry);
  text.addProgramBorder(*entry, /*isInput=*/true);
  text.addBorders(borders);
  text.addProgramBorder(*entry, /*isInput=*/false);
  text.print(plan);
  text.printNotes(notes);
  return success();
}
