//===- Machine.cpp - Machine files ----------------------------------------===//
//
// Every key is needed, none may be misspelt, and every figure has a source: an
// estimate is only as good as its figures.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/Machine.h"
#include "dialects/dist/Utils/SourceText.h"
#include "dist/EmulatedLink.h"
#include "dist/OutputFile.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/schedule/files/LocatedJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist;

namespace {
class Reader {
public:
  Reader(StringRef file, MLIRContext *context) : file(file), context(context) {}

  FailureOr<Machine> read(const LocatedJson &json);

private:
  InFlightDiagnostic error(const LocatedJson &at) const {
    return emitError(FileLineColLoc::get(context, file, at.line, at.column));
  }
  /// Checks that `object` is one, with exactly the members `keys`.
  LogicalResult checkKeys(const LocatedJson &object, StringRef what,
                          ArrayRef<StringRef> keys) const;
  FailureOr<double> readNumber(const LocatedJson &value, StringRef key,
                               double least) const;
  FailureOr<int64_t> readCount(const LocatedJson &value, StringRef key) const;
  FailureOr<MachineLink> readLink(const LocatedJson &json) const;
  LogicalResult checkSource(const LocatedJson &object) const;

  StringRef file;
  MLIRContext *context;
};
} // namespace

LogicalResult Reader::checkKeys(const LocatedJson &object, StringRef what,
                                ArrayRef<StringRef> keys) const {
  if (object.kind != LocatedJson::Object)
    return error(object) << what << " must be an object, and is "
                         << object.describe();
  for (const LocatedJson &key : object.keys)
    if (!llvm::is_contained(keys, key.text))
      return error(key) << what << " has no key \"" << key.text
                        << "\"; its keys are " << llvm::join(keys, ", ");
  SmallVector<StringRef> missing;
  for (StringRef key : keys)
    if (!object.find(key))
      missing.push_back(key);
  if (missing.empty())
    return success();
  return error(object) << what << " lacks \"" << llvm::join(missing, "\", \"")
                       << "\"; dist-calibrate writes files with all keys";
}

FailureOr<double> Reader::readNumber(const LocatedJson &value, StringRef key,
                                     double least) const {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (value.kind == LocatedJson::Integer && value.text.empty())
    number = value.integer;
  else if (value.kind == LocatedJson::Integer ||
           value.kind == LocatedJson::Float)
    (void)StringRef(value.text).getAsDouble(number);
  // So that no sum or quotient of them is infinite.
  constexpr double kMost = 1e30;
  if (number >= least && number <= kMost)
    return number;
  return error(value) << "\"" << key << "\" must be a number"
                      << (least > 0 ? " of 1 or more" : " that is not negative")
                      << ", and at most 1e30";
}

FailureOr<int64_t> Reader::readCount(const LocatedJson &value,
                                     StringRef key) const {
  // As many as a double counts without a gap.
  FailureOr<double> number = readNumber(value, key, 1);
  if (failed(number))
    return failure();
  if (*number > 9007199254740992.0 || std::floor(*number) != *number)
    return error(value) << "\"" << key
                        << "\" must be a whole number of at most 2^53";
  return static_cast<int64_t>(*number);
}

LogicalResult Reader::checkSource(const LocatedJson &object) const {
  const LocatedJson *source = object.find("source");
  if (source->kind == LocatedJson::String && !source->text.empty())
    return success();
  return error(*source) << "\"source\" must say in words where the figures "
                           "beside it are from";
}

FailureOr<MachineLink> Reader::readLink(const LocatedJson &json) const {
  if (failed(checkKeys(
          json, "a link",
          {"name", "devices", "bytes_per_second", "step_seconds", "source"})) ||
      failed(checkSource(json)))
    return failure();
  const LocatedJson *name = json.find("name");
  if (name->kind != LocatedJson::String)
    return error(*name) << "\"name\" must be a text";
  FailureOr<int64_t> devices = readCount(*json.find("devices"), "devices");
  FailureOr<double> bandwidth =
      readNumber(*json.find("bytes_per_second"), "bytes_per_second", 1);
  FailureOr<double> step =
      readNumber(*json.find("step_seconds"), "step_seconds", 0);
  if (failed(devices) || failed(bandwidth) || failed(step))
    return failure();
  return MachineLink{name->text, *devices, *bandwidth, *step};
}

