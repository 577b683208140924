//===- Protocol.h - What both ends of the control channel have --*- C++ -*-===//

#ifndef DIST_RUNTIME_CONTROL_PROTOCOL_H
#define DIST_RUNTIME_CONTROL_PROTOCOL_H

#include "dist/Tensor.h"
#include "runtime/control/Messages.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>

namespace dist {

/// How far a process is.
enum class Stage : uint32_t {
  Absent,
  /// It has said who it is.
  Here,
  /// It has its program, whose fingerprint it has sent.
  Ready,
  /// Its rank has ended without failure.
  Done
};

/// A process's sign of life.
struct SignOfLife {
  /// In a line, for messages.
  std::string doing;
  /// For whoever compares all processes (ControlRoot::onStandings).
  std::string standing;

  std::string write() const;
  static SignOfLife read(std::string_view text);
};

} // namespace dist

namespace dist::control {

using Clock = std::chrono::steady_clock;

/// Of the messages themselves, of this version of them.
constexpr uint32_t kMagic = 0x64697374, kVersion = 4;
enum Kind : uint32_t {
  Hello = 1,
  /// With what the process does, and where it stands; none from the root.
  Beat,
  Failed,
  Reached,
  Question,
  Answer,
  /// What a rank has written.
  Output,
  End,
  /// The process has told an error itself, as the root says nothing any more.
  Told
};

/// What a message of a kind says. Those that read one throw Error for others.
struct Greeting {
  std::string token;
  int64_t rank = 0;
  /// Its number, and its host.
  std::string process, host;
  uint32_t version = kVersion;

  std::string write() const;
  static Greeting read(std::string_view text);
};

struct Progress {
  Stage stage = Stage::Absent;
  std::string text;

  std::string write() const;
  static Progress read(std::string_view text);
};

std::string writeQuestion(const Message &question);
Message readQuestion(std::string_view text);

/// Of Failed and Output.
Message saying(Kind kind, std::string_view text);

constexpr std::chrono::milliseconds kTick(100);

/// A sign of life comes some times before it is missed.
std::chrono::milliseconds beatOf(std::chrono::milliseconds timeout);
int tickOf(std::chrono::milliseconds timeout);

Error systemError(const std::string &what);
std::string formatSeconds(std::chrono::milliseconds time);

/// Throws Error if `address` is no IPv4 address.
sockaddr_in parseAddress(const std::string &address, int port);
/// Control messages are short and wait for nobody.
void prepareSocket(int descriptor);

/// For a process that makes others, or has many connections. It learns how they
/// end, whoever started it. It may open as many files as the system lets it. No
/// socket gets the number of an output.
void prepareToFork();

/// A pipe whose reader is woken by a byte.
class Wake {
public:
  Wake();
  ~Wake();
  int handle() const { return ends[0]; }
  void signal();
  void drain();

private:
  int ends[2];
};

/// A socket on which any thread speaks and none waits for who does not read.
/// The one that listens sends what is left.
struct Connection {
  MessageSocket socket;
  std::mutex sending;

  /// Wakes that thread if something is left.
  void post(const Message &message, Wake &wake);
  /// Sends what can be sent, and returns what to wait for.
  pollfd flush();
  bool hasUnsent() { return flush().events & POLLOUT; }
};

} // namespace dist::control

#endif // DIST_RUNTIME_CONTROL_PROTOCOL_H
