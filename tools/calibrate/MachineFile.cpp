//===- MachineFile.cpp - Measured figures as a machine file ---------------===//

#include "tools/calibrate/MachineFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

std::string mlir::dist::printMachine(const Machine &machine,
                                     const MachineSources &sources) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  // More digits than a measurement has would be noise.
  auto number = [&](StringRef key, double value) {
    json.attributeBegin(key);
    json.rawValue(
        [&](llvm::raw_ostream &os) { os << llvm::format("%.4g", value); });
    json.attributeEnd();
  };
  json.object([&] {
    json.attribute("name", machine.name);
    json.attributeObject("device", [&] {
      json.attributeObject("flops_per_second", [&] {
        for (const auto &[type, rate] : machine.flopsPerSecond)
          number(type, rate);
      });
      number("scalar_ops_per_second", machine.scalarOpsPerSecond);
      number("bytes_per_second", machine.bytesPerSecond);
      json.attribute("cache_bytes", machine.cacheBytes);
      number("cache_bytes_per_second", machine.cacheBytesPerSecond);
      json.attribute("memory_bytes", machine.memoryBytes);
      number("op_seconds", machine.opSeconds);
      json.attribute("source", sources.device);
    });
    number("call_seconds", machine.callSeconds);
    json.attributeObject("overlap", [&] {
      number("start_seconds", machine.startSeconds);
      number("slowdown", machine.slowdown);
      json.attribute("source", sources.overlap);
    });
    json.attributeArray("links", [&] {
      for (const MachineLink &link : machine.links)
        json.object([&] {
          json.attribute("name", link.name);
          json.attribute("devices", link.devices);
          number("bytes_per_second", link.bytesPerSecond);
          number("step_seconds", link.stepSeconds);
          json.attribute("source", sources.link);
        });
    });
    json.attribute("source", sources.calls);
  });
  stream << "\n";
  return text;
}
