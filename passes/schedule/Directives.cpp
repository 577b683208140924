//===- Directives.cpp - What the directives of a schedule share -----------===//
//
// Matching of names, checks of axes, and ops read through their factors.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Directives.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "passes/schedule/NamePattern.h"
#include "passes/schedule/Schedule.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Reading ops
//===----------------------------------------------------------------------===//

SmallVector<OpOperand *, 4> mlir::dist::getDataOperands(Operation *op) {
  SmallVector<OpOperand *, 4> data;
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        !(destination && destination.isDpsInit(&operand)))
      data.push_back(&operand);
  return data;
}

/// Parameters come through few ops; long chains are computations, and looking
/// to the end of each, from each of their ops, would take quadratic time.
static constexpr size_t kLongestChain = 64;

Origin mlir::dist::findOrigin(Value tensor) {
  Origin origin;
  origin.root = tensor;
  while (origin.chain.size() < kLongestChain) {
    if (auto argument = dyn_cast<BlockArgument>(origin.root)) {
      auto function =
          dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
      if (function && argument.getOwner()->isEntryBlock() &&
          function.getArgAttr(argument.getArgNumber(), kParameterAttr))
        origin.kind = Origin::Parameter;
      return origin;
    }
    Operation *op = origin.root.getDefiningOp();
    SmallVector<OpOperand *, 4> data = getDataOperands(op);
    if (data.empty() && op->getNumRegions() == 0)
      origin.kind = Origin::Constant;
    // linalg.fill reads no tensor, and has a region.
    if (data.empty() && isa<DestinationStyleOpInterface>(op))
      origin.kind = Origin::Constant;
    if (data.size() != 1 || op->getNumResults() != 1)
      return origin;
    origin.chain.push_back(data.front());
    origin.root = data.front()->get();
  }
  return origin;
}

/// Whether a dimension of the tensor holds `factor`.
static bool holds(const TensorRule &tensor, unsigned factor) {
  return llvm::any_of(tensor.dims, [&](ArrayRef<unsigned> factors) {
    return llvm::is_contained(factors, factor);
  });
}

std::optional<FeatureContraction>
mlir::dist::findFeatureContraction(Operation *op) {
  SmallVector<OpOperand *, 4> data = getDataOperands(op);
  if (data.size() < 2 || op->getNumResults() != 1)
    return std::nullopt;
  ShardingRule rule = getShardingRule(op);
  if (!rule.isContraction)
    return std::nullopt;
  // Weights are mostly the right operand: where both come from parameters, the
  // last is taken as the weight.
  for (OpOperand *parameter : llvm::reverse(data)) {
    Origin origin = findOrigin(parameter->get());
    if (origin.kind != Origin::Parameter)
      continue;
    for (OpOperand *activation : data) {
      if (activation == parameter)
        continue;
      for (unsigned i = 0, e = rule.factors.size(); i < e; ++i)
        if (rule.factors[i].kind == FactorKind::Reduction &&
            holds(rule.operands[parameter->getOperandNumber()], i) &&
            holds(rule.operands[activation->getOperandNumber()], i))
          return FeatureContraction{op, std::move(rule), parameter, activation,
                                    std::move(origin)};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Names and axes
//===----------------------------------------------------------------------===//

std::string mlir::dist::describeDirective(Operation *directive) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto line = directive->getLoc()->findInstanceOf<FileLineColLoc>()) {
    StringRef file = line.getFilename().getValue();
    stream << file.substr(file.rfind('/') + 1) << ":" << line.getStartLine()
           << ": ";
  }
  directive->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

FailureOr<SmallVector<unsigned>>
DirectiveApplier::match(Operation *directive, StringRef target,
                        ArrayRef<StringRef> names, StringRef what,
                        bool optional) {
  std::string error;
  std::optional<NamePattern> pattern = NamePattern::parse(target, error);
  if (!pattern)
    return emitError(directive->getLoc()) << error;
  SmallVector<unsigned> matches;
  for (auto [number, name] : llvm::enumerate(names))
    if (pattern->matches(name))
      matches.push_back(number);
  if (!matches.empty() || optional)
    return matches;
  InFlightDiagnostic diagnostic = emitError(directive->getLoc())
                                  << "\"" << target
                                  << "\" matches none of the program's "
                                  << names.size() << " " << what << "s";
  if (StringRef near = findNearMiss(target, names); !near.empty())
    diagnostic << "; did you mean \"" << near << "\"?";
  else if (!names.empty())
    diagnostic << ", such as \"" << names.back() << "\"";
  else if (what == "module")
    diagnostic << ": no op has a 'dist.scope'";
  return diagnostic;
}

FailureOr<SmallVector<StringRef>>
DirectiveApplier::matchPaths(Operation *directive, StringRef target,
                             bool optional) {
  FailureOr<SmallVector<unsigned>> matches =
      match(directive, target, index.getPaths(), "module", optional);
  if (failed(matches))
    return failure();
  return llvm::map_to_vector(
      *matches, [&](unsigned number) { return index.getPaths()[number]; });
}

LogicalResult DirectiveApplier::verifyAxes(Operation *directive,
                                           ArrayRef<AxisRefAttr> axes) {
  for (AxisRefAttr axis : axes)
    if (layout.size(axis) == 0)
      return emitError(directive->getLoc())
             << "axis " << axis << " is not in mesh @" << mesh.getSymName()
             << " " << mesh.getAxesAttr();
  return success();
}

Location DirectiveApplier::locate(Operation *directive, Operation *op) {
  // The directive comes first: what is wrong with what it made is wrong there.
  return FusedLoc::get(mesh.getContext(), {directive->getLoc(), op->getLoc()});
}

FailureOr<unsigned> DirectiveApplier::apply(Operation *directive) {
  if (auto shard = dyn_cast<ShardOp>(directive))
    return applyShard(shard);
  return applySync(cast<SyncOp>(directive));
}
