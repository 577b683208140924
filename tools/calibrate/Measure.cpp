//===- Measure.cpp - Figures of this computer -----------------------------===//

#include "tools/calibrate/Measure.h"
#include "compiler/Diagnostics.h"
#include "compiler/Register.h"
#include "tools/calibrate/Programs.h"
#include "tools/calibrate/Ranks.h"
#include "llvm/Support/Format.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

static void say(const Twine &what, double value, StringRef unit) {
  llvm::errs() << "dist-calibrate: " << what << ": "
               << llvm::format("%.3g ", value) << unit << "\n";
}

unsigned mlir::dist::countCores() {
  return std::max(1u, std::thread::hardware_concurrency());
}

std::string mlir::dist::describeLoad(int64_t ranks) {
  double load;
  if (getloadavg(&load, 1) != 1)
    return "";
  // What is measured has what others leave.
  if (load + std::min<int64_t>(ranks, countCores()) > countCores() + 0.9)
    llvm::errs() << "dist-calibrate: warning: the load average is "
                 << llvm::format("%.1f", load) << " on " << countCores()
                 << " cores: other programs run beside what is measured, so "
                    "that figures will be off; measure again when they do "
                    "not\n";
  std::string text;
  llvm::raw_string_ostream(text)
      << "; load average before: " << llvm::format("%.1f", load);
  return text;
}

/// What caches hold is where the rate has fallen more than half the way, by
/// ratios, from what one of few bytes has to that of memory.
static void measureMemory(ProgramTimer &timer, Machine &machine) {
  constexpr int64_t kFew = 1 << 20, kMany = 128 << 20;
  machine.bytesPerSecond = timer.getBytesPerSecond(kMany);
  say("memory", machine.bytesPerSecond / 1e9, "GB/s");
  double fast = timer.getBytesPerSecond(kFew), sum = 0;
  double least = std::sqrt(fast * machine.bytesPerSecond);
  int64_t count = 0;
  for (int64_t bytes = kFew; bytes < kMany; bytes *= 2) {
    double rate = bytes == kFew ? fast : timer.getBytesPerSecond(bytes);
    if (rate <= least)
      break;
    machine.cacheBytes = bytes;
    sum += 1 / rate;
    ++count;
  }
  // Kernels of all these sizes are as frequent as any.
  machine.cacheBytesPerSecond = count ? count / sum : machine.bytesPerSecond;
  say("caches, " + Twine(machine.cacheBytes >> 20) + " MiB",
      machine.cacheBytesPerSecond / 1e9, "GB/s");
}

static void measureDevice(int64_t ranks, Machine &machine) {
  DialectRegistry registry;
  registerAll(registry);
  MLIRContext context(registry);
  DiagnosticPrinter printer(&context);
  Stages stages("dist-calibrate", /*verbose=*/false);
  ProgramTimer timer(ranks, &context, stages);
  for (const char *type : {"f64", "f32", "bf16", "f16"}) {
    int64_t size = 0;
    double rate = timer.getFlopsPerSecond(type, size);
    machine.flopsPerSecond[type] = rate;
    say(Twine(type) + " products of " + Twine(size) + " x " + Twine(size),
        rate / 1e9, "GFLOP/s");
  }
  machine.scalarOpsPerSecond = timer.getScalarOpsPerSecond();
  say("scalar operations", machine.scalarOpsPerSecond / 1e9, "G/s");
  measureMemory(timer, machine);
  machine.opSeconds = timer.getOpSeconds();
  say("a kernel", machine.opSeconds * 1e6, "us");
  machine.memoryBytes =
      int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / ranks;
}

static void measureRanks(int64_t ranks, const std::string &link,
                         Machine &machine) {
  host::EmulatedLink emulated;
  if (!link.empty())
    emulated = host::parseLink(link);
  host::LinkFigures figures = host::measureLink(ranks, emulated);
  machine.callSeconds = figures.callSeconds;
  say("a collective", figures.callSeconds * 1e6, "us");
  MachineLink joins{link.empty() ? "memory" : "emulated",
                    std::max<int64_t>(ranks, countCores()),
                    figures.bytesPerSecond, figures.stepSeconds};
  say("a link", joins.bytesPerSecond / 1e9, "GB/s");
  machine.links = {joins};
  host::OverlapFigures overlap = host::measureOverlap(ranks, emulated, figures);
  machine.startSeconds = overlap.startSeconds;
  machine.slowdown = overlap.slowdown;
  say("starting a collective beside computation", overlap.startSeconds * 1e6,
      "us");
  say("computation beside a transfer is slower by", overlap.slowdown * 100,
      "%");
}

Machine mlir::dist::measureMachine(int64_t ranks, const std::string &link) {
  Machine machine;
  machine.name = llvm::sys::getHostCPUName().str() + ", " +
                 std::to_string(ranks) + " ranks";
  measureDevice(ranks, machine);
  measureRanks(ranks, link, machine);
  return machine;
}

MachineSources mlir::dist::describeSources(int64_t ranks,
                                           const std::string &link,
                                           const std::string &load) {
  std::string how = "measured by dist-calibrate on " + std::to_string(ranks) +
                    " ranks at once, threads on " +
                    std::to_string(countCores()) + " cores of " +
                    llvm::sys::getHostCPUName().str() + load;
  std::string joined = link.empty() ? "" : ", with --link " + link;
  MachineSources sources;
  sources.device =
      how + ". flops_per_second: compiled products of square matrices; "
            "scalar_ops_per_second: GELU four times in one loop nest on 512 "
            "KiB; bytes_per_second: a sum that reads and writes 128 MiB; "
            "cache_bytes: up to which sums are nearer to one of 1 MiB, and "
            "cache_bytes_per_second: theirs; "
            "op_seconds: products of 16 x 16 and loop nests in turn; "
            "memory_bytes: the computer's memory, shared by the ranks";
  sources.calls = how + joined +
                  ". call_seconds: all_gather and all_reduce of 4 bytes a "
                  "rank, the mean of both";
  sources.overlap =
      how + joined +
      ". start_seconds: small all_reduces on a stream beside products of 512 "
      "x 512, less the products alone; slowdown: what an all_reduce of about 2 "
      "ms costs these beyond that, by the time that it takes alone";
  sources.link =
      how + joined +
      ". bytes_per_second: of large all_gathers and all_reduces, beyond what "
      "small ones take; step_seconds: " +
      (ranks > 2 ? "what each rank beyond two adds to small ones"
                 : "two ranks cannot tell it from call_seconds, where it is");
  return sources;
}
