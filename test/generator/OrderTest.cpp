//===- OrderTest.cpp - Placements do not depend on the order of ops -------===//
//
// Random modules, and the same with the ops of every block in another order
// that is just as legal: --dist-propagate must place every value alike.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/generator/Choices.h"
#include "test/generator/Fuzz.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

static constexpr StringLiteral kNumber = "test.number";

/// Moves each op to a random place between what it needs and its block's end.
static void shuffle(Block &block, Choices &choices) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  // Take, again and again, any op whose operands are all there.
  llvm::DenseSet<Operation *> waiting(ops.begin(), ops.end());
  auto isReady = [&](Operation *op) {
    return !op->walk([&](Operation *nested) {
                for (Value operand : nested->getOperands())
                  if (Operation *source = operand.getDefiningOp();
                      source && source != op && waiting.contains(source))
                    return WalkResult::interrupt();
                return WalkResult::advance();
              }).wasInterrupted();
  };
  while (!ops.empty()) {
    SmallVector<size_t> ready;
    for (auto [i, op] : llvm::enumerate(ops))
      if (isReady(op))
        ready.push_back(i);
    size_t taken = choices.pick(ArrayRef<size_t>(ready));
    ops[taken]->moveBefore(block.getTerminator());
    waiting.erase(ops[taken]);
    ops.erase(ops.begin() + taken);
  }
}

/// The placements of all numbered ops' results, and of arguments.
static std::map<int64_t, Attribute> propagate(ModuleOp module) {
  std::map<int64_t, Attribute> out;
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createPropagatePass());
  if (failed(pm.run(module)))
    return out;
  module.walk([&](Operation *op) {
    if (auto number = op->getAttrOfType<IntegerAttr>(kNumber)) {
      auto function = dyn_cast<func::FuncOp>(op);
      out[number.getInt()] =
          function ? Attribute(function.getArgAttrsAttr())
                   : Attribute(op->getAttrOfType<ArrayAttr>(kShardingsAttr));
    }
  });
  return out;
}

namespace {
class Order : public testing::TestWithParam<uint64_t> {};
} // namespace

TEST_P(Order, PlacesAlike) {
  std::unique_ptr<MLIRContext> context = makeContext();
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  for (uint64_t seed = GetParam(); seed < GetParam() + 200; ++seed) {
    FuzzCase fuzzCase = makeCase(seed);
    auto module = parseSourceString<ModuleOp>(fuzzCase.text, context.get());
    ASSERT_TRUE(module) << fuzzCase.text;
    int64_t count = 0;
    Builder b(context.get());
    module->walk([&](Operation *op) {
      if (isa<func::FuncOp>(op) || op->getNumResults())
        op->setDiscardableAttr(kNumber, b.getI64IntegerAttr(count++));
    });
    OwningOpRef<ModuleOp> shuffled = module->clone();
    Choices choices(seed);
    shuffled->walk([&](func::FuncOp function) {
      function.walk([&](Block *block) {
        if (block->getParentOp()->getDialect()->getNamespace() != "linalg")
          shuffle(*block, choices);
      });
    });
    std::map<int64_t, Attribute> expected = propagate(*module);
    std::map<int64_t, Attribute> got = propagate(*shuffled);
    for (auto [number, placements] : expected) {
      std::string text;
      llvm::raw_string_ostream(text) << "op " << number << ": " << placements
                                     << ", shuffled " << got[number];
      EXPECT_EQ(placements, got[number])
          << "seed " << seed << ": " << text << "\n"
          << fuzzCase.text;
    }
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Order,
                         testing::Range(uint64_t(0), uint64_t(2000),
                                        uint64_t(200)));
