//===- NamePatternTest.cpp - Patterns beside another matcher of them ------===//

#include "passes/schedule/names/NamePattern.h"
#include "passes/schedule/names/NameTrie.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>
#include <regex>
#include <tuple>

using namespace mlir;
using namespace mlir::dist;

namespace {
using Random = std::mt19937;

size_t pick(Random &random, size_t count) { return random() % count; }

/// A regular expression of names of a, b and dots.
std::string makeRegex(Random &random, int depth) {
  static const char *const atoms[] = {"a",    "b",    "\\.",        ".",
                                      "[^.]", "[ab]", "[[:alpha:]]"};
  static const char *const repetitions[] = {"*",     "+",    "?",  "{2}",
                                            "{0,2}", "{1,}", "{0}"};
  if (depth == 0 || pick(random, 3) == 0)
    return atoms[pick(random, std::size(atoms))];
  std::string one = makeRegex(random, depth - 1);
  switch (pick(random, 6)) {
  case 0:
    return "(" + one + "|" + makeRegex(random, depth - 1) + ")";
  case 1:
    return "(" + one + ")" + repetitions[pick(random, std::size(repetitions))];
  case 2:
    return depth < 4 ? one : "(ab|a|abb|" + one + "|ba|ab\\.)";
  case 3:
    return depth < 4 ? one : ".*" + one;
  default:
    return one + makeRegex(random, depth - 1);
  }
}

std::string makeName(Random &random) {
  std::string name;
  for (size_t i = pick(random, 7) + 1; i > 0; --i)
    name += "ab."[pick(random, 3)];
  return name;
}

/// Makes the tree sort suffixes, as it does after some work.
void lookUntilSorted(const NameTrie &trie) {
  std::string error;
  for (int i = 0; i < 20; ++i)
    trie.match(*NamePattern::parse("**", error));
}
} // namespace

/// All names at once and each alone, beside the C++ library's matcher.
TEST(NamePattern, MatchesWhatTheLibraryMatches) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::string regex = makeRegex(random, 4), error;
    std::optional<NamePattern> pattern =
        NamePattern::parse("/" + regex + "/", error);
    ASSERT_TRUE(pattern) << regex << ": " << error;
    std::regex expected(regex, std::regex::extended);
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i)
      names.push_back(makeName(random));
    NameTrie trie;
    for (const std::string &name : names)
      trie.insert(name);
    SmallVector<unsigned> found = trie.match(*pattern);
    lookUntilSorted(trie);
    EXPECT_EQ(trie.match(*pattern), found) << regex;
    for (unsigned node = NameTrie::kRoot + 1; node < trie.size(); ++node) {
      std::string name = trie.getName(node).str();
      bool is = std::regex_match(name, expected);
      EXPECT_EQ(pattern->matches(name), is) << regex << " on " << name;
      EXPECT_EQ(llvm::is_contained(found, node), is) << regex << " on " << name;
    }
  }
}

/// Perl's escapes, alone and in brackets, of which a ']' may be the first.
TEST(NamePattern, EscapesOfPerl) {
  struct {
    const char *regex, *name;
    bool matches;
  } const cases[] = {
      {R"(/h\.\d+\.\w+/)", "h.12.ln_1", true},
      {R"(/h\.\d+/)", "h.x", false},
      {R"(/\D+/)", "ab", true},
      {R"(/\D+/)", "a1", false},
      {R"(/[\d_]+/)", "1_2", true},
      {R"(/[]\d]+/)", "]5", true},
      {R"(/[]\d]+/)", "d", false},
      {R"(/[^]\d]/)", "a", true},
      {R"(/[^]\d]/)", "5", false},
      {R"(/[[:alpha:]\d]+/)", "a1", true},
      {R"(/(?:a|b)+?\.c/)", "ab.c", true},
  };
  for (const auto &[regex, name, matches] : cases) {
    std::string error;
    std::optional<NamePattern> pattern = NamePattern::parse(regex, error);
    ASSERT_TRUE(pattern) << regex << ": " << error;
    EXPECT_EQ(pattern->matches(name), matches) << regex << " on " << name;
  }
}

