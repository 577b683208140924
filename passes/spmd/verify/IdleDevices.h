//===- IdleDevices.h - Devices that have nothing to do ----------*- C++ -*-===//
//
// Where blocks are fewer than devices, and axes that split nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_VERIFY_IDLEDEVICES_H
#define DIST_PASSES_SPMD_VERIFY_IDLEDEVICES_H

#include "dialects/dist/IR/Dist.h"

#include <string>
#include <vector>

namespace mlir::dist {

/// In `modules` modules, of which `first` is one, `idle` of the `devices` along
/// some axes have no block of a dimension of that size.
struct IdlePlace {
  std::string axes, first;
  int64_t devices = 0, idle = 0, size = 0, modules = 0;
};

struct IdleDevices {
  /// Those over which nothing is split.
  std::vector<std::string> axes;
  std::vector<IdlePlace> places;
  /// Of the time of all devices for products: how much they wait.
  double share = 0;
};

/// What --dist-note-idle noted on a mesh; null means no mesh.
IdleDevices getIdleDevices(MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_VERIFY_IDLEDEVICES_H
