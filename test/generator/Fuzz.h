//===- Fuzz.h - Cases by seed, checked and shrunk ---------------*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_FUZZ_H
#define DIST_TEST_GENERATOR_FUZZ_H

#include "test/generator/Check.h"
#include <vector>

namespace mlir::dist::test {

struct FuzzCase {
  uint64_t seed;
  std::string only;
  unsigned maxSteps;
  int64_t scale = 1;
  /// Not placed, and hard on buffers (FamiliesBuffers.cpp).
  bool isForBuffers = false;
  /// The program that was placed, if it is not random.
  std::string program;
  std::string text;
  CheckOptions options;
  /// The choices that made it.
  std::vector<uint32_t> tape;
  std::vector<size_t> marks;
};

/// The module of a seed, of up to `maxSteps` families of ops; `only` names one
/// of them, or is empty.
FuzzCase makeCase(uint64_t seed, llvm::StringRef only = "",
                  unsigned maxSteps = 9);

/// A program that is hard on buffers, for one rank, and exact.
FuzzCase makeBufferCase(uint64_t seed, llvm::StringRef only = "",
                        unsigned maxSteps = 12);

/// A random program of some families (their names, with commas between), all
/// sizes of which are multiples of `scale`: too large to be run.
std::string makeScaledProgram(uint64_t seed, llvm::StringRef families,
                              int64_t scale);
/// A module without placements, placed at random.
FuzzCase makePlacedCase(uint64_t seed, llvm::StringRef program);
/// The modules of a file, split at its `// -----` lines.
std::vector<std::string> readPrograms(llvm::StringRef path);

/// A number that the environment sets for tests.
uint64_t fromEnvironment(const char *name, uint64_t otherwise);

/// A small module that fails as the case does.
std::string shrinkCase(const FuzzCase &fuzzCase, const Verdict &verdict,
                       unsigned seconds);
std::string shrinkText(std::string text, const CheckOptions &options,
                       const Verdict &verdict, unsigned seconds);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_FUZZ_H
