//===- Plan.cpp - Sharding plans ------------------------------------------===//
//
// From JSON to directives.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/files/Plan.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "passes/schedule/files/LocatedJson.h"
#include "passes/schedule/names/NamePattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A plan's placement for one mesh axis: replicate, shard a dimension, or leave
/// a reduction pending.
struct AxisPlacement {
  AxisRefAttr axis;
  std::optional<int64_t> dim;
  /// Of which each is sharded: their number, or their sizes; nothing for all.
  SmallVector<int64_t> blocks;
  /// Between which alone the dimension is cut: their number; 0 for anywhere.
  int64_t pieces = 0;
  std::optional<ReductionKind> pending;
};

/// The blocks or pieces of a dimension, and the axes that cut them.
struct DimPlacement {
  SmallVector<int64_t> blocks;
  int64_t pieces;
  SmallVector<AxisRefAttr> axes;
};

class PlanReader {
public:
  PlanReader(StringRef file, ModuleOp program)
      : file(file), program(program), builder(program.getContext()) {}

  FailureOr<PlannedSchedule> read(const LocatedJson &plan);

private:
  Location locate(const LocatedJson &at) const {
    return FileLineColLoc::get(builder.getContext(), file, at.line, at.column);
  }
  InFlightDiagnostic error(const LocatedJson &at) const {
    return emitError(locate(at));
  }
  /// "expected an object …, not a list".
  InFlightDiagnostic expected(const LocatedJson &at, const Twine &what) const {
    return error(at) << "expected " << what << ", not " << at.describe();
  }

  /// What follows is of this member of a section.
  void begin(const LocatedJson &key) {
    auto found = optional.find(key.text);
    isOptional = found != optional.end();
    if (isOptional)
      found->second = true;
  }
  LogicalResult readPipeline(const LocatedJson &pipeline);
  LogicalResult readOptional(const LocatedJson &keys);
  LogicalResult checkOptional(const LocatedJson &keys);
  FailureOr<MeshOp> readMesh(const LocatedJson *mesh, const LocatedJson &plan,
                             ModuleOp holder);
  LogicalResult readParameters(const LocatedJson &parameters);
  LogicalResult readForward(const LocatedJson &forward);
  LogicalResult
  readModules(const LocatedJson &modules,
              function_ref<void(const LocatedJson &, ArrayAttr)> add);
  LogicalResult readBorder(const LocatedJson &key, const LocatedJson &value);
  LogicalResult readListOfBorder(const LocatedJson &key, StringRef module,
                                 bool isInput, StringRef number,
                                 const LocatedJson &list);
  FailureOr<AxisRefAttr> findAxis(const LocatedJson &name);
  std::string listAxes() {
    return llvm::join(llvm::map_range(mesh.getAxes(),
                                      [](auto axis) { return axis.getName(); }),
                      ", ");
  }
  /// In cutting order, the outermost first; missing axes replicate. Nullopt for
  /// null.
  FailureOr<std::optional<SmallVector<AxisPlacement>>>
  readPlacements(const LocatedJson &list);
  FailureOr<std::map<int64_t, DimPlacement>>
  collectDims(ShardTarget kind, ArrayRef<AxisPlacement> placements,
              const LocatedJson &list);
  ShardOp createShard(const LocatedJson &key, StringRef target,
                      ShardTarget kind);
  LogicalResult addDirective(const LocatedJson &key, StringRef target,
                             ShardTarget kind, std::optional<int64_t> number,
                             ArrayRef<AxisPlacement> placements,
                             const LocatedJson &list);

