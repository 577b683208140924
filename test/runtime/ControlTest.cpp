//===- ControlTest.cpp - What processes of a run say besides data ---------===//
//
// The root and the others are objects of one process here. A process that dies
// is a socket that is closed; strangers send what they like.
//
//===----------------------------------------------------------------------===//

#include "runtime/control/Control.h"
#include "Ranks.h"
#include "dist/Signals.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <random>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace dist;
using namespace dist::test;
using std::chrono::milliseconds;

namespace {

ControlOptions withRanks(int64_t ranks,
                         milliseconds timeout = milliseconds(20000)) {
  ControlOptions options;
  options.ranks = ranks;
  options.timeout = timeout;
  options.describe = [](int64_t rank) {
    return "rank " + std::to_string(rank) + " (a=" + std::to_string(rank) + ")";
  };
  return options;
}

/// Waits until the run has failed.
std::string waitForFailure(const Control &control) {
  for (int i = 0; i < 6000 && control.failure().empty(); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  return control.failure();
}

/// The message with which `await` ends.
std::string awaitError(ControlRoot &root, Stage stage) {
  try {
    root.await(stage);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// A connection that says what it likes.
class Stranger {
public:
  explicit Stranger(const std::string &where,
                    int descriptor = ::socket(AF_INET, SOCK_STREAM, 0))
      : descriptor(descriptor) {
    std::istringstream words(where);
    std::string address;
    int port;
    words >> address >> port >> token;
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    inet_pton(AF_INET, address.c_str(), &place.sin_addr);
    EXPECT_EQ(
        connect(descriptor, reinterpret_cast<sockaddr *>(&place), sizeof place),
        0);
    socket = MessageSocket(descriptor);
  }

  void say(const std::string &bytes) {
    (void)!send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  static std::string frame(uint32_t kind, const std::string &text) {
    MessageWriter writer;
    writer.number(kind);
    writer.number<uint32_t>(0);
    writer.text(text);
    return writer.take();
  }
  /// As a process of the run does, of a version.
  static std::string hello(const std::string &token, int64_t rank,
                           uint32_t version = control::kVersion) {
    control::Greeting greeting{token, rank, "4711", "elsewhere", version};
    return frame(control::Hello, greeting.write());
  }
  /// Whether the root has hung up.
  bool isRefused() {
    timeval most{60, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    char byte;
    ssize_t count = recv(descriptor, &byte, 1, 0);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }

  /// Until so much has come that is not read yet.
  void waitForBytes(int count) {
    for (int there = 0; there < count; usleep(1000))
      ASSERT_EQ(ioctl(descriptor, FIONREAD, &there), 0);
  }
  /// The next message of this kind.
  Message hear(uint32_t kind) {
    while (std::optional<Message> message = socket.receive())
      if (message->kind == kind)
        return *message;
    return {};
  }

  std::string token;

private:
  int descriptor;
  MessageSocket socket;
};

/// What a member takes for the root, and says what it likes.
class FakeRoot {
public:
  FakeRoot() : listening(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto *address = reinterpret_cast<sockaddr *>(&place);
    socklen_t length = sizeof place;
    EXPECT_EQ(bind(listening, address, length), 0);
    EXPECT_EQ(listen(listening, 1), 0);
    EXPECT_EQ(getsockname(listening, address, &length), 0);
    where = "127.0.0.1 " + std::to_string(ntohs(place.sin_port)) + " token";
  }
  ~FakeRoot() { close(listening); }

  /// The member that has connected.
  MessageSocket accept() {
    return MessageSocket(::accept(listening, nullptr, nullptr));
  }

  std::string where;

private:
  int listening;
};

/// More than the kernel takes of what nobody reads.
const std::string kMuch(32 << 20, 'x');

} // namespace

TEST(Control, StagesQuestionsAndAnEnd) {
  ControlRoot root(withRanks(3));
  std::vector<std::thread> threads;
  std::atomic<int> ended{0};
  for (int64_t rank : {1, 2})
    threads.emplace_back([&, rank] {
      ControlMember member(rank, root.where(), milliseconds(20000));
      member.onQuestion([rank](const Message &question) {
        return Message{0, question.text + std::to_string(rank) +
                              std::string(rank << 20, 'x')};
      });
      member.reach(Stage::Ready, "program");
      member.reach(Stage::Done, "done " + std::to_string(rank));
      if (member.awaitEnd())
        ++ended;
    });
  root.await(Stage::Here);
  root.await(Stage::Ready);
  EXPECT_EQ(root.textOf(2, Stage::Ready), "program");
  root.await(Stage::Done);
  EXPECT_EQ(root.textOf(1, Stage::Done), "done 1");
  for (int64_t rank : {2, 1, 2}) {
    std::string answer = root.ask(rank, {0, "part "}).text;
    EXPECT_EQ(answer.substr(0, 6), "part " + std::to_string(rank));
    EXPECT_EQ(answer.size(), 6u + (rank << 20));
  }
  root.end();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(root.failure(), "");
}

TEST(Control, FailureReachesAllAndTheFirstStays) {
  ControlRoot root(withRanks(3));
  ControlMember one(1, root.where(), milliseconds(20000)),
      two(2, root.where(), milliseconds(20000));
  root.await(Stage::Here);
  std::string heard;
  std::atomic<bool> hasHeard{false};
  two.onFailure([&](const std::string &message) {
    heard = message;
    hasHeard = true;
  });
  one.fail("an index is out of range");
  EXPECT_EQ(waitForFailure(root), "an index is out of range");
  EXPECT_EQ(waitForFailure(two), "an index is out of range");
  root.fail("something else");
  EXPECT_EQ(root.failure(), "an index is out of range");
  EXPECT_TRUE(hasHeard);
  EXPECT_EQ(heard, "an index is out of range");
  EXPECT_EQ(awaitError(root, Stage::Done), "an index is out of range");
  EXPECT_FALSE(one.mustTell());
}

/// Also one that comes only then.
TEST(Control, FailureReachesWhoIsLate) {
  auto root = std::make_unique<ControlRoot>(withRanks(2));
  std::string where = root->where();
  root->fail("options are wrong");
  std::thread end([&] { root.reset(); });
  ControlMember one(1, where, milliseconds(20000));
  EXPECT_EQ(waitForFailure(one), "options are wrong");
  EXPECT_FALSE(one.awaitEnd());
  EXPECT_FALSE(one.mustTell());
  end.join();
}

TEST(Control, NoticesDeathWithWhatWasLastHeard) {
  ControlRoot root(withRanks(2));
  std::atomic<bool> hasHeard{false};
  root.onStandings([&](const std::vector<std::string> &) {
    hasHeard = true;
    return "";
  });
  {
    ControlMember one(1, root.where(), milliseconds(20000));
    one.onBeat([] { return SignOfLife{"rank 1 waits in all_reduce", "so"}; });
    for (int i = 0; i < 2000 && !hasHeard; ++i)
      std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(mentions(waitForFailure(root),
                       {"rank 1 (a=1): its process ",
                        "has ended in the middle of the run; when it was last "
                        "heard, rank 1 waits in all_reduce"}));
}

TEST(Control, ComparesStandings) {
  ControlRoot root(withRanks(3));
  ControlMember one(1, root.where(), milliseconds(20000)),
      two(2, root.where(), milliseconds(20000));
  root.onStandings([](const std::vector<std::string> &others) {
    return others[0] == "1 waits" && others[1] == "2 waits" ? "all wait" : "";
  });
  one.onBeat([] { return SignOfLife{"", "1 waits"}; });
  two.onBeat([] { return SignOfLife{"", "2 waits"}; });
  EXPECT_EQ(waitForFailure(root), "all wait");
  EXPECT_EQ(waitForFailure(two), "all wait");
}

TEST(Control, BringsLinesHomeOnce) {
  ControlOptions options = withRanks(3);
  std::string printed;
  std::atomic<int> numLines{0};
  options.print = [&](const std::string &line) {
    printed += line;
    ++numLines;
  };
  ControlRoot root(options);
  {
    ControlMember one(1, root.where(), milliseconds(20000));
    one.say("hello\nagain\n");
    one.say("again\n");
    one.reach(Stage::Ready, "");
    ControlMember two(2, root.where(), milliseconds(20000));
    root.await(Stage::Here);
    // By the thread of the root.
    for (int i = 0; i < 2000 && numLines < 3; ++i)
      std::this_thread::sleep_for(milliseconds(10));
    two.say("hello\nnot again\n");
    two.reach(Stage::Ready, "");
    root.await(Stage::Ready);
    root.end();
  }
  EXPECT_EQ(printed, "rank 1 (a=1): hello\nrank 1 (a=1): again\n"
                     "rank 1 (a=1): again\nrank 2 (a=2): not again\n");
}

TEST(Control, NoticesTheDeathOfTheRoot) {
  auto root = std::make_unique<ControlRoot>(withRanks(3));
  ControlMember one(1, root->where(), milliseconds(20000)),
      two(2, root->where(), milliseconds(20000));
  root->await(Stage::Here);
  root.reset();
  EXPECT_FALSE(one.awaitEnd());
  EXPECT_TRUE(one.mustTell());
  EXPECT_FALSE(two.awaitEnd());
  EXPECT_FALSE(two.mustTell());
  EXPECT_TRUE(mentions(one.failure(), {"rank 0 has ended in the middle"}));
}

TEST(Control, NoticesSilence) {
  ControlRoot root(withRanks(2, milliseconds(700)));
  Stranger stranger(root.where());
  stranger.say(Stranger::hello(stranger.token, 1));
  root.await(Stage::Here);
  EXPECT_TRUE(mentions(waitForFailure(root),
                       {"rank 1 (a=1): its process 4711 on elsewhere has said "
                        "nothing for 0.7 s (--timeout)"}));
}

/// It does not read what it is asked, either; others are heard meanwhile.
TEST(Control, NoticesSilenceOfWhoIsAsked) {
  ControlRoot root(withRanks(3, milliseconds(700)));
  Stranger stranger(root.where());
  stranger.say(Stranger::hello(stranger.token, 1));
  ControlMember two(2, root.where(), milliseconds(20000));
  root.await(Stage::Here);
  std::thread asking([&] { EXPECT_THROW(root.ask(1, {0, kMuch}), Error); });
  two.reach(Stage::Ready, "");
  EXPECT_TRUE(mentions(waitForFailure(root),
                       {"rank 1 (a=1): its process 4711 on elsewhere has said "
                        "nothing for 0.7 s (--timeout)"}));
  EXPECT_EQ(waitForFailure(two), root.failure());
  asking.join();
}

TEST(Control, NoticesSilenceOfTheRootThatHasAsked) {
  FakeRoot root;
  ControlMember one(1, root.where, milliseconds(700));
  one.onQuestion([](const Message &) { return Message{0, kMuch}; });
  MessageSocket member = root.accept();
  EXPECT_TRUE(member.send({control::Question, std::string(12, '\0')}));
  EXPECT_FALSE(one.awaitEnd());
  EXPECT_TRUE(one.mustTell());
  EXPECT_TRUE(mentions(one.failure(), {"the process of rank 0 has said "
                                       "nothing for 0.7 s (--timeout)"}));
}

/// What answers may go when the run has failed, also if more is asked.
TEST(Control, AnswersNothingAfterwards) {
  FakeRoot root;
  ControlMember one(1, root.where, milliseconds(20000));
  MessageSocket member = root.accept();
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(member.send({control::Question, std::string(12, '\0')}));
  std::atomic<int> begun{0}, ended{0};
  EXPECT_THROW(one.answerUntil([] { return false; },
                               [&](const Message &) -> Message {
                                 if (++begun > 1)
                                   usleep(100000);
                                 ++ended;
                                 throw Error("none");
                               }),
               Error);
  int sofar = begun;
  EXPECT_EQ(ended, sofar);
  usleep(200000);
  EXPECT_EQ(begun, sofar);
}

TEST(Control, HearsManyRanks) {
  constexpr int kRanks = 1000;
  ControlRoot root(withRanks(kRanks + 1));
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 3 * kRanks)
    GTEST_SKIP() << "skipped: takes " << 3 * kRanks << " open files (ulimit)";
  std::vector<std::unique_ptr<Stranger>> all;
  for (int rank = 1; rank <= kRanks; ++rank) {
    all.push_back(std::make_unique<Stranger>(root.where()));
    std::string ready = control::Progress{Stage::Ready, "program"}.write();
    // At once, so that it comes with the greeting.
    all.back()->say(Stranger::hello(all.back()->token, rank) +
                    Stranger::frame(control::Reached, ready));
  }
  root.await(Stage::Ready);
  EXPECT_EQ(root.textOf(kRanks, Stage::Ready), "program");
}

/// Who is let in is no stranger any more. Others go before their five seconds
/// are over.
TEST(Control, BoundsStrangers) {
  auto begin = std::chrono::steady_clock::now();
  constexpr int kRanks = 4;
  ControlRoot root(withRanks(kRanks));
  std::vector<std::unique_ptr<Stranger>> idle;
  auto connect = [&] { return std::make_unique<Stranger>(root.where()); };
  for (int i = 0; i < 200; ++i)
    idle.push_back(connect());
  EXPECT_TRUE(idle.front()->isRefused());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(4900));
  // Those who speak at once are heard, however many call.
  std::vector<std::unique_ptr<Stranger>> ranks;
  for (int rank = 1; rank < kRanks; ++rank) {
    ranks.push_back(connect());
    ranks.back()->say(Stranger::hello(ranks.back()->token, rank));
    for (int i = 0; i < 100; ++i)
      idle.push_back(connect());
  }
  root.await(Stage::Here);
}

/// With no room for another connection, the run ends, and says why.
TEST(Control, NamesTooFewFiles) {
  ControlRoot root(withRanks(100));
  rlimit before, few;
  getrlimit(RLIMIT_NOFILE, &before);
  few = before;
  // The others' ends are here as well; of the root's there is room for two.
  int ends[10];
  for (int &end : ends)
    end = socket(AF_INET, SOCK_STREAM, 0);
  int next = dup(STDIN_FILENO);
  close(next);
  few.rlim_cur = next + 2;
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<std::unique_ptr<Stranger>> all;
  for (int end : ends) {
    all.push_back(std::make_unique<Stranger>(root.where(), end));
    all.back()->say(Stranger::hello(all.back()->token, all.size()));
  }
  std::string said = waitForFailure(root);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(said, "rank 0 has connections to 2 other ranks, and can take no "
                  "more: too many open files (ulimit -n)");
}

/// It is said behind what is on the way, and before the root is gone.
TEST(Control, FailureReachesWhoIsAsked) {
  auto root = std::make_unique<ControlRoot>(withRanks(2));
  Stranger stranger(root->where());
  stranger.say(Stranger::hello(stranger.token, 1));
  root->await(Stage::Here);
  std::thread asking([&] { EXPECT_THROW(root->ask(1, {0, kMuch}), Error); });
  stranger.waitForBytes(1 << 15);
  root->fail("first");
  asking.join();
  std::thread end([&] { root.reset(); });
  EXPECT_EQ(stranger.hear(control::Question).text.size(), kMuch.size() + 12);
  EXPECT_EQ(MessageReader(stranger.hear(control::Failed).text).text(), "first");
  end.join();
}

TEST(Control, NamesWhoIsThereTwice) {
  ControlRoot root(withRanks(3));
  Stranger first(root.where()), second(root.where());
  first.say(Stranger::hello(first.token, 1));
  ControlMember two(2, root.where(), milliseconds(20000));
  root.await(Stage::Here);
  // Who does not know the token changes nothing.
  Stranger wrong(root.where());
  wrong.say(Stranger::hello(std::string(wrong.token.size(), '0'), 1));
  EXPECT_TRUE(wrong.isRefused());
  EXPECT_EQ(root.failure(), "");
  ControlMember again(1, root.where(), milliseconds(20000));
  std::string process = std::to_string(getpid()) + " on " + machineName();
  EXPECT_TRUE(mentions(waitForFailure(root),
                       {"rank 1 (a=1) is there twice: its process 4711 on "
                        "elsewhere and its process " +
                        process}));
  EXPECT_EQ(waitForFailure(two), root.failure());
  EXPECT_EQ(waitForFailure(again), root.failure());
}

TEST(Control, NamesWhoIsMissing) {
  ControlRoot root(withRanks(4, milliseconds(700)));
  ControlMember two(2, root.where(), milliseconds(20000));
  EXPECT_TRUE(mentions(
      awaitError(root, Stage::Here),
      {"after 0.7 s", "ranks 1, 3 are not there: 2 of 4", "--bind-address"}));
}

TEST(Control, LetsNobodyElseIn) {
  ControlRoot root(withRanks(3));
  ControlMember one(1, root.where(), milliseconds(20000));
  Stranger wrong(root.where()), none(root.where()), root0(root.where()),
      tooLong(root.where()), other(root.where());
  wrong.say(Stranger::hello(std::string(wrong.token.size(), '0'), 2));
  none.say(Stranger::hello(none.token, 3));
  root0.say(Stranger::hello(root0.token, 0));
  tooLong.say(Stranger::frame(1, std::string(5000, 'x')));
  other.say(Stranger::frame(2, "I live"));
  for (Stranger *stranger : {&wrong, &none, &root0, &tooLong, &other})
    EXPECT_TRUE(stranger->isRefused());
  EXPECT_EQ(root.failure(), "");
  ControlMember two(2, root.where(), milliseconds(20000));
  root.await(Stage::Here);
  // And another version of dist is told apart.
  ControlRoot next(withRanks(2));
  Stranger old(next.where());
  old.say(Stranger::hello(old.token, 1, 7));
  EXPECT_TRUE(mentions(waitForFailure(next),
                       {"rank 1 on elsewhere", "another version of dist"}));
}

TEST(Control, RefusesAnAddressThatIsNone) {
  ControlOptions options = withRanks(2);
  for (const char *address : {"here", "203.0.113.7"}) {
    options.address = address;
    EXPECT_THROW(ControlRoot root(options), Error) << address;
  }
}

/// Of strangers, of one who knows the token, and of the root. A connection ends
/// at the first bytes that are no message, so each has few; the fuzz target
/// `messages` has the readers' share.
TEST(Control, AnyBytes) {
  constexpr int kTurns = 400, kMessages = 8;
  std::mt19937_64 random(5);
  auto makeBytes = [&](int i) {
    std::string bytes(random() % 40, '\0');
    for (char &byte : bytes)
      byte = random() % 3 ? random() : 0;
    return i + 1 < kMessages ? Stranger::frame(random() % 10, bytes) : bytes;
  };
  ControlRoot root(withRanks(2));
  for (int turn = 0; turn < kTurns; ++turn) {
    Stranger stranger(root.where());
    for (int i = 0; i < kMessages; ++i)
      stranger.say(makeBytes(i));
  }
  EXPECT_EQ(root.failure(), "");
  for (int turn = 0; turn < kTurns; ++turn) {
    ControlRoot other(withRanks(2));
    {
      Stranger known(other.where());
      known.say(Stranger::hello(known.token, 1));
      other.await(Stage::Here);
      for (int i = 0; i < kMessages; ++i)
        known.say(makeBytes(i));
    }
    EXPECT_NE(waitForFailure(other), "");
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    FakeRoot fake;
    ControlMember member(1, fake.where, milliseconds(20000));
    member.onQuestion([](const Message &question) { return question; });
    {
      MessageSocket socket = fake.accept();
      for (int i = 0; i < kMessages; ++i) {
        std::string bytes = makeBytes(i);
        (void)!send(socket.handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
    }
    member.awaitEnd();
  }
  ControlMember one(1, root.where(), milliseconds(20000));
  root.await(Stage::Here);
}

TEST(Messages, ComeWhole) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  MessageSocket here(sockets[0]), there(sockets[1]);
  MessageWriter writer;
  writer.number<uint64_t>(3);
  writer.text("three");
  EXPECT_TRUE(here.send({7, writer.take()}));
  EXPECT_TRUE(here.send({8, ""}));
  std::optional<Message> first = there.receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, 7u);
  MessageReader reader(first->text);
  EXPECT_EQ(reader.number<uint64_t>(), 3u);
  EXPECT_EQ(reader.text(), "three");
  EXPECT_EQ(there.receive()->kind, 8u);
  here.close();
  EXPECT_FALSE(there.receive());
}

/// Whatever bytes come, a reader ends, and takes no more than there are.
TEST(Messages, AreNotTrusted) {
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 100000; ++turn) {
    std::string bytes(random() % 64, '\0');
    for (char &byte : bytes)
      byte = random() % 4 ? random() : 0;
    MessageReader reader(bytes);
    try {
      for (int i = 0; i < 20; ++i)
        switch (random() % 3) {
        case 0:
          reader.number<uint64_t>();
          break;
        case 1:
          EXPECT_LE(reader.text().size(), bytes.size());
          break;
        default:
          EXPECT_LE(reader.count(8), bytes.size() / 8);
        }
    } catch (const Error &) {
    }
  }
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  MessageSocket there(sockets[1]);
  std::string bytes(16, '\xff');
  ASSERT_EQ(write(sockets[0], bytes.data(), bytes.size()), 16);
  EXPECT_FALSE(there.receive());
  close(sockets[0]);
}
