//===- Launch.cpp - Blocks in an order, and reports -----------------------===//

#include "runtime/emulated/Launch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace dist;
using namespace dist::emulated;

const char *emulated::nameOf(Fault fault) {
  switch (fault) {
  case Fault::OutOfBounds:
    return "out of bounds";
  case Fault::Misaligned:
    return "misaligned";
  case Fault::Unwritten:
    return "read before written";
  case Fault::Race:
    return "race within a block";
  case Fault::BlockRace:
    return "race between blocks";
  case Fault::NonCoherent:
    return "ld.global.nc of what the launch writes";
  case Fault::PartOfWarp:
    return "part of a warp at an aligned barrier";
  case Fault::MissingLanes:
    return "missing lanes";
  case Fault::Barrier:
    return "barrier";
  case Fault::DivisionByZero:
    return "division by zero";
  case Fault::Endless:
    return "endless";
  case Fault::Trap:
    return "trap";
  }
  return "";
}

std::string Report::str() const {
  return "line " + std::to_string(line) +
         (source.empty() ? "" : " (" + source + ")") + ": " + nameOf(fault) +
         ": " + text + " (block " + std::to_string(block) + ", thread " +
         std::to_string(thread) + "; " + std::to_string(count) +
         (count == 1 ? " time)" : " times)");
}

const Function &Launch::find(const Module &module, const std::string &name) {
  const Kernel &kernel = module.kernel(name);
  return module.code->functions[module.code->functionIndex.at(kernel.name)];
}

Launch::Launch(const Module &module, const std::string &name,
               const LaunchShape &shape,
               const std::vector<const void *> &arguments,
               const LaunchOptions &options)
    : code(*module.code), kernel(find(module, name)), memory(module.memory),
      shape(shape), options(options),
      instructionsLeft(options.mostInstructions), random(options.seed) {
  auto fail = [&](const std::string &what) {
    throw Error(code.name + ": kernel '" + name + "': " + what);
  };
  auto text = [](const std::array<uint32_t, 3> &size) {
    return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " +
           std::to_string(size[2]);
  };
  const Kernel &interface = kernel.interface;
  if (arguments.size() != interface.parameters.size())
    fail("it has " + std::to_string(interface.parameters.size()) +
         " parameters, but " + std::to_string(arguments.size()) +
         " arguments are given");
  uint64_t threads = 1;
  blockCount = 1;
  for (unsigned i = 0; i < 3; ++i) {
    threads *= shape.block[i];
    if (!shape.block[i] || shape.block[i] > 1024 || threads > 1024)
      fail("a block of " + text(shape.block) +
           " threads; 1 to 1024 in all are possible");
    if (!shape.grid[i] || (i && shape.grid[i] > 65'535) ||
        __builtin_mul_overflow(blockCount, shape.grid[i], &blockCount) ||
        blockCount >= kManyBlocks - 1)
      fail("a grid of " + text(shape.grid) +
           " blocks; 1 to " + std::to_string(kManyBlocks - 2) +
           " in all are possible, 65535 along y and z");
    if (interface.mostThreads[0] && shape.block[i] > interface.mostThreads[i])
      fail("a block of " + text(shape.block) + " threads; .maxntid says " +
           text(interface.mostThreads));
    if (interface.exactThreads[0] &&
        shape.block[i] != interface.exactThreads[i])
      fail("a block of " + text(shape.block) + " threads; .reqntid says " +
           text(interface.exactThreads));
  }
  uint64_t shared = uint64_t(interface.sharedBytes) + shape.sharedBytes;
  if (shared > options.mostSharedBytes)
    fail(std::to_string(shared) + " bytes of shared memory; a block has " +
         std::to_string(options.mostSharedBytes));
  params.resize(interface.parameterBytes);
  for (size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(params.data() + interface.parameters[i].offset, arguments[i],
                interface.parameters[i].bytes);
  if (options.order == Order::Seeded) {
    // A step without a common divisor reaches all blocks.
    first = random() % blockCount;
    do
      step = random() % blockCount + 1;
    while (std::gcd(step, blockCount) != 1);
  }
}

Launch::~Launch() {
  for (Buffer *buffer : withCells)
    buffer->cells.reset();
}

Cell *Launch::cellsOf(Buffer &buffer, uint64_t offset) {
  uint64_t granule = kernel.globalGranule;
  if (!buffer.cells) {
    // Zeros that take no memory until they are touched.
    auto *cells = static_cast<Cell *>(std::calloc(
        (buffer.bytes + granule - 1) / granule, sizeof(Cell)));
    if (!cells)
      throw std::bad_alloc();
    buffer.cells.reset(cells);
    withCells.push_back(&buffer);
  }
  return buffer.cells.get() + offset / granule;
}

uint64_t Launch::blockAt(uint64_t position) const {
  switch (options.order) {
  case Order::Issue:
    return position;
  case Order::Reverse:
    return blockCount - 1 - position;
  case Order::Seeded:
    return (first + position % blockCount * step) % blockCount;
  }
  return position;
}

void Launch::report(Fault fault, const Operation &op, uint64_t block,
                    uint64_t thread, const std::function<std::string()> &text) {
  Report &report = reports[{op.line, fault}];
  if (report.count++)
    return;
  report.fault = fault;
  report.line = op.line;
  report.block = block;
  report.thread = thread;
  report.text = text();
  const SourceLocation &place = code.locations[op.location];
  auto file = code.files.find(place.file);
  if (op.location && file != code.files.end())
    report.source = file->second + ":" + std::to_string(place.line) + ":" +
                    std::to_string(place.column);
}

std::string Launch::describe(uint64_t address) const {
  const Buffer *buffer = memory.below(address);
  char text[32];
  if (buffer) {
    uint64_t offset = address - buffer->address;
    // Far away an offset says nothing.
    if (offset < buffer->bytes + (uint64_t(1) << 32))
      return buffer->name + "+" + std::to_string(offset) +
             (offset < buffer->bytes
                  ? ""
                  : ", of which there are " + std::to_string(buffer->bytes) +
                        " bytes");
  }
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
  return text + std::string(", where no buffer is");
}

LaunchResult Launch::run() {
  Block block(*this);
  for (uint64_t i = 0; i < blockCount && !isOver; ++i)
    block.run(blockAt(i));
  LaunchResult result;
  for (auto &[key, report] : reports)
    result.reports.push_back(std::move(report));
  result.counts = counts;
  result.isComplete = !isOver;
  return result;
}

LaunchResult emulated::launch(const Module &module, const std::string &kernel,
                              const LaunchShape &shape,
                              const std::vector<const void *> &arguments,
                              const LaunchOptions &options) {
  return Launch(module, kernel, shape, arguments, options).run();
}
