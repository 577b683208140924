//===- ExecutorTest.cpp - Bundles, from the library and by dist-exec ------===//
//
// The bundle is test/runtime/two_layers.c with a manifest made here.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace dist;
namespace fs = std::filesystem;

namespace {

constexpr int64_t rows = 5, width = 6, hidden = 8;

Manifest makeManifest() {
  Manifest manifest;
  manifest.mesh.axes = {{"dp", 2}, {"tp", 2}};
  std::vector<AxisRef> dp{manifest.mesh.whole(0)}, tp{manifest.mesh.whole(1)};
  manifest.communicators = {tp};
  auto add = [&](std::vector<TensorDesc> &list, const char *name,
                 TensorDesc::Kind kind, std::vector<std::vector<SubDim>> dims) {
    TensorDesc desc;
    desc.name = name;
    desc.kind = kind;
    desc.dims = std::move(dims);
    for (const auto &dim : desc.dims)
      desc.globalShape.push_back(dim[0].size);
    desc.localShape = localShapeOf(desc);
    list.push_back(desc);
  };
  add(manifest.arguments, "w1", TensorDesc::Parameter,
      {{{width, {}}}, {{hidden, tp}}});
  add(manifest.arguments, "w2", TensorDesc::Parameter,
      {{{hidden, tp}}, {{width, {}}}});
  add(manifest.arguments, "x", TensorDesc::Input,
      {{{rows, dp}}, {{width, {}}}});
  add(manifest.results, "y", TensorDesc::Output, {{{rows, dp}}, {{width, {}}}});
  manifest.arenaBytes = 4096;
  manifest.weights = "weights.safetensors";
  CollectiveDesc reduce;
  reduce.op = "all_reduce";
  reduce.scope = "mlp.proj";
  manifest.collectives.push_back(reduce);
  manifest.checks.push_back({"x begins with a number of no beast", true});
  return manifest;
}

/// A bundle in a folder of its own.
std::string makeBundle(const std::string &name, const Manifest &manifest) {
  fs::path folder = fs::path(testing::TempDir()) / name;
  fs::create_directories(folder);
  fs::copy_file("test/runtime/two_layers.so", folder / "program.so",
                fs::copy_options::overwrite_existing);
  std::ofstream(folder / "manifest.json") << manifest.toJson();
  std::vector<float> w1(width * hidden), w2(hidden * width);
  for (size_t i = 0; i < w1.size(); ++i) {
    w1[i] = int(i % 7) - 3;
    w2[i] = int(i % 5) - 2;
  }
  std::string header =
      R"({"w1":{"dtype":"F32","shape":[6,8],"data_offsets":[0,192]},)"
      R"("w2":{"dtype":"F32","shape":[8,6],"data_offsets":[192,384]}})";
  uint64_t bytes = header.size();
  std::ofstream file(folder / "weights.safetensors", std::ios::binary);
  file.write(reinterpret_cast<char *>(&bytes), 8);
  file << header;
  file.write(reinterpret_cast<char *>(w1.data()), 192);
  file.write(reinterpret_cast<char *>(w2.data()), 192);
  return folder.string();
}

Tensor makeInput(float first = 1) {
  Tensor x = Tensor::zeros(DIST_F32, {rows, width});
  float *data = static_cast<float *>(x.data);
  for (int64_t i = 0; i < rows * width; ++i)
    data[i] = int(i * i % 11) - 5;
  data[0] = first;
  return x;
}

std::vector<float> expectedOutput(const Tensor &input) {
  const float *x = static_cast<const float *>(input.data);
  std::vector<float> y(rows * width);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < hidden; ++j) {
      float h = 0;
      for (int64_t k = 0; k < width; ++k)
        h += x[i * width + k] * (int((k * hidden + j) % 7) - 3);
      for (int64_t k = 0; k < width; ++k)
        y[i * width + k] += std::max(h, 0.0f) * (int((j * width + k) % 5) - 2);
    }
  return y;
}

std::vector<float> valuesOf(const Tensor &tensor) {
  const float *data = static_cast<const float *>(tensor.data);
  return {data, data + tensor.count()};
}

