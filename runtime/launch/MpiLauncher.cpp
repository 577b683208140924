//===- MpiLauncher.cpp - Ranks as processes that MPI starts ---------------===//
//
// Collectives are MPI's messages. All else goes through the control channel:
// who is there, failures, and results on their way to the root.
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/MpiLauncher.h"
#include "dist/Signals.h"
#include "runtime/control/HomeOutput.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/host/MappedFile.h"
#include "runtime/launch/RollCall.h"
#include "runtime/launch/RunMessages.h"
#include "runtime/launch/Sending.h"
#include "runtime/launch/Teller.h"
#include "runtime/launch/Witness.h"
#include "runtime/messages/MessagesRun.h"
#include "runtime/mpi/MpiLink.h"
#include "runtime/mpi/Starter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace dist;

//===----------------------------------------------------------------------===//
// The processes
//===----------------------------------------------------------------------===//

namespace {

/// This process among those that MPI has started.
struct Session {
  /// It has a child in rank 0 alone.
  std::unique_ptr<Witness> witness;
  std::unique_ptr<MpiLibrary> library;
  int64_t rank = 0;
  std::unique_ptr<Teller> teller;
  /// One of the two.
  std::unique_ptr<ControlRoot> root;
  std::unique_ptr<ControlMember> member;
  /// What the member prints.
  std::unique_ptr<HomeOutput> output;
  /// Whether the root has compiled for all, and all have it.
  bool isProgramSent = false;

  Control &control() const {
    return root ? static_cast<Control &>(*root) : *member;
  }
};

} // namespace

/// From `begin` on, until the process ends.
static Session *session = nullptr;

using Clock = std::chrono::steady_clock;

/// When this process was told to end, on `Clock`; 0 before. A user does so, or
/// who started the processes and has seen one fail.
static std::atomic<Clock::rep> endsSince{0};

/// Whether this process has nothing to say that a signal would cut off.
static bool isReadyToEnd(int signal) {
  // What ends it by a crash the witness tells.
  bool isCrash = signal == SIGSEGV || signal == SIGILL || signal == SIGFPE ||
                 signal == SIGABRT;
  if (!isCrash)
    session->witness->leave();
  if (signal == SIGTERM || signal == SIGINT) {
    Clock::rep before = 0;
    endsSince.compare_exchange_strong(before,
                                      Clock::now().time_since_epoch().count());
    return session->teller->hasTold();
  }
  return session->root || session->output->areLastWordsSent();
}

/// Where the root listens, as text of a fixed size; an error of its own begins
/// with "!".
static std::string shareWhere(Session &session, const RunOptions &options) {
  char where[512] = "";
  if (session.rank == 0) {
    std::string text;
    try {
      ControlOptions control;
      control.ranks = session.library->size();
      control.address = options.bindAddress;
      control.port = options.port;
      control.timeout = timeoutOf(options);
      control.onMember = [&session](int64_t rank, int connection,
                                    const std::string &process) {
        session.witness->add(rank, connection, process);
      };
      // Of this one, which was stopped.
      control.onTold = [&session] {
        session.witness->leave();
        endProcess(1);
      };
      if (control.address.empty()) {
        if (session.library->sizeOfHost() != control.ranks)
          throw Error("the processes are on several hosts: give them the "
                      "address of rank 0's (--bind-address 10.0.0.5)");
        control.address = "127.0.0.1";
      }
      session.root = std::make_unique<ControlRoot>(std::move(control));
      text = session.root->where();
    } catch (const std::exception &error) {
      text = std::string("!") + error.what();
    }
    std::strncpy(where, text.c_str(), sizeof where - 1);
  }
  session.library->broadcast(where, sizeof where);
  return where;
}

/// If the root is gone without a word, the next one speaks, at once: who
/// started the processes is about to end them. Others need not.
static void hearFailure(const std::string &message) {
  // Where all are told to end, each waits for half a second. This one has, and
  // is about to end as well: none of them has failed.
  constexpr std::chrono::milliseconds kLate(400);
  Clock::time_point since{Clock::duration(endsSince)};
  if (endsSince != 0 && Clock::now() - since > kLate)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (session->root || session->member->mustTell())
    session->teller->hear(message);
  else
    session->teller->leaveToOthers();
}

