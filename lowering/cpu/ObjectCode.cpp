//===- ObjectCode.cpp - From the LLVM dialect to a shared object ----------===//

#include "lowering/cpu/ObjectCode.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/files/OutputStream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/SystemLibraries.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"

using namespace mlir;

void mlir::dist::registerCodegenTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// This machine's features, as a string for the target machine.
static std::string hostFeatures() {
  std::string features;
  for (auto &[name, enabled] : llvm::sys::getHostCPUFeatures())
    features += (features.empty() ? "" : ",") +
                std::string(enabled ? "+" : "-") + name.str();
  return features;
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(ModuleOp module,
                    const mlir::dist::CodegenOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError("no code generator for ") << triple.str() << ": " << error;
    return nullptr;
  }
  bool native = options.cpu.empty() || options.cpu == "native";
  std::string cpu = native ? llvm::sys::getHostCPUName().str() : options.cpu;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, native ? hostFeatures() : "", llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt,
      static_cast<llvm::CodeGenOptLevel>(std::min(options.optLevel, 3u))));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    module.emitError("unknown processor '")
        << cpu << "' for " << triple.str()
        << "; `llc -mcpu=help` lists those that LLVM knows";
    return nullptr;
  }
  return machine;
}

static llvm::OptimizationLevel getLevel(unsigned level) {
  switch (level) {
  case 0:
    return llvm::OptimizationLevel::O0;
  case 1:
    return llvm::OptimizationLevel::O1;
  case 2:
    return llvm::OptimizationLevel::O2;
  default:
    return llvm::OptimizationLevel::O3;
  }
}

/// Computes addresses in the memory of an argument where they are used.
static void sinkAddresses(llvm::Function &function) {
  SmallVector<llvm::GetElementPtrInst *> addresses;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *address = dyn_cast<llvm::GetElementPtrInst>(&instruction);
        address && address->hasAllConstantIndices() &&
        isa<llvm::Argument>(address->getPointerOperand()))
      addresses.push_back(address);
  for (llvm::GetElementPtrInst *address : addresses) {
    for (llvm::Use &use : llvm::make_early_inc_range(address->uses())) {
      auto *user = cast<llvm::Instruction>(use.getUser());
      if (isa<llvm::PHINode>(user))
        continue;
      llvm::Instruction *here = address->clone();
      here->insertBefore(user->getIterator());
      use.set(here);
    }
    if (address->use_empty())
      address->eraseFromParent();
  }
}

/// Blocks of the function that split a long run of calls; they end in a jump to
/// the rest.
static SmallVector<llvm::BasicBlock *> splitBlocks(llvm::Function &function) {
  SmallVector<llvm::BasicBlock *> parts;
  for (llvm::BasicBlock &block : llvm::make_early_inc_range(function)) {
    SmallVector<llvm::Instruction *> starts;
    unsigned calls = 0;
    for (llvm::Instruction &instruction : block)
      if (isa<llvm::CallBase>(instruction) &&
          ++calls % mlir::dist::kCallsApart == 0)
        starts.push_back(instruction.getNextNode());
    // From the end, since the rest moves.
    for (auto [index, start] : llvm::enumerate(llvm::reverse(starts))) {
      llvm::BasicBlock *part = block.splitBasicBlock(start->getIterator());
      if (index > 0)
        parts.push_back(part);
    }
  }
  return parts;
}

using ValueCopies = llvm::MapVector<llvm::Value *, llvm::Instruction *>;

/// Has the blocks use copies of what comes from outside. The extractor visits
/// all users of each such value. An argument of a long function has thousands,
/// and its copy has those in the blocks.
static ValueCopies copyOutside(ArrayRef<llvm::BasicBlock *> blocks) {
  llvm::SmallPtrSet<llvm::BasicBlock *, 8> inside(blocks.begin(), blocks.end());
  llvm::BasicBlock &entry = blocks.front()->getParent()->getEntryBlock();
  ValueCopies copies;
  for (llvm::BasicBlock *block : blocks)
    for (llvm::Instruction &instruction : *block)
      for (llvm::Use &use : instruction.operands()) {
        auto *definition = dyn_cast<llvm::Instruction>(use);
        // The extractor moves allocations that it sees.
        if (definition ? isa<llvm::AllocaInst>(definition) ||
                             inside.contains(definition->getParent())
                       : !isa<llvm::Argument>(use))
          continue;
        llvm::Instruction *&copy = copies[use];
        if (!copy)
          copy = new llvm::FreezeInst(
              use, "",
              definition ? *definition->getInsertionPointAfterDef()
                         : entry.getFirstInsertionPt());
        use.set(copy);
      }
  return copies;
}

