//===- FilesTest.cpp - safetensors, .npy and TensorProto files ------------===//

#include "dist/Npy.h"
#include "dist/OnnxTensor.h"
#include "dist/Weights.h"
#include "runtime/host/MappedFile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

using namespace dist;

namespace {

/// Path of a file in the test's own folder, with `bytes` in it.
std::string fileWith(const std::string &name, const std::string &bytes) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

template <class T> std::string raw(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

template <class T> std::vector<T> valuesOf(const Tensor &tensor) {
  const T *data = static_cast<const T *>(tensor.data);
  return {data, data + tensor.count()};
}

/// The message of the Error that `call` throws; "" if it throws none.
template <class Call> std::string errorOf(Call call) {
  try {
    call();
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

#define EXPECT_ERROR(call, part)                                               \
  {                                                                            \
    std::string error = errorOf([&] { call; });                                \
    EXPECT_NE(error.find(part), std::string::npos) << "error: " << error;      \
  }

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

std::string safetensors(const std::string &header, const std::string &data) {
  return raw<uint64_t>({header.size()}) + header + data;
}

/// In a time that is not quadratic: that would be ten minutes here.
TEST(Safetensors, ReadsManyTensors) {
  std::string header = "{";
  constexpr int64_t count = 200'000;
  for (int64_t i = 0; i < count; ++i)
    header += (i ? ",\"h." : "\"h.") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
              std::to_string(i) + "," + std::to_string(i + 1) + "]}";
  Safetensors file(fileWith("many.safetensors",
                            safetensors(header + "}", std::string(count, 7))));
  EXPECT_EQ(file.tensors().size(), size_t(count));
  EXPECT_EQ(valuesOf<uint8_t>(*file.find("h.199999")), std::vector<uint8_t>{7});
}

TEST(Safetensors, ReadsTensorsInPlace) {
  std::string path = fileWith(
      "good.safetensors",
      safetensors(R"({"__metadata__":{"format":"pt"},)"
                  R"("b":{"dtype":"I64","shape":[1],"data_offsets":[24,32]},)"
                  R"("a.weight":{"dtype":"F32","shape":[2,3],)"
                  R"("data_offsets":[0,24]},)"
                  R"("empty":{"dtype":"BF16","shape":[0,4],)"
                  R"("data_offsets":[32,32]}})",
                  raw<float>({1, 2, 3, 4, 5, 6}) + raw<int64_t>({-7})));
  Tensor kept;
  {
    Safetensors file(path);
    EXPECT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.find("missing"), nullptr);
    ASSERT_NE(file.find("a.weight"), nullptr);
    kept = *file.find("a.weight");
    EXPECT_EQ(file.find("b")->dtype, DIST_I64);
    EXPECT_EQ(file.find("empty")->count(), 0);
  }
  // The mapping outlives the object.
  EXPECT_EQ(kept.shape, (Shape{2, 3}));
  float values[6];
  std::memcpy(values, kept.data, sizeof values);
  EXPECT_EQ(values[5], 6);
}

TEST(Safetensors, ReadsWhatItWrites) {
  std::string path = testing::TempDir() + "written.safetensors";
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (int dtype = DIST_F64; dtype <= DIST_U64; ++dtype) {
    auto type = static_cast<dist_dtype>(dtype);
    tensors.emplace_back(dtypeName(type), randomTensor(type, {3, dtype}, 7));
  }
  tensors.emplace_back("no \"dims\"", randomTensor(DIST_I16, {}, 8));
  writeSafetensors(path, tensors);
  Safetensors file(path);
  EXPECT_EQ(file.tensors().size(), tensors.size());
  for (const auto &[name, tensor] : tensors) {
    const Tensor *read = file.find(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_EQ(std::memcmp(read->data, tensor.data, tensor.bytes()), 0) << name;
  }
  EXPECT_THROW(writeSafetensors(testing::TempDir() + "none/x", tensors), Error);
}

TEST(Safetensors, MalformedFilesGiveErrors) {
  auto open = [](const std::string &bytes) {
    return errorOf([&] { Safetensors(fileWith("bad.safetensors", bytes)); });
  };
  auto entry = [&](const std::string &fields, size_t bytes = 8) {
    return open(
        safetensors("{\"x\":{" + fields + "}}", std::string(bytes, '\0')));
  };
  auto has = [](const std::string &error, const char *part) {
    EXPECT_NE(error.find(part), std::string::npos) << "error: " << error;
    EXPECT_NE(error.find("bad.safetensors"), std::string::npos) << error;
  };
  has(open(""), "it has only 0 bytes");
  has(open("1234567"), "it has only 7 bytes");
  has(open(raw<uint64_t>({100}) + "{}"), "a header of 100 bytes in a file of");
  has(open(raw<uint64_t>({UINT64_MAX}) + "{}"), "a header of");
  has(open(safetensors("{\"x\":", "")), "its header: not JSON");
  has(open(safetensors("[]", "")), "not a JSON object");
  has(entry(R"("dtype":"F32","shape":[2])"), "tensor 'x'");
  has(entry(R"("dtype":"F99","shape":[2],"data_offsets":[0,8])"),
      "element type F99");
  has(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
      "f32 of shape [3] does not take the 8 bytes it has");
  has(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "no range");
  has(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), "no range");
  has(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 7),
      "the file holds 7 bytes of data: it is truncated");
  has(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
      "impossible shape [-2]");
  has(entry(R"("dtype":"F32","shape":[4294967296,4294967296,4],)"
            R"("data_offsets":[0,8])"),
      "impossible shape");
  has(entry(R"("dtype":"F32","shape":"two","data_offsets":[0,8])"),
      "tensor 'x'");
  const char *pair = R"("dtype":"F32","shape":[2],"data_offsets":[%,@])";
  auto at = [&](const char *from, const char *to) {
    std::string text = pair;
    text.replace(text.find('%'), 1, from);
    return text.replace(text.find('@'), 1, to);
  };
  auto both = [&](const std::string &first, const std::string &second) {
    return open(
        safetensors("{" + first + "," + second + "}", std::string(16, '\0')));
  };
  std::string low = "\"x\":{" + at("0", "8") + "}",
              middle = "\"y\":{" + at("4", "12") + "}",
              high = "\"y\":{" + at("8", "16") + "}";
  EXPECT_EQ(both(low, high), "");
  has(both(high, middle.replace(1, 1, "z")),
      "tensors 'z' and 'y' have bytes in common");
  has(both(low, low), "'x' is given twice");
  has(entry(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"),
      "'dtype' is given twice");
  // What a parser without a limit would end the program with.
  has(entry("\"shape\":" + std::string(1000000, '[')), "more than 64 deep");
  EXPECT_ERROR(Safetensors{"no/such.safetensors"}, "cannot open");
  EXPECT_ERROR(Safetensors{testing::TempDir()}, "not a regular file");
}

//===----------------------------------------------------------------------===//
// Indices of weights
//===----------------------------------------------------------------------===//

/// Tensors of two files of safetensors and of one of anything.
std::string writeIndexed(const std::string &name) {
  std::vector<float> numbers = {1, 2, 3, 4};
  Tensor tensor;
  tensor.shape = {4};
  tensor.data = numbers.data();
  std::string folder = testing::TempDir() + "/" + name;
  std::filesystem::create_directories(folder + "/below");
  writeSafetensors(folder + "/1.safetensors", {{"a", tensor}, {"x", tensor}});
  numbers[0] = 5;
  writeSafetensors(folder + "/below/2.safetensors", {{"b", tensor}});
  std::string bytes(100'000, '.');
  std::memcpy(&bytes[81], numbers.data(), 16);
  fileWith(name + ".data", bytes);
  std::string data = "../" + name + ".data";
  fileWith(name + "/index.json",
           makeWeightsIndex(folder,
                            {{{"a", DIST_F32, {4}}, "1.safetensors", {}},
                             {{"b", DIST_F32, {4}}, "below/2.safetensors", {}},
                             {{"c", DIST_F32, {2, 2}}, data, 81},
                             {{"d", DIST_U8, {3}}, data, 99'997}}));
  return folder + "/index.json";
}

TEST(Weights, FilesOfAnIndex) {
  Weights weights(writeIndexed("indexed"));
  ASSERT_EQ(weights.tensors().size(), 4u);
  EXPECT_EQ(valuesOf<float>(*weights.find("a")),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf<float>(*weights.find("b")),
            (std::vector<float>{5, 2, 3, 4}));
  const Tensor *c = weights.find("c");
  EXPECT_EQ(c->shape, (Shape{2, 2}));
  float numbers[4];
  std::memcpy(numbers, c->data, 16);
  EXPECT_EQ(numbers[0], 5);
  EXPECT_EQ(numbers[3], 4);
  // In place, and known as pages of that file.
  EXPECT_EQ(c->file->path, weights.find("d")->file->path);
  EXPECT_EQ(weights.find("x"), nullptr);
  // A file of safetensors is its own index.
  EXPECT_NE(Weights(testing::TempDir() + "/indexed/1.safetensors").find("x"),
            nullptr);
}

TEST(Weights, FindsTheFileOfAFolder) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(writeIndexed("folder")).parent_path();
  EXPECT_ERROR(Weights{folder.string()},
               "has neither model.safetensors.index.json nor "
               "model.safetensors; name a file in it");
  fs::rename(folder / "1.safetensors", folder / "model.safetensors");
  EXPECT_NE(Weights(folder.string()).find("x"), nullptr);
  fs::create_symlink("model.safetensors", folder / "1.safetensors");
  fs::rename(folder / "index.json", folder / "model.safetensors.index.json");
  EXPECT_EQ(Weights(folder.string()).find("x"), nullptr);
}

TEST(Weights, AnotherFileIsTold) {
  std::string path = writeIndexed("other");
  for (size_t at : {0, 50'000, 99'999}) {
    std::string bytes(100'000, '.');
    bytes[at] = ',';
    fileWith("other.data", bytes);
    EXPECT_ERROR(Weights{path}, "is not the file that this index was made of");
  }
  fileWith("other.data", std::string(99'999, '.'));
  EXPECT_ERROR(Weights{path}, "is not the file that this index was made of");
  std::filesystem::remove(testing::TempDir() + "/other.data");
  EXPECT_ERROR(Weights{path}, "other.data: cannot open");
}

/// The sample of a long file has its first and its last byte.
TEST(Weights, SamplesLongFiles) {
  std::string path = testing::TempDir() + "/long.data", index;
  int64_t bytes = int64_t(1) << 33;
  std::ofstream(path).close();
  std::filesystem::resize_file(path, bytes);
  auto write = [&] {
    return makeWeightsIndex(testing::TempDir(),
                            {{{"w", DIST_U8, {1}}, "long.data", 0}});
  };
  std::set<std::string> seen = {write()};
  for (int64_t at : {int64_t(0), bytes - 1}) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at).put('x');
    file.close();
    EXPECT_TRUE(seen.insert(write()).second) << at;
  }
  std::filesystem::remove(path);
}

TEST(Weights, MalformedIndicesGiveErrors) {
  writeIndexed("malformed");
  std::string good = "{\"file\":\"../malformed.data\",\"dtype\":\"F32\","
                     "\"shape\":[2],\"offset\":0}";
  std::ifstream written(testing::TempDir() + "/malformed/index.json");
  std::string text{std::istreambuf_iterator<char>(written), {}};
  std::string files = text.substr(text.find("\"files\""));
  files = files.substr(0, files.find("\"metadata\""));
  auto errorFor = [&](const std::string &entry) {
    std::string all = "{" + files + "\"weight_map\": {\"w\": " + entry + "}}";
    return errorOf([&] { Weights(fileWith("malformed/bad.json", all)); });
  };
  auto with = [&](const std::string &from, const std::string &to) {
    std::string entry = good;
    return entry.replace(entry.find(from), from.size(), to);
  };
  EXPECT_EQ(errorFor(good), "");
  for (const auto &[entry, part] :
       std::vector<std::pair<std::string, std::string>>{
           {"3", "the name of a file, or an object"},
           {"\"/etc/passwd\"", "no file below the folder of the index"},
           {"\"../1.safetensors\"", "no file below the folder of the index"},
           {"\"\"", "no file below the folder of the index"},
           {"\"1.safetensors\"", "has no tensor of this name"},
           {"\"none.safetensors\"", "cannot open"},
           {with("../malformed.data", "/etc/passwd"),
            "\"files\" has no sample of '/etc/passwd'"},
           {with("F32", "F33"), "element type F33"},
           {with("[2]", "[30000]"), "does not fit"},
           {with("[2]", "[-1]"), "impossible shape"},
           {with("[2]", "[4611686018427387904,4]"), "impossible shape"},
           {with(":0", ":99993"), "does not fit"},
           {with(":0", ":-1"), "does not fit"},
           {with(":0", ":9223372036854775807"), "does not fit"},
           {with(":0", ":0.5"), "an integer of 64 bits is expected"},
           {with("offset", "ofset"), "'ofset' is not known"},
           {with(",\"offset\":0", ""), "key 'offset' not found"}}) {
    std::string error = errorFor(entry);
    EXPECT_NE(error.find("tensor 'w': "), std::string::npos) << error;
    EXPECT_NE(error.find(part), std::string::npos) << entry << ": " << error;
  }
  for (const auto &[bytes, part] :
       std::vector<std::pair<std::string, std::string>>{
           {"{", "not an index of weights: not JSON"},
           {"{}", "it has no \"weight_map\""},
           {"[]", "it has no \"weight_map\""},
           {"\xef\xbb\xbf{}", "not an index of weights"},
           {"{\"weight_map\": []}", "it has no \"weight_map\""},
           {"{\"weight_map\": {\"a\": \"b\", \"a\": \"c\"}}",
            "'a' is given twice"}})
    EXPECT_ERROR(Weights(fileWith("bad.json", bytes)), part);
}

//===----------------------------------------------------------------------===//
// .npy
//===----------------------------------------------------------------------===//

std::string npy(const std::string &header, const std::string &data,
                char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += version == 1 ? raw<uint16_t>({uint16_t(header.size())})
                        : raw<uint32_t>({uint32_t(header.size())});
  return bytes + header + data;
}

TEST(Npy, RoundTripsEveryType) {
  for (dist_dtype dtype :
       {DIST_F64, DIST_F32, DIST_F16, DIST_I64, DIST_I32, DIST_I16, DIST_I8,
        DIST_U8, DIST_U16, DIST_U32, DIST_U64, DIST_I1})
    for (const Shape &shape :
         {Shape{}, Shape{5}, Shape{2, 3, 4}, Shape{0, 3}}) {
      Tensor tensor = randomTensor(dtype, shape, 1);
      std::string path =
          testing::TempDir() + "/" + dtypeName(dtype) + toString(shape);
      writeNpy(path, tensor);
      Tensor read = readNpy(path);
      EXPECT_EQ(read.dtype, dtype);
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(std::memcmp(read.data, tensor.data, tensor.bytes()), 0);
    }
}

TEST(Npy, LargeOnesStayInTheFile) {
  std::string path = testing::TempDir() + "/large.npy";
  Tensor tensor = randomTensor(DIST_F32, {512, 1024}, 1);
  writeNpy(path, tensor);
  Tensor mapped = mapNpy(path);
  ASSERT_TRUE(mapped.file);
  EXPECT_EQ(valuesOf<float>(mapped), valuesOf<float>(tensor));
  EXPECT_EQ(errorOf([&] { mapped.file->checkUnchanged(); }), "");
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_ERROR(mapped.file->checkUnchanged(), "large.npy: had ");
  EXPECT_FALSE(readNpy(path).file);
  // As columns, and as few.
  std::string columns = "{'descr': '<f4', 'fortran_order': True, "
                        "'shape': (512, 1024), }";
  EXPECT_FALSE(
      mapNpy(fileWith("columns.npy",
                      npy(columns, std::string(tensor.bytes(), '\0'))))
          .file);
  std::string few = testing::TempDir() + "/few.npy";
  writeNpy(few, randomTensor(DIST_F32, {512}, 1));
  EXPECT_FALSE(mapNpy(few).file);
}

TEST(Npy, Bf16IsWrittenAsF32) {
  Tensor tensor = Tensor::zeros(DIST_BF16, {2});
  static_cast<uint16_t *>(tensor.data)[1] = floatToBfloat(1.5f);
  std::string path = testing::TempDir() + "/bf16.npy";
  writeNpy(path, tensor);
  EXPECT_EQ(valuesOf<float>(readNpy(path)), (std::vector<float>{0, 1.5}));
}

TEST(Npy, ReadsWhatNumPyWrites) {
  // As numpy.save writes them, versions 1 and 2, and in Fortran order.
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n";
  std::string data = raw<float>({1, 2, 3, 4, 5, 6});
  for (char version : {1, 2, 3}) {
    Tensor tensor = readNpy(fileWith("c.npy", npy(header, data, version)));
    EXPECT_EQ(tensor.shape, (Shape{2, 3}));
    EXPECT_EQ(valuesOf<float>(tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n";
  EXPECT_EQ(valuesOf<float>(readNpy(fileWith("f.npy", npy(header, data)))),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
  header = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n";
  Tensor scalar = readNpy(fileWith("s.npy", npy(header, raw<int64_t>({9}))));
  EXPECT_EQ(scalar.shape, Shape{});
  EXPECT_EQ(valuesOf<int64_t>(scalar), std::vector<int64_t>{9});
  header = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(readNpy(fileWith("b.npy", npy(header, "\1\1"))).dtype, DIST_I1);
}

TEST(Files, BooleansAreZeroOrOne) {
  std::string header =
      "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_NE(errorOf([&] {
              (void)readNpy(fileWith("two.npy", npy(header, "\1\2")));
            }).find("two.npy: element 1 is 2, which is no i1"),
            std::string::npos);
  std::string entry =
      R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_NE(errorOf([&] {
              Safetensors(
                  fileWith("two.safetensors", safetensors(entry, "\xff\1")));
            }).find("tensor 'm': element 0 is 255, which is no i1"),
            std::string::npos);
}

TEST(Npy, BfloatsOfMlDtypes) {
  for (const char *type : {"<V2", "|V2"}) {
    Tensor tensor = readNpy(fileWith(
        "bf16.npy", npy(std::string("{'descr': '") + type +
                            "', 'fortran_order': False, 'shape': (1,), }\n",
                        std::string("\xc0\x3f", 2))));
    EXPECT_EQ(tensor.dtype, DIST_BF16);
    EXPECT_EQ(bfloatToFloat(*static_cast<uint16_t *>(tensor.data)), 1.5f);
  }
}

TEST(Npy, MalformedFilesGiveErrors) {
  auto read = [](const std::string &bytes) {
    return [=] { readNpy(fileWith("bad.npy", bytes)); };
  };
  auto header = [](const char *descr, const char *shape) {
    return std::string("{'descr': ") + descr +
           ", 'fortran_order': False, 'shape': " + shape + ", }\n";
  };
  EXPECT_ERROR(read("")(), "bad.npy: not an .npy file");
  EXPECT_ERROR(read("PK\3\4 this is a zip archive")(), "not an .npy file");
  EXPECT_ERROR(read(npy("{}", "", 9))(), ".npy version 9");
  EXPECT_ERROR(read(npy("{}\n", ""))(), "no plain 'descr'");
  EXPECT_ERROR(read(npy(header("'<f4'", "(2,)"), "1234567"))(),
               "shape [2] of f32 needs more than the 7 bytes there are");
  EXPECT_ERROR(read(npy(header("'>f4'", "(2,)"), "12345678"))(),
               "element type '>f4'");
  EXPECT_ERROR(read(npy(header("'|O'", "(2,)"), "12345678"))(),
               "element type '|O'");
  EXPECT_ERROR(read(npy(header("[('x', '<f4')]", "(2,)"), "12345678"))(),
               "no plain 'descr'");
  EXPECT_ERROR(read(npy(header("'<f4'", "(99999999999, 99999999999)"), ""))(),
               "bad.npy: impossible shape");
  EXPECT_ERROR(read(npy(header("'<f4'", "(99999999999999999999999,)"), ""))(),
               "impossible extent");
  EXPECT_ERROR(read(npy(header("'<f4'", "(2,)"), "").substr(0, 20))(),
               "truncated in its header");
  EXPECT_ERROR(readNpy("no/such.npy"), "cannot open");
}

TEST(Shape, TextOfManyExtentsIsShort) {
  EXPECT_EQ(toString(Shape{2, 3}), "[2, 3]");
  std::string text = toString(Shape(2000000, 1));
  EXPECT_LT(text.size(), 300u);
  EXPECT_NE(text.find("of 2000000 extents]"), std::string::npos) << text;
}

TEST(Npy, NothingIsLeftOfAFailedWrite) {
  std::string folder = testing::TempDir() + "/npy-target";
  std::filesystem::create_directories(folder + "/taken.npy");
  EXPECT_ERROR(writeNpy(folder + "/taken.npy", Tensor::zeros(DIST_F32, {2})),
               "taken.npy: cannot be written: Is a directory");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_ERROR(writeNpy(folder + "/none/x.npy", Tensor::zeros(DIST_F32, {2})),
               "none/x.npy: cannot be written: No such file");
}

//===----------------------------------------------------------------------===//
// TensorProto
//===----------------------------------------------------------------------===//

/// One field: its tag, and for bytes their length.
std::string field(int number, int wire) {
  return std::string(1, static_cast<char>(number << 3 | wire));
}
std::string bytesField(int number, const std::string &bytes) {
  return field(number, 2) + static_cast<char>(bytes.size()) + bytes;
}

TEST(OnnxTensor, ReadsRawAndTypedData) {
  std::string dims = field(1, 0) + '\2' + field(1, 0) + '\3'; // 2 x 3
  std::vector<float> values{1, -2, 3, 4, 5, 6};
  std::string name;
  Tensor tensor = readOnnxTensor(
      fileWith("raw.pb", dims + field(2, 0) + '\1' + bytesField(8, "ids") +
                             bytesField(9, raw(values))),
      &name);
  EXPECT_EQ(name, "ids");
  EXPECT_EQ(tensor.shape, (Shape{2, 3}));
  EXPECT_EQ(valuesOf<float>(tensor), values);
  // Packed floats, packed dims; an unknown field is skipped.
  tensor = readOnnxTensor(fileWith(
      "typed.pb", bytesField(1, "\2\3") + bytesField(12, "doc") + field(2, 0) +
                      '\1' + bytesField(4, raw(values))));
  EXPECT_EQ(valuesOf<float>(tensor), values);
  // Unpacked and packed int64_data; -1 takes ten bytes.
  std::string minusOne("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  tensor = readOnnxTensor(
      fileWith("i64.pb", field(1, 0) + '\2' + field(2, 0) + '\7' +
                             bytesField(7, "\5" + minusOne)));
  EXPECT_EQ(valuesOf<int64_t>(tensor), (std::vector<int64_t>{5, -1}));
  // bool and f16 come in int32_data.
  tensor = readOnnxTensor(fileWith("bool.pb", field(1, 0) + '\2' + field(2, 0) +
                                                  '\x09' +
                                                  bytesField(5, {"\0\1", 2})));
  EXPECT_EQ(tensor.dtype, DIST_I1);
  EXPECT_EQ(valuesOf<uint8_t>(tensor), (std::vector<uint8_t>{0, 1}));
  // Unsigned ones of 32 and 64 bits are uint64_data, smaller ones int32_data.
  std::string top = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  tensor = readOnnxTensor(fileWith("u64.pb", field(1, 0) + '\2' + field(2, 0) +
                                                 '\x0d' +
                                                 bytesField(11, "\5" + top)));
  EXPECT_EQ(tensor.dtype, DIST_U64);
  EXPECT_EQ(valuesOf<uint64_t>(tensor), (std::vector<uint64_t>{5, UINT64_MAX}));
  tensor = readOnnxTensor(fileWith(
      "u32.pb", field(2, 0) + '\x0c' + bytesField(11, "\xff\xff\xff\xff\x0f")));
  EXPECT_EQ(tensor.dtype, DIST_U32);
  EXPECT_EQ(valuesOf<uint32_t>(tensor), (std::vector<uint32_t>{UINT32_MAX}));
  tensor = readOnnxTensor(
      fileWith("u16.pb", field(2, 0) + '\4' + bytesField(5, "\xff\xff\3")));
  EXPECT_EQ(tensor.dtype, DIST_U16);
  EXPECT_EQ(valuesOf<uint16_t>(tensor), (std::vector<uint16_t>{UINT16_MAX}));
  tensor = readOnnxTensor(
      fileWith("f16.pb", field(2, 0) + '\x0a' + bytesField(5, "\x80\x78")));
  EXPECT_EQ(tensor.dtype, DIST_F16);
  EXPECT_EQ(halfToFloat(valuesOf<uint16_t>(tensor)[0]), 1.0f);
}

TEST(OnnxTensor, MalformedFilesGiveErrors) {
  std::string dims = field(1, 0) + '\2', f32 = field(2, 0) + '\1';
  auto read = [](const std::string &bytes) {
    return [=] { readOnnxTensor(fileWith("bad.pb", bytes)); };
  };
  EXPECT_ERROR(read(dims + f32 + bytesField(9, "12345"))(),
               "shape [2] of f32 does not have 5 bytes");
  EXPECT_ERROR(read(dims + f32 + bytesField(4, "1234"))(),
               "does not have 1 elements");
  EXPECT_ERROR(read(dims + f32)(), "does not have 0 elements");
  EXPECT_ERROR(read(dims + field(2, 0) + '\x08')(), "data type 8");
  EXPECT_ERROR(read(f32 + bytesField(9, "1234").substr(0, 4))(), "cut short");
  EXPECT_ERROR(read("PK\3\4 zip")(), "not a TensorProto");
  EXPECT_ERROR(read(dims + f32 + field(14, 0) + '\1')(), "external data");
  EXPECT_ERROR(read(field(1, 0) + "\xff\xff\xff\xff\x7f" + f32)(), "in a file");
  // Bits above the 16 that there are; 70000.
  EXPECT_ERROR(read(field(2, 0) + '\x0a' + bytesField(5, "\xf0\xa2\4"))(),
               "element 0 is 70000, which is no f16");
  EXPECT_ERROR(read(field(2, 0) + '\x09' + bytesField(9, "\2"))(),
               "element 0 is 2, which is no");
  EXPECT_ERROR(read(f32 + bytesField(3, "") + bytesField(9, "1234"))(),
               "segment of a tensor");
  EXPECT_ERROR(read(f32 + bytesField(4, "1234") + bytesField(9, "1234"))(),
               "data in float_data and in raw_data");
  EXPECT_ERROR(read(f32 + bytesField(4, "1234") + bytesField(5, "\1"))(),
               "data in int32_data, where this type has none");
  std::string negative = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1";
  EXPECT_ERROR(read(field(1, 0) + negative + f32)(),
               "bad.pb: impossible shape [-1]");
  EXPECT_ERROR(readOnnxTensor("no/such.pb"), "cannot open");
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

TEST(Convert, HalvesAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float half = halfToFloat(bits), bfloat = bfloatToFloat(bits);
    if (half == half)
      EXPECT_EQ(floatToHalf(half), bits);
    else
      EXPECT_NE(halfToFloat(floatToHalf(half)), half);
    if (bfloat == bfloat)
      EXPECT_EQ(floatToBfloat(bfloat), bits);
  }
  // Against the compiler's own conversion, around every rounding boundary.
#ifdef __FLT16_MANT_DIG__
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    float low = halfToFloat(bits), high = halfToFloat(bits + 1);
    float middle = low + (high - low) / 2;
    if (high == std::numeric_limits<float>::infinity())
      middle = 65520;
    for (float x :
         {std::nextafter(middle, low), middle, std::nextafter(middle, high)}) {
      _Float16 expected = static_cast<_Float16>(x);
      uint16_t expectedBits;
      std::memcpy(&expectedBits, &expected, 2);
      ASSERT_EQ(floatToHalf(x), expectedBits) << x;
      ASSERT_EQ(floatToHalf(-x), expectedBits | 0x8000) << -x;
    }
  }
#endif
  EXPECT_EQ(floatToBfloat(1.00390625f), 0x3f80); // ties to even
  EXPECT_EQ(floatToBfloat(1.01171875f), 0x3f82);
}

TEST(Convert, FloatsOneByOne) {
  Tensor tensor = Tensor::zeros(DIST_F32, {3, 1000});
  auto *values = static_cast<float *>(tensor.data);
  for (int i = 0; i < 3000; ++i)
    values[i] = i % 256; // of 8 bits
  values[7] = NAN;
  EXPECT_EQ(findInexact(tensor, DIST_BF16), std::nullopt);
  EXPECT_EQ(findInexact(tensor, DIST_F64), std::nullopt);
  EXPECT_EQ(findInexact(tensor, DIST_I64), std::string());
  values[2999] = 0.1f;
  EXPECT_EQ(findInexact(tensor, DIST_BF16),
            std::string(": element [2, 999] is 0.100000001"));
  values[2999] = 1e-30f; // below f16's least
  EXPECT_NE(findInexact(tensor, DIST_F16), std::nullopt);
  EXPECT_EQ(findInexact(Tensor::zeros(DIST_F64, {0}), DIST_F32), std::nullopt);
}

TEST(Convert, ExactOnly) {
  EXPECT_TRUE(convertsExactly(DIST_F32, DIST_F64));
  EXPECT_TRUE(convertsExactly(DIST_BF16, DIST_F32));
  EXPECT_TRUE(convertsExactly(DIST_I32, DIST_I64));
  EXPECT_FALSE(convertsExactly(DIST_F64, DIST_F32));
  EXPECT_FALSE(convertsExactly(DIST_I64, DIST_F64));
  EXPECT_FALSE(convertsExactly(DIST_BF16, DIST_F16));
  EXPECT_FALSE(convertsExactly(DIST_I64, DIST_I32));
  EXPECT_TRUE(convertsExactly(DIST_U32, DIST_I64));
  EXPECT_TRUE(convertsExactly(DIST_U32, DIST_F64));
  EXPECT_TRUE(convertsExactly(DIST_U8, DIST_U16));
  EXPECT_TRUE(convertsExactly(DIST_U8, DIST_I16));
  EXPECT_TRUE(convertsExactly(DIST_U16, DIST_F32));
  EXPECT_FALSE(convertsExactly(DIST_U8, DIST_I8));
  EXPECT_FALSE(convertsExactly(DIST_I8, DIST_U8));
  EXPECT_FALSE(convertsExactly(DIST_I8, DIST_U64));
  EXPECT_FALSE(convertsExactly(DIST_U64, DIST_I64));
  EXPECT_FALSE(convertsExactly(DIST_U64, DIST_F64));
  EXPECT_FALSE(convertsExactly(DIST_U16, DIST_F16));
  std::vector<float> in{1.5f, -2.25f};
  std::vector<double> out(2);
  convert(DIST_F32, in.data(), DIST_F64, out.data(), 2);
  EXPECT_EQ(out, (std::vector<double>{1.5, -2.25}));
}

TEST(Random, DependsOnSeedAlone) {
  Tensor a = randomTensor(DIST_F32, {1000}, 1),
         b = randomTensor(DIST_F32, {1000}, 1),
         c = randomTensor(DIST_F32, {1000}, 2);
  EXPECT_EQ(valuesOf<float>(a), valuesOf<float>(b));
  EXPECT_NE(valuesOf<float>(a), valuesOf<float>(c));
  double sum = 0, squares = 0;
  for (float x : valuesOf<float>(a)) {
    sum += x;
    squares += x * x;
  }
  EXPECT_LT(std::abs(sum / 1000), 0.15);
  EXPECT_LT(std::abs(squares / 1000 - 1), 0.2);
  for (int64_t x : valuesOf<int64_t>(randomTensor(DIST_I64, {1000}, 3))) {
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 16);
  }
}

TEST(Random, IntegersReachTheWholeRange) {
  IntegerRange vocabulary{0, 50256};
  for (int64_t count : {2, 5, 100, 1000})
    for (uint64_t seed : {0, 1, 2}) {
      auto values =
          valuesOf<int64_t>(randomTensor(DIST_I64, {count}, seed, vocabulary));
      std::sort(values.begin(), values.end());
      EXPECT_EQ(values.front(), 0);
      EXPECT_EQ(values.back(), 50256);
      // Each of `count` equal parts has a value.
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ((values[i] * count + count - 1) / 50257, i) << count;
    }
  auto few = valuesOf<int64_t>(randomTensor(DIST_I64, {40}, 3, {-3, 4}));
  for (int64_t x = -3; x <= 4; ++x)
    EXPECT_EQ(std::count(few.begin(), few.end(), x), 5);
  auto all =
      valuesOf<int64_t>(randomTensor(DIST_I64, {3}, 1, {INT64_MIN, INT64_MAX}));
  EXPECT_EQ(std::count(all.begin(), all.end(), INT64_MIN), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), INT64_MAX), 1);
  // Not in their order.
  auto values = valuesOf<int64_t>(randomTensor(DIST_I64, {100}, 1, vocabulary));
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  std::set<int64_t> ones;
  for (uint64_t seed = 0; seed < 100; ++seed)
    ones.insert(valuesOf<int64_t>(randomTensor(DIST_I64, {}, seed))[0]);
  EXPECT_EQ(ones.size(), 16u);
}

TEST(Random, FloatsInARange) {
  double sum = 0;
  for (float x : valuesOf<float>(uniformTensor(DIST_F32, {1000}, 1, -2, 6))) {
    EXPECT_GE(x, -2);
    EXPECT_LE(x, 6);
    sum += x;
  }
  EXPECT_NEAR(sum / 1000, 2, 0.3);
}

} // namespace
