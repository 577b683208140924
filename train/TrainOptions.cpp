//===- TrainOptions.cpp - Options of dist-run --train ---------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/Program.h"
#include "passes/Passes.h"
#include "passes/train/Optimizer.h"
#include "train/Train.h"
#include <memory>

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;
namespace host = ::dist;

TrainOptions::TrainOptions(cl::OptionCategory &category)
    : train("train",
            cl::desc("Make a step of training of the model, and do many"),
            cl::cat(category)),
      steps("steps", cl::desc("With --train: at which step it ends"),
            cl::init(0), cl::cat(category)),
      data("data",
           cl::desc("With --train: tokens that the model learns to continue, "
                    "or rows of an input, as often as there are such inputs"),
           cl::value_desc("[NAME=]FILE.npy"), cl::cat(category)),
      optimizer("optimizer",
                cl::desc("With --train: sgd, adam or adamw, with its numbers "
                         "(dist-opt --help says which)"),
                cl::value_desc("adamw,lr=3e-4,..."), cl::init("adamw"),
                cl::cat(category)),
      loss("loss", cl::desc("With --train: cross_entropy, mse or result"),
           cl::init("cross_entropy"), cl::cat(category)),
      of("loss-of",
         cl::desc("With --train: the result that the loss is of, where there "
                  "are several"),
         cl::value_desc("NAME"), cl::cat(category)),
      target("target",
             cl::desc("With --train: name of the input with what the result "
                      "should be"),
             cl::value_desc("NAME"), cl::init("labels"), cl::cat(category)),
      parameters("train-parameters",
                 cl::desc("With --train: parameters that are trained; without "
                          "it all of floats"),
                 cl::value_desc("GLOB,..."), cl::cat(category)),
      save("save", cl::desc("With --train: folder for checkpoints"),
           cl::value_desc("FOLDER"), cl::cat(category)),
      resume("resume",
             cl::desc("With --train: go on from a checkpoint, or the last of "
                      "a folder"),
             cl::value_desc("FOLDER"), cl::cat(category)),
      curve("curve",
            cl::desc("With --train: the loss of each step, and a picture of "
                     "it beside"),
            cl::value_desc("FILE.csv"), cl::cat(category)),
      accumulate("accumulate",
                 cl::desc("With --train: how many batches a step takes, one "
                          "after the other"),
                 cl::init(1), cl::cat(category)),
      saveEvery("save-every",
                cl::desc("With --save: how many steps are between two "
                         "(0: only the end is saved)"),
                cl::init(0), cl::cat(category)),
      shardSize("save-shard",
                cl::desc("With --save: megabytes that a file holds at most"),
                cl::init(5000), cl::cat(category)),
      seed("seed",
           cl::desc("With --train: what the order of samples and random "
                    "numbers (dropout) depend on"),
           cl::init(0), cl::cat(category)),
      inOrder("in-order",
              cl::desc("With --train: samples as they come, not shuffled"),
              cl::cat(category)) {}

void TrainOptions::check(ArrayRef<const cl::Option *> others) const {
  const cl::Option *all[] = {&steps,     std::addressof(data),
                             &optimizer, &loss,
                             &of,        &target,
                             &save,      &resume,
                             &curve,     &saveEvery,
                             &shardSize, &seed,
                             &inOrder,   std::addressof(parameters),
                             &accumulate};
  if (!train) {
    for (const cl::Option *option : all)
      if (option->getNumOccurrences() > 0)
        throw host::Error("--" + option->ArgStr.str() +
                          ": nothing is trained without --train" +
                          (option == &target ? " (to run on GPUs give "
                                               "--backend cuda)"
                                             : ""));
    return;
  }
  for (const cl::Option *option : others)
    if (option->getNumOccurrences() > 0)
      throw host::Error("--" + option->ArgStr.str() +
                        ": does not go with --train, which does many steps");
  if (steps < 1)
    throw host::Error(
        "--train: --steps N says at which step it ends, and is at least 1");
  std::string problem;
  if (!Optimizer::parse(getOptimizer(), problem))
    throw host::Error("--optimizer " + optimizer + ": " + problem);
  if (accumulate < 1)
    throw host::Error("--accumulate: a step takes one batch at least");
  // In bytes it is less than 2^63.
  constexpr int64_t kMostMegabytes = int64_t(1) << 40;
  if (saveEvery < 0 || shardSize < 1 || shardSize > kMostMegabytes)
    throw host::Error("--save-every is not negative, and --save-shard is from "
                      "1 to 2^40");
  if (save.empty() &&
      (saveEvery.getNumOccurrences() > 0 || shardSize.getNumOccurrences() > 0))
    throw host::Error("--save-every and --save-shard: nothing is saved "
                      "without --save FOLDER");
}