TEST(NamePattern, ManyNumbersAndManyNames) {
  std::string error;
  NameTrie trie;
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i)
    names.push_back("layers." + std::to_string(i) + ".act");
  for (const std::string &name : names)
    trie.insert(name);
  auto count = [&](StringRef text) {
    auto pattern = NamePattern::parse(text, error);
    return pattern ? static_cast<int>(trie.match(*pattern).size()) : -1;
  };
  EXPECT_EQ(count("layers.{1..4000}.*"), 4000);
  EXPECT_EQ(count("layers.{7..65541}.a?t"), 4993);
  EXPECT_EQ(count("layers.17.act"), 1);
  EXPECT_EQ(count("layers.**"), 10000);
  EXPECT_EQ(count("**"), 10001);
  EXPECT_EQ(count(""), 1); // the model itself
  EXPECT_EQ(count("**.4???.act"), 1000);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(count("/(layers|blocks)." + std::to_string(i) + ".act/"), 1);
}

/// Patterns that may begin with anything; the names that they match are known.
TEST(NamePattern, ManyPatternsThatBeginWithAnything) {
  std::string error;
  NameTrie trie;
  std::vector<std::string> names;
  for (int i = 0; i < 4000; ++i)
    names.push_back("model.layers." + std::to_string(i) + ".mlp.act");
  for (const std::string &name : names)
    trie.insert(name);
  for (int i = 0; i < 4000; ++i)
    for (auto [before, after, count] :
         {std::tuple{"/.*layers.", ".mlp.act/", 1},
          {"/.*\\.layers\\.", "\\..*/", 2},
          {"/(.*)(model)(.*)[._]", "[._]m.*/", 2},
          {"/model.*[._]", "[._].*act/", 1},
          {"/(.*layers.", ".mlp.act|.*blocks.0.norm)/", 1},
          {"/^.*\\.", "\\.[a-z]+[.]act$/", 1},
          {"**.", ".mlp.act", 1},
          {"**.", "", 1},
          {"model.**.", ".**.act", 1}}) {
      std::string text = before + std::to_string(i) + after;
      auto pattern = NamePattern::parse(text, error);
      ASSERT_TRUE(pattern) << error;
      SmallVector<unsigned> found = trie.match(*pattern);
      ASSERT_EQ(found.size(), static_cast<size_t>(count)) << text;
      EXPECT_TRUE(trie.getName(found.front())
                      .starts_with("model.layers." + std::to_string(i)));
    }
  // All alternatives at once; names that are added later.
  EXPECT_EQ(trie.match(*NamePattern::parse("**.{0..9999}.m*", error)).size(),
            4000u);
  trie.insert("other.layers.17.mlp.act");
  auto added = NamePattern::parse("/.*layers.17.mlp.*/", error);
  EXPECT_EQ(trie.match(*added).size(), 4u);
}

/// One name of many components, each of which is a name, too.
TEST(NamePattern, DeepNames) {
  std::string name = "a", error;
  for (int i = 0; i < 20000; ++i)
    name += ".a";
  NameTrie trie;
  trie.insert(name);
  EXPECT_EQ(trie.match(*NamePattern::parse("a.*", error)).size(), 1u);
  EXPECT_EQ(trie.match(*NamePattern::parse("**", error)).size(), 20001u);
  lookUntilSorted(trie);
  EXPECT_EQ(trie.match(*NamePattern::parse("/.*a.a/", error)).size(), 20000u);
  EXPECT_EQ(trie.match(*NamePattern::parse("/.*a.b/", error)).size(), 0u);
}

TEST(NamePattern, RepetitionsAreBounded) {
  std::string error;
  EXPECT_TRUE(NamePattern::parse("/(a{10}){100}/", error));
  for (const char *text :
       {"/(a{11}){100}/", "/((a{1,20}){1,20}){1,20}/", "/a{1001,}/",
        "/(b|(a{2}c){2,}){251}/", "/a{99999999999999999999}/"})
    EXPECT_FALSE(NamePattern::parse(text, error)) << text;
}
