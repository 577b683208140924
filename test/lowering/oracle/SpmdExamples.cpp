//===- SpmdExamples.cpp - Mutants of the examples' programs ---------------===//

#include "test/lowering/oracle/SpmdExamples.h"
#include "dialects/dist/IR/Dist.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "dist/Safetensors.h"
#include "inputs/InputRanges.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/schedule/files/Schedule.h"
#include "test/generator/Diagnostics.h"
#include "test/lowering/oracle/HostTensors.h"
#include "test/lowering/oracle/JitProgram.h"
#include "test/lowering/oracle/ScheduleMutants.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstring>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;
namespace host = ::dist;

std::vector<Example> mlir::dist::test::findExamples() {
  std::vector<Example> out;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator at("examples", error), end;
       !error && at != end; at.increment(error)) {
    StringRef path = at->path();
    if (path.ends_with(".mlir"))
      out.push_back(
          {llvm::sys::path::filename(llvm::sys::path::parent_path(path)).str(),
           llvm::sys::path::stem(path).str()});
  }
  llvm::sort(out, [](const Example &a, const Example &b) {
    return std::tie(a.model, a.schedule) < std::tie(b.model, b.schedule);
  });
  return out;
}

/// The block of a parameter that an argument is, element by element.
static host::Tensor takePart(const host::Tensor &whole, ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> offsets) {
  host::Tensor part =
      host::Tensor::zeros(whole.dtype, host::Shape(shape.begin(), shape.end()));
  int64_t bytes = host::dtypeBytes(whole.dtype);
  for (int64_t i = 0, count = part.count(); i < count; ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      from += (rest % shape[dim] + offsets[dim]) * stride;
      rest /= shape[dim];
      stride *= whole.shape[dim];
    }
    std::memcpy(static_cast<char *>(part.data) + i * bytes,
                static_cast<const char *>(whole.data) + from * bytes, bytes);
  }
  return part;
}

/// Whole arguments: parameters as they are stored, what indexes at random in
/// its range, other inputs as they were recorded.
static std::vector<Tensor>
makeArguments(func::FuncOp entry, const host::Safetensors &weights,
              const std::string &folder,
              const std::map<std::string, host::IntegerRanges> &ranges,
              ArrayRef<std::pair<std::string, PartAttr>> parts, uint64_t seed) {
  std::vector<Tensor> out;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(entry.getArgument(i).getType());
    Type element = type.getElementType();
    if (auto name = entry.getArgAttrOfType<StringAttr>(i, kParameterAttr)) {
      auto [whole, part] = parts[i];
      const host::Tensor *stored = weights.find(part ? whole : name.str());
      if (!stored)
        throw host::Error("no parameter " + name.str());
      out.push_back(
          fromHost(part ? takePart(*stored, type.getShape(), part.getOffsets())
                        : *stored,
                   element));
      continue;
    }
    std::string name = entry.getArgAttrOfType<StringAttr>(i, kInputAttr).str();
    host::Tensor recorded = host::readNpy(folder + "/" + name + ".npy");
    auto range = ranges.find(name);
    bool isRandom = range != ranges.end() || isa<FloatType>(element);
    out.push_back(fromHost(
        isRandom
            ? host::makeRandom(recorded.dtype, recorded.shape, seed + i,
                               range != ranges.end() ? range->second
                                                     : host::IntegerRanges())
            : recorded,
        element));
  }
  return out;
}

