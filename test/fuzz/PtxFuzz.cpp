//===- PtxFuzz.cpp - Any bytes as a module in PTX -------------------------===//
//
// What parses is also run: each of its kernels in one order, on two buffers.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Executor.h"

#include <cstring>

using namespace dist::emulated;

/// Error is what a malformed module may give; nothing else. What kernels do
/// wrong is a report.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    Memory memory;
    Module module(text, "fuzz.ptx", memory);
    void *buffers[2] = {memory.allocate(4096, "x"),
                        memory.allocate(4096, "y")};
    std::memset(buffers[0], 1, 4096);
    memory.setWritten(buffers[0], 4096);
    for (const Kernel *kernel : module.kernels()) {
      std::vector<uint64_t> values;
      for (size_t i = 0; i < kernel->parameters.size(); ++i)
        values.push_back(kernel->parameters[i].bytes == 8
                             ? reinterpret_cast<uint64_t>(buffers[i % 2])
                             : 64);
      // What is larger than 8 bytes reads on.
      values.resize(values.size() + 32'768 / 8);
      std::vector<const void *> arguments;
      for (size_t i = 0; i < kernel->parameters.size(); ++i)
        arguments.push_back(&values[i]);
      LaunchShape shape;
      shape.grid = {2, 1, 1};
      shape.block = {size % 2 ? 40u : 32u, 1, 1};
      shape.sharedBytes = 256;
      LaunchOptions options;
      options.order = static_cast<Order>(size % 3);
      options.mostInstructions = 2000;
      try {
        LaunchResult result =
            launch(module, kernel->name, shape, arguments, options);
        for (const Report &report : result.reports)
          if (report.str().empty())
            std::abort();
      } catch (const dist::Error &) {
      }
    }
  } catch (const dist::Error &) {
  }
  return 0;
}
