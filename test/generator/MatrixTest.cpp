//===- MatrixTest.cpp - Every operator, every placement of its operands ---===//
//
// Each section of Inputs/operators.mlir on four devices. Four divides the sizes
// or does not (one, nothing). Each operand is replicated, sharded on each
// dimension, or pending a sum or maximum. Results are placed freely or sharded.
// All must agree with one device; none may be refused. Nothing is random.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "test/generator/Arguments.h"
#include "test/generator/Check.h"
#include "test/generator/Operators.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
struct Sizes {
  int64_t n, m;
};
constexpr Sizes kSizes[] = {{8, 8}, {10, 7}, {3, 8}, {1, 5}, {0, 3}};

/// How an argument is placed: sharded on no dimension, on one, or pending.
struct ArgumentPlacement {
  enum Kind { Replicated, Sharded, Sum, Max } kind = Replicated;
  int64_t dim = 0;
};
} // namespace

static bool takes(const Operator &op, Sizes sizes) {
  // Those that only running tells are multiples of four; once is enough.
  if (op.sizes == "unknown")
    return sizes.n == kSizes[0].n;
  if (op.sizes == "some")
    return sizes.n > 0;
  if (op.sizes == "more")
    return sizes.n > 1;
  if (op.sizes == "even")
    return sizes.n > 0 && sizes.n % 2 == 0;
  return true;
}

/// Letters for sizes become numbers: rows, columns, half, one less, two more
/// and twice as many rows.
static std::string withSizes(StringRef text, Sizes sizes) {
  std::string out;
  for (char c : text)
    switch (c) {
    case 'N':
      out += std::to_string(sizes.n);
      break;
    case 'M':
      out += std::to_string(sizes.m);
      break;
    case 'H':
      out += std::to_string(sizes.n / 2);
      break;
    case 'L':
      out += std::to_string(sizes.n - 1);
      break;
    case 'P':
      out += std::to_string(sizes.n + 2);
      break;
    case 'K':
      out += std::to_string(sizes.n * 2);
      break;
    default:
      out += c;
    }
  return out;
}

/// The ways an argument may be placed. What says where to read can be no sum.
static std::vector<ArgumentPlacement> getPlacements(func::FuncOp function,
                                                    unsigned number) {
  auto type = cast<RankedTensorType>(function.getArgument(number).getType());
  std::vector<ArgumentPlacement> placements{{}};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    placements.push_back({ArgumentPlacement::Sharded, dim});
  if (function.getArgAttr(number, kPermutationAttr))
    return placements;
  placements.push_back({ArgumentPlacement::Max});
  if (!function.getArgAttr(number, kBelowAttr) &&
      !function.getArgAttr(number, kNonZeroAttr))
    placements.push_back({ArgumentPlacement::Sum});
  return placements;
}

/// A sharding over the one axis on dimension `dim`; on none where it is -1.
static ShardingAttr shard(MLIRContext *context, int64_t rank, int64_t dim) {
  AxisRefAttr axis = AxisRefAttr::get(context, "x", 1, 0);
  SmallVector<DimShardingAttr> dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(DimShardingAttr::get(
        context, i == dim ? ArrayRef(axis) : ArrayRef<AxisRefAttr>()));
  return ShardingAttr::get(context, FlatSymbolRefAttr::get(context, "m"), dims,
                           ReductionKind::Sum, {});
}

