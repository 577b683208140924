//===- Messages.h - What processes of a run say to each other ---*- C++ -*-===//
//
// A message is a kind, a length and as many bytes. Its reader trusts none of
// them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CONTROL_MESSAGES_H
#define DIST_RUNTIME_CONTROL_MESSAGES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace dist {

struct Message {
  uint32_t kind = 0;
  std::string text;
};

/// Numbers and texts, one after the other.
class MessageWriter {
public:
  template <class T> void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number<uint64_t>(value.size());
    bytes.append(value);
  }
  std::string take() { return std::move(bytes); }

private:
  std::string bytes;
};

/// The same, read; throws Error where there are fewer bytes.
class MessageReader {
public:
  explicit MessageReader(std::string_view bytes) : bytes(bytes) {}

  template <class T> T number() {
    T value;
    std::string_view from = take(sizeof value);
    __builtin_memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(view()); }
  /// A text where it is.
  std::string_view view() { return take(number<uint64_t>()); }
  /// How many things follow, each of at least so many bytes.
  uint64_t count(uint64_t least);

private:
  std::string_view take(uint64_t count);
  std::string_view bytes;
};

/// One end of a stream of messages; owns the descriptor. One thread may send
/// while another reads.
class MessageSocket {
public:
  MessageSocket() = default;
  explicit MessageSocket(int descriptor) : descriptor(descriptor) {}
  MessageSocket(MessageSocket &&other) { *this = std::move(other); }
  MessageSocket &operator=(MessageSocket &&other);
  ~MessageSocket() { close(); }

  int handle() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }
  void close();

  /// The most bytes that one message may have, from now on.
  static constexpr uint64_t kMostMessage = uint64_t{1} << 32;
  void bound(uint64_t bytes) { most = bytes; }

  /// Sends what can be sent without waiting, and keeps the rest for `flush`.
  /// Both return false if nobody reads any more.
  bool post(const Message &message);
  bool flush();
  bool hasUnsent() const { return !unsent.empty(); }
  /// Waits until it is sent. False if nobody reads any more.
  bool send(const Message &message);
  /// Reads what is there, without waiting. False at the end of the stream, and
  /// if a message is longer than its bound.
  bool fill();
  /// How many bytes have come so far.
  uint64_t received() const { return total; }
  /// The next message that is there whole.
  std::optional<Message> next();
  /// Waits for a message; none at the end of the stream.
  std::optional<Message> receive();

private:
  int descriptor = -1;
  uint64_t most = kMostMessage, total = 0;
  std::string read, unsent;
  /// So many bytes of `unsent` are sent.
  size_t sent = 0;
};

} // namespace dist

#endif // DIST_RUNTIME_CONTROL_MESSAGES_H
