//===- Witness.cpp - Tells what ended the process of rank 0 ---------------===//

#include "runtime/launch/Witness.h"
#include "dist/Signals.h"
#include "runtime/control/Messages.h"
#include "runtime/control/Protocol.h"
#include "runtime/host/TemporaryPaths.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <poll.h>
#include <ranges>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace dist;

//===----------------------------------------------------------------------===//
// What rank 0 says to its child
//===----------------------------------------------------------------------===//

namespace {

enum Kind : int64_t {
  Peer,
  Name,
  /// A message to tell, in parts, and its last part; the answer to it.
  Part,
  Tell,
  Told,
  /// A path becomes temporary, with the way to remove it; it is gone.
  Temporary,
  Gone,
  Leave
};

/// A packet, and room for a descriptor that goes with it.
struct Packet {
  struct {
    int64_t kind, rank;
  } head = {};
  char text[1 << 15];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec parts[2] = {{&head, sizeof head}, {text, 0}};
  msghdr header = {};

  Packet() {
    header.msg_iov = parts;
    header.msg_iovlen = 2;
  }

  /// At most `text` of what is said.
  bool send(int socket, Kind kind, int64_t rank, std::string_view what,
            int descriptor = -1, int flags = 0) {
    head = {kind, rank};
    parts[1].iov_len = std::min(what.size(), sizeof text);
    std::memcpy(text, what.data(), parts[1].iov_len);
    if (descriptor >= 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr *one = CMSG_FIRSTHDR(&header);
      one->cmsg_level = SOL_SOCKET;
      one->cmsg_type = SCM_RIGHTS;
      one->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(one), &descriptor, sizeof descriptor);
    }
    while (sendmsg(socket, &header, MSG_NOSIGNAL | flags) < 0)
      if (errno != EINTR)
        return false;
    return true;
  }

