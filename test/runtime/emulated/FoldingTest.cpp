//===- FoldingTest.cpp - What ptxas makes of constants --------------------===//
//
// NVIDIA's assembler, where it is installed, computes instructions whose
// operands are constants. The result is an immediate operand of the code that
// it writes; the executor must give the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <unistd.h>

using namespace dist;
using namespace dist::emulated;

namespace {

const char *const kAssembler = "/usr/local/cuda/bin/ptxas";

/// Instructions on %a, %b and %c with 32 bits of result in %d; what stands
/// first says of which kind the operands are: f32 or integers.
const std::pair<char, const char *> kInstructions[] = {
    {'f', "add.rn.f32 %d, %a, %b;"},
    {'f', "add.rz.f32 %d, %a, %b;"},
    {'f', "sub.rn.ftz.f32 %d, %a, %b;"},
    {'f', "mul.rn.f32 %d, %a, %b;"},
    {'f', "mul.rn.ftz.f32 %d, %a, %b;"},
    {'f', "fma.rn.f32 %d, %a, %b, %c;"},
    {'f', "min.f32 %d, %a, %b;"},
    {'f', "max.f32 %d, %a, %b;"},
    {'f', "max.NaN.f32 %d, %a, %b;"},
    {'f', "neg.f32 %d, %a;"},
    {'f', "abs.f32 %d, %a;"},
    {'f', "copysign.f32 %d, %a, %b;"},
    {'f', "cvt.rni.s32.f32 %d, %a;"},
    {'f', "cvt.rzi.u32.f32 %d, %a;"},
    {'f', "cvt.rmi.s32.f32 %d, %a;"},
    {'f', "cvt.rpi.f32.f32 %d, %a;"},
    {'f', "cvt.sat.f32.f32 %d, %a;"},
    {'f', "setp.lt.f32 %p, %a, %b; selp.b32 %d, 7, 9, %p;"},
    {'f', "setp.neu.f32 %p, %a, %b; selp.b32 %d, 7, 9, %p;"},
    {'i', "add.s32 %d, %a, %b;"},
    {'i', "sub.s32 %d, %a, %b;"},
    {'i', "mul.lo.s32 %d, %a, %b;"},
    {'i', "mul.hi.u32 %d, %a, %b;"},
    {'i', "mul.hi.s32 %d, %a, %b;"},
    {'i', "mad.lo.s32 %d, %a, %b, %c;"},
    {'i', "and.b32 %d, %a, %b;"},
    {'i', "xor.b32 %d, %a, %b;"},
    {'i', "shl.b32 %d, %a, %n;"},
    {'i', "shr.s32 %d, %a, %n;"},
    {'i', "shr.u32 %d, %a, %n;"},
    {'i', "min.s32 %d, %a, %b;"},
    {'i', "max.u32 %d, %a, %b;"},
    {'i', "bfe.s32 %d, %a, %n, %m;"},
    {'i', "bfe.u32 %d, %a, %n, %m;"},
    {'i', "bfi.b32 %d, %a, %b, %n, %m;"},
    {'i', "prmt.b32 %d, %a, %b, 0x5410;"},
    {'i', "lop3.b32 %d, %a, %b, %c, 0xCA;"},
    {'i', "popc.b32 %d, %a;"},
    {'i', "clz.b32 %d, %a;"},
    {'i', "brev.b32 %d, %a;"},
    {'i', "abs.s32 %d, %a;"},
    {'i', "cvt.rn.f32.s32 %d, %a;"},
    {'i', "cvt.rn.f32.u32 %d, %a;"},
    {'i', "cvt.s32.s8 %d, %a;"},
    {'i', "setp.ge.s32 %p, %a, %b; selp.b32 %d, 7, 9, %p;"},
};

std::string kernelOf(size_t index, const std::string &body) {
  return ".visible .entry k" + std::to_string(index) +
         "(.param .u64 y)\n{\n.reg .b32 %a, %b, %c, %d, %n, %m;\n"
         ".reg .pred %p;\n.reg .b64 %x;\nld.param.u64 %x, [y];\n" +
         body + "\nst.global.b32 [%x], %d;\nret;\n}\n";
}

/// The code of a kernel in a cubin, 16 bytes an instruction.
std::string findCode(const std::string &cubin, const std::string &kernel) {
  auto read = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    if (at + bytes <= cubin.size())
      std::memcpy(&value, cubin.data() + at, bytes);
    return value;
  };
  uint64_t table = read(40, 8), count = read(60, 2), names = read(62, 2);
  uint64_t strings = read(table + 64 * names + 24, 8);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t section = table + 64 * i;
    if (kernel == cubin.c_str() + strings + read(section, 4))
      return cubin.substr(read(section + 24, 8), read(section + 32, 8));
  }
  return "";
}

