//===- Signals.h - How a program ends when it is told to --------*- C++ -*-===//
//
// SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGXFSZ end a program with the status
// 128 + their number, and nothing that is half written stays. A mapped file
// that is cut short while it is read ends it with a message.
//
// One handler does this for all tools. It runs at any moment, on any thread,
// also amid malloc: it makes system calls only and allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_SIGNALS_H
#define DIST_SIGNALS_H

#include <functional>
#include <string>

namespace dist {

/// Installs the handlers; `tool` names the program in messages. To be called
/// first in main, but after LLVM's InitLLVM, whose handlers these replace. A
/// signal that the caller of the program ignores (nohup) stays ignored. A file
/// that grows beyond the limit of its size is an error of who writes it.
void handleSignals(const char *tool);

/// What this thread is, for messages: "rank 3 (tp=3)".
void describeThread(const std::string &text);

/// Runs `step` while no signal ends the program: either all or nothing of it is
/// done. It must be short and must not wait for other threads.
void withoutSignals(const std::function<void()> &step);

/// What this machine is called; empty where nothing says so.
std::string machineName();

/// A file, or a folder and all that is in it, that goes when this object does
/// and when a signal ends the program.
class TemporaryPath {
public:
  /// Makes nothing; to be called before `path` is made.
  explicit TemporaryPath(std::string path);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath &) = delete;
  TemporaryPath &operator=(const TemporaryPath &) = delete;

  const std::string &path() const { return name; }

  /// A name that nothing else uses, on the same file system as `path`:
  /// PATH.tmp-PROCESS-NUMBER-MACHINE.
  static std::string beside(const std::string &path);

private:
  friend void removeTemporaryPaths();
  std::string name;
  TemporaryPath *previous, *next = nullptr;
};

} // namespace dist

#endif // DIST_SIGNALS_H
