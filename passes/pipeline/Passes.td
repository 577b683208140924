//===- Passes.td - A model cut into stages -----------------*- tablegen -*-===//
//
// A step of training as tasks of stages, and back.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_PIPELINE_PASSES_TD
#define DIST_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistPipeline : Pass<"dist-pipeline", "::mlir::ModuleOp"> {
  let summary = "Cuts a step of training into the tasks of stages: level 3";
  let description = [{
    Needs a program of level 3 whose mesh notes a `dist.pipeline`, with a loop over
    microbatches (`accumulate` of `--dist-train-step`). Without the loop there is one
    microbatch, or those of `microbatches`. All that the program
    computes then stands in `dist.task`s. A value that another stage reads goes
    through a `dist.transfer`.

    In the loop an op is placed by the first of these rules that applies:

    1. What is computed from inputs and constants alone is computed by each stage
       that reads it. So masks are never sent.
    2. An op of a module that the pipeline lists is in that module's stage.
    3. Another op of forward is in the latest stage that it is computed from. One
       that reads parameters alone (a lookup) is in the stage of its first reader.
    4. Another op of backward is where the forward of its module is. If that is
       several stages, it is in the earliest one that it has gradients from. So
       gradients that are added up are sent as one.

    What comes before the loop is done by each stage that reads it. What comes
    after is done where its operands are. An op with operands of several stages is
    done by each stage that reads it, or by one of them if that sends less.

    A parameter that several stages read (tied embeddings) becomes an argument of
    each. Its gradients are summed up by stage, and exchanged once a step.

    ```mlir
    %r = scf.for %k = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (tensor<f32>) {
      %a = linalg.matmul {dist.scope = "h.0"} …
      %b = linalg.matmul {dist.scope = "h.1"} ins(%a, %w1 : …) …
      …
    }
    ```
    becomes
    ```mlir
    %i = dist.task stage 1 begin { … } : tensor<f32>
    %r = scf.for %k = %c0 to %c4 step %c1 iter_args(%sum = %i) -> (tensor<f32>) {
      %0 = dist.task stage 0 forward { … linalg.matmul … } : tensor<4x8xf32>
      %1 = dist.transfer %0 stage 0 to 1 : tensor<4x8xf32>
      %2 = dist.task stage 1 forward { … linalg.matmul ins(%1, %w1 : …) … } : tensor<f32>
      …
    }
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "",
           "For balance, the machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "One link along each axis of the mesh, instead of the machine's: {latency=20us,bandwidth=1GB/s}">,
    Option<"microbatches", "microbatches", "std::string", "",
           "Of a program without a loop, the axis of the mesh whose places are microbatches">
  ];
}

def DistInlineTasks : Pass<"dist-inline-tasks", "::mlir::ModuleOp"> {
  let summary = "The program of one device of a program of tasks: level 3";
  let description = [{
    Each `dist.task` is replaced by its ops, each `dist.transfer` by its operand.
    What is left is the loop that `--dist-pipeline` has cut, which computes the
    same.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

#endif // DIST_PASSES_PIPELINE_PASSES_TD
