//===- Driver.h - What dist-compile and dist-run share ----------*- C++ -*-===//
//
// From files and options to a module of level 3, and from there to a bundle.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_DRIVER_DRIVER_H
#define DIST_TOOLS_DRIVER_DRIVER_H

#include "lowering/bundle/Bundle.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/sizes/BindSizes.h"
#include "llvm/Support/SourceMgr.h"
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mlir::dist {

/// Registers everything that a module of any level may contain.
void registerEverything(DialectRegistry &registry);

/// Says on stderr what takes long: a step is named once it has taken a few
/// seconds.
class Progress {
public:
  explicit Progress(std::string tool);
  ~Progress();
  void step(StringRef what);

private:
  std::string tool, current;
  bool ended = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread watcher;
};

/// Prints diagnostics as "file:line:column: error: …" with the line they are
/// about, and not with the whole op, as long as it lives.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context)
      : handler(sources, context) {
    context->printOpOnDiagnostic(false);
  }

private:
  llvm::SourceMgr sources; // finds files by the names in locations
  SourceMgrDiagnosticHandler handler;
};

/// A schedule, and the sizes of mesh axes that override its own.
struct ScheduleOptions {
  std::string file;              // "" for none
  std::vector<std::string> mesh; // "tp=4"
  /// Sizes of dimensions that the module does not know.
  std::vector<SizeBinding> sizes;
};

/// The values of --bind, each "x[0]=8"; fails, with a message, for others.
FailureOr<std::vector<SizeBinding>>
parseBindings(ArrayRef<std::string> options);

/// Level of a module (docs/conventions.md): 0, 1 (also 2) or 3.
int levelOf(ModuleOp module);

/// Parses `path` ("-" for standard input). Null after an error message.
OwningOpRef<ModuleOp> loadModule(StringRef path, MLIRContext *context);

/// Turns all floating-point work into f64 (--dist-convert-to-f64).
LogicalResult convertToF64(ModuleOp module);

/// Makes sizes known, applies the schedule and partitions: any level to level
/// 3.
LogicalResult distribute(ModuleOp module, const ScheduleOptions &options);

/// The level-0 program that a module of level 0 to 2 is with its annotations
/// erased; fails, with a message, for level 3.
LogicalResult eraseAnnotations(ModuleOp module);

/// The weights file that the module names, or `given` where that is not empty,
/// as a path from the current folder; "" if there is none.
std::string weightsPath(ModuleOp module, StringRef moduleFile, StringRef given);

/// A folder for temporary files, removed when this object ends and also when
/// the program is interrupted.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  /// Empty if it could not be made, which has been reported.
  const std::string &path() const { return folder; }

private:
  std::string folder;
};

} // namespace mlir::dist

#endif // DIST_TOOLS_DRIVER_DRIVER_H
