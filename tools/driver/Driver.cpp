//===- Driver.cpp - What dist-compile and dist-run share ------------------===//

#include "tools/driver/Driver.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::registerEverything(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<DistDialect, rt::RtDialect>();
  registerShardingRules(registry);
  registerBufferExtensions(registry);
  registerCodegenTranslations(registry);
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

Progress::Progress(std::string tool) : tool(std::move(tool)) {
  watcher = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex);
    while (!ended) {
      std::string watched = current;
      bool moved = changed.wait_for(lock, std::chrono::seconds(3), [&] {
        return ended || current != watched;
      });
      if (moved || current.empty())
        continue;
      llvm::errs() << this->tool << ": " << current << " ...\n";
      changed.wait(lock, [&] { return ended || current != watched; });
    }
  });
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ended = true;
  }
  changed.notify_all();
  watcher.join();
}

void Progress::step(StringRef what) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    current = what.str();
  }
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> mlir::dist::loadModule(StringRef path,
                                             MLIRContext *context) {
  llvm::SourceMgr sources;
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    llvm::errs() << "error: cannot read " << path << ": "
                 << buffer.getError().message() << "\n";
    return nullptr;
  }
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, context);
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

int mlir::dist::levelOf(ModuleOp module) {
  if (auto entry =
          dyn_cast_or_null<FunctionOpInterface>(getEntryFunction(module)))
    for (unsigned i = 0, end = entry.getNumArguments(); i < end; ++i)
      if (entry.getArgAttr(i, kGlobalTypeAttr))
        return 3;
  int level = 0;
  module.walk([&](Operation *op) {
    if (isa<CollectiveOpInterface, AxisIndexOp, LocalConstantOp>(op)) {
      level = 3;
      return WalkResult::interrupt();
    }
    if (isa<MeshOp, ShardingConstraintOp, SyncOp, ReshardOp>(op))
      level = 1;
    return WalkResult::advance();
  });
  return level;
}

LogicalResult mlir::dist::convertToF64(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createDistConvertToF64());
  return passes.run(module);
}

/// Writes the sizes of "tp=4" options into the module's meshes.
static LogicalResult overrideMesh(ModuleOp module,
                                  ArrayRef<std::string> options) {
  for (StringRef option : options) {
    auto [name, value] = option.split('=');
    int64_t size;
    if (name.empty() || value.getAsInteger(10, size) || size < 1) {
      llvm::errs() << "error: --mesh " << option
                   << ": expected AXIS=SIZE with a size of at least 1, such as "
                      "tp=4\n";
      return failure();
    }
    bool found = false;
    std::string known;
    for (MeshOp mesh : module.getOps<MeshOp>()) {
      SmallVector<MeshAxisAttr> axes;
      for (MeshAxisAttr axis : mesh.getAxes()) {
        bool same = axis.getName() == name;
        found |= same;
        known += " " + axis.getName().str();
        axes.push_back(same ? MeshAxisAttr::get(module.getContext(), name, size)
                            : axis);
      }
      mesh.setAxesAttr(MeshAxesAttr::get(module.getContext(), axes));
    }
    if (!found) {
      llvm::errs() << "error: --mesh " << option << ": no mesh has an axis '"
                   << name << "'"
                   << (known.empty() ? "; a schedule (--schedule) brings a mesh"
                                     : "; the axes are:" + known)
                   << "\n";
      return failure();
    }
  }
  return success();
}

FailureOr<std::vector<SizeBinding>>
mlir::dist::parseBindings(ArrayRef<std::string> options) {
  return parseBindings(options, [](const Twine &message) {
    llvm::errs() << "error: --bind " << message << "\n";
  });
}

LogicalResult mlir::dist::distribute(ModuleOp module,
                                     const ScheduleOptions &options) {
  int level = levelOf(module);
  if (!options.file.empty()) {
    if (level == 3)
      return module.emitError(
          "is already the program of one device; a schedule "
          "applies to the model (level 0 to 1)");
    OwningOpRef<ModuleOp> schedule =
        loadModule(options.file, module.getContext());
    if (!schedule)
      return failure();
    // The module that holds the schedule may bring the mesh that it names.
    Block *body = module.getBody();
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(*schedule->getBody())))
      op.moveBefore(body, body->begin());
  }
  bool hasSchedule = !module.getOps<ScheduleOp>().empty();
  if (level == 3 && !options.mesh.empty())
    return module.emitError("is already the program of one device, for a mesh "
                            "of fixed size; --mesh cannot change it");
  if (failed(overrideMesh(module, options.mesh)))
    return failure();
  if ((!options.sizes.empty() || hasUnknownSizes(module)) &&
      failed(bindSizes(module, options.sizes)))
    return failure();
  if (level == 3 || (level == 0 && !hasSchedule))
    return success();
  PassManager passes(module.getContext());
  if (hasSchedule) {
    DistApplySchedulePassOptions apply;
    apply.report = false;
    passes.addPass(createDistApplySchedulePass(apply));
  }
  buildSpmdPipeline(passes);
  return passes.run(module);
}

LogicalResult mlir::dist::eraseAnnotations(ModuleOp module) {
  if (levelOf(module) == 3)
    return module.emitError("is the program of one device: what it is to be "
                            "compared with must be given (--reference)");
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (StringRef name : {StringRef(kShardingsAttr), StringRef(kShardingAttr)})
      op->removeDiscardableAttr(name);
    if (isa<MeshOp, ScheduleOp, ShardingConstraintOp, SyncOp, ReshardOp>(op)) {
      ops.push_back(op);
      return WalkResult::skip();
    }
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, kShardingAttr);
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        function.removeResultAttr(
            i, StringAttr::get(module.getContext(), kShardingAttr));
    }
    return WalkResult::advance();
  });
  for (Operation *op : ops) {
    if (op->getNumResults() == 1)
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
  return success();
}

std::string mlir::dist::weightsPath(ModuleOp module, StringRef moduleFile,
                                    StringRef given) {
  if (!given.empty())
    return given.str();
  auto named = module->getAttrOfType<StringAttr>(kWeightsAttr);
  if (!named || named.getValue().empty())
    return "";
  if (llvm::sys::path::is_absolute(named.getValue()) || moduleFile == "-")
    return named.getValue().str();
  SmallString<256> path = llvm::sys::path::parent_path(moduleFile);
  llvm::sys::path::append(path, named.getValue());
  return std::string(path);
}

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

/// Removed by the handler of SIGINT and SIGTERM: async-signal-safe calls only
/// are not enough to remove a folder, but nothing else runs by then.
static std::string *temporaryFolder = nullptr;

static void removeTemporaryFolder() {
  if (temporaryFolder)
    llvm::sys::fs::remove_directories(*temporaryFolder);
}

TemporaryFolder::TemporaryFolder() {
  SmallString<128> created;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("dist-run", created)) {
    llvm::errs() << "error: cannot make a temporary folder: " << error.message()
                 << "\n";
    return;
  }
  folder = std::string(created);
  temporaryFolder = &folder;
  llvm::sys::SetInterruptFunction([] {
    removeTemporaryFolder();
    _exit(130);
  });
}

TemporaryFolder::~TemporaryFolder() {
  removeTemporaryFolder();
  temporaryFolder = nullptr;
}
