//===- ShardDirective.cpp - dist.shard becomes shardings and constraints --===//
//
// Features of contractions (FeatureSharding.h), and tensors by their names.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/FeatureSharding.h"
#include "passes/schedule/directives/ModuleBorder.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Lists of dimensions
//===----------------------------------------------------------------------===//

/// The directive's placement of a tensor of this type; `what` describes it.
static FailureOr<ShardingAttr> getAsked(ShardOp directive,
                                        const MeshLayout &layout, Type type,
                                        const Twine &what) {
  SmallVector<DimShardingAttr> dims;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError(directive.getLoc())
           << what << " is no ranked tensor, but " << type;
  std::optional<ArrayRef<int64_t>> numbers = directive.getDimNumbers();
  if (directive.getReplicate() || numbers)
    dims.assign(tensor.getRank(), layout.none());
  if (directive.getDims())
    for (auto [index, attr] : llvm::enumerate(*directive.getDims())) {
      auto dim = cast<DimShardingAttr>(attr);
      if (!numbers) {
        dims.push_back(dim);
        continue;
      }
      int64_t number = (*numbers)[index];
      int64_t found = number < 0 ? number + tensor.getRank() : number;
      if (found < 0 || found >= tensor.getRank())
        return emitError(directive.getLoc())
               << what << " has no dimension " << number << ": it is " << type;
      if (dims[found] != layout.none())
        return emitError(directive.getLoc())
               << "names dimension " << found << " of " << what << " twice";
      dims[found] = dim;
    }
  SmallVector<AxisRefAttr> pending;
  if (directive.getPartialAxes())
    pending = getAxisRefs(*directive.getPartialAxes());
  return ShardingAttr::get(
      directive.getContext(), layout.getName(), dims,
      directive.getPartialKind().value_or(ReductionKind::Sum), pending);
}

/// Places input or output `k` of a module; where the directive gives no number,
/// the only one.
static LogicalResult placeActivation(ShardOp directive,
                                     ScheduleApplication &application,
                                     unsigned scope) {
  ModuleBorder module(application, scope);
  bool isInput = directive.getKind() == ShardTarget::ModuleInput;
  ModuleBorder::Reads all;
  if (isInput)
    all = module.findInputs();
  else
    for (Value output : module.findOutputs())
      all[output] = module.findOutsideUses(output);
  StringRef what = isInput ? "input" : "output";
  size_t number = directive.getNumber().value_or(0);
  auto list = [&](InFlightDiagnostic &diagnostic) -> LogicalResult {
    for (auto [index, entry] : llvm::enumerate(all))
      diagnostic.attachNote(entry.first.getLoc())
          << what << " " << index << " is " << entry.first.getType();
    return diagnostic;
  };
  if (number >= all.size() || (!directive.getNumber() && all.size() > 1)) {
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "module \"" << application.getScopes().getPath(scope) << "\" has "
        << all.size() << " " << what << (all.size() == 1 ? "" : "s");
    if (number >= all.size())
      diagnostic << ", and no " << what << " " << number;
    else
      diagnostic << "; say which, as in '" << what << " 0'";
    return list(diagnostic);
  }
  auto &[value, uses] = all.begin()[number];
  Operation *op = isInput ? uses.front()->getOwner() : value.getDefiningOp();
  FailureOr<ShardingAttr> asked =
      getAsked(directive, application.getLayout(), value.getType(),
               what + " " + Twine(number) + " of module \"" +
                   application.getScopes().getPath(scope) + "\"");
  if (failed(asked))
    return failure();
  size_t entries = asked->getDims().size();
  if (auto type = dyn_cast<RankedTensorType>(value.getType());
      type && entries != static_cast<size_t>(type.getRank())) {
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "the list has " << entries << " entries, but " << what << " "
        << number << " of module \"" << application.getScopes().getPath(scope)
        << "\" is " << type;
    return list(diagnostic);
  }
  return application.constrainBorder(directive, scope, op, value, uses, *asked);
}

