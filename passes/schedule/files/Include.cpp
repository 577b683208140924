//===- Include.cpp - Schedules within schedules ---------------------------===//
//
// Directives of other files, with other names for their axes and text that
// replaces their parameters.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/files/Include.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/bounds/Bounds.h"
#include "passes/schedule/files/Schedule.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Expands the includes of one schedule.
class Includer {
public:
  /// Replaces `include` by directives and returns them.
  FailureOr<SmallVector<Operation *>> expand(IncludeOp include);

private:
  FailureOr<ScheduleOp> load(IncludeOp include, StringRef file);
  LogicalResult fillTexts(Operation *directive, DictionaryAttr texts,
                          llvm::StringSet<> &used);

  /// Schedules, and their files, that are being included.
  std::vector<std::string> open;
  /// Modules that hold them.
  std::vector<OwningOpRef<ModuleOp>> holders;
  size_t directives = 0;
};

} // namespace

/// A path is that of a file beside the one that includes it.
static FailureOr<std::string> findFile(IncludeOp include) {
  SmallString<128> path(include.getFile());
  if (llvm::sys::path::is_relative(path))
    if (auto line = include.getLoc()->findInstanceOf<FileLineColLoc>()) {
      path = llvm::sys::path::parent_path(line.getFilename().getValue());
      llvm::sys::path::append(path, include.getFile());
    }
  // A device or a pipe may have no end.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return emitError(include.getLoc()) << path << " is no regular file";
  if (StringRef(path).ends_with(".json"))
    return emitError(include.getLoc())
           << path << " is a plan; only schedules can be included";
  if (!llvm::sys::fs::exists(path))
    return emitError(include.getLoc())
           << "there is no file " << path
           << "; the path starts at the folder of this schedule";
  return path.str().str();
}

/// Replaces `$(name)` in `text`.
static FailureOr<std::string> fill(StringRef text, DictionaryAttr texts,
                                   Operation *directive,
                                   llvm::StringSet<> &used) {
  std::string out;
  while (true) {
    auto [before, rest] = text.split("$(");
    out += before;
    if (before.size() == text.size())
      return out;
    auto [name, after] = rest.split(')');
    auto value = texts ? texts.getAs<StringAttr>(name) : StringAttr();
    if (!value)
      return emitError(directive->getLoc())
             << "'$(" << name << ")' is given no text; the include says it, "
             << "as in: where {" << name << " = \"*\"}";
    used.insert(name);
    out += value.getValue();
    text = after;
  }
}

LogicalResult Includer::fillTexts(Operation *directive, DictionaryAttr texts,
                                  llvm::StringSet<> &used) {
  bool isBad = false;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](StringAttr text) -> std::optional<Attribute> {
    if (!text.getValue().contains("$("))
      return std::nullopt;
    FailureOr<std::string> filled =
        fill(text.getValue(), texts, directive, used);
    if (succeeded(filled))
      return StringAttr::get(text.getContext(), *filled);
    isBad = true;
    return text;
  });
  replacer.replaceElementsIn(directive);
  return failure(isBad);
}

/// Copies the functions that `directive` names from `included`'s file to
/// `module`, where `mesh` is theirs. `copies` has those copied so far.
static LogicalResult
copyFunctions(Operation *directive, ScheduleOp included, ModuleOp module,
              FlatSymbolRefAttr mesh,
              llvm::DenseMap<Attribute, Attribute> &copies) {
  SmallVector<FlatSymbolRefAttr, 2> names = getFunctionNames(directive);
  if (names.empty())
    return success();
  auto holder = included->getParentOfType<ModuleOp>();
  for (FlatSymbolRefAttr name : names) {
    auto function = holder.lookupSymbol<FunctionOpInterface>(name);
    if (!function)
      return emitError(directive->getLoc())
             << name << " is no function of the file that names it";
    if (copies.count(name))
      continue;
    FunctionOpInterface copy = function.clone();
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
          return symbol == included.getMeshAttr() ? mesh : symbol;
        });
    replacer.recursivelyReplaceElementsIn(copy.getOperation());
    copy.setPrivate();
    copies[name] = FlatSymbolRefAttr::get(SymbolTable(module).insert(copy));
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](FlatSymbolRefAttr name) -> std::optional<Attribute> {
        Attribute copy = copies.lookup(name);
        return copy ? copy : name;
      });
  replacer.replaceElementsIn(directive);
  return success();
}

