//===- Exchange.h - Collectives by messages ---------------------*- C++ -*-===//
//
// What one member of a group does in a collective when it cannot read others'
// memory: it sends what they take of its operand (Copies.h) and receives what
// it takes of theirs. Sums are added up here, in the order of threads, so that
// they have the same bits.
//
// An all_reduce is an exchange of shares, their sums, and an all_gather of
// these: each rank sends 2 (p - 1) / p of the operand, as the ring of Patarasuk
// and Yuan does (2009). If it is small, each sends all to all.
//
// Where the library's own reductions are wanted, they do what they can.
//
// Operands may lie in a device's memory. Then all work is queued on a stream of
// it, and so are messages.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_MESSAGES_EXCHANGE_H
#define DIST_RUNTIME_MESSAGES_EXCHANGE_H

#include "runtime/collectives/OperandMemory.h"
#include "runtime/messages/PointToPoint.h"
#include "runtime/rank/Rank.h"

#include <memory>

namespace dist {

/// One stream of one rank. Not to be destroyed while messages are under way.
class Exchange {
public:
  /// Messages of the host. All say what they call before their data.
  Exchange(const Topology &topology, int64_t rank, int32_t stream,
           PointToPoint &link, const Waiting &waiting);
  /// Messages of a device's `memory`. Nobody says what it calls, and there are
  /// no calls with a plan.
  Exchange(const Topology &topology, int64_t rank, int32_t stream,
           PointToPoint &link, OperandMemory &memory);
  ~Exchange();

  /// Does the call. `sent` becomes the bytes that this rank sends, as the
  /// manifest counts them. False if the run has failed. Throws Error if members
  /// of the group call different collectives.
  bool run(const CollectiveCall &call, int64_t &sent);

  /// Returns when all ranks have called it, or false.
  bool meet();

private:
  struct Hello;
  /// Memory that is used again.
  class Scratch {
  public:
    char *get(OperandMemory &memory, int64_t bytes) {
      if (bytes > size) {
        data.reset();
        data = memory.allocate(bytes);
        size = bytes;
      }
      return data.get();
    }

  private:
    std::shared_ptr<char> data;
    int64_t size = 0;
  };

  // What is sent and received together; `place` is that of a member.
  void send(int64_t place, const void *data, int64_t bytes);
  void receive(int64_t place, void *data, int64_t bytes);
  void begin();
  bool finish();

  void greet();
  bool hear();
  bool copyOrAddUp();
  bool reduceSmall();
  bool reduceShares();
  bool isLibrarys() const;
  bool reduceByLibrary();
  bool exchangeRows();
  bool gatherRows();
  bool reduceRows();
  int64_t bytesSent() const;

  const Topology &topology;
  const int64_t rank;
  const int32_t stream;
  PointToPoint &link;
  OperandMemory &memory;
  /// Null for a device.
  const Waiting *waiting = nullptr;

  // Of the call that is being done.
  const CollectiveCall *call = nullptr;
  const Communicator *comm = nullptr;
  const std::vector<int64_t> *members = nullptr; // their ranks
  int64_t me = 0;
  std::vector<PointToPoint::Outgoing> sends;
  std::vector<PointToPoint::Incoming> receives;
  PointToPoint::Requests requests, greetings;
  /// By member: theirs, and what it said to them.
  std::vector<Hello> hellos, said;
  Scratch outgoing, incoming;
  /// Of a reduction by the library, by member.
  std::vector<int32_t> counts;
  /// Of calls with a plan, by member: the rows of this rank that it names.
  std::vector<std::vector<int64_t>> asked;
};

} // namespace dist

#endif // DIST_RUNTIME_MESSAGES_EXCHANGE_H