/// Places value `k` of a node of the model; where the directive gives no
/// number, the only one.
static LogicalResult placeValue(ShardOp directive,
                                ScheduleApplication &application,
                                const NamedValues &named) {
  size_t count = named.values.size(),
         number = directive.getNumber().value_or(0);
  if (number >= count || (!directive.getNumber() && count > 1)) {
    InFlightDiagnostic error = emitError(directive.getLoc())
                               << "\"" << named.name << "\" names " << count
                               << (count == 1 ? " value" : " values");
    if (number >= count)
      error << ", and no value " << number;
    else
      error << "; say which, as in 'value \"" << named.name << "\" 0'";
    for (auto [index, value] : llvm::enumerate(named.values))
      error.attachNote(value.getLoc())
          << "value " << index << " is " << value.getType();
    return error;
  }
  Value value = named.values[number];
  Operation *op = value.getDefiningOp();
  FailureOr<ShardingAttr> asked =
      getAsked(directive, application.getLayout(), value.getType(),
               "value \"" + named.name + "\"");
  if (failed(asked))
    return failure();
  return application.constrain(directive, op, /*use=*/nullptr, *asked,
                               cast<OpResult>(value).getResultNumber());
}

/// Whether a tensor has the dimensions that the directive names.
static bool hasDims(ShardOp directive, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || !directive.getDimNumbers() ||
         llvm::all_of(*directive.getDimNumbers(), [&](int64_t dim) {
           return dim < tensor.getRank() && dim >= -tensor.getRank();
         });
}

/// Places parameters, inputs or outputs of the program. Of several, those that
/// lack a dimension that the directive names stay whole. Returns how many are
/// placed.
static FailureOr<unsigned> placeTensors(ShardOp directive,
                                        ScheduleApplication &application,
                                        ArrayRef<unsigned> targets) {
  auto isWhole = [&](unsigned number) {
    return !hasDims(directive,
                    application.getScopes().getTensor(number).getType());
  };
  size_t whole = llvm::count_if(targets, isWhole);
  if (whole == targets.size())
    whole = 0; // an error
  for (unsigned number : targets) {
    if (whole > 0 && isWhole(number))
      continue;
    const NamedTensor &tensor = application.getScopes().getTensor(number);
    FailureOr<ShardingAttr> asked =
        getAsked(directive, application.getLayout(), tensor.getType(),
                 tensor.describe());
    if (failed(asked) || failed(application.place(directive, tensor, *asked)))
      return failure();
  }
  if (whole > 0)
    application.note(directive,
                     std::to_string(whole) +
                         (whole == 1 ? " that lacks" : " that lack") +
                         " a dimension it names " +
                         (whole == 1 ? "stays" : "stay") + " whole");
  return targets.size() - whole;
}

/// Whether the parts of a parameter are blocks of the dimension and in the
/// proportion that the directive says. Emits an error where not.
static LogicalResult verifyBlocks(ShardOp directive, const ScopeIndex &scopes,
                                  ArrayRef<unsigned> parts) {
  ArrayRef<int64_t> blocks = *directive.getBlocks();
  const NamedTensor &first = scopes.getTensor(parts.front());
  int64_t sum = 0;
  for (int64_t block : blocks)
    sum += block;
  SmallVector<std::pair<int64_t, int64_t>> found; // offsets and sizes
  std::optional<int64_t> along;
  ArrayRef<int64_t> whole;
  for (unsigned number : parts) {
    const NamedTensor &tensor = scopes.getTensor(number);
    FunctionOpInterface function = tensor.function;
    auto part = function.getArgAttrOfType<PartAttr>(tensor.index, kPartAttr);
    whole = part.getShape();
    auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
    for (auto [dim, sizes] : llvm::enumerate(llvm::zip_equal(shape, whole)))
      if (std::get<0>(sizes) != std::get<1>(sizes)) {
        along = dim;
        found.emplace_back(part.getOffsets()[dim], shape[dim]);
      }
  }
  int64_t rank = whole.size(), asked = *directive.getNumber();
  asked = asked < 0 ? asked + rank : asked;
  if (along && along != asked)
    return emitError(directive.getLoc())
           << "the output features of parameter \"" << first.name
           << "\" are its dimension " << *along << ", not " << asked
           << "; only they can be blocks of different sizes";
  llvm::sort(found);
  SmallVector<int64_t> sizes;
  bool fits = found.size() == blocks.size() && parts.size() == blocks.size();
  for (auto [number, block] : llvm::enumerate(found)) {
    sizes.push_back(block.second);
    fits = fits && whole[asked] % sum == 0 &&
           block.second == blocks[number] * (whole[asked] / sum);
  }
  if (fits)
    return success();
  return emitError(directive.getLoc())
         << "takes parameter \"" << first.name << "\" apart as ["
         << llvm::interleaved(blocks) << "], but it has been taken apart as ["
         << llvm::interleaved(sizes) << "]";
}

