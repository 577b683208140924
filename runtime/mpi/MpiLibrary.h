//===- MpiLibrary.h - What a run needs of MPI -------------------*- C++ -*-===//
//
// Handles of MPI are addresses in Open MPI and numbers in MPICH. So a plug-in
// for each, built against its headers, offers this; it is loaded when somebody
// asks for it. Nothing else links MPI.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_MPI_MPILIBRARY_H
#define DIST_RUNTIME_MPI_MPILIBRARY_H

#include "dist/runtime.h"

#include <cstdint>
#include <memory>
#include <string>

namespace dist {

/// MPI, between MPI_Init and MPI_Finalize. All functions throw
/// std::runtime_error with MPI's own words.
class MpiLibrary {
public:
  virtual ~MpiLibrary() = default;

  /// In MPI_COMM_WORLD.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// How many of these are on this host.
  virtual int64_t sizeOfHost() const = 0;
  /// Which of those this one is.
  virtual int64_t rankOfHost() const = 0;

  /// Start to send or receive; return a request. At most 2^31 - 1 bytes.
  virtual int64_t send(int64_t rank, int32_t tag, const void *data,
                       int64_t bytes) = 0;
  virtual int64_t receive(int64_t rank, int32_t tag, void *data,
                          int64_t bytes) = 0;
  /// Whether it is done; not to be asked again then.
  virtual bool test(int64_t request) = 0;

  /// Makes a communicator of the processes that give the same `group`, in the
  /// order of `place`; all processes call it. Returns its number.
  virtual int64_t split(int64_t group, int64_t place) = 0;
  /// Whether MPI has a reduction with the results of the runtime, but for
  /// rounding.
  virtual bool canReduce(dist_dtype dtype, dist_op op) const = 0;
  /// Start one over such a communicator; return a request. At most 2^31 - 1
  /// elements. `in` may be `out`; `counts` stay until it is done.
  virtual int64_t allReduce(int64_t comm, dist_dtype dtype, dist_op op,
                            const void *in, void *out, int64_t count) = 0;
  virtual int64_t reduceScatter(int64_t comm, dist_dtype dtype, dist_op op,
                                const void *in, void *out,
                                const int32_t *counts) = 0;

  /// Gives all processes what the first one has.
  virtual void broadcast(void *data, int64_t bytes) = 0;

  /// MPI_Finalize, which waits for all.
  virtual void finalize() = 0;
};

/// Loads Open MPI or MPICH, and calls MPI_Init_thread: whichever has started
/// this process (Starter.h), or else `family`, "openmpi" or "mpich"; "" for any
/// that is there. Throws Error if it is not there, with what to install.
std::unique_ptr<MpiLibrary> loadMpi(const std::string &family);

/// Which of the two it loads; "" if nothing tells. Throws Error likewise.
std::string chooseMpi(const std::string &family);

/// What a plug-in exports: makes a library, or throws.
using MakeMpiLibrary = MpiLibrary *();

} // namespace dist

#endif // DIST_RUNTIME_MPI_MPILIBRARY_H
