//===- CheckSpmdMutants.cpp - Whether --verify tells damaged programs -----===//

#include "test/lowering/oracle/CheckSpmdMutants.h"
#include "compiler/Driver.h"
#include "dialects/dist/IR/Dist.h"
#include "dist/Slices.h"
#include "lowering/buffers/Passes.h"
#include "lowering/bundle/Bundle.h"
#include "lowering/cpu/CpuTarget.h"
#include "lowering/decompose/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "test/generator/Arguments.h"
#include "test/generator/Choices.h"
#include "test/generator/Diagnostics.h"
#include "test/generator/Interpreter.h"
#include "test/lowering/oracle/HostTensors.h"
#include "test/lowering/oracle/JitProgram.h"
#include "test/lowering/oracle/SpmdMutants.h"
#include "verify/Compare.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;
namespace host = ::dist;

/// Between seeds of inputs: each has another kind of garbage.
static constexpr uint64_t kStep = 1001;

std::string mlir::dist::test::toText(const SpmdCounts &counts) {
  std::string text;
  for (auto &[key, count] : counts)
    text += key.first + " " + std::to_string(static_cast<int>(key.second)) +
            " " + std::to_string(count) + ";";
  return text;
}

void mlir::dist::test::addText(SpmdCounts &counts, StringRef text) {
  SmallVector<StringRef> entries;
  text.split(entries, ';', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [kind, rest] = entry.split(' ');
    auto [fate, number] = rest.split(' ');
    int value;
    unsigned count;
    if (!fate.getAsInteger(10, value) && !number.getAsInteger(10, count))
      counts[{kind.str(), static_cast<SpmdFate>(value)}] += count;
  }
}

namespace {

/// What each device holds of each result.
using Held = std::vector<PerDevice>;

/// The program to compare with, compiled as dist-run does.
class Reference {
public:
  static std::unique_ptr<Reference> make(ModuleOp module);
  host::Expected run(ArrayRef<Tensor> arguments);

private:
  host::Program program;
};

/// A program and its reference, in their own types or in f64.
class Comparison {
public:
  Comparison(ModuleOp spmd, std::unique_ptr<Reference> reference);
  FailureOr<Held> run(ModuleOp spmd, ArrayRef<Tensor> arguments, uint64_t seed);
  /// Whether --verify takes `held` for equal to what is expected.
  bool agrees(const Held &held, const host::Expected &expected);
  /// Whether both have the same bits in all that is no padding.
  bool isSame(const Held &a, const Held &b);
  Reference &getReference() { return *reference; }

private:
  std::vector<host::Tensor> toParts(const PerDevice &devices) {
    std::vector<host::Tensor> parts;
    for (const Tensor &part : devices)
      parts.push_back(toHost(part));
    return parts;
  }

  std::unique_ptr<Reference> reference;
  host::Mesh mesh;
  std::vector<host::TensorDesc> results;
};

} // namespace

std::unique_ptr<Reference> Reference::make(ModuleOp module) {
  // writeBundle asks them.
  static const bool registered = (registerStageOptions(), true);
  (void)registered;
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallString<128> folder;
  static Stages stages("spmd-mutants", /*verbose=*/false);
  if (failed(eraseAnnotations(*copy, stages)) ||
      llvm::sys::fs::createUniqueDirectory("spmd-mutants", folder))
    return nullptr;
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  BundleOptions options;
  options.target = &getCpuTarget();
  options.plain = options.perturb = true;
  options.codegen.optLevel = 0;
  std::string path = (folder + "/program.dist").str();
  if (failed(writeBundle(*copy, path, options)))
    return nullptr;
  auto out = std::make_unique<Reference>();
  out->program = host::loadBundle(path);
  // Data come from the test, whatever they are called.
  for (auto [number, desc] : llvm::enumerate(out->program.manifest.arguments))
    if (desc.kind != host::TensorDesc::Constant) {
      desc.kind = host::TensorDesc::Input;
      desc.name = "argument" + std::to_string(number);
    }
  out->program.manifest.weights.clear();
  return out;
}

host::Expected Reference::run(ArrayRef<Tensor> arguments) {
  host::Inputs inputs;
  for (auto [number, argument] : llvm::enumerate(arguments))
    inputs["argument" + std::to_string(number)] = toHost(argument);
  return host::runExpected(program, &program, inputs, {}, host::kPerturbedRuns);
}

Comparison::Comparison(ModuleOp spmd, std::unique_ptr<Reference> reference)
    : reference(std::move(reference)), mesh(describeMesh(spmd)) {
  auto entry = cast<func::FuncOp>(getEntryFunction(spmd));
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    results.push_back(describeResult(entry, i, mesh));
}