template <class Call> std::string errorOf(Call call) {
  try {
    call();
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

testing::AssertionResult contains(const std::string &text, const char *part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

TEST(Executor, RunsABundle) {
  Program program = loadBundle(makeBundle("run.dist", makeManifest()));
  RunOptions options;
  options.repeat = 3;
  options.trace = testing::TempDir() + "/trace.json";
  RunResult result = launch(program, {{"x", makeInput()}}, options);
  EXPECT_EQ(result.seconds.size(), 3u);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].name, "y");
  EXPECT_EQ(result.outputs[0].tensor.shape, (Shape{rows, width}));
  EXPECT_EQ(valuesOf(result.outputs[0].tensor), expectedOutput(makeInput()));

  // Two contractions and a collective on each of four ranks.
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(options.trace));
  int contractions = 0, reductions = 0;
  for (const nlohmann::json &event : trace.at("traceEvents")) {
    contractions += event.at("name") == "contract";
    reductions += event.at("name") == "all_reduce" && event.at("tid") == 1 &&
                  event.at("args").at("scope") == "mlp.proj";
  }
  EXPECT_EQ(contractions, 8);
  EXPECT_EQ(reductions, 4);
}

// Also the parts that no whole result is made of.
TEST(Executor, HandsOverWhatEachRankHolds) {
  Program program = loadBundle(makeBundle("parts.dist", makeManifest()));
  RunOptions options;
  EXPECT_TRUE(
      launch(program, {{"x", makeInput()}}, options).outputs[0].parts.empty());
  options.keepParts = true;
  RunResult result = launch(program, {{"x", makeInput()}}, options);
  ASSERT_EQ(result.outputs[0].parts.size(), 4u);
  std::vector<float> whole = expectedOutput(makeInput());
  for (int64_t rank = 0; rank < 4; ++rank) {
    const Tensor &part = result.outputs[0].parts[rank];
    EXPECT_EQ(part.shape, (Shape{3, width}));
    std::vector<float> values = valuesOf(part);
    int64_t first = rank / 2 * 3, valid = rank / 2 ? 2 : 3;
    for (int64_t i = 0; i < valid * width; ++i)
      EXPECT_EQ(values[i], whole[first * width + i]) << rank << " " << i;
  }
}

TEST(Executor, ConstantsComeWithTheBundle) {
  Manifest manifest = makeManifest();
  manifest.arguments[1].kind = TensorDesc::Constant;
  manifest.constants = "constants.safetensors";
  std::string folder = makeBundle("constants.dist", manifest);
  std::string missing = errorOf([&] { loadBundle(folder); });
  EXPECT_TRUE(contains(missing, "constants.safetensors: cannot open"));
  fs::copy_file(fs::path(folder) / "weights.safetensors",
                fs::path(folder) / "constants.safetensors");
  Program program = loadBundle(folder);
  // They were mapped: dist-run removes its bundles once they are loaded.
  fs::remove(fs::path(folder) / "constants.safetensors");
  RunResult result = launch(program, {{"x", makeInput()}});
  EXPECT_EQ(valuesOf(result.outputs[0].tensor), expectedOutput(makeInput()));

  program.manifest.arguments[1].name = "w3";
  EXPECT_TRUE(
      contains(errorOf([&] {
                 launch(program, {{"x", makeInput()}});
               }),
               "constants.safetensors: the bundle lacks its constant 'w3'; "
               "compile it again"));
}

