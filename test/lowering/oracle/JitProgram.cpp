//===- JitProgram.cpp - A lowered program in this process -----------------===//

#include "test/lowering/oracle/JitProgram.h"
#include "compiler/Register.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "dist/Tensor.h"
#include "lowering/buffers/Passes.h"
#include "lowering/cpu/CpuTarget.h"
#include "lowering/cpu/ObjectCode.h"
#include "lowering/pipeline/Pipeline.h"
#include "lowering/rt/Rt.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/threads/ThreadsRun.h"
#include "test/generator/Diagnostics.h"
#include "test/generator/Interpreter.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <dlfcn.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;
namespace host = ::dist;

MLIRContext *mlir::dist::test::getLoweringContext() {
  static auto context = [] {
    DialectRegistry registry;
    registerAll(registry);
    auto made = std::make_unique<MLIRContext>(registry,
                                              MLIRContext::Threading::DISABLED);
    made->loadDialect<DistDialect>();
    return made;
  }();
  return context.get();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// Memory between two guards.
class Buffer {
public:
  Buffer(int64_t bytes, unsigned char fill)
      : bytes(bytes), memory(host::allocate(bytes + 2 * kGuard)) {
    memset(memory.get(), kGuardByte, bytes + 2 * kGuard);
    memset(data(), fill, bytes);
  }
  unsigned char *data() const {
    return static_cast<unsigned char *>(memory.get()) + kGuard;
  }
  bool isGuarded() const {
    auto holds = [](const unsigned char *at) {
      return std::all_of(at, at + kGuard,
                         [](unsigned char byte) { return byte == kGuardByte; });
    };
    return holds(data() - kGuard) && holds(data() + bytes);
  }

private:
  static constexpr int64_t kGuard = 128;
  static constexpr unsigned char kGuardByte = 0xa5;
  int64_t bytes;
  std::shared_ptr<void> memory;
};

/// What a rank works on.
struct RankMemory {
  std::vector<Buffer> args, results;
  std::vector<void *> argPointers, resultPointers;
  /// Arguments that are results.
  DenseSet<unsigned> updated;
};
} // namespace

static void store(Type type, Scalar value, unsigned char *to) {
  int64_t size = getElementBytes(type);
  if (auto number = dyn_cast<FloatType>(type)) {
    APFloat converted(value.f);
    bool lost;
    converted.convert(number.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &lost);
    uint64_t bits = converted.bitcastToAPInt().getZExtValue();
    memcpy(to, &bits, size);
    return;
  }
  int64_t bits = type.isInteger(1) ? value.i & 1 : value.i;
  memcpy(to, &bits, size);
}

static Scalar load(Type type, const unsigned char *from) {
  int64_t bits = 0;
  memcpy(&bits, from, getElementBytes(type));
  Scalar out;
  if (auto number = dyn_cast<FloatType>(type)) {
    APFloat value(number.getFloatSemantics(),
                  APInt(number.getWidth(), maskTo(number.getWidth(), bits)));
    bool lost;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    out.f = value.convertToDouble();
  } else {
    out.i = wrapTo(getWidth(type), bits);
  }
  return out;
}

static int64_t getBytes(Type elementType, int64_t count) {
  return getElementBytes(elementType) * count;
}

