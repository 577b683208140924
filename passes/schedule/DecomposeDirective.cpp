//===- DecomposeDirective.cpp - Linear layers as matmul and bias ----------===//
//
// dist.decompose: the parts of a linear layer become modules of their own.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "passes/schedule/Directives.h"
#include "passes/schedule/ModuleBorder.h"
#include "passes/schedule/ScheduleApplication.h"

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
              StringAttr::get(op->getContext(), layer.getValue() + "." + part));
}

/// What a parameter goes through within the layer.
void Decomposition::moveChain(Value from, StringAttr layer, StringRef part) {
  if (Operation *op = from.getDefiningOp();
      op && op->getAttr(kScopeAttr) == layer)
    moveInto(op, layer, part);
  for (OpOperand *operand : Origins::getChain(from))
    if (Operation *op = operand->get().getDefiningOp();
        op && op->getAttr(kScopeAttr) == layer)
      moveInto(op, layer, part);
}

/// A bias that the contraction is accumulated onto is added to what it makes.
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

/// The op of the layer that adds a parameter to what the contraction makes.
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

FailureOr<unsigned> Decomposition::decompose(unsigned scope) {
  llvm::MapVector<StringAttr, SmallVector<FeatureContraction, 1>> layers;
  unsigned known = 0;
  for (Operation *op : application.getScopes().getOps(scope)) {
    std::optional<FeatureContraction> contraction =
        application.getOrigins().findFeatureContraction(op);
    if (contraction && isa<linalg::LinalgOp>(op)) {
      if (application.isTaken(op))
        ++known;
      else
        layers[op->getAttrOfType<StringAttr>(kScopeAttr)].push_back(
            std::move(*contraction));
    }
  }
  for (auto &[layer, contractions] : layers) {
    if (contractions.size() > 1) {
      InFlightDiagnostic error =
          emitError(directive.getLoc())
          << "module " << layer << " has " << contractions.size()
          << " contractions with parameters that are in no module of their "
             "own, so that their parts would have one name";
      error.attachNote(contractions[1].op->getLoc()) << "the second one";
      return error;
    }
    FeatureContraction &contraction = contractions.front();
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
  return layers.size() + known;
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
