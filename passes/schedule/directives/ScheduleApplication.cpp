//===- ScheduleApplication.cpp - A schedule on its way in -----------------===//
//
// Targets of directives, and shardings that several directives ask for.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/directives/ScheduleApplication.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/schedule/names/NamePattern.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static StringRef stringify(TargetKind kind) {
  switch (kind) {
  case TargetKind::Module:
    return "module";
  case TargetKind::Parameter:
    return "parameter";
  case TargetKind::Input:
    return "input";
  case TargetKind::Output:
    return "output";
  case TargetKind::Value:
    return "named value";
  }
  return "";
}

/// The names of a kind that a pattern matches; none if it is not well-formed.
static SmallVector<unsigned> match(ScopeIndex &scopes, TargetKind kind,
                                   StringRef names) {
  std::string error;
  std::optional<NamePattern> pattern = NamePattern::parse(names, error);
  return pattern ? scopes.match(kind, *pattern) : SmallVector<unsigned>();
}

SmallVector<unsigned>
mlir::dist::matchTargets(ScopeIndex &scopes,
                         ScheduleDirectiveOpInterface directive) {
  TargetKind kind = directive.getTargetKind();
  SmallVector<unsigned> targets =
      match(scopes, kind, directive.getTargetPattern());
  if (std::optional<StringRef> names = directive.getExceptPattern()) {
    SmallVector<unsigned> found = match(scopes, kind, *names);
    llvm::DenseSet<unsigned> except(found.begin(), found.end());
    llvm::erase_if(targets, [&](unsigned one) { return except.contains(one); });
  }
  return targets;
}

FailureOr<SmallVector<unsigned>>
ScheduleApplication::findTargets(ScheduleDirectiveOpInterface directive) {
  StringRef target = directive.getTargetPattern();
  std::optional<StringRef> except = directive.getExceptPattern();
  TargetKind kind = directive.getTargetKind();
  std::string error;
  if (!NamePattern::parse(target, error) ||
      (except && !NamePattern::parse(*except, error)))
    return emitError(directive->getLoc()) << error;
  SmallVector<unsigned> targets = matchTargets(scopes, directive);
  SmallVector<unsigned> matched =
      except ? match(scopes, kind, target) : targets;
  // A name that is misspelt would leave nothing out.
  if (!matched.empty() && except && targets.size() == matched.size()) {
    InFlightDiagnostic diagnostic = sayNotLeftOut(directive);
    if (!allowUnmatched)
      return diagnostic;
  }
  if (directive.isOptional())
    return targets;
  if (targets.empty()) {
    if (!matched.empty())
      return emitError(directive->getLoc())
             << "\"" << target << "\" except \"" << *except
             << "\" leaves nothing";
    InFlightDiagnostic diagnostic = sayUnmatched(directive, target);
    if (allowUnmatched)
      return targets;
    return diagnostic;
  }
  for (const auto &alternative : NamePattern::findAlternatives(target)) {
    // It is well-formed, as the whole is.
    auto one = NamePattern::parse(alternative.pattern, error);
    if (!one || !scopes.match(kind, *one).empty())
      continue;
    InFlightDiagnostic diagnostic =
        sayUnmatched(directive, alternative.pattern);
    diagnostic << " ('" << alternative.text << "' is an alternative of \""
               << target << "\"; each must match)";
    if (!allowUnmatched)
      return diagnostic;
  }
  return targets;
}

/// Of names of tensors, those with as many dimensions as the directive lists;
/// all if there are none.
SmallVector<StringRef>
ScheduleApplication::findFitting(ScheduleDirectiveOpInterface directive,
                                 ArrayRef<StringRef> names) {
  auto shard = dyn_cast<ShardOp>(directive.getOperation());
  TargetKind kind = directive.getTargetKind();
  SmallVector<StringRef> fitting;
  if (shard && shard.getDims() && !shard.getDimNumbers() &&
      kind != TargetKind::Module && kind != TargetKind::Value)
    for (unsigned number : match(scopes, kind, "**")) {
      const NamedTensor &tensor = scopes.getTensor(number);
      auto type = dyn_cast<RankedTensorType>(tensor.getType());
      int64_t rank = shard.getDims()->size();
      if (type && type.getRank() == rank)
        fitting.push_back(tensor.name);
    }
  return fitting.empty() ? SmallVector<StringRef>(names) : fitting;
}

