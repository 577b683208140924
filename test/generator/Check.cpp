//===- Check.cpp - One module through the pipeline and compared -----------===//

#include "test/generator/Check.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/overlap/Passes.h"
#include "test/generator/Arguments.h"
#include "test/generator/CheckSteps.h"
#include "test/generator/ForgetSizes.h"
#include "test/generator/Interpreter.h"
#include <poll.h>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

StringRef mlir::dist::test::getName(Outcome outcome) {
  switch (outcome) {
  case Outcome::Agrees:
    return "agrees";
  case Outcome::Rejected:
    return "rejected";
  case Outcome::Wrong:
    return "wrong";
  case Outcome::Broken:
    return "broken";
  case Outcome::Crashed:
    return "crashed";
  case Outcome::Hung:
    return "hung";
  case Outcome::Invalid:
    return "invalid";
  }
  return "";
}

std::string Verdict::getKind() const {
  std::string text = getName(outcome).str() + " " + pass + " ";
  // Numbers, quoted names and shardings differ from case to case.
  bool quoted = false;
  int brackets = 0;
  for (char c : StringRef(detail).split('\n').first) {
    if (c == '"' || c == '\'')
      quoted = !quoted;
    brackets += (c == '<' || c == '[') - (c == '>' || c == ']');
    bool isKept = !quoted && brackets == 0 && !isdigit(c) && c != '>' &&
                  c != ']' && c != '-' && c != '.';
    if (isKept)
      text.push_back(c);
  }
  return text;
}

void mlir::dist::test::registerDialects(DialectRegistry &registry) {
  // By name, for pipelines that go through text.
  static bool once = [] {
    registerAllDistPasses();
    registerTransformsPasses();
    return true;
  }();
  (void)once;
  registry
      .insert<DistDialect, func::FuncDialect, arith::ArithDialect,
              math::MathDialect, linalg::LinalgDialect, cf::ControlFlowDialect,
              tensor::TensorDialect, scf::SCFDialect>();
  registerShardingRules(registry);
}

std::unique_ptr<MLIRContext> mlir::dist::test::makeContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

static OwningOpRef<ModuleOp> parse(StringRef text, MLIRContext *context) {
  return parseSourceString<ModuleOp>(text, ParserConfig(context), "case.mlir");
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Runs the passes of --dist-spmd, each on the printed output of the one
/// before.
static LogicalResult runThroughText(OwningOpRef<ModuleOp> &module,
                                    bool fusesTransposes,
                                    function_ref<void(PassManager &)> prepare) {
  OpPassManager all(ModuleOp::getOperationName());
  buildSpmdPipeline(all, fusesTransposes);
  MLIRContext *context = module->getContext();
  for (Pass &pass : all) {
    PassManager one(context, ModuleOp::getOperationName());
    prepare(one);
    std::string pipeline;
    llvm::raw_string_ostream os(pipeline);
    pass.printAsTextualPipeline(os);
    if (failed(parsePassPipeline(pipeline, one)) || failed(one.run(*module)))
      return failure();
    std::string text = print(*module);
    module = parse(text, context);
    if (!module)
      return failure();
  }
  return success();
}

static unsigned countHalos(ModuleOp module) {
  unsigned count = 0;
  module.walk([&](HaloExchangeOp) { ++count; });
  return count;
}

static constexpr llvm::StringLiteral kTurns = "turns";

/// Gives the mesh an axis more, which shards some dimensions that it divides,
/// after their other axes.
static void addTurns(ModuleOp module, FunctionOpInterface entry,
                     uint64_t seed) {
  auto meshes = module.getOps<MeshOp>();
  if (meshes.empty())
    return;
  MeshOp mesh = *meshes.begin();
  MLIRContext *context = module.getContext();
  std::mt19937_64 random(seed);
  int64_t turns = 2 + random() % 2;
  SmallVector<MeshAxisAttr> axes(mesh.getAxes());
  axes.push_back(MeshAxisAttr::get(context, kTurns, turns));
  mesh.setAxesAttr(MeshAxesAttr::get(context, axes));
  MeshLayout layout(mesh);
  for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
    auto type = dyn_cast<RankedTensorType>(entry.getArgument(number).getType());
    auto given = entry.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (!type || !type.hasStaticShape() || type.getRank() == 0 ||
        random() % 3 == 0)
      continue;
    unsigned dim = random() % type.getRank();
    SmallVector<DimShardingAttr> dims(type.getRank(), layout.none());
    if (given)
      dims.assign(given.getDims().begin(), given.getDims().end());
    SmallVector<AxisRefAttr> own = dims[dim].getAllAxes();
    if (dims[dim].getSubDims().size() > 1 ||
        type.getDimSize(dim) % (layout.size(own) * turns) != 0)
      continue;
    own.push_back(AxisRefAttr::get(context, kTurns, 1, 0));
    dims[dim] = DimShardingAttr::get(context, own);
    entry.setArgAttr(number, kShardingAttr,
                     ShardingAttr::get(context, layout.getName(), dims,
                                       ReductionKind::Sum, {}));
  }
}

