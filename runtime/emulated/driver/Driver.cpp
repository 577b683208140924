//===- Driver.cpp - The functions of the emulated driver ------------------===//

#include "runtime/emulated/driver/Driver.h"
#include "runtime/emulated/driver/Device.h"
#include "runtime/emulated/driver/Streams.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

using namespace dist::cuda;
using dist::emulated::Counts;
using dist::emulated::Kernel;
using dist::emulated::LaunchOptions;
using dist::emulated::LaunchResult;
using dist::emulated::LaunchShape;
using dist::emulated::Memory;
using dist::emulated::Order;
using dist::emulated::Scheduler;

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// What a block has unless its kernel is allowed more, and the most.
static constexpr int kSharedBytes = 48 << 10, kMostSharedBytes = 227 << 10;
static constexpr int kMostThreads = 1024, kMultiprocessors = 132;

/// What makes an address of the device none of the host: who reads it there is
/// ended by a signal, as beside a GPU.
static constexpr uint64_t kBase = uint64_t(1) << 48;

struct CUctx_st {
  int device = 0, references = 0;
  Memory memory{kBase};
  std::map<DevicePtr, size_t> allocations;
  size_t used = 0;
  /// What a kernel did wrong: every call returns it from then on.
  Result broken = Success;
};

struct CUfunc_st {
  CUmod_st *module;
  const Kernel *kernel;
  int mostDynamicShared = kSharedBytes;
};

struct CUmod_st {
  CUctx_st *context;
  std::unique_ptr<dist::emulated::Module> code;
  std::map<std::string, CUfunc_st> functions;
};

namespace {

/// A call that is to fail.
struct Injected {
  std::string name;
  int64_t left = 0;
  Result error = Success;
};

struct Machine {
  std::mutex mutex;
  bool isInitialized = false;
  int devices = 1, capability = 90;
  size_t bytes = size_t(16) << 30;
  std::map<int, std::unique_ptr<CUctx_st>> contexts;
  /// Memory of the host that copies may run beside.
  std::map<const char *, size_t> pinned;
  std::set<CUmod_st *> modules;
  Scheduler scheduler;
  std::vector<Injected> injected;
  std::string reports;
  Counts counts;
  uint64_t launches = 0;

  void report(const std::string &line) {
    constexpr size_t kMost = 1 << 20;
    if (reports.size() < kMost)
      reports += line + "\n";
    std::fprintf(stderr, "emulated GPU: %s\n", line.c_str());
  }
};

/// Never destroyed: threads may still call.
Machine &machine() {
  static Machine &one = *new Machine;
  return one;
}

thread_local CUctx_st *current = nullptr;

/// What every call begins with: the lock, and whether it fails at once.
class Call {
public:
  enum Needs { Nothing, Driver, Context };
  Call(const char *name, Needs needs = Context) : lock(machine().mutex) {
    for (Injected &one : machine().injected)
      if (one.left > 0 && one.name == name && --one.left == 0)
        result = one.error;
    if (result != Success || needs == Nothing)
      return;
    if (!machine().isInitialized)
      result = NotInitialized;
    else if (needs == Context && !current)
      result = InvalidContext;
    else if (needs == Context)
      result = current->broken;
  }
  explicit operator bool() const { return result != Success; }
  Result result = Success;

private:
  std::lock_guard<std::mutex> lock;
};

} // namespace

/// Declares `call`; returns from the function if it fails.
#define CALL(...)                                                              \
  Call call(__func__ __VA_OPT__(, ) __VA_ARGS__);                              \
  if (call)                                                                    \
  return call.result

static bool isDevice(int device) {
  return device >= 0 && device < machine().devices;
}

static bool isPinned(const void *data, size_t bytes) {
  auto *begin = static_cast<const char *>(data);
  auto after = machine().pinned.upper_bound(begin);
  if (after == machine().pinned.begin())
    return false;
  auto [first, size] = *std::prev(after);
  return begin + bytes <= first + size;
}