/// An error, or a warning where what matches nothing is allowed.
InFlightDiagnostic
ScheduleApplication::warnOrFail(ScheduleDirectiveOpInterface directive) {
  return allowUnmatched ? emitWarning(directive->getLoc())
                        : emitError(directive->getLoc());
}

InFlightDiagnostic
ScheduleApplication::sayNotLeftOut(ScheduleDirectiveOpInterface directive) {
  TargetKind kind = directive.getTargetKind();
  StringRef target = directive.getTargetPattern();
  StringRef except = *directive.getExceptPattern();
  // Both are well-formed.
  std::string error;
  auto isTarget = [pattern = NamePattern::parse(target, error)](StringRef one) {
    return pattern->matches(one);
  };
  auto names = llvm::filter_to_vector(scopes.getNames(kind), isTarget);
  InFlightDiagnostic diagnostic = warnOrFail(directive);
  diagnostic << "except \"" << except << "\" leaves out none of the "
             << names.size() << " " << stringify(kind) << "s that \"" << target
             << "\" matches";
  // Full names are compared: of what is inside, all.
  std::string inside = (except + ".**").str();
  auto all = NamePattern::parse(inside, error);
  if (all &&
      llvm::any_of(names, [&](StringRef one) { return all->matches(one); }))
    diagnostic << "; did you mean \"" << inside << "\"?";
  else if (StringRef near = findNearMiss(except, names); !near.empty())
    diagnostic << "; did you mean \"" << near << "\"?";
  else
    diagnostic << ", such as \"" << names.back() << "\"";
  return diagnostic;
}

InFlightDiagnostic
ScheduleApplication::sayUnmatched(ScheduleDirectiveOpInterface directive,
                                  StringRef pattern) {
  TargetKind kind = directive.getTargetKind();
  SmallVector<StringRef> names = scopes.getNames(kind);
  InFlightDiagnostic diagnostic = warnOrFail(directive);
  diagnostic << "\"" << pattern << "\" matches none of the program's "
             << names.size() << " " << stringify(kind) << "s";
  SmallVector<StringRef> fitting = findFitting(directive, names);
  StringRef near = findNearMiss(pattern, fitting);
  // The name of a module, in place of that of its parameter.
  if (near.empty() && kind == TargetKind::Parameter)
    for (unsigned number : match(scopes, kind, (pattern + ".*").str()))
      if (near.empty() &&
          llvm::is_contained(fitting, scopes.getTensor(number).name))
        near = scopes.getTensor(number).name;
  if (kind == TargetKind::Module &&
      !match(scopes, TargetKind::Parameter, pattern).empty())
    diagnostic << ", but is a parameter: name its module, or write dist.shard "
                  "parameter \""
               << pattern << "\" and a list of dimensions";
  else if (!near.empty())
    diagnostic << "; did you mean \"" << near << "\"?";
  else if (!names.empty())
    diagnostic << ", such as \"" << fitting.back() << "\"";
  else if (kind == TargetKind::Module)
    diagnostic << ": no op has a '" << kScopeAttr << "'";
  else if (kind == TargetKind::Value)
    diagnostic << ": no op's location has a name, as loc(\"name\")";
  return diagnostic;
}

FailureOr<unsigned>
ScheduleApplication::apply(ScheduleDirectiveOpInterface directive) {
  // Where the schedule's file does not define its mesh, only now it is known.
  if (failed(verifyAxes(findAxes(directive), mesh,
                        [&] { return emitError(directive->getLoc()); })))
    return failure();
  FailureOr<SmallVector<unsigned>> targets = findTargets(directive);
  if (failed(targets))
    return failure();
  // Only where that is allowed.
  if (targets->empty())
    return 0u;
  FailureOr<unsigned> places = directive.apply(*this, *targets);
  // Alternatives are counted once they are chosen from.
  bool isKnown =
      alternatives.empty() ||
      alternatives.back().directive != directive.getOperation();
  if (succeeded(places) && isKnown &&
      failed(verifyExpected(directive, *places)))
    return failure();
  return places;
}

