//===- Check.cpp - One module through the pipeline and compared -----------===//

#include "test/generator/Check.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "test/generator/Arguments.h"
#include "test/generator/Interpreter.h"
#include <poll.h>
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
    registerDistPasses();
    registerTransformsPasses();
    return true;
  }();
  (void)once;
  registry.insert<DistDialect, func::FuncDialect, arith::ArithDialect,
                  math::MathDialect, linalg::LinalgDialect,
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

namespace {
/// Tells which pass runs.
struct PassWatcher : PassInstrumentation {
  explicit PassWatcher(std::function<void(StringRef)> onPass)
      : onPass(std::move(onPass)) {}
  void runBeforePass(Pass *pass, Operation *) override {
    if (!pass->getArgument().empty())
      onPass(pass->getArgument());
  }
  std::function<void(StringRef)> onPass;
};

/// Gathers errors; those that have a place count.
struct Diagnostics : ScopedDiagnosticHandler {
  explicit Diagnostics(MLIRContext *context)
      : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
          message.empty()) {
        message = diagnostic.str();
        isLocated = false;
        diagnostic.getLocation()->walk([&](Location part) {
          isLocated |= isa<FileLineColLoc>(part);
          return WalkResult::advance();
        });
      }
      return success();
    });
  }
  std::string message;
  bool isLocated = false;
};
} // namespace

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
                                    function_ref<void(PassManager &)> prepare) {
  OpPassManager all(ModuleOp::getOperationName());
  buildSpmdPipeline(all);
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

Verdict mlir::dist::test::check(StringRef text, const CheckOptions &options) {
  Verdict verdict;
  auto enter = [&](StringRef pass) {
    verdict.pass = pass.str();
    if (options.onPass)
      options.onPass(pass);
  };
  auto finish = [&](Outcome outcome, const Twine &detail) {
    verdict.outcome = outcome;
    verdict.detail = detail.str();
    return verdict;
  };
  enter("parse");
  std::unique_ptr<MLIRContext> context = makeContext();
  Diagnostics diagnostics(context.get());
  OwningOpRef<ModuleOp> module = parse(text, context.get());
  if (!module)
    return finish(Outcome::Invalid, diagnostics.message);
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(*module));
  if (!entry)
    return finish(Outcome::Invalid, "has no entry function");

  enter("one-device");
  std::vector<Tensor> arguments = makeArguments(entry, options.seed);
  Garbage garbage(static_cast<Garbage::Kind>(options.seed % 3), options.seed);
  std::string error;
  auto expected = runWhole(*module, arguments, garbage, error);
  if (failed(expected))
    return finish(Outcome::Invalid, error);

  auto prepare = [&](PassManager &pm) {
    pm.enableVerifier();
    pm.addInstrumentation(std::make_unique<PassWatcher>(enter));
  };
  LogicalResult done = success();
  if (options.throughText) {
    done = runThroughText(module, prepare);
  } else {
    PassManager pm(context.get(), ModuleOp::getOperationName());
    prepare(pm);
    buildSpmdPipeline(pm);
    done = pm.run(*module);
  }
  if (failed(done)) {
    // The verifier's word on what a pass made is not a rejection.
    bool isRejected =
        diagnostics.isLocated && module && succeeded(verify(*module));
    return finish(isRejected ? Outcome::Rejected : Outcome::Broken,
                  diagnostics.message);
  }
  enter("many-devices");
  auto got = runOnDevices(*module, arguments, garbage, error);
  std::string after = "\n" + print(*module);
  if (failed(got))
    return finish(Outcome::Wrong, error + after);
  if (got->size() != expected->size())
    return finish(Outcome::Wrong, "another number of results" + after);
  for (size_t i = 0; i < got->size(); ++i)
    if (auto difference = findDifference((*expected)[i], (*got)[i]))
      return finish(Outcome::Wrong,
                    "result " + Twine(i) + ": " + *difference + after);
  return finish(Outcome::Agrees, "");
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

Verdict mlir::dist::test::checkApart(StringRef text,
                                     const CheckOptions &options,
                                     unsigned seconds) {
  int ends[2];
  if (pipe(ends) != 0)
    return {};
  // What it says as it dies, of which the first line is kept.
  int errors = memfd_create("stderr", 0);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(errors, 2);
    auto say = [&](char tag, StringRef what) {
      // Tag, length, text.
      std::string out(1, tag);
      uint32_t size = what.size();
      out.append(reinterpret_cast<char *>(&size), 4);
      out += what;
      for (size_t at = 0; at < out.size();) {
        ssize_t written = write(ends[1], out.data() + at, out.size() - at);
        if (written <= 0)
          _exit(3);
        at += written;
      }
    };
    CheckOptions inner = options;
    inner.onPass = [&](StringRef pass) { say('p', pass); };
    Verdict verdict = check(text, inner);
    say('d', verdict.detail);
    say('o', StringRef(std::string(1, static_cast<char>(verdict.outcome))));
    _exit(0);
  }
  close(ends[1]);
  std::string bytes;
  bool isHung = false;
  while (true) {
    pollfd wait{ends[0], POLLIN, 0};
    if (poll(&wait, 1, seconds * 1000) == 0) {
      isHung = true;
      break;
    }
    char buffer[4096];
    ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got <= 0)
      break;
    bytes.append(buffer, got);
  }
  close(ends[0]);
  if (isHung)
    kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  Verdict verdict;
  verdict.outcome = isHung ? Outcome::Hung : Outcome::Crashed;
  if (WIFSIGNALED(status)) {
    char words[400] = {};
    if (pread(errors, words, sizeof words - 1, 0) < 0)
      words[0] = 0;
    verdict.detail = "signal " + std::to_string(WTERMSIG(status)) + " " +
                     StringRef(words).split('\n').first.str();
  }
  close(errors);
  for (size_t at = 0; at + 5 <= bytes.size();) {
    uint32_t size;
    memcpy(&size, bytes.data() + at + 1, 4);
    if (at + 5 + size > bytes.size())
      break;
    std::string what = bytes.substr(at + 5, size);
    if (bytes[at] == 'p')
      verdict.pass = what;
    else if (bytes[at] == 'd')
      verdict.detail = what;
    else if (bytes[at] == 'o')
      verdict.outcome = static_cast<Outcome>(what[0]);
    at += 5 + size;
  }
  return verdict;
}
