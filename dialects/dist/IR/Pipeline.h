//===- Pipeline.h - Models cut into stages ----------------------*- C++ -*-===//
//
// Directives, and the ops of a program that is cut. Described in
// DistPipeline.td.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_PIPELINE_H
#define DIST_DIALECTS_DIST_IR_PIPELINE_H

#include "dialects/dist/IR/Schedule.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistPipeline.h.inc"

namespace mlir::dist {

/// The pipeline that a mesh has noted (`dist.pipeline`).
struct PipelineNote {
  /// The note of `mesh`; none if it has none.
  static std::optional<PipelineNote> get(MeshOp mesh);
  DictionaryAttr toAttr(MLIRContext *context) const;

  StringAttr table, axis;
  /// A table of the user's own; null for those that are built in.
  StringAttr text;
  int64_t chunks = 1;
  bool split = false;
  /// How many stages the modules are to be dealt out to by the time that they
  /// take. Until then each stands alone in `stages`. 0 if that is done.
  int64_t balance = 0;
  /// The paths of modules, by stage.
  SmallVector<SmallVector<StringAttr>> stages;
  LocationAttr by;
};

/// How many stages each of `ranks` coordinates has under a table.
int64_t countChunks(StringRef table, int64_t chunks);

/// Whether weight gradients are tasks of their own under a table.
bool splitsBackward(StringRef table);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_PIPELINE_H