static Buffer toBuffer(const Tensor &tensor) {
  Type type = tensor.getElementType();
  int64_t step = getElementBytes(type);
  Buffer out(getBytes(type, tensor.getNumElements()), 0);
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    store(type, tensor.read()[i], out.data() + i * step);
  return out;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

namespace {
struct PassHooks : PassInstrumentation {
  explicit PassHooks(const JitOptions &options) : options(options) {}
  void runBeforePass(Pass *pass, Operation *op) override {
    if (options.beforePass && !pass->getArgument().empty())
      options.beforePass(pass->getArgument(), op);
  }
  const JitOptions &options;
};
} // namespace

JitProgram::~JitProgram() = default;

std::unique_ptr<JitProgram> JitProgram::make(ModuleOp module,
                                             const JitOptions &options,
                                             std::string &error) {
  std::unique_ptr<JitProgram> out(new JitProgram);
  out->source = module;
  out->lowered = module.clone();
  PassManager passes(module.getContext());
  passes.addInstrumentation(std::make_unique<PassHooks>(options));
  buildLowerPipeline(passes, getCpuTarget(), LowerOptions());
  CodegenOptions codegen;
  codegen.optLevel = options.optLevel;
  codegen.checksAddresses = options.checksAddresses;
  llvm::raw_svector_ostream stream(out->code);
  if (failed(passes.run(*out->lowered)) ||
      failed(emitObject(*out->lowered, stream, codegen)))
    return nullptr;

  auto take = [&](auto value) {
    if (!value)
      error = llvm::toString(value.takeError());
    return value;
  };
  auto jit = take(llvm::orc::LLJITBuilder().create());
  if (!jit)
    return nullptr;
  out->jit = std::move(*jit);
  // Vector variants of mathematical functions.
  static void *mathematics = dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL);
  (void)mathematics;
  auto process =
      take(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          out->jit->getDataLayout().getGlobalPrefix()));
  if (!process)
    return nullptr;
  out->jit->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error problem = out->jit->addObjectFile(
          llvm::MemoryBuffer::getMemBuffer(out->code, "program", false))) {
    error = llvm::toString(std::move(problem));
    return nullptr;
  }
  auto address = take(out->jit->lookup("dist_main"));
  if (!address)
    return nullptr;
  out->entry = address->toPtr<dist_main_fn>();
  return out;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static host::Topology getTopology(ModuleOp source, ModuleOp lowered) {
  host::Topology topology;
  if (auto meshes = source.getOps<MeshOp>(); !meshes.empty())
    for (MeshAxisAttr axis : (*meshes.begin()).getAxes())
      topology.mesh.axes.push_back({axis.getName().str(), axis.getSize()});
  if (auto comms = lowered->getAttrOfType<ArrayAttr>(rt::kCommunicatorsAttr))
    for (ArrayAttr axes : comms.getAsRange<ArrayAttr>()) {
      std::vector<host::AxisRef> refs;
      for (AxisRefAttr axis : getAxisRefs(axes)) {
        host::AxisRef ref =
            topology.mesh.whole(topology.mesh.find(axis.getName().str()));
        if (axis.isSubAxis()) {
          ref.pre = axis.getPre();
          ref.rest = ref.size / (axis.getPre() * axis.getSize());
          ref.size = axis.getSize();
        }
        refs.push_back(ref);
      }
      topology.comms.emplace_back(topology.mesh, refs);
    }
  if (auto sites = lowered->getAttrOfType<ArrayAttr>(rt::kCollectivesAttr))
    topology.sites.resize(sites.size());
  if (auto checks = lowered->getAttrOfType<ArrayAttr>(rt::kChecksAttr))
    for (DictionaryAttr check : checks.getAsRange<DictionaryAttr>())
      topology.checks.push_back(
          {check.getAs<StringAttr>("message").getValue().str(),
           check.getAs<BoolAttr>("value").getValue()});
  return topology;
}