/// The number that the code stores, if nothing is left to compute: what it
/// moves into a register as an immediate, or zero.
std::optional<uint32_t> findFolded(const std::string &code) {
  std::optional<uint32_t> folded = 0;
  for (size_t at = 0; at + 16 <= code.size(); at += 16) {
    uint64_t word;
    std::memcpy(&word, code.data() + at, 8);
    switch (word & 0xfff) {
    case 0x424: // IMAD.MOV.U32 with an immediate
    case 0x802: // MOV with an immediate
      folded = word >> 32;
      break;
    case 0x986: // STG
      return folded;
    case 0x624: // moves of parameters
    case 0xa02:
    case 0xab9:
      break;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

TEST(Folding, IsThatOfTheAssembler) {
  if (access(kAssembler, X_OK))
    GTEST_SKIP() << "skipped: " << kAssembler << " is not installed";
  std::mt19937 random(1);
  const uint32_t special[] = {0,          0x80000000, 1,          0x7f800000,
                              0xff800000, 0x7fc00000, 0x3f800000, 0x00800000,
                              0x7fffffff, 0x4f000000};
  std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n";
  std::vector<std::string> bodies;
  for (const auto &[kind, text] : kInstructions)
    for (int i = 0; i < 12; ++i) {
      std::string body;
      for (const char *name : {"%a", "%b", "%c"}) {
        uint32_t word = random() % 3 ? random()
                                     : special[random() % std::size(special)];
        // Floats of moderate size, so that not all sums are the larger one.
        if (kind == 'f' && random() % 3)
          word = (word & 0x807fffff) | (120 + random() % 16) << 23;
        body += std::string("mov.b32 ") + name + ", " + std::to_string(word) +
                ";\n";
      }
      body += "mov.b32 %n, " + std::to_string(random() % 40) +
              ";\nmov.b32 %m, " + std::to_string(random() % 34) + ";\n" + text;
      ptx += kernelOf(bodies.size(), body);
      bodies.push_back(body);
    }
  std::string folder = testing::TempDir();
  std::string source = folder + "/folding.ptx", output = folder + "/k.cubin";
  std::ofstream(source) << ptx;
  std::string command = std::string(kAssembler) + " -arch=sm_80 -o " + output +
                        " " + source;
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(output, std::ios::binary);
  std::string cubin((std::istreambuf_iterator<char>(file)), {});

  Memory memory;
  Module module(ptx, "folding.ptx", memory);
  auto *y = static_cast<uint32_t *>(memory.allocate(4, "y"));
  size_t compared = 0;
  for (size_t i = 0; i < bodies.size(); ++i) {
    std::string name = "k" + std::to_string(i);
    std::optional<uint32_t> folded =
        findFolded(findCode(cubin, ".text." + name));
    if (!folded)
      continue;
    ++compared;
    launch(module, name, {}, {&y});
    EXPECT_EQ(*y, *folded) << bodies[i];
  }
  RecordProperty("compared", static_cast<int>(compared));
  // It folds most of them.
  EXPECT_GE(compared, bodies.size() / 2);
}

} // namespace
