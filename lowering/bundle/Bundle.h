//===- Bundle.h - From a module to a bundle ---------------------*- C++ -*-===//
//
// Compiles a level-3 module (a level-0 module is one for a single rank) into
// the folder that docs/internals/bundle.md describes.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUNDLE_BUNDLE_H
#define DIST_LOWERING_BUNDLE_BUNDLE_H

#include "lowering/pipeline/Target.h"

namespace mlir::dist {

struct BundleOptions {
  const Target *target = nullptr;
  /// Its listener is called for the stages before code generation as well.
  CodegenOptions codegen;
  /// Lowers plainly, for a program to compare with (LowerOptions, Pipeline.h).
  bool plain = false;
  /// With plain: the ranks of the program to compare with (likewise).
  int64_t ranks = 0;
  /// With rounding errors that can be switched on (LowerOptions, likewise).
  bool perturb = false;
};

/// Properties of the compiled program that are not in the manifest.
struct BundleStatistics {
  /// The most bytes of the arena alive at one time.
  int64_t liveBytes = 0;
  int64_t arenaBytes = 0;
  unsigned kernels = 0;
};

/// Compiles `module`, which is consumed, and writes the bundle to the folder
/// `path`: first under another name, so that `path` is never half a bundle. An
/// existing bundle is replaced. Any other file or folder there is an error.
LogicalResult writeBundle(ModuleOp module, StringRef path,
                          const BundleOptions &options,
                          BundleStatistics *statistics = nullptr);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUNDLE_BUNDLE_H
