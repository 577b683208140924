//===- DecomposeDirective.cpp - Linear layers as matmul and bias ----------===//
//
// dist.decompose: the parts of a linear layer become modules of their own.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ModuleBorder.h"
#include "passes/schedule/directives/ScheduleApplication.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Takes linear layers apart.
class Decomposition {
public:
  Decomposition(DecomposeOp directive, ScheduleApplication &application)
      : directive(directive), application(application) {}

  /// Those of one module and of the modules within it; returns how many.
  FailureOr<unsigned> decompose(unsigned scope);

private:
  void takeApart(FeatureContraction &contraction, StringAttr layer);
  void moveInto(Operation *op, StringAttr layer, StringRef part);
  void moveChain(Value from, StringAttr layer, StringRef part);
  Operation *takeOutBias(linalg::LinalgOp contraction);
  Operation *findBias(Operation *contraction, StringAttr layer,
                      OpOperand *&parameter);

  DecomposeOp directive;
  ScheduleApplication &application;
};
} // namespace

void Decomposition::moveInto(Operation *op, StringAttr layer, StringRef part) {
  op->setAttr(kScopeAttr,
              StringAttr::get(op->getContext(), joinPaths(layer, part)));
}

/// The ops of the layer that a parameter goes through.
void Decomposition::moveChain(Value from, StringAttr layer, StringRef part) {
  if (Operation *op = from.getDefiningOp();
      op && op->getAttr(kScopeAttr) == layer)
    moveInto(op, layer, part);
  for (OpOperand *operand : Origins::getChain(from))
    if (Operation *op = operand->get().getDefiningOp();
        op && op->getAttr(kScopeAttr) == layer)
      moveInto(op, layer, part);
}

/// A bias that the contraction is accumulated onto is added to its result.
Operation *Decomposition::takeOutBias(linalg::LinalgOp contraction) {
  OpOperand *init = contraction.getDpsInitOperand(0);
  Value bias = init->get();
  if (application.getOrigins().get(bias).kind != Origin::Parameter)
    return nullptr;
  Location loc = contraction.getLoc();
  OpBuilder builder(contraction);
  Attribute scope = contraction->getAttr(kScopeAttr);
  auto type = cast<RankedTensorType>(bias.getType());
  SmallVector<Operation *> made;
  auto makeEmpty = [&]() -> Value {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, bias);
    auto empty =
        tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
    made.push_back(empty);
    return empty;
  };
  auto zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = makeEmpty();
  auto fill = linalg::FillOp::create(builder, loc, zero.getResult(), empty);
  init->set(fill.getResult(0));
  builder.setInsertionPointAfter(contraction);
  Value result = contraction->getResult(0), place = makeEmpty();
  auto add = linalg::AddOp::create(builder, loc, ValueRange{result, bias},
                                   ValueRange{place});
  made.append({zero, fill, add});
  for (Operation *op : made)
    op->setAttr(kScopeAttr, scope);
  result.replaceAllUsesExcept(add.getResult(0), add);
  return add;
}

/// The op of the layer that adds a parameter to the contraction's result.
Operation *Decomposition::findBias(Operation *contraction, StringAttr layer,
                                   OpOperand *&parameter) {
  Origins &origins = application.getOrigins();
  Operation *op = contraction;
  while (op->getResult(0).hasOneUse()) {
    OpOperand &use = *op->getResult(0).use_begin();
    op = use.getOwner();
    if (op->getAttr(kScopeAttr) != layer || op->getNumResults() != 1)
      return nullptr;
    SmallVector<OpOperand *, 4> data = getDataOperands(op);
    if (data.size() == 1 && commutesWithSum(op, data))
      continue;
    for (OpOperand *operand : data)
      if (data.size() == 2 && operand != &use && commutesWithSum(op, data) &&
          !commutesWithSum(op, &use) &&
          origins.get(operand->get()).kind == Origin::Parameter) {
        parameter = operand;
        return op;
      }
    return nullptr;
  }
  return nullptr;
}

void Decomposition::takeApart(FeatureContraction &contraction,
                              StringAttr layer) {
  (void)application.take(contraction.op);
  takeOutBias(cast<linalg::LinalgOp>(contraction.op));
  OpOperand *parameter = nullptr;
  if (Operation *bias = findBias(contraction.op, layer, parameter)) {
    moveInto(bias, layer, "bias");
    moveChain(parameter->get(), layer, "bias");
  }
  moveChain(contraction.parameter->get(), layer, "matmul");
  moveInto(contraction.op, layer, "matmul");
}

FailureOr<unsigned> Decomposition::decompose(unsigned scope) {
  llvm::MapVector<StringAttr, SmallVector<FeatureContraction, 1>> layers;
  llvm::SmallSetVector<Attribute, 4> known;
  for (Operation *op : application.getScopes().getOps(scope)) {
    std::optional<FeatureContraction> contraction =
        application.getOrigins().findFeatureContraction(op);
    if (contraction && isa<linalg::LinalgOp>(op)) {
      if (application.isTaken(op))
        known.insert(op->getAttr(kScopeAttr));
      else
        layers[op->getAttrOfType<StringAttr>(kScopeAttr)].push_back(
            std::move(*contraction));
    }
  }
  for (auto &[layer, contractions] : layers) {
    // A layer that is applied several times is one.
    auto getParameter = [&](const FeatureContraction &contraction) {
      return application.getOrigins().get(contraction.parameter->get()).root;
    };
    auto second = llvm::find_if(contractions, [&](const auto &contraction) {
      return getParameter(contraction) != getParameter(contractions.front());
    });
    if (second != contractions.end()) {
      InFlightDiagnostic error =
          emitError(directive.getLoc())
          << "module " << layer << " has contractions with several parameters "
          << "that are in no module of their own, so that their parts would "
             "have one name";
      error.attachNote(contractions.front().op->getLoc()) << "one of them";
      error.attachNote(second->op->getLoc()) << "another";
      return error;
    }
    for (FeatureContraction &contraction : contractions)
      takeApart(contraction, layer);
  }
  return layers.size() + known.size();
}

namespace {
struct DecomposeDirective
    : ScheduleDirectiveOpInterface::ExternalModel<DecomposeDirective,
                                                  DecomposeOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<DecomposeOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<DecomposeOp>(op);
    Decomposition decomposition(directive, application);
    unsigned places = 0;
    for (unsigned scope : targets) {
      FailureOr<unsigned> more = decomposition.decompose(scope);
      if (failed(more))
        return failure();
      if (*more == 0)
        return emitError(op->getLoc())
               << "module \"" << application.getScopes().getPath(scope)
               << "\" has no linear layer: no contraction with a parameter";
      places += *more;
    }
    return places;
  }
};
} // namespace

void mlir::dist::attachDecomposeDirective(MLIRContext &context) {
  DecomposeOp::attachInterface<DecomposeDirective>(context);
}
