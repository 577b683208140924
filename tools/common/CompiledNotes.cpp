//===- CompiledNotes.cpp - What goes with a compiled program --------------===//

#include "tools/common/CompiledNotes.h"
#include "runtime/control/Messages.h"

using namespace mlir::dist;
namespace host = ::dist;

std::string CompiledNotes::write() const {
  host::MessageWriter writer;
  writer.text(weights);
  writer.number<uint64_t>(states.size());
  for (const std::string &name : states)
    writer.text(name);
  writer.number<uint64_t>(ranges.size());
  for (const auto &[name, of] : ranges) {
    writer.text(name);
    writer.number<uint64_t>(of.dim);
    writer.number<uint64_t>(of.ranges.size());
    for (const host::IntegerRange &range : of.ranges) {
      writer.number(range.low);
      writer.number(range.high);
    }
  }
  return writer.take();
}

CompiledNotes CompiledNotes::read(std::string_view text) {
  CompiledNotes notes;
  host::MessageReader reader(text);
  notes.weights = reader.text();
  for (uint64_t i = reader.count(1); i > 0; --i)
    notes.states.insert(reader.text());
  for (uint64_t i = reader.count(1); i > 0; --i) {
    host::IntegerRanges &of = notes.ranges[reader.text()];
    of.dim = reader.number<uint64_t>();
    of.ranges.resize(reader.count(2 * sizeof(int64_t)));
    for (host::IntegerRange &range : of.ranges) {
      range.low = reader.number<int64_t>();
      range.high = reader.number<int64_t>();
    }
  }
  return notes;
}
