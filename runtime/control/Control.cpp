//===- Control.cpp - What both ends of the control channel have -----------===//

#include "runtime/control/Control.h"
#include "runtime/control/Protocol.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

using namespace dist;
using namespace dist::control;

std::chrono::milliseconds control::beatOf(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kBeat(1000);
  return std::min(kBeat, timeout / 4);
}

int control::tickOf(std::chrono::milliseconds timeout) {
  return std::min(kTick, timeout / 8 + std::chrono::milliseconds(1)).count();
}

Error control::systemError(const std::string &what) {
  return Error(what + ": " + std::strerror(errno));
}

std::string control::formatSeconds(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << time.count() / 1000.0 << " s";
  return text.str();
}

sockaddr_in control::parseAddress(const std::string &address, int port) {
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1)
    throw Error("--bind-address " + address +
                ": must be an IPv4 address of this host, such as 10.0.0.5");
  return place;
}

void control::prepareSocket(int descriptor) {
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Wake::Wake() {
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw systemError("no pipe for the control channel");
}

Wake::~Wake() {
  close(ends[0]);
  close(ends[1]);
}

void Wake::signal() {
  char byte = 0;
  if (write(ends[1], &byte, 1) < 0) {
    // It is full, and its reader awake.
  }
}

void Wake::drain() {
  char bytes[64];
  while (read(ends[0], bytes, sizeof bytes) > 0) {
  }
}

std::string Control::failure() const {
  std::lock_guard<std::mutex> lock(mutex);
  return message;
}

void Control::onFailure(std::function<void(const std::string &)> added) {
  std::lock_guard<std::mutex> lock(mutex);
  listener = std::move(added);
  if (listener && !message.empty())
    listener(message);
}

bool Control::setFailure(const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!message.empty())
    return false;
  message = text.empty() ? "the run has failed" : text;
  if (listener)
    listener(message);
  changed.notify_all();
  return true;
}
