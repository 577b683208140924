//===- Messages.cpp - What processes of a run say to each other -----------===//

#include "runtime/control/Messages.h"
#include "dist/Tensor.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace dist;

namespace {
struct Header {
  uint32_t kind;
  uint32_t unused = 0;
  uint64_t length;
};
} // namespace

std::string_view MessageReader::take(uint64_t count) {
  if (count > bytes.size())
    throw Error("a message of another process of the run is cut short");
  std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

uint64_t MessageReader::count(uint64_t least) {
  auto count = number<uint64_t>();
  if (count > bytes.size() / least)
    throw Error("a message of another process of the run is cut short");
  return count;
}

MessageSocket &MessageSocket::operator=(MessageSocket &&other) {
  close();
  descriptor = std::exchange(other.descriptor, -1);
  most = other.most;
  read = std::move(other.read);
  unsent = std::move(other.unsent);
  sent = std::exchange(other.sent, 0);
  return *this;
}

void MessageSocket::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

bool MessageSocket::post(const Message &message) {
  Header header{message.kind, 0, message.text.size()};
  unsent.erase(0, std::exchange(sent, 0));
  unsent.append(reinterpret_cast<const char *>(&header), sizeof header);
  unsent += message.text;
  return flush();
}

bool MessageSocket::flush() {
  while (hasUnsent()) {
    ssize_t count = ::send(descriptor, unsent.data() + sent,
                           unsent.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return true;
    if (count >= 0 && (sent += count) < unsent.size())
      continue;
    unsent = {};
    sent = 0;
    if (count < 0)
      return false;
  }
  return true;
}

bool MessageSocket::send(const Message &message) {
  bool isOpen = post(message);
  while (isOpen && hasUnsent()) {
    pollfd ready{descriptor, POLLOUT, 0};
    poll(&ready, 1, -1);
    isOpen = flush();
  }
  return isOpen;
}

bool MessageSocket::fill() {
  char buffer[1 << 16];
  ssize_t count;
  do
    count = recv(descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK;
  read.append(buffer, count);
  total += count;
  Header header;
  if (read.size() >= sizeof header) {
    std::memcpy(&header, read.data(), sizeof header);
    if (header.length > most)
      return false;
  }
  return count > 0;
}

std::optional<Message> MessageSocket::next() {
  Header header;
  if (read.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, read.data(), sizeof header);
  if (header.length > read.size() - sizeof header)
    return std::nullopt;
  Message message{header.kind, read.substr(sizeof header, header.length)};
  read.erase(0, sizeof header + header.length);
  return message;
}

std::optional<Message> MessageSocket::receive() {
  for (;;) {
    if (std::optional<Message> message = next())
      return message;
    pollfd ready{descriptor, POLLIN, 0};
    if (poll(&ready, 1, -1) < 0 && errno != EINTR)
      return std::nullopt;
    if (ready.revents && !fill())
      return next();
  }
}