void TrainOptions::checkMade(llvm::StringRef input) {
  const cl::Option *all[] = {
      &optimizer, &loss, &of, &target, &accumulate, std::addressof(parameters)};
  for (const cl::Option *option : all)
    if (option->getNumOccurrences() > 0)
      throw host::Error("--" + option->ArgStr.str() + ": " + input.str() +
                        " is the program of one device: if it is a step, it "
                        "was made with options of its own (dist-opt "
                        "--dist-train-step)");
  isMade = true;
}

bool TrainOptions::isSaved(int64_t step) const {
  return step >= steps || (saveEvery > 0 && step % saveEvery == 0);
}

StepArguments mlir::dist::findStepArguments(ModuleOp module) {
  StepArguments found;
  FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
  if (failed(entry))
    return found;
  for (unsigned i = 0, end = entry->getNumArguments(); i < end; ++i) {
    if (auto kept = entry->getArgAttrOfType<StringAttr>(i, kParameterAttr)) {
      if (entry->getArgAttr(i, kStateAttr)) {
        found.states.insert(kept.str());
      } else if (!entry->getArgAttr(i, kBufferAttr)) {
        found.parameters.insert(kept.str());
        if (entry->getArgAttr(i, kUpdatedAttr))
          found.trained.insert(kept.str());
      }
    }
    auto random = entry->getArgAttrOfType<StringAttr>(i, kRandomAttr);
    if (random && random.getValue() == kRandomSeed)
      found.seed = entry->getArgAttrOfType<StringAttr>(i, kInputAttr).str();
    auto name = entry->getArgAttrOfType<StringAttr>(i, kInputAttr);
    if (auto classes = entry->getArgAttrOfType<IntegerAttr>(i, kClassesAttr);
        name && classes)
      found.classes[name.str()] = classes.getInt();
    if (auto range = entry->getArgAttrOfType<DenseI64ArrayAttr>(i, kRangeAttr);
        name && range)
      found.ranges[name.str()] = {range[0], range[1]};
  }
  return found;
}

/// Patterns with commas between them; a comma in braces is one of a pattern.
static std::vector<std::string> splitPatterns(llvm::StringRef text) {
  std::vector<std::string> patterns(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth <= 0)
      patterns.emplace_back();
    else
      patterns.back() += c;
  }
  return patterns;
}

/// A schedule of rates ends where the run does, unless it says so itself.
std::string TrainOptions::getOptimizer() const {
  if (isMade)
    return "of the program";
  llvm::StringRef text = optimizer;
  bool falls =
      text.contains(",schedule=linear") || text.contains(",schedule=cosine");
  return falls && !text.contains(",steps=")
             ? optimizer + ",steps=" + std::to_string(steps)
             : optimizer.getValue();
}

void TrainOptions::addPasses(OpPassManager &passes) const {
  DistTrainStepPassOptions step;
  step.of = of;
  step.loss = loss;
  step.target = target;
  step.optimizer = getOptimizer();
  step.accumulate = accumulate;
  for (const std::string &patterns : parameters)
    llvm::append_range(step.parameters, splitPatterns(patterns));
  passes.addPass(createDistTrainStepPass(step));
}
