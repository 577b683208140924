//===- Passes.td - Any level to the program of a device ----*- tablegen -*-===//
//
// What dist-run and dist-compile do with a module before they lower it. Options
// have the names that they have there.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_DISTRIBUTE_PASSES_TD
#define DIST_COMPILER_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

// Options that several passes have.
def ScheduleFile : Option<"schedule", "schedule", "std::string", "\"\"",
  "File with the schedule, or, called *.json, with a plan; without it, the "
  "module has it, or there is none">;
def PlanFile : Option<"plan", "plan", "std::string", "\"\"",
  "File with a plan, in place of a schedule">;
def ScheduleName : Option<"scheduleName", "schedule-name", "std::string",
  "\"\"", "Which schedule, where there are several">;
def AllowUnmatched : Option<"allowUnmatched", "allow-unmatched", "bool",
  "false", "Warn of a directive that matches nothing, and go on">;
def Places : Option<"places", "places", "bool", "false",
  "Say at how many places each directive applies">;
def F64 : Option<"f64", "f64", "bool", "false",
  "The program was converted to f64 (--dist-convert-to-f64): so are the "
  "functions that come with the schedule">;
def MeshSizes : ListOption<"mesh", "mesh", "std::string",
  "Sizes of mesh axes, in place of the schedule's own: tp=4,dp=2">;
def Bind : ListOption<"bind", "bind", "std::string",
  "Sizes that the module does not know: x[0]=8, or batch=8">;
def FuseTransposesOption : Option<"fuseTransposes", "fuse-transposes", "bool",
  "false", "Store tensors so that collectives are on the leading dimension">;
def AssumeMasks : Option<"assumeMasks", "assume-masks", "bool", "false",
  "Scores of attention are at most 4000 in magnitude, and each query sees a "
  "key, so that masks of -1e4 or less hide keys (--dist-recognize-windows)">;
def StopPlaced : Option<"stopPlaced", "stop-placed", "bool", "false",
  "Stop at level 2, where all is placed and nothing cut up yet">;
def Turns : Option<"turns", "turns", "std::string", "\"\"",
  "Each device does its part of the batch in turns: how many, or an axis of "
  "the mesh">;
def OverlapMode : Option<"overlap", "overlap", "std::string", "\"\"",
  "auto: collectives run beside computation where that pays; off: not at all; "
  "nothing: auto where a machine is given and the program is at level 3">;
def Halos : Option<"halos", "halos", "std::string", "\"\"",
  "How rows of neighbours come (--dist-lower-halos): auto, exchange, gather or "
  "shifts; nothing: auto where overlap is, else exchange">;
def JoinHalosOption : Option<"joinHalos", "join-halos", "std::string", "\"\"",
  "Whether layers that follow each other exchange rows once "
  "(--dist-join-halos): auto, never or always; nothing: auto where overlap=auto "
  "is said, else never, as joined exchanges may change bits">;
def MachineOption : Option<"machine", "machine", "std::string", "\"\"",
  "What it runs on: a name or a file, as of dist-report">;
def LinkOption : Option<"link", "link", "std::string", "\"\"",
  "As of --dist-schedule-overlap">;
def OverlapMemory : Option<"overlapMemory", "overlap-memory", "double", "1.1",
  "How many times the memory of the program without overlap may be needed">;
def ReportOption : Option<"report", "report", "bool", "false",
  "Say what was estimated and done, as remarks">;

def DistDistribute : Pass<"dist-distribute", "::mlir::ModuleOp"> {
  let summary = "A module of any level becomes the program of one device: to level 3 or 4";
  let description = [{
    All that `dist-run` and `dist-compile` do before they lower the program, with
    their options:

    ```
    dist-opt model.mlir --dist-distribute="schedule=tp.mlir mesh=tp=4 machine=8xA100 overlap=auto turns=2"
    ```

    These passes, one after the other:

    | pass | from level | to |
    |---|---|---|
    | `--dist-schedule-program` | 0 | 1 |
    | those of `then`: a step of training (`--dist-train-step`) | 1 | 1 |
    | `--dist-partition-program` | 1 or 2 | 3 |
    | `--dist-recompute` | 3 | 3 |
    | `--dist-overlap-program` | 3 | 4 |

    A level-3 program is taken as it is: nothing is recomputed in it, and `then` is
    left out. A level-2 program keeps its placement, unless it gets another mesh or
    other sizes. With `turns=auto` all of this is done twice, for the batch in one
    turn and in two (`--dist-choose-turns`).
  }];
  let options = [
    ScheduleFile, PlanFile, ScheduleName, AllowUnmatched, Places, F64, MeshSizes, Bind,
    ListOption<"then", "then", "::mlir::OpPassManager",
      "Passes that change the program at level 1, after the schedule: "
      "builtin.module(dist-train-step{loss=mse})">,
    FuseTransposesOption, StopPlaced, AssumeMasks,
    Option<"recompute", "recompute", "std::string", "\"cheap\"",
      "What backward computes again (--dist-recompute): asked, cheap or gathers">,
    Option<"turns", "turns", "std::string", "\"\"",
      "Each device does its part of the batch in turns: how many, an axis of "
      "the mesh, or auto: two where that pays on the machine">,
    OverlapMode, Halos, JoinHalosOption, MachineOption, LinkOption,
    OverlapMemory, ReportOption,
  ];
}

