//===- user-opt.cpp - dist-opt with a user's dialect ----------------------===//

#include "compiler/Register.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/Adjoints.h"
#include "dialects/dist/Interfaces/LocalIndex.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Passes.h"
#include "passes/schedule/directives/ScheduleApplication.h"

#include "test/dialects/user/UserDialect.h.inc"
#define GET_OP_CLASSES
#include "test/dialects/user/UserOps.h.inc"

#include "test/dialects/user/UserDialect.cpp.inc"
#define GET_OP_CLASSES
#include "test/dialects/user/UserOps.cpp.inc"

using namespace mlir;
using dist::FactorKind;
using dist::ShardingRule;

void user::UserDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "test/dialects/user/UserOps.cpp.inc"
      >();
}

/// A factor for each dimension of the first operand, the result's too.
static ShardingRule getRowwiseRule(Operation *op, bool isLastWhole) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  ShardingRule rule;
  rule.operands.resize(op->getNumOperands());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool isWhole = isLastWhole && int64_t(dim) + 1 == type.getRank();
    rule.operands[0].dims.push_back({rule.addFactor(
        size, isWhole ? FactorKind::Replicated : FactorKind::Parallel)});
  }
  rule.results.push_back(rule.operands[0]);
  return rule;
}

ShardingRule user::ScaleOp::getShardingRule() {
  return getRowwiseRule(*this, false);
}

dist::PartialResult user::ScaleOp::getPartialResult(ArrayRef<bool>,
                                                    dist::ReductionKind kind) {
  return kind == dist::ReductionKind::Sum ? dist::PartialResult::Partial
                                          : dist::PartialResult::Illegal;
}

LogicalResult user::ScaleOp::addAdjoints(OpBuilder &builder,
                                         dist::Adjoints &adjoints) {
  Value cotangent = adjoints.lookup(getResult());
  Value scaled = ScaleOp::create(builder, getLoc(), getOperand().getType(),
                                 cotangent, getFactorAttr());
  adjoints.add(builder, getLoc(), getOperand(), scaled);
  return success();
}

ShardingRule user::ScanOp::getShardingRule() {
  return getRowwiseRule(*this, true);
}

ShardingRule user::PairSumsOp::getShardingRule() {
  auto left = cast<RankedTensorType>(getLeft().getType());
  auto right = cast<RankedTensorType>(getRight().getType());
  ShardingRule rule;
  unsigned n = rule.addFactor(left.getDimSize(0));
  unsigned m = rule.addFactor(right.getDimSize(0));
  unsigned k = rule.addFactor(left.getDimSize(1), FactorKind::Reduction);
  rule.isContraction = true;
  rule.operands.resize(2);
  rule.operands[0].dims = {{n}, {k}};
  rule.operands[1].dims = {{m}, {k}};
  rule.results.resize(1);
  rule.results[0].dims = {{n}, {m}};
  return rule;
}

ShardingRule user::SumAndPeakOp::getShardingRule() {
  auto left = cast<RankedTensorType>(getLeft().getType());
  auto right = cast<RankedTensorType>(getRight().getType());
  ShardingRule rule;
  unsigned n = rule.addFactor(left.getDimSize(0));
  unsigned k = rule.addFactor(left.getDimSize(1), FactorKind::Reduction);
  unsigned j = rule.addFactor(right.getDimSize(1), FactorKind::Reduction);
  rule.factors[k].reductions = {dist::ReductionKind::Sum, std::nullopt};
  rule.factors[j].reductions = {std::nullopt, dist::ReductionKind::Max};
  rule.operands.resize(2);
  rule.operands[0].dims = {{n}, {k}};
  rule.operands[1].dims = {{n}, {j}};
  rule.results.resize(2);
  rule.results[0].dims = {{n}};
  rule.results[1].dims = {{n}};
  return rule;
}

