//===- Shrink.h - Small modules that fail the same way ----------*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_SHRINK_H
#define DIST_TEST_GENERATOR_SHRINK_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dist::test {

/// Makes a tape of choices shorter and its numbers smaller while `fails` holds
/// for it. `marks` say where the parts begin.
std::vector<uint32_t>
shrinkTape(std::vector<uint32_t> tape, std::vector<size_t> marks,
           llvm::function_ref<bool(const std::vector<uint32_t> &)> fails);

/// Takes ops, results and placements out of a module while `fails` holds for
/// its text.
std::string shrinkModule(std::string text,
                         llvm::function_ref<bool(llvm::StringRef)> fails);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_SHRINK_H
