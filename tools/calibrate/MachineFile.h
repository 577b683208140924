//===- MachineFile.h - Measured figures as a machine file -------*- C++ -*-===//

#ifndef DIST_TOOLS_CALIBRATE_MACHINEFILE_H
#define DIST_TOOLS_CALIBRATE_MACHINEFILE_H

#include "passes/cost/Machine.h"

namespace mlir::dist {

/// Where the figures of each part of a machine file are from, in words.
struct MachineSources {
  std::string device, calls, overlap, link;
};

/// The text of a file that Machine::parse reads, of a machine with one link or
/// none.
std::string printMachine(const Machine &machine, const MachineSources &sources);

} // namespace mlir::dist

#endif // DIST_TOOLS_CALIBRATE_MACHINEFILE_H