/// Gives axes of directives, and of functions that they name, the names that
/// `axes` says.
static void renameAxes(ArrayRef<Operation *> directives, DictionaryAttr axes,
                       ModuleOp module, llvm::StringSet<> &used) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](AxisRefAttr axis) -> std::optional<Attribute> {
    auto name = axes.getAs<StringAttr>(axis.getName());
    if (!name)
      return std::nullopt;
    used.insert(axis.getName());
    return AxisRefAttr::get(axis.getContext(), name.getValue(), axis.getPre(),
                            axis.getSize());
  });
  llvm::SetVector<Operation *> functions;
  for (Operation *directive : directives) {
    replacer.replaceElementsIn(directive);
    for (FlatSymbolRefAttr name : getFunctionNames(directive))
      if (Operation *function = module.lookupSymbol(name))
        functions.insert(function);
  }
  for (Operation *function : functions)
    replacer.recursivelyReplaceElementsIn(function);
}

FailureOr<ScheduleOp> Includer::load(IncludeOp include, StringRef file) {
  FailureOr<OwningOpRef<ModuleOp>> holder =
      parseScheduleFile(include.getContext(), file);
  if (failed(holder))
    return emitError(include.getLoc()) << "cannot include " << file;
  if ((*holder)->getOps<ScheduleOp>().empty())
    return emitError(include.getLoc())
           << "there is no dist.schedule in " << file;
  FailureOr<ScheduleOp> found =
      findSchedule(**holder, include.getSchedule().value_or(""));
  if (failed(found))
    return emitError(include.getLoc()) << "cannot include " << file;
  SmallString<128> real;
  llvm::sys::fs::real_path(file, real);
  std::string name = (real + " @" + found->getSymName()).str();
  if (llvm::is_contained(open, name) || open.size() == kMostNested)
    return emitError(include.getLoc())
           << "includes @" << found->getSymName() << " of " << file
           << (open.size() == kMostNested ? ", nested more than 64 deep"
                                          : ", which includes this");
  open.push_back(std::move(name));
  holders.push_back(std::move(*holder));
  return *found;
}

FailureOr<SmallVector<Operation *>> Includer::expand(IncludeOp include) {
  FailureOr<std::string> file = findFile(include);
  if (failed(file))
    return failure();
  FailureOr<ScheduleOp> found = load(include, *file);
  if (failed(found))
    return failure();
  DictionaryAttr axes = include.getAxesAttr(), texts = include.getWhereAttr();
  llvm::StringSet<> usedAxes, usedTexts;
  SmallVector<Operation *> made;
  auto module = include->getParentOfType<ModuleOp>();
  FlatSymbolRefAttr mesh = include->getParentOfType<ScheduleOp>().getMeshAttr();
  llvm::DenseMap<Attribute, Attribute> copies;
  OpBuilder builder(include);
  for (Operation &op : found->getBody().front()) {
    if (++directives > kMostDirectives)
      return emitError(include.getLoc())
             << "there are more than " << kMostDirectives << " directives";
    Operation *copy = builder.clone(op);
    copy->setLoc(CallSiteLoc::get(copy->getLoc(), include.getLoc()));
    if (failed(fillTexts(copy, texts, usedTexts)) ||
        failed(copyFunctions(copy, *found, module, mesh, copies)))
      return failure();
    auto inner = dyn_cast<IncludeOp>(copy);
    if (!inner) {
      made.push_back(copy);
      continue;
    }
    FailureOr<SmallVector<Operation *>> more = expand(inner);
    if (failed(more))
      return failure();
    made.append(*more);
  }
  if (axes)
    renameAxes(made, axes, module, usedAxes);
  auto checkUsed = [&](DictionaryAttr given, const llvm::StringSet<> &used,
                       StringRef what) -> LogicalResult {
    for (NamedAttribute one :
         given ? given.getValue() : ArrayRef<NamedAttribute>())
      if (!used.contains(one.getName().getValue()))
        return emitError(include.getLoc())
               << "no directive of " << *file << " has the " << what << " \""
               << one.getName().getValue() << "\"";
    return success();
  };
  if (failed(checkUsed(axes, usedAxes, "axis")) ||
      failed(checkUsed(texts, usedTexts, "parameter")))
    return failure();
  open.pop_back();
  holders.pop_back();
  include.erase();
  return made;
}

/// An error if an include of the schedule itself names a parameter, which only
/// included files have.
static LogicalResult checkTexts(IncludeOp include) {
  for (NamedAttribute one : include.getWhereAttr()
                                ? include.getWhereAttr().getValue()
                                : ArrayRef<NamedAttribute>())
    if (cast<StringAttr>(one.getValue()).getValue().contains("$("))
      return emitError(include.getLoc())
             << "the text of " << one.getName()
             << " names a parameter, but nothing includes this schedule";
  return success();
}

LogicalResult mlir::dist::expandIncludes(ScheduleOp schedule) {
  for (auto include :
       llvm::make_early_inc_range(schedule.getBody().getOps<IncludeOp>()))
    if (failed(checkTexts(include)) || failed(Includer().expand(include)))
      return failure();
  return success();
}