Verdict mlir::dist::test::check(StringRef text, const CheckOptions &options) {
  std::unique_ptr<MLIRContext> context = makeContext();
  CheckSteps steps(context.get(), options);
  steps.enter("parse");
  OwningOpRef<ModuleOp> module = parse(text, context.get());
  if (!module)
    return steps.finish(Outcome::Invalid, steps.diagnostics.message);
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(*module));
  if (!entry)
    return steps.finish(Outcome::Invalid, "has no entry function");

  steps.enter("one-device");
  std::vector<Tensor> arguments = makeArguments(entry, options.seed);
  Garbage garbage(static_cast<Garbage::Kind>(options.seed % Garbage::kKinds),
                  options.seed);
  std::string error;
  auto expected = runWhole(*module, arguments, garbage, error);
  if (failed(expected))
    return steps.finish(Outcome::Invalid, error);

  auto prepare = [&](PassManager &pm) {
    pm.enableVerifier();
    steps.watch(pm);
  };
  std::vector<SizeBinding> sizes;
  if (options.forgetsSizes) {
    steps.enter("forget-sizes");
    sizes = forgetSizes(*module, options.seed);
    if (failed(verify(*module)))
      return steps.finish(Outcome::Invalid, steps.diagnostics.message);
  }
  LogicalResult done = success();
  StringRef turns = options.takesTurns ? StringRef(kTurns) : StringRef();
  if (options.takesTurns)
    addTurns(*module, entry, options.seed);
  if (options.throughText && turns.empty()) {
    done = runThroughText(module, options.fusesTransposes, prepare);
  } else {
    PassManager pm(context.get(), ModuleOp::getOperationName());
    prepare(pm);
    if (options.fromLevel2) {
      pm.addPass(createPropagatePass());
      pm.addPass(createInsertReshardsPass());
      buildImproveReshardsPipeline(pm);
    }
    buildSpmdPipeline(pm, options.fusesTransposes, turns);
    done = pm.run(*module);
  }
  if (failed(done)) {
    // The verifier's word on what a pass made is not a rejection.
    bool isRejected =
        steps.diagnostics.isLocated && module && succeeded(verify(*module));
    return steps.finish(isRejected ? Outcome::Rejected : Outcome::Broken,
                        steps.diagnostics.message);
  }
  if (!turns.empty()) {
    // Where it gives up the module is half of either.
    DistUnrollAxisOptions unrolling;
    unrolling.axis = turns.str();
    PassManager unroll(context.get(), ModuleOp::getOperationName());
    prepare(unroll);
    unroll.enableVerifier(false);
    unroll.addPass(createDistUnrollAxis(unrolling));
    if (failed(unroll.run(*module)))
      return steps.refuse();
    PassManager pm(context.get(), ModuleOp::getOperationName());
    prepare(pm);
    pm.addPass(createCSEPass());
    pm.addPass(createVerifySpmdPass());
    if (failed(verify(*module)) || failed(pm.run(*module)))
      return steps.finish(Outcome::Broken, steps.diagnostics.message);
  }
  std::string before = sizes.empty() ? "" : "\n" + print(*module);
  if (!sizes.empty()) {
    steps.enter("bind-sizes");
    if (failed(bindSizes(*module, sizes)))
      return steps.refuse();
    if (failed(verify(*module)))
      return steps.finish(Outcome::Broken, steps.diagnostics.message + before);
  }
  unsigned joined = 0;
  if (options.joinsHalos) {
    DistJoinHalosOptions joining;
    joining.join = "always";
    PassManager pm(context.get(), ModuleOp::getOperationName());
    prepare(pm);
    pm.addPass(createDistJoinHalos(joining));
    pm.addPass(createCSEPass());
    pm.addPass(createVerifySpmdPass());
    unsigned before = countHalos(*module);
    if (failed(pm.run(*module)))
      return steps.finish(Outcome::Broken, steps.diagnostics.message);
    joined = before - countHalos(*module);
  }
  steps.enter("many-devices");
  auto got = runOnDevices(*module, arguments, garbage, error);
  std::string after = before + "\n" + print(*module);
  if (failed(got))
    return steps.finish(Outcome::Wrong, error + after);
  if (got->size() != expected->size())
    return steps.finish(Outcome::Wrong, "another number of results" + after);
  for (size_t i = 0; i < got->size(); ++i)
    if (auto difference = findDifference((*expected)[i], (*got)[i]))
      return steps.finish(Outcome::Wrong,
                          "result " + Twine(i) + ": " + *difference + after);
  std::string said = joined ? std::to_string(joined) + " exchanges fewer" : "";
  if (!options.fusesTransposes || options.forgetsSizes || !turns.empty())
    return steps.finish(Outcome::Agrees, said);

  // Another order of dimensions in memory changes no bit.
  steps.enter("without-fused-transposes");
  OwningOpRef<ModuleOp> plain = parse(text, context.get());
  PassManager pm(context.get(), ModuleOp::getOperationName());
  if (options.fromLevel2) {
    pm.addPass(createPropagatePass());
    pm.addPass(createInsertReshardsPass());
    buildImproveReshardsPipeline(pm);
  }
  buildSpmdPipeline(pm);
  if (failed(pm.run(*plain)))
    return steps.finish(Outcome::Broken, steps.diagnostics.message);
  auto same = runOnDevices(*plain, arguments, garbage, error);
  if (failed(same))
    return steps.finish(Outcome::Wrong, error + after);
  for (size_t i = 0; i < got->size(); ++i)
    if (auto difference = findBitDifference((*same)[i], (*got)[i]))
      return steps.finish(Outcome::Wrong,
                          "result " + Twine(i) + ": " + *difference + after);
  return steps.finish(Outcome::Agrees, said);
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

