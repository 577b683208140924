//===- BundleTest.cpp - Bundles hold together -----------------------------===//
//
// A bundle whose parts do not belong together is refused with a message; what
// is accepted gives the right result.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "test/runtime/Bundles.h"

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

using namespace dist;
using namespace dist::test;

namespace {

using Json = nlohmann::ordered_json;

TEST(Bundle, MalformedOnesGiveErrors) {
  EXPECT_TRUE(contains(errorOf([] { loadBundle("no.dist"); }),
                       "no.dist/manifest.json: cannot open"));
  auto parse = [](const std::string &from, const std::string &to) {
    std::string text = makeManifest().toJson();
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
    text.replace(at, from.size(), to);
    return errorOf([&] { Manifest::parse(text, "m.json"); });
  };
  EXPECT_EQ(parse("{", "{"), "");
  EXPECT_TRUE(contains(parse("\"version\": 2", "\"version\": 1"),
                       "m.json: version 1; this program reads 2"));
  EXPECT_TRUE(contains(
      parse("\"abi\": " + std::to_string(DIST_ABI_VERSION), "\"abi\": 97"),
      "compiled for runtime interface 97"));
  // What came since the oldest was added.
  auto ofVersion = [](int version) {
    return "\"abi\": " + std::to_string(version);
  };
  EXPECT_EQ(parse(ofVersion(DIST_ABI_VERSION), ofVersion(DIST_ABI_OLDEST)), "");
  EXPECT_TRUE(contains(
      parse(ofVersion(DIST_ABI_VERSION), ofVersion(DIST_ABI_OLDEST - 1)),
      "compiled for runtime interface 4"));
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
  EXPECT_TRUE(contains(parse("\"arena_bytes\": 4096", "\"arena_bytes\": 4e3"),
                       "m.json: an integer of 64 bits is expected, not 4000"));
  EXPECT_TRUE(contains(parse("\"tp\",\n    2", "\"tp\",\n    1099511627776"),
                       "the mesh has more than 1048576 ranks"));
  EXPECT_TRUE(contains(parse("\"program.so\"", "\"../program.so\""),
                       "program '../program.so' is not the name of a file in "
                       "the bundle"));
  EXPECT_TRUE(contains(parse("\"kind\": \"output\"", "\"kind\": \"input\""),
                       "'y': is in the wrong list"));
  EXPECT_TRUE(contains(parse("\"comm\": -1", "\"comm\": 1"),
                       "a collective is on communicator 1 of 1"));
  EXPECT_TRUE(contains(parse("\"abi\"", "\"version\": 2, \"abi\""),
                       "m.json: 'version' is given twice"));
  EXPECT_TRUE(contains(parse("\"abi\"", "\"abj\": 2, \"abi\""),
                       "m.json: unknown key 'abj'"));
  EXPECT_TRUE(contains(parse("\"kind\"", "\"king\": 2, \"kind\""),
                       "m.json: 'w1': unknown key 'king'"));
  EXPECT_TRUE(
      contains(parse("\"w1\"", "\"w\\u00001\""), "'w\\0…' has a zero byte"));
  EXPECT_TRUE(contains(
      parse("\"kind\"", "\"part\": {\"of\": [2, 8], \"at\": [1, 0]}, \"kind\""),
      "is no part of a parameter of [2, 8]"));
  EXPECT_TRUE(contains(parse("\"kind\"", "\"part\": {\"of\": [64, 8], \"at\": "
                                         "[9223372036854775807, 0]}, \"kind\""),
                       "is no part of a parameter"));
  EXPECT_TRUE(contains(
      parse("\"kind\"", "\"part\": {\"of\": [64], \"at\": [0]}, \"kind\""),
      "is no part of a parameter of [64]"));
  std::string deep = "\"version\": " + std::string(1000000, '[');
  EXPECT_TRUE(contains(parse("\"version\": 2", deep.c_str()),
                       "m.json: nested more than 64 deep"));
  Manifest other = makeManifest();
  other.communicators[0].push_back(other.communicators[0][0]);
  EXPECT_TRUE(
      contains(errorOf([&] { Manifest::parse(other.toJson(), "m.json"); }),
               "axis tp is used twice, or two of its parts overlap"));
  auto errorOfStreams = [](const RandomStreamsDesc &streams) {
    Manifest manifest = makeManifest();
    manifest.randomStreams = {streams};
    return errorOf([&] { Manifest::parse(manifest.toJson(), "m.json"); });
  };
  AxisRef tp = other.mesh.whole(other.mesh.find("tp"));
  EXPECT_EQ(errorOfStreams({3, {tp}, {8}, {{{8, {tp}}}}}), "");
  EXPECT_TRUE(contains(errorOfStreams({3, {}, {8}, {{{8, {tp}}}}}),
                       "random streams of operator 3 are over no axis"));
  EXPECT_TRUE(contains(errorOfStreams({3, {tp}, {8}, {{{9, {tp}}}}}),
                       "sub-dimensions [9] do not make dimension 0 of [8]"));
  EXPECT_TRUE(contains(errorOfStreams({3, {tp}, {8, 8}, {{{8, {tp}}}}}),
                       "1 dims for shape [8, 8]"));
  other = makeManifest();
  other.target = "cuda";
  EXPECT_TRUE(contains(errorOf([&] {
                         launch(loadBundle(makeBundle("cuda.dist", other)),
                                {{"x", makeInput()}});
                       }),
                       "the program is compiled for target cuda: give "
                       "--backend cuda"));
  other = makeManifest();
  std::string folder = makeBundle("truncated.dist", other);
  std::ofstream(folder + "/program.so") << "\x7f"
                                           "ELF";
  EXPECT_TRUE(contains(errorOf([&] { loadBundle(folder); }),
                       "program.so: has 4 bytes, but the manifest says"));
}

TEST(Bundle, FilesLieInIt) {
  fs::path folder = makeBundle("linked.dist", makeManifest());
  fs::rename(folder / "program.so", folder / "inside");
  fs::create_symlink("inside", folder / "program.so");
  EXPECT_EQ(errorOf([&] { loadBundle(folder.string()); }), "");
  fs::rename(folder / "inside", folder.string() + ".so");
  fs::remove(folder / "program.so");
  fs::create_symlink(folder.string() + ".so", folder / "program.so");
  EXPECT_TRUE(contains(errorOf([&] { loadBundle(folder.string()); }),
                       "linked.dist.so', which is not in the bundle"));
}

TEST(Bundle, ManifestSurvivesWritingAndReading) {
  Manifest manifest = makeManifest();
  manifest.communicators.push_back({});
  manifest.mesh.axes[1].size = 6;
  manifest.communicators.push_back({{1, 2, 3, 1}, {0, 1, 2, 1}});
  manifest.communicators[0] = {manifest.mesh.whole(1)};
  manifest.arguments.resize(1);
  manifest.arguments[0].partOf = {100, 200};
  manifest.arguments[0].partAt = {50, 0};
  manifest.constants = "constants.safetensors";
  manifest.programChecksum = {7, 0xfedcba9876543210};
  manifest.constantsChecksum = Checksum{1, 2};
  AxisRef part{1, 2, 3, 1};
  manifest.randomStreams = {
      {7, {part}, {4, 9}, {{{4, {}}}, {{3, {}}, {3, {part}}}}}};
  std::string text = manifest.toJson();
  EXPECT_EQ(Manifest::parse(text, "m.json").toJson(), text);
}

TEST(Bundle, PiecesOfAnArgumentFollowEachOther) {
  Manifest manifest = makeManifest();
  TensorDesc piece = manifest.arguments[0];
  piece.joinedShape = piece.localShape;
  piece.joinedShape[0] *= 2;
  piece.joinedAt.assign(piece.joinedShape.size(), 0);
  TensorDesc next = piece;
  next.joinedAt[0] = piece.localShape[0];
  manifest.arguments = {piece, next};
  std::string text = manifest.toJson();
  EXPECT_EQ(Manifest::parse(text, "m.json").toJson(), text);
  auto errorWith = [&](std::vector<TensorDesc> arguments) {
    manifest.arguments = std::move(arguments);
    return errorOf([&] { Manifest::parse(manifest.toJson(), "m.json"); });
  };
  TensorDesc other = piece;
  other.joinedShape = other.joinedAt = {};
  const std::vector<std::vector<TensorDesc>> wrong{{piece},
                                                   {next},
                                                   {next, piece},
                                                   {piece, next, next},
                                                   {piece, other, next}};
  for (const std::vector<TensorDesc> &arguments : wrong)
    EXPECT_TRUE(contains(errorWith(arguments), "do not follow each other"));
  next.joinedAt[0] += 1;
  EXPECT_TRUE(contains(errorWith({piece, next}), "is no piece of an argument"));
}

void writeFile(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string errorOfLoading(const std::string &folder) {
  return errorOf([&] { loadBundle(folder); });
}

TEST(Bundle, AnotherProgramIsRefused) {
  fs::path folder = makeBundle("mixed.dist", makeManifest());
  Manifest other = makeManifest();
  other.mesh.axes[0].name = "pp";
  other.arenaBytes = 64;
  std::string code = makeProgram(other.agreement());
  writeFile(folder / "program.so", code);
  EXPECT_TRUE(contains(errorOfLoading(folder),
                       "program.so: is not the file that the manifest "
                       "describes (its checksum differs)"));
  // Whoever makes the checksum fit as well.
  Manifest manifest = makeManifest();
  manifest.programChecksum = checksumOf(code);
  writeFile(folder / "manifest.json", manifest.toJson());
  EXPECT_TRUE(contains(
      errorOfLoading(folder),
      "mixed.dist: manifest.json and the program do not belong together: they "
      "differ in mesh, arguments, results, arena_bytes; copy or compile"));
}

TEST(Bundle, PartialAndDamagedCopiesAreRefused) {
  Manifest manifest = makeManifest();
  manifest.arguments[1].kind = TensorDesc::Constant;
  manifest.constants = "constants.safetensors";
  fs::path folder = makeBundle("damaged.dist", manifest);
  EXPECT_EQ(errorOfLoading(folder), "");
  std::string code = readFile(folder / "program.so");
  std::string data = readFile(folder / manifest.constants);
  auto loadWith = [&](const char *file, const std::string &bytes) {
    // A new file: programs that were loaded stay mapped.
    fs::remove(folder / file);
    writeFile(folder / file, bytes);
    return errorOfLoading(folder);
  };
  EXPECT_TRUE(contains(loadWith("program.so", code.substr(0, 5000)),
                       "program.so: has 5000 bytes, but the manifest says"));
  std::string flipped = code;
  flipped[flipped.size() / 2] ^= 1;
  EXPECT_TRUE(contains(loadWith("program.so", flipped), "checksum differs"));
  EXPECT_EQ(loadWith("program.so", code), "");
  data.back() ^= 1;
  EXPECT_TRUE(contains(loadWith("constants.safetensors", data),
                       "constants.safetensors: is not the file that"));
  data.pop_back();
  EXPECT_TRUE(contains(loadWith("constants.safetensors", data), "truncated"));
  fs::remove(folder / manifest.constants);
  EXPECT_TRUE(
      contains(errorOfLoading(folder), "constants.safetensors: cannot open"));
  fs::remove(folder / "program.so");
  EXPECT_TRUE(contains(errorOfLoading(folder), "program.so: cannot open"));
}

//===----------------------------------------------------------------------===//
// Machine-made changes
//===----------------------------------------------------------------------===//

using Random = std::mt19937_64;

int64_t pick(Random &random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

int64_t pickNumber(Random &random, int64_t old) {
  switch (pick(random, 8)) {
  case 0:
    return old + 1;
  case 1:
    return old - 1;
  case 2:
    return old * 2;
  case 3:
    return old / 2;
  case 4:
    return -old;
  case 5:
    return int64_t(1) << pick(random, 63);
  case 6:
    return INT64_MAX - pick(random, 3);
  default:
    return pick(random, 9);
  }
}

/// All values in `json`, itself included.
void collect(Json &json, std::vector<Json *> &nodes) {
  nodes.push_back(&json);
  if (json.is_structured())
    for (Json &child : json)
      collect(child, nodes);
}

/// Changes some value of the text, with no regard to the others.
void changeText(Json &json, Random &random) {
  std::vector<Json *> nodes;
  collect(json, nodes);
  Json &node = *nodes[pick(random, nodes.size())];
  Json &other = *nodes[pick(random, nodes.size())];
  if (node.is_number_integer() && pick(random, 4)) {
    node = pickNumber(random, node.get<int64_t>());
  } else if (node.is_array() && !node.empty() && pick(random, 4)) {
    if (pick(random, 2))
      node.erase(pick(random, node.size()));
    else
      node.push_back(Json(node[pick(random, node.size())]));
  } else if (node.is_object() && !node.empty() && pick(random, 4)) {
    node.erase(std::next(node.begin(), pick(random, node.size())).key());
  } else {
    node = Json(other);
  }
}

/// Changes a fact and whatever follows from it: no reader of the manifest alone
/// can tell.
void changeFact(Manifest &manifest, Random &random) {
  auto all = [&](const std::function<void(TensorDesc &)> &change) {
    for (auto *list : {&manifest.arguments, &manifest.results})
      for (TensorDesc &desc : *list)
        change(desc);
  };
  std::vector<TensorDesc> &arguments = manifest.arguments;
  TensorDesc &desc = pick(random, 4) && !arguments.empty()
                         ? arguments[pick(random, arguments.size())]
                         : manifest.results[0];
  switch (pick(random, 9)) {
  case 0: // another size of an axis
  case 1: {
    int32_t axis = pick(random, 2);
    int64_t size = 1 + pick(random, 4);
    manifest.mesh.axes[axis].size = size;
    auto resize = [&](AxisRef &ref) {
      if (ref.axis == axis)
        ref = manifest.mesh.whole(axis);
    };
    for (auto &refs : manifest.communicators)
      std::for_each(refs.begin(), refs.end(), resize);
    all([&](TensorDesc &one) {
      for (auto &dim : one.dims)
        for (SubDim &sub : dim)
          std::for_each(sub.axes.begin(), sub.axes.end(), resize);
    });
    break;
  }
  case 2: // another extent
    if (!desc.dims.empty()) {
      size_t dim = pick(random, desc.dims.size());
      desc.dims[dim] = {{1 + pick(random, 12), desc.dims[dim][0].axes}};
      desc.globalShape[dim] = desc.dims[dim][0].size;
    }
    break;
  case 3: // cut otherwise
    if (!desc.dims.empty()) {
      auto &axes = desc.dims[pick(random, desc.dims.size())][0].axes;
      if (axes.empty())
        axes = {manifest.mesh.whole(pick(random, 2))};
      else
        axes.clear();
    }
    break;
  case 4:
    desc.dtype = static_cast<dist_dtype>(pick(random, 10));
    break;
  case 5:
    manifest.arenaBytes = pick(random, 8192);
    break;
  case 6:
    if (!arguments.empty())
      arguments.erase(arguments.begin() + pick(random, arguments.size()));
    break;
  case 7:
    if (!arguments.empty())
      std::swap(arguments[0], arguments[pick(random, arguments.size())]);
    break;
  default:
    manifest.communicators[0] = {manifest.mesh.whole(pick(random, 2))};
    break;
  }
  all([](TensorDesc &one) { one.localShape = localShapeOf(one); });
}

/// How many changes: DIST_MUTATIONS, for a longer run.
int64_t countChanges() {
  const char *given = std::getenv("DIST_MUTATIONS");
  return given ? std::atoll(given) : 1000;
}

TEST(Bundle, EveryChangeIsRefusedOrChangesNothing) {
  Manifest good = makeManifest();
  fs::path folder = makeBundle("changed.dist", good);
  std::string code = readFile(folder / "program.so");
  good.programChecksum = checksumOf(code);
  Inputs inputs{{"x", makeInput()}};
  std::vector<float> expected = expectedOutput(inputs.at("x"));
  int64_t refused = 0, accepted = 0;
  for (int64_t seed = 0; seed < countChanges(); ++seed) {
    Random random(seed);
    Manifest manifest = good;
    bool isFact = pick(random, 2);
    for (int64_t i = pick(random, 3); isFact && i >= 0; --i)
      changeFact(manifest, random);
    Json json = Json::parse(manifest.toJson());
    for (int64_t i = pick(random, 3); !isFact && i >= 0; --i)
      changeText(json, random);
    writeFile(folder / "manifest.json", json.dump());
    try {
      RunResult result = launch(loadBundle(folder), inputs);
      ASSERT_EQ(valuesOf(result.outputs.at(0).tensor), expected)
          << "seed " << seed << ": " << json.dump(1);
      ++accepted;
    } catch (const Error &error) {
      EXPECT_STRNE(error.what(), "");
      ++refused;
    }
  }
  std::printf("%lld changes refused, %lld changed nothing\n",
              static_cast<long long>(refused),
              static_cast<long long>(accepted));
  EXPECT_GT(refused, 0);
}

} // namespace