/// For parameters that the directive cuts in blocks of different sizes: the
/// numbers of those blocks. Fails after an error if one has been split in no or
/// other blocks.
static FailureOr<SmallVector<unsigned>> findBlocks(ShardOp directive,
                                                   const ScopeIndex &scopes,
                                                   ArrayRef<unsigned> targets) {
  // Arguments of one name are parts of one parameter.
  llvm::MapVector<std::pair<Operation *, StringRef>, SmallVector<unsigned, 4>>
      byName;
  for (unsigned number : targets) {
    const NamedTensor &tensor = scopes.getTensor(number);
    FunctionOpInterface function = tensor.function;
    SmallVector<unsigned, 4> &parts = byName[{function, tensor.name}];
    if (function.getArgAttr(tensor.index, kPartAttr))
      parts.push_back(number);
  }
  SmallVector<unsigned> found;
  for (auto &[parameter, parts] : byName) {
    if (parts.empty())
      return emitError(directive.getLoc())
             << "parameter \"" << parameter.second
             << "\" is no blocks of different sizes side by side: neither the "
             << "weight of a linear layer, nor the bias of one whose weight is "
             << "given the same blocks";
    if (failed(verifyBlocks(directive, scopes, parts)))
      return failure();
    llvm::append_range(found, parts);
  }
  return found;
}

/// Places each block of parameters that were split. Returns the number of
/// parameters.
static FailureOr<unsigned> placeBlocks(ShardOp directive,
                                       ScheduleApplication &application,
                                       ArrayRef<unsigned> targets) {
  FailureOr<SmallVector<unsigned>> blocks =
      findBlocks(directive, application.getScopes(), targets);
  if (failed(blocks) || failed(placeTensors(directive, application, *blocks)))
    return failure();
  return blocks->size() / directive.getBlocks()->size();
}

//===----------------------------------------------------------------------===//
// The directive
//===----------------------------------------------------------------------===//

namespace {
struct ShardDirective
    : ScheduleDirectiveOpInterface::ExternalModel<ShardDirective, ShardOp> {
  TargetKind getTargetKind(Operation *op) const {
    switch (cast<ShardOp>(op).getKind()) {
    case ShardTarget::Parameter:
      return TargetKind::Parameter;
    case ShardTarget::Input:
      return TargetKind::Input;
    case ShardTarget::Output:
      return TargetKind::Output;
    case ShardTarget::Value:
      return TargetKind::Value;
    case ShardTarget::Column:
    case ShardTarget::Row:
    case ShardTarget::Heads:
    case ShardTarget::Experts:
    case ShardTarget::ModuleInput:
    case ShardTarget::ModuleOutput:
      break;
    }
    return TargetKind::Module;
  }

  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<ShardOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<ShardOp>(op);
    switch (directive.getKind()) {
    case ShardTarget::Column:
    case ShardTarget::Row:
      return shardFeatures(directive, application, targets);
    case ShardTarget::Heads:
      return shardHeads(directive, application, targets);
    case ShardTarget::Experts:
      return shardExperts(directive, application, targets);
    case ShardTarget::ModuleInput:
    case ShardTarget::ModuleOutput:
      for (unsigned scope : targets)
        if (failed(placeActivation(directive, application, scope)))
          return failure();
      break;
    case ShardTarget::Value:
      for (unsigned number : targets)
        if (failed(placeValue(directive, application,
                              application.getScopes().getValues(number))))
          return failure();
      break;
    case ShardTarget::Parameter:
      if (directive.getBlocks())
        return placeBlocks(directive, application, targets);
      [[fallthrough]];
    case ShardTarget::Input:
    case ShardTarget::Output:
      return placeTensors(directive, application, targets);
    }
    return targets.size();
  }
};
} // namespace

void mlir::dist::attachShardDirective(MLIRContext &context) {
  ShardOp::attachInterface<ShardDirective>(context);
}