FailureOr<std::vector<PerDevice>>
JitProgram::runOnce(ArrayRef<PerDevice> inputs, unsigned char fill,
                    std::string &error) {
  auto function = cast<func::FuncOp>(getEntryFunction(source));
  int64_t arenaBytes = 0;
  if (auto bytes = (*lowered)->getAttrOfType<IntegerAttr>(kArenaBytesAttr))
    arenaBytes = bytes.getInt();
  host::ThreadsRun run(getTopology(source, *lowered), {}, streams);
  int64_t count = run.topology().mesh.size();
  std::vector<RankMemory> memories(count);
  std::vector<Buffer> arenas;
  for (int64_t rank = 0; rank < count; ++rank) {
    RankMemory &memory = memories[rank];
    arenas.emplace_back(arenaBytes, fill);
    for (const PerDevice &input : inputs) {
      memory.args.push_back(toBuffer(input[rank]));
      memory.argPointers.push_back(memory.args.back().data());
    }
    for (auto [number, result] : llvm::enumerate(function.getResultTypes())) {
      if (auto updated =
              function.getResultAttrOfType<IntegerAttr>(number, kUpdatesAttr)) {
        memory.updated.insert(updated.getInt());
        memory.results.push_back(memory.args[updated.getInt()]);
        memory.resultPointers.push_back(memory.results.back().data());
        continue;
      }
      auto type = cast<RankedTensorType>(result);
      memory.results.emplace_back(
          getBytes(type.getElementType(), type.getNumElements()), fill);
      memory.resultPointers.push_back(memory.results.back().data());
    }
  }
  bool ok = run.run([&](dist_rank &rank) -> int32_t {
    RankMemory &memory = memories[rank.index];
    std::vector<int64_t> words(1 + rank.topology.checks.size());
    dist_main_fn main = firstRank && rank.index == 0 ? firstRank->entry : entry;
    int32_t status = rank.callMain(main, memory.argPointers.data(),
                                   memory.resultPointers.data(),
                                   arenas[rank.index].data(), words.data());
    return status;
  });
  if (!ok) {
    error = run.message();
    return failure();
  }
  std::vector<PerDevice> results(function.getNumResults());
  for (int64_t rank = 0; rank < count; ++rank) {
    RankMemory &memory = memories[rank];
    auto blame = [&](const Twine &what) {
      error = (what + " on rank " + Twine(rank)).str();
      return failure();
    };
    for (auto [number, buffer] : llvm::enumerate(memory.args)) {
      const Tensor &before = inputs[number][rank];
      if (!buffer.isGuarded())
        return blame("writes beside argument " + Twine(number));
      if (!memory.updated.contains(number) &&
          memcmp(buffer.data(), toBuffer(before).data(),
                 getBytes(before.getElementType(), before.getNumElements())))
        return blame("writes to argument " + Twine(number));
    }
    if (!arenas[rank].isGuarded())
      return blame("writes beside the arena");
    for (auto [number, buffer] : llvm::enumerate(memory.results)) {
      if (!buffer.isGuarded())
        return blame("writes beside result " + Twine(number));
      auto type = cast<RankedTensorType>(function.getResultTypes()[number]);
      Type element = type.getElementType();
      Tensor out(element, type.getShape());
      for (int64_t i = 0; i < type.getNumElements(); ++i) {
        const unsigned char *at = buffer.data() + getBytes(element, i);
        if (element.isInteger(1) && *at > 1 && *at != fill)
          return blame("makes a bool of " + Twine(unsigned(*at)));
        out.at(i) = load(element, at);
      }
      results[number].push_back(std::move(out));
    }
  }
  return results;
}

FailureOr<std::vector<Tensor>>
JitProgram::run(ArrayRef<Tensor> arguments, uint64_t seed, std::string &error) {
  auto function = cast<func::FuncOp>(getEntryFunction(source));
  Devices devices = getDevices(source);
  Garbage garbage(static_cast<Garbage::Kind>(seed % Garbage::kKinds), seed);
  auto inputs = cutArguments(function, devices, arguments, garbage, error);
  if (failed(inputs))
    return failure();
  // Constants that became arguments.
  if (auto list = (*lowered)->getAttrOfType<ArrayAttr>(rt::kConstantsAttr))
    for (DictionaryAttr entry : list.getAsRange<DictionaryAttr>()) {
      auto whole = Tensor::fromAttr(entry.getAs<ElementsAttr>("value"));
      if (!whole) {
        error = "a constant that cannot be read";
        return failure();
      }
      PerDevice parts;
      for (int64_t device = 0; device < devices.getCount(); ++device)
        parts.push_back(devices.cut(
            *whole, entry.getAs<ShardingAttr>(kShardingAttr), device, garbage));
      inputs->push_back(std::move(parts));
    }
  // Memory is NaN and -1, and something else the second time.
  std::vector<Tensor> out[2];
  for (unsigned i = 0; i < 2; ++i) {
    auto parts = runOnce(*inputs, i == 0 ? 0xff : 0x3b, error);
    if (failed(parts))
      return failure();
    auto joined = joinResults(function, devices, *parts, error);
    if (failed(joined))
      return failure();
    out[i] = std::move(*joined);
  }
  for (auto [number, first] : llvm::enumerate(out[0]))
    if (auto difference = findBitDifference(first, out[1][number])) {
      error = "result " + std::to_string(number) +
              " depends on what memory held before: " + *difference;
      return failure();
    }
  return std::move(out[0]);
}