  StringRef file;
  ModuleOp program;
  /// In the body of the schedule.
  OpBuilder builder;
  MeshOp mesh;
  /// The keys that may match nothing, and whether there is such a key.
  llvm::StringMap<bool> optional;
  bool isOptional = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

/// Reads `n` or `[n, …]` of an interleaved placement: its blocks.
static LogicalResult readBlocks(StringRef text, AxisPlacement &result,
                                function_ref<InFlightDiagnostic()> fail) {
  bool isList = text.consume_front("[");
  if (isList != text.consume_back("]"))
    return fail() << "one bracket of the list of blocks is missing";
  SmallVector<StringRef> numbers;
  text.split(numbers, ',');
  for (StringRef number : numbers)
    if (number.getAsInteger(10, result.blocks.emplace_back()) ||
        result.blocks.back() < 1)
      return fail() << "'" << number << "' is no number of blocks, nor the "
                    << "size of one: these are at least 1";
  if (isList == (numbers.size() == 1))
    return fail() << "blocks of different sizes are a list of at least 2, as "
                  << "[64,16,16]; of one size, their number";
  if (result.blocks == SmallVector<int64_t>{1})
    result.blocks.clear();
  return success();
}

/// One word of a placement list: "R", "S(0)", "IS(0,[64,16,16])", "P(max)".
static FailureOr<AxisPlacement> readWord(const LocatedJson &placement,
                                         Location loc) {
  constexpr StringLiteral kForms =
      "R (replicate), S(d) (shard dimension d), S(d,n) (shard it between n "
      "equal pieces, which stay whole), IS(d,n) (shard each of n interleaved "
      "blocks of it), IS(d,[64,16,16]) (shard each of blocks of these sizes), "
      "P or P(max) (leave a sum or maximum pending)";
  if (placement.kind != LocatedJson::String)
    return emitError(loc) << "expected " << kForms << ", not "
                          << placement.describe();
  auto fail = [&] { return emitError(loc) << "'" << placement.text << "': "; };
  std::string text = placement.text;
  llvm::erase_if(text, [](char c) { return c == ' '; });
  auto [word, arguments] = StringRef(text).split('(');
  bool hasArguments = arguments.consume_back(")");
  AxisPlacement result;
  if (text == "R")
    return result;
  if (text == "P" || (word == "P" && hasArguments)) {
    result.pending =
        text == "P" ? ReductionKind::Sum : symbolizeReductionKind(arguments);
    if (result.pending)
      return result;
    return fail() << "'" << arguments << "' is no reduction; one of sum, prod, "
                  << "max, min, and, or is";
  }
  auto [number, parts] = arguments.split(',');
  int64_t dim;
  bool hasParts = number.size() != arguments.size();
  if (!hasArguments || number.getAsInteger(10, dim) ||
      (word == "IS" ? !hasParts : word != "S"))
    return emitError(loc) << "'" << placement.text
                          << "' is no placement; expected " << kForms;
  result.dim = dim;
  if (word == "IS" && failed(readBlocks(parts, result, fail)))
    return failure();
  if (word == "S" && hasParts &&
      (parts.getAsInteger(10, result.pieces) || result.pieces < 1))
    return fail() << "'" << parts << "' is no number of equal pieces; that is "
                  << "at least 1. Blocks of different sizes, each cut, are "
                  << "IS(d,[64,16,16])";
  return result;
}

/// The mesh's axis of that name.
FailureOr<AxisRefAttr> PlanReader::findAxis(const LocatedJson &name) {
  for (MeshAxisAttr axis : mesh.getAxes())
    if (axis.getName() == name.text)
      return AxisRefAttr::get(builder.getContext(), name.text, 1, 0);
  return error(name) << "the mesh has no axis '" << name.text
                     << "'; its axes are " << listAxes();
}

FailureOr<std::optional<SmallVector<AxisPlacement>>>
PlanReader::readPlacements(const LocatedJson &list) {
  using Result = std::optional<SmallVector<AxisPlacement>>;
  if (list.kind == LocatedJson::Null)
    return Result();
  SmallVector<AxisPlacement> placements;
  auto add = [&](AxisRefAttr axis, const LocatedJson &item) -> LogicalResult {
    FailureOr<AxisPlacement> one = readWord(item, locate(item));
    if (failed(one))
      return failure();
    one->axis = axis;
    placements.push_back(*one);
    return success();
  };
  if (list.kind == LocatedJson::List) {
    ArrayRef<MeshAxisAttr> axes = mesh.getAxes();
    if (list.items.size() != axes.size())
      return error(list)
             << "a placement list has an entry for each of the mesh's "
             << axes.size() << " axes (" << listAxes() << "), not "
             << list.items.size();
    for (auto [axis, item] : llvm::zip_equal(axes, list.items))
      if (failed(
              add(AxisRefAttr::get(builder.getContext(), axis.getName(), 1, 0),
                  item)))
        return failure();
    return Result(placements);
  }
  if (list.kind != LocatedJson::Object)
    return expected(list, "a placement list such as [\"R\", \"S(0)\"], an "
                          "object such as {\"tp\": \"S(0)\"}, or null");
  for (auto [key, item] : llvm::zip_equal(list.keys, list.items)) {
    FailureOr<AxisRefAttr> axis = findAxis(key);
    if (failed(axis) || failed(add(*axis, item)))
      return failure();
  }
  return Result(placements);
}

FailureOr<std::map<int64_t, DimPlacement>>
PlanReader::collectDims(ShardTarget kind, ArrayRef<AxisPlacement> placements,
                        const LocatedJson &list) {
  std::map<int64_t, DimPlacement> dims;
  bool hasSizes = false;
  for (const AxisPlacement &one : placements) {
    if (!one.dim)
      continue;
    auto [entry, isNew] =
        dims.try_emplace(*one.dim, DimPlacement{one.blocks, one.pieces, {}});
    auto &[blocks, pieces, axes] = entry->second;
    if (blocks != one.blocks || pieces != one.pieces)
      return error(list) << "dimension " << *one.dim << " is cut in other "
                         << "blocks over one axis than over another; say the "
                         << "same IS(d,n) or S(d,n) of both, which cuts over "
                         << "both";
    axes.push_back(one.axis);
    if (!isNew || blocks.size() < 2)
      continue;
    if (kind != ShardTarget::Parameter || hasSizes)
      return error(list)
             << "blocks of different sizes are of one dimension of parameters: "
             << "say it of the weight and bias of the layer that makes them "
             << "side by side, and null of what it makes";
    hasSizes = true;
  }
  return dims;
}

ShardOp PlanReader::createShard(const LocatedJson &key, StringRef target,
                                ShardTarget kind) {
  OperationState state(locate(key), ShardOp::getOperationName());
  state.addAttribute("target", builder.getStringAttr(target));
  state.addAttribute("kind", ShardTargetAttr::get(builder.getContext(), kind));
  if (isOptional)
    state.addAttribute("optional", builder.getUnitAttr());
  return cast<ShardOp>(builder.create(state));
}

LogicalResult PlanReader::addDirective(const LocatedJson &key, StringRef target,
                                       ShardTarget kind,
                                       std::optional<int64_t> number,
                                       ArrayRef<AxisPlacement> placements,
                                       const LocatedJson &list) {
  MLIRContext *context = builder.getContext();
  auto cut = collectDims(kind, placements, list);
  if (failed(cut))
    return failure();
  SmallVector<Attribute> pendingAxes;
  std::optional<ReductionKind> pending;
  for (const AxisPlacement &placement : placements) {
    if (!placement.pending)
      continue;
    if (kind != ShardTarget::ModuleInput && kind != ShardTarget::ModuleOutput)
      return error(list)
             << "'P' leaves a reduction pending, which arises within the "
             << "program: parameters, and what goes into the program or "
             << "comes out of it, are whole; say R or S(d)";
    if (pending.value_or(*placement.pending) != *placement.pending)
      return error(list) << "leaves two reductions of different kinds "
                         << "pending in one tensor";
    pending = placement.pending;
    pendingAxes.push_back(placement.axis);
  }
  ShardOp directive = createShard(key, target, kind);
  SmallVector<Attribute> dims;
  SmallVector<int64_t> numbers;
  for (auto &[dim, placement] : *cut) {
    auto &[blocks, pieces, axes] = placement;
    numbers.push_back(dim);
    SmallVector<SubDimAttr> subDims;
    if (blocks.size() == 1)
      subDims.push_back(SubDimAttr::get(context, blocks.front(), {}));
    subDims.push_back(SubDimAttr::get(context, pieces, axes));
    if (pieces > 0)
      subDims.push_back(SubDimAttr::get(context, 0, {}));
    dims.push_back(DimShardingAttr::get(context, subDims, /*isOpen=*/false));
    if (blocks.size() > 1) {
      directive.setBlocks(blocks);
      number = dim;
    }
  }
  if (number)
    directive.setNumber(*number);
  if (dims.empty()) {
    directive.setReplicate(true);
  } else {
    directive.setDimsAttr(builder.getArrayAttr(dims));
    directive.setDimNumbers(numbers);
  }
  if (pending) {
    directive.setPartialKind(*pending);
    directive.setPartialAxesAttr(builder.getArrayAttr(pendingAxes));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

/// The regular expression `key` as a target of directives.
static std::string getTarget(StringRef key) { return "/" + key.str() + "/"; }

FailureOr<MeshOp> PlanReader::readMesh(const LocatedJson *axes,
                                       const LocatedJson &plan,
                                       ModuleOp holder) {
  SmallVector<MeshOp> present(program.getOps<MeshOp>());
  if (!axes) {
    if (present.size() == 1)
      return present.front();
    return error(plan)
           << "has no \"mesh\", and the program has " << present.size()
           << "; write one such as \"mesh\": {\"dp\": 2, \"tp\": 4}";
  }
  if (axes->kind != LocatedJson::Object || axes->items.empty())
    return expected(*axes, "axes and their sizes, such as {\"dp\": 2}");
  MLIRContext *context = builder.getContext();
  SmallVector<MeshAxisAttr> list;
  for (auto [name, size] : llvm::zip_equal(axes->keys, axes->items)) {
    if (size.kind != LocatedJson::Integer || !size.text.empty() ||
        size.integer < 1)
      return error(size) << "the size of axis '" << name.text
                         << "' must be a whole number of at least 1";
    list.push_back(MeshAxisAttr::get(context, name.text, size.integer));
  }
  auto all = MeshAxesAttr::get(context, list);
  for (MeshOp one : present)
    if (one.getAxesAttr() == all)
      return one;
  // (C1) and (C2) of dist.mesh.
  builder.setInsertionPointToStart(holder.getBody());
  auto made = MeshOp::create(builder, locate(*axes), "plan", all);
  if (failed(verify(made)))
    return failure();
  return made;
}

LogicalResult PlanReader::readParameters(const LocatedJson &parameters) {
  if (parameters.kind != LocatedJson::Object)
    return expected(parameters, "an object with a regular expression and a "
                                "placement list for each member");
  for (auto [key, item] : llvm::zip_equal(parameters.keys, parameters.items)) {
    begin(key);
    auto placements = readPlacements(item);
    if (failed(placements) ||
        (*placements &&
         failed(addDirective(key, getTarget(key.text), ShardTarget::Parameter,
                             std::nullopt, **placements, item))))
      return failure();
  }
  return success();
}

LogicalResult PlanReader::readListOfBorder(const LocatedJson &key,
                                           StringRef module, bool isInput,
                                           StringRef number,
                                           const LocatedJson &list) {
  auto placements = readPlacements(list);
  if (failed(placements))
    return failure();
  if (!*placements)
    return success();
  int64_t index;
  bool isNumber = !number.getAsInteger(10, index) && index >= 0;
  if (!module.empty()) {
    if (!isNumber)
      return error(key)
             << "\"" << number
             << "\": exported models do not keep the names of "
             << "a module's arguments; say 0 for the first that it reads, …";
    return addDirective(key, getTarget(module),
                        isInput ? ShardTarget::ModuleInput
                                : ShardTarget::ModuleOutput,
                        index, **placements, list);
  }
  // The program's own, by number or name.
  FailureOr<FunctionOpInterface> entry = findEntryFunction(program);
  if (failed(entry))
    return failure();
  SmallVector<StringRef> names;
  unsigned count = isInput ? entry->getNumArguments() : entry->getNumResults();
  for (unsigned i = 0; i < count; ++i)
    if (auto name =
            isInput ? entry->getArgAttrOfType<StringAttr>(i, kInputAttr)
                    : entry->getResultAttrOfType<StringAttr>(i, kOutputAttr))
      names.push_back(name);
  if (isNumber && static_cast<size_t>(index) >= names.size())
    return error(key) << "the program has " << names.size() << " "
                      << (isInput ? "inputs" : "outputs") << ", and no number "
                      << index;
  StringRef name = isNumber ? names[index] : number;
  return addDirective(key, getTarget(llvm::Regex::escape(name)),
                      isInput ? ShardTarget::Input : ShardTarget::Output,
                      std::nullopt, **placements, list);
}

LogicalResult PlanReader::readBorder(const LocatedJson &key,
                                     const LocatedJson &value) {
  StringRef module = key.text;
  bool isInput = module.consume_back("input");
  if (!isInput && !module.consume_back("output"))
    return error(key) << "\"" << key.text
                      << "\" must end in .input or .output: what goes into the "
                         "modules, or comes out of them";
  // The dot, as a character of the name or escaped.
  if (!module.empty() && !module.consume_back("\\."))
    if (!module.consume_back("."))
      return error(key) << "\"" << key.text << "\" must end in ."
                        << (isInput ? "input" : "output");
  if (value.kind == LocatedJson::Null)
    return success();
  if (value.kind == LocatedJson::Object) {
    for (auto [name, list] : llvm::zip_equal(value.keys, value.items))
      if (failed(readListOfBorder(name, module, isInput, name.text, list)))
        return failure();
    return success();
  }
  if (value.kind != LocatedJson::List)
    return expected(value, "a list with a placement list for each argument, as "
                           "[[\"R\", \"S(1)\"]]");
  if (llvm::any_of(value.items, [](const LocatedJson &item) {
        return item.kind == LocatedJson::String;
      }))
    return error(value) << "expected a list of placement lists, one for each "
                        << (isInput ? "argument" : "result")
                        << ": write one pair of brackets more, as "
                           "[[\"R\", \"S(1)\"]]";
  for (auto [number, list] : llvm::enumerate(value.items))
    if (failed(readListOfBorder(key, module, isInput, std::to_string(number),
                                list)))
      return failure();
  return success();
}

LogicalResult PlanReader::readForward(const LocatedJson &forward) {
  if (forward.kind != LocatedJson::Object)
    return expected(forward, "an object with members such as "
                             "\"model.norm.input\": [[\"R\"]]");
  for (auto [key, item] : llvm::zip_equal(forward.keys, forward.items)) {
    begin(key);
    if (failed(readBorder(key, item)))
      return failure();
  }
  return success();
}

/// `{"layers.\d+.mlp.experts": ["ep"]}`: modules and the axes over which they
/// are sharded, or form a ring.
LogicalResult PlanReader::readModules(
    const LocatedJson &modules,
    function_ref<void(const LocatedJson &, ArrayAttr)> add) {
  if (modules.kind != LocatedJson::Object)
    return expected(modules, "an object with a module and a list of axes for "
                             "each member, as {\"layers.0.mlp\": [\"ep\"]}");
  for (auto [key, list] : llvm::zip_equal(modules.keys, modules.items)) {
    if (list.kind != LocatedJson::List || list.items.empty())
      return expected(list, "a list of axes, such as [\"tp\"]");
    SmallVector<Attribute> axes;
    for (const LocatedJson &name : list.items) {
      if (name.kind != LocatedJson::String)
        return expected(name, "the name of an axis");
      FailureOr<AxisRefAttr> axis = findAxis(name);
      if (failed(axis))
        return failure();
      axes.push_back(*axis);
    }
    begin(key);
    add(key, builder.getArrayAttr(axes));
  }
  return success();
}

/// `{"table": "1f1b", "axis": "pp", "stages": "layers\.\d+"}`: a dist.pipeline
/// and its stages.
LogicalResult PlanReader::readPipeline(const LocatedJson &pipeline) {
  if (pipeline.kind != LocatedJson::Object)
    return expected(pipeline,
                    "an object such as {\"table\": \"1f1b\", \"axis\": "
                    "\"pp\", \"stages\": \"layers\\\\.\\\\d+\"}");
  using Kind = LocatedJson::Kind;
  constexpr std::tuple<StringLiteral, Kind, StringLiteral> kMembers[] = {
      {"table", LocatedJson::String, "the name of a table, as \"1f1b\""},
      {"file", LocatedJson::String, "the name of a file with a table"},
      {"axis", LocatedJson::String, "the name of an axis"},
      {"chunks", LocatedJson::Integer, "how many stages each device has"},
      {"split", LocatedJson::Boolean, "true or false"},
      {"stages", LocatedJson::String, "a regular expression of modules"},
      {"sizes", LocatedJson::List,
       "how many modules each stage has, as [3, 4]"},
      {"balance", LocatedJson::Boolean, "true or false"},
      {"cuts", LocatedJson::List,
       "the modules that stages begin with, as [\"layers.6\"]"}};
  for (auto [key, item] : llvm::zip_equal(pipeline.keys, pipeline.items)) {
    auto *member = llvm::find_if(kMembers, [&](const auto &one) {
      return std::get<0>(one) == key.text;
    });
    if (member == std::end(kMembers)) {
      InFlightDiagnostic diagnostic = error(key) << "a pipeline has no \""
                                                 << key.text << "\", but ";
      llvm::interleaveComma(kMembers, diagnostic, [&](const auto &one) {
        diagnostic << "\"" << std::get<0>(one) << "\"";
      });
      return diagnostic;
    }
    if (item.kind != std::get<1>(*member) ||
        (item.kind == LocatedJson::Integer && !item.text.empty()))
      return expected(item, std::get<2>(*member));
  }
  const LocatedJson *table = pipeline.find("table"),
                    *file = pipeline.find("file"),
                    *axisName = pipeline.find("axis"),
                    *chunks = pipeline.find("chunks"),
                    *stages = pipeline.find("stages"),
                    *sizes = pipeline.find("sizes"),
                    *cuts = pipeline.find("cuts");
  auto isTrue = [&](StringRef name) {
    const LocatedJson *value = pipeline.find(name);
    return value && value->integer != 0;
  };
  if (!axisName || !table == !file || !stages == !cuts)
    return error(pipeline)
           << "a pipeline has \"axis\", either \"table\" or \"file\", and "
              "either \"stages\" or \"cuts\"";
  if (!stages && (sizes || isTrue("balance")))
    return error(pipeline) << "\"sizes\" and \"balance\" go with \"stages\"";
  FailureOr<AxisRefAttr> axis = findAxis(*axisName);
  if (failed(axis))
    return failure();
  const LocatedJson &name = table ? *table : *file;
  PipelineOp::create(builder, locate(name), builder.getStringAttr(name.text),
                     builder.getArrayAttr({*axis}),
                     builder.getI64IntegerAttr(chunks ? chunks->integer : 1),
                     isTrue("split") ? builder.getUnitAttr() : UnitAttr(),
                     file ? builder.getUnitAttr() : UnitAttr(),
                     /*text=*/StringAttr());
  auto getPattern = [&](const LocatedJson &key) {
    return builder.getStringAttr(getTarget(key.text));
  };
  if (stages) {
    SmallVector<int64_t> numbers;
    for (const LocatedJson &size :
         sizes ? sizes->items : std::vector<LocatedJson>()) {
      if (size.kind != LocatedJson::Integer || !size.text.empty())
        return expected(size, "a number of modules");
      numbers.push_back(size.integer);
    }
    StagesOp::create(builder, locate(*stages), getPattern(*stages),
                     sizes ? builder.getDenseI64ArrayAttr(numbers)
                           : DenseI64ArrayAttr(),
                     isTrue("balance") ? builder.getUnitAttr() : UnitAttr(),
                     /*except=*/StringAttr(), /*optional=*/UnitAttr(),
                     /*expect=*/IntegerAttr());
    return success();
  }
  for (const LocatedJson &cut : cuts->items) {
    if (cut.kind != LocatedJson::String)
      return expected(cut, "a regular expression of a module");
    CutPipelineStageOp::create(builder, locate(cut), getPattern(cut),
                               /*except=*/StringAttr(),
                               /*optional=*/UnitAttr(),
                               /*expect=*/IntegerAttr());
  }
  return success();
}

/// `["key", …]`: keys of the sections that may match nothing.
LogicalResult PlanReader::readOptional(const LocatedJson &keys) {
  if (keys.kind != LocatedJson::List)
    return expected(keys, "a list of keys that may match nothing");
  for (const LocatedJson &key : keys.items) {
    if (key.kind != LocatedJson::String)
      return expected(key, "a key, as it stands in a section of the plan");
    optional[key.text] = false;
  }
  return success();
}

LogicalResult PlanReader::checkOptional(const LocatedJson &keys) {
  for (const LocatedJson &key : keys.items)
    if (!optional.lookup(key.text))
      return error(key) << "no section has the key \"" << key.text << "\"";
  return success();
}

FailureOr<PlannedSchedule> PlanReader::read(const LocatedJson &plan) {
  if (plan.kind != LocatedJson::Object)
    return expected(plan, "an object with \"mesh\", \"parameter\" and "
                          "\"forward\"");
  constexpr StringLiteral kSections[] = {
      "mesh", "parameter",   "forward",    "heads",    "experts",
      "ring", "ring_zigzag", "graph_halo", "pipeline", "optional"};
  for (const LocatedJson &key : plan.keys)
    if (!llvm::is_contained(kSections, key.text)) {
      InFlightDiagnostic diagnostic = error(key)
                                      << "a plan has no \"" << key.text << "\"";
      for (StringRef section : kSections)
        if (section.edit_distance(key.text) <= 3)
          return diagnostic << "; did you mean \"" << section << "\"?";
      return diagnostic << ", but \"mesh\", \"parameter\", \"forward\", "
                        << "\"heads\", \"experts\", \"ring\", "
                        << "\"ring_zigzag\", \"graph_halo\", \"pipeline\" "
                        << "and \"optional\"";
    }
  Location loc = locate(plan);
  PlannedSchedule planned;
  planned.holder = ModuleOp::create(loc);
  FailureOr<MeshOp> found = readMesh(plan.find("mesh"), plan, *planned.holder);
  if (failed(found))
    return failure();
  mesh = *found;
  builder.setInsertionPointToEnd(planned.holder->getBody());
  planned.schedule =
      ScheduleOp::create(builder, loc, builder.getStringAttr("plan"),
                         FlatSymbolRefAttr::get(mesh.getSymNameAttr()));
  builder.createBlock(&planned.schedule.getBody());
  const LocatedJson *heads = plan.find("heads"),
                    *experts = plan.find("experts"), *ring = plan.find("ring"),
                    *zigzag = plan.find("ring_zigzag"),
                    *graph = plan.find("graph_halo"),
                    *parameters = plan.find("parameter"),
                    *forward = plan.find("forward"),
                    *pipeline = plan.find("pipeline"),
                    *optionalKeys = plan.find("optional");
  auto shard = [&](ShardTarget kind) {
    return [this, kind](const LocatedJson &key, ArrayAttr axes) {
      createShard(key, getTarget(key.text), kind).setAxesAttr(axes);
    };
  };
  auto exchange = [&](const LocatedJson &key, ArrayAttr axes) {
    GraphHaloOp::create(builder, locate(key), getTarget(key.text), axes,
                        /*except=*/StringAttr(), isOptional,
                        /*expect=*/IntegerAttr());
  };
  auto send = [&](bool isZigzag) {
    return [this, isZigzag](const LocatedJson &key, ArrayAttr axes) {
      RingOp::create(builder, locate(key), getTarget(key.text), axes, isZigzag,
                     /*except=*/StringAttr(), isOptional,
                     /*expect=*/IntegerAttr());
    };
  };
  if ((optionalKeys && failed(readOptional(*optionalKeys))) ||
      (heads && failed(readModules(*heads, shard(ShardTarget::Heads)))) ||
      (experts && failed(readModules(*experts, shard(ShardTarget::Experts)))) ||
      (ring && failed(readModules(*ring, send(/*isZigzag=*/false)))) ||
      (zigzag && failed(readModules(*zigzag, send(/*isZigzag=*/true)))) ||
      (graph && failed(readModules(*graph, exchange))) ||
      (pipeline && failed(readPipeline(*pipeline))) ||
      (parameters && failed(readParameters(*parameters))) ||
      (forward && failed(readForward(*forward))) ||
      (optionalKeys && failed(checkOptional(*optionalKeys))) ||
      failed(verify(planned.schedule)))
    return failure();
  return planned;
}

FailureOr<PlannedSchedule> mlir::dist::readPlan(StringRef text, StringRef file,
                                                ModuleOp program) {
  std::optional<LocatedJson> plan =
      LocatedJson::parse(text, file, program.getContext());
  if (!plan)
    return failure();
  return PlanReader(file, program).read(*plan);
}