static void *pointerTo(DevicePtr address) {
  return reinterpret_cast<void *>(address);
}

//===----------------------------------------------------------------------===//
// Options and reports
//===----------------------------------------------------------------------===//

template <class T> static bool read(std::string_view text, T &value) {
  auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size();
}

static bool setOrder(std::string_view value) {
  uint64_t seed = 0;
  Order order = value == "issue"     ? Order::Issue
                : value == "reverse" ? Order::Reverse
                                     : Order::Seeded;
  if (order == Order::Seeded && !read(value, seed))
    return false;
  machine().scheduler.setOrder(order, seed);
  return true;
}

static bool setFailure(std::string_view value) {
  size_t first = value.find(':'), second = value.rfind(':');
  if (first == value.npos || first == second)
    return false;
  Injected one;
  int error = 0;
  one.name = value.substr(0, first);
  if (!read(value.substr(first + 1, second - first - 1), one.left) ||
      !read(value.substr(second + 1), error) || one.left < 1 || error < 1)
    return false;
  one.error = static_cast<Result>(error);
  machine().injected.push_back(one);
  return true;
}

int distEmulatedSet(const char *option, const char *value) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  std::string_view name = option, text = value;
  if (name == "order")
    return setOrder(text);
  if (name == "fail")
    return setFailure(text);
  int number = 0;
  if (name == "devices" && read(text, number) && number >= 0 && number <= 64)
    return machine().devices = number, 1;
  if (name == "memory")
    return read(text, machine().bytes);
  if (name == "capability" && text.size() > 2 &&
      text[text.size() - 2] == '.' &&
      read(std::string(text).erase(text.size() - 2, 1), number))
    return machine().capability = number, 1;
  return 0;
}

size_t distEmulatedReports(char *text, size_t bytes) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  std::string &reports = machine().reports;
  size_t needed = reports.size() + 1;
  if (bytes < needed)
    return needed;
  std::memcpy(text, reports.c_str(), needed);
  reports.clear();
  return needed;
}

void distEmulatedCounts(uint64_t counts[7]) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  const Counts &all = machine().counts;
  uint64_t values[] = {machine().launches,     all.warpInstructions,
                       all.threadInstructions, all.sectors,
                       all.usefulBytes,        all.sharedRequests,
                       all.sharedCycles};
  std::copy(std::begin(values), std::end(values), counts);
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

namespace {
struct ErrorText {
  Result error;
  const char *name, *text;
};
} // namespace

static constexpr ErrorText errorTexts[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {CaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {CaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing "
     "stream"}};

static Result findText(Result error, const char *ErrorText::*which,
                       const char **text) {
  *text = nullptr;
  for (const ErrorText &one : errorTexts)
    if (one.error == error)
      *text = one.*which;
  return *text ? Success : InvalidValue;
}

/// Of cuMemset.
template <class T>
static Result fill(DevicePtr to, T value, size_t count, Stream stream) {
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  size_t bytes;
  if (__builtin_mul_overflow(count, sizeof(T), &bytes) ||
      to % sizeof(T) != 0 || !current->memory.find(to, bytes))
    return InvalidValue;
  return machine().scheduler.add(stream, [=, context = current] {
    std::fill_n(reinterpret_cast<T *>(context->memory.hostOf(to)), count,
                value);
    context->memory.setWritten(pointerTo(to), bytes);
  });
}

Result dist::emulated::issueOnDevice(Stream stream, DeviceWork work) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  return machine().scheduler.add(stream, [context = current, work] {
    std::string problem;
    if (context->broken != Success)
      return;
    context->broken = work(context->memory, problem);
    if (context->broken != Success)
      machine().report(problem);
  });
}

