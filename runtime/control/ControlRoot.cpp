//===- ControlRoot.cpp - The process of rank 0 on the control channel -----===//

#include "dist/Signals.h"
#include "runtime/control/Control.h"
#include "runtime/control/Protocol.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace dist;
using namespace dist::control;

/// What somebody may send who has not said who he is, and how long he has.
static constexpr uint64_t kMostHello = 4096;
static constexpr std::chrono::seconds kHello(5);
/// Beside those who are to come, perhaps all at once; and how many of them are
/// new since somebody was last heard.
static constexpr size_t kMostStrangers = 64, kMostNew = 32;

static bool areEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= a[i] ^ b[i]; // in the same time for all
  return difference == 0;
}

/// Another process, as the root sees it.
struct ControlRoot::Member {
  Connection connection;
  int64_t rank = -1;
  Clock::time_point heard = Clock::now();
  Stage stage = Stage::Absent;
  std::string process;
  SignOfLife sign;
  std::string texts[4];
  std::optional<Message> answer;
  bool isLost = false, knowsFailure = false;
  /// What its connection is ready for; of a new one it is not known.
  short events = POLLIN;
};

static std::string makeToken() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw systemError("no random numbers for the token of the run");
  std::string token;
  for (unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

ControlRoot::ControlRoot(ControlOptions given)
    : options(std::move(given)), token(makeToken()) {
  prepareToFork();
  sockaddr_in at = parseAddress(options.address, options.port);
  listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listening < 0)
    throw systemError("no socket for the control channel");
  int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t length = sizeof at;
  if (bind(listening, reinterpret_cast<sockaddr *>(&at), sizeof at) != 0 ||
      listen(listening, SOMAXCONN) != 0 ||
      getsockname(listening, reinterpret_cast<sockaddr *>(&at), &length) != 0) {
    std::string why = std::strerror(errno);
    if (listening >= 0)
      close(listening);
    throw Error("cannot listen at " + options.address + " port " +
                std::to_string(options.port) +
                " (--bind-address, --port): " + why);
  }
  place =
      options.address + " " + std::to_string(ntohs(at.sin_port)) + " " + token;
  members.resize(options.ranks);
  thread = std::thread([this] { run(); });
}

ControlRoot::~ControlRoot() {
  {
    // Who is on the way learns why, too.
    constexpr std::chrono::seconds kMost(5);
    std::unique_lock<std::mutex> lock(mutex);
    if (!message.empty() && !isAnyMissing)
      changed.wait_for(lock, kMost, [&] {
        return std::count(members.begin(), members.end(), nullptr) <= 1;
      });
    isClosing = true;
    lastMoment = Clock::now() + kMost;
    listener = nullptr;
  }
  wake.signal();
  thread.join();
  close(listening);
}

void ControlRoot::setDescribe(std::function<std::string(int64_t)> describe) {
  std::lock_guard<std::mutex> lock(mutex);
  options.describe = std::move(describe);
}

std::string ControlRoot::nameOf(const Member &member) const {
  std::function<std::string(int64_t)> describe;
  {
    std::lock_guard<std::mutex> lock(mutex);
    describe = options.describe;
  }
  return describe ? describe(member.rank)
                  : "rank " + std::to_string(member.rank);
}

void ControlRoot::onStandings(
    std::function<std::string(const std::vector<std::string> &)> added) {
  std::lock_guard<std::mutex> lock(mutex);
  judge = std::move(added);
}

void ControlRoot::judgeStandings() {
  if (!std::exchange(hasNewStandings, false) || !failure().empty())
    return;
  std::function<std::string(const std::vector<std::string> &)> function;
  {
    std::lock_guard<std::mutex> lock(mutex);
    function = judge;
  }
  std::vector<std::string> standings;
  for (int64_t rank = 1; rank < options.ranks; ++rank) {
    if (!members[rank] || members[rank]->sign.standing.empty())
      return;
    standings.push_back(members[rank]->sign.standing);
  }
  if (std::string wrong = function ? function(standings) : ""; !wrong.empty())
    fail(wrong);
}

void ControlRoot::print(const Member &member, const std::string &text) {
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    lines.print(member.rank, nameOf(member), line);
}

void ControlRoot::fail(const std::string &text) {
  if (!setFailure(text))
    return;
  // The thread tells the others.
  wake.signal();
}

void ControlRoot::lose(Member &member, const std::string &how) {
  member.isLost = true;
  std::string doing = member.sign.doing.empty()
                          ? ""
                          : "; when it was last heard, " + member.sign.doing;
  fail(nameOf(member) + ": " + member.process + " " + how + doing);
}