TEST(Executor, NamesWhatIsMissing) {
  Manifest manifest = makeManifest();
  Program program = loadBundle(makeBundle("missing.dist", manifest));
  EXPECT_TRUE(contains(errorOf([&] { launch(program, {}); }),
                       "inputs not given (--input NAME=FILE.npy):\n  x "
                       "f32[5, 6]"));
  EXPECT_TRUE(
      contains(errorOf([&] {
                 launch(program, {{"x", makeInput()}, {"mask", makeInput()}});
               }),
               "the program has no input 'mask'; its inputs are: x"));
  EXPECT_TRUE(
      contains(errorOf([&] {
                 launch(program, {{"x", Tensor::zeros(DIST_F32, {4, 6})}});
               }),
               "input 'x' has shape [4, 6], but the program wants "
               "[5, 6]"));
  EXPECT_TRUE(contains(
      errorOf([&] {
        launch(program, {{"x", Tensor::zeros(DIST_F64, {5, 6})}});
      }),
      "input 'x' is f64, which does not convert to the program's f32"));
  RunOptions options;
  options.weights = "nowhere.safetensors";
  EXPECT_TRUE(contains(errorOf([&] {
                         launch(program, {{"x", makeInput()}}, options);
                       }),
                       "nowhere.safetensors: cannot open"));
  manifest.weights = "";
  program.manifest = manifest;
  EXPECT_TRUE(contains(
      errorOf([&] {
        launch(program, {{"x", makeInput()}});
      }),
      "no weights file (--weights FILE.safetensors) for the parameters:\n  w1 "
      "f32[6, 8]\n  w2 f32[8, 6]"));
}

TEST(Launcher, NamesTheBackendsThereAre) {
  Program program = loadBundle(makeBundle("backend.dist", makeManifest()));
  RunOptions options;
  options.backend = "mpi";
  EXPECT_EQ(errorOf([&] {
              launch(program, {{"x", makeInput()}}, options);
            }),
            "--backend mpi: not in this build; known is threads");
}

TEST(Executor, FailureOfARankIsTheError) {
  Program program = loadBundle(makeBundle("fail.dist", makeManifest()));
  EXPECT_TRUE(contains(errorOf([&] {
                         launch(program, {{"x", makeInput(666)}});
                       }),
                       "x begins with a number of no beast, not 666"));
}

TEST(Bundle, MalformedOnesGiveErrors) {
  EXPECT_TRUE(contains(errorOf([] { loadBundle("no.dist"); }),
                       "no.dist/manifest.json: cannot read"));
  auto parse = [](const char *from, const char *to) {
    std::string text = makeManifest().toJson();
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
    text.replace(at, std::string(from).size(), to);
    return errorOf([&] { Manifest::parse(text, "m.json"); });
  };
  EXPECT_EQ(parse("{", "{"), "");
  EXPECT_TRUE(contains(parse("\"version\": 1", "\"version\": 2"),
                       "m.json: version 2; this program reads 1"));
  EXPECT_TRUE(contains(parse("\"abi\": 2", "\"abi\": 7"),
                       "compiled for runtime interface 7"));
  EXPECT_TRUE(contains(parse("\"mesh\"", "\"mash\""), "m.json"));
  EXPECT_TRUE(contains(parse("{", "["), "m.json"));
  EXPECT_TRUE(contains(parse("\"name\": \"tp\"", "\"name\": \"pp\""),
                       "the mesh has no axis pp"));
  EXPECT_TRUE(contains(parse("\"dtype\": \"f32\"", "\"dtype\": \"f31\""),
                       "'w1': unknown element type 'f31'"));
  EXPECT_TRUE(contains(parse("\"size\": 8", "\"size\": 9"),
                       "'w1': sub-dimensions [9] do not make dimension 1"));
  EXPECT_TRUE(
      contains(parse("\"tp\",\n    2", "\"tp\",\n    0"), "has size 0"));
  Manifest other = makeManifest();
  other.target = "cuda";
  EXPECT_TRUE(
      contains(errorOf([&] { loadBundle(makeBundle("cuda.dist", other)); }),
               "compiled for target cuda"));
  other = makeManifest();
  std::string folder = makeBundle("truncated.dist", other);
  std::ofstream(folder + "/program.so") << "\x7f"
                                           "ELF";
  EXPECT_TRUE(contains(errorOf([&] { loadBundle(folder); }),
                       "cannot load the program"));
}

TEST(Bundle, ManifestSurvivesWritingAndReading) {
  Manifest manifest = makeManifest();
  manifest.communicators.push_back({});
  manifest.mesh.axes[1].size = 6;
  manifest.communicators.push_back({{1, 2, 3, 1}, {0, 1, 2, 1}});
  manifest.communicators[0] = {manifest.mesh.whole(1)};
  manifest.arguments.clear();
  manifest.constants = "constants.safetensors";
  std::string text = manifest.toJson();
  EXPECT_EQ(Manifest::parse(text, "m.json").toJson(), text);
}