extern "C" {

Result cuGetErrorName(Result error, const char **text) {
  return findText(error, &ErrorText::name, text);
}

Result cuGetErrorString(Result error, const char **text) {
  return findText(error, &ErrorText::text, text);
}

Result cuInit(unsigned flags) {
  CALL(Call::Nothing);
  if (flags != 0)
    return InvalidValue;
  if (machine().devices == 0)
    return NoDevice;
  machine().isInitialized = true;
  return Success;
}

Result cuDriverGetVersion(int *version) {
  CALL(Call::Nothing);
  *version = 13000;
  return Success;
}

Result cuDeviceGetCount(int *count) {
  CALL(Call::Driver);
  *count = machine().devices;
  return Success;
}

Result cuDeviceGet(Device *device, int ordinal) {
  CALL(Call::Driver);
  if (!isDevice(ordinal))
    return InvalidDevice;
  *device = ordinal;
  return Success;
}

Result cuDeviceGetName(char *name, int bytes, Device device) {
  CALL(Call::Driver);
  if (!isDevice(device))
    return InvalidDevice;
  if (bytes < 1)
    return InvalidValue;
  std::snprintf(name, bytes, "emulated GPU");
  return Success;
}

Result cuDeviceGetUuid(Uuid *uuid, Device device) {
  CALL(Call::Driver);
  if (!isDevice(device))
    return InvalidDevice;
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "emulated %d", device);
  return Success;
}

Result cuDeviceGetAttribute(int *value, DeviceAttribute attribute,
                            Device device) {
  CALL(Call::Driver);
  if (!isDevice(device))
    return InvalidDevice;
  switch (attribute) {
  case MaxThreadsPerBlock:
    *value = kMostThreads;
    return Success;
  case MaxSharedBytesPerBlock:
    *value = kSharedBytes;
    return Success;
  case MultiprocessorCount:
    *value = kMultiprocessors;
    return Success;
  case CapabilityMajor:
    *value = machine().capability / 10;
    return Success;
  case CapabilityMinor:
    *value = machine().capability % 10;
    return Success;
  case MaxSharedBytesOptin:
    *value = kMostSharedBytes;
    return Success;
  }
  return InvalidValue;
}

Result cuDeviceTotalMem(size_t *bytes, Device device) {
  CALL(Call::Driver);
  if (!isDevice(device))
    return InvalidDevice;
  *bytes = machine().bytes;
  return Success;
}

Result cuDevicePrimaryCtxRetain(Context *context, Device device) {
  CALL(Call::Driver);
  if (!isDevice(device))
    return InvalidDevice;
  std::unique_ptr<CUctx_st> &one = machine().contexts[device];
  if (!one)
    one = std::make_unique<CUctx_st>();
  one->device = device;
  ++one->references;
  *context = one.get();
  return Success;
}

Result cuDevicePrimaryCtxRelease(Device device) {
  CALL(Call::Driver);
  auto found = machine().contexts.find(device);
  if (found == machine().contexts.end())
    return InvalidContext;
  if (--found->second->references == 0) {
    machine().scheduler.runAll();
    for (auto it = machine().modules.begin(); it != machine().modules.end();)
      if ((*it)->context == found->second.get()) {
        delete *it;
        it = machine().modules.erase(it);
      } else {
        ++it;
      }
    if (current == found->second.get())
      current = nullptr;
    machine().contexts.erase(found);
  }
  return Success;
}

Result cuCtxSetCurrent(Context context) {
  CALL(Call::Driver);
  current = context;
  return Success;
}