/// Stays until the process ends.
static void beginSession(const RunOptions &options, const Tell &tell) {
  static Session made;
  // Where the starter's word is not MPI's, there is one process of MPI.
  std::optional<StartedAs> as = findStartedAs();
  made.witness =
      std::make_unique<Witness>(tell, as && as->rank == 0 ? as->size : 1);
  {
    RollCall rollCall(timeoutOf(options), [&](const std::string &message) {
      made.witness->tell(message);
    });
    made.library = loadMpi(options.mpi);
  }
  made.rank = made.library->rank();
  std::string where = shareWhere(made, options);
  if (where[0] == '!') {
    if (made.rank == 0)
      throw Error(where.substr(1));
    // Whoever started the processes ends them when the first one does: not
    // before rank 0 has told.
    std::this_thread::sleep_for(std::chrono::seconds(5));
    endProcess(1);
  }
  if (made.rank != 0) {
    made.member =
        std::make_unique<ControlMember>(made.rank, where, timeoutOf(options));
    made.output = std::make_unique<HomeOutput>(*made.member);
  }
  made.teller = std::make_unique<Teller>([](const std::string &message) {
    if (session->output)
      session->output->giveBack();
    session->witness->tell(message);
  });
  session = &made;
  waitBeforeEnding(isReadyToEnd);
  made.control().onFailure(hearFailure);
}

/// In a process that is not the root: returns if all is well.
static void awaitEnd() {
  session->output->flush();
  if (session->member->awaitEnd())
    return;
  // It may be this one that has to speak.
  session->teller->finish();
  endProcess(1);
}

/// What a process that is not the root does with an error: the root says it.
static void failSession(const std::string &message) {
  if (session->root) {
    bool isFirst = session->teller->claim();
    if (isFirst)
      session->witness->leave();
    session->root->fail(message);
    if (isFirst)
      return;
    // It has told the others when it is gone.
    session->root.reset();
    endProcess(1);
  }
  session->member->fail("rank " + std::to_string(session->rank) + " on " +
                        machineName() + ": " + message);
  awaitEnd();
  endProcess(1);
}

/// What the command line has as a value of an option, though others in it may
/// be wrong.
static std::string findOption(const std::string &name) {
  std::ifstream file("/proc/self/cmdline");
  std::string word, before;
  for (; std::getline(file, word, '\0'); before = word) {
    for (const char *dashes : {"--", "-"}) {
      if (before == dashes + name)
        return word;
      if (word.starts_with(dashes + name + "="))
        return word.substr(word.find('=') + 1);
    }
  }
  return "";
}

bool dist::areStartedTogether() {
  std::optional<StartedAs> as = findStartedAs();
  // What Slurm starts may be programs that know nothing of each other.
  return as && as->size > 1 &&
         (as->kind != Starter::Slurm || findOption("backend") == "mpi" ||
          findOption("backend") == "cuda");
}

void dist::failTogether(const std::string &message, const Tell &tell) {
  if (!areStartedTogether())
    return;
  try {
    RunOptions options;
    options.mpi = findOption("mpi");
    beginSession(options, tell);
  } catch (const std::exception &) {
    return;
  }
  failSession(message);
}

//===----------------------------------------------------------------------===//
// Memory of other processes
//===----------------------------------------------------------------------===//

namespace {

/// In the process of rank 0, while all others wait.
struct RemoteMemory final : RanksMemory {
  RemoteMemory(const Manifest &manifest, const Executor &own)
      : RanksMemory(manifest), own(own) {}

  const void *read(int64_t rank, const HeldBytes &what) const override {
    if (rank == 0)
      return own.at(what);
    answer = session->root->ask(rank, {0, writeHeld(what)}).text;
    if (int64_t(answer.size()) != what.bytes)
      throw Error(
          "rank " + std::to_string(rank) + " has sent " +
          std::to_string(answer.size()) + " bytes of '" +
          (what.isResult ? manifest.results : manifest.arguments)[what.index]
              .name +
          "', not " + std::to_string(what.bytes));
    return answer.data();
  }
  Tensor keep(int64_t rank, size_t index) const override {
    if (rank == 0)
      return own.partOf(index);
    const TensorDesc &desc = manifest.results[index];
    Tensor part = Tensor::zeros(desc.dtype, desc.localShape);
    for (int64_t at = 0; at < part.bytes(); at += kWindow) {
      int64_t bytes = std::min(kWindow, part.bytes() - at);
      std::memcpy(static_cast<char *>(part.data) + at,
                  read(rank, {true, index, at, bytes}), bytes);
    }
    return part;
  }

  const Executor &own;
  mutable std::string answer;
};

} // namespace

