//===- Bundle.cpp - From a module to a bundle -----------------------------===//

#include "lowering/bundle/Bundle.h"
#include "dist/OutputFile.h"
#include "dist/Safetensors.h"
#include "lowering/buffers/Passes.h"
#include "lowering/bundle/ModuleManifest.h"
#include "lowering/bundle/Tasks.h"
#include "lowering/pipeline/Pipeline.h"
#include "lowering/rt/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::dist;
// The runtime's namespace, of its host side.
namespace host = ::dist;

/// The program itself contains the text of its manifest.
static void embedManifest(ModuleOp module, const host::Manifest &manifest) {
  std::string text = manifest.agreement();
  text.push_back('\0');
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
      /*isConstant=*/true, LLVM::Linkage::External, "dist_manifest",
      builder.getStringAttr(text));
}

/// Whether the folder `path` is a bundle, and nothing but one; says so if not.
static LogicalResult checkIsBundle(ModuleOp module, const std::string &path) {
  bool hasManifest = false;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(path, error,
                                              /*follow_symlinks=*/false),
       end;
       !error && file != end; file.increment(error)) {
    StringRef name = llvm::sys::path::filename(file->path());
    bool isPart = name == kManifestFile || name == kConstantsFile ||
                  name == host::Manifest().program;
    if (!isPart || file->type() != llvm::sys::fs::file_type::regular_file)
      return module.emitError("output ")
             << path << " exists and holds '" << name << "', which is no "
             << (isPart ? "file" : "part of a bundle")
             << "; choose another name";
    if (name == kManifestFile) {
      auto text = llvm::MemoryBuffer::getFile(file->path());
      hasManifest = text && host::Manifest::isOne((*text)->getBuffer());
    }
  }
  if (error || !hasManifest)
    return module.emitError("output ")
           << path << " exists and is no bundle"
           << (error ? "" : ": it has no manifest.json that one has")
           << "; choose another name";
  return success();
}

/// Puts the finished folder `from` where `to` is wanted. A signal ends the
/// program before or after.
static LogicalResult moveIntoPlace(ModuleOp module, const std::string &from,
                                   const std::string &to) {
  bool replaces = llvm::sys::fs::exists(to);
  if (replaces && failed(checkIsBundle(module, to)))
    return failure();
  host::TemporaryPath old(host::TemporaryPath::beside(to));
  std::error_code error;
  host::checkHoldsNoInput(to);
  host::withoutSignals([&] {
    if (replaces)
      error = llvm::sys::fs::rename(to, old.path());
    if (error)
      return;
    error = llvm::sys::fs::rename(from, to);
    if (error && replaces)
      llvm::sys::fs::rename(old.path(), to);
  });
  if (error)
    return module.emitError("cannot write ") << to << ": " << error.message();
  return success();
}

/// Writes the files of a bundle to the folder `path`. Throws host::Error.
static LogicalResult writeFiles(ModuleOp module, const std::string &path,
                                host::Manifest &manifest,
                                const NamedTensors &constants,
                                const BundleOptions &options) {
  auto fileIn = [&](StringRef name) {
    SmallString<256> file(path);
    llvm::sys::path::append(file, name);
    return std::string(file);
  };
  if (!constants.empty()) {
    std::string file = fileIn(manifest.constants);
    host::writeSafetensors(file, constants);
    manifest.constantsChecksum = host::checksumOfFile(file);
  }
  std::string program = fileIn(manifest.program);
  embedManifest(module, manifest);
  if (failed(options.target->emitProgram(module, program, options.codegen)))
    return failure();
  manifest.programChecksum = host::checksumOfFile(program);
  std::string text = manifest.toJson();
  host::OutputFile file(fileIn(kManifestFile));
  file.write(text.data(), text.size());
  file.commit();
  return success();
}

