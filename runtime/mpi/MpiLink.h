//===- MpiLink.h - Messages between ranks, by MPI ---------------*- C++ -*-===//

#ifndef DIST_RUNTIME_MPI_MPILINK_H
#define DIST_RUNTIME_MPI_MPILINK_H

#include "runtime/messages/PointToPoint.h"
#include "runtime/mpi/MpiLibrary.h"
#include "runtime/rank/Rank.h"

#include <map>

namespace dist {

/// A channel is a tag. What is longer than a piece is several messages.
class MpiLink final : public PointToPoint {
public:
  /// MPI counts in 32 bits: bytes, and elements too.
  static constexpr int64_t kPiece = int64_t{1} << 30;

  /// Who waits keeps its core busy if `spins`; else it lets others have it.
  MpiLink(MpiLibrary &library, bool spins, int64_t piece = kPiece)
      : library(library), spins(spins), piece(piece) {}

  void start(int32_t channel, const std::vector<Outgoing> &sends,
             const std::vector<Incoming> &receives,
             Requests &requests) override;
  bool wait(Requests &requests, const Waiting &waiting) override;
  void poll(Requests &requests) override;

  /// From here on MPI's own reductions are wanted on those communicators that
  /// `reduce`, by number; all processes call it, with the same.
  void useReductions(const Topology &topology, const std::vector<bool> &reduce);
  bool canReduce(int32_t comm, dist_dtype dtype, dist_op op) const override;
  void startReduction(const Reduction &reduction, Requests &requests) override;

private:
  MpiLibrary &library;
  const bool spins;
  const int64_t piece;
  /// MPI's communicators, by number in the topology.
  std::map<int32_t, int64_t> comms;
};

} // namespace dist

#endif // DIST_RUNTIME_MPI_MPILINK_H
