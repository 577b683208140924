//===- RunCompiler.cpp - Programs that are compiled and run ---------------===//

#include "tools/common/RunCompiler.h"
#include "dialects/dist/IR/Random.h"
#include "dist/OutputFile.h"
#include "lowering/bundle/ModuleManifest.h"
#include "lowering/targets/Targets.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <filesystem>

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

/// Whether a module computes with floats of less than 32 bits.
static bool findShortFloats(ModuleOp module) {
  auto isShort = [](Type type) {
    auto number = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    return number && number.getWidth() < 32;
  };
  return module
      .walk([&](Operation *op) {
        return llvm::any_of(op->getOperandTypes(), isShort) ||
                       llvm::any_of(op->getResultTypes(), isShort)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

RunCompiler::RunCompiler(Stages &stages, Precision precision,
                         const CompileOptions &options, StringRef backend)
    : stages(stages), precision(precision), common(options), backend(backend) {
  DialectRegistry registry;
  registerAll(registry);
  context.appendDialectRegistry(registry);
  printer = std::make_unique<DiagnosticPrinter>(&context);
}

OwningOpRef<ModuleOp> RunCompiler::load(StringRef path) {
  OwningOpRef<ModuleOp> module = loadModule(path, &context, stages);
  if (module && precision == Precision::Own)
    hasShortFloats |= findShortFloats(*module);
  if (module && precision == Precision::F64 &&
      failed(convertToF64(*module, stages)))
    return nullptr;
  return module;
}

void RunCompiler::noteStreams(ModuleOp module) {
  for (auto mesh : module.getOps<MeshOp>())
    if (mesh->hasAttr(kRandomStreamsAttr))
      streams = mesh.clone();
}

/// The axes that a manifest names.
static SmallVector<AxisRefAttr>
getAxes(MLIRContext *context, const host::Mesh &mesh,
        const std::vector<host::AxisRef> &refs) {
  SmallVector<AxisRefAttr> axes;
  for (const host::AxisRef &ref : refs) {
    const host::MeshAxis &axis = mesh.axes[ref.axis];
    axes.push_back(AxisRefAttr::get(context, axis.name, ref.pre,
                                    ref.size == axis.size ? 0 : ref.size));
  }
  return axes;
}

void RunCompiler::noteStreams(const host::Manifest &manifest) {
  if (manifest.randomStreams.empty())
    return;
  context.loadDialect<DistDialect>();
  OpBuilder builder(&context);
  SmallVector<MeshAxisAttr> axes;
  for (const host::MeshAxis &axis : manifest.mesh.axes)
    axes.push_back(MeshAxisAttr::get(&context, axis.name, axis.size));
  streams = MeshOp::create(builder, builder.getUnknownLoc(), "mesh",
                           MeshAxesAttr::get(&context, axes));
  auto name = FlatSymbolRefAttr::get(streams->getSymNameAttr());
  SmallVector<Attribute> operators;
  for (const host::RandomStreamsDesc &desc : manifest.randomStreams) {
    SmallVector<DimShardingAttr> dims;
    for (const std::vector<host::SubDim> &dim : desc.dims) {
      SmallVector<SubDimAttr> subDims;
      for (const host::SubDim &sub : dim)
        subDims.push_back(SubDimAttr::get(
            &context, sub.size, getAxes(&context, manifest.mesh, sub.axes)));
      dims.push_back(DimShardingAttr::get(&context, subDims, false));
    }
    operators.push_back(getRandomStreams(
        desc.number, getAxes(&context, manifest.mesh, desc.axes),
        ShardingAttr::get(&context, name, dims, ReductionKind::Sum, {}),
        desc.globalShape));
  }
  (*streams)->setAttr(kRandomStreamsAttr, builder.getArrayAttr(operators));
}

std::string RunCompiler::describeStreams() {
  std::string text;
  if (!streams)
    return text;
  auto operators = (*streams)->getAttrOfType<ArrayAttr>(kRandomStreamsAttr);
  llvm::SmallSetVector<Attribute, 2> axes;
  for (auto each : operators.getAsRange<DictionaryAttr>())
    for (AxisRefAttr axis : getAxisRefs(each.getAs<ArrayAttr>("axes")))
      axes.insert(axis);
  llvm::raw_string_ostream stream(text);
  stream << "random numbers of " << operators.size()
         << (operators.size() == 1 ? " operator" : " operators")
         << " come from streams of each device along ";
  llvm::interleaveComma(
      axes, stream, [&](Attribute axis) { stream << cast<AxisRefAttr>(axis); });
  stream << ": on another mesh they are others";
  return text;
}

host::Program
mlir::dist::compileAndLoad(ModuleOp module, const BundleOptions &options,
                           StringRef what,
                           llvm::function_ref<void(const std::string &)> use) {
  SmallString<128> name;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, name);
  llvm::sys::path::append(name, "dist-run");
  host::TemporaryPath folder(host::TemporaryPath::beside(name.str().str()));
  if (std::error_code error = llvm::sys::fs::create_directory(
          folder.path(), /*IgnoreExisting=*/false, llvm::sys::fs::owner_all))
    throw host::Error(
        folder.path() +
        ": no temporary folder to compile into: " + error.message());
  std::string bundle = folder.path() + "/program.dist";
  if (failed(writeBundle(module, bundle, options)))
    throw host::Error(what.str() + " could not be compiled");
  // The code stays mapped when the folder goes.
  host::Program program = host::loadBundle(bundle);
  if (use)
    use(bundle);
  return program;
}

std::string RunCompiler::findWeights(ModuleOp module, StringRef file) {
  std::string weights = weightsPath(module, file, common.weights);
  if (!weights.empty())
    weights = std::filesystem::absolute(weights).string();
  host::noteInput(weights);
  return weights;
}

host::Program RunCompiler::describe(ModuleOp module, StringRef file) {
  FailureOr<host::Manifest> manifest = describeProgram(module);
  if (failed(manifest))
    throw host::Error(file.str() + " could not be compiled");
  host::Program program;
  program.manifest = std::move(*manifest);
  program.manifest.weights = findWeights(module, file);
  return program;
}

host::Program RunCompiler::compile(ModuleOp module, StringRef file, Form form,
                                   int64_t ranks) {
  std::string weightsFile = findWeights(module, file);
  // Their path may be no UTF-8, as what stands in a manifest must be.
  module->removeAttr(kWeightsAttr);
  BundleOptions options;
  // What is compared with is the CPU's, whatever runs the ranks: so the two
  // share no kernels.
  options.target =
      findTarget(form == Form::Fast ? host::targetOf(backend) : "cpu");
  if (!options.target)
    throw host::Error("--backend " + backend + " needs that target");
  options.codegen.cpu = common.cpu;
  options.codegen.optLevel = common.getOptLevel();
  options.plain = form != Form::Fast;
  options.ranks = ranks;
  options.perturb = form == Form::Perturbed;
  // Vectorizers are one thing less that both sides share, and most of the
  // time that plain loops take to compile.
  if (form == Form::Plain)
    options.codegen.optLevel = std::min(options.codegen.optLevel, 1u);
  options.codegen.beginStage = [&](StringRef name,
                                   StringRef what) -> TimingScope & {
    return stages.begin(name, what);
  };
  notes.weights = weightsFile;
  host::Program program =
      compileAndLoad(module, options, file, [&](const std::string &bundle) {
        if (form == Form::Fast)
          host::sendProgram(bundle, notes.write());
      });
  program.manifest.weights = weightsFile;
  return program;
}
