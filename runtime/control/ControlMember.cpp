//===- ControlMember.cpp - Other processes on the control channel ---------===//

#include "dist/Signals.h"
#include "runtime/control/Control.h"
#include "runtime/control/Protocol.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace dist;
using namespace dist::control;

static int connectTo(const std::string &address, int port,
                     std::chrono::milliseconds timeout) {
  sockaddr_in place = parseAddress(address, port);
  Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
      throw systemError("no socket for the control channel");
    prepareSocket(descriptor);
    // Of one attempt to connect.
    timeval most{5, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (connect(descriptor, reinterpret_cast<sockaddr *>(&place),
                sizeof place) == 0)
      return descriptor;
    std::string why = std::strerror(errno);
    close(descriptor);
    if (Clock::now() > end)
      throw Error("cannot connect to rank 0 at " + address + " port " +
                  std::to_string(port) + " (--bind-address): " + why);
    std::this_thread::sleep_for(kTick);
  }
}

ControlMember::ControlMember(int64_t rank, const std::string &where,
                             std::chrono::milliseconds timeout)
    : timeout(timeout), isNext(rank == 1) {
  std::istringstream words(where);
  std::string address, token;
  int port = 0;
  words >> address >> port >> token;
  connection.socket = MessageSocket(connectTo(address, port, timeout));
  Greeting greeting{token, rank, std::to_string(getpid()), machineName()};
  send({Hello, greeting.write()});
  thread = std::thread([this] { run(); });
}

ControlMember::~ControlMember() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isClosing = true;
    listener = nullptr;
  }
  wake.signal();
  thread.join();
}

void ControlMember::fail(const std::string &text) {
  if (setFailure(text))
    send(saying(Failed, text));
}

void ControlMember::onQuestion(
    std::function<Message(const Message &)> function) {
  std::lock_guard<std::mutex> later(answering);
  std::optional<Message> early;
  {
    std::lock_guard<std::mutex> lock(mutex);
    answer = function;
    if (function)
      early = std::exchange(unanswered, std::nullopt);
  }
  if (early)
    reply(function, *early);
}

void ControlMember::reply(
    const std::function<Message(const Message &)> &function,
    const Message &question) {
  try {
    send({Answer, function(question).text});
  } catch (const std::exception &error) {
    fail(std::string("rank 0 has sent ") + error.what());
  }
}

void ControlMember::onBeat(std::function<SignOfLife()> function) {
  std::lock_guard<std::mutex> lock(mutex);
  describe = std::move(function);
}

void ControlMember::say(const std::string &lines) {
  send(saying(Output, lines));
  auto isOver = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    return isClosing || hasEnded || isGone;
  };
  for (pollfd ready = connection.flush(); ready.events & POLLOUT && !isOver();
       ready = connection.flush()) {
    ready.events = POLLOUT;
    poll(&ready, 1, tickOf(timeout));
  }
}

void ControlMember::reach(Stage stage, const std::string &text) {
  send({Reached, Progress{stage, text}.write()});
}

void ControlMember::answerUntil(
    const std::function<bool()> &isDone,
    std::function<Message(const Message &)> function) {
  struct Answering {
    ~Answering() { member.onQuestion({}); }
    ControlMember &member;
  } answering{*this};
  onQuestion(std::move(function));
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !message.empty() || isDone(); });
  if (!message.empty())
    throw Error(message);
}

bool ControlMember::awaitEnd() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return hasEnded || isGone; });
  return hasEnded;
}

void ControlMember::loseRoot(const std::string &how) {
  isLeft = failure().empty();
  // For a root that is stopped, and its child: of these ranks that one tells.
  if (isLeft && isNext)
    send({Told, ""});
  setFailure("the process of rank 0 " + how);
  std::lock_guard<std::mutex> lock(mutex);
  isGone = true;
  changed.notify_all();
}

void ControlMember::hear() {
  bool isOpen = connection.socket.fill();
  while (std::optional<Message> message = connection.socket.next()) {
    switch (message->kind) {
    case Beat:
      break;
    case Failed:
      setFailure(MessageReader(message->text).text());
      break;
    case Question: {
      Message question = readQuestion(message->text);
      std::lock_guard<std::mutex> later(answering);
      std::function<Message(const Message &)> function;
      {
        std::lock_guard<std::mutex> lock(mutex);
        function = answer;
        // The root asks one thing at a time.
        if (!function)
          unanswered = question;
      }
      if (!function)
        break;
      reply(function, question);
      std::lock_guard<std::mutex> lock(mutex);
      changed.notify_all();
      break;
    }
    case End: {
      std::lock_guard<std::mutex> lock(mutex);
      hasEnded = true;
      changed.notify_all();
      break;
    }
    default:
      throw Error("a message that is not known");
    }
  }
  if (!isOpen)
    loseRoot("has ended in the middle of the run");
}

void ControlMember::run() {
  leaveSignalsToOthers();
  Clock::time_point beat = Clock::now() - beatOf(timeout), heard = Clock::now();
  for (;;) {
    pollfd ready[] = {connection.flush(), {wake.handle(), POLLIN, 0}};
    poll(ready, 2, tickOf(timeout));
    wake.drain();
    std::function<SignOfLife()> function;
    bool isOver;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (isClosing)
        return;
      isOver = hasEnded || isGone;
      function = describe;
    }
    if (isOver) {
      // Nothing is said any more.
      poll(ready + 1, 1, -1);
      continue;
    }
    if (ready[0].revents & ~POLLOUT) {
      heard = Clock::now();
      try {
        hear();
      } catch (const std::exception &error) {
        fail(std::string("rank 0 has sent ") + error.what());
      }
    }
    if (Clock::now() - heard > timeout) {
      loseRoot("has said nothing for " + formatSeconds(timeout) +
               " (--timeout); it is stopped, or its host is cut off");
    }
    if (Clock::now() - beat >= beatOf(timeout)) {
      beat = Clock::now();
      SignOfLife sign = function ? function() : SignOfLife();
      send({Beat, sign.write()});
    }
  }
}