  /// False when nobody can send any more.
  bool receive(int socket, std::string &what, int &descriptor) {
    parts[1].iov_len = sizeof text;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t bytes;
    while ((bytes = recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0)
      if (errno != EINTR)
        return false;
    if (bytes < ssize_t(sizeof head))
      return false;
    what.assign(text, bytes - sizeof head);
    descriptor = -1;
    if (cmsghdr *one = CMSG_FIRSTHDR(&header))
      std::memcpy(&descriptor, CMSG_DATA(one), sizeof descriptor);
    return true;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The child
//===----------------------------------------------------------------------===//

namespace {

struct Watched {
  MessageSocket connection;
  int64_t rank;
  std::string name, process;
};

class Watch {
public:
  Watch(int socket, const std::function<void(const std::string &)> &tell,
        std::string root, int64_t ranks)
      : socket(socket), rootEnd(dup(socket)), tell(tell), root(std::move(root)),
        ranks(ranks) {
    watch(socket, EPOLLIN, kPacket);
    watch(rootEnd, EPOLLRDHUP | EPOLLET, kRootEnd);
  }

  void run() {
    while (look())
      ;
    // Before all are connected, any may have gone first: whoever started them
    // says so.
    if (!hasLeft && int64_t(peers.size()) + 1 == ranks)
      tellLast();
    // What rank 0 does not need any more, it may have begun to write.
    while (obey())
      ;
    for (const auto &[path, removal] : std::views::reverse(temporary))
      TemporaryPath(path, removal);
  }

private:
  static constexpr uint64_t kPacket = ~0ull, kRootEnd = ~1ull;

  void watch(int descriptor, uint32_t what, uint64_t who) {
    epoll_event event{what, {.u64 = who}};
    epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event);
  }

  /// Waits. False when rank 0 is gone or needs nobody any more. Ends are seen
  /// one at a time, in the order in which they came: only they wake an entry,
  /// and the kernel keeps the entries that woke in a queue.
  bool look() {
    epoll_event event;
    while (epoll_wait(events, &event, 1, -1) < 0)
      if (errno != EINTR)
        return false;
    if (event.data.u64 == kPacket) {
      // Others may have ended before rank 0, whose end comes in its turn.
      return (obey() || rootEnd >= 0) && !hasLeft;
    }
    if (event.data.u64 != kRootEnd) {
      if (!first)
        first = event.data.u64;
      return true;
    }
    // What it said before.
    while (!hasLeft && obey())
      ;
    return false;
  }

  void tellLast() {
    if (told.empty()) {
      std::string said = findLastWords();
      if (hasToldItself)
        return;
      tellOnce(said.empty() ? describeEnd() : said);
    }
    for (Watched &one : peers)
      one.connection.post(control::saying(control::Failed, told));
  }

  /// What others have sent that rank 0 has not read: an error, or that one has
  /// told it, as rank 0 was stopped.
  std::string findLastWords() {
    std::string said;
    for (Watched &one : peers) {
      one.connection.fill();
      try {
        while (std::optional<Message> message = one.connection.next()) {
          hasToldItself |= message->kind == control::Told;
          if (message->kind == control::Failed && said.empty())
            said = MessageReader(message->text).text();
        }
      } catch (const Error &) {
        // Rank 0 had read its beginning.
      }
    }
    return said;
  }

  /// False when there is nothing to obey any more.
  bool obey() {
    std::string text;
    int descriptor;
    if (!packet.receive(socket, text, descriptor))
      return false;
    int64_t rank = packet.head.rank;
    switch (packet.head.kind) {
    case Peer:
      watch(descriptor, EPOLLRDHUP | EPOLLET, peers.size());
      peers.push_back({MessageSocket(descriptor), rank,
                       "rank " + std::to_string(rank), std::move(text)});
      break;
    case Name:
      if (rank == 0)
        name = text;
      for (Watched &one : peers)
        if (one.rank == rank)
          one.name = text;
      break;
    case Part:
      toTell += text;
      break;
    case Tell:
      tellOnce(std::exchange(toTell, "") + text);
      packet.send(socket, Told, 0, "");
      break;
    case Temporary:
      temporary.emplace_back(text, TemporaryPath::Removal(rank));
      break;
    case Gone:
      std::erase_if(temporary,
                    [&](const auto &path) { return path.first == text; });
      break;
    default:
      hasLeft = true;
    }
    return true;
  }

  void tellOnce(const std::string &text) {
    if (!told.empty())
      return;
    told = text;
    tell(text);
  }

  std::string describeEnd() const {
    constexpr const char *kHow = " has ended in the middle of the run";
    return first ? peers[*first].name + ": " + peers[*first].process + kHow
                 : name + ": " + root + kHow;
  }

  int socket, rootEnd, events = epoll_create1(EPOLL_CLOEXEC);
  const std::function<void(const std::string &)> &tell;
  std::string name = "rank 0", root, toTell, told;
  std::vector<Watched> peers;
  int64_t ranks;
  /// The peer that went first.
  std::optional<size_t> first;
  /// Of rank 0; the last one is removed first, as it may lie in others.
  std::vector<std::pair<std::string, TemporaryPath::Removal>> temporary;
  bool hasLeft = false, hasToldItself = false;
  Packet packet;
};

} // namespace

static std::string describeProcess() {
  return "its process " + std::to_string(getpid()) + " on " + machineName();
}

//===----------------------------------------------------------------------===//
// In rank 0
//===----------------------------------------------------------------------===//

/// All from `first` on.
static void closeFrom(int first) {
  // Old kernels and sandboxes do not have the call.
  if (close_range(first, ~0u, 0) == 0)
    return;
  constexpr int kMost = 1 << 16;
  for (int i = first; i < kMost; ++i)
    close(i);
}

/// For the child, in milliseconds.
static constexpr int kMostWait = 2000;

Witness::Witness(std::function<void(const std::string &)> tell, int64_t ranks)
    : teller(std::move(tell)) {
  int ends[2];
  constexpr int kKind = SOCK_SEQPACKET | SOCK_CLOEXEC;
  if (ranks > 1)
    control::prepareToFork();
  if (ranks < 2 || socketpair(AF_UNIX, kKind, 0, ends) != 0)
    return;
  std::string root = describeProcess();
  child = fork();
  if (child == 0) {
    setsid();
    leaveSignalsToOthers();
    // Nothing of rank 0's but where it prints: a pipe that stays open here
    // would keep others waiting.
    dup2(ends[1], STDIN_FILENO);
    closeFrom(STDERR_FILENO + 1);
    Watch(STDIN_FILENO, teller, root, ranks).run();
    _exit(0);
  }
  close(ends[1]);
  socket = ends[0];
  if (child < 0) {
    close(std::exchange(socket, -1));
    return;
  }
  static int noted;
  noted = socket;
  noteTemporaryPaths([](const std::string &path, TemporaryPath::Removal removal,
                        bool isThere) {
    // A child that does not read must not keep this process.
    pollfd ready{noted, POLLOUT, 0};
    if (noted < 0)
      return;
    if (poll(&ready, 1, kMostWait) != 1 ||
        !Packet().send(noted, isThere ? Temporary : Gone, removal, path,
                       /*descriptor=*/-1, MSG_DONTWAIT))
      noted = -1;
  });
}

Witness::~Witness() {
  noteTemporaryPaths(nullptr);
  if (socket >= 0)
    close(socket);
  // All is told; it may be stopped.
  if (child > 0 && kill(child, SIGKILL) == 0)
    waitpid(child, nullptr, 0);
}

void Witness::add(int64_t rank, int connection, const std::string &process) {
  Packet().send(socket, Peer, rank, process, connection);
}

void Witness::describe(int64_t rank, const std::string &text) {
  Packet().send(socket, Name, rank, text);
}

void Witness::tell(const std::string &message) {
  // Whoever has killed the child as well hears it from this process.
  Packet packet;
  std::string text;
  int descriptor;
  pollfd ready{socket, POLLIN, 0};
  std::string_view rest = message;
  while (rest.size() > sizeof packet.text && packet.send(socket, Part, 0, rest))
    rest.remove_prefix(sizeof packet.text);
  if (!packet.send(socket, Tell, 0, rest) || poll(&ready, 1, kMostWait) != 1 ||
      !packet.receive(socket, text, descriptor))
    teller(message);
}

void Witness::leave() {
  struct {
    int64_t kind = Leave, rank = 0;
  } head;
  send(socket, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
}