/// A stranger's first message; whether it is let in.
bool ControlRoot::greet(Member &member, const Message &message) {
  if (message.kind != Hello)
    return false;
  Greeting greeting = Greeting::read(message.text);
  if (!areEqual(greeting.token, token))
    return false;
  int64_t rank = greeting.rank;
  member.process = "its process " + greeting.process + " on " + greeting.host;
  if (greeting.version != kVersion) {
    isAnyMissing = true;
    fail("rank " + std::to_string(rank) + " on " + greeting.host +
         " is of another version of dist: install the same on all hosts");
    return false;
  }
  std::unique_lock<std::mutex> lock(mutex);
  if (isEnding || rank < 1 || rank >= options.ranks)
    return false;
  if (members[rank]) {
    lock.unlock();
    isAnyMissing = true;
    fail(nameOf(*members[rank]) + " is there twice: " + members[rank]->process +
         " and " + member.process);
    member.connection.post(saying(Failed, failure()), wake);
    return false;
  }
  member.rank = rank;
  member.stage = Stage::Here;
  if (options.onMember)
    options.onMember(rank, member.connection.socket.handle(), member.process);
  return true;
}

/// Whether there was anything, and there may be more.
bool ControlRoot::hear(Member &member) {
  MessageSocket &socket = member.connection.socket;
  uint64_t before = socket.received();
  bool isOpen = socket.fill();
  if (socket.received() != before)
    member.heard = Clock::now();
  while (std::optional<Message> message = socket.next()) {
    switch (message->kind) {
    case Beat:
      member.sign = SignOfLife::read(message->text);
      hasNewStandings = true;
      break;
    case Output:
      print(member, MessageReader(message->text).text());
      break;
    case Failed:
      fail(MessageReader(message->text).text());
      break;
    case Told:
      if (options.onTold && failure().empty())
        options.onTold();
      break;
    case Reached: {
      Progress progress = Progress::read(message->text);
      std::lock_guard<std::mutex> lock(mutex);
      member.stage = progress.stage;
      member.texts[static_cast<uint32_t>(progress.stage)] =
          std::move(progress.text);
      changed.notify_all();
      break;
    }
    case Answer: {
      std::lock_guard<std::mutex> lock(mutex);
      member.answer = std::move(message);
      changed.notify_all();
      break;
    }
    default:
      throw Error("a message that is not known");
    }
  }
  if (isOpen)
    return socket.received() != before;
  std::unique_lock<std::mutex> lock(mutex);
  bool isWell = isEnding;
  lock.unlock();
  if (isWell)
    member.isLost = true;
  else
    lose(member, "has ended in the middle of the run");
  return false;
}

/// Takes some of those who call.
void ControlRoot::accept() {
  for (size_t i = 0; i < kMostNew; ++i) {
    int descriptor = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    isFull = descriptor < 0 && (errno == EMFILE || errno == ENFILE);
    if (descriptor < 0)
      return;
    prepareSocket(descriptor);
    strangers.push_back(std::make_unique<Member>());
    strangers.back()->connection.socket = MessageSocket(descriptor);
    strangers.back()->connection.socket.bound(kMostHello);
  }
}

/// Takes those who call, and lets in who knows the token.
void ControlRoot::admit() {
  accept();
  for (std::unique_ptr<Member> &stranger : strangers) {
    MessageSocket &socket = stranger->connection.socket;
    bool isOpen = socket.fill();
    try {
      if (std::optional<Message> message = socket.next()) {
        if (greet(*stranger, *message)) {
          socket.bound(MessageSocket::kMostMessage);
          // More may have come with it.
          stranger->events = POLLIN;
          std::lock_guard<std::mutex> lock(mutex);
          std::unique_ptr<Member> &member = members[stranger->rank];
          member = std::move(stranger);
          ++arrived;
          changed.notify_all();
        } else {
          stranger.reset();
        }
        continue;
      }
    } catch (const std::exception &) {
      isOpen = false;
    }
    if (!isOpen || Clock::now() - stranger->heard > kHello)
      stranger.reset();
  }
  std::erase(strangers, nullptr);
  // Who has said nothing for longest makes room.
  size_t missing = options.ranks - 1 - arrived;
  size_t most = kMostStrangers - kMostNew + missing;
  // A stranger that says nothing makes room after a while.
  if (isFull && strangers.empty() && missing > 0)
    fail("rank 0 has connections to " + std::to_string(arrived) +
         " other ranks, and can take no more: too many open files (ulimit -n)");
  if (strangers.size() > most)
    strangers.erase(strangers.begin(), strangers.end() - most);
}