LogicalResult
ScheduleApplication::verifyExpected(ScheduleDirectiveOpInterface directive,
                                    unsigned places) {
  std::optional<int64_t> expected = directive.getExpected();
  if (expected && places != *expected)
    return emitError(directive->getLoc())
           << "applies to " << places << (places == 1 ? " place" : " places")
           << ", not to " << *expected << " as 'expect' says";
  return success();
}

StringAttr ScheduleApplication::getCause(Operation *directive) {
  StringAttr &cause = causes[directive];
  if (!cause)
    cause = StringAttr::get(
        getContext(), cast<ScheduleDirectiveOpInterface>(directive).describe());
  return cause;
}

Location ScheduleApplication::locate(Operation *directive,
                                     Operation *op) const {
  // The directive comes first: an error of its ops is an error at the
  // directive.
  return FusedLoc::get(getContext(), {directive->getLoc(), op->getLoc()});
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// The sharding that says both: one of them is whole, or continues the other
/// with further axes, as `{"tp", "dp"}` does `{"tp"}`. Null if they contradict
/// each other.
static DimShardingAttr mergeDims(DimShardingAttr a, DimShardingAttr b) {
  if (a.isReplicated() || a.getSubDims() == b.getSubDims())
    return b;
  if (b.isReplicated())
    return a;
  if (a.getSubDims().size() != 1 || b.getSubDims().size() != 1)
    return {};
  SmallVector<AxisRefAttr> first = a.getAllAxes(), second = b.getAllAxes();
  size_t common = std::min(first.size(), second.size());
  if (ArrayRef(first).take_front(common) != ArrayRef(second).take_front(common))
    return {};
  return first.size() > second.size() ? a : b;
}

/// Whether the directive asks for the whole.
static bool saysWhole(Operation *directive) {
  auto shard = dyn_cast<ShardOp>(directive);
  return shard && shard.getReplicate();
}

/// What to do about two directives that contradict each other.
static constexpr StringLiteral kLeaveOneOut =
    "; leave one of the two out, or have it leave this out (except \"NAME\")";

/// Why a tensor placed as `before` cannot also be placed as `after`; empty if
/// it can.
static std::string contradictsWhole(ShardingAttr before, bool isWhole,
                                    ShardingAttr after, bool becomesWhole) {
  bool contradicts = (isWhole && !after.withoutPartial().isReplicated()) ||
                     (becomesWhole && !before.withoutPartial().isReplicated());
  return contradicts ? ("one of them says 'replicate'" + kLeaveOneOut).str()
                     : "";
}

/// Both placements at once: each dimension as in the one that shards it. Null
/// and a reason if they contradict each other.
static ShardingAttr merge(ShardingAttr a, ShardingAttr b, std::string &reason) {
  llvm::raw_string_ostream why(reason);
  MLIRContext *context = a.getContext();
  if (a.getMesh() != b.getMesh()) {
    why << "the meshes differ";
    return {};
  }
  if (a.getPartialAxes() != b.getPartialAxes() ||
      a.getPartialKind() != b.getPartialKind()) {
    why << "one of them leaves pending what the other does not; both have to "
           "say 'partial', or neither";
    return {};
  }
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> axes;
  for (auto [number, pair] :
       llvm::enumerate(llvm::zip_equal(a.getDims(), b.getDims()))) {
    auto [first, second] = pair;
    DimShardingAttr one = mergeDims(first, second);
    if (!one) {
      why << "both shard dimension " << number
          << ", and neither continues the other with further axes";
      // One after the other, if that is possible.
      SmallVector<AxisRefAttr> all = first.getAllAxes();
      llvm::append_range(all, second.getAllAxes());
      bool areApart = !anyOverlap(first.getAllAxes(), second.getAllAxes());
      if (areApart && first.getSubDims().size() == 1 &&
          second.getSubDims().size() == 1) {
        why << "; to shard it over both, one says [" << number << " = {";
        llvm::interleaveComma(all, why);
        why << "}] in place of its own";
      } else {
        why << kLeaveOneOut;
      }
      return {};
    }
    dims.push_back(DimShardingAttr::get(
        context, one.getSubDims(), first.getIsOpen() && second.getIsOpen()));
    for (AxisRefAttr axis : one.getAllAxes()) {
      for (AxisRefAttr other : axes)
        if (overlaps(axis, other)) {
          why << "they shard two dimensions over axis " << axis << kLeaveOneOut;
          return {};
        }
      axes.push_back(axis);
    }
  }
  return ShardingAttr::get(context, a.getMesh(), dims, a.getPartialKind(),
                           a.getPartialAxes());
}

LogicalResult ScheduleApplication::place(Operation *directive,
                                         const NamedTensor &tensor,
                                         ShardingAttr sharding) {
  FunctionOpInterface function = tensor.function;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type)
    return emitError(directive->getLoc())
           << tensor.describe() << " is no ranked tensor, but "
           << tensor.getType();
  if (failed(sharding.verifyFor(type.getShape(), layout.getAxes(), [&] {
        return emitError(directive->getLoc()) << tensor.describe() << ": ";
      })))
    return failure();
  unsigned i = tensor.index;
  PlacedTensors &ofFunction = placed[function];
  auto [entry, isNew] =
      (tensor.isResult ? ofFunction.results : ofFunction.arguments)
          .try_emplace(i);
  Placed &all = entry->second;
  if (isNew) {
    auto get = [&](StringRef name) {
      return tensor.isResult ? function.getResultAttr(i, name)
                             : function.getArgAttr(i, name);
    };
    all.sharding = llvm::dyn_cast_or_null<ShardingAttr>(get(kShardingAttr));
    if (auto before = llvm::dyn_cast_or_null<StringAttr>(get(kCauseAttr)))
      all.cause = before.str();
    all.directive = function;
  }
  if (all.sharding) {
    std::string reason = contradictsWhole(all.sharding, all.isWhole, sharding,
                                          saysWhole(directive));
    ShardingAttr both =
        reason.empty() ? merge(all.sharding, sharding, reason) : ShardingAttr();
    if (!both) {
      InFlightDiagnostic diagnostic =
          emitError(directive->getLoc())
          << "places " << tensor.describe() << " as " << sharding
          << ", but it is placed as " << all.sharding << " already: " << reason;
      diagnostic.attachNote(all.directive->getLoc()) << "placed here";
      return diagnostic;
    }
    sharding = both;
  }
  all.sharding = sharding;
  all.cause += (all.cause.empty() ? "" : "; ") + getCause(directive).str();
  all.directive = directive;
  all.isWhole |= saysWhole(directive);
  return success();
}

