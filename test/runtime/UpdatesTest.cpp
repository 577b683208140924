//===- UpdatesTest.cpp - Arguments that a program gives new values --------===//
//
// On two ranks, of which each has all of w and writes to it: the file that w
// comes from, and the other rank's w, stay as they are.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "test/runtime/Bundles.h"

using namespace dist;
using namespace dist::test;

namespace {

/// loss = sum of w; w, in place, = w + x.
void addInput(dist_rank *, void *const *args, void *const *results, void *,
              int64_t *) {
  EXPECT_EQ(args[0], results[1]);
  EXPECT_NE(args[1], results[1]);
  auto w = static_cast<float *>(args[0]);
  auto x = static_cast<const float *>(args[1]);
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    sum += w[i];
    w[i] += x[i];
  }
  *static_cast<float *>(results[0]) = sum;
}

TensorDesc describe(const char *name, TensorDesc::Kind kind, Shape shape) {
  TensorDesc desc;
  desc.name = name;
  desc.kind = kind;
  desc.globalShape = desc.localShape = shape;
  for (int64_t size : shape)
    desc.dims.push_back({{size, {}}});
  return desc;
}

Tensor makeTensor(float value) {
  Tensor tensor = Tensor::zeros(DIST_F32, {4});
  std::fill_n(static_cast<float *>(tensor.data), 4, value);
  return tensor;
}

/// Two arguments have the weight's data, of which one is updated.
Program makeProgram() {
  Program program;
  Manifest &manifest = program.manifest;
  manifest.mesh.axes = {{"dp", 2}};
  manifest.arguments = {describe("w", TensorDesc::Parameter, {4}),
                        describe("x", TensorDesc::Input, {4}),
                        describe("w", TensorDesc::Parameter, {4})};
  manifest.results = {describe("loss", TensorDesc::Output, {}),
                      describe("w", TensorDesc::Output, {4})};
  manifest.results[1].updates = 0;
  program.entry = addInput;
  return program;
}

std::string writeWeight(const std::string &name) {
  std::string path = testing::TempDir() + "/" + name;
  writeSafetensors(path, {{"w", makeTensor(1)}});
  return path;
}

using Updates = OnEachBackend;
DIST_ON_EACH_BACKEND(Updates);

TEST_P(Updates, LieInMemoryOfTheRank) {
  Program program = makeProgram();
  RunOptions options = onBackend();
  options.weights = writeWeight(nameOf("updates.safetensors"));
  options.keepsParts = [](const std::string &) { return true; };
  // Each repetition is on the same arguments.
  options.repeat = 3;
  std::string before = readFile(options.weights);
  for (int i = 0; i < 2; ++i) {
    RunResult result = launch(program, {{"x", makeTensor(2)}}, options);
    EXPECT_EQ(valuesOf(result.outputs[0].tensor), std::vector<float>{4});
    EXPECT_EQ(valuesOf(result.outputs[1].tensor), std::vector<float>(4, 3));
    ASSERT_EQ(result.outputs[1].parts.size(), 2u);
    for (const Tensor &part : result.outputs[1].parts)
      EXPECT_EQ(valuesOf(part), std::vector<float>(4, 3));
  }
  EXPECT_EQ(readFile(options.weights), before);
}

// Parameters may come from the caller's memory, too.
TEST_P(Updates, LeaveGivenTensorsAlone) {
  Program program = makeProgram();
  Inputs inputs{{"w", makeTensor(5)}, {"x", makeTensor(2)}};
  RunResult result = launch(program, inputs, onBackend());
  EXPECT_EQ(valuesOf(result.outputs[1].tensor), std::vector<float>(4, 7));
  EXPECT_EQ(valuesOf(inputs.at("w")), std::vector<float>(4, 5));
}

/// Three steps; x is the number of the step.
struct ThreeSteps final : StepControl {
  bool next(const Holdings &held, Inputs &inputs) override {
    Tensor first = Tensor::zeros(DIST_F32, {4}),
           tied = Tensor::zeros(DIST_F32, {4});
    held.copyArgument(0, first);
    held.copyArgument(2, tied);
    weights.push_back(valuesOf(first)[3]);
    EXPECT_EQ(valuesOf(tied), std::vector<float>(4, 1));
    if (weights.size() > 1) {
      EXPECT_EQ(valuesOf(held.getResult(1)), valuesOf(first));
      losses.push_back(valuesOf(held.getResult(0))[0]);
    }
    inputs["x"] = makeTensor(weights.size());
    return weights.size() <= 3;
  }
  std::vector<float> weights, losses;
};

TEST_P(Updates, AreTheArgumentsOfTheNextStep) {
  Program program = makeProgram();
  ThreeSteps steps;
  RunOptions options = onBackend();
  options.weights = writeWeight(nameOf("steps.safetensors"));
  options.stepControl = &steps;
  launch(program, {{"x", makeTensor(0)}}, options);
  EXPECT_EQ(steps.weights, (std::vector<float>{1, 2, 4, 7}));
  EXPECT_EQ(steps.losses, (std::vector<float>{4, 8, 16}));
}

TEST(Manifests, HaveUpdates) {
  auto problemOf = [](auto change) {
    Program program = makeProgram();
    change(program.manifest);
    return errorOf(
        [&] { Manifest::parse(program.manifest.toJson(), "updates.json"); });
  };
  Manifest made = makeProgram().manifest;
  Manifest read = Manifest::parse(made.toJson(), "updates.json");
  EXPECT_FALSE(read.results[0].updates);
  EXPECT_EQ(read.results[1].updates, 0);
  EXPECT_TRUE(contains(problemOf([](Manifest &manifest) {
                         manifest.results.push_back(manifest.results[1]);
                         manifest.results[2].name = "v";
                       }),
                       "'w' and 'v' update the same argument"));
  EXPECT_TRUE(contains(
      problemOf([](Manifest &manifest) { manifest.results[1].updates = 3; }),
      "'w': there is no argument 3 that it could update"));
  EXPECT_TRUE(contains(
      problemOf([](Manifest &manifest) { manifest.results[0].updates = 0; }),
      "'loss' comes out of a step in another type or placement"));
  EXPECT_TRUE(contains(problemOf([](Manifest &manifest) {
                         manifest.arguments[0].kind = TensorDesc::Constant;
                         manifest.constants = "constants.safetensors";
                         manifest.constantsChecksum = Checksum();
                       }),
                       "is a constant, or loaded beside others"));
  EXPECT_TRUE(contains(
      problemOf([](Manifest &manifest) { manifest.arguments[1].updates = 0; }),
      "'x': is an argument, which updates none"));
}

} // namespace
