//===- Protocol.h - What both ends of the control channel have --*- C++ -*-===//

#ifndef DIST_RUNTIME_CONTROL_PROTOCOL_H
#define DIST_RUNTIME_CONTROL_PROTOCOL_H

#include "dist/Tensor.h"

#include <chrono>
#include <cstdint>
#include <netinet/in.h>
#include <string>

namespace dist::control {

using Clock = std::chrono::steady_clock;

/// Of the messages themselves, of this version of them.
constexpr uint32_t kMagic = 0x64697374, kVersion = 3;
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

constexpr std::chrono::milliseconds kTick(100);

/// A sign of life comes some times before it is missed.
std::chrono::milliseconds beatOf(std::chrono::milliseconds timeout);
int tickOf(std::chrono::milliseconds timeout);

Error systemError(const std::string &what);
std::string formatSeconds(std::chrono::milliseconds time);

/// Throws Error if it is none.
sockaddr_in parseAddress(const std::string &address, int port);
/// Control messages are short and wait for nobody.
void prepareSocket(int descriptor);

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

} // namespace dist::control

#endif // DIST_RUNTIME_CONTROL_PROTOCOL_H
