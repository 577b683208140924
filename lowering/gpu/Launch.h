//===- Launch.h - How a kernel is launched ----------------------*- C++ -*-===//

#ifndef DIST_LOWERING_GPU_LAUNCH_H
#define DIST_LOWERING_GPU_LAUNCH_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::dist {

/// On a kernel: the number of its blocks.
inline constexpr llvm::StringLiteral kBlocksAttr = "rt.blocks";
/// On the declaration of a kernel that is the device's: its number.
inline constexpr llvm::StringLiteral kNumberAttr = "rt.number";
/// On memref.get_global of the host: the device's copy is meant.
inline constexpr llvm::StringLiteral kOnDeviceAttr = "rt.on_device";
/// The module of kernels.
inline constexpr llvm::StringLiteral kDeviceModule = "dist_device";

/// The threads of a block, of any kernel. So the order of a sum depends on its
/// length alone.
inline constexpr int64_t kThreads = 256;
/// The most blocks of a launch.
inline constexpr int64_t kMostBlocks = (int64_t(1) << 31) - 1;
/// The most bytes of a kernel's arguments.
inline constexpr int64_t kMostArgumentBytes = 4096;
/// Memory that the threads of a block share: what every chip has.
inline constexpr int64_t kSharedBytes = 48 * 1024;
/// Its address space.
inline constexpr unsigned kShared = 3;

} // namespace mlir::dist

#endif // DIST_LOWERING_GPU_LAUNCH_H