LogicalResult ScheduleApplication::finish(
    llvm::DenseMap<Operation *, unsigned> &places) {
  // Setting one argument's attributes copies the list of all.
  MLIRContext *context = getContext();
  auto write = [&](ArrayAttr old, unsigned count,
                   const llvm::DenseMap<unsigned, Placed> &all) {
    SmallVector<DictionaryAttr> lists(count, DictionaryAttr::get(context));
    if (old)
      for (auto [list, before] :
           llvm::zip_equal(lists, old.getAsRange<DictionaryAttr>()))
        list = before;
    for (const auto &[number, one] : all) {
      NamedAttrList attrs(lists[number]);
      attrs.set(kShardingAttr, one.sharding);
      attrs.set(kCauseAttr, StringAttr::get(context, one.cause));
      lists[number] = attrs.getDictionary(context);
    }
    return lists;
  };
  for (auto &[op, tensors] : placed) {
    auto function = cast<FunctionOpInterface>(op);
    if (!tensors.arguments.empty())
      function.setAllArgAttrs(write(function.getAllArgAttrs(),
                                    function.getNumArguments(),
                                    tensors.arguments));
    if (!tensors.results.empty())
      function.setAllResultAttrs(write(function.getAllResultAttrs(),
                                       function.getNumResults(),
                                       tensors.results));
  }
  placed.clear();
  return chooseSyncs(places);
}

