//===- Launcher.h - Runs a compiled program on all its ranks ----*- C++ -*-===//
//
// Starts as many ranks as the program's mesh has, each with an Executor, and
// assembles the whole results. The backend decides how a rank is started: as a
// thread of this process, or as a process. Used by dist-exec and dist-run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LAUNCHER_H
#define DIST_LAUNCHER_H

#include "dist/EmulatedLink.h"
#include "dist/Executor.h"
#include "dist/Profile.h"
#include "dist/StreamMode.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dist {

/// A result of the program: one of the manifest's, or blocks that are one.
struct Output {
  std::string name;
  /// Whole, with RunOptions::keepsWholes; else without data.
  Tensor tensor;
  /// The numbers, in manifest.results, of the blocks that it is made of; most
  /// often of one result.
  std::vector<size_t> results;
  /// With RunOptions::keepsParts: of each of these the part of each rank, by
  /// rank, padding included, also if several hold the same part; else empty.
  std::vector<Tensor> parts;
};

/// The program's results, without data, in the order of their first blocks.
std::vector<Output> describeOutputs(const Manifest &manifest);

/// Takes whole results, one after the other, each from front to back, so that
/// nobody has to hold one.
class ResultSink {
public:
  virtual ~ResultSink() = default;
  /// The next one begins.
  virtual void begin(const Output &output) = 0;
  /// Its next elements.
  virtual void write(const void *data, int64_t count) = 0;
};

struct RunOptions {
  /// The backend that runs the ranks: "threads", "processes" or "mpi"; "" is
  /// "processes" where their number is given, else "threads".
  std::string backend;
  /// How long a rank's process may be stopped before the run fails, 60 if not
  /// given, and how long GPUs may wait for each other, 600. Threads have none.
  std::optional<double> timeoutSeconds;
  /// Of "mpi": the IPv4 address at which rank 0 listens; "": that of processes
  /// on one host. The port; 0: any that is free.
  std::string bindAddress;
  int64_t port = 0;
  /// Of "mpi": "root" if rank 0 alone reads the files of inputs; "shared" or
  /// "": all processes do.
  std::string inputs;
  /// "openmpi" or "mpich", where nothing else tells; "" for any.
  std::string mpi;
  /// "place", or "": sums are in the order of ranks' places, with the bits of
  /// threads. "mpi": as MPI has them, which differ by rounding.
  std::string reductions;
  /// Of "cuda": "" for NVIDIA's driver, "emulated" for one without a GPU, or a
  /// path.
  std::string driver;
  /// What of a step is a graph of the GPU's driver: "off"; "compute" or "" for
  /// what lies between two collectives.
  std::string graph;
  bool usesGraphs() const { return graph != "off"; }
  /// If not 0, the backend is "processes", and the mesh must have as many
  /// devices.
  int64_t processes = 0;
  /// "" for the manifest's own.
  std::string weights;
  /// Number of runs of dist_main, on the same arguments.
  int64_t repeat = 1;
  /// Whether the last run is traced, or only a profile of it is wanted.
  bool trace = false, profile = false;
  bool isTraced() const { return trace || profile; }
  EmulatedLink link;
  /// When communication streams do their work.
  StreamMode streams;
  /// Whether whole results are wanted in memory.
  bool keepsWholes = true;
  /// Of which results each rank's part is wanted, too.
  std::function<bool(const std::string &name)> keepsParts;
  /// Receives whole results, at the root.
  ResultSink *sink = nullptr;
  /// If set, runs the program step by step, instead of `repeat`.
  StepControl *stepControl = nullptr;
  /// The value of padding in arguments.
  Padding padding = Padding::Zero;
  /// Whether each element of a convolution is the sum of its window's products.
  /// Winograd's algorithm is not used then: its rounding errors depend on
  /// neighbours.
  bool directConvolutions = false;
};

struct RunResult {
  std::vector<Output> outputs; // as describeOutputs
  /// For each repetition, from the moment when all ranks were ready to the last
  /// one's return.
  std::vector<double> seconds;
  /// With RunOptions::trace: the last run in the format of chrome://tracing and
  /// Perfetto.
  std::string trace;
  /// With RunOptions::profile.
  std::optional<Profile> profile;
  /// Whether this process is the one that reports. In the other processes of a
  /// run, all else here is empty.
  bool isRoot = true;
};

/// Whether MPI starts the ranks, so that they may be on several hosts. Throws
/// Error.
bool areRanksOfMpi(const RunOptions &options);

/// Whether a starter of MPI has started others with this process.
bool areStartedTogether();

/// Writes an error as the tool does; any thread may call it, once.
using Tell = std::function<void(const std::string &error)>;

/// To be called once, before anything that takes long. Throws Error if this
/// build has no such backend, or the options for processes are wrong or for
/// another one. In processes that were started together this joins them: the
/// output of all goes through the root from here on. If another one fails, the
/// root may `tell`, and end.
void begin(const RunOptions &options, const Tell &tell);

/// Whether this process is the one that writes files and to its output; after
/// begin.
bool isRoot();

/// What this process does with the files of inputs.
enum class InputFiles {
  Read,
  /// It reads them, and the root could do so for it.
  ReadToo,
  /// It leaves them to the root, which sends each rank its part.
  Leave
};
/// After begin.
InputFiles inputFilesOf(const RunOptions &options);

/// To be called before an error is written that ends the program. Returns if it
/// is this process that writes it. Others tell the root, and end here. Without
/// `begin`, processes that were started together join for that.
void endWith(const std::string &error, const Tell &tell);

/// The target of the programs that `backend` runs. Throws Error likewise.
std::string targetOf(const std::string &backend);

/// At the root: gives processes that were started with it the bundle in
/// `folder`, and `text`; nothing where there are none. Returns when all have
/// it. Throws Error.
void sendProgram(const std::string &folder, const std::string &text);

/// In each of the others: waits for that. Throws Error, also if the root ends
/// before.
Program receiveProgram(std::string &text);

/// Runs `program` on all ranks of its mesh. Throws Error if this build lacks
/// the backend, or if it runs programs for another target. Also if inputs or
/// weights are missing or do not fit, and if a rank failed.
RunResult launch(const Program &program, const Inputs &inputs,
                 const RunOptions &options = {});

} // namespace dist

#endif // DIST_LAUNCHER_H
