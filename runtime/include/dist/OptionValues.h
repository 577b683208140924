//===- OptionValues.h - Values of shared command-line options ---*- C++ -*-===//
//
// Values of --input of dist-exec and dist-run. Apart from the executor because
// .pb files need protobuf.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_OPTIONVALUES_H
#define DIST_OPTIONVALUES_H

#include "dist/Executor.h"

namespace dist {

/// Reads NAME=FILE.npy, NAME=FILE.pb and NAME=random[:SEED]; the dtype and
/// shape of random values are those of the program's input (integers are 0 to
/// 15). Throws Error for options that are malformed, given twice, or name what
/// is no input of the program.
Inputs readInputs(const std::vector<std::string> &options,
                  const Manifest &manifest);

/// The shapes of those inputs that files give. Throws Error for files that
/// cannot be read.
std::map<std::string, Shape>
readInputShapes(const std::vector<std::string> &options);

} // namespace dist

#endif // DIST_OPTIONVALUES_H
