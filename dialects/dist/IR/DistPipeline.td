//===- DistPipeline.td - Models cut into stages ------------*- tablegen -*-===//
//
// The directives that cut a model into stages, and the tasks and transfers that
// its program then consists of.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTPIPELINE_TD
#define DIST_IR_DISTPIPELINE_TD

include "dialects/dist/IR/DistAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Directives
//===----------------------------------------------------------------------===//

def Dist_PipelineOp : Dist_Op<"pipeline", [HasParent<"ScheduleOp">]> {
  let summary = "In a schedule: the model is cut into stages along an axis";
  let description = [{
    Each coordinate of the axis holds some stages of the model. Microbatches pass
    through the stages. `dist.stages` or `dist.cut_pipeline_stage` say which
    modules a stage has. Nothing else may be sharded over the axis.

    ```mlir
    dist.pipeline "1f1b" over "pp"
    dist.stages "transformer.h.*"
    ```

    | table | first described by |
    |---|---|
    | `gpipe` | Huang et al. 2019 |
    | `1f1b` | Narayanan et al. 2019 (PipeDream-Flush) |
    | `interleaved`, with `chunks` of at least 2 | Narayanan et al. 2021 (Megatron-LM) |
    | `zb_h1`, `zb_v` | Qi et al. 2024 (zero bubble) |

    With v `chunks`, a coordinate r of p has the stages r, p + r, and so on. Under
    `zb_v` it has two: r and 2p - 1 - r.

    The gradients of inputs and those of weights are tasks of their own under
    `zb_h1` and `zb_v`. With `split` they are under any table.

    `table "mine.csv"` is a table of your own, beside the schedule: a row a
    coordinate, as PyTorch's `compute_only` has it, `0F0,1F0,1I0,1W0,0B0`. A task
    is the stage, what it does, and the microbatch. F is forward, B backward; I
    and W are backward in two parts.

    Constraints:
    - (C1) the table is one of these, or a file.
    - (C2) there is one axis, whole, of the schedule's mesh.
    - (C3) `chunks` is at least 1; it is 1 but under `interleaved`, which has at
      least 2.
    - (C4) a file has no `chunks` and no `split`: it says both.
  }];
  // The text is what the file holds.
  let arguments = (ins StrAttr:$table, Dist_AxisRefArrayAttr:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$chunks,
                       UnitAttr:$split, UnitAttr:$file,
                       OptionalAttr<StrAttr>:$text);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_StagesOp : Dist_Op<"stages", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: which modules the stages of a pipeline have";
  let description = [{
    The modules that `target` matches are dealt out to the stages in program
    order, evenly. `sizes` says how many each stage gets. With `balance` the
    slowest stage takes as few seconds as it can, on the machine of `--machine`. Of
    what is in none of them, each op is where its operands are: embeddings in the
    first stage, a head in the last.

    ```mlir
    dist.stages "transformer.h.*"                    // 10 layers on 4 stages: 2, 3, 3, 2
    dist.stages "transformer.h.*" sizes [3, 4, 3, 2]
    dist.stages "transformer.h.*" balance
    dist.stages "{encoder,decoder}.block.*"
    ```

    Constraints:
    - (C1) no module that `target` matches is within another one.
    - (C2) there are at least as many modules as stages. Sizes are at least 1, as
      many as stages, and add up to the number of modules. There are sizes or
      `balance`.
    - (C3) `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, OptionalAttr<DenseI64ArrayAttr>:$sizes,
                       UnitAttr:$balance, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_CutPipelineStageOp
    : Dist_Op<"cut_pipeline_stage", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: a stage of a pipeline begins with this module";
  let description = [{
    In place of `dist.stages`, one line for each stage but the first (as in Slapo,
    Chen et al. 2023). The modules are those beside the ones that are named.

    ```mlir
    dist.cut_pipeline_stage "transformer.h.6"   // h.0 to h.5, and h.6 and on
    ```

    Constraint: `target` matches one module; `expect` is at least 1, and not
    `optional`.
  }];
  let arguments = (ins StrAttr:$target, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Level 3
//===----------------------------------------------------------------------===//

def Dist_TaskOp : Dist_Op<"task", [
    RecursiveMemoryEffects, SingleBlock, NoRegionArguments]> {
  let summary = "What one stage of a pipeline does";
  let description = [{
    A program that `--dist-pipeline` has cut consists of tasks, in the order of
    one device. Those in the loop over microbatches are done once for each of
    them, in the order of a table:

    | kind | what it does |
    |---|---|
    | `begin` | what is done once before all microbatches |
    | `forward` | forward of one microbatch |
    | `backward` | what leads to gradients that an earlier stage reads; without a `weight` task also the rest |
    | `weight` | the rest: gradients of parameters |
    | `end` | what is done once after all microbatches; with several parts if stages read each other's |

    ```mlir
    %1 = dist.task stage 0 forward {
      %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      dist.task_yield %0 : tensor<8xf32>
    } : tensor<8xf32>
    %2 = dist.transfer %1 stage 0 to 1 : tensor<8xf32>
    ```

    Constraints:
    - (C1) it reads values of its own stage, and transfers to it.
    - (C2) stage and part are not negative; only `end` has a part but 0.
    - (C3) results are tensors of static sizes.
  }];
  let arguments = (ins I64Attr:$stage, Dist_TaskKind:$kind,
                       DefaultValuedAttr<I64Attr, "0">:$part);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `stage` $stage $kind (`part` $part^)? attr-dict-with-keyword $body
    (`:` type($results)^)?
  }];
  let hasRegionVerifier = 1;
}

def Dist_TaskYieldOp : Dist_Op<"task_yield", [
    Pure, Terminator, HasParent<"TaskOp">]> {
  let summary = "Ends a dist.task";
  let description = [{
    ```mlir
    dist.task_yield %0 : tensor<8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def Dist_TransferOp : Dist_Op<"transfer", [Pure, SameOperandsAndResultType]> {
  let summary = "A value of one stage, as another one reads it";
  let description = [{
    Each device sends its part of the value to the device of the other stage that
    has the same coordinates along all other axes. Nothing is sent if both stages
    are on one device.

    ```mlir
    %2 = dist.transfer %1 stage 0 to 3 : tensor<8x16xf32>
    ```

    Constraint: the stages differ, and are not negative.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$source,
                       I64Attr:$target);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `stage` $source `to` $target attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

#endif // DIST_IR_DISTPIPELINE_TD