namespace {
/// A process that checks cases one after another and tells through a pipe how
/// far it is: messages of a tag, a length and a text.
class Child {
public:
  Child(size_t first, size_t count, function_ref<CheckCase(size_t)> make);
  ~Child();
  /// Reads the next message; false where there is none any more.
  bool next(char &tag, std::string &text);
  /// What ended it.
  bool isHung() const { return hung; }
  void limit(unsigned seconds) { this->seconds = seconds; }
  std::string getLastWords();

private:
  [[noreturn]] void work(size_t first, size_t count,
                         function_ref<CheckCase(size_t)> make);
  void say(char tag, StringRef text);

  int ends[2] = {-1, -1};
  int errors;
  pid_t process;
  unsigned seconds = 20;
  bool hung = false, reaped = false;
  std::string bytes;
};
} // namespace

Child::Child(size_t first, size_t count, function_ref<CheckCase(size_t)> make) {
  if (pipe(ends) != 0)
    llvm::report_fatal_error("no pipe for a process of checks");
  // What it says as it dies, of which the first line is kept.
  errors = memfd_create("stderr", 0);
  process = fork();
  if (process == 0)
    work(first, count, make);
  close(ends[1]);
}

Child::~Child() {
  close(ends[0]);
  if (!reaped) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  close(errors);
}

