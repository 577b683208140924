//===- Control.h - What processes of a run say besides data -----*- C++ -*-===//
//
// One process is the root, that of rank 0. It listens; all others connect to
// it. They say who they are, how far they are, what they find wrong, what they
// would have printed and, each second, that they live and where they stand. The
// root asks them for parts of results, and ends them. A process that dies is
// noticed at once, one that is stopped after the timeout.
//
// Messages are not trusted: each has a length, which is bounded, and a process
// that does not know the run's token is not let in.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CONTROL_CONTROL_H
#define DIST_RUNTIME_CONTROL_CONTROL_H

#include "runtime/control/Messages.h"
#include "runtime/control/Protocol.h"
#include "runtime/control/RankLines.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace dist {

struct ControlOptions {
  int64_t ranks = 1;
  /// Where the root listens; port 0: any that is free.
  std::string address = "127.0.0.1";
  int port = 0;
  /// How long a process may be silent, and take until it is there.
  std::chrono::milliseconds timeout{60000};
  /// "rank 1 (tp=1)".
  std::function<std::string(int64_t)> describe;
  /// Prints a line of another process; on standard error if it is empty.
  std::function<void(const std::string &)> print;
  /// Hears of each process that has come: its rank, its connection, and how
  /// messages name it.
  std::function<void(int64_t, int, const std::string &)> onMember;
  /// Another process has told that this one is stopped. It is not called where
  /// the run has failed before.
  std::function<void()> onTold;
};

/// Both ends of the control channel.
class Control {
public:
  virtual ~Control() = default;

  /// The run has failed; only the first message counts. All processes learn it.
  virtual void fail(const std::string &message) = 0;
  /// Why it has failed, or "".
  std::string failure() const;
  /// Calls `listener` when the run fails, or has failed; on any thread. None
  /// from then on if it is empty.
  void onFailure(std::function<void(const std::string &)> listener);

protected:
  /// False if there was one before.
  bool setFailure(const std::string &message);

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::string message;
  std::function<void(const std::string &)> listener;
};

/// In the process of rank 0.
class ControlRoot final : public Control {
public:
  /// Listens. Throws Error if it can't.
  explicit ControlRoot(ControlOptions options);
  ~ControlRoot() override;

  /// What others connect by: address, port and token.
  const std::string &where() const { return place; }

  void setDescribe(std::function<std::string(int64_t)> describe);
  /// Calls `judge` with the last standings of all others, when they have come;
  /// the run fails with what it returns, unless that is empty.
  void onStandings(
      std::function<std::string(const std::vector<std::string> &)> judge);
  void fail(const std::string &message) override;
  /// Waits until all others are at `stage`. Throws Error with why the run has
  /// failed; that is so if one is not there after the timeout.
  void await(Stage stage);
  /// What a process has said of this stage.
  std::string textOf(int64_t rank, Stage stage) const;
  /// Asks a process, and waits. Throws Error if the run fails meanwhile.
  Message ask(int64_t rank, const Message &question);
  /// Lets all others end well.
  void end();

private:
  struct Member;
  void run();
  void admit();
  void accept();
  bool hear(Member &member);
  bool greet(Member &member, const Message &message);
  void lose(Member &member, const std::string &how);
  void judgeStandings();
  void print(const Member &member, const std::string &text);
  std::string nameOf(const Member &member) const;

  ControlOptions options;
  std::string place, token;
  int listening = -1;
  control::Wake wake;
  bool isClosing = false, isEnding = false;
  /// What is not sent by then is not sent.
  control::Clock::time_point lastMoment;
  /// Somebody will not come.
  std::atomic<bool> isAnyMissing{false};
  /// How many have come.
  int64_t arrived = 0;
  /// Whether the system gives this process no more connections.
  bool isFull = false;
  /// By rank, without rank 0; and those that have not said who they are.
  std::vector<std::unique_ptr<Member>> members, strangers;
  std::function<std::string(const std::vector<std::string> &)> judge;
  bool hasNewStandings = false;
  RankLines lines{options.print};
  std::thread thread;
};

/// In each other process.
class ControlMember final : public Control {
public:
  /// Connects to the root at `where`. Throws Error.
  ControlMember(int64_t rank, const std::string &where,
                std::chrono::milliseconds timeout);
  ~ControlMember() override;

  void fail(const std::string &message) override;
  /// Has `answer` called with the root's questions, on a thread of this object;
  /// at once with one that has come before. When it returns, the function that
  /// answered until now does not run, and is not called again.
  void onQuestion(std::function<Message(const Message &)> answer);
  /// What this process is doing; asked each second.
  void onBeat(std::function<SignOfLife()> describe);
  /// Lines that the root prints. Returns when they are sent.
  void say(const std::string &lines);
  void reach(Stage stage, const std::string &text);
  /// Answers questions until that has made `isDone` true. When it returns, no
  /// question is being answered. Throws Error with why the run has failed.
  void answerUntil(const std::function<bool()> &isDone,
                   std::function<Message(const Message &)> answer);
  /// Returns when the root says that all is well, or is gone; whether it is
  /// well.
  bool awaitEnd();
  /// Whether the root is gone without a word, and it is for this process to
  /// say so: for rank 1's.
  bool mustTell() const { return isLeft && isNext; }

private:
  void reply(const std::function<Message(const Message &)> &function,
             const Message &question);
  void run();
  void hear();
  void loseRoot(const std::string &how);
  void send(const Message &message) { connection.post(message, wake); }

  control::Connection connection;
  const std::chrono::milliseconds timeout;
  const bool isNext;
  control::Wake wake;
  bool isClosing = false, hasEnded = false, isGone = false;
  std::atomic<bool> isLeft{false};
  /// Held while a question is answered.
  std::mutex answering;
  std::function<Message(const Message &)> answer;
  /// What came when there was nobody to answer.
  std::optional<Message> unanswered;
  std::function<SignOfLife()> describe;
  std::thread thread;
};

} // namespace dist

#endif // DIST_RUNTIME_CONTROL_CONTROL_H
