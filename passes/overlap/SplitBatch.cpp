//===- SplitBatch.cpp - The batch in turns --------------------------------===//
//
// An axis of the mesh for turns (--dist-unroll-axis), and inputs that are
// sharded over it. A schedule can do the same with an axis of its own.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/overlap/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSPLITBATCH
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct SplitBatch : mlir::dist::impl::DistSplitBatchBase<SplitBatch> {
  using DistSplitBatchBase::DistSplitBatchBase;

  /// Dimension 0 of an argument, if it is an input that has one.
  static std::optional<int64_t> getRows(FunctionOpInterface function,
                                        unsigned number) {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
    if (!type || type.getRank() == 0 ||
        !function.getArgAttr(number, kInputAttr))
      return std::nullopt;
    return type.getDimSize(0);
  }

  /// Shards dimension 0 over the axis as well, as the last of its axes: a
  /// device's part is cut. A dimension without a sharding gets the one of the
  /// first input, `batchAxes`. Otherwise its turns would have other rows.
  LogicalResult cut(FunctionOpInterface function, unsigned number, MeshOp mesh,
                    ArrayRef<AxisRefAttr> batchAxes) {
    MLIRContext *context = &getContext();
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[number]);
    auto given = function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    SmallVector<DimShardingAttr> dims(
        type.getRank(), DimShardingAttr::get(context, ArrayRef<AxisRefAttr>(),
                                             /*isOpen=*/true));
    if (given)
      dims.assign(given.getDims().begin(), given.getDims().end());
    if (dims[0].getSubDims().size() > 1)
      return function.emitOpError()
             << "argument " << number << " is placed in blocks of dimension 0, "
             << given << ", which turns cannot cut";
    SmallVector<AxisRefAttr> axes = dims[0].getAllAxes();
    if (axes.empty() && dims[0].getIsOpen() &&
        llvm::none_of(ArrayRef(dims).drop_front(), [&](DimShardingAttr dim) {
          return anyOverlap(dim.getAllAxes(), batchAxes);
        }))
      axes.assign(batchAxes.begin(), batchAxes.end());
    int64_t devices = MeshLayout(mesh).size(axes),
            rows = llvm::divideCeil(type.getDimSize(0), devices);
    if (rows % turns != 0) {
      InFlightDiagnostic error = function.emitOpError()
                                 << "cannot be cut into " << turns.getValue()
                                 << " parts (--turns, --microbatches): of the "
                                 << type.getDimSize(0) << " rows of argument "
                                 << number << ", the batch, each of the "
                                 << devices << " devices along ";
      llvm::interleaveComma(axes, error);
      return error
             << " has " << rows << ", which " << turns.getValue()
             << " does not divide: take a larger batch, or another number";
    }
    axes.push_back(AxisRefAttr::get(context, axis, 1, 0));
    dims[0] = DimShardingAttr::get(context, axes, dims[0].getIsOpen());
    function.setArgAttr(
        number, kShardingAttr,
        ShardingAttr::get(
            context, FlatSymbolRefAttr::get(mesh.getSymNameAttr()), dims,
            given ? given.getPartialKind() : ReductionKind::Sum,
            given ? given.getPartialAxes() : ArrayRef<AxisRefAttr>()));
    return success();
  }

  LogicalResult split() {
    ModuleOp module = getOperation();
    if (getLevel(module) > 1)
      return module.emitError(
          "--dist-split-batch: is placed already; turns are "
          "made before (level 0 or 1)");
    if (turns < 2)
      return module.emitError("--dist-split-batch: turns=")
             << turns.getValue() << ": at least 2 are";
    FailureOr<MeshOp> mesh = findProgramMesh(module);
    FailureOr<FunctionOpInterface> function = findEntryFunction(module);
    if (failed(mesh) || failed(function))
      return failure();
    if (!*mesh)
      return module.emitError("--dist-split-batch: has no dist.mesh, so that "
                              "nothing is sent that turns could hide");
    if (llvm::any_of(mesh->getAxes(), [&](MeshAxisAttr other) {
          return other.getName() == axis;
        }))
      return mesh->emitOpError("has an axis '")
             << axis << "' already; do that in turns, or name another one";
    std::optional<int64_t> batch;
    SmallVector<AxisRefAttr> batchAxes;
    for (unsigned i = 0; i < function->getNumArguments() && !batch; ++i) {
      batch = getRows(*function, i);
      auto given = function->getArgAttrOfType<ShardingAttr>(i, kShardingAttr);
      if (batch && given)
        batchAxes = given.getDims()[0].getAllAxes();
    }
    if (!batch || ShapedType::isDynamic(*batch) || *batch % turns != 0) {
      InFlightDiagnostic error = function->emitOpError()
                                 << "cannot be cut into " << turns.getValue()
                                 << " parts (--turns, --microbatches): ";
      return batch && !ShapedType::isDynamic(*batch)
                 ? error << "the first input has " << *batch
                         << " rows in dimension 0, the batch, which "
                         << turns.getValue() << " does not divide"
                 : error << "the batch, dimension 0 of the first input, is not "
                            "known (--bind)";
    }
    SmallVector<MeshAxisAttr> axes = {
        MeshAxisAttr::get(&getContext(), axis, turns)};
    llvm::append_range(axes, mesh->getAxes());
    mesh->setAxesAttr(MeshAxesAttr::get(&getContext(), axes));
    for (unsigned i = 0; i < function->getNumArguments(); ++i)
      if (getRows(*function, i) == batch &&
          failed(cut(*function, i, *mesh, batchAxes)))
        return failure();
    return success();
  }

  void runOnOperation() override {
    if (failed(split()))
      signalPassFailure();
  }
};
} // namespace
