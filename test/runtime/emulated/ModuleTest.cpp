//===- ModuleTest.cpp - What is no PTX, and what is not supported ---------===//

#include "runtime/emulated/Executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

using namespace dist;
using namespace dist::emulated;

namespace {

const char *const kHead = ".version 7.8\n.target sm_90\n.address_size 64\n";

/// The message of parsing, or nothing.
std::string parse(const std::string &ptx) {
  Memory memory;
  try {
    Module module(ptx, "m.ptx", memory);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Of one instruction, which stands in line 9.
std::string parseInstruction(const std::string &text) {
  return parse(std::string(kHead) +
               ".visible .entry k(.param .u64 p)\n{\n"
               ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b64 %rd<9>;\n"
               ".reg .b32 %r<9>; .shared .b8 s[64];\n"
               "$L:\n" +
               text + "\nret;\n}\n");
}

TEST(Module, MessagesNameTheLine) {
  EXPECT_EQ(parse(""), "m.ptx:1: a module begins with .version");
  EXPECT_EQ(parse("\n\n.version 9.5"),
            "m.ptx:3: PTX '9.5' is not known; versions 6.0 to 8.8 are");
  EXPECT_EQ(parse(".version 7.0\n.global .u32 x;\n"),
            "m.ptx:2: .target comes before '.global'");
  EXPECT_EQ(parse(std::string(kHead) + ".tex .u64 t;\n"),
            "m.ptx:4: the directive '.tex' is not supported");
  EXPECT_EQ(parse(std::string(kHead) + ".entry k() { ret;"),
            "m.ptx:4: expected an instruction before the end");
  EXPECT_EQ(parse(std::string(kHead) + "/* no end"),
            "m.ptx:4: a comment without its end");
  EXPECT_EQ(parse(std::string(kHead) + ".global .b8 x[300000000];"),
            "m.ptx:4: an array's size '300000000' is beyond 67108864");
  EXPECT_EQ(parse(std::string(kHead) + ".global .b8 x[40000000];\n"
                                       ".global .b8 y[40000000];"),
            "m.ptx:5: more than 67108864 bytes of variables");
  EXPECT_EQ(parse(std::string(kHead) + ".extern .global .u32 x;"),
            "m.ptx:4: 'x' is defined in no module");
  EXPECT_EQ(parse(std::string(kHead) + ".global .u32 x[2] = {1, 2, 3};"),
            "m.ptx:4: more values than the variable has elements");
}

TEST(Module, InstructionsThatAreUnknownAreErrors) {
  struct Line {
    const char *text, *message;
  };
  const Line lines[] = {
      {"wgmma.fence.sync.aligned;",
       "the instruction 'wgmma.fence.sync.aligned' is not supported"},
      {"add.foo.s32 %r1, %r2, %r3;", "expected a type instead of '.foo'"},
      {"clz.b32.foo %r1, %r2;", "'.foo' of 'clz.b32.foo' is not supported"},
      {"add.s32.foo %r1, %r2, %r3;",
       "the type .s32 of 'add.s32.foo' is not supported"},
      {"add.s32 %r1, %r2;", "'add.s32' has 2 operands"},
      {"add.s32 %r1, %r2, %rd3;",
       "an operand of 'add.s32' is a register of 64 bits"},
      {"add.s64 %r1, %rd2, %rd3;",
       "the result of 'add.s64' goes to a register of 32 bits"},
      {"add.f32 %r1, %r2, 1;", "an operand of 'add.f32' is an integer"},
      {"add.s16 %h1, %h2, 70000;",
       "an operand of 'add.s16' does not fit 16 bits"},
      {"mov.b32 %r1, %r9;", "there is no '%r9'"},
      {"mov.b32 %r1, %warpsize;", "there is no '%warpsize'"},
      {"@%r1 bra $L;", "'%r1' is no predicate"},
      {"bra $M;", "the label '$M' is not defined in this function"},
      {"$L: ret;", "the label '$L' is there twice"},
      {"ld.global.v2.b32 %r1, [%rd1];",
       "the vector of 'ld.global.v2.b32' has another size"},
      {"ld.global.v4.b64 {%rd1, %rd2, %rd3}, [%rd1];",
       "the vector of 'ld.global.v4.b64' has another size"},
      {"ld.b128 %rd1, [%rd1];", "expected a type instead of '.b128'"},
      {"ld.global.b32 %r1, %rd1;",
       "an operand of 'ld.global.b32' is no address"},
      {"ld.param.b32 %r1, [s];", "'s' lies in another space"},
      {"cvt.f32.s32 %r1, %r2;", "'cvt.f32.s32' is not supported"},
      {"cvt.u32.f32 %r1, %r2;", "'cvt.u32.f32' is not supported"},
      {"cvt.rna.tf32.f32 %r1, %r2;", "expected a type instead of '.rna'"},
      {"ex2.f32 %r1, %r2;",
       "'ex2.f32' is not supported: expected .approx"},
      {"setp.lo.s32 %p1, %r1, %r2;", "'setp.lo.s32' is not supported"},
      {"shfl.bfly.b32 %r1, %r2, 1, 31;",
       "'shfl.bfly.b32' is not supported: expected one of .sync"},
      {"call foo;", "there is no function 'foo'"},
      {"call (p), %rd1, (p);",
       "calls by pointers to functions are not supported"},
      {"atom.global.add.b32 %r1, [%rd1], 1;",
       "the type .b32 of 'atom.global.add.b32' is not supported"},
      {"mov.b32 %r1, 12z;", "'12z' is no number"},
      {"st.const.b32 [%rd1], %r1;", "'st.const.b32' is not supported"},
  };
  for (const Line &line : lines)
    EXPECT_EQ(parseInstruction(line.text),
              std::string("m.ptx:9: ") + line.message)
        << line.text;
  EXPECT_EQ(parseInstruction("add.s32 %r1, %r2, 0x10;"), "");
  // Any offset is an address, which a launch judges.
  EXPECT_EQ(parseInstruction("ld.b32 %r1, [s+0x7fffffffffffffff];"), "");
}

TEST(Module, FunctionsAreChecked) {
  std::string text = std::string(kHead) +
                     ".func f(.param .b32 a) { .param .b32 x; call g, (x); "
                     "ret; }\n";
  EXPECT_EQ(parse(text), "m.ptx:4: there is no function 'g'");
  text = std::string(kHead) +
         ".func g(.param .b32 a);\n"
         ".func f(.param .b32 a) { .param .b32 x; call g, (x); ret; }\n";
  EXPECT_EQ(parse(text), "m.ptx:5: the function 'g' is defined in no module");
  text += ".func g(.param .b32 a) { .param .b32 x; call f, (x); ret; }\n";
  EXPECT_EQ(parse(text),
            "m.ptx:6: the function 'g' calls itself, which is not supported");
}

/// Memory is asked for what is used, not for what is declared.
TEST(Module, DeclarationsTakeNoMemory) {
  EXPECT_EQ(parse(std::string(kHead) +
                  ".entry k() { .reg .b64 %rd<1000000000>;\n"
                  "mov.b64 %rd999999999, 1; ret; }"),
            "");
  EXPECT_EQ(parse(std::string(kHead) +
                  ".entry k() { .local .b8 l[600000]; ret; }"),
            "m.ptx:4: an array's size '600000' is beyond 524288");
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += "{";
  EXPECT_EQ(parse(std::string(kHead) + ".entry k() {" + deep),
            "m.ptx:4: blocks are nested too deep");
}

TEST(Module, LaunchesAreChecked) {
  Memory memory;
  Module module(std::string(kHead) +
                    ".visible .entry k(.param .u32 n) .maxntid 64, 2\n{\n"
                    ".shared .b8 s[1024];\nret;\n}\n",
                "m.ptx", memory);
  uint32_t n = 1;
  auto message = [&](const LaunchShape &shape,
                     const std::vector<const void *> &arguments,
                     const std::string &name = "k") -> std::string {
    try {
      launch(module, name, shape, arguments);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({{1, 1, 1}, {64, 2, 1}, 0}, {&n}), "");
  EXPECT_EQ(message({}, {&n}, "q"),
            "m.ptx: there is no kernel 'q'; known are: k");
  EXPECT_EQ(message({}, {}), "m.ptx: kernel 'k': it has 1 parameters, but 0 "
                             "arguments are given");
  EXPECT_EQ(message({{1, 1, 1}, {64, 3, 1}, 0}, {&n}),
            "m.ptx: kernel 'k': a block of 64 x 3 x 1 threads; .maxntid says "
            "64 x 2 x 1");
  EXPECT_EQ(message({{1, 1, 1}, {0, 1, 1}, 0}, {&n}),
            "m.ptx: kernel 'k': a block of 0 x 1 x 1 threads; 1 to 1024 in all "
            "are possible");
  EXPECT_EQ(message({{1, 70000, 1}, {1, 1, 1}, 0}, {&n}),
            "m.ptx: kernel 'k': a grid of 1 x 70000 x 1 blocks; 1 to 134217725 "
            "in all are possible, 65535 along y and z");
  EXPECT_EQ(message({{1, 1, 1}, {1, 1, 1}, 300'000}, {&n}),
            "m.ptx: kernel 'k': 301025 bytes of shared memory; a block has "
            "232448");
}

TEST(Module, VariablesLiveAsLongAsIt) {
  Memory memory;
  void *data = nullptr;
  {
    Module module(std::string(kHead) +
                      ".global .align 8 .b32 a[3] = {1, 2};\n"
                      ".const .f32 pi = 0f40490FDB;\n"
                      ".global .u64 p[2] = {a, generic(a)+8};\n",
                  "m.ptx", memory);
    auto [a, bytes] = module.variable("a");
    data = a;
    ASSERT_EQ(bytes, 12u);
    const uint32_t want[] = {1, 2, 0};
    EXPECT_EQ(std::memcmp(a, want, 12), 0);
    float pi;
    std::memcpy(&pi, module.variable("pi").first, 4);
    EXPECT_FLOAT_EQ(pi, 3.14159265f);
    uint64_t pointers[2];
    std::memcpy(pointers, module.variable("p").first, 16);
    EXPECT_EQ(pointers[0], reinterpret_cast<uint64_t>(a));
    EXPECT_EQ(pointers[1], reinterpret_cast<uint64_t>(a) + 8);
    EXPECT_NE(memory.find(pointers[0], 12), nullptr);
    EXPECT_EQ(memory.find(pointers[0], 13), nullptr);
    EXPECT_EQ(module.variable("q").first, nullptr);
  }
  EXPECT_EQ(memory.find(reinterpret_cast<uint64_t>(data), 4), nullptr);
}

TEST(Memory, BuffersDoNotOverlap) {
  Memory memory;
  char data[256];
  memory.add(data + 64, 64, "a", true);
  EXPECT_THROW(memory.add(data, 65, "b", true), Error);
  EXPECT_THROW(memory.add(data + 127, 4, "b", true), Error);
  EXPECT_THROW(memory.add(data, 0, "b", true), Error);
  memory.add(data, 64, "b", false);
  memory.add(data + 128, 64, "c", true);
  EXPECT_EQ(memory.countUnwritten(data, 64), 64u);
  memory.setWritten(data + 3, 50);
  EXPECT_EQ(memory.countUnwritten(data, 64), 14u);
  EXPECT_EQ(memory.findUnwritten(data + 3, 60), 50u);
  EXPECT_THROW(memory.setWritten(data + 60, 8), Error);
  memory.remove(data);
  EXPECT_THROW(memory.remove(data), Error);
  EXPECT_THROW(memory.allocate(0, "d"), Error);
  EXPECT_THROW(memory.allocate(~uint64_t(0) - 99, "d"), Error);
}

/// Any prefix of a real module is an error or a module, never a crash.
TEST(Module, PrefixesOfModules) {
  std::ifstream file("test/runtime/emulated/Inputs/kernels.ptx");
  std::string ptx((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(ptx.size(), 10'000u);
  for (size_t size = 0; size < ptx.size(); size += 997)
    parse(ptx.substr(0, size));
}

} // namespace
