//===- FaultsTest.cpp - Faults planted by machine are all found -----------===//
//
// Changes one line of a kernel and runs it as KernelsTest does. The executor
// must report it, or the numbers must differ, in one of the orders.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/emulated/Kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

using namespace dist;
using namespace dist::test;
using namespace dist::emulated;

namespace {

/// A changed line; an empty one is left out.
struct Mutant {
  std::string what;
  std::string line;
};

std::string replaceFirst(const std::string &line, const std::string &pattern,
                         const std::string &by) {
  return std::regex_replace(line, std::regex(pattern), by,
                            std::regex_constants::format_first_only);
}

/// All faults that this line can have.
std::vector<Mutant> mutantsOf(const std::string &line) {
  std::vector<Mutant> mutants;
  auto has = [&](const char *pattern) {
    return std::regex_search(line, std::regex(pattern));
  };
  auto change = [&](const std::string &what, const std::string &pattern,
                    const std::string &by) {
    std::string changed = replaceFirst(line, pattern, by);
    if (changed != line)
      mutants.push_back({what, changed});
  };
  if (has("\tbar\\.sync"))
    mutants.push_back({"dropped barrier", ""});
  if (has("\tst\\.(global|shared|local)"))
    mutants.push_back({"dropped store", ""});
  if (has("\t(atom|red)\\.")) {
    mutants.push_back({"dropped atomic", ""});
    change("swapped atomic", "\\.add\\.u32", ".max.u32");
    change("swapped atomic", "\\.min\\.", ".max.");
    change("swapped atomic", "\\.or\\.", ".xor.");
    change("swapped atomic", "\\.and\\.", ".or.");
  }
  if (has("\tshfl\\.")) {
    change("dropped shuffle", "shfl\\.sync\\.\\w+\\.b32 +(\t?%r\\d+)[^,]*, "
                              "(%r\\d+),.*;",
           "mov.b32 $1, $2;");
    change("shuffle by another offset", ", 16, 31", ", 8, 31");
    change("shuffle by another offset", ", (1|2|4|8), 31", ", 16, 31");
    change("shuffle by another offset", ", (2|4|8|16), 0,", ", 1, 0,");
    change("wrong mask", ", -1;", ", 65535;");
    change("other direction", "\\.up\\.", ".down.");
  }
  if (has("\tvote\\.")) {
    change("wrong mask", ", -1;", ", 1;");
    change("other vote", "\\.all\\.", ".any.");
  }
  if (has("\t(ld|st)\\.(global|shared|local)")) {
    change("shifted offset", "\\[([^\\]+]+)\\]", "[$1+4]");
    change("shifted offset", "\\[([^\\]+]+)\\]", "[$1+-4]");
    change("shifted offset", "\\+(\\d+)\\]", "+9$1]");
    change("widened vector", "(ld\\.[a-z.]+)\\.b32 +\t?(%r\\d+)",
           "$1.v2.b32 {$2, _}");
    change("widened vector", "(st\\.[a-z.]+)\\.b32 +\t?(\\[[^\\]]*\\]), "
                             "(%r\\d+)",
           "$1.v4.b32 $2, {$3, $3, $3, $3}");
    change("other element", "\\{(%r\\d+), (%r\\d+),", "{$2, $1,");
  }
  if (has("\tmov\\.u32.*%(tid|ctaid|ntid|nctaid)\\.")) {
    change("swapped index", "%tid\\.x", "%ctaid.x");
    change("swapped index", "%ctaid\\.x", "%tid.x");
    change("swapped index", "%tid\\.x", "%tid.y");
    change("swapped index", "%(ctaid|tid)\\.y", "%$1.x");
    change("swapped index", "%ntid\\.x", "%nctaid.x");
  }
  if (has("\tsetp\\.")) {
    change("wrong mask", "\\.(ge|gt)\\.", ".lt.");
    change("wrong mask", "\\.(le|lt)\\.", ".gt.");
    change("wrong mask", "\\.eq\\.", ".ne.");
    change("wrong mask", "\\.ne\\.", ".eq.");
  }
  change("negated guard", "@%p", "@!%p");
  if (has("\tand\\.b(32|64).*, 31;"))
    change("wrong mask", ", 31;", ", 15;");
  if (has("\tshl\\.|\tshr\\."))
    change("other shift", ", (\\d+);", ", 1$1;");
  if (!has("0f00000000"))
    change("other sum", "\tadd(\\.rn)?\\.f32", "\tsub$1.f32");
  change("other factor", "\tmul(\\.rn)?\\.f32", "\tadd$1.f32");
  return mutants;
}

struct Text {
  std::vector<std::string> lines;
  size_t first, last; // of the kernel
  std::string str() const {
    std::string text;
    for (const std::string &line : lines)
      text += line + "\n";
    return text;
  }
};

/// The module without the other kernels.
Text extract(const std::string &ptx, const std::string &kernel) {
  Text text;
  std::stringstream stream(ptx);
  bool isIn = false, isOther = false;
  for (std::string line; std::getline(stream, line);) {
    bool isEntry = line.find(".entry ") != line.npos;
    if (isEntry) {
      isIn = line.find(".entry " + kernel + "(") != line.npos;
      isOther = !isIn;
      if (isIn)
        text.first = text.lines.size();
    }
    if (!isOther)
      text.lines.push_back(line);
    if (line == "}") {
      if (isIn)
        text.last = text.lines.size();
      isIn = isOther = false;
    }
  }
  return text;
}

class Faults : public testing::TestWithParam<
                   std::pair<const char *, std::vector<const char *>>> {};

TEST_P(Faults, AreAllFound) {
  std::string ptx = readKernels();
  std::vector<LaunchOptions> orders = makeOrders();
  size_t planted = 0;
  for (const Case &one : makeCases()) {
    const auto &names = GetParam().second;
    if (std::find(names.begin(), names.end(), one.name) == names.end())
      continue;
    Text text = extract(ptx, one.name);
    for (size_t i = text.first; i < text.last; ++i) {
      std::string line = text.lines[i];
      for (const Mutant &mutant : mutantsOf(line)) {
        text.lines[i] = mutant.line;
        std::string changed = text.str();
        text.lines[i] = line;
        std::string label = one.name + ": " + mutant.what + ":" + line;
        ++planted;
        bool isFound = false;
        std::string error;
        for (LaunchOptions options : orders) {
          options.mostInstructions = 200'000;
          isFound = !runCase(one, changed, options, &error).isClean();
          if (isFound)
            break;
        }
        // What does not parse is no fault of this kind.
        EXPECT_EQ(error, "") << label << "\n" << mutant.line;
        EXPECT_TRUE(isFound) << label << "\n" << mutant.line;
      }
    }
  }
  EXPECT_GE(planted, 30u);
  RecordProperty("planted", static_cast<int>(planted));
}

INSTANTIATE_TEST_SUITE_P(
    Classes, Faults,
    testing::Values(
        std::pair("elementwise",
                  std::vector{"vector_add", "axpy", "halves", "lookups"}),
        std::pair("transposes", std::vector{"transpose"}),
        std::pair("reductions", std::vector{"row_sums", "tree_sum",
                                            "column_sums", "column_argmax"}),
        std::pair("layer_norm", std::vector{"layer_norm"}),
        std::pair("softmax", std::vector{"softmax"}),
        std::pair("shuffles", std::vector{"warp_scan", "compact"}),
        std::pair("atomics", std::vector{"histogram", "atomics"}),
        std::pair("calls", std::vector{"steps", "reverse_digits"})),
    [](const auto &info) { return std::string(info.param.first); });

} // namespace