void ControlRoot::run() {
  leaveSignalsToOthers();
  Clock::time_point beat = Clock::now(), last = beat, judged = beat;
  std::vector<pollfd> ready;
  std::vector<Member *> owners;
  for (;;) {
    // Without a place for them it would say for ever that some call.
    short calls = std::exchange(isFull, false) ? 0 : POLLIN;
    ready = {{listening, calls, 0}, {wake.handle(), POLLIN, 0}};
    owners = {nullptr, nullptr};
    for (const auto *list : {&members, &strangers})
      for (const std::unique_ptr<Member> &member : *list)
        if (member && !member->isLost) {
          ready.push_back(member->connection.flush());
          owners.push_back(member.get());
        }
    poll(ready.data(), ready.size(), tickOf(options.timeout));
    for (size_t i = 2; i < ready.size(); ++i)
      owners[i]->events = ready[i].revents;
    wake.drain();
    Clock::time_point now = Clock::now();
    // Once all is done, who is silent has ended.
    bool isDone;
    {
      std::lock_guard<std::mutex> lock(mutex);
      isDone = isEnding;
    }
    bool wasStopped = now - std::exchange(last, now) > options.timeout;
    admit();
    for (const std::unique_ptr<Member> &member : members) {
      if (!member || member->isLost)
        continue;
      auto isSilent = [&] {
        return Clock::now() - member->heard > options.timeout;
      };
      try {
        // What this process has not heard while it was stopped, too.
        if (member->events & ~POLLOUT || isSilent())
          while (hear(*member) && wasStopped)
            ;
      } catch (const std::exception &error) {
        lose(*member, std::string("has sent ") + error.what());
      }
      if (!member->isLost && isSilent() && !isDone)
        lose(*member, "has said nothing for " + formatSeconds(options.timeout) +
                          " (--timeout); it is stopped, or its host is cut "
                          "off");
    }
    if (wasStopped && !isDone)
      fail("rank 0: its process " + std::to_string(getpid()) + " on " +
           machineName() + " was stopped for longer than " +
           formatSeconds(options.timeout) +
           " (--timeout), after which the others end");
    // Not for each of many that say where they stand.
    try {
      if (now - judged >= kTick) {
        judged = now;
        judgeStandings();
      }
    } catch (const std::exception &error) {
      fail(std::string("a process has said where it stands, with ") +
           error.what());
    }
    bool isTimeToBeat = Clock::now() - beat >= beatOf(options.timeout);
    if (isTimeToBeat)
      beat = Clock::now();
    std::unique_lock<std::mutex> lock(mutex);
    bool isLast = isClosing, isLate = isLast && Clock::now() > lastMoment;
    std::string text = message;
    lock.unlock();
    for (const std::unique_ptr<Member> &member : members) {
      if (!member)
        continue;
      // Also to who is stopped, and will go on.
      if (!text.empty() && !std::exchange(member->knowsFailure, true))
        member->connection.post(saying(Failed, text), wake);
      else if (isTimeToBeat && !member->isLost)
        member->connection.post({Beat, ""}, wake);
      isLast &= isLate || member->isLost || !member->connection.hasUnsent();
    }
    if (isLast)
      return;
  }
}

void ControlRoot::await(Stage stage) {
  std::unique_lock<std::mutex> lock(mutex);
  auto end = Clock::now() + options.timeout;
  auto isMissing = [&](int64_t rank) {
    return !members[rank] || members[rank]->stage < stage;
  };
  auto areThere = [&] {
    for (int64_t rank = 1; rank < options.ranks; ++rank)
      if (isMissing(rank))
        return false;
    return true;
  };
  auto isOver = [&] { return !message.empty() || areThere(); };
  // A process that computes is alive; one that has yet to come is not.
  if (stage != Stage::Here) {
    changed.wait(lock, isOver);
  } else if (!changed.wait_until(lock, end, isOver)) {
    isAnyMissing = true;
    std::string missing;
    int64_t count = 0;
    for (int64_t rank = 1; rank < options.ranks; ++rank)
      if (isMissing(rank) && ++count <= 8)
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    lock.unlock();
    fail("after " + formatSeconds(options.timeout) +
         " (--timeout) the processes of ranks " + missing +
         (count > 8 ? ", …" : "") + " are not there: " + std::to_string(count) +
         " of " + std::to_string(options.ranks) +
         ". Others must be able to connect to " + options.address +
         " (--bind-address)");
    lock.lock();
  }
  if (!message.empty())
    throw Error(message);
}

std::string ControlRoot::textOf(int64_t rank, Stage stage) const {
  std::lock_guard<std::mutex> lock(mutex);
  return members[rank]->texts[static_cast<uint32_t>(stage)];
}

Message ControlRoot::ask(int64_t rank, const Message &question) {
  Member &member = *members[rank];
  member.connection.post({Question, writeQuestion(question)}, wake);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !message.empty() || member.answer; });
  if (!message.empty())
    throw Error(message);
  Message answer = *std::exchange(member.answer, std::nullopt);
  return answer;
}

void ControlRoot::end() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  for (int64_t rank = 1; rank < options.ranks; ++rank)
    members[rank]->connection.post({End, ""}, wake);
}
