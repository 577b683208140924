//===- Operators.h - One function for every operator ------------*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_OPERATORS_H
#define DIST_TEST_GENERATOR_OPERATORS_H

#include <string>
#include <vector>

namespace mlir::dist::test {

/// A section of Inputs/operators.mlir: what it is, which sizes it takes, and
/// its text, in which letters stand for sizes.
struct Operator {
  std::string name, sizes, text;
};

/// Reads the file; ends the program where it is not there.
const std::vector<Operator> &getOperators();

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_OPERATORS_H
