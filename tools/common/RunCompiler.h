//===- RunCompiler.h - Programs that are compiled and run -------*- C++ -*-===//

#ifndef DIST_TOOLS_COMMON_RUNCOMPILER_H
#define DIST_TOOLS_COMMON_RUNCOMPILER_H

#include "compiler/Options.h"
#include "dialects/dist/IR/Dist.h"
#include "dist/Launcher.h"
#include "dist/OptionValues.h"
#include "tools/common/CompiledNotes.h"
#include "verify/Comparisons.h"
#include <string>

namespace mlir::dist {

/// Compiles `module`, which is consumed, into a temporary bundle that goes when
/// it is loaded and `use` has returned; `what` names it in messages. Throws
/// host::Error.
::dist::Program
compileAndLoad(ModuleOp module, const BundleOptions &options, StringRef what,
               llvm::function_ref<void(const std::string &bundle)> use = {});

/// What a program is compiled for: to be run; to be compared with; to be run
/// with random rounding errors, which is slow enough for vectors to pay.
enum class Form { Fast, Plain, Perturbed };

/// Reads modules, and compiles them into bundles that go when they are loaded.
struct RunCompiler {
  RunCompiler(Stages &stages, Precision precision,
              const CompileOptions &options, StringRef backend);

  OwningOpRef<ModuleOp> load(StringRef path);
  /// Notes the streams of `module`, of which each device has its part.
  void noteStreams(ModuleOp module);
  /// The same of a program that is compiled already.
  void noteStreams(const ::dist::Manifest &manifest);
  /// Says along which axes devices draw from streams of their own; empty where
  /// none do.
  std::string describeStreams();

  /// What `module`, of which each rank has its part, takes and gives: enough to
  /// check its inputs and weights before it is compiled. Throws host::Error.
  ::dist::Program describe(ModuleOp module, StringRef file);

  /// Compiles into a temporary bundle and loads it; weights are found beside
  /// `file`. `ranks` has the program that this one is compared with, if it is.
  /// Throws host::Error.
  ::dist::Program compile(ModuleOp module, StringRef file,
                          Form form = Form::Fast, int64_t ranks = 0);

  /// The file of the module's parameters, "" for none; no output replaces it.
  std::string findWeights(ModuleOp module, StringRef file);

  Stages &stages;
  Precision precision;
  const CompileOptions &common;
  std::string backend;
  /// What processes that were started with this one, which compile nothing, are
  /// told of a program that is compiled.
  CompiledNotes notes;
  /// Whether a module that was loaded has floats of less than 32 bits, of which
  /// rounding decides so much that mistakes may hide in it.
  bool hasShortFloats = false;
  MLIRContext context;
  /// The mesh of the program that is run, where its devices draw random numbers
  /// from streams of their own.
  OwningOpRef<MeshOp> streams;
  std::unique_ptr<DiagnosticPrinter> printer;
};

} // namespace mlir::dist

#endif // DIST_TOOLS_COMMON_RUNCOMPILER_H
