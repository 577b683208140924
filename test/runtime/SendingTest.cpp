//===- SendingTest.cpp - What rank 0 sends before a run -------------------===//
//
// What the others make of it, of their own host or of another, also where the
// root says what cannot be.
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Sending.h"
#include "dist/Signals.h"
#include "test/runtime/Bundles.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace dist;
using namespace dist::sending;
using namespace dist::test;
namespace fs = std::filesystem;

namespace {

class Sending : public testing::Test {
protected:
  void SetUp() override {
    fs::create_directories(temporary);
    setenv("TMPDIR", temporary.c_str(), 1);
  }
  /// Nothing is left, whatever has come.
  void TearDown() override { EXPECT_TRUE(fs::is_empty(temporary)); }

  Message offer(const std::string &host, const std::string &manifest) const {
    return {Offer, Offered{host, bundle, manifest, "hi"}.write()};
  }
  static Message bytes(uint64_t number, const std::string &data) {
    return {Bytes, Piece{number, data}.write()};
  }
  /// What is said in the end after these questions.
  static std::string wrongIn(const std::vector<Message> &questions) {
    SentProgram sent;
    for (const Message &question : questions)
      sent.answer(question);
    EXPECT_TRUE(sent.isDone());
    return errorOf([&] { sent.get(); });
  }

  const std::string temporary = testing::TempDir() + "/sending";
  const std::string bundle = makeBundle(
      std::string(
          testing::UnitTest::GetInstance()->current_test_info()->name()) +
          ".dist",
      makeManifest());
  const std::string manifest = readFile(bundle + "/manifest.json");
  const std::string program = readFile(bundle + "/program.so");
};

TEST_F(Sending, OfTheSameHostNothing) {
  SentProgram sent;
  EXPECT_EQ(sent.answer(offer(machineName(), manifest)).text, kHas);
  ASSERT_TRUE(sent.isDone());
  EXPECT_TRUE(sent.get().entry);
  EXPECT_EQ(sent.text(), "hi");
}

TEST_F(Sending, OfAnotherHostTheBytes) {
  SentProgram sent;
  EXPECT_EQ(sent.answer(offer("another", manifest)).text, "");
  size_t half = program.size() / 2;
  sent.answer(bytes(0, program.substr(0, half)));
  sent.answer(bytes(0, program.substr(half)));
  EXPECT_FALSE(sent.isDone());
  sent.answer({Whole, ""});
  ASSERT_TRUE(sent.isDone());
  EXPECT_TRUE(sent.get().entry);
  EXPECT_TRUE(fs::is_empty(temporary));
}

TEST_F(Sending, AnotherBundleOfThatNameIsNotTaken) {
  SentProgram sent;
  EXPECT_EQ(sent.answer(offer(machineName(), manifest + " ")).text, "");
  EXPECT_FALSE(sent.isDone());
}

TEST_F(Sending, WhatCannotBeIsAnError) {
  Message another = offer("another", manifest);
  EXPECT_TRUE(contains(wrongIn({another, bytes(0, program + "x")}),
                       "more of a program than there is"));
  EXPECT_TRUE(contains(wrongIn({another, bytes(7, "x")}),
                       "more of a program than there is"));
  EXPECT_TRUE(
      contains(wrongIn({another, {Whole, ""}}), "the bundle is incomplete"));
  std::string other(program.size(), 'x');
  EXPECT_TRUE(contains(wrongIn({another, bytes(0, other), {Whole, ""}}),
                       "its checksum differs"));
  EXPECT_TRUE(contains(wrongIn({bytes(0, "x")}), "more of a program"));
  EXPECT_TRUE(contains(wrongIn({{Whole, ""}}), "without saying which"));
  EXPECT_TRUE(contains(wrongIn({another, another}), "without saying which"));
  EXPECT_TRUE(contains(wrongIn({{Offer, "short"}}), "cut short"));
  EXPECT_FALSE(wrongIn({offer("another", "{}")}).empty());
  Manifest out = makeManifest();
  out.program = "../program.so";
  EXPECT_FALSE(wrongIn({offer("another", out.toJson())}).empty());
}

TEST_F(Sending, PartsOfInputs) {
  Manifest own = makeManifest();
  size_t index = own.arguments.size() - 1;
  const TensorDesc &desc = own.arguments[index];
  auto part = [](uint64_t index, const std::string &data) {
    Message message = bytes(index, data);
    message.kind = Part;
    return message;
  };
  SentParts none(own, {}, /*hasProgram=*/true);
  EXPECT_TRUE(none.isDone());
  EXPECT_NE(errorOf([&] { none.answer(part(index, "x")); }), "");
  SentParts parts(own, {index}, /*hasProgram=*/false);
  EXPECT_TRUE(contains(errorOf([&] { parts.answer({Offer, ""}); }),
                       "has a bundle"));
  std::string data(desc.localBytes(), 1);
  parts.answer(part(index, data.substr(0, 5)));
  EXPECT_FALSE(parts.isDone());
  EXPECT_TRUE(contains(errorOf([&] { parts.answer(part(index, data)); }),
                       "more of an input than there is"));
  parts.answer(part(index, data.substr(5)));
  // The root has not said yet that no program comes.
  EXPECT_FALSE(parts.isDone());
  parts.answer({Nothing, ""});
  EXPECT_TRUE(parts.isDone());
  EXPECT_EQ(std::memcmp(parts.get().at(index).data, data.data(), data.size()),
            0);
}

} // namespace
