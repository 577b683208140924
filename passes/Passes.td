//===- Passes.td - What every pass does --------------------*- tablegen -*-===//

#ifndef DIST_PASSES_PASSES_TD
#define DIST_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectEntryPass : Pass<"dist-select-entry", "ModuleOp"> {
  let summary = "Only the entry function stays public";
  let description = [{
    The entry function is `@main`, or the only public function; where several are
    public and none is `@main`, that is an error. All others become private, so
    that what the entry function does not call can be dropped: the function that
    runs is the one that was placed.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { … }
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> { … }  // becomes private
    ```
  }];
}

def DistApplySchedulePass : Pass<"dist-apply-schedule", "ModuleOp"> {
  let summary = "Writes the directives of a schedule into the program: level 0 to 1";
  let description = [{
    Reads the schedule of `file` (else that of the module), moves its mesh into
    the module, and turns each directive into shardings of arguments and results,
    sharding constraints, and value-level syncs. A directive that matches nothing
    and is not `optional`, or that cannot be used, is an error at its own line.

    ```mlir
    dist.shard "fc" column over "tp"
    ```

    on a module whose path is `fc`,

    ```mlir
    func.func @main(%w: tensor<8x16xf32> {dist.parameter = "fc.weight"}, …) {
      …
      %1 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : …) outs(%0 : …) -> tensor<4x16xf32>
    ```

    makes

    ```mlir
    func.func @main(%w: tensor<8x16xf32> {dist.parameter = "fc.weight",
                                          dist.sharding = #dist.sharding<@m, [{?}, {"tp"} ]>}, …) {
      …
      %1 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : …) outs(%0 : …) -> tensor<4x16xf32>
      %2 = dist.sharding_constraint %1 <@m, [{?}, {"tp"} ]>
             cause "s.mlir:3: dist.shard \"fc\" column over \"tp\"" {dist.scope = "fc"} : tensor<4x16xf32>
    ```

    A path stands for the module's own ops and those of the modules within it.

    - `column` shards the output features of the contractions of activations with
      a parameter: the parameter's dimension and the result's; `row` the input
      features: the parameter's dimension and the activations'. Which dimensions
      these are follows from the contraction's factors, also through reshapes and
      transposes of the parameter. Modules without parameters that a glob matches
      on the way are passed over; one that has parameters, but no contraction, is
      an error.
    - `parameter`, `input` and `output` before the target place what has that name.
      Several directives on one tensor add up, where they shard different dimensions
      over different axes; else they are an error.
    - `input k` and `output k` after the target are what a module reads that comes
      from elsewhere, and what it makes that is read elsewhere, as syncs have them
      (below), in program order. They become constraints that the module's own
      readers see, or the others.
    - `value` before the target places what an op makes whose location has that
      name, and other ops read.
    - `dist.replace` and, after it, `dist.decompose` change ops before anything is
      placed, wherever they stand in the schedule.
    - a sync `fwd_pre` acts on the module's inputs: what its weights are applied
      to, else all tensors that it reads and that are no parameters. Only ops of
      the module see the result; modules that read the same value share one sync.
    - a sync `fwd_post` acts on the module's outputs; `reduce_scatter` and
      `all_reduce` go to where the sum is pending, which is before a bias is
      added. `dim` counts the dimensions of the output.
    - a sync by a function becomes a `dist.manual_reshard` with the function's body;
      `fwd_post` of one that takes a pending sum goes to where that is pending, too.

    Functions that directives name are no part of the result.

    For each directive a line on standard error says how many places it applied
    to.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "File with the schedule; without it, the module has it">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "Name of the schedule, where there are several">,
    Option<"allowUnmatched", "allow-unmatched", "bool", "false",
           "Warn of a directive that matches nothing, and go on">,
    Option<"report", "report", "bool", "true",
           "Print how many places each directive applied to">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::tensor::TensorDialect"];
}

def DistApplyPlanPass : Pass<"dist-apply-plan", "ModuleOp"> {
  let summary = "Writes a sharding plan into the program: level 0 to 1";
  let description = [{
    Reads the plan, which is JSON in veScale's form, and does what
    `--dist-apply-schedule` does with the directives that it stands for
    (docs/schedules.md):

    ```json
    {"mesh": {"dp": 2, "tp": 4},
     "parameter": {"h\\.\\d+\\.fc\\.weight": ["R", "S(0)"]},
     "forward": {"h\\.\\d+\\.proj.output": [["R", "S(1)"]]}}
    ```

    is

    ```mlir
    dist.mesh @plan ["dp" = 2, "tp" = 4]
    dist.schedule @plan on @plan {
      dist.shard parameter "/h\\.\\d+\\.fc\\.weight/" [0 = {"tp"} ]
      dist.shard "/h\\.\\d+\\.proj/" output 0 [1 = {"tp"} ]
    }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "File with the plan">,
    Option<"allowUnmatched", "allow-unmatched", "bool", "false",
           "Warn of a pattern that matches nothing, and go on">,
    Option<"report", "report", "bool", "true",
           "Print how many places each placement applied to">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::tensor::TensorDialect"];
}

def DistDifferentiatePass : Pass<"dist-differentiate", "ModuleOp"> {
  let summary = "Adds the gradients of a result to a program: level 0 or 1";
  let description = [{
    The function, which is the entry function unless `function` names another, gets
    a result for each argument that `wrt` names (globs over the names of parameters
    and inputs; without it, all parameters of floats): the gradient of the result `of`,
    called `NAME.grad`, which is placed as its argument is. A result that is no single
    number is differentiated along a cotangent, an input that `cotangent` names and that
    the pass adds. What comes out is a program like any other, of the level that it was:
    run it after `--dist-apply-schedule`, so that directives mean the forward.

    ```mlir
    func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                    %w: tensor<8x16xf32> {dist.parameter = "w"})
        -> (tensor<4x16xf32> {dist.output = "y"}) {
      …
      %y = linalg.matmul ins(%x, %w : …) outs(%0 : …) -> tensor<4x16xf32>
      return %y : tensor<4x16xf32>
    }
    ```

    with `cotangent=dy` makes

    ```mlir
    func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                    %w: tensor<8x16xf32> {dist.parameter = "w"},
                    %dy: tensor<4x16xf32> {dist.input = "dy"})
        -> (tensor<4x16xf32> {dist.output = "y"},
            tensor<8x16xf32> {dist.output = "w.grad"}) {
      …
      // of x [4, 8] and dy [4, 16], summed over the 4 rows
      %dw = linalg.generic … ins(%x, %dy : …) outs(%1 : …) -> tensor<8x16xf32>
      return %y, %dw : tensor<4x16xf32>, tensor<8x16xf32>
    }
    ```

    Ops are known through `DifferentiableOpInterface` alone; docs/training.md says
    which have it, and what is taken for the derivative where there are several.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to differentiate, in place of the entry function">,
    Option<"of", "of", "std::string", "\"\"",
           "Name of the result to differentiate, where there are several">,
    Option<"cotangent", "cotangent", "std::string", "\"\"",
           "Name of a new input, the cotangent of a result that is no single number">,
    ListOption<"wrt", "wrt", "std::string",
               "Parameters and inputs to differentiate with respect to, as globs">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def DistTrainStepPass : Pass<"dist-train-step", "ModuleOp"> {
  let summary = "A step of training of a forward-only program: level 0 or 1";
  let description = [{
    The loss of the result `of`, its gradients with respect to the parameters
    (`--dist-differentiate`) and an optimizer: the function takes besides what it took
    what the result should be (`target`: labels of i64 for `cross_entropy`, of which -100
    does not count; for `mse` a tensor like the result), how many steps were done before
    (`step`), and what the optimizer keeps of each parameter, under the names that PyTorch
    has for it (`w.exp_avg`; arguments with `dist.state`, placed as the parameter). Its
    results are the `loss`, and each parameter and state anew, under the name that it came
    in by; `dist.updates` of a result is the number of the argument whose place it takes in
    the next step, and `dist.updated` on that argument keeps whatever is made of parameters
    once (packed weights, weights joined when they are loaded) from being made of it. All of it is ordinary IR of the level that it was; run it after
    `--dist-apply-schedule`, so that directives mean the forward.

    ```mlir
    func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                    %w: tensor<8x16xf32> {dist.parameter = "w"})
        -> (tensor<4x16xf32> {dist.output = "y"})
    ```

    with `optimizer=sgd,lr=0.1,momentum=0.9` becomes

    ```mlir
    func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                    %w: tensor<8x16xf32> {dist.parameter = "w", dist.updated},
                    %labels: tensor<4xi64> {dist.input = "labels"},
                    %step: tensor<i64> {dist.input = "step"},
                    %m: tensor<8x16xf32> {dist.parameter = "w.momentum_buffer", dist.state, dist.updated})
        -> (tensor<f32> {dist.output = "loss"},
            tensor<8x16xf32> {dist.output = "w", dist.updates = 1},
            tensor<8x16xf32> {dist.output = "w.momentum_buffer", dist.updates = 4})
    ```

    A label that is neither a class nor -100 ends the run, with the op `cf.assert`.

    Optimizers are `sgd`, `adam` and `adamw`, with PyTorch's formulas and, where nothing
    is said, its numbers: `lr`, `weight_decay`, `momentum` and `nesterov` of `sgd`,
    `betas=0.9:0.999` and `eps` of the others; `clip` is the norm of all gradients together
    that they are scaled to; `schedule` is `constant`, `linear` or `cosine` with `steps` and
    `min_lr`, after `warmup` steps; with `masters` parameters of 16 bits are rounded copies
    of others of 32 (`w.master`), which are what changes.
    `zero=AXIS` shares out the states over an axis of the program's mesh that their
    parameters are whole on, along the largest dimension that no axis cuts (ZeRO,
    Rajbhandari et al. 2020).

    What the model updates itself (results that have `dist.updates` already: running
    statistics of batch norms) a step goes on to update: such arguments are no
    parameters that are trained, and such results none that a loss is of unless it is
    named. Each microbatch goes on from the one before.

    With `accumulate=K` a step takes K batches, one after the other in a loop: each input
    gets a leading dimension of K, and loss and gradients are those of all K together. The
    labels that count do so in all of them; sums over devices are left pending by the loop,
    and completed once.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function, in place of the entry function">,
    Option<"of", "of", "std::string", "\"\"",
           "Name of the result that the loss is of, where there are several">,
    Option<"loss", "loss", "std::string", "\"cross_entropy\"",
           "cross_entropy, mse, or result: the result is the loss itself">,
    Option<"target", "target", "std::string", "\"labels\"",
           "Name of the new input with what the result should be">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "The optimizer with its numbers: adamw,lr=3e-4">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "How many batches a step takes, one after the other">,
    ListOption<"parameters", "parameters", "std::string",
               "Parameters that are trained, as globs; without it all of floats">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def EraseAnnotationsPass : Pass<"dist-erase-annotations", "ModuleOp"> {
  let summary = "The program without where it runs: level 0 to 2 to level 0";
  let description = [{
    Erases meshes, schedules, shardings, constraints, syncs and reshards: what is
    left computes the same on one device. `dist-run --verify` compares with it.

    ```mlir
    %1 = dist.sharding_constraint %0 #rows : tensor<8x4xf32>   // before
    %2 = math.exp %1 : tensor<8x4xf32>
    %2 = math.exp %0 : tensor<8x4xf32>                         // after
    ```
  }];
}

#endif // DIST_PASSES_PASSES_TD