/// In the others.
static Message answerPart(const Manifest &manifest, const Executor &executor,
                          const Message &question) {
  std::optional<HeldBytes> what = readHeld(question.text, manifest);
  if (!what)
    return {};
  auto *data = static_cast<const char *>(executor.at(*what));
  return {0, std::string(data, what->bytes)};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// The root asks the step control and tells the others.
struct SentSteps final : StepSource {
  SentSteps(MessagesRun &run, PointToPoint &link, const Manifest &manifest,
            const Arguments &arguments, const Executor &executor,
            StepControl &control)
      : run(run), link(link), memory(manifest, executor), arguments(arguments),
        control(control), reads(control.readsArguments()) {}

  void next() override {
    // Each rank has copied what it takes of the files, and none reads on.
    if (isFirst)
      arguments.checkUnchanged();
    isFirst = false;
    goesOn = control.next(memory, values);
  }
  const Inputs *inputs() override {
    std::string text;
    if (session->rank == 0)
      text = writeInputs(goesOn ? &values : nullptr) +
             (control.readsArguments() ? '1' : '0');
    if (!run.broadcast(session->rank, link, text))
      throw Error("the run has failed");
    if (session->rank != 0) {
      reads = text.back() == '1';
      text.pop_back();
      goesOn = readInputs(text, values);
    }
    return goesOn ? &values : nullptr;
  }
  bool readsArguments() const override {
    return session->rank == 0 ? control.readsArguments() : reads;
  }

  MessagesRun &run;
  PointToPoint &link;
  RemoteMemory memory;
  const Arguments &arguments;
  StepControl &control;
  bool isFirst = true, goesOn = true;
  /// Of the root's control, as of the last step.
  bool reads;
  Inputs values;
};

} // namespace

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

/// What a rank has done, on a clock that begins with its last repetition.
static Done makeDone(std::vector<Interval> times,
                     std::vector<TraceEvent> events) {
  int64_t first = times.empty() ? 0 : times.back().start;
  for (TraceEvent &event : events) {
    event.startNanos -= first;
    event.endNanos -= first;
  }
  for (Interval &one : times)
    one = {0, one.end - one.start};
  return {std::move(times), std::move(events)};
}

namespace {

struct MpiLauncher final : BackendLauncher {
  explicit MpiLauncher(bool isOnGpus) : isOnGpus(isOnGpus) {}
  const char *name() const override { return isOnGpus ? "cuda" : "mpi"; }
  const char *target() const override { return isOnGpus ? "cuda" : "cpu"; }
  Most most() const override { return {maxRanks, "on all hosts"}; }
  void begin(const RunOptions &options, const Tell &tell) const override {
    if (options.link.enabled())
      throw Error("--link emulates the link of ranks of one host; --backend " +
                  std::string(name()) + " has a real one");
    beginSession(options, tell);
    if (isOnGpus)
      cuda::Driver::checkThere(options.driver);
  }
  bool isRoot() const override { return !session || session->root; }
  void fail(const std::string &message) const override {
    if (session)
      failSession(message);
  }
  void sendProgram(const std::string &folder,
                   const std::string &text) const override {
    if (!session || !session->root)
      return;
    dist::sendProgram(*session->root, session->library->size(), folder, text);
    session->isProgramSent = true;
  }
  Program receiveProgram(std::string &text) const override {
    session->isProgramSent = true;
    return dist::receiveProgram(*session->member, text);
  }
  RanksResult run(const Program &program, const Arguments &arguments,
                  const RunOptions &options,
                  const TakeResults &take) const override;

  /// Whether ranks compute on GPUs and send by NCCL. Then MPI starts them, and
  /// has what they say besides.
  const bool isOnGpus;
};

} // namespace

static void checkSize(const Manifest &manifest, int64_t processes,
                      const std::string &backend) {
  int64_t ranks = manifest.mesh.size();
  if (ranks == processes)
    return;
  std::string remedy = ": mpirun -n " + std::to_string(ranks) + " …";
  std::optional<StartedAs> as = findStartedBeside();
  if (as && processes == 1) {
    if (as->kind == Starter::Slurm)
      remedy = "; srun --mpi=pmix (srun --mpi=list shows what there is), or" +
               remedy;
    if (as->kind == Starter::Torchrun)
      remedy = ", as torchrun is none of MPI's starters" + remedy;
    throw Error("--backend " + backend + ": " + as->command + " has started " +
                std::to_string(as->size) +
                " processes, and MPI knows of 1 of them" + remedy);
  }
  throw Error(describeDevices(manifest.mesh) + ", and MPI has started " +
              std::to_string(processes) +
              (processes == 1 ? " process" : " processes") + remedy);
}

