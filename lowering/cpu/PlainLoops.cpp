//===- PlainLoops.cpp - Every op a loop nest of its own -------------------===//
//
// --dist-cpu-plain-loops: upstream's loops for each linalg op, alone in a
// function without attributes on its arguments: no fusion, no calls of the
// library, no aliasing facts, no relaxed arithmetic. Equal ops share a
// function.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/ContractionMatch.h"
#include "lowering/cpu/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUPLAINLOOPS
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Whether a function needs only a pointer for an argument of `type`.
static bool fitsPointer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref.hasStaticShape() &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// A sum of products that walks along the rows of its result: the loop of its
/// last dimension is the innermost one.
static linalg::LinalgOp putRowsInside(IRRewriter &rewriter,
                                      linalg::LinalgOp op) {
  if (failed(matchContraction(op)))
    return op;
  AffineMap map = op.getIndexingMapsArray().back();
  if (map.getNumResults() == 0)
    return op;
  unsigned inner = map.getDimPosition(map.getNumResults() - 1);
  SmallVector<unsigned> order;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (loop != inner)
      order.push_back(loop);
  order.push_back(inner);
  rewriter.setInsertionPoint(op);
  FailureOr<linalg::GenericOp> generic =
      linalg::generalizeNamedOp(rewriter, op);
  auto form = succeeded(generic) ? *generic : dyn_cast<linalg::GenericOp>(*op);
  if (!form)
    return op;
  FailureOr<linalg::GenericOp> result =
      linalg::interchangeGenericOp(rewriter, form, order);
  return succeeded(result) ? cast<linalg::LinalgOp>(**result)
                           : cast<linalg::LinalgOp>(*form);
}

namespace {

class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module) {}

  /// Replaces `op` by a call. Stays if one of its buffers has a place that only
  /// running tells.
  void outline(linalg::LinalgOp op) {
    llvm::SetVector<Value> captured(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    if (!llvm::all_of(captured.getArrayRef(),
                      [](Value value) { return fitsPointer(value.getType()); }))
      return;
    OpBuilder builder(op->getContext());
    SmallVector<Type> types(
        llvm::map_range(captured, [](Value value) { return value.getType(); }));
    auto function = func::FuncOp::create(module.getLoc(), "plain",
                                         builder.getFunctionType(types, {}));
    function.setPrivate();
    Block *body = function.addEntryBlock();
    IRMapping mapping;
    mapping.map(captured.getArrayRef(), body->getArguments());
    builder.setInsertionPointToStart(body);
    Operation *clone = builder.clone(*op, mapping);
    clone->setDiscardableAttrs(builder.getDictionaryAttr({}));
    func::ReturnOp::create(builder, module.getLoc());

    std::string key;
    llvm::raw_string_ostream(key) << function;
    func::FuncOp &known = functions[key];
    if (known) {
      function.erase();
    } else {
      known = function;
      function.setName("plain_" + std::to_string(functions.size() - 1));
      module.push_back(function);
    }
    builder.setInsertionPoint(op);
    func::CallOp::create(builder, op.getLoc(), known, captured.getArrayRef());
    op.erase();
  }

private:
  ModuleOp module;
  llvm::StringMap<func::FuncOp> functions;
};

struct PlainLoops : dist::impl::DistCpuPlainLoopsBase<PlainLoops> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    module.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      rewriter.setInsertionPoint(copy);
      linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                               copy.getTarget());
      rewriter.eraseOp(copy);
    }
    SmallVector<linalg::LinalgOp> ops;
    module.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    Outliner outliner(module);
    for (linalg::LinalgOp op : ops) {
      if (llvm::is_contained(op.getStaticLoopRanges(), 0))
        op.erase();
      else
        outliner.outline(op);
    }
    ops.clear();
    module.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      op = putRowsInside(rewriter, op);
      rewriter.setInsertionPoint(op);
      if (failed(linalg::linalgOpToLoops(rewriter, op))) {
        op.emitOpError("has no form of loops");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }
};

} // namespace
