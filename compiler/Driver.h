//===- Driver.h - What dist-compile and dist-run share ----------*- C++ -*-===//
//
// From files and options to a module of level 3, and from there to a bundle.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_DRIVER_H
#define DIST_COMPILER_DRIVER_H

#include "compiler/Diagnostics.h"
#include "compiler/Paths.h"
#include "compiler/Register.h"
#include "compiler/Stages.h"
#include "lowering/bundle/Bundle.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/sizes/BindSizes.h"
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
}

namespace mlir::dist {

/// Whether and for what collectives are to run beside computation.
struct OverlapOptions {
  /// "auto", or "off" for not at all; "" for auto where `machine` says on what.
  std::string mode;
  /// "auto", "exchange", "gather" or "shifts" (--dist-lower-halos); "" for auto
  /// where `mode` is, else exchange.
  std::string halos;
  /// "auto", "never" or "always": whether layers that follow each other
  /// exchange rows once (--dist-join-halos); "" for auto where `mode` says so,
  /// else never: they compute other rows at once, which may change bits.
  std::string joinHalos;
  /// A name or a file, as of dist-report; and a link in place of its own, or
  /// "".
  std::string machine, link;
  /// How many times the memory of the order given may be needed.
  double memory = 1.1;
  /// An axis of the mesh that one device does in turns; how many turns the
  /// batch is done in; "auto" for two of these where `machine` foresees that it
  /// pays; or "".
  std::string turns;
  /// Whether to say what was foreseen.
  bool report = false;

  StringRef getMode() const {
    if (!mode.empty())
      return mode;
    return machine.empty() ? "off" : "auto";
  }
};

/// A schedule, and the sizes of mesh axes that override its own.
struct ScheduleOptions {
  /// A schedule's file, or a plan's; "" for none, or one of them.
  std::string file, plan;
  std::vector<std::string> mesh; // "tp=4"
  /// Sizes of dimensions that the module does not know.
  std::vector<SizeBinding> sizes = {};
  /// Which schedule, where there are several; "" for the only one.
  std::string name = "";
  /// Whether what matches nothing is a warning.
  bool allowUnmatched = false;
  /// Whether to stop at level 2, where all is placed and nothing cut up yet.
  bool stopPlaced = false;
  /// Whether the program was converted to f64: what the schedule brings along
  /// is as well.
  bool f64 = false;
  /// Whether collectives are to be on the leading dimension.
  bool fuseTransposes = false;
  /// What backward computes again: asked, cheap or gathers (--dist-recompute).
  std::string recompute = "cheap";
  OverlapOptions overlap = {};
  /// Adds the passes that change the program at level 1, after the schedule.
  std::function<void(OpPassManager &)> addPasses = {};
};

/// The values of --bind, each "x[0]=8"; fails, with a message, for others.
FailureOr<std::vector<SizeBinding>>
parseBindings(ArrayRef<std::string> options);

/// Parses `path` ("-" for standard input). Null after an error message.
OwningOpRef<ModuleOp> loadModule(StringRef path, MLIRContext *context,
                                 Stages &stages);

/// Turns all floating-point work into f64 (--dist-convert-to-f64).
LogicalResult convertToF64(ModuleOp module, Stages &stages);

/// Makes sizes known, applies the schedule and partitions: any level to level
/// 3, or to 4 or 2 where the options say so.
LogicalResult distribute(ModuleOp module, const ScheduleOptions &options,
                         Stages &stages);

/// The level-0 program that a module of level 0 to 2 is without its annotations
/// (--dist-erase-annotations); fails, with a message, for level 3.
LogicalResult eraseAnnotations(ModuleOp module, Stages &stages);

} // namespace mlir::dist

#endif // DIST_COMPILER_DRIVER_H
