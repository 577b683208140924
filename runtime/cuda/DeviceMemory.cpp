//===- DeviceMemory.cpp - Operands of collectives on a GPU ----------------===//

#include "runtime/cuda/DeviceMemory.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Copies.h"
#include "runtime/cuda/kernels/Arguments.h"

#include <algorithm>
#include <utility>

using namespace dist;
using namespace dist::cuda;

static_assert(int(DIST_SUM) == kSum && int(DIST_PROD) == kProd &&
              int(DIST_MAX) == kMax && int(DIST_MIN) == kMin &&
              int(DIST_AND) == kAnd && int(DIST_OR) == kOr);

/// PTX, made by clang when this is built.
static const char code[] =
#include "runtime/cuda/CollectivesPtx.inc"
    ;

/// Blocks that keep every chip busy; they go on to further elements.
static constexpr int64_t kMostBlocks = 2048;

static uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

CollectiveKernels::CollectiveKernels(const Driver &driver) : driver(driver) {
  driver.check(driver.cuModuleLoadDataEx(&module, code, 0, nullptr, nullptr),
               "the GPU's driver does not take the kernels of collectives");
}

CollectiveKernels::~CollectiveKernels() { driver.cuModuleUnload(module); }

void CollectiveKernels::launch(const std::string &name, int64_t count,
                               const void *argument, Stream stream) {
  Function &function = functions[name];
  if (!function)
    driver.check(driver.cuModuleGetFunction(&function, module, name.c_str()),
                 "no kernel " + name);
  int64_t blocks =
      std::min((count + kBlockThreads - 1) / kBlockThreads, kMostBlocks);
  void *parameters[] = {const_cast<void *>(argument)};
  driver.check(driver.cuLaunchKernel(function, blocks, 1, 1, kBlockThreads, 1,
                                     1, /*sharedBytes=*/0, stream, parameters,
                                     nullptr),
               "launch of " + name);
}

std::shared_ptr<char> DeviceMemory::allocate(int64_t bytes) {
  DevicePtr address = 0;
  driver.check(driver.cuMemAlloc(&address, std::max<int64_t>(bytes, 1)),
               "the GPU has no " + std::to_string(bytes) +
                   " bytes for messages");
  return {reinterpret_cast<char *>(address),
          [this](char *memory) { returned.push_back(memory); }};
}

void DeviceMemory::freeReturned() {
  for (char *memory : std::exchange(returned, {}))
    driver.cuMemFree(reinterpret_cast<DevicePtr>(memory));
}

void DeviceMemory::copy(const Copy &copy, const char *from, char *to) {
  CopyArguments a{};
  a.from = addressOf(from) + copy.in;
  a.to = addressOf(to) + copy.out;
  // The widest word that all runs are made of.
  uint64_t bits = a.from | a.to | copy.run | 16;
  int64_t runs = 1;
  for (const Copy::Loop &loop : copy.loops)
    if (loop.extent != 1) {
      runs *= loop.extent;
      bits |= loop.in | loop.out;
    }
  if (runs == 0 || copy.run == 0)
    return;
  if (runs == 1) {
    driver.check(driver.cuMemcpyDtoDAsync(a.to, a.from, copy.run, stream),
                 "a copy on the GPU");
    return;
  }
  int64_t word = bits & -bits;
  for (int i = 0; i < 3; ++i) {
    const Copy::Loop &loop = copy.loops[i];
    a.extents[i] = loop.extent;
    a.in[i] = loop.extent == 1 ? 0 : loop.in / word;
    a.out[i] = loop.extent == 1 ? 0 : loop.out / word;
  }
  a.run = copy.run / word;
  kernels.launch("copy" + std::to_string(word), runs * a.run, &a, stream);
}

void DeviceMemory::fill(dist_dtype dtype, int64_t element, Runs out,
                        int64_t runs, int64_t count) {
  if (runs * count == 0)
    return;
  FillArguments a{addressOf(out.data), out.step, runs, count,
                  uint64_t(element)};
  kernels.launch("fill" + std::to_string(dtypeBytes(dtype)), runs * count, &a,
                 stream);
}

void DeviceMemory::reduce(dist_dtype dtype, dist_op op,
                          const std::vector<ConstRuns> &ins, Runs out,
                          int64_t runs, int64_t count) {
  if (runs * count == 0)
    return;
  if (ins.size() == 1) {
    if (ins[0].data == out.data && (runs == 1 || ins[0].step == out.step))
      return;
    Copy whole;
    whole.loops[0] = {runs, ins[0].step, out.step};
    whole.run = count * dtypeBytes(dtype);
    return copy(whole, ins[0].data, out.data);
  }
  bool isHalf = dtype == DIST_F16 || dtype == DIST_BF16;
  int64_t bytes = runs * count * (isHalf ? 4 : dtypeBytes(dtype));
  if (ins.size() > kMostTerms && bytes > wideBytes) {
    wide.reset();
    wide = allocate(bytes);
    wideBytes = bytes;
  }
  for (size_t next = 0; next < ins.size();) {
    ReduceArguments a{};
    // The sum so far takes the place of the first operand.
    a.wideIn = next > 0 ? addressOf(wide.get()) : 0;
    a.terms = next > 0 ? 1 : 0;
    for (; next < ins.size() && a.terms < kMostTerms; ++a.terms, ++next) {
      a.ins[a.terms] = addressOf(ins[next].data);
      a.steps[a.terms] = ins[next].step;
    }
    a.wideOut = next < ins.size() ? addressOf(wide.get()) : 0;
    a.to = addressOf(out.data);
    a.step = out.step;
    a.runs = runs;
    a.count = count;
    a.op = op;
    kernels.launch(std::string("reduce_") + dtypeName(dtype), runs * count, &a,
                   stream);
  }
}
