//===- ModelArgument.h - The program that a tool is given -------*- C++ -*-===//

#ifndef DIST_MODELARGUMENT_H
#define DIST_MODELARGUMENT_H

#include "dist/Tensor.h"

#include <string>
#include <vector>

namespace dist {

/// Throws Error unless a command line has one model. `forms` are what the tool
/// takes for one, as in "IN.mlir or OUT.dist".
inline void checkModel(const std::vector<std::string> &given,
                       const std::string &forms) {
  if (given.empty())
    throw Error("no model: give " + forms + " (--help lists the options)");
  if (given.size() > 1)
    throw Error("'" + given[0] + "' and '" + given[1] +
                "' are two models: give one (--help lists the options)");
}

} // namespace dist

#endif // DIST_MODELARGUMENT_H
