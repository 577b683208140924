//===- MpiLink.h - Messages between ranks, by MPI ---------------*- C++ -*-===//

#ifndef DIST_RUNTIME_MPI_MPILINK_H
#define DIST_RUNTIME_MPI_MPILINK_H

#include "runtime/messages/PointToPoint.h"
#include "runtime/mpi/MpiLibrary.h"

namespace dist {

/// A channel is a tag. Messages longer than a part's are several.
class MpiLink final : public PointToPoint {
public:
  /// Who waits keeps its core busy if `spins`; else it lets others have it.
  MpiLink(MpiLibrary &library, bool spins) : library(library), spins(spins) {}

  void start(int32_t channel, const std::vector<Outgoing> &sends,
             const std::vector<Incoming> &receives,
             Requests &requests) override;
  bool wait(Requests &requests, const Waiting &waiting) override;

private:
  MpiLibrary &library;
  const bool spins;
};

} // namespace dist

#endif // DIST_RUNTIME_MPI_MPILINK_H
