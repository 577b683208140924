//===- HomeOutput.cpp - What a process prints, on its way -----------------===//

#include "runtime/control/HomeOutput.h"
#include "dist/Signals.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace dist;
using namespace dist::control;

static constexpr int kOutputs[] = {STDOUT_FILENO, STDERR_FILENO};

HomeOutput::HomeOutput(ControlMember &member) : member(member) {
  if (pipe2(pipe, O_CLOEXEC) != 0)
    throw systemError("no pipe for what this process writes");
  std::fflush(nullptr);
  for (int i = 0; i < 2; ++i) {
    own[i] = fcntl(kOutputs[i], F_DUPFD_CLOEXEC, 3);
    dup2(pipe[1], kOutputs[i]);
  }
  thread = std::thread([this] { run(); });
}

void HomeOutput::giveBack() {
  std::fflush(nullptr);
  for (int i = 0; i < 2; ++i)
    dup2(own[i], kOutputs[i]);
}

HomeOutput::~HomeOutput() {
  giveBack();
  isClosing = true;
  thread.join();
  for (int descriptor : {pipe[0], pipe[1], own[0], own[1]})
    close(descriptor);
}

void HomeOutput::begin() {
  std::fflush(nullptr);
  hasBegun = true;
  while (isHeld)
    usleep(1000);
}

bool HomeOutput::isSent() const {
  int bytes = 0;
  return (ioctl(pipe[0], FIONREAD, &bytes) != 0 || bytes == 0) && !isBusy;
}

void HomeOutput::flush() {
  std::fflush(nullptr);
  if (isHeld)
    return;
  wantsAll = true;
  for (int i = 0; i < 100 && !isSent(); ++i)
    usleep(5000);
  wantsAll = false;
}

bool HomeOutput::areLastWordsSent() {
  isHeld = false;
  wantsAll = true;
  return isSent();
}

void HomeOutput::run() {
  leaveSignalsToOthers();
  constexpr size_t kMost = 1 << 16;
  std::string text;
  while (!isClosing) {
    pollfd ready{pipe[0], POLLIN, 0};
    // From before it is read until it is sent.
    isBusy = !text.empty();
    if (poll(&ready, 1, 10) > 0) {
      isBusy = true;
      char buffer[4096];
      ssize_t count = read(pipe[0], buffer, sizeof buffer);
      if (count > 0)
        text.append(buffer, count);
    } else if (isHeld && hasBegun) {
      text.clear();
      isHeld = false;
    }
    if (isHeld) {
      text.erase(0, text.size() - std::min(text.size(), kMost));
      continue;
    }
    size_t length = text.rfind('\n') + 1;
    if (wantsAll || text.size() > kMost)
      length = text.size();
    if (length == 0)
      continue;
    member.say(text.substr(0, length));
    text.erase(0, length);
  }
}