Result cuCtxSynchronize() {
  CALL();
  machine().scheduler.runAll();
  return current->broken;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// The number behind a directive such as ".version": 7.8 is 78. 0 if there is
/// none.
static int findNumber(std::string_view ptx, std::string_view directive) {
  size_t at = ptx.find(directive);
  if (at == ptx.npos)
    return 0;
  int number = 0;
  for (at += directive.size(); at < ptx.size() && ptx[at] != '\n' &&
                               ptx[at] != ',' && number < 10'000;
       ++at)
    if (ptx[at] >= '0' && ptx[at] <= '9')
      number = number * 10 + ptx[at] - '0';
  return number;
}

Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count,
                          JitOption *options, void **values) {
  CALL();
  constexpr int kNewestPtx = 90; // CUDA 13.0
  std::string_view ptx = static_cast<const char *>(image);
  auto fail = [&](Result error, const std::string &why) {
    char *log = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == JitErrorLog)
        log = static_cast<char *>(values[i]);
      if (options[i] == JitErrorLogBytes)
        bytes = reinterpret_cast<size_t>(values[i]);
    }
    if (log && bytes)
      std::snprintf(log, bytes, "%s", why.c_str());
    return error;
  };
  if (ptx.find(".version") == ptx.npos)
    return fail(InvalidImage, "it is no PTX");
  if (int version = findNumber(ptx, ".version"); version > kNewestPtx)
    return fail(UnsupportedPtxVersion,
                "PTX " + std::to_string(version / 10) + "." +
                    std::to_string(version % 10) + " is too new");
  if (int target = findNumber(ptx, ".target"); target > machine().capability)
    return fail(NoBinaryForGpu, "the device has no sm_" +
                                    std::to_string(target));
  try {
    auto one = std::make_unique<CUmod_st>();
    one->context = current;
    one->code = std::make_unique<dist::emulated::Module>(ptx, "ptx",
                                                         current->memory);
    for (const Kernel *kernel : one->code->kernels())
      one->functions[kernel->name] = {one.get(), kernel};
    *module = one.release();
    machine().modules.insert(*module);
  } catch (const dist::Error &error) {
    return fail(InvalidPtx, error.what());
  }
  return Success;
}

Result cuModuleUnload(Module module) {
  CALL();
  if (!machine().modules.erase(module))
    return InvalidHandle;
  machine().scheduler.runAll();
  delete module;
  return Success;
}

Result cuModuleGetFunction(Function *function, Module module,
                           const char *name) {
  CALL();
  if (!machine().modules.count(module))
    return InvalidHandle;
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return NotFound;
  *function = &found->second;
  return Success;
}

Result cuModuleGetGlobal(DevicePtr *address, size_t *bytes, Module module,
                         const char *name) {
  CALL();
  if (!machine().modules.count(module))
    return InvalidHandle;
  auto [data, size] = module->code->variable(name);
  if (!data)
    return NotFound;
  if (address)
    *address = reinterpret_cast<DevicePtr>(data);
  if (bytes)
    *bytes = size;
  return Success;
}

Result cuFuncGetAttribute(int *value, FunctionAttribute attribute,
                          Function function) {
  CALL();
  const Kernel &kernel = *function->kernel;
  switch (attribute) {
  case FunctionMaxThreads:
    *value = kMostThreads;
    return Success;
  case FunctionSharedBytes:
    *value = kernel.sharedBytes;
    return Success;
  case FunctionLocalBytes:
    *value = kernel.localBytes;
    return Success;
  case FunctionRegisters: // ptxas's matter
    *value = 32;
    return Success;
  case FunctionMaxDynamicSharedBytes:
    *value = function->mostDynamicShared;
    return Success;
  }
  return InvalidValue;
}

