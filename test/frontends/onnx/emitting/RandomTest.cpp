//===- RandomTest.cpp - Philox4x32-10 against its authors' answers --------===//
//
// The numbers are those of Random123 1.14 (Salmon, Moraes, Dror and Shaw),
// tests/kat_vectors. What the emitted ops compute is found by folding them.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emitting/Random.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
using Words = std::array<uint32_t, 4>;

Words evaluate(const std::array<uint32_t, 4> &counter,
               const std::array<uint32_t, 2> &key) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  Type type = builder.getI64Type();
  auto function = func::FuncOp::create(
      builder, loc, "f",
      builder.getFunctionType({}, SmallVector<Type>(4, type)));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Scalar scalar(builder, loc);
  auto number = [&](uint32_t value) {
    return scalar.constantInt(type, static_cast<int64_t>(value));
  };
  std::array<Value, 4> made =
      emitPhilox(scalar,
                 {number(counter[0]), number(counter[1]), number(counter[2]),
                  number(counter[3])},
                 {number(key[0]), number(key[1])});
  auto end = func::ReturnOp::create(builder, loc, ValueRange(made));
  EXPECT_TRUE(succeeded(applyPatternsGreedily(function, {})));
  Words words{};
  for (auto [word, value] : llvm::zip_equal(words, end.getOperands())) {
    APInt known;
    EXPECT_TRUE(matchPattern(value, m_ConstantInt(&known)));
    EXPECT_EQ(known.getZExtValue() >> 32, 0u);
    word = static_cast<uint32_t>(known.getZExtValue());
  }
  return words;
}
} // namespace

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(evaluate({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(evaluate({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(evaluate({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                     {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}
