//===- Describe.h - What a manifest says of a module ------------*- C++ -*-===//

#ifndef DIST_LOWERING_BUNDLE_DESCRIBE_H
#define DIST_LOWERING_BUNDLE_DESCRIBE_H

#include "dist/Manifest.h"
#include "dist/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// The files of a bundle, beside the program.
inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kConstantsFile[] = "constants.safetensors";

using NamedTensors = std::vector<std::pair<std::string, ::dist::Tensor>>;

/// What the module itself says, before it is lowered.
FailureOr<::dist::Manifest> describeProgram(ModuleOp module);

/// What lowering found out: communicators, collectives, memory.
LogicalResult describeLowered(ModuleOp module, ::dist::Manifest &manifest);

/// Describes the constants that became arguments. Equal ones are one tensor,
/// however they are cut.
LogicalResult describeConstants(ModuleOp module, ::dist::Manifest &manifest,
                                NamedTensors &tensors);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUNDLE_DESCRIBE_H
