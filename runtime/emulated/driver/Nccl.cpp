//===- Nccl.cpp - A stand-in of NCCL --------------------------------------===//
//
// Messages between the devices of emulated drivers in different processes of
// one host, over sockets. It keeps the library's rules: the calls of a
// communicator run in the order in which they were issued, on whatever streams,
// and those of a group together. It holds its callers to them: a send meets a
// receive of as many bytes, and what is sent has been written.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/NcclApi.h"
#include "runtime/emulated/driver/Device.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace dist::cuda;
using dist::emulated::Memory;

struct ncclComm {
  int rank = 0;
  /// A socket to each other rank.
  std::vector<int> peers;
  /// After the last call.
  Event last = nullptr;
  CUstream_st *lastStream = nullptr;
  bool isBroken = false;

  ~ncclComm() {
    for (int peer : peers)
      if (peer >= 0)
        close(peer);
  }
};

namespace {

/// A call of a group.
struct Message {
  bool isSend;
  uint64_t address, bytes;
  int peer;
  CUstream_st *stream;
};

/// The group that a thread is in.
struct Group {
  int depth = 0;
  std::vector<std::pair<NcclComm, Message>> calls;
};

thread_local Group group;
thread_local std::string lastError;

/// One way between two ranks: messages in their order, a header before each.
struct Way {
  int socket;
  std::vector<Message> messages;
  size_t at = 0;
  uint64_t done = 0;   // of the header, then of the message
  uint64_t header = 0; // bytes that follow
  bool isInData = false;

  bool isOver() const { return at == messages.size(); }
};

} // namespace

extern "C" {
Result cuEventCreate(Event *event, unsigned flags);
Result cuEventRecord(Event event, Stream stream);
Result cuStreamWaitEvent(Stream stream, Event event, unsigned flags);
}

static NcclResult failed(const std::string &why,
                         NcclResult result = NcclSystemError) {
  lastError = why;
  return result;
}

static sockaddr_un addressOf(const NcclId &id, int rank, socklen_t &length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // No file: its name begins with a zero.
  std::string name =
      "dist-nccl-" + std::string(id.bytes, 32) + "-" + std::to_string(rank);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  return address;
}

//===----------------------------------------------------------------------===//
// On the device
//===----------------------------------------------------------------------===//

/// Goes on as far as it can without waiting; false after a failure.
static bool advance(Way &way, Memory &memory, std::string &problem) {
  while (!way.isOver()) {
    Message &message = way.messages[way.at];
    if (!way.isInData && way.done == 0)
      way.header = message.bytes;
    char *data = way.isInData
                     ? reinterpret_cast<char *>(memory.hostOf(message.address))
                     : reinterpret_cast<char *>(&way.header);
    uint64_t bytes = way.isInData ? message.bytes : sizeof way.header;
    while (way.done < bytes) {
      ssize_t moved = message.isSend
                          ? send(way.socket, data + way.done, bytes - way.done,
                                 MSG_NOSIGNAL | MSG_DONTWAIT)
                          : recv(way.socket, data + way.done, bytes - way.done,
                                 MSG_DONTWAIT);
      if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
      if (moved < 0 && errno == EINTR)
        continue;
      if (moved <= 0) {
        problem = "NCCL: rank " + std::to_string(message.peer) + " is gone";
        return false;
      }
      way.done += moved;
    }
    way.done = 0;
    if (!way.isInData && !message.isSend && way.header != message.bytes) {
      problem = "NCCL: a receive of " + std::to_string(message.bytes) +
                " bytes meets a send of " + std::to_string(way.header) +
                " by rank " + std::to_string(message.peer);
      return false;
    }
    if (way.isInData)
      ++way.at;
    way.isInData = !way.isInData;
  }
  return true;
}

static Result exchange(const ncclComm &comm, std::vector<Message> messages,
                       Memory &memory, std::string &problem) {
  std::vector<Way> ways;
  for (const Message &message : messages) {
    auto *pointer = reinterpret_cast<const void *>(message.address);
    const char *name = message.isSend ? "sent" : "received";
    if (!memory.find(message.address, message.bytes)) {
      problem = "NCCL: what is " + std::string(name) + " lies in no buffer";
      return IllegalAddress;
    }
    if (message.isSend && memory.countUnwritten(pointer, message.bytes)) {
      problem = "NCCL: sends what nobody has written";
      return LaunchFailed;
    }
    auto same = std::find_if(ways.begin(), ways.end(), [&](const Way &way) {
      return way.messages[0].peer == message.peer &&
             way.messages[0].isSend == message.isSend;
    });
    if (same == ways.end())
      same = ways.insert(ways.end(), Way{comm.peers[message.peer], {}});
    same->messages.push_back(message);
  }
  while (true) {
    std::vector<pollfd> open;
    for (Way &way : ways) {
      if (!advance(way, memory, problem))
        return LaunchFailed;
      if (!way.isOver())
        open.push_back(
            {way.socket, short(way.messages[0].isSend ? POLLOUT : POLLIN), 0});
    }
    if (open.empty())
      break;
    poll(open.data(), open.size(), 1000);
  }
  for (const Message &message : messages)
    if (!message.isSend)
      memory.setWritten(reinterpret_cast<const void *>(message.address),
                        message.bytes);
  return Success;
}