FailureOr<Machine> Reader::read(const LocatedJson &json) {
  if (failed(checkKeys(
          json, "a machine",
          {"name", "device", "call_seconds", "overlap", "links", "source"})) ||
      failed(checkSource(json)))
    return failure();
  Machine machine;
  const LocatedJson &device = *json.find("device");
  if (json.find("name")->kind != LocatedJson::String)
    return error(*json.find("name")) << "\"name\" must be a text";
  machine.name = json.find("name")->text;
  if (failed(checkKeys(device, "a device",
                       {"flops_per_second", "scalar_ops_per_second",
                        "bytes_per_second", "cache_bytes",
                        "cache_bytes_per_second", "memory_bytes", "op_seconds",
                        "source"})) ||
      failed(checkSource(device)))
    return failure();
  const LocatedJson &flops = *device.find("flops_per_second");
  if (flops.kind != LocatedJson::Object || flops.items.empty())
    return error(flops) << "\"flops_per_second\" must be an object: element "
                           "types, as in {\"f32\": 6.7e13}";
  for (auto [key, value] : llvm::zip_equal(flops.keys, flops.items)) {
    FailureOr<double> rate = readNumber(value, key.text, 1);
    if (failed(rate))
      return failure();
    machine.flopsPerSecond[key.text] = *rate;
  }
  FailureOr<double> scalarOps = readNumber(
      *device.find("scalar_ops_per_second"), "scalar_ops_per_second", 1);
  FailureOr<double> bandwidth =
      readNumber(*device.find("bytes_per_second"), "bytes_per_second", 1);
  FailureOr<double> cache =
      readNumber(*device.find("cache_bytes"), "cache_bytes", 0);
  FailureOr<double> cached = readNumber(*device.find("cache_bytes_per_second"),
                                        "cache_bytes_per_second", 1);
  FailureOr<int64_t> memory =
      readCount(*device.find("memory_bytes"), "memory_bytes");
  FailureOr<double> op =
      readNumber(*device.find("op_seconds"), "op_seconds", 0);
  FailureOr<double> call =
      readNumber(*json.find("call_seconds"), "call_seconds", 0);
  const LocatedJson &overlap = *json.find("overlap");
  if (failed(scalarOps) || failed(bandwidth) || failed(cache) ||
      failed(cached) || failed(memory) || failed(op) || failed(call) ||
      failed(checkKeys(overlap, "\"overlap\"",
                       {"start_seconds", "slowdown", "source"})) ||
      failed(checkSource(overlap)))
    return failure();
  FailureOr<double> start =
      readNumber(*overlap.find("start_seconds"), "start_seconds", 0);
  FailureOr<double> slowdown =
      readNumber(*overlap.find("slowdown"), "slowdown", 0);
  if (failed(start) || failed(slowdown))
    return failure();
  machine.scalarOpsPerSecond = *scalarOps;
  machine.startSeconds = *start;
  machine.slowdown = *slowdown;
  machine.bytesPerSecond = *bandwidth;
  machine.cacheBytes = static_cast<int64_t>(*cache);
  machine.cacheBytesPerSecond = *cached;
  machine.memoryBytes = *memory;
  machine.opSeconds = *op;
  machine.callSeconds = *call;

  const LocatedJson &links = *json.find("links");
  if (links.kind != LocatedJson::List)
    return error(links) << "\"links\" must be a list, from the innermost "
                           "outwards";
  for (const LocatedJson &item : links.items) {
    FailureOr<MachineLink> link = readLink(item);
    if (failed(link))
      return failure();
    int64_t inner = machine.getDevices();
    if (link->devices <= inner || link->devices % inner)
      return error(*item.find("devices"))
             << "link \"" << link->name << "\" connects " << link->devices
             << " devices, which must be a multiple of the " << inner
             << " of the level before, and more";
    machine.links.push_back(*link);
  }
  return machine;
}

void Machine::setLink(double latency, double bandwidth) {
  callSeconds = std::max(callSeconds, latency);
  double most = std::numeric_limits<double>::infinity();
  for (const MachineLink &link : links)
    most = std::min(most, link.bytesPerSecond);
  if (bandwidth > 0 && bandwidth < most) {
    if (!links.empty())
      slowdown *= bandwidth / most;
    most = bandwidth;
  }
  links = {{"link", std::numeric_limits<int64_t>::max(), most, 0}};
}

Machine Machine::getUnknown() {
  Machine machine;
  machine.setLink(20e-6, 1e9);
  return machine;
}

FailureOr<Machine> Machine::parse(StringRef text, StringRef file,
                                  MLIRContext *context) {
  std::optional<LocatedJson> json = LocatedJson::parse(text, file, context);
  if (!json)
    return failure();
  return Reader(file, context).read(*json);
}

FailureOr<Machine> Machine::load(StringRef name, MLIRContext *context) {
  for (const MachinePreset &preset : getMachinePresets())
    if (preset.name == name)
      return parse(preset.text, name, context);
  auto at = [&] { return FileLineColLoc::get(context, name, 0, 0); };
  if (!name.ends_with(".json")) {
    InFlightDiagnostic error =
        emitError(at()) << "no machine of this name is known; there are ";
    llvm::interleave(
        getMachinePresets(),
        [&](const MachinePreset &preset) { error << preset.name; },
        [&] { error << ", "; });
    return error << ", and files, whose names end in .json";
  }
  auto buffer = readText(name, /*mostBytes=*/1 << 20);
  if (!buffer)
    return emitError(at()) << "cannot be read: "
                           << llvm::toString(buffer.takeError());
  ::dist::noteInput(name.str());
  return parse((*buffer)->getBuffer(), name, context);
}

FailureOr<Machine> mlir::dist::loadMachine(Location loc, StringRef pass,
                                           StringRef name, StringRef link) {
  if (name.empty())
    return emitError(loc) << pass
                          << " needs to know what on: machine=NAME or "
                             "machine=FILE.json, as of dist-report";
  FailureOr<Machine> machine = Machine::load(name, loc.getContext());
  if (failed(machine) || link.empty())
    return machine;
  try {
    ::dist::EmulatedLink given = ::dist::parseLink(link.str());
    machine->setLink(given.latencySeconds, given.bytesPerSecond);
  } catch (const std::exception &error) {
    return emitError(loc) << pass << ": " << error.what();
  }
  return machine;
}
