//===- DeviceCode.cpp - The file of a program for GPUs --------------------===//

#include "lowering/gpu/DeviceCode.h"
#include "lowering/cpu/ObjectCode.h"
#include "lowering/files/OutputStream.h"
#include "lowering/gpu/Launch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::dist;

static std::unique_ptr<llvm::TargetMachine> createDevice(ModuleOp module,
                                                         StringRef chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError("no code generator for ") << triple.str() << ": " << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip, /*Features=*/"", llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Functions that have no instruction. It needs nothing of NVIDIA's.
static constexpr llvm::StringLiteral kLibrary = "/usr/lib/clc/nvptx64--.bc";

std::string mlir::dist::getLibraryFunction(StringRef name, Type type,
                                           unsigned operands) {
  return ("_Z" + Twine(name.size()) + name +
          std::string(operands, type.isF64() ? 'd' : 'f'))
      .str();
}

/// Divisions and roots of the library are rounded as all others are.
static void makeExact(llvm::Module &code, const llvm::StringSet<> &names) {
  for (const auto &name : names)
    if (llvm::Function *function = code.getFunction(name.first()))
      for (llvm::Instruction &instruction : llvm::instructions(*function)) {
        if (isa<llvm::FPMathOperator>(instruction))
          instruction.copyFastMathFlags(llvm::FastMathFlags());
        instruction.setMetadata(llvm::LLVMContext::MD_fpmath, nullptr);
      }
}

/// What the kernels call becomes their own.
static LogicalResult linkLibrary(ModuleOp device, llvm::Module &code) {
  SmallVector<const llvm::Function *> called;
  auto findCalled = [&] {
    called.clear();
    for (const llvm::Function &function : code)
      if (function.isDeclaration() && !function.isIntrinsic())
        called.push_back(&function);
    return !called.empty();
  };
  if (!findCalled())
    return success();
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> library =
      llvm::getLazyIRFileModule(kLibrary, problem, code.getContext());
  if (!library)
    return device.emitError("target cuda has functions from ")
           << kLibrary
           << ", of Debian's package libclc-22: " << problem.getMessage();
  library->setTargetTriple(code.getTargetTriple());
  library->setDataLayout(code.getDataLayout());
  if (llvm::Linker::linkModules(
          code, std::move(library), llvm::Linker::LinkOnlyNeeded,
          [](llvm::Module &linked, const llvm::StringSet<> &names) {
            for (const auto &name : names)
              if (llvm::GlobalValue *value = linked.getNamedValue(name.first()))
                if (!value->isDeclaration())
                  value->setLinkage(llvm::GlobalValue::InternalLinkage);
            makeExact(linked, names);
          }))
    return device.emitError(kLibrary + " cannot be linked");
  if (findCalled())
    return device.emitError("target cuda has no function ")
           << called.front()->getName() << " in " << kLibrary;
  return success();
}

/// The device's half as PTX.
static FailureOr<std::string> emitPtx(ModuleOp device, StringRef chip) {
  std::unique_ptr<llvm::TargetMachine> machine = createDevice(device, chip);
  if (!machine)
    return failure();
  // Alignments are the device's.
  device->setAttr(
      LLVM::LLVMDialect::getDataLayoutAttrName(),
      StringAttr::get(device.getContext(),
                      machine->createDataLayout().getStringRepresentation()));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(device, context, kDeviceModule);
  if (!code)
    return device.emitError("translation to LLVM IR failed");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  if (failed(linkLibrary(device, *code)))
    return failure();
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(*code, modules);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return device.emitError("the code generator for ")
           << chip << " writes no PTX";
  passes.run(*code);
  return std::string(text);
}

static LogicalResult writePtx(ModuleOp module, StringRef ptx, StringRef path) {
  auto file = OutputStream::open(path);
  if (!file)
    return module.emitError(llvm::toString(file.takeError()));
  (*file)->os() << ptx;
  if (llvm::Error error = OutputStream::keep({file->get()}))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}

static void addText(ModuleOp module, StringRef name, std::string text) {
  text.push_back('\0');
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
      /*isConstant=*/true, LLVM::Linkage::External, name,
      builder.getStringAttr(text));
}

LogicalResult mlir::dist::emitDeviceProgram(ModuleOp module, StringRef path,
                                            const CodegenOptions &options) {
  std::string kernels, code;
  if (auto device = module.lookupSymbol<ModuleOp>(kDeviceModule)) {
    if (options.beginStage)
      options.beginStage("device", "generating the device's code");
    for (auto kernel : device.getOps<LLVM::LLVMFuncOp>())
      if (auto blocks = kernel->getAttrOfType<IntegerAttr>(kBlocksAttr))
        kernels += (kernel.getName() + " " + Twine(blocks.getInt()) + " " +
                    Twine(kThreads) + "\n")
                       .str();
    FailureOr<std::string> ptx = emitPtx(device, "sm_80");
    if (failed(ptx))
      return failure();
    if (!options.dumpPtx.empty() &&
        failed(writePtx(module, *ptx, options.dumpPtx)))
      return failure();
    code = std::move(*ptx);
    device.erase();
  }
  addText(module, "dist_kernels", std::move(kernels));
  addText(module, "dist_device_code", std::move(code));
  if (module.lookupSymbol("dist_contract"))
    addText(module, "dist_products", "");
  return emitSharedObject(module, path, options);
}