Result cuFuncSetAttribute(Function function, FunctionAttribute attribute,
                          int value) {
  CALL();
  if (attribute != FunctionMaxDynamicSharedBytes || value < 0 ||
      value + int64_t(function->kernel->sharedBytes) > kMostSharedBytes)
    return InvalidValue;
  function->mostDynamicShared = value;
  return Success;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Runs it, and takes down what it did wrong.
static void run(CUctx_st &context, CUfunc_st &function,
                const LaunchShape &shape,
                const std::vector<std::string> &arguments) {
  // As a GPU does after a fault.
  if (context.broken != Success)
    return;
  Machine &all = machine();
  std::vector<const void *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.data());
  LaunchOptions options;
  options.order = all.scheduler.order();
  options.seed = all.scheduler.nextSeed();
  try {
    LaunchResult result =
        dist::emulated::launch(*function.module->code, function.kernel->name,
                               shape, pointers, options);
    for (const dist::emulated::Report &report : result.reports) {
      all.report("kernel " + function.kernel->name + ": " + report.str());
      context.broken = report.fault == dist::emulated::Fault::OutOfBounds
                           ? IllegalAddress
                           : LaunchFailed;
    }
    if (!result.isComplete)
      context.broken = LaunchFailed;
    ++all.launches;
    static const bool isCounted = std::getenv("DIST_EMULATED_COUNTS");
    if (isCounted)
      std::fprintf(stderr,
                   "emulated GPU: %s: %u blocks, %llu instructions of warps, "
                   "%llu bytes read, %llu written, %.2f sectors, %.2f cycles\n",
                   function.kernel->name.c_str(), shape.grid[0],
                   (unsigned long long)result.counts.warpInstructions,
                   (unsigned long long)result.counts.bytesRead,
                   (unsigned long long)result.counts.bytesWritten,
                   result.counts.sectorRatio(),
                   result.counts.cyclesPerRequest());
    Counts &sum = all.counts;
    const Counts &one = result.counts;
    sum.warpInstructions += one.warpInstructions;
    sum.threadInstructions += one.threadInstructions;
    sum.sectors += one.sectors;
    sum.usefulBytes += one.usefulBytes;
    sum.sharedRequests += one.sharedRequests;
    sum.sharedCycles += one.sharedCycles;
  } catch (const dist::Error &error) {
    all.report("kernel " + function.kernel->name + ": " + error.what());
    context.broken = LaunchFailed;
  }
}

Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY,
                      unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, Stream stream,
                      void **parameters, void **extra) {
  CALL();
  // The default stream waits for all others: nothing of ours uses it.
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  const Kernel &kernel = *function->kernel;
  constexpr unsigned kMostX = 0x7fffffff, kMost = 0xffff;
  uint64_t threads = uint64_t(blockX) * blockY * blockZ;
  if (extra || !gridX || !gridY || !gridZ || !threads || gridX > kMostX ||
      gridY > kMost || gridZ > kMost || blockX > kMostThreads ||
      blockY > kMostThreads || blockZ > 64 || threads > kMostThreads)
    return InvalidValue;
  if (sharedBytes > unsigned(function->mostDynamicShared) ||
      sharedBytes + kernel.sharedBytes > unsigned(kMostSharedBytes) ||
      (function->mostDynamicShared == kSharedBytes &&
       sharedBytes + kernel.sharedBytes > unsigned(kSharedBytes)))
    return InvalidValue;
  for (unsigned i = 0; i < 3; ++i) {
    unsigned size = i == 0 ? blockX : i == 1 ? blockY : blockZ;
    if (kernel.mostThreads[i] && size > kernel.mostThreads[i])
      return LaunchOutOfResources;
  }
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    arguments.emplace_back(static_cast<char *>(parameters[i]),
                           kernel.parameters[i].bytes);
  LaunchShape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ},
                    sharedBytes};
  return machine().scheduler.add(
      stream, [context = current, function, shape, arguments] {
        run(*context, *function, shape, arguments);
      });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result cuMemGetInfo(size_t *free, size_t *total) {
  CALL();
  *total = machine().bytes;
  *free = machine().bytes - current->used;
  return Success;
}

Result cuMemAlloc(DevicePtr *address, size_t bytes) {
  CALL();
  if (bytes == 0)
    return InvalidValue;
  if (bytes > machine().bytes - current->used)
    return OutOfMemory;
  try {
    void *data = current->memory.allocate(
        bytes, "allocation " + std::to_string(current->allocations.size()));
    *address = reinterpret_cast<DevicePtr>(data);
  } catch (const std::exception &) {
    return OutOfMemory;
  }
  current->allocations[*address] = bytes;
  current->used += bytes;
  return Success;
}

Result cuMemFree(DevicePtr address) {
  CALL();
  if (address == 0)
    return Success;
  auto found = current->allocations.find(address);
  if (found == current->allocations.end())
    return InvalidValue;
  machine().scheduler.runAll();
  current->used -= found->second;
  current->memory.remove(pointerTo(address));
  current->allocations.erase(found);
  return Success;
}

