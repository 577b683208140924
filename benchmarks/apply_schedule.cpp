//===- apply_schedule.cpp - Schedules on long programs --------------------===//
//
// --dist-apply-schedule on transformers of 20 ops and 10 parameters a layer,
// with the 10 directives of tensor parallelism as Megatron-LM has it. All
// directives name modules or parameters of every layer. Also one pattern for
// thousands of modules, and a pattern for each; and a sync of modules with two
// results, of which the partial one is meant.
//
//===----------------------------------------------------------------------===//

#include "benchmarks/apply_schedule.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include <benchmark/benchmark.h>

using namespace mlir;

static constexpr llvm::StringLiteral kSchedule = R"(
dist.mesh @m ["dp" = 2, "tp" = 4]
dist.schedule @megatron on @m {
  dist.shard "h.*.attn.c_attn" column over "tp"
  dist.shard "h.*.attn.c_proj" row over "tp"
  dist.shard "h.*.mlp.c_fc" column over "tp"
  dist.shard "h.*.mlp.c_proj" row over "tp"
  dist.sync "h.*.attn.c_proj" fwd_post all_reduce over "tp"
  dist.sync "h.*.mlp.c_proj" fwd_post all_reduce over "tp"
  dist.sync "h.*.mlp.c_fc" fwd_pre all_gather dim 0 over "dp"
  dist.shard parameter "h.*.ln_1.weight" [{"tp"}]
  dist.shard parameter "h.*.ln_2.weight" [{"tp"}]
  dist.shard input "x" [{"dp"}, {}]
}
)";

static constexpr llvm::StringLiteral kSync = R"(
dist.mesh @m ["tp" = 4]
dist.schedule @sync on @m {
  dist.shard "h.*.down" row over "tp"
  dist.sync "h.*" fwd_post all_reduce over "tp"
}
)";

namespace {
/// Writes the program as text.
class Writer {
public:
  void addLayers(int64_t layers) {
    for (int64_t layer = 0; layer < layers; ++layer) {
      path = "h." + std::to_string(layer);
      std::string attn = feature("attn.c_attn", scale("ln_1", x));
      attn = feature("attn.c_proj", unary("attn", attn));
      x = binary("", "arith.addf", x, attn);
      std::string mlp = feature("mlp.c_fc", scale("ln_2", x));
      mlp = feature("mlp.c_proj", unary("mlp.act", mlp));
      x = binary("", "arith.addf", x, mlp);
    }
  }
  void addModulesOfTwoResults(int64_t modules) {
    for (int64_t i = 0; i < modules; ++i) {
      path = "h." + std::to_string(i);
      std::string gate = product("gate", x), down = product("down", x);
      path = "sum";
      x = binary("", "arith.addf", gate, down);
    }
  }

  std::string takeProgram(llvm::StringRef schedule) {
    body += "  return " + x + " : " + kType + "\n";
    return schedule.str() + "func.func @main(%x: " + kType +
           " {dist.input = \"x\"}" + arguments + ") -> " + kType +
           " {\n  %e = tensor.empty() : " + kType + "\n" + body + "}\n";
  }
  int64_t countOps() const { return ops; }

private:
  static constexpr const char *kType = "tensor<8x64xf32>";

  std::string parameter(const std::string &module, const char *name,
                        const char *type) {
    std::string value = "%p" + std::to_string(parameters++);
    arguments += ",\n    " + value + ": " + type + " {dist.parameter = \"" +
                 path + "." + module + "." + name + "\"}";
    return value;
  }
  std::string attribute(const std::string &module) {
    return "{dist.scope = \"" + path + (module.empty() ? "" : ".") + module +
           "\"}";
  }
  std::string add(const std::string &op) {
    std::string value = "%" + std::to_string(ops++);
    body += "  " + value + " = " + op + "\n";
    return value;
  }
  std::string unary(const std::string &module, const std::string &x) {
    return add("math.tanh " + x + " " + attribute(module) + " : " + kType);
  }
  std::string binary(const std::string &module, const std::string &op,
                     const std::string &a, const std::string &b) {
    return add(op + " " + a + ", " + b + " " + attribute(module) + " : " +
               kType);
  }
  std::string broadcast(const std::string &module, const std::string &vector) {
    return add("linalg.broadcast ins(" + vector + " : tensor<64xf32>) outs(%e" +
               " : " + kType + ") dimensions = [0] " + attribute(module));
  }
  std::string scale(const std::string &module, const std::string &x) {
    std::string weight = parameter(module, "weight", "tensor<64xf32>");
    return binary(module, "arith.mulf", x, broadcast(module, weight));
  }
  std::string feature(const std::string &module, const std::string &x) {
    std::string bias = parameter(module, "bias", "tensor<64xf32>");
    return binary(module, "arith.addf", product(module, x),
                  broadcast(module, bias));
  }
  std::string product(const std::string &module, const std::string &x) {
    std::string weight = parameter(module, "weight", "tensor<64x64xf32>");
    return add("linalg.matmul " + attribute(module) + " ins(" + x + ", " +
               weight + " : " + kType + ", tensor<64x64xf32>) outs(%e : " +
               kType + ") -> " + kType);
  }

