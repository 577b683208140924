//===- RunMessages.cpp - What processes say of a run ----------------------===//

#include "runtime/launch/RunMessages.h"
#include "runtime/control/Messages.h"
#include "runtime/control/TraceMessages.h"

#include <cstring>

using namespace dist;

std::string Agreement::write() const {
  MessageWriter writer;
  writer.text(program);
  writer.number<uint64_t>(sums.size());
  for (const std::optional<uint64_t> &sum : sums) {
    writer.number<uint8_t>(sum.has_value());
    writer.number(sum.value_or(0));
  }
  return writer.take();
}

Agreement Agreement::read(std::string_view text) {
  MessageReader reader(text);
  Agreement all;
  all.program = reader.text();
  all.sums.resize(reader.count(1 + sizeof(uint64_t)));
  for (std::optional<uint64_t> &sum : all.sums) {
    bool isThere = reader.number<uint8_t>();
    auto value = reader.number<uint64_t>();
    if (isThere)
      sum = value;
  }
  return all;
}

std::string dist::writeInputs(const Inputs *inputs) {
  MessageWriter writer;
  writer.number<uint8_t>(inputs != nullptr);
  writer.number<uint64_t>(inputs ? inputs->size() : 0);
  if (inputs)
    for (const auto &[name, tensor] : *inputs) {
      writer.text(name);
      writer.number(static_cast<uint32_t>(tensor.dtype));
      writer.number<uint64_t>(tensor.shape.size());
      for (int64_t size : tensor.shape)
        writer.number(size);
      writer.text({static_cast<const char *>(tensor.data),
                   static_cast<size_t>(tensor.bytes())});
    }
  return writer.take();
}

bool dist::readInputs(std::string_view text, Inputs &inputs) {
  MessageReader reader(text);
  bool goesOn = reader.number<uint8_t>();
  inputs.clear();
  for (uint64_t i = reader.count(1); i > 0; --i) {
    std::string name = reader.text();
    auto dtype = reader.number<uint32_t>();
    std::vector<int64_t> shape(reader.count(sizeof(int64_t)));
    for (int64_t &size : shape)
      size = reader.number<int64_t>();
    std::string_view data = reader.view();
    if (dtype > DIST_U64)
      throw Error("input '" + name + "' of a step has no type");
    auto type = static_cast<dist_dtype>(dtype);
    if (static_cast<__int128>(numElements(shape)) * dtypeBytes(type) !=
        data.size())
      throw Error("input '" + name + "' of a step is cut short");
    Tensor tensor = Tensor::zeros(type, std::move(shape));
    std::memcpy(tensor.data, data.data(), data.size());
    inputs[name] = std::move(tensor);
  }
  return goesOn;
}

std::string dist::writeTimes(const std::vector<Interval> &times) {
  MessageWriter writer;
  writer.number<uint64_t>(times.size());
  for (const Interval &one : times) {
    writer.number(one.start);
    writer.number(one.end);
  }
  return writer.take();
}

std::vector<Interval> dist::readTimes(std::string_view text) {
  MessageReader reader(text);
  std::vector<Interval> times(reader.count(2 * sizeof(int64_t)));
  for (Interval &one : times) {
    one.start = reader.number<int64_t>();
    one.end = reader.number<int64_t>();
  }
  return times;
}

std::string Done::write() const {
  MessageWriter writer;
  writer.text(writeTimes(times));
  writer.text(writeTrace(events));
  return writer.take();
}

Done Done::read(std::string_view text) {
  MessageReader reader(text);
  std::vector<Interval> times = readTimes(reader.text());
  return {std::move(times), readTrace(reader.text())};
}

std::string dist::writeHeld(const HeldBytes &what) {
  MessageWriter writer;
  writer.number<uint8_t>(what.isResult);
  writer.number<uint64_t>(what.index);
  writer.number(what.offset);
  writer.number(what.bytes);
  return writer.take();
}

std::optional<HeldBytes> dist::readHeld(std::string_view text,
                                        const Manifest &manifest) {
  MessageReader reader(text);
  HeldBytes what;
  what.isResult = reader.number<uint8_t>();
  what.index = reader.number<uint64_t>();
  what.offset = reader.number<int64_t>();
  what.bytes = reader.number<int64_t>();
  const std::vector<TensorDesc> &list =
      what.isResult ? manifest.results : manifest.arguments;
  if (what.index >= list.size())
    return std::nullopt;
  int64_t size = list[what.index].localBytes();
  if (what.offset < 0 || what.bytes < 0 || what.offset > size ||
      what.bytes > size - what.offset)
    return std::nullopt;
  return what;
}
