//===- Bundles.h - Bundles of a program written by hand ---------*- C++ -*-===//
//
// two_layers.c with its manifest and its weights, and dist-exec to run it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_RUNTIME_BUNDLES_H
#define DIST_TEST_RUNTIME_BUNDLES_H

#include "dist/Launcher.h"
#include "dist/Manifest.h"
#include "dist/Safetensors.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace dist::test {

namespace fs = std::filesystem;

constexpr int64_t rows = 5, width = 6, hidden = 8;

inline Manifest makeManifest() {
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

/// The bytes of a file.
inline std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// two_layers.so, with `agreement` where a compiled program has its own.
inline std::string makeProgram(const std::string &agreement) {
  std::string code = readFile("test/runtime/two_layers.so");
  size_t at = code.find("@dist_manifest@");
  EXPECT_NE(at, std::string::npos);
  EXPECT_LT(agreement.size(), 8192u);
  return code.replace(at, agreement.size() + 1, agreement.c_str(),
                      agreement.size() + 1);
}

/// The parameters of two_layers.c.
inline void writeWeights(const fs::path &path) {
  Tensor w1 = Tensor::zeros(DIST_F32, {width, hidden});
  Tensor w2 = Tensor::zeros(DIST_F32, {hidden, width});
  for (int64_t i = 0; i < width * hidden; ++i) {
    static_cast<float *>(w1.data)[i] = static_cast<float>(i % 7 - 3);
    static_cast<float *>(w2.data)[i] = static_cast<float>(i % 5 - 2);
  }
  writeSafetensors(path.string(), {{"w1", w1}, {"w2", w2}});
}

/// A bundle in a folder of its own.
inline std::string makeBundle(const std::string &name, Manifest manifest) {
  fs::path folder = fs::path(testing::TempDir()) / name;
  fs::create_directories(folder);
  std::string code = makeProgram(manifest.agreement());
  std::ofstream(folder / "program.so", std::ios::binary) << code;
  manifest.programChecksum = checksumOf(code);
  writeWeights(folder / "weights.safetensors");
  if (!manifest.constants.empty()) {
    writeWeights(folder / manifest.constants);
    manifest.constantsChecksum =
        checksumOfFile((folder / manifest.constants).string());
  }
  std::ofstream(folder / "manifest.json") << manifest.toJson();
  return folder.string();
}

inline Tensor makeInput(float first = 1) {
  Tensor x = Tensor::zeros(DIST_F32, {rows, width});
  float *data = static_cast<float *>(x.data);
  for (int64_t i = 0; i < rows * width; ++i)
    data[i] = int(i * i % 11) - 5;
  data[0] = first;
  return x;
}

inline std::vector<float> expectedOutput(const Tensor &input) {
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

inline std::vector<float> valuesOf(const Tensor &tensor) {
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

inline testing::AssertionResult contains(const std::string &text,
                                         const char *part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

inline int count(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++count;
  return count;
}

struct CommandResult {
  int status;
  std::string output; // both streams
};

inline CommandResult command(const std::string &line) {
  CommandResult result;
  std::FILE *pipe = popen((line + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, n);
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

inline CommandResult distExec(const std::string &arguments) {
  return command("tools/dist-exec " + arguments);
}

/// A test of runs, with ranks that are threads, and processes.
class OnEachBackend : public testing::TestWithParam<const char *> {
public:
  RunOptions onBackend() const {
    RunOptions options;
    options.backend = GetParam();
    return options;
  }
  /// A file of its own for each.
  std::string nameOf(const std::string &file) const {
    return std::string(GetParam()) + "_" + file;
  }
};

#define DIST_ON_EACH_BACKEND(suite)                                            \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values("threads", "processes"),   \
                           [](const auto &one) { return one.param; })

} // namespace dist::test

#endif // DIST_TEST_RUNTIME_BUNDLES_H
