//===- ModuleManifest.h - The manifest of a module --------------*- C++ -*-===//

#ifndef DIST_LOWERING_BUNDLE_MODULEMANIFEST_H
#define DIST_LOWERING_BUNDLE_MODULEMANIFEST_H

#include "dist/Manifest.h"
#include "dist/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// The files of a bundle, beside the program.
inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kConstantsFile[] = "constants.safetensors";

using NamedTensors = std::vector<std::pair<std::string, ::dist::Tensor>>;

/// The entries that describe the module itself, before it is lowered.
FailureOr<::dist::Manifest> describeProgram(ModuleOp module);

/// The entries that lowering determines: communicators, collectives, memory.
LogicalResult describeLowered(ModuleOp module, ::dist::Manifest &manifest);

/// Describes the constants that became arguments. Equal ones are one tensor,
/// whatever their sharding.
LogicalResult describeConstants(ModuleOp module, ::dist::Manifest &manifest,
                                NamedTensors &tensors);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUNDLE_MODULEMANIFEST_H