void Child::say(char tag, StringRef text) {
  std::string out(1, tag);
  uint32_t size = text.size();
  out.append(reinterpret_cast<char *>(&size), 4);
  out += text;
  for (size_t at = 0; at < out.size();) {
    ssize_t written = write(ends[1], out.data() + at, out.size() - at);
    if (written <= 0)
      _exit(3);
    at += written;
  }
}

void Child::work(size_t first, size_t count,
                 function_ref<CheckCase(size_t)> make) {
  close(ends[0]);
  dup2(errors, 2);
  for (size_t i = first; i < count; ++i) {
    say('p', "make");
    CheckCase one = make(i);
    one.options.onPass = [&](StringRef pass) { say('p', pass); };
    Verdict verdict = one.options.run(one.text, one.options);
    say('d', verdict.detail);
    say('o', StringRef(std::string(1, static_cast<char>(verdict.outcome))));
  }
  _exit(0);
}

bool Child::next(char &tag, std::string &text) {
  while (true) {
    uint32_t size = 0;
    if (bytes.size() >= 5) {
      memcpy(&size, bytes.data() + 1, 4);
      if (bytes.size() >= 5 + size_t(size)) {
        tag = bytes[0];
        text = bytes.substr(5, size);
        bytes.erase(0, 5 + size);
        return true;
      }
    }
    pollfd wait{ends[0], POLLIN, 0};
    if (poll(&wait, 1, seconds * 1000) == 0) {
      hung = true;
      return false;
    }
    char buffer[4096];
    ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got <= 0)
      return false;
    bytes.append(buffer, got);
  }
}

std::string Child::getLastWords() {
  if (hung)
    kill(process, SIGKILL);
  int status = 0;
  waitpid(process, &status, 0);
  reaped = true;
  if (!WIFSIGNALED(status))
    return "exit status " + std::to_string(WEXITSTATUS(status));
  char words[400] = {};
  if (pread(errors, words, sizeof words - 1, 0) < 0)
    words[0] = 0;
  return "signal " + std::to_string(WTERMSIG(status)) + " " +
         StringRef(words).split('\n').first.str();
}

void mlir::dist::test::checkAllApart(
    size_t count, unsigned seconds, function_ref<CheckCase(size_t)> make,
    function_ref<void(size_t, const Verdict &)> tell) {
  for (size_t done = 0; done < count;) {
    Child child(done, count, make);
    child.limit(seconds);
    Verdict verdict;
    char tag;
    std::string text;
    while (done < count && child.next(tag, text)) {
      if (tag == 'p') {
        verdict.pass = text;
      } else if (tag == 'd') {
        verdict.detail = text;
      } else {
        verdict.outcome = static_cast<Outcome>(text[0]);
        tell(done++, verdict);
        verdict = Verdict();
      }
    }
    if (done == count)
      return;
    // It died of this case: the next one gets a process of its own.
    verdict.detail = child.getLastWords();
    verdict.outcome = child.isHung() ? Outcome::Hung : Outcome::Crashed;
    tell(done++, verdict);
  }
}

Verdict mlir::dist::test::checkApart(StringRef text,
                                     const CheckOptions &options,
                                     unsigned seconds) {
  Verdict out;
  checkAllApart(
      1, seconds, [&](size_t) { return CheckCase{text.str(), options}; },
      [&](size_t, const Verdict &verdict) { out = verdict; });
  return out;
}