def DistScheduleProgram : Pass<"dist-schedule-program", "::mlir::ModuleOp"> {
  let summary = "What a schedule says, for a mesh and sizes that are known: level 0 to 1";
  let description = [{
    Reads the schedule or plan, gives the mesh and open dimensions their sizes
    (`--dist-bind-sizes`), applies the schedule (`--dist-apply-schedule`) and cuts the
    batch into turns (`--dist-split-batch`).

    ```mlir
    func.func @main(%x: tensor<?x8xf32> {dist.input = "x"}, …
    ```
    with `schedule=tp.mlir mesh=tp=4 bind=x[0]=16` becomes
    ```mlir
    dist.mesh @m ["tp" = 4]          // "tp" = 2 in tp.mlir
    func.func @main(%x: tensor<16x8xf32> {dist.input = "x",
                      dist.sharding = #dist.sharding<@m, [{"tp"}, {?} ]>}, …
    ```
    A program of level 2 or 3 has no schedule; it gets its sizes.
  }];
  let options = [
    ScheduleFile, PlanFile, ScheduleName, AllowUnmatched, Places, F64, MeshSizes, Bind,
    Turns,
  ];
}

def DistPartitionProgram : Pass<"dist-partition-program", "::mlir::ModuleOp"> {
  let summary = "Placement and partitioning: level 1 or 2 to 3";
  let description = [{
    `--dist-spmd` of a module of level 1; of one of level 2, which is placed, its
    second half. A module of level 3 is verified (`--dist-verify-spmd`); one of level
    0 has no mesh, and stays.
  }];
  let options = [
    FuseTransposesOption, StopPlaced, AssumeMasks,
    Option<"again", "again", "bool", "false",
      "Place what is placed already, for another mesh or other sizes">,
    Turns, MachineOption, LinkOption,
  ];
}

def DistOverlapProgram : Pass<"dist-overlap-program", "::mlir::ModuleOp"> {
  let summary = "Turns, and collectives beside computation: level 3 to 4";
  let description = [{
    Of these passes those that the options ask for:

    - turns: `--dist-unroll-axis`,
    - halos: `--dist-join-halos` and `--dist-lower-halos`,
    - overlap: `--dist-chunk-collectives`, `--dist-bucket-reductions`,
      `--dist-rotate-loops` and `--dist-schedule-overlap`, within the memory that is
      allowed (`--dist-keep-within-memory`).

    Warns of what a schedule says of overlap (`dist.overlap`) if the program is not
    overlapped.
  }];
  let options = [
    OverlapMode, Halos, JoinHalosOption, Turns, MachineOption, LinkOption,
    OverlapMemory, ReportOption,
  ];
}

def DistKeepWithinMemory : Pass<"dist-keep-within-memory", "::mlir::ModuleOp"> {
  let summary = "Of several ways to overlap, the first that memory is enough for: level 3 to 4";
  let description = [{
    Runs one pipeline of `tries` after the other, each on the module as given, until
    the arena of the program is at most `memory` times that of the module as given.
    Arenas are planned for this: copies of both modules are lowered up to
    `--dist-plan-memory`. If none of them fits, the module stays as it is, or, if a
    schedule has asked for overlap, becomes what the last pipeline makes.

    Why several: the passes that reorder estimate memory from live tensors, and
    count buffers twice that share memory once they are planned. So a pipeline may
    pass its own limit, and need too much; the next one then has a lower limit:

    ```
    --dist-keep-within-memory="memory=1.1
       tries=builtin.module(dist-schedule-overlap{machine=cpu memory=1.1}),builtin.module(dist-schedule-overlap{machine=cpu memory=1.025})"
    ```
    A program that a pipeline starts no collective in is kept without a look at its
    memory.
  }];
  let options = [
    ListOption<"tries", "tries", "::mlir::OpPassManager",
      "Pipelines on builtin.module, in their order">,
    Option<"memory", "memory", "double", "1.1",
      "How many times the arena of the module as given may be needed">,
    ReportOption,
  ];
}

def DistChooseTurns : Pass<"dist-choose-turns", "::mlir::ModuleOp"> {
  let summary = "The batch in one turn or in two, whichever is faster: to level 4";
  let description = [{
    Runs the pipeline `one` on the module, and `two` on a copy. What `two` makes is
    kept if by simulation on the machine (docs/simulate.md) a step is faster by
    `margin`, and if its arena is at most `memory` times that of the other program.
    It is no error if `two` fails; `report` says why.

    ```
    --dist-choose-turns="machine=cpu
       one=builtin.module(dist-distribute{schedule=tp.mlir machine=cpu overlap=auto})
       two=builtin.module(dist-distribute{schedule=tp.mlir machine=cpu overlap=auto turns=2})"
    ```
  }];
  let options = [
    ListOption<"one", "one", "::mlir::OpPassManager", "The first pipeline">,
    ListOption<"two", "two", "::mlir::OpPassManager", "The second pipeline">,
    MachineOption, LinkOption,
    Option<"margin", "margin", "double", "0.02",
      "By how much a step in two turns must be faster">,
    Option<"memory", "memory", "double", "1.1",
      "How many times the arena of the program in one turn may be needed">,
    ReportOption,
  ];
}

#endif // DIST_COMPILER_DISTRIBUTE_PASSES_TD
