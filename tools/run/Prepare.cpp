//===- Prepare.cpp - What is run, and on what -----------------------------===//

#include "tools/run/Prepare.h"
#include "dialects/dist/Utils/Program.h"
#include "dist/OptionValues.h"
#include "passes/report/Predict.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

/// Read once, for the program and what it is compared with, whose inputs have
/// the same names.
static const std::map<std::string, host::Shape> &
getInputShapes(ModuleOp module, const RunToolOptions &options) {
  static const auto shapes =
      host::readInputShapes(options.getInputs(), getArgumentNames(module));
  return shapes;
}

std::vector<SizeBinding> mlir::dist::findSizes(ModuleOp module,
                                               const RunToolOptions &options) {
  FailureOr<std::vector<SizeBinding>> sizes =
      parseBindings(options.common.bind);
  if (failed(sizes))
    throw Diagnosed();
  if (hasUnknownSizes(module))
    for (const auto &[name, shape] : getInputShapes(module, options))
      addSizes(module, name, shape, *sizes);
  return *sizes;
}

/// The ranges of inputs, with all sizes that are known.
static IndexRanges findRanges(ModuleOp module, ArrayRef<SizeBinding> sizes) {
  if (!hasUnknownSizes(module))
    return findIndexRanges(module);
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(bindSizes(*copy, sizes)))
    throw Diagnosed();
  return findIndexRanges(*copy);
}

/// Whether the schedule speaks of the target, which is no part of the model. A
/// pipe has been read already.
static bool isTargetPlaced(const RunToolOptions &options) {
  if (!llvm::sys::fs::is_regular_file(options.common.schedule))
    return false;
  auto text = llvm::MemoryBuffer::getFile(options.common.schedule);
  return text &&
         (*text)->getBuffer().contains("\"" + options.training.target + "\"");
}

/// Ends the program after diagnostics have reported the problem. Options and
/// files need no further message.
[[noreturn]] static void failToDistribute(const RunToolOptions &options,
                                          const Stages &stages) {
  if (options.training.train && isTargetPlaced(options))
    throw host::Error(options.input +
                      " could not be made a step of training (a "
                      "schedule speaks of the model alone; what the "
                      "step adds, such as labels, it places itself)");
  if (stages.getFailed() == "placement")
    throw host::Error(options.input + " could not be partitioned");
  throw Diagnosed();
}

OwningOpRef<ModuleOp>
mlir::dist::loadDistributed(RunCompiler &compiler, RunToolOptions &options,
                            RandomValues &values,
                            std::optional<Simulation> &predicted) {
  const CompileOptions &common = options.common;
  TrainOptions &training = options.training;
  OwningOpRef<ModuleOp> module = compiler.load(options.input);
  if (!module)
    throw Diagnosed();
  if (training.train && getLevel(*module) == 3)
    training.checkMade(options.input);
  std::vector<SizeBinding> sizes = findSizes(*module, options);
  DistDistributeOptions asked = common.getDistributeOptions(sizes);
  asked.link = options.link;
  asked.f64 = compiler.precision == Precision::F64;
  // What is compared in f64 is another program than the one that was asked for.
  bool isAsked = options.isInF64() || compiler.precision == Precision::Own;
  // What a second compilation would repeat.
  asked.places &= isAsked;
  if (training.train)
    training.addPasses(asked.then.emplace_back(ModuleOp::getOperationName()));
  else
    values.take(findRanges(*module, sizes));
  if (failed(distribute(*module, asked, compiler.stages)))
    failToDistribute(options, compiler.stages);
  if (!common.dumpSpmd.empty() && isAsked &&
      failed(writeModule(*module, common.dumpSpmd,
                         relocateWeights(*module, options.input, common.weights,
                                         folderOf(common.dumpSpmd)))))
    throw Diagnosed();
  compiler.noteStreams(*module);
  if (!common.machine.empty())
    predicted =
        predict(*module, common.machine, options.link, !options.trace.empty());
  return module;
}

/// The values of the program's inputs, those that are random in the ranges that
/// the program to compare with says.
static host::Inputs readValues(RunCompiler &compiler,
                               const RunToolOptions &options,
                               const host::Manifest &manifest,
                               RandomValues values, bool isQuiet) {
  std::vector<std::string> given = options.getInputs();
  auto describe = [&] {
    return host::describeRandom(given, manifest, values.random);
  };
  std::map<std::string, std::string> texts = describe();
  if (!options.reference.empty() && !texts.empty()) {
    if (OwningOpRef<ModuleOp> module = compiler.load(options.reference))
      values.take(findRanges(*module, findSizes(*module, options)));
    texts = describe();
  }
  if (!options.json && !isQuiet)
    for (const auto &[name, text] : texts)
      llvm::outs() << name << ": " << text
                   << (values.contradictory.count(name)
                           ? ", as none is in range of all that it indexes"
                           : "")
                   << "\n";
  return host::readInputs(given, manifest, values.random,
                          host::inputFilesOf(options.getRunOptions()));
}

Prepared mlir::dist::prepareProgram(RunCompiler &compiler,
                                    RunToolOptions &options,
                                    RandomValues &random,
                                    std::optional<Simulation> &predicted,
                                    bool isQuiet) {
  Prepared prepared;
  OwningOpRef<ModuleOp> module;
  if (options.isBundle()) {
    options.checkBundle();
    prepared.program = host::loadBundle(options.input);
    compiler.noteStreams(prepared.program.manifest);
  } else {
    module = loadDistributed(compiler, options, random, predicted);
    prepared.program = compiler.describe(*module, options.input);
  }
  const host::Manifest &manifest = prepared.program.manifest;
  prepared.values = readValues(compiler, options, manifest, random, isQuiet);
  if (!isQuiet)
    prepared.recorded = readRecorded(options.expect, manifest);
  (void)host::Arguments(prepared.program, prepared.values,
                        options.common.weights);
  compiler.notes.ranges = random.random.ranges;
  if (module)
    prepared.program = compiler.compile(*module, options.input);
  return prepared;
}