/// Imports the model, places it, and hands on what came of it.
static Verdict withExample(const Example &example,
                           llvm::function_ref<Verdict(SpmdSubject &)> check) {
  Verdict verdict;
  verdict.outcome = Outcome::Invalid;
  auto fail = [&](StringRef pass, const Twine &why) {
    verdict.pass = pass.str();
    verdict.detail = why.str();
    return verdict;
  };
  SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("spmd-example", folder))
    return fail("make", "no folder");
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  std::string source = "examples/" + example.model,
              path = (folder + "/model.mlir").str(),
              onnx = source + "/" + example.model + ".dynamo.onnx";
  if (llvm::sys::ExecuteAndWait("tools/dist-import",
                                {"dist-import", onnx, "-o", path}) != 0)
    return fail("import", onnx);

  MLIRContext *context = getLoweringContext();
  Diagnostics diagnostics(context);
  auto module = parseSourceFile<ModuleOp>(path, ParserConfig(context));
  auto spmd = module ? module->clone() : ModuleOp();
  OwningOpRef<ModuleOp> owned(spmd);
  std::string file = source + "/" + example.schedule + ".mlir";
  if (!module || failed(loadSchedule(spmd, file, "")))
    return fail("parse", diagnostics.message);
  PassManager passes(context);
  DistApplySchedulePassOptions apply;
  apply.report = false;
  passes.addPass(createDistApplySchedulePass(apply));
  buildSpmdPipeline(passes);
  if (failed(passes.run(spmd)))
    return fail("spmd", diagnostics.message);

  // Where a schedule takes parameters apart, what it is compared with has the
  // parts as arguments, too: that these are the model's, other tests show.
  auto placed = cast<func::FuncOp>(getEntryFunction(spmd));
  bool hasParts = false;
  for (unsigned i = 0; i < placed.getNumArguments(); ++i)
    hasParts |= placed.getArgAttr(i, kPartAttr) != nullptr;
  if (hasParts) {
    PassManager split(context);
    split.addPass(createDistApplySchedulePass(apply));
    split.addPass(createEraseAnnotationsPass());
    if (failed(loadSchedule(*module, file, "")) || failed(split.run(*module)))
      return fail("split", diagnostics.message);
  }

  host::Safetensors weights((folder + "/model.safetensors").str());
  auto ranges = findIndexRanges(*module).ranges;
  auto entry = cast<func::FuncOp>(getEntryFunction(*module));
  // Where they run, each part is a parameter of its own.
  std::vector<std::pair<std::string, PartAttr>> parts(entry.getNumArguments());
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto part = entry.getArgAttrOfType<PartAttr>(i, kPartAttr);
    if (!part)
      continue;
    std::string name =
        entry.getArgAttrOfType<StringAttr>(i, kParameterAttr).str();
    parts[i] = {name, part};
    for (func::FuncOp function : {entry, placed}) {
      function.removeArgAttr(i, kPartAttr);
      function.setArgAttr(
          i, kParameterAttr,
          StringAttr::get(context, name + " " + std::to_string(i)));
    }
  }
  SpmdSubject subject;
  subject.reference = *module;
  subject.spmd = spmd;
  subject.makeArguments = [&](uint64_t number) {
    return makeArguments(entry, weights, source + "/inputs1", ranges, parts,
                         number);
  };
  return check(subject);
}

Verdict mlir::dist::test::checkExample(const Example &example, unsigned mutants,
                                       uint64_t seed) {
  return withExample(example, [&](SpmdSubject &subject) {
    subject.seed = seed;
    subject.mutants = mutants;
    subject.inputs = 3;
    return checkSpmdMutants(subject);
  });
}

Verdict mlir::dist::test::checkExampleSchedule(const Example &example,
                                               unsigned most, uint64_t seed) {
  return withExample(example, [&](SpmdSubject &subject) {
    Verdict verdict;
    verdict.outcome = Outcome::Broken;
    verdict.pass = "dist-schedule-overlap";
    Diagnostics diagnostics(subject.spmd.getContext());
    FailureOr<unsigned> started = overlapWhatCan(subject.spmd);
    std::string problem;
    ScheduleCounts counts;
    if (succeeded(started) && *started > 0) {
      verdict.pass = "mutants";
      std::vector<Tensor> arguments = subject.makeArguments(seed);
      counts =
          countScheduleMutants(subject.spmd, seed, most, &arguments, problem);
    }
    bool isMade = succeeded(started) && (*started == 0 || counts.started > 0);
    if (isMade && problem.empty())
      verdict.outcome = Outcome::Agrees;
    verdict.detail = verdict.outcome == Outcome::Agrees
                         ? counts.toText()
                         : diagnostics.message + problem;
    return verdict;
  });
}