/// Moves the blocks to a function and returns it; null if that is impossible.
static llvm::Function *extract(ArrayRef<llvm::BasicBlock *> blocks,
                               const llvm::CodeExtractorAnalysisCache &cache,
                               llvm::DominatorTree *dominance = nullptr) {
  llvm::CodeExtractor extractor(blocks, dominance);
  if (!extractor.isEligible())
    return nullptr;
  ValueCopies copies = copyOutside(blocks);
  llvm::Function *made = extractor.extractCodeRegion(cache);
  if (made)
    made->addFnAttr(llvm::Attribute::NoInline);
  for (auto [value, copy] : copies) {
    copy->replaceAllUsesWith(value);
    copy->eraseFromParent();
  }
  return made;
}

/// Makes the outermost loops of a long function functions, and their inner
/// loops if they are long. `isLoop`: the function is a loop itself.
static void extractLoops(llvm::Function &function, bool isLoop = false) {
  if (function.size() <= mlir::dist::kBlocksTogether)
    return;
  sinkAddresses(function);
  llvm::DominatorTree dominance(function);
  llvm::LoopInfo info(dominance);
  SmallVector<llvm::Loop *> loops;
  for (llvm::Loop *loop : info)
    if (isLoop)
      llvm::append_range(loops, *loop);
    else
      loops.push_back(loop);
  llvm::CodeExtractorAnalysisCache cache(function);
  for (llvm::Loop *loop : loops)
    if (llvm::Function *made = extract(loop->getBlocks(), cache, &dominance))
      extractLoops(*made, /*isLoop=*/true);
  // The code between the loops is one block.
  for (llvm::BasicBlock &block : llvm::make_early_inc_range(function))
    llvm::MergeBlockIntoPredecessor(&block);
}

/// The entry function is thousands of calls and loops of calls in a row. LLVM
/// takes quadratic time to allocate registers for the calls, and to analyze the
/// loops. So parts of it become functions, which have the entry's arguments and
/// little else in common.
static void cutLongBlocks(llvm::Module &module) {
  SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !function.hasLocalLinkage())
      functions.push_back(&function);
  for (llvm::Function *function : functions) {
    extractLoops(*function);
    SmallVector<llvm::BasicBlock *> parts = splitBlocks(*function);
    if (parts.empty())
      continue;
    sinkAddresses(*function);
    llvm::CodeExtractorAnalysisCache cache(*function);
    for (llvm::BasicBlock *part : parts)
      extract(part, cache);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     const mlir::dist::CodegenOptions &options) {
  unsigned level = options.optLevel;
  cutLongBlocks(module);
  // Wide vectors pay here: loops are long and straight.
  bool wide = machine.getMCSubtargetInfo()->checkFeatures("+avx512f");
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (wide)
      function.addFnAttr("prefer-vector-width", "512");
    if (options.checksAddresses)
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = level > 1;
  tuning.SLPVectorization = level > 1;
  tuning.LoopInterleaving = level > 1;
  llvm::PassBuilder builder(&machine, tuning);
  // glibc's vector variants of functions without a polynomial here (link()
  // names them).
  if (machine.getTargetTriple().isOSLinux() &&
      machine.getTargetTriple().isX86())
    functions.registerPass([&] {
      return llvm::TargetLibraryAnalysis(llvm::TargetLibraryInfoImpl(
          machine.getTargetTriple(), llvm::VectorLibrary::LIBMVEC));
    });
  if (options.checksAddresses)
    builder.registerOptimizerLastEPCallback(
        [](llvm::ModulePassManager &last, llvm::OptimizationLevel,
           llvm::ThinOrFullLTOPhase) {
          last.addPass(llvm::AddressSanitizerPass({}));
        });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(getLevel(0))
                 : builder.buildPerModuleDefaultPipeline(getLevel(level));
  passes.run(module, modules);
}

/// Writes object code or assembly.
static LogicalResult emitCode(ModuleOp source, llvm::Module &module,
                              llvm::TargetMachine &machine,
                              llvm::raw_pwrite_stream &out,
                              llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type))
    return source.emitError("the code generator for ")
           << machine.getTargetTriple().str() << " writes no such file";
  passes.run(module);
  return success();
}

