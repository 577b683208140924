//===- Fuzz.cpp - Cases by seed, checked and shrunk -----------------------===//

#include "test/generator/Fuzz.h"
#include "mlir/IR/Verifier.h"
#include "test/generator/RandomProgram.h"
#include "test/generator/Shrink.h"

using namespace mlir;
using namespace mlir::dist::test;

static std::string makeText(Choices &choices, StringRef only,
                            unsigned maxSteps) {
  std::unique_ptr<MLIRContext> context = makeContext();
  RandomProgram program(context.get(), choices);
  OwningOpRef<ModuleOp> module = program.make(only, maxSteps);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

FuzzCase mlir::dist::test::makeCase(uint64_t seed, StringRef only,
                                    unsigned maxSteps) {
  FuzzCase out;
  out.seed = seed;
  out.only = only.str();
  out.maxSteps = maxSteps;
  // Neighbouring seeds are to have nothing in common.
  Choices choices(seed * 0x9e3779b97f4a7c15ull + 1);
  out.text = makeText(choices, only, maxSteps);
  out.tape = choices.getTape();
  out.marks = choices.getMarks();
  out.options.seed = seed;
  out.options.throughText = seed % 8 == 7;
  return out;
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
        std::string next = makeText(choices, fuzzCase.only, fuzzCase.maxSteps);
        if (next.size() > text.size() ||
            checkApart(next, fuzzCase.options, seconds).getKind() != kind)
          return false;
        text = next;
        return true;
      });
  return shrinkText(text, fuzzCase.options, verdict, seconds);
}
