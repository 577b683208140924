//===- ExecutorTest.cpp - Bundles, from the library and by dist-exec ------===//
//
// The bundle is test/runtime/two_layers.c with a manifest made here.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "dist/Outputs.h"
#include "test/runtime/Bundles.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace dist;
using namespace dist::test;

namespace {

using Executor = OnEachBackend;
DIST_ON_EACH_BACKEND(Executor);

TEST_P(Executor, RunsABundle) {
  Program program = loadBundle(makeBundle(nameOf("run.dist"), makeManifest()));
  RunOptions options = onBackend();
  options.repeat = 3;
  options.trace = true;
  RunResult result = launch(program, {{"x", makeInput()}}, options);
  EXPECT_EQ(result.seconds.size(), 3u);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].name, "y");
  EXPECT_EQ(result.outputs[0].tensor.shape, (Shape{rows, width}));
  EXPECT_EQ(valuesOf(result.outputs[0].tensor), expectedOutput(makeInput()));

  // Two contractions and a collective on each of four ranks, on tracks that
  // have names. The manifest does not say which communicator it is.
  nlohmann::json trace = nlohmann::json::parse(result.trace);
  int contractions = 0, reductions = 0, names = 0;
  for (const nlohmann::json &event : trace.at("traceEvents")) {
    contractions += event.at("name") == "contract";
    reductions += event.at("name") == "all_reduce" && event.at("tid") == 2 &&
                  event.at("args").at("scope") == "mlp.proj";
    names += event.at("ph") == "M";
  }
  EXPECT_EQ(contractions, 8);
  EXPECT_EQ(reductions, 4);
  EXPECT_EQ(names, 4 * 3);
}

