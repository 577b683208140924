//===- compile_time_benchmark.cpp - Placement passes on long programs -----===//
//
// propagate + insert-reshards + partition on residual MLPs of up to a million
// ops, the programs that peers are measured on. A layer is 8 ops,
// y = x + (relu(x W1 + c1) W2 + c2). One weight is annotated. Also on chains of
// generics whose bodies are equal, or all different. Prints microseconds per op
// and peak memory. benchmarks/results/compile-time.md explains the figures.
//
//===----------------------------------------------------------------------===//

#include "benchmarks/apply_schedule.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include <benchmark/benchmark.h>
#include <sys/resource.h>

using namespace mlir;

namespace {
enum class Weights {
  Own,     ///< every layer has its own
  Shared,  ///< all layers use the same
  Reaching ///< own ones, and one value that every layer adds
};
enum class Annotate { Rows, Columns };

/// A program and what is told about it.
struct Program {
  const char *name;
  Weights weights;
  Annotate annotate;
  bool fanOut = false;
  bool verify = false; ///< MLIR's verifier after each pass, as in the tools
  bool spmd = false;   ///< all of --dist-spmd: with softmax, CSE and the checks
                       ///< of levels 2 and 3
};
/// Of the generics' bodies: what differs from one to the next.
enum class Bodies { Alike, Constant, Form };

constexpr int64_t kBatch = 1 << 20, kHidden = 1 << 20, kInner = 1 << 21;

/// Builds the program; `fanOut` makes a layer's ops share nothing but two
/// inits.
OwningOpRef<ModuleOp> build(MLIRContext &context, int64_t layers,
                            int64_t devices, const Program &program) {
  auto [name, weights, annotate, fanOut, verify, spmd] = program;
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  auto axis = dist::MeshAxisAttr::get(&context, "x", devices);
  dist::MeshOp::create(b, loc, "m", dist::MeshAxesAttr::get(&context, axis));
  Type f32 = b.getF32Type();
  auto x = RankedTensorType::get({kBatch, kHidden}, f32);
  auto h = RankedTensorType::get({kBatch, kInner}, f32);
  auto w1 = RankedTensorType::get({kHidden, kInner}, f32);
  auto w2 = RankedTensorType::get({kInner, kHidden}, f32);
  auto c1 = RankedTensorType::get({kInner}, f32);
  auto c2 = RankedTensorType::get({kHidden}, f32);
  int64_t sets = weights == Weights::Shared ? 1 : layers;
  SmallVector<Type> arguments{x};
  for (int64_t i = 0; i < sets; ++i)
    llvm::append_range(arguments, ArrayRef<Type>{w1, c1, w2, c2});
  if (weights == Weights::Reaching)
    arguments.push_back(x);
  auto function =
      func::FuncOp::create(b, loc, "main", b.getFunctionType(arguments, x));
  auto none =
      dist::DimShardingAttr::get(&context, ArrayRef<dist::AxisRefAttr>());
  auto sharded = dist::DimShardingAttr::get(
      &context, dist::AxisRefAttr::get(&context, "x", 1, 0));
  auto mesh = FlatSymbolRefAttr::get(&context, "m");
  bool rows = annotate == Annotate::Rows;
  int64_t marked = rows ? sets / 2 : 0;
  SmallVector<dist::DimShardingAttr> dims{rows ? sharded : none,
                                          rows ? none : sharded};
  function.setArgAttr(1 + 4 * marked, dist::kShardingAttr,
                      dist::ShardingAttr::get(&context, mesh, dims,
                                              dist::ReductionKind::Sum, {}));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  auto fill = [&](RankedTensorType type) -> std::pair<Value, Value> {
    Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), f32);
    return {empty, linalg::FillOp::create(b, loc, zero, empty).getResult(0)};
  };
  auto [emptyX, zeroX] = fill(x);
  auto [emptyH, zeroH] = fill(h);
  Value value = body->getArgument(0), input = value, last = value;
  for (int64_t i = 0; i < layers; ++i) {
    int64_t set = weights == Weights::Shared ? 0 : i;
    auto weight = [&](int64_t n) { return body->getArgument(1 + 4 * set + n); };
    Value a = linalg::MatmulOp::create(b, loc, TypeRange{h},
                                       ValueRange{value, weight(0)},
                                       ValueRange{zeroH})
                  .getResult(0);
    Value bias = linalg::BroadcastOp::create(b, loc, weight(1), emptyH,
                                             ArrayRef<int64_t>{0})
                     .getResult()[0];
    Value e = arith::AddFOp::create(b, loc, a, bias);
    Value g = arith::MaximumFOp::create(b, loc, e, zeroH);
    Value m =
        linalg::MatmulOp::create(b, loc, TypeRange{x}, ValueRange{g, weight(2)},
                                 ValueRange{zeroX})
            .getResult(0);
    Value bias2 = linalg::BroadcastOp::create(b, loc, weight(3), emptyX,
                                              ArrayRef<int64_t>{0})
                      .getResult()[0];
    Value k = arith::AddFOp::create(b, loc, m, bias2);
    Value other =
        weights == Weights::Reaching ? body->getArguments().back() : value;
    Value y = arith::AddFOp::create(b, loc, other, k);
    last = y;
    value = fanOut ? input : y;
  }
  func::ReturnOp::create(b, loc, last);
  return module;
}