/// Writes a file with the output of `write`.
static LogicalResult
writeOrReport(ModuleOp source, StringRef path,
              function_ref<LogicalResult(llvm::raw_pwrite_stream &)> write) {
  auto stream = mlir::dist::OutputStream::open(path);
  if (!stream)
    return source.emitError(llvm::toString(stream.takeError()));
  if (failed(write((*stream)->os())))
    return failure();
  if (llvm::Error error = (*stream)->keep())
    return source.emitError(llvm::toString(std::move(error)));
  return success();
}

/// ld.lld from PATH or LLVM's own folder.
static std::string findLinker() {
  for (const char *name : {"ld.lld-22", "ld.lld"}) {
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
    if (auto found =
            llvm::sys::findProgramByName(name, {"/usr/lib/llvm-22/bin"}))
      return *found;
  }
  return "";
}

static LogicalResult link(ModuleOp source, StringRef object, StringRef path) {
  std::string linker = findLinker();
  if (linker.empty())
    return source.emitError("no linker: ld.lld is neither on PATH nor in "
                            "/usr/lib/llvm-22/bin; apt-get install lld-22");
  SmallVector<std::string> arguments = {linker,
                                        "-shared",
                                        "-O1",
                                        "--hash-style=gnu",
                                        "-z",
                                        "noexecstack",
                                        "--build-id=none",
                                        "-o",
                                        path.str(),
                                        object.str()};
  // The C library's mathematical functions, where the loader finds them too.
  const char *folders[] = {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                           "/lib64", "/usr/lib64", "/usr/lib"};
  for (const char *library : {"libm.so.6", "libmvec.so.1"})
    for (const char *folder : folders) {
      std::string file = std::string(folder) + "/" + library;
      if (!llvm::sys::fs::exists(file))
        continue;
      arguments.push_back("--as-needed");
      arguments.push_back(file);
      break;
    }
  SmallVector<StringRef> references(arguments.begin(), arguments.end());
  std::string log = (path + ".log").str(), message;
  llvm::scope_exit removeLog([&] { llvm::sys::fs::remove(log); });
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(linker, references, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status == 0)
    return success();
  if (auto text = llvm::MemoryBuffer::getFile(log))
    message += (*text)->getBuffer().str();
  return source.emitError("linking ")
         << path << " with " << linker << " failed (status " << status
         << "): " << message;
}

/// Writes the files that the options ask for besides, all or none.
static LogicalResult dump(ModuleOp source, llvm::Module &code,
                          llvm::TargetMachine &machine,
                          const mlir::dist::CodegenOptions &options) {
  SmallVector<mlir::dist::OutputStream *> opened;
  std::unique_ptr<mlir::dist::OutputStream> ir, assembly;
  auto open = [&](std::unique_ptr<mlir::dist::OutputStream> &file,
                  const std::string &path) -> LogicalResult {
    if (path.empty())
      return success();
    auto stream = mlir::dist::OutputStream::open(path);
    if (!stream)
      return source.emitError(llvm::toString(stream.takeError()));
    file = std::move(*stream);
    opened.push_back(file.get());
    return success();
  };
  if (failed(open(ir, options.dumpLLVM)) ||
      failed(open(assembly, options.dumpAssembly)))
    return failure();
  if (ir)
    code.print(ir->os(), nullptr);
  if (assembly &&
      failed(emitCode(source, *llvm::CloneModule(code), machine, assembly->os(),
                      llvm::CodeGenFileType::AssemblyFile)))
    return failure();
  if (llvm::Error error = mlir::dist::OutputStream::keep(opened))
    return source.emitError(llvm::toString(std::move(error)));
  return success();
}

LogicalResult mlir::dist::emitObject(ModuleOp module,
                                     llvm::raw_pwrite_stream &out,
                                     const CodegenOptions &options) {
  if (options.beginStage)
    options.beginStage("codegen", "generating code");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, "dist");
  if (!code)
    return module.emitError("translation to LLVM IR failed");
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, options);
  if (!machine)
    return failure();
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  optimize(*code, *machine, options);
  if (failed(dump(module, *code, *machine, options)))
    return failure();
  return emitCode(module, *code, *machine, out,
                  llvm::CodeGenFileType::ObjectFile);
}

LogicalResult mlir::dist::emitSharedObject(ModuleOp module, StringRef path,
                                           const CodegenOptions &options) {
  std::string object = (path + ".o").str();
  llvm::scope_exit removeObject([&] { llvm::sys::fs::remove(object); });
  if (failed(writeOrReport(module, object, [&](llvm::raw_pwrite_stream &file) {
        return emitObject(module, file, options);
      })))
    return failure();
  if (options.beginStage)
    options.beginStage("link", "linking");
  return link(module, object, path);
}