LogicalResult ScheduleApplication::verifyFits(Operation *directive, Value value,
                                              ShardingAttr sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  return sharding.verifyFor(type.getShape(), layout.getAxes(),
                            [&] { return emitError(directive->getLoc()); });
}

LogicalResult ScheduleApplication::extend(Constraint &made,
                                          Operation *directive, Operation *op,
                                          ShardingAttr sharding) {
  std::string reason = contradictsWhole(made.op.getSharding(), made.isWhole,
                                        sharding, saysWhole(directive));
  ShardingAttr both = reason.empty()
                          ? merge(made.op.getSharding(), sharding, reason)
                          : ShardingAttr();
  if (!both) {
    InFlightDiagnostic diagnostic =
        emitError(directive->getLoc())
        << "asks for " << sharding << ", but the value is placed as "
        << made.op.getSharding() << " already: " << reason;
    diagnostic.attachNote(made.directive->getLoc()) << "placed here";
    diagnostic.attachNote(op->getLoc()) << "at this op";
    return diagnostic;
  }
  made.op.setShardingAttr(both);
  made.op.setCause(made.op.getCause()->str() + "; " +
                   getCause(directive).str());
  made.directive = directive;
  made.isWhole |= saysWhole(directive);
  return success();
}

ShardingConstraintOp
ScheduleApplication::createConstraint(OpBuilder &builder, Operation *directive,
                                      Operation *op, Value value,
                                      ShardingAttr sharding, Attribute scope) {
  auto constraint = ShardingConstraintOp::create(builder, locate(directive, op),
                                                 value.getType(), value,
                                                 sharding, getCause(directive),
                                                 /*whole=*/ArrayAttr());
  if (scope)
    constraint->setAttr(kScopeAttr, scope);
  scopes.add(constraint);
  return constraint;
}

LogicalResult ScheduleApplication::constrain(Operation *directive,
                                             Operation *op, OpOperand *use,
                                             ShardingAttr sharding,
                                             unsigned result,
                                             ArrayRef<AxisRefAttr> whole) {
  Value value = use ? use->get() : op->getResult(result);
  if (failed(verifyFits(directive, value, sharding)))
    return failure();
  void *key = use ? static_cast<void *>(use) : value.getAsOpaquePointer();
  Constraint &made = constraints[key];
  OpBuilder builder(op);
  auto keepWhole = [&] {
    if (!whole.empty())
      made.op.setWholeAttr(builder.getArrayAttr(SmallVector<Attribute>(whole)));
  };
  if (made.op) {
    keepWhole();
    return extend(made, directive, op, sharding);
  }
  if (!use)
    builder.setInsertionPointAfter(op);
  auto constraint = createConstraint(builder, directive, op, value, sharding,
                                     op->getAttr(kScopeAttr));
  if (use)
    use->set(constraint);
  else
    value.replaceAllUsesExcept(constraint, constraint);
  made = {constraint, directive, saysWhole(directive)};
  keepWhole();
  return success();
}

LogicalResult ScheduleApplication::constrainBorder(Operation *directive,
                                                   unsigned scope,
                                                   Operation *op, Value value,
                                                   ArrayRef<OpOperand *> uses,
                                                   ShardingAttr sharding) {
  if (failed(verifyFits(directive, value, sharding)))
    return failure();
  OpBuilder builder(op);
  // Not for modules within it, whose own border is elsewhere.
  auto module = builder.getStringAttr(scopes.getPath(scope));
  // An earlier directive may have constrained the same border: its constraint
  // is the value, or the reader. Constraints of other modules' borders on the
  // way follow each other.
  for (Operation *other :
       {value.getDefiningOp(),
        llvm::hasSingleElement(uses) ? uses.front()->getOwner() : nullptr})
    if (auto made = borders.find(other);
        made != borders.end() && other->getAttr(kScopeAttr) == module)
      return extend(made->second, directive, op, sharding);
  builder.setInsertionPointAfterValue(value);
  auto constraint =
      createConstraint(builder, directive, op, value, sharding, module);
  for (OpOperand *use : uses)
    use->set(constraint);
  borders[constraint] = {constraint, directive, saysWhole(directive)};
  return success();
}
