//===- Table.h - Which rank does which part of a pipeline when --*- C++ -*-===//
//
// A model is cut into stages, a batch into microbatches. A task is what one
// stage does with one microbatch; a table says which tasks each rank does, one
// after the other. Tables are data: they are checked before they run, and
// simulated.
//
// The tables that are built in:
//   gpipe        Huang et al. 2019
//   1f1b         Narayanan et al. 2019 (PipeDream-Flush)
//   interleaved  Narayanan et al. 2021 (Megatron-LM), for any number of
//                microbatches
//   zb_h1, zb_v  Qi et al. 2024 (zero bubble)
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_PIPELINE_TABLE_H
#define DIST_RUNTIME_PIPELINE_TABLE_H

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dist::pipeline {

/// Part of a stage's work on a microbatch.
enum class Kind : uint8_t {
  Forward,
  /// What leads to a cotangent that an earlier stage reads.
  Backward,
  /// The rest of backward: gradients of parameters.
  Weight,
  /// Backward, then Weight.
  Both
};

struct Task {
  Kind kind;
  int32_t stage;
  int32_t microbatch;
  auto operator<=>(const Task &) const = default;
};

/// "F of stage 1, microbatch 4"; B, W, BW.
std::string toString(const Task &task);

struct Table {
  int32_t stages = 0;
  int32_t microbatches = 0;
  /// By stage.
  std::vector<int32_t> rankOf;
  /// By rank.
  std::vector<std::vector<Task>> rows;
  /// Of a table that was read: where, and each task's line and column.
  std::string source;
  std::vector<std::vector<std::pair<int32_t, int32_t>>> places;

  int32_t ranks() const { return rows.size(); }
};

/// A value that a task of one stage makes, and one of another stage reads for
/// the same microbatch. Neither kind is Both.
struct Transfer {
  Kind from;
  int32_t source; // stage
  Kind to;
  int32_t target; // stage
  auto operator<=>(const Transfer &) const = default;
};

/// An activation from each stage to the next, and a cotangent back.
std::vector<Transfer> chain(int32_t stages);

//===----------------------------------------------------------------------===//
// Tables that are built in
//===----------------------------------------------------------------------===//

// Of at least one rank, microbatch and chunk. Chunk c of rank r is stage
// c * ranks + r; under zb_v rank r has stages r and 2 * ranks - 1 - r.

Table makeGpipe(int32_t ranks, int32_t microbatches);
Table make1F1B(int32_t ranks, int32_t microbatches);
/// The first group of microbatches takes what the ranks do not divide.
Table makeInterleaved(int32_t ranks, int32_t microbatches, int32_t chunks);
Table makeZbH1(int32_t ranks, int32_t microbatches);
/// In the fixed order that was published where there are twice as many
/// microbatches as ranks. Where there are fewer, list scheduling is shorter.
Table makeZbV(int32_t ranks, int32_t microbatches);
/// The one of that name; `chunks` are of "interleaved" alone. Of a program
/// without gradients forward alone; "zb_h1" and "zb_v" are for gradients.
/// Throws Error, also where stages times microbatches are more than 2^22.
Table makeTable(std::string_view name, int32_t ranks, int32_t microbatches,
                int32_t chunks, bool hasBackward);
/// Forward alone, in the order of microbatches.
Table makeForward(int32_t ranks, int32_t microbatches, int32_t chunks);

//===----------------------------------------------------------------------===//
// Tables as text
//===----------------------------------------------------------------------===//

/// A row a rank, as PyTorch's `compute_only` has it: "0F0,0F1,0B0". F is
/// Forward, I is Backward, W is Weight, B is Both.
std::string writeTable(const Table &table);

/// Reads that. Cells may be empty, or of PyTorch's own words for two tasks in
/// turn, "(0F3;3B1)OVERLAP_F_B", and for what is nothing here, "0REDUCE_GRAD".
/// Throws Error with line and column, after `name`.
Table readTable(std::string_view text, const std::string &name);

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// What is wrong with a table, or "". Right is: each stage does Forward with
/// each microbatch once, and if it `hasBackward` Backward and Weight, or Both,
/// all on the rank of the stage and in the order of microbatches; and the tasks
/// of all ranks can be done to the end in the order of their rows. (In which
/// order values are read is no matter: a rank keeps what comes too early.) A
/// fault names the task, its rank and the other one, after its place if the
/// table was read. Linear in the number of
/// tasks and transfers.
std::string findFault(const Table &table,
                      const std::vector<Transfer> &transfers, bool hasBackward);

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

struct Costs {
  /// Seconds of one microbatch, by stage.
  std::vector<double> forward, backward, weight;
  /// Seconds of a message; those of a link, from one rank to another forward or
  /// back, follow each other. Then `latency` passes.
  double message = 0, latency = 0;
};

struct Simulated {
  struct Span {
    Task task;
    double start, end;
  };
  /// What `task`, which is not Both, sends to another rank: how long it is on
  /// the link, and when it is there.
  struct Message {
    Task task;
    int32_t from, to; // ranks
    double start, end, arrival;
  };
  /// By rank, in the order of the row.
  std::vector<std::vector<Span>> rows;
  /// If messages cost anything.
  std::vector<Message> messages;
  /// From the first task to the end of the last one.
  double seconds = 0;
  /// By rank: of how many microbatches and stages at once Forward is done and
  /// Weight is not.
  std::vector<int32_t> mostAlive;
};

/// Of a table without a fault.
Simulated simulate(const Table &table, const std::vector<Transfer> &transfers,
                   const Costs &costs);

} // namespace dist::pipeline

#endif // DIST_RUNTIME_PIPELINE_TABLE_H