Result cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  CALL();
  constexpr size_t kPage = 4096;
  if (bytes == 0)
    return InvalidValue;
  *memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (!*memory)
    return OutOfMemory;
  machine().pinned[static_cast<char *>(*memory)] = bytes;
  return Success;
}

Result cuMemFreeHost(void *memory) {
  CALL();
  if (!machine().pinned.erase(static_cast<char *>(memory)))
    return InvalidValue;
  machine().scheduler.runAll();
  std::free(memory);
  return Success;
}

/// Reports bytes that nobody has written.
static void checkWritten(CUctx_st &context, const char *what,
                         const void *from, size_t bytes) {
  if (uint64_t count = context.memory.countUnwritten(from, bytes)) {
    machine().report(std::string(what) + " reads " + std::to_string(count) +
                     " of " + std::to_string(bytes) +
                     " bytes that nobody has written, the first at +" +
                     std::to_string(context.memory.findUnwritten(from, bytes)));
    context.broken = LaunchFailed;
  }
}

Result cuMemcpyHtoDAsync(DevicePtr to, const void *from, size_t bytes,
                         Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  if (!current->memory.find(to, bytes))
    return InvalidValue;
  // Other memory is read before the call returns.
  std::string staged;
  if (!isPinned(from, bytes)) {
    if (stream->capture)
      return CaptureUnsupported;
    staged.assign(static_cast<const char *>(from), bytes);
  }
  return machine().scheduler.add(
      stream, [=, context = current, staged = std::move(staged)] {
        std::memcpy(context->memory.hostOf(to),
                    staged.empty() ? from : staged.data(), bytes);
        context->memory.setWritten(pointerTo(to), bytes);
      });
}

Result cuMemcpyDtoHAsync(void *to, DevicePtr from, size_t bytes,
                         Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  if (!current->memory.find(from, bytes))
    return InvalidValue;
  bool isBeside = isPinned(to, bytes);
  if (!isBeside && stream->capture)
    return CaptureUnsupported;
  Result result = machine().scheduler.add(stream, [=, context = current] {
    checkWritten(*context, "a copy to the host", pointerTo(from), bytes);
    std::memcpy(to, context->memory.hostOf(from), bytes);
  });
  if (result == Success && !isBeside)
    machine().scheduler.runUntil([&] { return stream->queue.empty(); });
  return result == Success ? current->broken : result;
}

Result cuMemcpyDtoDAsync(DevicePtr to, DevicePtr from, size_t bytes,
                         Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  if (!current->memory.find(to, bytes) || !current->memory.find(from, bytes))
    return InvalidValue;
  return machine().scheduler.add(stream, [=, context = current] {
    checkWritten(*context, "a copy on the device", pointerTo(from), bytes);
    std::memmove(context->memory.hostOf(to), context->memory.hostOf(from),
                 bytes);
    context->memory.setWritten(pointerTo(to), bytes);
  });
}

Result cuMemsetD8Async(DevicePtr to, unsigned char value, size_t count,
                       Stream stream) {
  CALL();
  return fill(to, value, count, stream);
}

Result cuMemsetD32Async(DevicePtr to, unsigned value, size_t count,
                        Stream stream) {
  CALL();
  return fill(to, value, count, stream);
}

//===----------------------------------------------------------------------===//
// Streams, events, graphs
//===----------------------------------------------------------------------===//

Result cuStreamCreate(Stream *stream, unsigned flags) {
  CALL();
  if (flags > StreamNonBlocking)
    return InvalidValue;
  *stream = new CUstream_st;
  machine().scheduler.open(*stream);
  return Success;
}

Result cuStreamDestroy(Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  machine().scheduler.close(stream);
  delete stream;
  return Success;
}

Result cuStreamQuery(Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  if (stream->capture)
    return CaptureUnsupported;
  if (stream->queue.empty())
    return current->broken;
  machine().scheduler.runOne();
  return NotReady;
}