FailureOr<Held> Comparison::run(ModuleOp spmd, ArrayRef<Tensor> arguments,
                                uint64_t seed) {
  auto entry = cast<func::FuncOp>(getEntryFunction(spmd));
  Devices devices = getDevices(spmd);
  Garbage garbage(static_cast<Garbage::Kind>(seed % Garbage::kKinds), seed);
  std::string error;
  auto inputs = cutArguments(entry, devices, arguments, garbage, error);
  if (failed(inputs))
    return failure();
  return Interpreter(spmd, devices, garbage).run(entry, std::move(*inputs));
}

bool Comparison::agrees(const Held &held, const host::Expected &expected) {
  try {
    for (auto [i, desc] : llvm::enumerate(results)) {
      host::Tolerance tolerance;
      tolerance.spread = &expected.spreads[i];
      tolerance.allowNonfinite = true;
      // Where rounding decides too much, f64 is asked, as dist-run advises.
      if (host::compare(mesh, {desc}, toParts(held[i]),
                        expected.results.outputs[i].tensor, tolerance)
              .wrong > 0)
        return false;
    }
    return true;
  } catch (const host::Error &) {
    return false;
  }
}

bool Comparison::isSame(const Held &a, const Held &b) {
  bool same = true;
  for (size_t i = 0; i < results.size(); ++i) {
    const host::TensorDesc &desc = results[i];
    for (int64_t rank = 0, e = a[i].size(); rank < e && same; ++rank)
      host::forEachRun(mesh, desc, rank, [&](int64_t at, int64_t, int64_t n) {
        for (int64_t k = at; k < at + n; ++k) {
          Scalar x = a[i][rank].read()[k], y = b[i][rank].read()[k];
          bool bothNaN = host::isFloat(desc.dtype) && x.f != x.f && y.f != y.f;
          same &= x.i == y.i || bothNaN;
        }
      });
  }
  return same;
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

static LogicalResult toF64(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createDistConvertToF64());
  return passes.run(module);
}

static std::string simplify(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager passes(module.getContext());
  for (int i = 0; i < 2; ++i) {
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    passes.addPass(createSymbolDCEPass());
  }
  if (failed(passes.run(*copy)))
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << *copy;
  return text;
}

namespace {
/// The mutants of one subject.
class Trial {
public:
  explicit Trial(SpmdSubject subject) : subject(std::move(subject)) {}
  Verdict run();

private:
  /// The inputs, and what the original and the reference make of them.
  struct Sample {
    std::vector<Tensor> arguments;
    Held original;
    std::optional<host::Expected> expected;
  };
  Sample &getSample(size_t number);
  const host::Expected &getExpected(size_t number);
  SpmdFate judge(ModuleOp mutant);
  SpmdFate judgeInF64(ModuleOp mutant, size_t number);

  SpmdSubject subject;
  std::unique_ptr<Comparison> comparison, inF64;
  std::vector<std::unique_ptr<Sample>> samples;
  std::string text;
};
} // namespace

Trial::Sample &Trial::getSample(size_t number) {
  while (samples.size() <= number) {
    uint64_t seed = subject.seed + kStep * samples.size();
    auto sample = std::make_unique<Sample>();
    sample->arguments = subject.makeArguments(seed);
    auto held = comparison->run(subject.spmd, sample->arguments, seed);
    if (failed(held))
      throw host::Error("the original does not run");
    sample->original = std::move(*held);
    samples.push_back(std::move(sample));
  }
  return *samples[number];
}

const host::Expected &Trial::getExpected(size_t number) {
  Sample &sample = getSample(number);
  if (!sample.expected)
    sample.expected = comparison->getReference().run(sample.arguments);
  return *sample.expected;
}

/// Of a difference that rounding could make: one of rounding is as small as
/// f64's roundings where all is computed in f64.
SpmdFate Trial::judgeInF64(ModuleOp mutant, size_t number) {
  auto widen = [](const std::vector<Tensor> &arguments) {
    std::vector<Tensor> out;
    for (const Tensor &argument : arguments) {
      if (!argument.isFloat()) {
        out.push_back(argument);
        continue;
      }
      Tensor wide(Float64Type::get(argument.getElementType().getContext()),
                  argument.getShape());
      std::copy_n(argument.read(), argument.getNumElements(), wide.write());
      out.push_back(wide);
    }
    return out;
  };
  if (!inF64) {
    OwningOpRef<ModuleOp> reference = subject.reference.clone(),
                          spmd = subject.spmd.clone();
    if (failed(toF64(*reference)) || failed(toF64(*spmd)))
      return SpmdFate::Missed;
    auto compiled = Reference::make(*reference);
    if (!compiled)
      return SpmdFate::Missed;
    inF64 = std::make_unique<Comparison>(*spmd, std::move(compiled));
  }
  OwningOpRef<ModuleOp> wide = mutant.clone();
  if (failed(toF64(*wide)))
    return SpmdFate::Missed;
  std::vector<Tensor> arguments = widen(getSample(number).arguments);
  auto held = inF64->run(*wide, arguments, subject.seed + kStep * number);
  if (failed(held))
    return SpmdFate::Missed;
  return inF64->agrees(*held, inF64->getReference().run(arguments))
             ? SpmdFate::Rounding
             : SpmdFate::CaughtInF64;
}

