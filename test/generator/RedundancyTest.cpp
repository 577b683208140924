//===- RedundancyTest.cpp - No reshard is there in vain -------------------===//
//
// Random modules after --dist-insert-reshards:
// - no reshard leaves its value where it is, or has no user;
// - no value is brought twice to one placement;
// - none goes through a placement that nobody needs;
// - what a loop does not change is resharded outside.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/generator/Check.h"
#include "test/generator/Fuzz.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// Why a reshard need not be; empty where it must.
static std::string findFault(ReshardOp reshard, DominanceInfo &dominance) {
  Value from = reshard.getOperand();
  if (reshard.getSource() == reshard.getSharding())
    return "moves nothing";
  if (reshard->use_empty())
    return "is used by nobody";
  for (Operation *user : from.getUsers()) {
    auto other = dyn_cast<ReshardOp>(user);
    if (other && other != reshard &&
        other.getSharding() == reshard.getSharding() &&
        dominance.properlyDominates(other.getOperation(), reshard))
      return "does again what another does";
  }
  auto before = from.getDefiningOp<ReshardOp>();
  bool isSync = before && before.getCause().contains("dist.sync");
  if (before && before->hasOneUse() && !isSync)
    return "could start where " + before.getCause().str() + " does";
  for (Operation *loop = reshard->getParentOp(); loop;
       loop = loop->getParentOp())
    if (isa<LoopLikeOpInterface>(loop) &&
        !loop->isAncestor(from.getParentRegion()->getParentOp()))
      return "could be outside of a loop";
  return "";
}

static void checkCase(MLIRContext *context, const std::string &text,
                      const std::string &name, unsigned &reshards) {
  auto module = parseSourceString<ModuleOp>(text, context);
  ASSERT_TRUE(module) << text;
  // What annotations ask for may well be a detour.
  module->walk([](ShardingConstraintOp constraint) {
    constraint.getResult().replaceAllUsesWith(constraint.getOperand());
    constraint.erase();
  });
  PassManager pm(context, ModuleOp::getOperationName());
  pm.addPass(createPropagatePass());
  pm.addPass(createInsertReshardsPass());
  buildImproveReshardsPipeline(pm);
  if (failed(pm.run(*module)))
    return; // a sync that no value fits
  DominanceInfo dominance(*module);
  module->walk([&](ReshardOp reshard) {
    ++reshards;
    std::string fault = findFault(reshard, dominance);
    if (fault.empty())
      return;
    std::string after;
    llvm::raw_string_ostream os(after);
    os << reshard << " " << fault << "\n" << *module;
    ADD_FAILURE() << name << ": " << after;
  });
}

namespace {
class Redundancy : public testing::TestWithParam<uint64_t> {};
} // namespace

TEST_P(Redundancy, NoReshardIsInVain) {
  std::unique_ptr<MLIRContext> context = makeContext();
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  unsigned reshards = 0;
  for (uint64_t seed = GetParam(); seed < GetParam() + 500; ++seed) {
    checkCase(context.get(), makeCase(seed).text,
              "seed " + std::to_string(seed), reshards);
    if (HasFailure())
      return;
  }
  EXPECT_GT(reshards, 500u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Redundancy,
                         testing::Range(uint64_t(60000), uint64_t(63000),
                                        uint64_t(500)));
