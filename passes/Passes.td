//===- Passes.td - Schedules, gradients, training ----------*- tablegen -*-===//

#ifndef DIST_PASSES_PASSES_TD
#define DIST_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectEntryPass : Pass<"dist-select-entry", "ModuleOp"> {
  let summary = "Only the entry function stays public";
  let description = [{
    The entry function is `@main`, or the only public function. Several public
    functions and no `@main` are an error. All other functions become private, so
    that those that the entry function does not call can be dropped.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { … }
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> { … }  // becomes private
    ```
  }];
}

def DistApplySchedulePass : Pass<"dist-apply-schedule", "ModuleOp"> {
  let summary = "Writes the directives of a schedule into the program: level 0 to 1";
  let description = [{
    Reads the schedule from `file`, or else from the module. Moves its mesh into
    the module. Turns each directive into shardings of arguments and results,
    sharding constraints, and syncs of values. A directive is an error, at its own
    line, if it cannot be applied, or if it matches nothing and is not `optional`.

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

    A path stands for the ops of the module and of the modules within it.

    - `column` shards the output features of the contractions of activations with
      a parameter: the parameter's dimension and the result's. `row` shards the
      input features: the parameter's dimension and the activations'. The
      contraction's factors tell which dimensions these are, also through reshapes
      and transposes of the parameter. If a glob matches a module without
      parameters, the module is skipped. A module with parameters but without a
      contraction is an error.
    - `parameter`, `input` and `output` before the target place the tensor of that
      name. Several directives on one tensor are combined if they shard different
      dimensions over different axes. Otherwise they are an error.
    - `input k` and `output k` after the target place what a module reads from
      outside, and what others read of it, in program order, as syncs do (below).
      They become constraints. Only the module's own readers see the constraint of
      an input, and only other readers that of an output.
    - `value` before the target places a value that other ops read, by the name in
      its op's location.
    - `dist.replace`, and after it `dist.decompose`, change ops before anything is
      placed, wherever they stand in the schedule.
    - A sync `fwd_pre` applies to the module's inputs. These are the tensors that its
      weights are applied to. A module without weights has all tensors that it reads
      as inputs, except parameters. Only ops of the module see the result. Modules that
      read the same value share one sync.
    - A sync `fwd_post` applies to the module's outputs. `reduce_scatter` and
      `all_reduce` are put where the sum is pending, which is before a bias is
      added. `dim` counts the dimensions of the output.
    - A sync by a function becomes a `dist.manual_reshard` with the function's
      body. `fwd_post` of a function that takes a pending sum is put where the sum
      is pending, too.

    Leaves a program of level 1, without the functions that directives name. For
    each directive, a line on standard error says how many places it applied to.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "File with the schedule; without it, the module has it">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "Name of the schedule, if there are several">,
    Option<"allowUnmatched", "allow-unmatched", "bool", "false",
           "A directive that matches nothing is a warning, not an error">,
    Option<"report", "report", "bool", "true",
           "Print how many places each directive applied to">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::tensor::TensorDialect"];
}

def DistApplyPlanPass : Pass<"dist-apply-plan", "ModuleOp"> {
  let summary = "Writes a sharding plan into the program: level 0 to 1";
  let description = [{
    Reads a plan, JSON in veScale's form, and translates it to directives
    (docs/schedules.md). Then it does what `--dist-apply-schedule` does with
    these:

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
           "A pattern that matches nothing is a warning, not an error">,
    Option<"report", "report", "bool", "true",
           "Print how many places each placement applied to">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::tensor::TensorDialect"];
}

def DistDifferentiatePass : Pass<"dist-differentiate", "ModuleOp"> {
  let summary = "Adds the gradients of a result to a program: level 0 or 1";
  let description = [{
    Needs a program of level 0 or 1. Run it after `--dist-apply-schedule`, so that
    directives apply to the forward ops only. Leaves a program of the same level.

    `of` names the result to differentiate. For each argument that `wrt` names,
    the function gets a further result `NAME.grad`, which is placed like the
    argument. `wrt` holds globs over the names of parameters and inputs. Without
    it, all parameters of floats get a gradient. A result that is not a single
    number needs a cotangent: the pass adds an input of the name `cotangent` for
    it. The function is the entry function, unless `function` names another.

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

    The pass knows ops only through `DifferentiableOpInterface`. docs/gradients.md
    says which ops have it, and which derivative is taken at points that have several.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to differentiate, in place of the entry function">,
    Option<"of", "of", "std::string", "\"\"",
           "Name of the result to differentiate, if there are several">,
    Option<"cotangent", "cotangent", "std::string", "\"\"",
           "Name of a new input: the cotangent of a result that is not a single number">,
    ListOption<"wrt", "wrt", "std::string",
               "Parameters and inputs to differentiate with respect to, as globs">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def DistTrainStepPass : Pass<"dist-train-step", "ModuleOp"> {
  let summary = "A training step of a forward-only program: level 0 or 1";
  let description = [{
    Needs a forward-only program of level 0 or 1. Run it after
    `--dist-apply-schedule`, so that directives apply to the forward ops only.
    Leaves ordinary IR of the same level: the loss of the result `of`, the
    gradients of the parameters (`--dist-differentiate`), and an optimizer.

    The function gets these further arguments:

    - the target, named by `target`. For `cross_entropy` it is labels of i64; -100
      means that the position does not count. For `mse` it is a tensor like the
      result.
    - `step`: the number of steps before this one.
    - the optimizer's states of each parameter, with PyTorch's names
      (`w.exp_avg`). They have `dist.state`, and are placed like the parameter.

    Its results are the `loss`, and the new values of parameters and states, under
    the names of the arguments. `dist.updates` on a result is the number of the
    argument that it replaces in the next step. `dist.updated` on that argument
    says that its value changes in each step. So nothing computed from it may be
    kept, such as packed or joined weights.

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

    A label that is neither a class nor -100 ends the run: the program checks it
    by `cf.assert`.

    Optimizers are `sgd`, `adam` and `adamw`, with PyTorch's formulas and
    defaults:

    - `lr` and `weight_decay`; `momentum` and `nesterov` of `sgd`;
      `betas=0.9:0.999` and `eps` of the others.
    - `clip`: the largest norm of all gradients together; larger ones are scaled
      down to it.
    - `schedule`: `constant`, `linear` or `cosine`, with `steps` and `min_lr`,
      after `warmup` steps.
    - `masters`: parameters of 16 bits are rounded copies of parameters of 32 bits
      (`w.master`), which the optimizer changes.
    - `zero=AXIS`: states are sharded over an axis of the program's mesh over which
      their parameters are replicated (ZeRO, Rajbhandari et al. 2020). They are cut
      along the largest dimension that no axis shards.

    A model may update buffers itself, such as running statistics of batch norms:
    these are results that have `dist.updates` already. A step updates them too.
    Such arguments are not trained. No loss is taken of such results unless `of`
    names one. Each microbatch starts from the buffers of the one before.

    With `accumulate=K` a step takes K batches, one after the other, in a loop.
    Each input gets a leading dimension of K. Loss and gradients are those of all
    K batches together, over all labels that count. Sums over devices stay pending
    in the loop and are completed once after it.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function, in place of the entry function">,
    Option<"of", "of", "std::string", "\"\"",
           "Name of the result to take the loss of, if there are several">,
    Option<"loss", "loss", "std::string", "\"cross_entropy\"",
           "cross_entropy, mse, or result: the result is the loss itself">,
    Option<"target", "target", "std::string", "\"labels\"",
           "Name of the new input that the result is compared with">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "The optimizer with its numbers: adamw,lr=3e-4">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "Number of batches in a step, one after the other">,
    ListOption<"parameters", "parameters", "std::string",
               "Parameters to train, as globs; default: all parameters of floats">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def EraseAnnotationsPass : Pass<"dist-erase-annotations", "ModuleOp"> {
  let summary = "The program without its distribution: level 0 to 2 to level 0";
  let description = [{
    Erases meshes, schedules, shardings, constraints, syncs and reshards. The rest
    computes the same on one device. `dist-run --verify` compares with it.

    ```mlir
    %1 = dist.sharding_constraint %0 #rows : tensor<8x4xf32>   // before
    %2 = math.exp %1 : tensor<8x4xf32>
    %2 = math.exp %0 : tensor<8x4xf32>                         // after
    ```
  }];
}

#endif // DIST_PASSES_PASSES_TD