/// A checksum of an argument: of all of a small one, of parts of a large one,
/// which would take long to read.
static uint64_t sample(const Tensor &tensor) {
  constexpr int64_t kAll = 1 << 20, kPart = 4096, kParts = 64;
  std::string_view data(static_cast<const char *>(tensor.data), tensor.bytes());
  if (tensor.bytes() <= kAll)
    return checksumOf(data).xxh3;
  PagesReadOnce pages(tensor);
  MessageWriter sums;
  for (int64_t i = 0; i < kParts; ++i)
    sums.number(
        checksumOf(
            data.substr((tensor.bytes() - kPart) / (kParts - 1) * i, kPart))
            .xxh3);
  // With each part the kernel maps what is around it.
  pages.note(data.data(), data.size());
  return checksumOf(sums.take()).xxh3;
}

/// Whether this process has the whole.
static bool isHere(const Tensor &tensor) {
  return tensor.data || tensor.count() == 0;
}

/// The arguments that a rank's process lacks.
static std::vector<size_t> findLacking(const Manifest &manifest,
                                       const Arguments &arguments,
                                       int64_t rank) {
  std::vector<size_t> lacking;
  for (size_t i = 0; i < manifest.arguments.size(); ++i)
    if (!isHere(arguments[i]) &&
        isHeldBy(manifest.mesh, manifest.arguments[i], rank))
      lacking.push_back(i);
  return lacking;
}

/// What must be the same in all processes: the program, how it runs, and its
/// arguments.
static Agreement describeProgram(const Manifest &manifest,
                                 const RunOptions &options,
                                 const Arguments &arguments) {
  MessageWriter program;
  for (const Checksum &sum :
       {manifest.programChecksum, checksumOf(manifest.agreement()),
        manifest.constantsChecksum.value_or(Checksum())}) {
    program.number(sum.bytes);
    program.number(sum.xxh3);
  }
  program.number(options.repeat);
  program.number<uint8_t>(options.isTraced());
  program.number<uint32_t>(options.streams.kind);
  program.number(options.streams.seed);
  program.number<uint8_t>(options.directConvolutions);
  program.number<uint8_t>(options.reductions == "mpi");
  program.number<uint8_t>(options.padding == Padding::Poison);
  program.number<uint8_t>(options.stepControl != nullptr);
  Agreement own{program.take(), {}};
  for (size_t i = 0; i < manifest.arguments.size(); ++i)
    own.sums.push_back(isHere(arguments[i])
                           ? std::optional(sample(arguments[i]))
                           : std::nullopt);
  return own;
}

/// The arguments that the rank's process lacks.
static std::vector<size_t> checkProgram(const ControlRoot &root,
                                        const Manifest &manifest,
                                        const Agreement &own, int64_t rank) {
  Agreement other = Agreement::read(root.textOf(rank, Stage::Ready));
  std::string name = "rank " + std::to_string(rank);
  if (other.program != own.program || other.sums.size() != own.sums.size())
    throw Error(name + " has another program than rank 0, or runs it another "
                       "way: all hosts need the same bundle, and the same "
                       "options");
  std::vector<size_t> lacking;
  for (size_t i = 0; i < own.sums.size(); ++i) {
    if (!other.sums[i])
      lacking.push_back(i);
    else if (*other.sums[i] != own.sums[i].value_or(0))
      throw Error(name + " has other values of '" + manifest.arguments[i].name +
                  "' than rank 0: all hosts need the same inputs (or "
                  "--inputs=root), weights and checkpoints, and the same "
                  "--random");
  }
  return lacking;
}

