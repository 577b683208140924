//===- Plan.cpp - Sharding plans ------------------------------------------===//
//
// From JSON to directives.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Plan.h"
#include "dialects/dist/IR/Axes.h"
#include "dialects/dist/IR/Program.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "passes/schedule/LocatedJson.h"
#include "passes/schedule/NamePattern.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What a plan says of one mesh axis: replicate, shard a dimension, each of
/// `groups` blocks of it, or leave a reduction pending.
struct AxisPlacement {
  unsigned axis = 0;
  std::optional<int64_t> dim;
  int64_t groups = 1;
  std::optional<ReductionKind> pending;
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

  FailureOr<MeshOp> readMesh(const LocatedJson *mesh, const LocatedJson &plan,
                             ModuleOp holder);
  LogicalResult readParameters(const LocatedJson &parameters);
  LogicalResult readForward(const LocatedJson &forward);
  LogicalResult readBorder(const LocatedJson &key, const LocatedJson &value);
  LogicalResult readListOfBorder(const LocatedJson &key, StringRef module,
                                 bool isInput, StringRef number,
                                 const LocatedJson &list);
  FailureOr<AxisPlacement> readPlacement(const LocatedJson &placement);
  /// In the order in which they cut, the outermost first; axes that are not
  /// there replicate. Nullopt for null.
  FailureOr<std::optional<SmallVector<AxisPlacement>>>
  readPlacements(const LocatedJson &list);
  LogicalResult addDirective(const LocatedJson &key, StringRef target,
                             ShardTarget kind, std::optional<int64_t> number,
                             ArrayRef<AxisPlacement> placements,
                             const LocatedJson &list);

  StringRef file;
  ModuleOp program;
  /// In the body of the schedule.
  OpBuilder builder;
  MeshOp mesh;
};
} // namespace

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

FailureOr<AxisPlacement>
PlanReader::readPlacement(const LocatedJson &placement) {
  constexpr StringLiteral kForms =
      "R (replicate), S(d) (shard dimension d), IS(d,n) (shard each of n "
      "interleaved blocks of dimension d), P or P(max) (leave a sum or maximum "
      "pending)";
  if (placement.kind != LocatedJson::String)
    return expected(placement, kForms);
  std::string squeezed = placement.text;
  llvm::erase_if(squeezed, [](char c) { return c == ' '; });
  StringRef text = squeezed;
  if (text == "R")
    return AxisPlacement{};
  AxisPlacement result;
  if (text == "P") {
    result.pending = ReductionKind::Sum;
    return result;
  }
  StringRef inner = text;
  if (inner.consume_front("P(") && inner.consume_back(")")) {
    result.pending = symbolizeReductionKind(inner);
    if (result.pending)
      return result;
    return error(placement)
           << "'" << placement.text << "': '" << inner
           << "' is no reduction; one of sum, prod, max, min, and, or is";
  }
  bool isInterleaved = text.consume_front("IS(");
  int64_t dim;
  if ((isInterleaved || text.consume_front("S(")) &&
      !text.consumeInteger(10, dim)) {
    result.dim = dim;
    if (!isInterleaved && text == ")")
      return result;
    if (isInterleaved && text.consume_front(",") &&
        !text.consumeInteger(10, result.groups) && text == ")") {
      if (result.groups < 1)
        return error(placement)
               << "'" << placement.text << "': " << result.groups
               << " blocks; there must be at least 1";
      return result;
    }
  }
  return error(placement) << "'" << placement.text
                          << "' is no placement; expected " << kForms;
}

FailureOr<std::optional<SmallVector<AxisPlacement>>>
PlanReader::readPlacements(const LocatedJson &list) {
  using Result = std::optional<SmallVector<AxisPlacement>>;
  ArrayRef<MeshAxisAttr> axes = mesh.getAxes();
  if (list.kind == LocatedJson::Null)
    return Result();
  SmallVector<AxisPlacement> placements;
  auto add = [&](unsigned axis, const LocatedJson &item) -> LogicalResult {
    FailureOr<AxisPlacement> one = readPlacement(item);
    if (failed(one))
      return failure();
    one->axis = axis;
    placements.push_back(*one);
    return success();
  };
  if (list.kind == LocatedJson::List) {
    if (list.items.size() != axes.size()) {
      InFlightDiagnostic diagnostic =
          error(list) << "a placement list has an entry for each of the mesh's "
                      << axes.size() << " axes (";
      llvm::interleaveComma(axes, diagnostic, [&](MeshAxisAttr axis) {
        diagnostic << axis.getName();
      });
      return diagnostic << "), not " << list.items.size();
    }
    for (auto [axis, item] : llvm::enumerate(list.items))
      if (failed(add(axis, item)))
        return failure();
    return Result(placements);
  }
  if (list.kind != LocatedJson::Object)
    return expected(list, "a placement list such as [\"R\", \"S(0)\"], an "
                          "object such as {\"tp\": \"S(0)\"}, or null");
  for (auto [key, item] : llvm::zip_equal(list.keys, list.items)) {
    const auto *axis = llvm::find_if(
        axes, [&](MeshAxisAttr one) { return one.getName() == key.text; });
    if (axis == axes.end()) {
      InFlightDiagnostic diagnostic = error(key)
                                      << "the mesh has no axis '" << key.text
                                      << "'; its axes are ";
      llvm::interleaveComma(axes, diagnostic, [&](MeshAxisAttr one) {
        diagnostic << one.getName();
      });
      return diagnostic;
    }
    if (failed(add(axis - axes.begin(), item)))
      return failure();
  }
  return Result(placements);
}