/// A chain of generics on one sharded tensor.
OwningOpRef<ModuleOp> buildChain(MLIRContext &context, int64_t ops,
                                 int64_t devices, Bodies bodies) {
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  auto axis = dist::MeshAxisAttr::get(&context, "x", devices);
  dist::MeshOp::create(b, loc, "m", dist::MeshAxesAttr::get(&context, axis));
  auto x = RankedTensorType::get({kBatch, kHidden}, b.getF32Type());
  auto function = func::FuncOp::create(b, loc, "main", b.getFunctionType(x, x));
  SmallVector<dist::DimShardingAttr> dims{
      dist::DimShardingAttr::get(&context,
                                 dist::AxisRefAttr::get(&context, "x", 1, 0)),
      dist::DimShardingAttr::get(&context, ArrayRef<dist::AxisRefAttr>())};
  function.setArgAttr(
      0, dist::kShardingAttr,
      dist::ShardingAttr::get(&context, FlatSymbolRefAttr::get(&context, "m"),
                              dims, dist::ReductionKind::Sum, {}));
  b.setInsertionPointToEnd(function.addEntryBlock());
  Value value = function.getArgument(0);
  Value empty =
      tensor::EmptyOp::create(b, loc, x.getShape(), x.getElementType());
  AffineMap map = b.getMultiDimIdentityMap(2);
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  for (int64_t i = 0; i < ops; ++i) {
    auto generic = linalg::GenericOp::create(
        b, loc, x, value, empty, ArrayRef<AffineMap>{map, map}, loops,
        [&](OpBuilder &, Location, ValueRange arguments) {
          // Four ops in each body: which, by the bits of its number.
          Value y = arguments[0];
          Value c = arith::ConstantOp::create(
              b, loc,
              b.getF32FloatAttr(bodies == Bodies::Constant ? i + 1 : 1));
          for (int64_t bit = 0; bit < 4; ++bit) {
            int64_t which =
                bodies == Bodies::Form ? i / (int64_t(1) << 5 * bit) % 32 : 0;
            Value left = which & 1 ? c : y, right = which & 2 ? y : c;
            auto flags = static_cast<arith::FastMathFlags>(which >> 2);
            y = arith::SubFOp::create(b, loc, left, right, flags);
          }
          linalg::YieldOp::create(b, loc, y);
        });
    value = generic.getResult(0);
  }
  func::ReturnOp::create(b, loc, value);
  return module;
}

using Build = llvm::function_ref<OwningOpRef<ModuleOp>(MLIRContext &)>;

void measure(benchmark::State &state, int64_t ops, const Program &program,
             Build build) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, dist::DistDialect, func::FuncDialect,
                  linalg::LinalgDialect, tensor::TensorDialect>();
  dist::registerShardingRules(registry);
  for (auto _ : state) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    OwningOpRef<ModuleOp> module = build(context);
    PassManager pm(&context);
    pm.enableVerifier(program.verify);
    if (program.spmd) {
      dist::buildSpmdPipeline(pm);
    } else {
      pm.addPass(dist::createPropagatePass());
      pm.addPass(dist::createInsertReshardsPass());
      dist::buildImproveReshardsPipeline(pm);
      pm.addPass(dist::createPartitionPass());
    }
    auto start = std::chrono::steady_clock::now();
    if (failed(pm.run(*module)))
      state.SkipWithError("the pipeline failed");
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    state.SetIterationTime(seconds.count());
    state.counters["us_per_op"] = seconds.count() * 1e6 / ops;
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = usage.ru_maxrss / 1024.0;
}

void run(benchmark::State &state, const Program &program) {
  int64_t layers = state.range(0) / 8, devices = state.range(1);
  measure(state, layers * 8, program, [&](MLIRContext &context) {
    return build(context, layers, devices, program);
  });
}

void runChain(benchmark::State &state, Bodies bodies) {
  int64_t ops = state.range(0), devices = state.range(1);
  measure(state, ops, {"", Weights::Own, Annotate::Rows},
          [&](MLIRContext &context) {
            return buildChain(context, ops, devices, bodies);
          });
}
} // namespace

constexpr Program kPrograms[] = {
    {"own_rows", Weights::Own, Annotate::Rows},
    {"own_rows_verified", Weights::Own, Annotate::Rows, false, true},
    {"own_rows_spmd", Weights::Own, Annotate::Rows, false, false, true},
    {"own_columns", Weights::Own, Annotate::Columns},
    {"shared_rows", Weights::Shared, Annotate::Rows},
    {"reaching_rows", Weights::Reaching, Annotate::Rows},
    {"fan_out", Weights::Shared, Annotate::Rows, true},
};

constexpr std::pair<const char *, Bodies> kChains[] = {
    {"bodies_alike", Bodies::Alike},
    {"bodies_differ_in_a_constant", Bodies::Constant},
    {"bodies_differ", Bodies::Form},
};

int main(int argc, char **argv) {
  registerApplySchedule();
  // By size: what a benchmark says of memory is the peak of all before it.
  for (int64_t ops : {20'000, 200'000, 1'000'000})
    for (const Program &program : kPrograms)
      for (int64_t devices : {8, 1 << 20})
        benchmark::RegisterBenchmark(
            program.name,
            [&program](benchmark::State &state) { run(state, program); })
            ->ArgNames({"ops", "devices"})
            ->Args({ops, devices})
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
  for (int64_t ops : {16'000, 160'000})
    for (auto [name, bodies] : kChains)
      benchmark::RegisterBenchmark(name,
                                   [bodies = bodies](benchmark::State &state) {
                                     runChain(state, bodies);
                                   })
          ->ArgNames({"ops", "devices"})
          ->Args({ops, 8})
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
}
