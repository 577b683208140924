//===- Witness.h - Tells what ended the process of rank 0 -------*- C++ -*-===//
//
// Whoever started the processes may kill all of them as soon as one has died,
// rank 0 before it can tell of it: MPICH's mpiexec does so within 10 ms. So
// rank 0 has a child, in a session of its own, which nobody kills. It sees the
// ends of all connections of the control channel, and tells what it is asked
// to. If rank 0 is gone without a word, it says who went first, to the others
// too. It removes what rank 0 leaves that is temporary.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_WITNESS_H
#define DIST_RUNTIME_LAUNCH_WITNESS_H

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>

namespace dist {

class Witness {
public:
  /// Begins the child of a run of so many ranks; to be called before there are
  /// other threads. `tell` writes an error as the tool does. Without a child,
  /// for 1 rank or for want of processes, all is told here.
  Witness(std::function<void(const std::string &)> tell, int64_t ranks);
  /// Ends the child, which tells nothing any more.
  ~Witness();
  Witness(const Witness &) = delete;

  /// Another process: its connection, and how a message names it.
  void add(int64_t rank, int connection, const std::string &process);
  /// The rank in messages: "rank 1 (tp=1)".
  void describe(int64_t rank, const std::string &text);
  /// Returns when it is told.
  void tell(const std::string &message);
  /// This process ends, for a reason that it has told itself or that needs no
  /// words. Makes system calls only.
  void leave();

private:
  std::function<void(const std::string &)> teller;
  pid_t child = -1;
  int socket = -1;
};

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_WITNESS_H
