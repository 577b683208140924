//===- DeviceCountTest.cpp - Placements do not depend on device counts ----===//
//
// Random modules whose sizes every mesh divides, on meshes of 2 to 2^20
// devices: --dist-propagate and --dist-insert-reshards must do the same on all.
// Ops that cut dimensions into parts are left out: there may be fewer parts
// than devices, which then shard something else.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/generator/Check.h"
#include "test/generator/Fuzz.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

static constexpr StringLiteral kFamilies =
    "elementwise,whole-tensor,contraction,reduction,mixed-reduction,argmax,"
    "normalization,transpose,broadcast,constant,loop,while,"
    "branch,call,constraint";
/// Of these the first by which sizes can be multiplied: tensors have at most
/// 2^46 elements.
static constexpr int64_t kLargest[] = {1 << 20, 1 << 10, 1 << 6};

/// The module after both passes, without its mesh.
static std::string place(ModuleOp module) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createPropagatePass());
  pm.addPass(createInsertReshardsPass());
  buildImproveReshardsPipeline(pm);
  if (failed(pm.run(module)))
    return "failed";
  (*module.getOps<MeshOp>().begin())->erase();
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// The same mesh with `size` devices on each axis.
static OwningOpRef<ModuleOp> withAxes(const std::string &text, int64_t size,
                                      MLIRContext *context) {
  auto module = parseSourceString<ModuleOp>(text, context);
  MeshOp mesh = *module->getOps<MeshOp>().begin();
  SmallVector<MeshAxisAttr> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    axes.push_back(MeshAxisAttr::get(context, axis.getName(), size));
  mesh.setAxesAttr(MeshAxesAttr::get(context, axes));
  return module;
}

/// Number of axes; none where the mesh or the placements are not for every
/// number of devices.
static unsigned countAxes(const std::string &text, MLIRContext *context) {
  auto module = parseSourceString<ModuleOp>(text, context);
  MeshOp mesh = *module->getOps<MeshOp>().begin();
  for (MeshAxisAttr axis : mesh.getAxes())
    if (axis.getSize() != 2)
      return 0;
  bool isInterleaved = StringRef(text).contains(" groups ");
  return isInterleaved ? 0 : mesh.getAxes().size();
}

TEST(DeviceCount, PlacesAlike) {
  std::unique_ptr<MLIRContext> context = makeContext();
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  unsigned programs = 0, reshards = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::string text, expected = "failed";
    unsigned axes = 0;
    int64_t largest = 0;
    for (int64_t next : kLargest) {
      text = makeScaledProgram(seed, kFamilies, largest = next);
      axes = countAxes(text, context.get());
      if (axes != 0)
        expected = place(*withAxes(text, 2, context.get()));
      if (axes == 0 || expected != "failed")
        break;
    }
    if (axes == 0)
      continue;
    programs += expected != "failed";
    reshards += StringRef(expected).count("dist.reshard");
    for (int64_t size : {4, 8, 64, 1024, 1 << 20}) {
      if (std::pow(size, axes) > largest)
        break;
      EXPECT_EQ(place(*withAxes(text, size, context.get())), expected)
          << "seed " << seed << ", axes of " << size << " devices:\n"
          << text;
    }
    if (HasFailure())
      return;
  }
  EXPECT_GT(programs, 300u);
  EXPECT_GT(reshards, 500u);
}