ShardingRule user::RangesOp::getShardingRule() {
  auto type = cast<RankedTensorType>(getOperand().getType());
  ShardingRule rule;
  unsigned n = rule.addFactor(type.getDimSize(0));
  unsigned k = rule.addFactor(type.getDimSize(1), FactorKind::Reduction);
  rule.factors[k].reductions = {dist::ReductionKind::Min,
                                dist::ReductionKind::Max};
  rule.operands.resize(1);
  rule.operands[0].dims = {{n}, {k}};
  rule.results.resize(2);
  rule.results[0].dims = {{n}};
  rule.results[1].dims = {{n}};
  return rule;
}

ShardingRule user::AnyAndMostOp::getShardingRule() {
  auto left = cast<RankedTensorType>(getLeft().getType());
  auto right = cast<RankedTensorType>(getRight().getType());
  ShardingRule rule;
  unsigned n = rule.addFactor(left.getDimSize(0));
  unsigned k = rule.addFactor(left.getDimSize(1), FactorKind::Reduction,
                              dist::ReductionKind::Or);
  unsigned j = rule.addFactor(right.getDimSize(1), FactorKind::Reduction,
                              dist::ReductionKind::Max);
  rule.operands.resize(2);
  rule.operands[0].dims = {{n}, {k}};
  rule.operands[1].dims = {{n}, {j}};
  rule.results.resize(1);
  rule.results[0].dims = {{n}};
  return rule;
}

ShardingRule user::IotaOp::getShardingRule() {
  return getRowwiseRule(*this, false);
}

LogicalResult user::IotaOp::makeLocal(OpBuilder &builder,
                                      const dist::LocalView &view) {
  auto whole = cast<RankedTensorType>(view.operandTypes[0]);
  dist::DimShardingAttr rows = view.operands[0].getDims()[0];
  if (!rows.getAllAxes().empty()) {
    Location loc = getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value before = dist::getGlobalIndex(builder, loc, view.layout, rows,
                                        whole.getDimSize(0), zero)
                       .index;
    setOperand(1, arith::AddIOp::create(builder, loc, getStart(), before));
  }
  return dist::setLocalResultTypes(*this, view);
}

// docs/internals/propagation.md shows this.
/// Every element is limited by `limits`, one for each column: [n, m], [m].
struct ClipModel
    : dist::ShardingRuleOpInterface::ExternalModel<ClipModel, user::ClipOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    ShardingRule rule;
    unsigned n = rule.addFactor(type.getDimSize(0));
    unsigned m = rule.addFactor(type.getDimSize(1));
    rule.operands.resize(2);
    rule.operands[0].dims = {{n}, {m}};
    rule.operands[1].dims = {{m}};
    rule.results.push_back(rule.operands[0]);
    return rule;
  }
};

static void registerClipModel(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, user::UserDialect *) {
    user::ClipOp::attachInterface<ClipModel>(*context);
  });
}

FailureOr<unsigned>
user::ReplicateOp::apply(dist::ScheduleApplication &application,
                         ArrayRef<unsigned> targets) {
  const dist::MeshLayout &layout = application.getLayout();
  unsigned places = 0;
  for (unsigned scope : targets)
    for (Operation *op : application.getScopes().getOps(scope)) {
      auto type = op->getNumResults() == 1
                      ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                      : RankedTensorType();
      if (!type)
        continue;
      SmallVector<dist::DimShardingAttr> dims(type.getRank(), layout.none());
      if (failed(application.constrain(
              *this, op, nullptr,
              dist::ShardingAttr::get(getContext(), layout.getName(), dims,
                                      dist::ReductionKind::Sum, {}))))
        return failure();
      ++places;
    }
  return places;
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  dist::registerAll(registry);
  registry.insert<user::UserDialect>();
  registerClipModel(registry);
  dist::registerAllDistPasses();
  return asMainReturnCode(
      MlirOptMain(argc, argv, "dist-opt with a user's dialect\n", registry));
}
