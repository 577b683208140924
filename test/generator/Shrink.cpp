//===- Shrink.cpp - Small modules that fail the same way ------------------===//
//
// Greedy: every edit that keeps the failure stays, until no edit does.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Shrink.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "test/generator/Check.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

std::vector<uint32_t> mlir::dist::test::shrinkTape(
    std::vector<uint32_t> tape, std::vector<size_t> marks,
    function_ref<bool(const std::vector<uint32_t> &)> fails) {
  auto attempt = [&](std::vector<uint32_t> next) {
    if (next == tape || !fails(next))
      return false;
    tape = std::move(next);
    return true;
  };
  // Whole parts, from the last.
  marks.push_back(tape.size());
  for (size_t part = marks.size() - 1; part-- > 0;) {
    std::vector<uint32_t> next(tape.begin(), tape.begin() + marks[part]);
    if (marks[part + 1] < tape.size())
      next.insert(next.end(), tape.begin() + marks[part + 1], tape.end());
    size_t length = marks[part + 1] - marks[part];
    if (attempt(next)) {
      for (size_t later = part + 1; later < marks.size(); ++later)
        marks[later] -= length;
    }
  }
  // One round each of larger and smaller edits; the module's own shrinking does
  // the rest.
  for (size_t width : {16, 4, 1})
    for (size_t at = 0; at + width <= tape.size(); at += width) {
      std::vector<uint32_t> next = tape;
      std::fill_n(next.begin() + at, width, 0);
      attempt(next);
    }
  for (size_t at = 0; at < tape.size(); ++at)
    while (tape[at] > 0) {
      std::vector<uint32_t> next = tape;
      next[at] /= 2;
      if (attempt(next))
        continue;
      next[at] = tape[at] - 1;
      if (!attempt(next))
        break;
    }
  return tape;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Erases what nothing uses.
static void cleanUp(ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = false;
    module.walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (op->use_empty() && op->getNumResults() &&
          !op->hasTrait<OpTrait::IsTerminator>() &&
          (isOpTriviallyDead(op) || isa<SyncOp>(op))) {
        op->erase();
        changed = true;
      }
    });
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() &&
          SymbolTable::symbolKnownUseEmpty(function, module)) {
        function.erase();
        changed = true;
      }
  }
  auto main = cast<func::FuncOp>(getEntryFunction(module));
  for (unsigned i = main.getNumArguments(); i-- > 0;)
    if (main.getArgument(i).use_empty())
      (void)main.eraseArgument(i);
}

/// Shardings with a little less in them.
static SmallVector<ShardingAttr> getSimpler(ShardingAttr sharding) {
  SmallVector<ShardingAttr> out;
  MLIRContext *context = sharding.getContext();
  for (auto [index, dim] : llvm::enumerate(sharding.getDims())) {
    auto with = [&](DimShardingAttr changed) {
      SmallVector<DimShardingAttr> dims(sharding.getDims());
      dims[index] = changed;
      out.push_back(ShardingAttr::get(context, sharding.getMesh(), dims,
                                      sharding.getPartialKind(),
                                      sharding.getPartialAxes()));
    };
    SmallVector<AxisRefAttr> axes = dim.getAllAxes();
    if (dim.getSubDims().size() > 1)
      with(DimShardingAttr::get(context, axes, dim.getIsOpen()));
    for (size_t i = 0; i < axes.size(); ++i) {
      SmallVector<AxisRefAttr> fewer(axes);
      fewer.erase(fewer.begin() + i);
      with(DimShardingAttr::get(context, fewer, dim.getIsOpen()));
      if (axes[i].isSubAxis()) {
        fewer = axes;
        fewer[i] = AxisRefAttr::get(context, axes[i].getName(), 1, 0);
        with(DimShardingAttr::get(context, fewer, dim.getIsOpen()));
      }
    }
    if (dim.getIsOpen())
      with(DimShardingAttr::get(context, dim.getSubDims(), false));
  }
  return out;
}

/// Counts edits down to the one that is asked for.
namespace {
struct Picker {
  unsigned left;
  bool here() { return left-- == 0; }
};
} // namespace

