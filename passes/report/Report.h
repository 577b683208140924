//===- Report.h - Communication and memory of a program ---------*- C++ -*-===//
//
// The figures of dist-report, for tools and tests. At level 3 every shape is
// that of one rank.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_REPORT_REPORT_H
#define DIST_PASSES_REPORT_REPORT_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/report/Simulation.h"
#include "passes/spmd/verify/IdleDevices.h"
#include "runtime/pipeline/Table.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// A collective op of the program.
struct CollectiveUse {
  /// "all_reduce"
  std::string op;
  /// Names of the axes; parts of one as in the assembly: `tp(1)2`.
  std::vector<std::string> axes;
  /// "sum"; empty for those that do not reduce.
  std::string reduce;
  /// Local shape and element type of the operand.
  std::vector<int64_t> shape;
  std::string dtype;
  /// Bytes each time it runs.
  int64_t bytesSentPerRank;
  /// Whether that is an upper bound: the number depends on indices.
  bool isMost;
  /// Bytes that a rank copies in all runs together, because the collective is
  /// not on the leading dimension: itself (getPackedBytes), or by transposes
  /// for it (kPacksAttr).
  int64_t packedBytesPerRank;
  /// How often it runs: trip counts of the loops around it, multiplied.
  int64_t count;
  /// Whether a loop around it has an unknown trip count, which counts as 1.
  bool inUnknownLoop;
  std::string scope, cause, location;
};

/// One strategy of sharding an attention.
struct AttentionWay {
  std::string name;
  /// Each time it runs, by a rank in the middle.
  int64_t bytesSentPerRank = 0;
  /// Of the busiest rank.
  int64_t flops = 0;
  bool isChosen = false;
  /// Why it is impossible; empty if it is possible.
  std::string problem = {};
};

/// An attention whose sequence or heads are sharded: the strategy of the
/// program, and others.
struct AttentionUse {
  std::string scope;
  std::vector<std::string> axes;
  int64_t count = 0;
  std::vector<AttentionWay> ways;
};

/// For an attention with halo exchanges of keys, or with a ring; empty if `op`
/// is no such attention.
std::optional<AttentionUse> makeAttentionUse(AttentionOp op, int64_t count);

/// The values that a module keeps of forward until backward reads them, and
/// those that it recomputes instead (--dist-recompute).
struct BackwardUse {
  std::string scope;
  /// Bytes of values that forward computes and backward reads.
  int64_t keptBytes = 0;
  /// Bytes of values that backward reads and recomputes itself.
  int64_t sparedBytes = 0;
  /// The additional work: multiplications and additions of products, bytes that
  /// are written to memory, and bytes that a rank sends.
  int64_t addedFlops = 0, addedBytes = 0, addedBytesSent = 0;

  void add(const BackwardUse &other);
};

/// Seconds for a transfer of so many bytes; null where no link was given.
using LinkTime = std::function<double(int64_t)>;

/// Of several collectives.
struct CollectiveTotal {
  int64_t count = 0, bytesSent = 0, packedBytes = 0;
  double seconds = 0;
  /// Whether one of them is such a collective.
  bool isMost = false, inUnknownLoop = false;

  /// Adds a collective of a function that runs `times` times.
  void add(const CollectiveUse &use, const LinkTime &time, int64_t times = 1);
};

/// Calls of a function, as often as loops repeat them.
struct FunctionCall {
  std::string callee;
  int64_t count;
};

struct FunctionReport {
  std::string name;
  /// Whether it is the entry function or one that this calls.
  bool runs = false;
  /// How often, in one run of the entry function. A call of one that calls it
  /// is not counted.
  int64_t times = 0;
  /// Whether a loop has a trip count that is not known, and taken as 1.
  bool hasUnknownLoop = false;
  std::vector<FunctionCall> calls;
  std::vector<CollectiveUse> collectives;
  std::vector<AttentionUse> attentions;
  /// Bytes that are copied because collectives are not on the leading
  /// dimension.
  int64_t packedBytes = 0;
  /// Bytes of the arguments that are parameters.
  int64_t parameterBytes = 0;
  /// Bytes of the arguments that are states of the optimizer.
  int64_t stateBytes = 0;
  /// Bytes of constants, each counted once: the parts of those that are split,
  /// the whole of others. Uniform ones take no memory of their own.
  int64_t constantBytes = 0;
  /// Most bytes of tensors alive at once (see getPeakBytes), including
  /// arguments and constants.
  int64_t peakBytes = 0;
  /// Multiplications and additions of contractions; nothing else is counted.
  int64_t flops = 0;
  /// By module, in program order; empty without gradients.
  std::vector<BackwardUse> backward;
};