LogicalResult PlanReader::addDirective(const LocatedJson &key, StringRef target,
                                       ShardTarget kind,
                                       std::optional<int64_t> number,
                                       ArrayRef<AxisPlacement> placements,
                                       const LocatedJson &list) {
  struct Dim {
    SmallVector<AxisRefAttr> axes;
    int64_t groups = 1;
  };
  MLIRContext *context = builder.getContext();
  std::map<int64_t, Dim> cut;
  SmallVector<Attribute> pendingAxes;
  std::optional<ReductionKind> pending;
  for (const AxisPlacement &placement : placements) {
    auto axis = AxisRefAttr::get(
        context, mesh.getAxes()[placement.axis].getName(), 1, 0);
    if (placement.pending) {
      if (kind != ShardTarget::ModuleInput && kind != ShardTarget::ModuleOutput)
        return error(list)
               << "'P' leaves a reduction pending, which arises within the "
               << "program: parameters, and what goes into the program or "
               << "comes out of it, are whole; say R or S(d)";
      if (pending.value_or(*placement.pending) != *placement.pending)
        return error(list) << "leaves two reductions of different kinds "
                           << "pending in one tensor";
      pending = placement.pending;
      pendingAxes.push_back(axis);
    }
    if (!placement.dim)
      continue;
    Dim &dim = cut[*placement.dim];
    if (!dim.axes.empty() && (dim.groups != 1 || placement.groups != 1))
      return error(list) << "dimension " << *placement.dim
                         << " is interleaved, and sharded over two axes";
    dim.groups = placement.groups;
    dim.axes.push_back(axis);
  }
  SmallVector<Attribute> dims;
  SmallVector<int64_t> numbers;
  for (auto &[number, dim] : cut) {
    numbers.push_back(number);
    SmallVector<SubDimAttr> subDims;
    if (dim.groups != 1)
      subDims.push_back(SubDimAttr::get(context, dim.groups, {}));
    subDims.push_back(SubDimAttr::get(context, 0, dim.axes));
    dims.push_back(DimShardingAttr::get(context, subDims, /*isOpen=*/false));
  }
  OperationState state(locate(key), ShardOp::getOperationName());
  state.addAttribute("target", builder.getStringAttr(target));
  state.addAttribute("kind", ShardTargetAttr::get(context, kind));
  if (number)
    state.addAttribute("number", builder.getI64IntegerAttr(*number));
  if (dims.empty()) {
    state.addAttribute("replicate", builder.getUnitAttr());
  } else {
    state.addAttribute("dims", builder.getArrayAttr(dims));
    state.addAttribute("dimNumbers", builder.getDenseI64ArrayAttr(numbers));
  }
  if (pending) {
    state.addAttribute("partialKind",
                       ReductionKindAttr::get(context, *pending));
    state.addAttribute("partialAxes", builder.getArrayAttr(pendingAxes));
  }
  builder.create(state);
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
  for (auto [key, item] : llvm::zip_equal(forward.keys, forward.items))
    if (failed(readBorder(key, item)))
      return failure();
  return success();
}

FailureOr<PlannedSchedule> PlanReader::read(const LocatedJson &plan) {
  if (plan.kind != LocatedJson::Object)
    return expected(plan, "an object with \"mesh\", \"parameter\" and "
                          "\"forward\"");
  constexpr StringLiteral kSections[] = {"mesh", "parameter", "forward"};
  for (const LocatedJson &key : plan.keys)
    if (!llvm::is_contained(kSections, key.text)) {
      InFlightDiagnostic diagnostic = error(key)
                                      << "a plan has no \"" << key.text << "\"";
      for (StringRef section : kSections)
        if (section.edit_distance(key.text) <= 3)
          return diagnostic << "; did you mean \"" << section << "\"?";
      return diagnostic << ", but \"mesh\", \"parameter\" and \"forward\"";
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
  const LocatedJson *parameters = plan.find("parameter");
  const LocatedJson *forward = plan.find("forward");
  if ((parameters && failed(readParameters(*parameters))) ||
      (forward && failed(readForward(*forward))) ||
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