SpmdFate Trial::judge(ModuleOp mutant) {
  std::optional<SpmdFate> inF64;
  for (size_t number = 0; number < subject.inputs; ++number) {
    Sample &sample = getSample(number);
    auto held = comparison->run(mutant, sample.arguments,
                                subject.seed + kStep * number);
    if (failed(held))
      return SpmdFate::Fails;
    if (comparison->isSame(*held, sample.original))
      continue;
    if (!comparison->agrees(*held, getExpected(number)))
      return SpmdFate::Caught;
    // Others may tell more.
    if (!inF64)
      inF64 = judgeInF64(mutant, number);
  }
  if (inF64)
    return *inF64;
  // Last, for it takes longest.
  if (text.empty())
    text = simplify(subject.spmd);
  return simplify(mutant) == text ? SpmdFate::SameProgram
                                  : SpmdFate::SameResults;
}

Verdict Trial::run() {
  Verdict verdict;
  verdict.pass = "reference";
  auto finish = [&](Outcome outcome, const Twine &detail) {
    verdict.outcome = outcome;
    verdict.detail = detail.str();
    return verdict;
  };
  Diagnostics diagnostics(subject.reference.getContext());
  auto reference = Reference::make(subject.reference);
  if (!reference)
    return finish(Outcome::Broken,
                  "the reference cannot be compiled: " + diagnostics.message);
  comparison = std::make_unique<Comparison>(subject.spmd, std::move(reference));
  verdict.pass = "original";
  for (size_t number : {0, 1})
    if (!comparison->agrees(getSample(number).original, getExpected(number)))
      return finish(Outcome::Wrong, "the original is taken for wrong");
  // Kinds are as likely as each other.
  std::vector<Mutation> all = findSpmdMutations(subject.spmd);
  llvm::MapVector<StringRef, std::vector<size_t>> kinds;
  for (auto [i, mutation] : llvm::enumerate(all))
    kinds[mutation.kind].push_back(i);
  Choices choices(subject.seed * 0x9e3779b97f4a7c15ull + 1);
  unsigned wanted = subject.mutants ? subject.mutants : all.size();
  SpmdCounts counts;
  std::string missed;
  for (unsigned made = 0; made < wanted && !kinds.empty(); ++made) {
    size_t chosen = made;
    if (subject.mutants) {
      auto *at = std::next(kinds.begin(), choices.below(kinds.size()));
      std::vector<size_t> &list = at->second;
      size_t place = choices.below(list.size());
      chosen = list[place];
      list.erase(list.begin() + place);
      if (list.empty())
        kinds.erase(at);
    }
    OwningOpRef<ModuleOp> mutant = subject.spmd.clone();
    std::vector<Mutation> changes = findSpmdMutations(*mutant);
    verdict.pass = changes[chosen].kind.str();
    changes[chosen].apply();
    Diagnostics quiet(mutant->getContext());
    SpmdFate fate = failed(verify(*mutant)) ? SpmdFate::None : judge(*mutant);
    ++counts[{verdict.pass, fate}];
    if (fate == SpmdFate::Missed) {
      llvm::raw_string_ostream os(missed);
      os << "\nmissed: " << verdict.pass << " " << chosen << "\n" << *mutant;
    }
  }
  return finish(missed.empty() ? Outcome::Agrees : Outcome::Wrong,
                toText(counts) + missed);
}

Verdict mlir::dist::test::checkSpmdMutants(const SpmdSubject &subject) {
  try {
    return Trial(subject).run();
  } catch (const host::Error &error) {
    Verdict verdict;
    verdict.outcome = Outcome::Broken;
    verdict.detail = error.what();
    return verdict;
  }
}

Verdict mlir::dist::test::checkRandomSpmdMutants(StringRef text,
                                                 const CheckOptions &options) {
  Verdict verdict;
  auto finish = [&](Outcome outcome, const Twine &detail) {
    verdict.outcome = outcome;
    verdict.detail = detail.str();
    return verdict;
  };
  MLIRContext *context = getLoweringContext();
  Diagnostics diagnostics(context);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(context), "case.mlir");
  if (!module || !isa_and_present<func::FuncOp>(getEntryFunction(*module)))
    return finish(Outcome::Invalid, "cannot be read");
  OwningOpRef<ModuleOp> spmd = module->clone();
  PassManager pm(context, ModuleOp::getOperationName());
  buildSpmdPipeline(pm);
  if (failed(pm.run(*spmd)))
    return finish(Outcome::Rejected, diagnostics.message);
  auto entry = cast<func::FuncOp>(getEntryFunction(*module));
  SpmdSubject subject;
  subject.reference = *module;
  subject.spmd = *spmd;
  subject.seed = options.seed;
  subject.makeArguments = [&](uint64_t seed) {
    return makeArguments(entry, seed);
  };
  return checkSpmdMutants(subject);
}