/// What one stage of a pipeline holds and does.
struct StageUse {
  /// The coordinate of its ranks, and the first and the last of its modules.
  int64_t place = 0;
  std::vector<std::string> modules;
  int64_t parameterBytes = 0, stateBytes = 0;
  /// Of one microbatch, in contractions: forward, backward, and what of
  /// backward is a task of its own.
  int64_t flops[3] = {};
};

/// What goes from one stage to another.
struct StageTransfer {
  int64_t source, target;
  /// "forward", "back" or "end": once a step.
  std::string what;
  int64_t values = 0, bytes = 0; // each time
  int64_t count = 0;             // in a step
};

struct PipelineReport {
  /// The table's name, and what it says; what its tasks read of each other.
  std::string table;
  ::dist::pipeline::Table tasks;
  std::vector<::dist::pipeline::Transfer> reads;
  std::string axis;
  int64_t ranks = 0, microbatches = 0;
  std::vector<StageUse> stages;
  std::vector<StageTransfer> transfers;
  /// The share of the ranks' time for products in which they wait, and the most
  /// microbatches, of all chunks, that a rank has not ended, by rank.
  double idleShare = 0;
  std::vector<int32_t> mostAlive;
  /// By rank along the axis: the most bytes of tensors that are there at once,
  /// about.
  std::vector<int64_t> rankBytes;
};

/// Of a program that is cut into tasks; none if it is not. Fails after an
/// error.
FailureOr<std::optional<PipelineReport>>
makePipelineReport(FunctionOpInterface function, MeshOp mesh);

void printTable(const PipelineReport &report, llvm::raw_ostream &stream);
void printJson(const PipelineReport &report, llvm::json::OStream &json);

struct ProgramReport {
  /// Name and axes of the mesh.
  std::string mesh;
  std::vector<std::pair<std::string, int64_t>> axes;
  /// Name of the entry function.
  std::string entry;
  std::vector<FunctionReport> functions;
  /// Devices that have nothing to do.
  IdleDevices idle;
  std::optional<PipelineReport> pipeline;
  /// The time of a step, if it was asked for.
  std::optional<Simulation> simulation;

  const FunctionReport &getEntry() const;
  /// Of a step: of all functions, as often as they run.
  CollectiveTotal getCollectives(const LinkTime &time) const;
  int64_t getFlops() const;
  bool hasUnknownLoop() const;
  /// Whether a device of the simulation has as much memory as a rank needs.
  bool fits() const;
};

/// What a model comes to by one of several schedules.
struct ScheduleReport {
  /// The file, as it was named.
  std::string schedule;
  /// None where the schedule fails: then `error` says why.
  std::optional<ProgramReport> report;
  std::string error;
};

/// Emits an error, which says how to get to level 3, unless `module` is at
/// level 3.
FailureOr<ProgramReport> makeReport(ModuleOp module);

/// The most bytes of a block's tensors that are alive at once, in program
/// order, without values from outside of `block`. Reshapes, slices and casts
/// are views of their source. A destination that is not used any more becomes
/// the result. Every other result has memory of its own. Constants are not
/// counted.
int64_t getPeakBytes(Block &block);

/// For one run of a block. Empty if no op of it is backward.
std::vector<BackwardUse> getBackwardUses(Block &block);

/// The axis as in reports: `tp`, or `tp(1)2` for a part.
std::string describeAxis(AxisRefAttr axis);

/// The JSON object that docs and scripts rely on.
void printJson(const ProgramReport &report, const LinkTime &time,
               llvm::raw_ostream &stream);

/// A table for people. Equal collectives of several modules share a line unless
/// `all` is set.
void printTable(const ProgramReport &report, const LinkTime &time, bool all,
                llvm::raw_ostream &stream);

/// One object with a list of the schedules and their figures.
void printJson(ArrayRef<ScheduleReport> schedules, const LinkTime &time,
               llvm::raw_ostream &stream);

/// A line for each schedule; the least figures are marked, of the schedules
/// that fit the memory if that is known.
void printTable(ArrayRef<ScheduleReport> schedules, const LinkTime &time,
                llvm::raw_ostream &stream);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_REPORT_H