/// Makes the argument a reduction of four parts, one on each device.
static void makePending(func::FuncOp function, unsigned number, bool isMax) {
  BlockArgument argument = function.getArgument(number);
  auto type = cast<RankedTensorType>(argument.getType());
  Type element = type.getElementType();
  SmallVector<int64_t> shape{4};
  llvm::append_range(shape, type.getShape());
  OpBuilder b(function.getBody());
  Location loc = function.getLoc();
  bool isFloat = isa<FloatType>(element);
  TypedAttr start = b.getZeroAttr(element);
  if (isMax && isFloat)
    start = b.getFloatAttr(element, -INFINITY);
  else if (isMax && !element.isInteger(1))
    start = b.getIntegerAttr(
        element, APInt::getSignedMinValue(element.getIntOrFloatBitWidth()));
  Value zero = arith::ConstantOp::create(b, loc, start);
  argument.setType(type.clone(shape));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, argument);
  Value empty =
      tensor::EmptyOp::create(b, loc, ArrayRef(sizes).drop_front(), element);
  Value fill = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  auto reduce = linalg::ReduceOp::create(
      b, loc, argument, fill, ArrayRef<int64_t>{0},
      [&](OpBuilder &b, Location loc, ValueRange v) {
        Value out;
        if (element.isInteger(1))
          out = arith::OrIOp::create(b, loc, v[0], v[1]);
        else if (isFloat)
          out = isMax
                    ? arith::MaximumFOp::create(b, loc, v[0], v[1]).getResult()
                    : arith::AddFOp::create(b, loc, v[0], v[1]).getResult();
        else
          out = isMax ? arith::MaxSIOp::create(b, loc, v[0], v[1]).getResult()
                      : arith::AddIOp::create(b, loc, v[0], v[1]).getResult();
        linalg::YieldOp::create(b, loc, out);
      });
  argument.replaceUsesWithIf(reduce.getResult(0), [&](OpOperand &use) {
    return reduce->isBeforeInBlock(
        function.getBody().front().findAncestorOpInBlock(*use.getOwner()));
  });
  function.setType(FunctionType::get(function.getContext(),
                                     function.getBody().getArgumentTypes(),
                                     function.getResultTypes()));
  function.setArgAttr(number, kShardingAttr,
                      shard(function.getContext(), shape.size(), 0));
}

/// The module `number` of those that an operator makes at these sizes; empty
/// where there are no more.
static std::string makeModule(MLIRContext *context, const std::string &text,
                              size_t number) {
  auto module = parseSourceString<ModuleOp>(text, context);
  if (!module) {
    // Once: then the check finds it invalid.
    return number ? "" : text;
  }
  auto function = module->lookupSymbol<func::FuncOp>("main");
  SmallVector<ArgumentPlacement> placements;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::vector<ArgumentPlacement> all = getPlacements(function, i);
    placements.push_back(all[number % all.size()]);
    number /= all.size();
  }
  bool placesResults = number % 2;
  if (number / 2)
    return "";
  if (placesResults)
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      function.setResultAttr(
          i, kShardingAttr,
          shard(context, cast<RankedTensorType>(type).getRank(), 0));
  for (auto [i, placement] : llvm::enumerate(placements)) {
    auto type = cast<RankedTensorType>(function.getArgument(i).getType());
    if (placement.kind == ArgumentPlacement::Sum ||
        placement.kind == ArgumentPlacement::Max)
      makePending(function, i, placement.kind == ArgumentPlacement::Max);
    else
      function.setArgAttr(i, kShardingAttr,
                          shard(context, type.getRank(),
                                placement.kind == ArgumentPlacement::Sharded
                                    ? placement.dim
                                    : int64_t(-1)));
  }
  std::string out;
  llvm::raw_string_ostream os(out);
  module->print(os);
  return out;
}

namespace {
class Matrix : public testing::TestWithParam<size_t> {};
} // namespace

TEST_P(Matrix, Agrees) {
  const Operator &op = getOperators()[GetParam()];
  std::unique_ptr<MLIRContext> context = makeContext();
  std::vector<std::string> modules;
  for (Sizes sizes : kSizes) {
    if (!takes(op, sizes))
      continue;
    std::string text = "dist.mesh @m [\"x\" = 4]\n" + withSizes(op.text, sizes);
    for (size_t number = 0;; ++number) {
      std::string module = makeModule(context.get(), text, number);
      if (module.empty())
        break;
      modules.push_back(std::move(module));
    }
  }
  auto make = [&](size_t i) {
    CheckCase out{modules[i], CheckOptions()};
    out.options.seed = i;
    return out;
  };
  size_t failures = 0;
  checkAllApart(
      modules.size(), 60, make, [&](size_t i, const Verdict &verdict) {
        // The first few tell enough.
        if (verdict.outcome != Outcome::Agrees && ++failures <= 3)
          ADD_FAILURE() << op.name << ", case " << i << ": "
                        << getName(verdict.outcome).str() << " in "
                        << verdict.pass << ": " << verdict.detail << "\n"
                        << modules[i];
      });
  EXPECT_EQ(failures, 0u) << "of " << modules.size() << " placements";
  RecordProperty("placements", static_cast<int>(modules.size()));
}

INSTANTIATE_TEST_SUITE_P(Operators, Matrix,
                         testing::Range(size_t(0), getOperators().size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           std::string name = getOperators()[info.param].name;
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return std::to_string(info.param) + "_" + name;
                         });
