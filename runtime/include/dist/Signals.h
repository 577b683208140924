//===- Signals.h - Signals and unfinished files -----------------*- C++ -*-===//
//
// SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGXFSZ end a program with the status
// 128 + their number, and no half-written file stays. A mapped file that is
// truncated while it is read ends the program with a message.
//
// One handler does this for all tools. It runs at any moment, on any thread,
// also inside malloc: it makes only system calls and allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_SIGNALS_H
#define DIST_SIGNALS_H

#include <functional>
#include <string>

namespace dist {

/// Installs the handlers; `tool` names the program in messages. To be called
/// first in main, but after LLVM's InitLLVM, whose handlers these replace. A
/// signal that the caller of the program ignores (nohup) stays ignored. If a
/// file exceeds the size limit, its writer gets an error.
void handleSignals(const char *tool);

/// The name of this thread in messages: "rank 3 (tp=3)".
void describeThread(const std::string &text);

/// In a process that was made by fork, for a rank: temporary files are those of
/// the process that made it, and signals that a terminal sends to both are that
/// one's business.
/// What ends the process is told to `report`, which a handler of signals calls.
void becomeRankProcess(void (*report)(const char *message));

/// Signals end the program on other threads than this one.
void leaveSignalsToOthers();

/// Has a signal that ends the program, or a crash, wait until `isReady` returns
/// true, for half a second at most: other threads may have something to say
/// yet. It is called in a handler, again and again.
void waitBeforeEnding(bool (*isReady)(int signal));

/// Ends the program at once, as a signal does: what is temporary is removed,
/// nothing is destroyed.
[[noreturn]] void endProcess(int status);

/// Runs `step` while no signal ends the program: all of it is done, or nothing.
/// It must be short and must not wait for other threads.
void withoutSignals(const std::function<void()> &step);

/// The name of this machine; empty if it has no name.
std::string machineName();

/// A file, or a folder with all its contents, that is removed when this object
/// is destroyed or a signal ends the program.
class TemporaryPath {
public:
  enum Removal {
    All,
    /// A folder in which there is something stays.
    IfEmpty
  };
  /// Creates nothing; to be called before `path` is created.
  explicit TemporaryPath(std::string path, Removal removal = All);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath &) = delete;
  TemporaryPath &operator=(const TemporaryPath &) = delete;

  const std::string &path() const { return name; }

  /// A name that nothing else uses, on the same file system as `path`:
  /// PATH.tmp-PROCESS-NUMBER-MACHINE.
  static std::string beside(const std::string &path);

private:
  friend void removeTemporaryPaths();
  void remove() const;
  std::string name;
  Removal removal;
  TemporaryPath *previous, *next = nullptr;
};

} // namespace dist

#endif // DIST_SIGNALS_H