static bool editSharding(Picker &pick, ShardingAttr sharding,
                         function_ref<void(ShardingAttr)> set) {
  for (ShardingAttr simpler : getSimpler(sharding))
    if (pick.here()) {
      set(simpler);
      return true;
    }
  return false;
}

static bool editOp(Picker &pick, Operation *op, func::FuncOp main) {
  if (op->getNumResults() == 0 || isa<FunctionOpInterface>(op))
    return false;
  // Arguments in place of its results.
  if (main->isProperAncestor(op) && pick.here()) {
    for (Value result : op->getResults()) {
      if (!isa<RankedTensorType>(result.getType()) || result.use_empty())
        continue;
      unsigned number = main.getNumArguments();
      (void)main.insertArgument(number, result.getType(), {}, op->getLoc());
      result.replaceAllUsesWith(main.getArgument(number));
    }
    return true;
  }
  for (Value result : op->getResults())
    for (Value operand : op->getOperands())
      if (operand.getType() == result.getType() && !result.use_empty() &&
          pick.here()) {
        result.replaceAllUsesWith(operand);
        return true;
      }
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return editSharding(pick, constraint.getSharding(),
                        [&](ShardingAttr s) { constraint.setShardingAttr(s); });
  return false;
}

/// Makes the `number`th simplification; false where there are no more.
static bool edit(ModuleOp module, unsigned number) {
  Picker pick{number};
  auto main = cast<func::FuncOp>(getEntryFunction(module));
  Operation *end = main.getBody().front().getTerminator();
  for (unsigned i = end->getNumOperands(); i-- > 0;)
    if (end->getNumOperands() > 1 && pick.here()) {
      end->eraseOperand(i);
      (void)main.eraseResult(i);
      return true;
    }
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    return op->hasTrait<OpTrait::IsIsolatedFromAbove>() ||
                   op->getName().getDialectNamespace() == "scf"
               ? WalkResult::advance()
               : WalkResult::skip();
  });
  for (Operation *op : llvm::reverse(ops))
    if (editOp(pick, op, main))
      return true;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto sharding = main.getArgAttrOfType<ShardingAttr>(i, kShardingAttr)) {
      if (pick.here()) {
        main.removeArgAttr(i, kShardingAttr);
        return true;
      }
      if (editSharding(pick, sharding, [&](ShardingAttr s) {
            main.setArgAttr(i, kShardingAttr, s);
          }))
        return true;
    }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (auto sharding =
            main.getResultAttrOfType<ShardingAttr>(i, kShardingAttr)) {
      if (pick.here()) {
        main.removeResultAttr(
            i, StringAttr::get(module.getContext(), kShardingAttr));
        return true;
      }
      if (editSharding(pick, sharding, [&](ShardingAttr s) {
            main.setResultAttr(i, kShardingAttr, s);
          }))
        return true;
    }
  for (auto mesh : module.getOps<MeshOp>())
    for (unsigned i = 0; i < mesh.getAxes().size(); ++i)
      for (int64_t size : {0, 2}) {
        SmallVector<MeshAxisAttr> axes(mesh.getAxes());
        if (axes[i].getSize() <= size || !pick.here())
          continue;
        if (size == 0)
          axes.erase(axes.begin() + i);
        else
          axes[i] =
              MeshAxisAttr::get(module.getContext(), axes[i].getName(), size);
        mesh.setAxesAttr(MeshAxesAttr::get(module.getContext(), axes));
        return true;
      }
  return false;
}

std::string
mlir::dist::test::shrinkModule(std::string text,
                               function_ref<bool(StringRef)> fails) {
  std::unique_ptr<MLIRContext> context = makeContext();
  ScopedDiagnosticHandler quiet(context.get(), [](Diagnostic &) {});
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned number = 0;; ++number) {
      auto module =
          parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
      if (!module || !edit(*module, number))
        break;
      cleanUp(*module);
      if (failed(verify(*module)))
        continue;
      std::string next;
      llvm::raw_string_ostream os(next);
      module->print(os);
      if (next.size() < text.size() && fails(next)) {
        text = next;
        changed = true;
        number = static_cast<unsigned>(-1); // from the start
      }
    }
  }
  return text;
}
