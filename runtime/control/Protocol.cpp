//===- Protocol.cpp - What both ends of the control channel have ----------===//

#include "runtime/control/Protocol.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace dist;
using namespace dist::control;

//===----------------------------------------------------------------------===//
// What messages say
//===----------------------------------------------------------------------===//

std::string SignOfLife::write() const {
  MessageWriter writer;
  writer.text(doing);
  writer.text(standing);
  return writer.take();
}

SignOfLife SignOfLife::read(std::string_view text) {
  MessageReader reader(text);
  std::string doing = reader.text();
  return {doing, reader.text()};
}

std::string Greeting::write() const {
  MessageWriter writer;
  writer.number(kMagic);
  writer.number(version);
  writer.text(token);
  writer.number(rank);
  writer.text(process);
  writer.text(host);
  return writer.take();
}

Greeting Greeting::read(std::string_view text) {
  MessageReader reader(text);
  if (reader.number<uint32_t>() != kMagic)
    throw Error("a greeting that is none");
  Greeting greeting;
  greeting.version = reader.number<uint32_t>();
  greeting.token = reader.text();
  greeting.rank = reader.number<int64_t>();
  greeting.process = reader.text();
  greeting.host = reader.text();
  return greeting;
}

std::string Progress::write() const {
  MessageWriter writer;
  writer.number(static_cast<uint32_t>(stage));
  writer.text(text);
  return writer.take();
}

Progress Progress::read(std::string_view text) {
  MessageReader reader(text);
  auto stage = reader.number<uint32_t>();
  if (stage > static_cast<uint32_t>(Stage::Done))
    throw Error("a stage that does not exist");
  return {static_cast<Stage>(stage), reader.text()};
}

std::string control::writeQuestion(const Message &question) {
  MessageWriter writer;
  writer.number(question.kind);
  writer.text(question.text);
  return writer.take();
}

Message control::readQuestion(std::string_view text) {
  MessageReader reader(text);
  auto kind = reader.number<uint32_t>();
  return {kind, reader.text()};
}

Message control::saying(Kind kind, std::string_view text) {
  MessageWriter writer;
  writer.text(text);
  return {kind, writer.take()};
}

//===----------------------------------------------------------------------===//
// Time, sockets and threads
//===----------------------------------------------------------------------===//

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

void control::prepareToFork() {
  // Where they are ignored, nobody learns how a process ended.
  signal(SIGCHLD, SIG_DFL);
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  // Writing there stays an error.
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0)
      open("/dev/null", O_RDONLY);
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

void Connection::post(const Message &message, Wake &wake) {
  std::unique_lock<std::mutex> lock(sending);
  socket.post(message);
  bool isLeft = socket.hasUnsent();
  lock.unlock();
  if (isLeft)
    wake.signal();
}

pollfd Connection::flush() {
  std::lock_guard<std::mutex> lock(sending);
  socket.flush();
  short events = socket.hasUnsent() ? POLLIN | POLLOUT : POLLIN;
  return {socket.handle(), events, 0};
}
