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

def DecomposeSoftmaxPass : Pass<"dist-decompose-softmax", "ModuleOp"> {
  let summary = "linalg.softmax as its parts: any level before 2";
  let description = [{
    The largest element of each row, the powers of the differences to it, their
    sum, the quotients. So devices that share out a row combine one element of
    it for the maximum, and one for the sum.

    ```mlir
    %1 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %m = linalg.generic … ins(%x : tensor<4x8xf32>) outs(… : tensor<4xf32>)    // maximumf
    %p = linalg.generic … ins(%x, %m : …) outs(… : tensor<4x8xf32>)            // exp(x - m)
    %s = linalg.generic … ins(%p : tensor<4x8xf32>) outs(… : tensor<4xf32>)    // addf
    %1 = linalg.generic … ins(%p, %s : …) outs(%0 : tensor<4x8xf32>)           // divf
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RecognizeWindowsPass : Pass<"dist-recognize-windows", "ModuleOp"> {
  let summary = "Attention to keys nearby becomes dist.attention: any level before 2";
  let description = [{
    Where masks that hang on places alone, computed or constant, leave each query some
    keys around it, the two contractions and the softmax between them become one
    `dist.attention` with its `window`: devices that share out the sequence then need
    their neighbours' keys and values at the borders, and no others. Whatever else is
    attention stays as it is, and so does what differs where a row sees no key: data that
    may mask the whole window with the least number of its type makes the mean of all
    values of such a row. Programs without a mesh stay as they are.

    Its adjoint becomes one `dist.attention_adjoint` with the same window, where all that
    reads the weights is that (`--dist-form-attention`); in place of a search, what a
    `dist.attention` had for its window before `--dist-differentiate` took it apart.

    ```mlir
    %s = linalg.contract ins(%q, %k) …                 // before
    %x = linalg.generic ins(%s) …                      // i - 63 <= j <= i, or else -inf
    … softmax …
    %o = linalg.contract ins(%p, %v) …
    %o = dist.attention(%q, %k, %v) … window [63, 0]   // after
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::tensor::TensorDialect"];
}

def SeparateDimsPass : Pass<"dist-separate-dims", "ModuleOp"> {
  let summary = "Merged dimensions are taken apart where devices share out a minor one unevenly: any level before 2";
  let description = [{
    Of a batch and heads that are merged into one dimension, as in exports that
    call a batched product, the heads can be shared out only in even blocks: 4
    heads on 3 devices could not. Where the operand of a `tensor.collapse_shape`
    is placed so, the linalg ops that read its result, and those that read
    theirs, are rewritten on the dimensions apart, until a `tensor.expand_shape`
    takes them apart itself, or a sum over them is made (a group norm's, of rows
    that devices share out unevenly). Programs whose sizes the mesh divides stay
    as they are, and so do products that sum over a merged dimension.

    ```mlir
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x4x5xf32> into tensor<8x5xf32>
    %1 = linalg.generic … ins(%0 : tensor<8x5xf32>) outs(… : tensor<8x5xf32>)
    %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [2, 4, 5] : tensor<8x5xf32> into tensor<2x4x5xf32>
    ```
    becomes, where `%x` has its dimension 1 on an axis of 3 devices,
    ```mlir
    %2 = linalg.generic … ins(%x : tensor<2x4x5xf32>) outs(… : tensor<2x4x5xf32>)
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def PropagatePass : Pass<"dist-propagate", "ModuleOp"> {
  let summary = "Spreads the user's placements over the program: level 1 to 2";
  let description = [{
    Shardings of arguments, constraints and syncs travel along the factors of ops,
    forwards and backwards, until nothing changes: first through ops that move
    data or work elementwise, then through contractions, then through the rest.
    Where two meet, the one that keeps more bytes in place goes on. Every op gets
    `dist.shardings`, one a result. The outcome depends neither on the order of
    ops nor on the number of devices.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"dp"}, {} ]>}) {
      %0 = arith.negf %x : tensor<8x4xf32>
    ```
    becomes
    ```mlir
      %0 = arith.negf %x {dist.shardings = [#dist.sharding<@m, [{"dp"}, {} ]>]} : tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"strict", "strict", "bool", "false",
           "An op without a sharding rule is an error, not replicated">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def InsertReshardsPass : Pass<"dist-insert-reshards", "ModuleOp"> {
  let summary = "Makes every disagreement of placements a dist.reshard: level 2";
  let description = [{
    Every op decides which of its factors each axis shards, so that the fewest
    bytes move; operands and results that are placed otherwise are resharded. Pending
    reductions pass through ops that commute with them and are completed once.
    Constraints and syncs are checked, used up, and removed; a sync that the
    placements contradict is an error.

    ```mlir
    %1 = linalg.matmul … // %x: [{}, {"tp"} ], %w: [{"tp"}, {} ]
    %2 = linalg.generic … %1, %bias
    ```
    becomes
    ```mlir
    %1 = linalg.matmul … {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"tp"}>]}
    %r = dist.reshard %1 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{}, {} ]> cause "…"
    %2 = linalg.generic … %r, %bias
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def WholeSumsPass : Pass<"dist-whole-sums", "ModuleOp"> {
  let summary = "No sum over an axis is taken apart: level 2";
  let description = [{
    What the devices along an axis do may be done by one of them in turns
    (`--dist-unroll-axis`). A sum over the turns' results would add in another order
    than without turns. So what reduces over the axis gets its operands whole
    and leaves nothing pending there: of a layer in turns of the batch, the
    gradient of its weight is one product over all rows. `--dist-spmd=turns=AXIS` does
    this between its parts.

    ```mlir
    %g = linalg.contract … ins(%x, %dy : …) {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"turn", "dp"}> ]}
    ```
    with `%x` and `%dy` placed as `[{"dp", "turn"}, {} ]` becomes
    ```mlir
    %x1 = dist.reshard %x <@m, [{"dp", "turn"}, {} ]> to <@m, [{"dp"}, {} ]> …
    %dy1 = dist.reshard %dy <@m, [{"dp", "turn"}, {} ]> to <@m, [{"dp"}, {} ]> …
    %g = linalg.contract … ins(%x1, %dy1 : …) {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"dp"}> ]}
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"turn\"", "The axis">
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def VerifyPlacedPass : Pass<"dist-verify-placed", "ModuleOp"> {
  let summary = "Checks a module of level 2";
  let description = [{
    Run by --dist-spmd after --dist-insert-reshards; for modules changed by hand
    and for new passes. A module without placements passes. Each failure is an
    error at the op, with the placements that were judged:

    - (C1) every tensor has a placement: arguments and results of functions
      `dist.sharding`, results of ops an entry of `dist.shardings`; all on one
      mesh. No `dist.sharding_constraint` and no `dist.sync` is left.
    - (C2) the placements of an op's operands and results are those of one
      sharding of its factors; an axis shards one factor at most, and none that
      the op needs whole, nor one whose padding the op does not keep apart.
    - (C3) a reduction is pending in a result where a sharded factor is combined
      into it, or where one is pending in operands and the op commutes with it,
      and nowhere else. What a result with a pending reduction is accumulated
      onto is pending as well, or neutral.
    - (C4) what flows to one place (into, around and out of loops and branches,
      into and out of functions) is placed alike, and complete; but a loop carries
      what is pending in the same way in each round. What a region
      reads at any index, and what unknown functions take, is whole.
    - (C5) a `dist.reshard` starts from its operand's placement and ends at its
      result's.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def VerifySpmdPass : Pass<"dist-verify-spmd", "ModuleOp"> {
  let summary = "Checks a module of level 3";
  let description = [{
    Run by --dist-spmd after --dist-partition. Each failure is an error at the op:

    - (C1) no `dist.reshard`, `dist.sharding_constraint`, `dist.sync` and no
      `dist.shardings` is left; one mesh is in use.
    - (C2) tensors that a function takes and returns have both `dist.sharding` and
      `dist.global_type`, are complete, and have the type of a device's part.
    - (C3) all devices of a group issue the same collectives in the same order:
      none runs under a condition, a number of iterations or in a call that the
      group's devices may see differently. A value may differ along the axes that
      shard it, that its device's coordinates (`dist.axis_index`) or part of a
      constant are of, and where it is computed from such values; all_reduce,
      all_gather and broadcast make it the same again along their axes.

    Groups, dimensions and sizes of collectives are checked by the collectives.

    ```mlir
    %i = dist.axis_index "tp" on @m
    %c = arith.cmpi eq, %i, %c0 : index
    %1 = scf.if %c -> tensor<4xf32> {
      // error: runs under a condition that differs between devices along "tp"
      %2 = dist.all_reduce %0 sum over "tp" on @m : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def PartitionPass : Pass<"dist-partition", "ModuleOp"> {
  let summary = "The program of one device: level 2 to 3";
  let description = [{
    Types become those of the local parts, reshards the cheapest sequences of
    collectives. Arguments and results keep `dist.sharding` and get
    `dist.global_type`, the type of the whole tensor. Dimensions that the mesh
    does not divide are padded; padding is masked where it would be reduced.

    Which sequence is cheapest hangs on the machine's links: of none that is
    named each collective takes 20 us, and its bytes 1 GB/s.
  }];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "What it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "As of --dist-schedule-overlap">,
  ];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def PlanRingsPass : Pass<"dist-plan-rings", "ModuleOp"> {
  let summary = "Which blocks of keys go round for whom: level 2";
  let description = [{
    For attention in modules that `dist.ring` names, whose queries are sharded over
    just the ring's axes: which blocks of keys a mask that hangs on places alone, computed
    or constant, leaves each half of the queries of which device. It is noted with the
    mesh, for `--dist-ring-attention`. Where the directive says `zigzag`, and the busiest
    device would have no less to do with it, that is taken back, with a remark.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::tensor::TensorDialect"];
}

def RingAttentionPass : Pass<"dist-ring-attention", "ModuleOp"> {
  let summary = "Keys and values go round in place of being gathered: level 3";
  let description = [{
    In modules that `dist.ring` names, attention whose keys and values are gathered over
    the ring's axes computes with a device's own block of them, passes it on
    (`dist.send_recv … periodic`), computes with the one it gets, and so on; what queries
    have seen of blocks is put together by the largest x and the sums of numerators
    (Liu et al., "Ring Attention with Blockwise Transformers", 2023). What lies between
    the gathers and the attention (rotations, heads that are repeated) is done block by
    block, before it goes round.

    A block that masks leave a device nothing of (`--dist-plan-rings`) is computed with
    only if some row has seen no key so far. With `zigzag` each device does all that for the
    second half of its own queries, and for the first half of those of the device at the
    other end, which are exchanged before (`dist.collective_permute … reversed`).

    ```mlir
    %k = dist.all_gather %own dim 1 over "cp" …       // before
    … softmax of q and k, times v …
    %next = dist.send_recv %own shift 1 periodic over "cp" …          // after
    %o:3 = dist.attention(%q, %own, …) …
    %more:3 = dist.attention(%q, %next, …) …
    ```
    A module that has no such attention is an error, at the directive.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def GraphHalosPass : Pass<"dist-graph-halos", "ModuleOp"> {
  let summary = "Only rows that indices name are exchanged: level 3";
  let description = [{
    In modules that `dist.graph_halo` names, a `tensor.gather` of rows that were
    gathered over the directive's axes becomes `dist.gather_rows` of the device's own
    block, and a `dist.scatter_add` whose sums are then scattered over these axes
    becomes `dist.reduce_rows`, forward and backward.

    ```mlir
    %all = dist.all_gather %x dim 0 over "gp" : tensor<12x8xf32> -> tensor<24x8xf32>     // before
    %rows = tensor.gather %all[%src] gather_dims([0]) : …
    %sums = dist.scatter_add %m into %zeros[%dst] dims [0] : …
    %y = dist.reduce_scatter %sums sum dim 0 over "gp" : tensor<24x8xf32> -> tensor<12x8xf32>
    %rows = dist.gather_rows %x[%src] dim 0 over "gp" : …                                // after
    %y = dist.reduce_rows %m[%dst] dim 0 over "gp" : …
    ```
    A module of which no lookup is like this is an error, at the directive, and so is
    one whose rows are all gathered for something else as well.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseContractionsPass : Pass<"dist-fuse-contractions", "ModuleOp"> {
  let summary = "Linear layers that read one input become one contraction: level 3";
  let description = [{
    Contractions that `dist.fuse` marks become one for each group, in the place of the
    first: its weight is what the device has of their weights, one after the other in
    the output features, and slices of what it makes stand in their results' place.

    ```mlir
    %q = linalg.contract … {dist.fuse = {group = 1 : i64, …}} ins(%x, %wq : tensor<4x64xf32>, tensor<32x64xf32>) …
    %k = linalg.contract … {dist.fuse = {group = 1 : i64, …}} ins(%x, %wk : tensor<4x64xf32>, tensor<16x64xf32>) …
    ```
    becomes
    ```mlir
    %w = tensor.concat dim(0) %wq, %wk : (tensor<32x64xf32>, tensor<16x64xf32>) -> tensor<48x64xf32>
    %qk = linalg.contract … ins(%x, %w : tensor<4x64xf32>, tensor<48x64xf32>) …
    %q = tensor.extract_slice %qk[0, 0] [4, 32] [1, 1] : tensor<4x48xf32> to tensor<4x32xf32>
    %k = tensor.extract_slice %qk[0, 32] [4, 16] [1, 1] : tensor<4x48xf32> to tensor<4x16xf32>
    ```

    Weights are joined when they are loaded (`--dist-join-parameters`), not in each
    step, unless training makes them anew in each. It is an error, at the directive, where the contractions do not read the same
    tensor, differ in more than their output features, or have weights that are not
    parameters as they were loaded.
  }];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FuseTransposesPass : Pass<"dist-fuse-transposes", "ModuleOp"> {
  let summary = "Collectives on the leading dimension: level 3 to 4";
  let description = [{
    NCCL and MPI cut and join tensors in their leading dimension; in any other one
    blocks are copied together before they are sent, or apart after they came. This
    pass stores tensors in an order of dimensions in which fewer bytes are copied
    so. Ops of linalg write and read any order, by their indexing maps; slices,
    concatenations, reshapes and other collectives between them work in the order
    that they are given. Where that ends, at arguments, results, loops, calls and
    other ops, a `linalg.transpose` with the attribute `dist.packs` is put, if that
    still copies less than before. What is left on another dimension stays as it is.

    ```mlir
    %0 = linalg.contract indexing_maps = [#bsk, #kn, #bsn] … -> tensor<2x8x4xf32>
    %1 = dist.reduce_scatter %0 sum dim 1 over "tp" : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
    %2 = linalg.generic {indexing_maps = [#bsn, #bsn], …} ins(%1 : tensor<2x4x4xf32>) …
    ```
    becomes
    ```mlir
    %0 = linalg.contract indexing_maps = [#bsk, #kn, #sbn] … -> tensor<8x2x4xf32>
    %1 = dist.reduce_scatter %0 sum dim 0 over "tp" : tensor<8x2x4xf32> -> tensor<4x2x4xf32>
    %2 = linalg.generic {indexing_maps = [#sbn, #bsn], …} ins(%1 : tensor<4x2x4xf32>) …
    ```

    An all_to_all of the inverse one is no communication at all, nor is an all_slice
    of the all_gather over the same axes, nor the other way round: they go.

    Nothing is computed otherwise than before. `dist-report` counts what is copied,
    before and after.
  }];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def BindSizesPass : Pass<"dist-bind-sizes", "ModuleOp"> {
  let summary = "Gives sizes that only running would tell: any level";
  let description = [{
    Arguments of the entry function get the sizes given, all values those that
    follow. Functions that are then called with other types than before become
    copies. At level 3 the sizes are those of whole tensors, and devices must
    divide what they shard; at levels 0 to 2 any size will do.

    `--dist-bind-sizes=sizes=x[0]=8` on

    ```mlir
    func.func @main(%x: tensor<?x4xf32> {dist.input = "x"}) -> tensor<?x4xf32> {
      %0 = math.exp %x : tensor<?x4xf32>
    ```
    makes
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.input = "x"}) -> tensor<8x4xf32> {
      %0 = math.exp %x : tensor<8x4xf32>
    ```
  }];
  let options = [
    ListOption<"sizes", "sizes", "std::string",
               "ARGUMENT[DIM]=SIZE, or NAME=SIZE of the dimensions of that name; "
               "arguments without a name are arg0, arg1, …">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::arith::ArithDialect"];
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

def ExplainPass : Pass<"dist-explain", "ModuleOp"> {
  let summary = "Tells where every value's sharding came from, step by step";
  let options = [
    Option<"scope", "scope", "std::string", "\"\"",
           "Only values of ops with this scope">,
  ];
}

#endif // DIST_PASSES_PASSES_TD
