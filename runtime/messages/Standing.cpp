//===- Standing.cpp - Who waits for whom, over processes ------------------===//

#include "runtime/messages/Standing.h"
#include "dist/Tensor.h"
#include "runtime/control/Messages.h"
#include "runtime/local/Waiting.h"

#include <algorithm>
#include <numeric>

using namespace dist;

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

std::string Standing::write() const {
  MessageWriter writer;
  auto write = [&](const CallChannel &channel, uint64_t number) {
    writer.number(channel.comm);
    writer.number(channel.stream);
    writer.number(number);
  };
  writer.number<uint8_t>(isStuck);
  writer.number<uint64_t>(ranks.size());
  for (const Rank &rank : ranks) {
    writer.number(rank.rank);
    writer.number<uint64_t>(rank.begun.size());
    for (const auto &[channel, number] : rank.begun)
      write(channel, number);
    writer.number<uint64_t>(rank.waits.size());
    for (const Call &call : rank.waits)
      write(call.channel, call.number);
  }
  writer.number<uint64_t>(lines.size());
  for (const std::string &line : lines)
    writer.text(line);
  return writer.take();
}

Standing Standing::read(std::string_view text) {
  MessageReader reader(text);
  auto readCall = [&] {
    Call call;
    call.channel.comm = reader.number<int32_t>();
    call.channel.stream = reader.number<int32_t>();
    call.number = reader.number<uint64_t>();
    return call;
  };
  Standing standing;
  standing.isStuck = reader.number<uint8_t>();
  // A number and two lengths at least.
  standing.ranks.resize(reader.count(3 * sizeof(int64_t)));
  for (Rank &rank : standing.ranks) {
    rank.rank = reader.number<int64_t>();
    for (uint64_t i = reader.count(16); i > 0; --i) {
      Call call = readCall();
      rank.begun[call.channel] = call.number;
    }
    rank.waits.resize(reader.count(16));
    for (Call &call : rank.waits)
      call = readCall();
  }
  standing.lines.resize(reader.count(sizeof(uint64_t)));
  for (std::string &line : standing.lines)
    line = reader.text();
  return standing;
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

/// Those that a rank waits for in a call.
static std::vector<int64_t> membersOf(const Topology &topology, int32_t comm,
                                      int64_t rank) {
  if (comm >= 0 && comm < int64_t(topology.comms.size())) {
    const Communicator &found = topology.comms[comm];
    return found.members[found.group[rank]];
  }
  std::vector<int64_t> all(comm == kMeeting ? topology.mesh.size() : 1);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string dist::findDeadlock(const Topology &topology,
                               const std::vector<Standing> &processes) {
  std::vector<const Standing::Rank *> ranks(topology.mesh.size());
  for (const Standing &process : processes) {
    if (!process.isStuck)
      return "";
    for (const Standing::Rank &rank : process.ranks)
      if (rank.rank >= 0 && rank.rank < int64_t(ranks.size()))
        ranks[rank.rank] = &rank;
  }
  if (std::find(ranks.begin(), ranks.end(), nullptr) != ranks.end())
    return "";
  bool isAnyWaiting = false;
  for (const Standing::Rank *rank : ranks)
    for (const Standing::Call &call : rank->waits) {
      auto hasBegun = [&](int64_t member) {
        auto last = ranks[member]->begun.find(call.channel);
        return last != ranks[member]->begun.end() &&
               last->second >= call.number;
      };
      std::vector<int64_t> members =
          membersOf(topology, call.channel.comm, rank->rank);
      if (std::all_of(members.begin(), members.end(), hasBegun))
        return "";
      isAnyWaiting = true;
    }
  if (!isAnyWaiting)
    return "";
  std::vector<std::string> lines;
  for (const Standing &process : processes)
    lines.insert(lines.end(), process.lines.begin(), process.lines.end());
  return sayDeadlock(std::move(lines));
}

//===----------------------------------------------------------------------===//
// This process
//===----------------------------------------------------------------------===//

CallLedger::CallLedger(const std::vector<int64_t> &own) {
  for (int64_t rank : own)
    ranks[rank];
}

CallLedger::Entry::Entry(CallLedger &ledger, int64_t rank, CallChannel channel,
                         const CollectiveCall *call, bool waits)
    : ledger(ledger), rank(rank), stream(channel.stream) {
  std::lock_guard<std::mutex> lock(ledger.mutex);
  Own &own = ledger.ranks.at(rank);
  uint64_t number = ++own.begun[channel];
  own.streams[stream] = {call, {channel, number}, waits};
}

CallLedger::Entry::~Entry() {
  std::lock_guard<std::mutex> lock(ledger.mutex);
  ledger.ranks.at(rank).streams[stream] = {};
}

Standing CallLedger::stand(
    const Waiting &waiting,
    const std::function<std::string(int64_t, const CollectiveCall *)> &line)
    const {
  // No thread begins or leaves a call, sleeps or wakes meanwhile.
  std::lock_guard<std::mutex> lock(mutex);
  Waiting::View view = waiting.look();
  Standing standing;
  size_t waits = 0;
  for (const auto &[number, own] : ranks) {
    Standing::Rank rank{number, own.begun, {}};
    for (const State &state : own.streams)
      if (state.isWaiting) {
        rank.waits.push_back(state.wait);
        standing.lines.push_back(line(number, state.call));
      }
    waits += rank.waits.size();
    standing.ranks.push_back(std::move(rank));
  }
  standing.isStuck = view.awake == waits;
  standing.lines.insert(standing.lines.end(), view.lines.begin(),
                        view.lines.end());
  return standing;
}