/// What was called for a communicator, together. It runs after its last call.
static NcclResult issue(NcclComm comm, std::vector<Message> messages) {
  CUstream_st *stream = messages.front().stream;
  for (const Message &message : messages)
    if (message.stream != stream)
      return failed("the calls of a group are on several streams, which this "
                    "stand-in does not do",
                    NcclInvalidUsage);
  if (!comm->last && cuEventCreate(&comm->last, 0) != Success)
    return failed("no event");
  if (comm->lastStream && comm->lastStream != stream &&
      cuStreamWaitEvent(stream, comm->last, 0) != Success)
    return failed("cuStreamWaitEvent");
  Result result = dist::emulated::issueOnDevice(
      stream, [comm, messages](Memory &memory, std::string &problem) {
        Result done = exchange(*comm, messages, memory, problem);
        comm->isBroken |= done != Success;
        return done;
      });
  if (result != Success || cuEventRecord(comm->last, stream) != Success)
    return failed("the device takes no work", NcclInvalidUsage);
  comm->lastStream = stream;
  return NcclSuccess;
}

static NcclResult call(NcclComm comm, Message message, int type) {
  if (!comm || type != NcclInt8 || message.peer < 0 ||
      size_t(message.peer) >= comm->peers.size() || message.peer == comm->rank)
    return failed("no such peer or type", NcclInvalidArgument);
  group.calls.push_back({comm, message});
  return NcclSuccess;
}

extern "C" {

NcclResult ncclGetVersion(int *version) {
  *version = 22809;
  return NcclSuccess;
}

const char *ncclGetErrorString(NcclResult error) {
  switch (error) {
  case NcclSuccess:
    return "no error";
  case NcclSystemError:
    return "unhandled system error";
  case NcclInvalidArgument:
    return "invalid argument";
  case NcclInvalidUsage:
    return "invalid usage";
  case NcclRemoteError:
    return "remote process exited or there was a network error";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(NcclComm) { return lastError.c_str(); }

NcclResult ncclGetUniqueId(NcclId *id) {
  *id = {};
  std::random_device random;
  for (int i = 0; i < 4; ++i)
    std::snprintf(id->bytes + 8 * i, 9, "%08x", random());
  return NcclSuccess;
}

NcclResult ncclCommInitRank(NcclComm *made, int ranks, NcclId id, int rank) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return failed("no such rank", NcclInvalidArgument);
  auto comm = std::make_unique<ncclComm>();
  comm->rank = rank;
  comm->peers.assign(ranks, -1);
  socklen_t length;
  sockaddr_un own = addressOf(id, rank, length);
  int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct Closed {
    int socket;
    ~Closed() { close(socket); }
  } closed{listening};
  if (listening < 0 ||
      bind(listening, reinterpret_cast<sockaddr *>(&own), length) != 0 ||
      listen(listening, ranks) != 0)
    return failed(std::string("no socket: ") + std::strerror(errno));
  // To those before, which may not listen yet; then those behind come.
  for (int other = 0; other < rank; ++other) {
    sockaddr_un theirs = addressOf(id, other, length);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    comm->peers[other] = made;
    while (connect(made, reinterpret_cast<sockaddr *>(&theirs), length) != 0) {
      if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
        return failed("rank " + std::to_string(other) +
                          " cannot be reached: " + std::strerror(errno),
                      NcclRemoteError);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (send(made, &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank)
      return failed("rank " + std::to_string(other) + " is gone",
                    NcclRemoteError);
  }
  for (int left = ranks - 1 - rank; left > 0; --left) {
    int other = -1;
    int made = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (made < 0 ||
        recv(made, &other, sizeof other, MSG_WAITALL) != sizeof other ||
        other <= rank || other >= ranks || comm->peers[other] >= 0)
      return failed("a rank says what it is not", NcclRemoteError);
    comm->peers[other] = made;
  }
  *made = comm.release();
  return NcclSuccess;
}

NcclResult ncclCommAbort(NcclComm comm) {
  delete comm;
  return NcclSuccess;
}

NcclResult ncclCommDestroy(NcclComm comm) { return ncclCommAbort(comm); }

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult *error) {
  *error = comm->isBroken ? NcclRemoteError : NcclSuccess;
  return NcclSuccess;
}

NcclResult ncclGroupStart() {
  ++group.depth;
  return NcclSuccess;
}

NcclResult ncclGroupEnd() {
  if (group.depth == 0)
    return failed("a group ends that has not begun", NcclInvalidUsage);
  if (--group.depth > 0)
    return NcclSuccess;
  std::vector<std::pair<NcclComm, Message>> calls;
  calls.swap(group.calls);
  while (!calls.empty()) {
    NcclComm comm = calls.front().first;
    std::vector<Message> messages;
    std::erase_if(calls, [&](const auto &one) {
      if (one.first == comm)
        messages.push_back(one.second);
      return one.first == comm;
    });
    if (NcclResult result = issue(comm, std::move(messages)))
      return result;
  }
  return NcclSuccess;
}

NcclResult ncclSend(const void *data, size_t count, NcclType type, int to,
                    NcclComm comm, CUstream_st *stream) {
  ncclGroupStart();
  NcclResult result = call(
      comm, {true, reinterpret_cast<uint64_t>(data), count, to, stream}, type);
  NcclResult ended = ncclGroupEnd();
  return result ? result : ended;
}

NcclResult ncclRecv(void *data, size_t count, NcclType type, int from,
                    NcclComm comm, CUstream_st *stream) {
  ncclGroupStart();
  NcclResult result =
      call(comm, {false, reinterpret_cast<uint64_t>(data), count, from, stream},
           type);
  NcclResult ended = ncclGroupEnd();
  return result ? result : ended;
}

} // extern "C"