// Also the parts that no whole result is made of.
TEST_P(Executor, HandsOverWhatEachRankHolds) {
  Program program =
      loadBundle(makeBundle(nameOf("parts.dist"), makeManifest()));
  RunOptions options = onBackend();
  EXPECT_TRUE(
      launch(program, {{"x", makeInput()}}, options).outputs[0].parts.empty());
  options.keepsParts = [](const std::string &name) { return name == "y"; };
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

TEST_P(Executor, HandsWholeResultsOutInTurn) {
  struct Sink final : ResultSink {
    void begin(const Output &output) override {
      names += output.name;
      EXPECT_FALSE(output.tensor.data);
    }
    void write(const void *data, int64_t count) override {
      auto *from = static_cast<const float *>(data);
      values.insert(values.end(), from, from + count);
    }
    std::string names;
    std::vector<float> values;
  } sink;
  Program program = loadBundle(makeBundle(nameOf("sink.dist"), makeManifest()));
  RunOptions options = onBackend();
  options.keepsWholes = false;
  options.sink = &sink;
  RunResult result = launch(program, {{"x", makeInput()}}, options);
  EXPECT_EQ(sink.names, "y");
  EXPECT_EQ(sink.values, expectedOutput(makeInput()));
  EXPECT_FALSE(result.outputs[0].tensor.data);
  EXPECT_EQ(result.outputs[0].tensor.shape, (Shape{rows, width}));
}

TEST_P(Executor, ConstantsComeWithTheBundle) {
  Manifest manifest = makeManifest();
  manifest.arguments[1].kind = TensorDesc::Constant;
  manifest.constants = "constants.safetensors";
  std::string folder = makeBundle(nameOf("constants.dist"), manifest);
  Program program = loadBundle(folder);
  // They were mapped: dist-run removes its bundles once they are loaded.
  fs::remove(fs::path(folder) / "constants.safetensors");
  RunResult result = launch(program, {{"x", makeInput()}}, onBackend());
  EXPECT_EQ(valuesOf(result.outputs[0].tensor), expectedOutput(makeInput()));

  program.manifest.arguments[1].name = "w3";
  EXPECT_TRUE(
      contains(errorOf([&] {
                 launch(program, {{"x", makeInput()}});
               }),
               "constants.safetensors: the bundle lacks its constant 'w3'; "
               "compile it again"));
}

TEST(Launcher, NamesWhatIsMissing) {
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
  Tensor wide = Tensor::zeros(DIST_F64, {5, 6});
  static_cast<double *>(wide.data)[7] = 0.1;
  EXPECT_TRUE(contains(errorOf([&] {
                         launch(program, {{"x", wide}});
                       }),
                       "input 'x' is f64, which does not convert to the "
                       "program's f32 without loss: element [1, 1] is 0.1"));
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

TEST(DryRun, SaysWhatARankLoadsHoldsAndSends) {
  Manifest manifest = makeManifest();
  manifest.collectives[0].bytesSentPerRank = 72;
  std::string bundle = makeBundle("dry.dist", manifest);
  CommandResult result = distExec(bundle + " --dry-run --ranks 0,2-3");
  EXPECT_EQ(result.status, 0);
  // Of w1 [6, 8] four columns, of w2 [8, 6] four rows; three rows of x and y.
  EXPECT_TRUE(contains(result.output,
                       "3 ranks, among them rank 0 (dp=0, tp=0) and rank 3 "
                       "(dp=1, tp=1):\n"
                       "  loads 192 B in 2 slices of "));
  EXPECT_TRUE(contains(result.output, "dry.dist/weights.safetensors; 96 B of "
                                      "it stay in the file\n"
                                      "  holds 4.3 KiB: 192 B of parameters, "
                                      "72 B of inputs, 72 B of results, 4.0 "
                                      "KiB of all else\n"
                                      "  sends 72 B in 1 collective\n"
                                      "nothing was found that a run would "
                                      "fail for: a rank may hold "));
  EXPECT_TRUE(contains(distExec(bundle + " --dry-run --json").output,
                       R"({"rank":0,"loaded":192,"slices":2,"mapped":96,)"));
  // In a loop of 24 turns.
  manifest.collectives[0].count = 24;
  std::string loops = makeBundle("dry_loops.dist", manifest);
  EXPECT_TRUE(contains(distExec(loops + " --dry-run").output,
                       "  sends 1.7 KiB in 24 collectives\n"));
  manifest.collectives[0].inUnknownLoop = true;
  loops = makeBundle("dry_unknown.dist", manifest);
  EXPECT_TRUE(contains(distExec(loops + " --dry-run").output,
                       "  sends 1.7 KiB in 24 collectives, and more in loops "
                       "of unknown length, which count once\n"));
}

TEST(DryRun, SaysWhereARunWouldFail) {
  Manifest manifest = makeManifest();
  std::string bundle = makeBundle("dry_fails.dist", manifest);
  for (auto [options, what] :
       {std::pair("--dry-run --ranks 4", "--ranks 4: the program's mesh has 4 "
                                         "devices, whose ranks are 0 to 3"),
        std::pair("--dry-run --ranks 3-1", "--ranks 3-1: expected numbers of "
                                           "ranks, as in 0,17,100-103"),
        std::pair("--dry-run -n 3", "-n 3: the program's mesh has 4 devices"),
        std::pair("--dry-run --backend gpu", "--backend gpu: not in this"),
        std::pair("--dry-run --input z=1", "--input z=1: the program has no "
                                           "input 'z'; its inputs are: x"),
        std::pair("--dry-run --input x=1e99", "1e99 is beyond the numbers"),
        std::pair("--dry-run --rank-memory 1", "--rank-memory 1: expected a "
                                               "number and a unit"),
        std::pair("--dry-run --rank-memory -1GiB", "--rank-memory -1GiB: exp"),
        std::pair("--dry-run --rank-memory 1KiB",
                  "rank 0 (dp=0, tp=0) holds 4.3 KiB, and --rank-memory gives "
                  "it 1.0 KiB of memory"),
        std::pair("--dry-run --ranks 1-3 --rank-memory 1KiB",
                  "rank 1 (dp=0, tp=1) holds 4.3 KiB, and --rank-memory gives "
                  "it 1.0 KiB of memory; so it is with 2 more"),
        std::pair("--dry-run --repeat 0", "--repeat 0: must be at least 1"),
        std::pair("--rank-memory 1KiB", "--rank-memory is for --dry-run"),
        std::pair("--ranks 1", "--ranks is for --dry-run")}) {
    CommandResult result = distExec(bundle + " " + options);
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(contains(result.output, what));
  }
  writeSafetensors(bundle + "/other.safetensors",
                   {{"w1", Tensor::zeros(DIST_I64, {width, hidden})}});
  CommandResult result = distExec(bundle + " --dry-run --weights " + bundle +
                                  "/other.safetensors");
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(contains(result.output, "is i64, which does not convert to the "
                                      "program's f32"));
  EXPECT_TRUE(contains(result.output, "/other.safetensors: parameters not in "
                                      "this file:\n  w2 f32[8, 6]\n"));
  writeSafetensors(bundle + "/third.safetensors",
                   {{"other", Tensor::zeros(DIST_F32, {1})}});
  result = distExec(bundle + " --dry-run --weights " + bundle +
                    "/third.safetensors");
  EXPECT_TRUE(contains(result.output, "/third.safetensors: parameters not in "
                                      "this file:\n  w1 f32[6, 8]\n  w2 f32[8, "
                                      "6]\n"));
  manifest.arenaBytes = int64_t(1) << 45;
  EXPECT_TRUE(contains(
      distExec(makeBundle("dry_large.dist", manifest) + " --dry-run").output,
      "rank 0 (dp=0, tp=0) holds 32.0 TiB, and this host has "));
  EXPECT_EQ(distExec(testing::TempDir() + "/dry_large.dist --dry-run "
                                          "--rank-memory 32.1TiB")
                .status,
            0);
}

/// A run of these would be no test.
TEST(DryRun, TakesManyRanks) {
  Manifest manifest = makeManifest();
  manifest.mesh.axes = {{"dp", 100}, {"tp", 100}};
  for (auto *list : {&manifest.arguments, &manifest.results})
    for (TensorDesc &desc : *list) {
      for (std::vector<SubDim> &dim : desc.dims)
        for (AxisRef &ref : dim[0].axes)
          ref = manifest.mesh.whole(ref.axis);
      desc.localShape = localShapeOf(desc);
    }
  manifest.communicators = {{manifest.mesh.whole(1)}};
  CommandResult result =
      distExec(makeBundle("dry_many.dist", manifest) + " --dry-run --ranks "
                                                       "0-9999");
  EXPECT_EQ(result.status, 0);
  // Of eight columns, a hundred ranks have one each.
  EXPECT_TRUE(contains(result.output,
                       "800 ranks, among them rank 0 (dp=0, tp=0) and rank "
                       "9907 (dp=99, tp=7):\n  loads "));
  EXPECT_TRUE(contains(result.output,
                       "9200 ranks, among them rank 8 (dp=0, tp=8) and rank "
                       "9999 (dp=99, tp=99):\n  holds "));
  EXPECT_TRUE(contains(
      distExec(testing::TempDir() + "/dry_many.dist --dry-run -n 10000").output,
      "the mesh has 10000 ranks; --backend processes runs at most 1024 on one "
      "host"));
}

TEST(Launcher, NamesTheBackendsThereAre) {
  Program program = loadBundle(makeBundle("backend.dist", makeManifest()));
  RunOptions options;
  options.backend = "nccl";
  EXPECT_EQ(errorOf([&] {
              launch(program, {{"x", makeInput()}}, options);
            }),
            "--backend nccl: not in this build; known are threads, processes, "
            "mpi, cuda");
}

TEST_P(Executor, FailureOfARankIsTheError) {
  Program program = loadBundle(makeBundle(nameOf("fail.dist"), makeManifest()));
  EXPECT_TRUE(contains(errorOf([&] {
                         launch(program, {{"x", makeInput(666)}}, onBackend());
                       }),
                       "x begins with a number of no beast, not 666"));
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

TEST(OptionValues, NumbersAndRanges) {
  Manifest manifest = makeManifest();
  auto read = [&](const std::string &option) {
    return errorOf([&] { readInputs({option}, manifest); });
  };
  auto values = [&](const std::string &option) {
    return valuesOf(readInputs({option}, manifest).at("x"));
  };
  EXPECT_EQ(values("x=-1.5"), std::vector<float>(30, -1.5));
  EXPECT_EQ(values("x=random(-2,6):4"),
            valuesOf(uniformTensor(DIST_F32, {5, 6}, 4, -2, 6)));
  for (const char *option :
       {"x=1.5 ", "x= 1", "x=", "x=random(1", "x=random(1,2)3", "x=random()",
        "x=random:-1", "x=random:99999999999999999999"})
    EXPECT_TRUE(contains(read(option), "expected NAME=FILE.npy")) << option;
  for (const char *option :
       {"x=random(nan,1)", "x=random(,)", "x=random(0,inf)"})
    EXPECT_TRUE(contains(read(option), "the range of f32 goes from")) << option;
  EXPECT_TRUE(contains(read("x=random(2,1)"),
                       "the lowest value, 2, is above the highest, 1; write "
                       "random(1,2)"));

  for (const char *option : {"x=1e39", "x=-1e400", "x=random(0,1e39)"})
    EXPECT_TRUE(contains(read(option), "is beyond the numbers of type f32"))
        << option;
  EXPECT_EQ(read("x=-inf"), "");
  manifest.arguments[2].dtype = DIST_F16;
  EXPECT_TRUE(
      contains(read("x=70000"),
               "--input x=70000: 70000 is beyond the numbers of type f16"));
  EXPECT_TRUE(contains(read("x=random(-1e9,0)"), "-1e9 is beyond"));
  EXPECT_EQ(read("x=65519"), ""); // rounds to 65504

  manifest.arguments[2].dtype = DIST_I8;
  ASSERT_EQ(manifest.arguments[2].kind, TensorDesc::Input);
  EXPECT_TRUE(contains(read("x=128"), "128 is no value of type i8"));
  EXPECT_TRUE(contains(read("x=random(-129,0)"), "-129 is no value of type"));
  EXPECT_TRUE(contains(read("x=1.5"), "expected NAME=FILE.npy"));
  EXPECT_EQ(read("x=random(-128,127)"), "");
}

TEST(OptionValues, NamesMayHaveEqualSigns) {
  Manifest manifest = makeManifest();
  manifest.arguments.push_back(manifest.arguments[2]);
  manifest.arguments.back().name = "x=1";
  Inputs inputs = readInputs({"x=1=2", "x=3"}, manifest);
  EXPECT_EQ(valuesOf(inputs.at("x=1")), std::vector<float>(30, 2));
  EXPECT_EQ(valuesOf(inputs.at("x")), std::vector<float>(30, 3));
  std::string file = testing::TempDir() + "/equal.npy";
  writeNpy(file, makeInput());
  EXPECT_EQ(readInputShapes({"x=1=" + file}, {"x", "x=1"}).at("x=1"),
            (Shape{rows, width}));
}

TEST(OptionValues, RandomForAllOthers) {
  Manifest manifest = makeManifest();
  EXPECT_TRUE(readInputs({}, manifest).empty());
  RandomInputs random;
  random.rest = 3;
  manifest.arguments.push_back(manifest.arguments[2]);
  manifest.arguments.back().name = "y";
  Inputs inputs = readInputs({"x=1"}, manifest, random);
  EXPECT_EQ(valuesOf(inputs.at("x")), std::vector<float>(30, 1));
  Inputs both = readInputs({}, manifest, random);
  EXPECT_EQ(valuesOf(both.at("y")), valuesOf(inputs.at("y")));
  EXPECT_NE(valuesOf(both.at("x")), valuesOf(both.at("y")));
  EXPECT_EQ(parseSeed(""), 0u);
  EXPECT_EQ(parseSeed("7"), 7u);
  EXPECT_TRUE(contains(errorOf([] { parseSeed("x"); }), "--random=x"));
}

TEST(OptionValues, RandomByPlace) {
  auto sorted = [](const Tensor &tensor, std::vector<int64_t> places) {
    for (int64_t &place : places)
      place = static_cast<const int64_t *>(tensor.data)[place];
    std::sort(places.begin(), places.end());
    return places;
  };
  using Values = std::vector<int64_t>;
  // A range for each row; each is spread over its row.
  IntegerRanges rows{{{0, 3}, {10, 13}}, 0};
  Tensor byRow = makeRandom(DIST_I64, {2, 4}, 1, rows);
  EXPECT_EQ(sorted(byRow, {0, 1, 2, 3}), (Values{0, 1, 2, 3}));
  EXPECT_EQ(sorted(byRow, {4, 5, 6, 7}), (Values{10, 11, 12, 13}));
  // A range for each place of the last dimension but one, wherever else.
  IntegerRanges places{{{0, 3}, {10, 13}}, 1};
  Tensor byPlace = makeRandom(DIST_I64, {2, 2, 2}, 1, places);
  EXPECT_EQ(sorted(byPlace, {0, 1, 4, 5}), (Values{0, 1, 2, 3}));
  EXPECT_EQ(sorted(byPlace, {2, 3, 6, 7}), (Values{10, 11, 12, 13}));
}

TEST(OptionValues, RandomIsSaid) {
  Manifest manifest = makeManifest();
  TensorDesc &desc = manifest.arguments[2];
  RandomInputs random;
  random.rest = 0;
  EXPECT_TRUE(describeRandom({}, manifest, random).empty());
  desc.dtype = DIST_I64;
  EXPECT_EQ(describeRandom({}, manifest, random).at("x"),
            "random integers from 0 to 15");
  EXPECT_TRUE(describeRandom({"x=random(1,2)"}, manifest, random).empty());
  auto say = [&](IntegerRanges ranges) {
    random.ranges["x"] = std::move(ranges);
    return describeRandom({}, manifest, random).at("x");
  };
  desc.globalShape = {2, 2};
  EXPECT_EQ(say({{{0, 3}, {1, 2}}, 1}),
            "random integers from 0 to 3, 1 to 2 by column");
  EXPECT_EQ(say({{{0, 3}, {1, 2}}, 0}),
            "random integers from 0 to 3, 1 to 2 by row");
  desc.globalShape = {2, 2, 2};
  EXPECT_EQ(say({{{0, 3}, {1, 2}}, 1}),
            "random integers from 0 to 3, 1 to 2 by place along dimension 1");
}

TEST(OptionValues, Links) {
  EmulatedLink link = parseLink("latency=20us,bandwidth=1.5GB/s");
  EXPECT_DOUBLE_EQ(link.latencySeconds, 20e-6);
  EXPECT_DOUBLE_EQ(link.bytesPerSecond, 1.5e9);
  EXPECT_FALSE(EmulatedLink().enabled());
  EXPECT_TRUE(contains(errorOf([] { parseLink("latency=20"); }),
                       "--link latency=20: expected a number with one of the "
                       "units s ms us ns"));
  EXPECT_TRUE(
      contains(errorOf([] { parseLink("latency=1us,latency=2us"); }),
               "--link latency=1us,latency=2us: latency is given twice"));
  EXPECT_TRUE(contains(errorOf([] { parseLink("speed=1GB/s"); }),
                       "expected latency=… or bandwidth=…"));
}

TEST(Arguments, NoticeAnInputThatIsWrittenTo) {
  std::string path = testing::TempDir() + "/written.npy";
  Tensor value = randomTensor(DIST_F32, {512, 1024}, 1);
  writeNpy(path, value);
  Program program;
  TensorDesc &desc = program.manifest.arguments.emplace_back();
  desc.name = "x";
  desc.globalShape = desc.localShape = value.shape;
  desc.dims = {{{512, {}}}, {{1024, {}}}};
  Inputs inputs = readInputs({"x=" + path}, program.manifest);
  Arguments arguments(program, inputs);
  EXPECT_EQ(errorOf([&] { arguments.checkUnchanged(); }), "");
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_TRUE(contains(errorOf([&] { arguments.checkUnchanged(); }),
                       "written.npy: had "));
  // Left to another process, it is not looked at.
  inputs = readInputs({"x=nowhere.npy"}, program.manifest, {},
                      InputFiles::Leave);
  EXPECT_FALSE(inputs.at("x").data);
  auto read = [&](InputFiles files) {
    return errorOf(
        [&] { readInputs({"x=nowhere.npy"}, program.manifest, {}, files); });
  };
  EXPECT_TRUE(contains(read(InputFiles::ReadToo), "with --inputs=root"));
  EXPECT_FALSE(contains(read(InputFiles::Read), "--inputs"));
}

TEST(Options, OfProcessesAreChecked) {
  auto begin = [](const std::string &backend, const std::string &inputs) {
    RunOptions options;
    options.backend = backend;
    options.inputs = inputs;
    return errorOf([&] { dist::begin(options, [](const std::string &) {}); });
  };
  EXPECT_TRUE(contains(begin("threads", "root"),
                       "--inputs root is for ranks on several hosts"));
  EXPECT_TRUE(
      contains(begin("mpi", "some"), "--inputs some: expected shared or root"));
}

TEST(Outputs, AppearAllOrNone) {
  fs::path folder = fs::path(testing::TempDir()) / "outputs";
  Manifest manifest;
  Tensor value = makeInput();
  auto add = [&](const std::string &name) {
    TensorDesc &desc = manifest.results.emplace_back();
    desc.name = name;
    desc.globalShape = value.shape;
  };
  add("a");
  add("b");
  auto writeTo = [&](const std::string &folder, const std::string &trace) {
    return errorOf([&] {
      ResultFiles files(folder, trace, manifest);
      for (const Output &output : describeOutputs(manifest)) {
        files.begin(output);
        files.write(value.data, 1);
        files.write(static_cast<float *>(value.data) + 1, value.count() - 1);
      }
      files.commit("{}");
    });
  };
  std::string trace = (folder / "sub/trace.json").string();
  auto write = [&] { return writeTo(folder.string(), trace); };
  // No folder for the trace, and nothing is left of the other.
  EXPECT_TRUE(contains(write(), "trace.json: cannot be written: No such file"));
  EXPECT_FALSE(fs::exists(folder));
  fs::create_directories(folder / "b.npy");
  trace = (folder / "trace.json").string();
  EXPECT_TRUE(contains(write(), "b.npy: cannot be written: Is a directory"));
  EXPECT_FALSE(fs::exists(folder / "a.npy") || fs::exists(trace));
  fs::remove(folder / "b.npy");
  EXPECT_EQ(write(), "");
  for (const char *name : {"a.npy", "b.npy"})
    EXPECT_EQ(valuesOf(readNpy(folder / name)), valuesOf(value));
  EXPECT_EQ(readFile(trace), "{}");
  // The trace may lie in the folder that is made.
  std::string fresh = testing::TempDir() + "/fresh";
  EXPECT_EQ(writeTo(fresh, fresh + "/t.json"), "");
  // A folder is no file.
  std::string both = testing::TempDir() + "/both";
  EXPECT_TRUE(
      contains(writeTo(both, both), "both: cannot be written: Is a directory"));
  EXPECT_FALSE(fs::exists(both));
  // A pipe gets nothing before there are results.
  manifest.results.clear();
  add("pipe");
  std::string pipe = (folder / "pipe.npy").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  std::vector<char> bytes(4096);
  { ResultFiles files(folder.string(), "", manifest); }
  EXPECT_EQ(read(reader, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(writeTo(folder.string(), ""), "");
  EXPECT_EQ(read(reader, bytes.data(), bytes.size()), 128 + value.bytes());
  close(reader);
  // More than a process may have open.
  manifest.results.clear();
  for (int i = 0; i < 1500; ++i)
    add(std::to_string(i));
  EXPECT_EQ(writeTo(folder.string(), ""), "");
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

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
  fails(bundle + " --input x=none.npy",
        "error: --input x=none.npy: none.npy: cannot open");
  fails(bundle + " --input x=random --backend nccl",
        "--backend nccl: not in this build; known are threads, processes, "
        "mpi, cuda");
  fails(bundle + " --input x=random --repeat 0", "--repeat");
  fails(bundle + " --input x=random --repeat 99999999999999999999",
        "expected a whole number below 2^63");
  fails(bundle + " --random=1 --random=2", "--random");
  for (const char *option :
       {"weights", "input", "random", "output", "backend", "trace", "link"}) {
    std::string name = std::string("--") + option;
    fails(bundle + " --input x=1 " + name + "= x",
          (name + " has an empty value").c_str());
  }
  fails(bundle + " --input x=1 --trace ''", "--trace has an empty value");
  fails(bundle + " --frobnicate", "--frobnicate");
  fails(bundle + " --json", "{\"ok\":false,\"error\":\"inputs not given");
  std::string input = testing::TempDir() + "/beast.npy";
  writeNpy(input, makeInput(666));
  fails(bundle + " --input x=" + input,
        "x begins with a number of no beast, not 666");
  EXPECT_EQ(distExec("--help").status, 0);
}

} // namespace