Result cuStreamSynchronize(Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  if (stream->capture) {
    stream->capture->isBroken = true;
    return CaptureUnsupported;
  }
  machine().scheduler.runUntil([&] { return stream->queue.empty(); });
  return current->broken;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  return flags ? InvalidValue : machine().scheduler.wait(stream, event);
}

Result cuStreamBeginCapture(Stream stream, CaptureMode) {
  CALL();
  return machine().scheduler.has(stream)
             ? machine().scheduler.beginCapture(stream)
             : InvalidHandle;
}

Result cuStreamEndCapture(Stream stream, Graph *graph) {
  CALL();
  *graph = nullptr;
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  auto made = std::make_unique<CUgraph_st>();
  Result result = machine().scheduler.endCapture(stream, made->nodes);
  if (result == Success)
    *graph = made.release();
  return result;
}

Result cuStreamIsCapturing(Stream stream, CaptureStatus *status) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  *status = !stream->capture             ? CaptureNone
            : stream->capture->isBroken ? CaptureBroken
                                         : CaptureActive;
  return Success;
}

Result cuEventCreate(Event *event, unsigned flags) {
  CALL();
  if (flags & ~unsigned(EventDisableTiming))
    return InvalidValue;
  *event = new CUevent_st;
  (*event)->hasTime = !(flags & EventDisableTiming);
  return Success;
}

Result cuEventDestroy(Event event) {
  CALL();
  // Waits that are queued look at it.
  machine().scheduler.runAll();
  delete event;
  return Success;
}

Result cuEventRecord(Event event, Stream stream) {
  CALL();
  if (!machine().scheduler.has(stream))
    return InvalidHandle;
  return machine().scheduler.record(event, stream);
}

Result cuEventQuery(Event event) {
  CALL();
  if (event->capture)
    return CapturedEvent;
  if (event->come >= event->recorded)
    return current->broken;
  machine().scheduler.runOne();
  return NotReady;
}

Result cuEventSynchronize(Event event) {
  CALL();
  if (event->capture)
    return CapturedEvent;
  machine().scheduler.runUntil(
      [&] { return event->come >= event->recorded; });
  return current->broken;
}

Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  CALL();
  if (!start->hasTime || !end->hasTime || !start->recorded || !end->recorded)
    return InvalidHandle;
  if (start->come < start->recorded || end->come < end->recorded)
    return NotReady;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return Success;
}

Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph,
                                   unsigned long long flags) {
  CALL();
  if (flags)
    return InvalidValue;
  *exec = new CUgraphExec_st{
      std::make_shared<const std::vector<dist::emulated::Node>>(graph->nodes)};
  return Success;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  CALL();
  return machine().scheduler.has(stream)
             ? machine().scheduler.launch(*exec, stream)
             : InvalidHandle;
}

Result cuGraphDestroy(Graph graph) {
  CALL();
  delete graph;
  return Success;
}

Result cuGraphExecDestroy(GraphExec exec) {
  CALL();
  delete exec;
  return Success;
}

//===----------------------------------------------------------------------===//
// How they are found
//===----------------------------------------------------------------------===//

Result cuGetProcAddress_v2(const char *name, void **function, int version,
                           uint64_t flags, ProcAddressStatus *status) {
  CALL(Call::Nothing);
  static const std::map<std::string_view, void *> all = {
#define DIST_CUDA_FUNCTION(name, parameters)                                   \
  {#name, reinterpret_cast<void *>(name)},
      DIST_CUDA_FUNCTIONS(DIST_CUDA_FUNCTION)
#undef DIST_CUDA_FUNCTION
  };
  if (version < kApiVersion || flags)
    return InvalidValue;
  auto found = all.find(name);
  *function = found == all.end() ? nullptr : found->second;
  if (status)
    *status = *function ? ProcFound : ProcNotFound;
  return *function ? Success : NotFound;
}

} // extern "C"