  std::string x = "%x", path, arguments, body;
  int64_t parameters = 0, ops = 0;
};
} // namespace

/// Times the schedule of `program`; `count` are ops or modules.
static void measure(benchmark::State &state, const std::string &program,
                    const char *unit, int64_t count) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, dist::DistDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect,
                  tensor::TensorDialect>();
  dist::registerShardingRules(registry);
  for (auto _ : state) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(program, &context);
    PassManager pm(&context);
    pm.enableVerifier(false);
    dist::DistApplySchedulePassOptions options;
    options.report = false;
    pm.addPass(dist::createDistApplySchedulePass(options));
    auto start = std::chrono::steady_clock::now();
    if (!module || failed(pm.run(*module)))
      return state.SkipWithError("the schedule was not applied");
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    state.SetIterationTime(seconds.count());
    state.counters[unit] = seconds.count() * 1e6 / count;
  }
}

static void run(benchmark::State &state, void (Writer::*fill)(int64_t),
                llvm::StringRef schedule) {
  Writer writer;
  (writer.*fill)(state.range(0));
  std::string program = writer.takeProgram(schedule);
  measure(state, program, "us_per_op", writer.countOps());
}

namespace {
/// `before`, a module's number and `after`; without `after` one pattern.
struct Patterns {
  const char *name, *before, *after;
};
} // namespace

static constexpr Patterns kPatterns[] = {
    {"apply_one_glob", "h.*.mlp.act", nullptr},
    {"apply_globs", "**.", ".m*.act"},
    {"apply_regexes", "/[gh].", ".mlp.act/"},
    {"apply_regexes_from_anything", "/.*h.", ".mlp.*/"},
    {"apply_regexes_with_anything", "/h.*[.]", "[.].*act/"},
};

/// A directive for each pattern.
static void runPatterns(benchmark::State &state, const Patterns &patterns) {
  int64_t modules = state.range(0);
  std::string program = "dist.mesh @m [\"tp\" = 2]\n"
                        "dist.schedule @s on @m {\n";
  for (int64_t i = 0; i < (patterns.after ? modules : 1); ++i)
    program += std::string("  dist.checkpoint \"") + patterns.before +
               (patterns.after ? std::to_string(i) + patterns.after : "") +
               "\"\n";
  program += "}\nfunc.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n";
  std::string value = "%x";
  for (int64_t i = 0; i < modules; ++i) {
    std::string number = std::to_string(i);
    program += "  %" + number + " = math.tanh " + value +
               " {dist.scope = \"h." + number +
               ".mlp.act\"} : tensor<8xf32>\n";
    value = "%" + number;
  }
  program += "  return " + value + " : tensor<8xf32>\n}\n";
  measure(state, program, "us_per_module", modules);
}

void registerApplySchedule() {
  for (int64_t layers : {12, 120, 1'200})
    benchmark::RegisterBenchmark("apply_schedule", run, &Writer::addLayers,
                                 kSchedule)
        ->ArgName("layers")
        ->Arg(layers)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  for (int64_t modules : {1'600, 16'000})
    benchmark::RegisterBenchmark("sync_of_several_results", run,
                                 &Writer::addModulesOfTwoResults, kSync)
        ->ArgName("modules")
        ->Arg(modules)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  for (const Patterns &patterns : kPatterns)
    for (int64_t modules : {1'000, 8'000})
      benchmark::RegisterBenchmark(patterns.name,
                                   [&patterns](benchmark::State &state) {
                                     runPatterns(state, patterns);
                                   })
          ->ArgName("modules")
          ->Arg(modules)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
}
