//===- Program.h - A compiled program, loaded from its bundle ---*- C++ -*-===//

#ifndef DIST_PROGRAM_H
#define DIST_PROGRAM_H

#include "dist/Manifest.h"
#include "dist/Safetensors.h"

#include <memory>
#include <string>

namespace dist {

/// A compiled program: its manifest and its code.
struct Program {
  Manifest manifest;
  dist_main_fn entry = nullptr;
  /// Of a pipeline, in the order of the manifest's; `entry` is the first.
  std::vector<dist_main_fn> tasks;
  /// Keeps the code in memory (a loaded shared object, a JIT).
  std::shared_ptr<void> code;
  /// The folder that a relative manifest.weights is relative to.
  std::string folder;
  /// Data of the arguments that are constants; null without such arguments.
  std::shared_ptr<const Safetensors> constants;
};

/// Opens OUT.dist: reads its manifest, loads its shared object and maps its
/// constants; it may be removed then. Throws Error, also if these do not belong
/// together: a compiled program exports, besides dist_main,
///   const char dist_manifest[]
/// with the text of Manifest::agreement.
Program loadBundle(const std::string &folder);

} // namespace dist

#endif // DIST_PROGRAM_H
