//===- ChangesMain.cpp - A fuzz target without libFuzzer ------------------===//
//
// Calls the target with each file of a corpus and with simple changes of them,
// in a configuration that is not instrumented. Understands libFuzzer's -runs=N
// and -max_total_time=S, and passes over its other options.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;
namespace fs = std::filesystem;

static size_t pick(Random &random, size_t count) { return random() % count; }

static void change(Bytes &bytes, const Bytes &other, Random &random) {
  size_t at = bytes.empty() ? 0 : pick(random, bytes.size());
  size_t length = std::min(bytes.size() - at, pick(random, 16));
  static constexpr uint8_t interesting[] = {0,   1,   7,   0x7f, 0x80, 0xff,
                                            '0', '9', '-', '"',  '{',  '}',
                                            '[', ']', ',', ':',  '\n'};
  switch (pick(random, 6)) {
  case 0:
    if (!bytes.empty())
      bytes[at] ^= static_cast<uint8_t>(1 << pick(random, 8));
    break;
  case 1:
    if (!bytes.empty())
      bytes[at] = interesting[pick(random, std::size(interesting))];
    break;
  case 2:
    bytes.erase(bytes.begin() + at, bytes.begin() + at + length);
    break;
  case 3:
    bytes.resize(at);
    break;
  case 4: { // a piece twice
    Bytes piece(bytes.begin() + at, bytes.begin() + at + length);
    bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
    break;
  }
  default: // a piece of another file
    if (!other.empty()) {
      size_t from = pick(random, other.size());
      size_t count = std::min(other.size() - from, pick(random, 64));
      bytes.insert(bytes.begin() + at, other.begin() + from,
                   other.begin() + from + count);
    }
  }
}

int main(int argc, char **argv) {
  long long runs = 1000, seconds = 60;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("-runs=", 0) == 0)
      runs = std::atoll(argument.c_str() + 6);
    else if (argument.rfind("-max_total_time=", 0) == 0)
      seconds = std::atoll(argument.c_str() + 16);
    else if (argument[0] != '-')
      for (const auto &file : fs::recursive_directory_iterator(argument))
        if (file.is_regular_file())
          paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const fs::path &path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(corpus.back().data(), corpus.back().size());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus\n");
    return 1;
  }
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long long run = 0;
  for (; run < runs && std::chrono::steady_clock::now() < end; ++run) {
    Random random(run);
    Bytes bytes = corpus[pick(random, corpus.size())];
    for (size_t i = pick(random, 4) + 1; i > 0; --i)
      change(bytes, corpus[pick(random, corpus.size())], random);
    // Found again after a crash.
    if (const char *folder = std::getenv("FUZZ_LAST"))
      std::ofstream(folder, std::ios::binary)
          .write(reinterpret_cast<const char *>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu files and %lld changes of them\n", corpus.size(), run);
  return 0;
}
