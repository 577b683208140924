//===- TraceMessages.cpp - Traces on their way to the root ----------------===//

#include "runtime/control/TraceMessages.h"
#include "runtime/control/Messages.h"

using namespace dist;

std::string dist::writeTrace(std::span<const TraceEvent> events) {
  MessageWriter writer;
  writer.number<uint64_t>(events.size());
  for (const TraceEvent &event : events) {
    writer.text(event.name);
    writer.text(event.module);
    writer.text(event.task);
    for (int64_t number :
         {event.rank, int64_t(event.stream), int64_t(event.site),
          event.startNanos, event.endNanos, event.bytes, event.peer, event.tag})
      writer.number(number);
    writer.number(event.flops);
  }
  return writer.take();
}

std::vector<TraceEvent> dist::readTrace(std::string_view text) {
  MessageReader reader(text);
  // Three lengths and nine numbers at least.
  std::vector<TraceEvent> events(reader.count(12 * sizeof(int64_t)));
  for (TraceEvent &event : events) {
    event.name = reader.text();
    event.module = reader.text();
    event.task = reader.text();
    event.rank = reader.number<int64_t>();
    event.stream = reader.number<int64_t>();
    event.site = reader.number<int64_t>();
    event.startNanos = reader.number<int64_t>();
    event.endNanos = reader.number<int64_t>();
    event.bytes = reader.number<int64_t>();
    event.peer = reader.number<int64_t>();
    event.tag = reader.number<int64_t>();
    event.flops = reader.number<double>();
  }
  return events;
}
