//===- Fuzz.cpp - Cases by seed, checked and shrunk -----------------------===//

#include "test/generator/Fuzz.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/generator/RandomProgram.h"
#include "test/generator/Shrink.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::dist::test;

static std::string makeText(Choices &choices, const FuzzCase &made) {
  std::unique_ptr<MLIRContext> context = makeContext();
  RandomProgram program(context.get(), choices, made.scale,
                        made.isForBuffers ? RandomProgram::Style::Buffers
                                          : RandomProgram::Style::Placed);
  OwningOpRef<ModuleOp> module;
  if (made.program.empty()) {
    module = program.make(made.only, made.maxSteps);
  } else {
    module = parseSourceString<ModuleOp>(
        made.program, ParserConfig(context.get()), "program.mlir");
    if (!module)
      return made.program;
    placeProgram(program, *module);
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

static void fill(FuzzCase &out, uint64_t seed) {
  out.seed = seed;
  // Neighbouring seeds are to have nothing in common.
  Choices choices(seed * 0x9e3779b97f4a7c15ull + 1);
  out.text = makeText(choices, out);
  out.tape = choices.getTape();
  out.marks = choices.getMarks();
  out.options.seed = seed;
  out.options.throughText = seed % 8 == 7;
  out.options.fromLevel2 = seed % 8 == 6;
  out.options.forgetsSizes = seed % 8 == 5;
  out.options.fusesTransposes = seed % 3 == 2;
}

FuzzCase mlir::dist::test::makeCase(uint64_t seed, StringRef only,
                                    unsigned maxSteps) {
  FuzzCase out;
  out.only = only.str();
  out.maxSteps = maxSteps;
  fill(out, seed);
  return out;
}

FuzzCase mlir::dist::test::makeBufferCase(uint64_t seed, StringRef only,
                                          unsigned maxSteps) {
  FuzzCase out;
  out.only = only.str();
  out.maxSteps = maxSteps;
  out.isForBuffers = true;
  fill(out, seed);
  out.options.isExact = true;
  out.options.forgetsSizes = false;
  return out;
}

std::string mlir::dist::test::makeScaledProgram(uint64_t seed,
                                                StringRef families,
                                                int64_t scale) {
  FuzzCase out;
  out.only = families.str();
  out.maxSteps = 9;
  out.scale = scale;
  fill(out, seed);
  return out.text;
}

FuzzCase mlir::dist::test::makePlacedCase(uint64_t seed, StringRef program) {
  FuzzCase out;
  out.program = program.str();
  fill(out, seed);
  // Their bodies may say sizes that the rest must not forget.
  out.options.forgetsSizes = false;
  return out;
}

std::vector<std::string> mlir::dist::test::readPrograms(StringRef path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    llvm::report_fatal_error(path + ": " + file.getError().message());
  SmallVector<StringRef> modules;
  (*file)->getBuffer().split(modules, "// -----\n");
  return {modules.begin(), modules.end()};
}

std::string mlir::dist::test::shrinkText(std::string text,
                                         const CheckOptions &options,
                                         const Verdict &verdict,
                                         unsigned seconds) {
  std::string kind = verdict.getKind();
  return shrinkModule(std::move(text), [&](StringRef smaller) {
    return checkApart(smaller, options, seconds).getKind() == kind;
  });
}

std::string mlir::dist::test::shrinkCase(const FuzzCase &fuzzCase,
                                         const Verdict &verdict,
                                         unsigned seconds) {
  std::string kind = verdict.getKind();
  std::string text = fuzzCase.text;
  shrinkTape(
      fuzzCase.tape, fuzzCase.marks, [&](const std::vector<uint32_t> &tape) {
        Choices choices(tape);
        std::string next = makeText(choices, fuzzCase);
        if (next.size() > text.size() ||
            checkApart(next, fuzzCase.options, seconds).getKind() != kind)
          return false;
        text = next;
        return true;
      });
  return shrinkText(text, fuzzCase.options, verdict, seconds);
}

uint64_t mlir::dist::test::fromEnvironment(const char *name,
                                           uint64_t otherwise) {
  const char *given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}