RanksResult MpiLauncher::run(const Program &program, const Arguments &arguments,
                             const RunOptions &options,
                             const TakeResults &take) const {
  if (!session)
    throw Error("--backend " + std::string(name()) +
                ": nobody has called dist::begin");
  const Manifest &manifest = program.manifest;
  MpiLibrary &library = *session->library;
  checkSize(manifest, library.size(), name());
  Topology topology = topologyOf(manifest);
  ControlRoot *root = session->root.get();
  ControlMember *member = session->member.get();
  SentParts parts(manifest, findLacking(manifest, arguments, session->rank),
                  session->isProgramSent);
  Agreement own = describeProgram(manifest, options, arguments);
  if (root) {
    root->setDescribe(
        [topology](int64_t rank) { return topology.describe(rank); });
    root->await(Stage::Here);
    for (int64_t rank = 0; rank < library.size(); ++rank)
      session->witness->describe(rank, topology.describe(rank));
    if (!session->isProgramSent)
      sendNoProgram(*root, library.size());
    root->await(Stage::Ready);
    std::vector<std::vector<size_t>> lacking(library.size());
    for (int64_t rank = 1; rank < library.size(); ++rank)
      lacking[rank] = checkProgram(*root, manifest, own, rank);
    for (int64_t rank = 1; rank < library.size(); ++rank)
      sendParts(*root, rank, manifest, arguments, lacking[rank],
                options.padding);
  } else {
    member->reach(Stage::Ready, own.write());
    member->answerUntil(
        [&] { return parts.isDone(); },
        [&](const Message &question) { return parts.answer(question); });
  }

  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  bool spins =
      std::max<int64_t>(CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN)) >=
      library.sizeOfHost();
  // Not destroyed after a failure: messages may be under way.
  auto &link = *new MpiLink(library, spins);
  if (options.reductions == "mpi") {
    std::vector<bool> reduce(topology.comms.size());
    for (const CollectiveDesc &one : manifest.collectives)
      if (!one.reduce.empty() && one.comm >= 0)
        reduce.at(one.comm) = true;
    link.useReductions(topology, reduce);
  }
  auto &run = *new MessagesRun(topology,
                               {options.link, options.streams,
                                options.directConvolutions,
                                /*pinsRanks=*/!isOnGpus},
                               {{session->rank, &link}}, spins ? 1 : 0);
  auto &executor = *new Executor(program, arguments, options.padding);
  for (const auto &[index, part] : parts.get())
    executor.give(index, part);
  Control &control = session->control();
  control.onFailure([&run](const std::string &message) {
    hearFailure(message);
    run.fail(message);
  });
  // A rank that waits in NCCL or in the GPU's driver may never see it. That of
  // others which are stopped is noticed before.
  auto limit = timeoutOf(options, /*defaultSeconds=*/600);
  if (member) {
    member->onQuestion([&](const Message &question) {
      return answerPart(manifest, executor, question);
    });
    member->onBeat([&run, member, limit] {
      // The root knows of more.
      if (run.limitElsewhere(limit, std::chrono::seconds(6)))
        member->fail(run.message());
      return SignOfLife{run.describe(), run.stand().write()};
    });
  } else {
    root->onStandings([&run, limit](const std::vector<std::string> &others) {
      if (run.limitElsewhere(limit, std::chrono::seconds(3))) {
        std::string message = run.message();
        for (const std::string &other : others)
          for (const std::string &line : Standing::read(other).lines)
            message += "\n  " + line;
        return message;
      }
      std::vector<Standing> all{run.stand()};
      for (size_t i = 0; all.back().isStuck && i < others.size(); ++i)
        all.push_back(Standing::read(others[i]));
      return findDeadlock(run.topology(), all);
    });
  }
  if (member)
    session->output->begin();
  bool ok = run.run([&](dist_rank &host) -> int32_t {
    dist_rank *device = nullptr;
    if (isOnGpus) {
      // Not destroyed, as memory of others' messages is not.
      auto &driver = *new cuda::Driver(options.driver);
      auto *made = new CudaRank(
          driver, host, &program, library.rankOfHost(),
          [&](std::string &text) {
            return run.exchange(host.index, link, text);
          },
          options.usesGraphs());
      device = &made->rank;
    }
    dist_rank &rank = device ? *device : host;
    auto finished = [&](int32_t status) {
      return status || rank.backend.finish() ? status : 1;
    };
    if (options.stepControl) {
      SentSteps steps(run, link, manifest, arguments, executor,
                      *options.stepControl);
      return finished(executor.runSteps(rank, steps));
    }
    return finished(executor.run(rank, options.repeat, options.isTraced()));
  });
  if (!ok)
    control.fail(run.message());
  Done done = makeDone(executor.times(), run.takeTrace());
  RanksResult result;
  if (member) {
    session->output->flush();
    if (ok)
      member->reach(Stage::Done, done.write());
    awaitEnd();
    library.finalize();
    return result;
  }
  root->await(Stage::Done);
  for (int64_t rank = 0; rank < library.size(); ++rank) {
    if (rank > 0)
      done = Done::read(root->textOf(rank, Stage::Done));
    result.times.push_back(std::move(done.times));
    result.trace.insert(result.trace.end(), done.events.begin(),
                        done.events.end());
  }
  if (!options.stepControl)
    take(RemoteMemory(manifest, executor));
  session->witness->leave();
  root->end();
  library.finalize();
  return result;
}

const BackendLauncher &dist::mpiLauncher() {
  static const MpiLauncher launcher(/*isOnGpus=*/false);
  return launcher;
}

const BackendLauncher &dist::mpiCudaLauncher() {
  static const MpiLauncher launcher(/*isOnGpus=*/true);
  return launcher;
}
