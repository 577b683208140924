//===- Operators.cpp - One function for every operator --------------------===//

#include "test/generator/Operators.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir::dist;
using namespace mlir::dist::test;

static std::vector<Operator> readOperators() {
  std::vector<Operator> out;
  auto file =
      llvm::MemoryBuffer::getFile("test/generator/Inputs/operators.mlir");
  if (!file)
    llvm::report_fatal_error("test/generator/Inputs/operators.mlir: no file");
  llvm::SmallVector<llvm::StringRef> sections;
  (*file)->getBuffer().split(sections, "// ----- ");
  for (llvm::StringRef section : llvm::ArrayRef(sections).drop_front()) {
    auto [title, text] = section.split('\n');
    auto [name, sizes] = title.rtrim().rsplit(' ');
    out.push_back({name.str(), sizes.str(), text.str()});
  }
  return out;
}

const std::vector<Operator> &mlir::dist::test::getOperators() {
  static const std::vector<Operator> operators = readOperators();
  return operators;
}
