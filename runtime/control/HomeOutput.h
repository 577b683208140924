//===- HomeOutput.h - What a process prints, on its way ---------*- C++ -*-===//
//
// The output of a process that is not the root goes through a pipe to itself,
// and from there to the root, line by line.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CONTROL_HOMEOUTPUT_H
#define DIST_RUNTIME_CONTROL_HOMEOUTPUT_H

#include "runtime/control/Control.h"

namespace dist {

class HomeOutput {
public:
  /// From here on, `member` has what this process writes. It keeps it back, as
  /// the root says the same.
  explicit HomeOutput(ControlMember &member);
  ~HomeOutput();

  /// Drops what was kept back. What comes now is brought home.
  void begin();
  /// The process has its own outputs again.
  void giveBack();
  /// Waits until all is sent, for half a second at most.
  void flush();
  /// Whether all is sent, with what was kept back; for handlers of crashes.
  bool areLastWordsSent();

private:
  void run();
  bool isSent() const;

  ControlMember &member;
  int pipe[2], own[2];
  std::atomic<bool> isClosing{false}, isHeld{true}, hasBegun{false},
      wantsAll{false}, isBusy{false};
  std::thread thread;
};

} // namespace dist

#endif // DIST_RUNTIME_CONTROL_HOMEOUTPUT_H
