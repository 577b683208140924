//===- CheckScheduled.cpp - Random schedules in every mode of streams -----===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Streams.h"
#include "lowering/streams/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/overlap/Passes.h"
#include "test/generator/Arguments.h"
#include "test/generator/CheckSteps.h"
#include "test/generator/Interpreter.h"
#include "test/lowering/oracle/CheckLowered.h"
#include "test/lowering/oracle/RandomSchedule.h"
#include "test/lowering/oracle/ScheduleMutants.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

std::optional<std::string>
mlir::dist::test::findStreamMistake(JitProgram &program,
                                    ArrayRef<Tensor> arguments,
                                    ArrayRef<Tensor> expected, uint64_t seed) {
  using Kind = ::dist::StreamMode::Kind;
  for (::dist::StreamMode mode : {::dist::StreamMode{Kind::Threads, 0},
                                  {Kind::Eager, 0},
                                  {Kind::Late, 0},
                                  {Kind::Seeded, seed},
                                  {Kind::Seeded, seed + 1}}) {
    program.setStreams(mode);
    std::string error;
    auto got = program.run(arguments, seed, error);
    std::string name = "in mode " + std::to_string(mode.kind) + ": ";
    if (failed(got))
      return name + error;
    for (auto [number, one] : llvm::enumerate(*got))
      if (auto difference = findBitDifference(expected[number], one))
        return name + "result " + std::to_string(number) + ": " + *difference;
  }
  return std::nullopt;
}

FailureOr<unsigned> mlir::dist::test::overlapWhatCan(ModuleOp module) {
  PassManager passes(module.getContext());
  DistScheduleOverlapOptions overlap;
  overlap.machineName = "8xA100";
  overlap.link = "latency=1s,bandwidth=1kB/s";
  overlap.memory = 1000;
  overlap.margin = 0;
  passes.addPass(createDistScheduleOverlap(overlap));
  if (failed(passes.run(module)))
    return failure();
  unsigned started = 0;
  module.walk([&](Operation *op) { started += getStream(op) != 0; });
  return started;
}

namespace {
/// A placed program, put into another order: any, or the one that the pass
/// decides for.
class ScheduledCase : public CheckSteps {
public:
  ScheduledCase(StringRef text, const CheckOptions &options)
      : CheckSteps(getLoweringContext(), options) {
    prepare(text);
  }

  bool isReady() const { return started > 0; }
  /// What a pipeline that failed said. Schedules made here are legal.
  Verdict refuse(const Twine &error) {
    if (verdict.pass == "dist-verify-schedule")
      return finish(Outcome::Broken, diagnostics.message + error);
    return CheckSteps::refuse(error);
  }

  /// In the order that it was placed in, and the other.
  OwningOpRef<ModuleOp> given, module;
  std::vector<Tensor> arguments;
  std::unique_ptr<Expectation> expected;
  unsigned started = 0;
  bool isDecided = false;

private:
  void prepare(StringRef text);
};
} // namespace

void ScheduledCase::prepare(StringRef text) {
  enter("parse");
  MLIRContext *context = getLoweringContext();
  module =
      parseSourceString<ModuleOp>(text, ParserConfig(context), "case.mlir");
  if (!module || !isa_and_present<func::FuncOp>(getEntryFunction(*module))) {
    finish(Outcome::Invalid, diagnostics.message + "no entry function");
    return;
  }
  enter("one-device");
  std::string error;
  expected = Expectation::make(*module, options.seed, 1, error);
  if (!expected) {
    finish(Outcome::Invalid, error);
    return;
  }
  arguments = makeArguments(cast<func::FuncOp>(getEntryFunction(*module)),
                            options.seed);
  PassManager passes(context);
  watch(passes);
  buildSpmdPipeline(passes, options.fusesTransposes);
  if (failed(passes.run(*module))) {
    refuse("");
    return;
  }
  given = module->clone();
  isDecided = options.seed % 2 == 0;
  enter("dist-schedule-overlap");
  FailureOr<unsigned> ordered =
      isDecided ? overlapWhatCan(*module)
                : FailureOr<unsigned>(scheduleAtRandom(*module, options.seed));
  if (failed(ordered)) {
    refuse("");
    return;
  }
  started = *ordered;
  PassManager check(context);
  check.addPass(createDistVerifySchedule());
  enter("dist-verify-schedule");
  if (failed(check.run(*module))) {
    started = 0;
    refuse("");
    return;
  }
  finish(Outcome::Agrees, "0");
}

Verdict mlir::dist::test::checkScheduled(StringRef text,
                                         const CheckOptions &options) {
  ScheduledCase made(text, options);
  if (!made.isReady())
    return made.verdict;
  // The pass promises the bits of the order given, too.
  OwningOpRef<ModuleOp> still =
      made.isDecided ? made.given->clone() : made.module->clone();
  removeStreams(*still);
  JitOptions jit;
  jit.beforePass = [&](StringRef pass, Operation *) { made.enter(pass); };
  std::string error;
  std::unique_ptr<JitProgram> synchronous =
      JitProgram::make(*still, jit, error);
  std::unique_ptr<JitProgram> overlapped =
      synchronous ? JitProgram::make(*made.module, jit, error) : nullptr;
  if (!overlapped)
    return made.refuse(error);
  made.enter("run");
  auto results = synchronous->run(made.arguments, options.seed, error);
  if (failed(results))
    return made.finish(Outcome::Wrong, error);
  if (auto mistake = findStreamMistake(*overlapped, made.arguments, *results,
                                       options.seed))
    return made.finish(Outcome::Wrong, *mistake);
  overlapped->setStreams({});
  if (auto mistake = made.expected->findMistake(*overlapped, options.isExact))
    return made.finish(Outcome::Wrong, *mistake);
  return made.finish(Outcome::Agrees, Twine(made.started));
}

Verdict mlir::dist::test::checkScheduleMutants(StringRef text,
                                               const CheckOptions &options) {
  ScheduledCase made(text, options);
  if (!made.isReady())
    return made.verdict;
  made.enter("mutants");
  std::string problem;
  ScheduleCounts counts = countScheduleMutants(
      *made.module, options.seed, /*most=*/4, &made.arguments, problem);
  // What the lowering finds dead is on no stream.
  bool isRefused = !(made.diagnostics.message + problem).empty();
  if (counts.started == 0 && isRefused)
    return made.refuse(problem);
  if (!problem.empty())
    return made.finish(Outcome::Wrong, problem);
  return made.finish(Outcome::Agrees, counts.toText());
}