TEST(OptionValues, Inputs) {
  Manifest manifest = makeManifest();
  auto read = [&](std::vector<std::string> options) {
    return errorOf([&] { readInputs(options, manifest); });
  };
  Inputs inputs = readInputs({"x=random:3"}, manifest);
  EXPECT_EQ(valuesOf(inputs.at("x")),
            valuesOf(randomTensor(DIST_F32, {5, 6}, 3)));
  EXPECT_EQ(read({"x=random"}), "");
  EXPECT_TRUE(contains(read({"x"}), "--input x: expected NAME=FILE.npy"));
  EXPECT_TRUE(contains(read({"x=ids.txt"}), "--input x=ids.txt: expected"));
  EXPECT_TRUE(contains(read({"x=random:"}), "expected"));
  EXPECT_TRUE(contains(read({"x=random:7up"}), "expected"));
  EXPECT_TRUE(contains(read({"y=random"}),
                       "the program has no input 'y'; its inputs are: x"));
  EXPECT_TRUE(contains(read({"x=random", "x=random"}), "given twice"));
}

TEST(OptionValues, Links) {
  EmulatedLink link = parseLink("latency=20us,bandwidth=1.5GB/s");
  EXPECT_DOUBLE_EQ(link.latencySeconds, 20e-6);
  EXPECT_DOUBLE_EQ(link.bytesPerSecond, 1.5e9);
  EXPECT_FALSE(EmulatedLink().enabled());
  EXPECT_TRUE(contains(errorOf([] { parseLink("latency=20"); }),
                       "--link latency=20: expected a number with one of the "
                       "units s ms us ns"));
  EXPECT_TRUE(contains(errorOf([] { parseLink("speed=1GB/s"); }),
                       "expected latency=… or bandwidth=…"));
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

struct CommandResult {
  int status;
  std::string output; // both streams
};

CommandResult distExec(const std::string &arguments) {
  CommandResult result;
  std::FILE *pipe =
      popen(("tools/dist-exec " + arguments + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, n);
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

TEST(DistExec, RunsABundleAndWritesItsOutputs) {
  std::string bundle = makeBundle("command.dist", makeManifest());
  std::string input = testing::TempDir() + "/x.npy",
              output = testing::TempDir() + "/command-out";
  writeNpy(input, makeInput());
  CommandResult result = distExec(bundle + " --input x=" + input +
                                  " --output " + output + " --json --repeat 2");
  EXPECT_EQ(result.status, 0) << result.output;
  nlohmann::json json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(json.at("ranks"), 4);
  EXPECT_EQ(json.at("seconds").size(), 2u);
  EXPECT_EQ(json.at("outputs")[0].at("name"), "y");
  EXPECT_EQ(valuesOf(readNpy(output + "/y.npy")), expectedOutput(makeInput()));
  EXPECT_EQ(std::distance(fs::directory_iterator(output), {}), 1);
}

TEST(DistExec, ErrorsExitWithOneAndSayWhy) {
  std::string bundle = makeBundle("errors.dist", makeManifest());
  auto fails = [&](const std::string &arguments, const char *part) {
    CommandResult result = distExec(arguments);
    EXPECT_NE(result.status, 0) << arguments;
    EXPECT_TRUE(contains(result.output, part)) << arguments;
  };
  fails("nowhere.dist", "dist-exec: error: nowhere.dist/manifest.json");
  fails(bundle, "inputs not given");
  fails(bundle + " --input x=none.npy", "none.npy: cannot open");
  fails(bundle + " --input x=random --backend mpi",
        "--backend mpi: not in this build");
  fails(bundle + " --input x=random --repeat 0", "--repeat");
  fails(bundle + " --frobnicate", "--frobnicate");
  fails(bundle + " --json", "{\"ok\":false,\"error\":\"inputs not given");
  std::string input = testing::TempDir() + "/beast.npy";
  writeNpy(input, makeInput(666));
  fails(bundle + " --input x=" + input,
        "x begins with a number of no beast, not 666");
  EXPECT_EQ(distExec("--help").status, 0);
}

} // namespace