/// Writes the bundle to `target`, which is no link.
static LogicalResult writeAndMove(ModuleOp module, const std::string &target,
                                  host::Manifest &manifest,
                                  const NamedTensors &constants,
                                  const BundleOptions &options) {
  host::TemporaryPath folder(host::TemporaryPath::beside(target));
  // As umask says.
  if (std::error_code error = llvm::sys::fs::create_directory(
          folder.path(), /*IgnoreExisting=*/false, llvm::sys::fs::all_all))
    return module.emitError("cannot write ")
           << target << ": " << error.message();
  if (failed(writeFiles(module, folder.path(), manifest, constants, options)))
    return failure();
  return moveIntoPlace(module, folder.path(), target);
}

/// Lowers a program that is cut into tasks.
static FailureOr<OwningOpRef<ModuleOp>>
lowerTasks(ModuleOp module, PassManager &passes, host::Manifest &manifest) {
  auto modules = outlineTasks(module, manifest);
  if (failed(modules))
    return failure();
  SmallVector<Attribute> constants;
  ModuleOp before;
  for (auto [number, task] : llvm::enumerate(*modules)) {
    if (before)
      continueNumbers(before, *task);
    if (failed(passes.run(*task)))
      return failure();
    noteLowered(*task, number, before, constants, manifest);
    before = *task;
  }
  OwningOpRef<ModuleOp> all = joinTasks(std::move(*modules));
  if (!constants.empty())
    (*all)->setAttr(rt::kConstantsAttr,
                    ArrayAttr::get(module.getContext(), constants));
  int64_t bytes = 0;
  for (const host::TaskDesc &task : manifest.pipeline->tasks)
    bytes = std::max(bytes, task.arenaBytes);
  (*all)->setAttr(kArenaBytesAttr,
                  Builder(module.getContext()).getI64IntegerAttr(bytes));
  return all;
}

LogicalResult mlir::dist::writeBundle(ModuleOp module, StringRef path,
                                      const BundleOptions &options,
                                      BundleStatistics *statistics) {
  bool isCut = hasTasks(module);
  PassManager joining(module.getContext());
  joining.addPass(createDistJoinParameters());
  if (!isCut && failed(joining.run(module)))
    return failure();
  FailureOr<host::Manifest> manifest = describeProgram(module);
  if (failed(manifest))
    return failure();
  manifest->target = options.target->getName().str();
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  if (options.codegen.beginStage)
    passes.enableTiming(
        options.codegen.beginStage("lowering", "lowering to LLVM"));
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  LowerOptions lowering;
  lowering.plain = options.plain;
  lowering.ranks = options.ranks;
  lowering.perturb = options.perturb;
  buildLowerPipeline(passes, *options.target, lowering);
  OwningOpRef<ModuleOp> joined;
  if (isCut) {
    auto lowered = lowerTasks(module, passes, *manifest);
    if (failed(lowered))
      return failure();
    joined = std::move(*lowered);
    module = *joined;
  } else if (failed(passes.run(module))) {
    return failure();
  }
  NamedTensors constants;
  if (failed(describeLowered(module, *manifest)) ||
      failed(describeConstants(module, *manifest, constants)))
    return failure();
  if (statistics) {
    statistics->arenaBytes = manifest->arenaBytes;
    if (auto bytes = module->getAttrOfType<IntegerAttr>(kLiveBytesAttr))
      statistics->liveBytes = bytes.getInt();
    if (auto kernels = module->getAttrOfType<IntegerAttr>(rt::kKernelsAttr))
      statistics->kernels = kernels.getInt();
  }

  try {
    host::OutputFolder output(path == "/" ? "/" : path.rtrim('/').str());
    // Before another output is written.
    if (llvm::sys::fs::exists(output.target()) &&
        failed(checkIsBundle(module, output.target())))
      return failure();
    return writeAndMove(module, output.target(), *manifest, constants, options);
  } catch (const host::Error &error) {
    return module.emitError() << error.what();
  }
}
