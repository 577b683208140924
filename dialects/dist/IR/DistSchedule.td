//===- DistSchedule.td - Schedules and their directives ----*- tablegen -*-===//
//
// Level 1: what a person writes beside a model.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTSCHEDULE_TD
#define DIST_IR_DISTSCHEDULE_TD

include "dialects/dist/IR/DistAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Dist_ScheduleOp : Dist_Op<"schedule", [
    Symbol, NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "How a model is distributed: a list of directives";
  let description = [{
    Directives name modules of the model by path. A path is a glob, or a regular
    expression between slashes. In a glob, `*` is any run of characters except a
    dot, `**` any run, `?` one character except a dot, and `{a,b}` either of the
    two.

    `--dist-apply-schedule` turns directives into shardings, constraints and
    syncs. A directive that matches nothing is an error, unless it is `optional`.
    So is an alternative of a brace that matches nothing: `{q,k,w}_proj` if there
    is no `w_proj`. `expect n` at the end of a directive makes it an error if the
    directive applies to another number of places.

    ```mlir
    dist.schedule @megatron_sp on @m {
      dist.shard "transformer.h.*.attn.c_attn" column over "tp" groups 3
      dist.shard "transformer.h.*.mlp.c_fc" column over "tp"
      dist.sync "transformer.h.*.attn.c_proj" fwd_post reduce_scatter dim 1 over "tp"
      dist.shard parameter "transformer.wte.weight" [{"tp"}, {} ] optional
    }
    ```

    Functions that directives name (`dist.sync … @function`, `dist.replace`) stand
    beside the schedule. They are private if the schedule is in the program's own
    module.

    Constraint: all ops in it are directives. These are `dist.shard`, `dist.sync`,
    `dist.replace`, `dist.decompose`, `dist.annotate`, `dist.checkpoint`,
    `dist.include`, … or those of your own dialect.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `on` $mesh attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Dist_ShardOp : Dist_Op<"shard", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: how a contraction or a named tensor is sharded";
  let description = [{
    The first group of directives shards the contractions of modules:

    - `column` and `row` shard the output and the input features of the
      contraction in the scope that `target` names (Megatron-LM, Shoeybi et al.
      2019). The features are found through the contraction's factors, in whatever
      layout the weight is stored.
    - `groups n` after `column` or `row` splits each of n equal blocks of those
      features.
    - `groups [64, 16, 16]` splits each of the blocks whose sizes are in this
      proportion. The contraction and its weight then become one for each block.
    - `heads` shards all projections of the attention in a scope: those of
      queries, keys and values by their output features, the one of the result by
      its input features. If the devices divide the heads of queries, each
      projection is sharded over as much of the axes as divides its own number of
      heads: keys and values of grouped-query attention may have fewer. Otherwise
      heads are dealt out whole: 7 heads on 4 devices are 2, 2, 2 and 1.
    - `experts` shards the weights of a mixture of experts, in which each token is
      routed to some of the experts. Each device has a block of experts and
      applies only these. The devices' results are added up once.

    The second group places single tensors:

    - `parameter`, `input` and `output` before the target place the tensors of the
      program whose names match.
    - `input k` and `output k` after the target place the k-th tensor that a
      module reads, or that others read of it, in program order (as JAX's
      `with_sharding_constraint`). Without k there must be only one.
    - `value` before the target places a value by the name in its op's location.
      Importers take these names from the model's nodes. If several results of the
      op are read, a number after the name says which one is meant.

    The list of a single tensor has an entry for each dimension. Or it names some
    dimensions, `[1 = {"tp"} ]`, counted from the end if negative; the others are
    whole. So one directive can place tensors of several ranks. `replicate`
    instead of the list says that all dimensions are whole.

    `partial = sum {"tp"}` after the list of an activation says that its sum over
    the axes is not completed there (veScale's and DTensor's `Partial`). It is an
    error if no sum is pending.

    `groups [64, 16, 16] dim 0` after the list of a parameter says that this
    dimension consists of blocks in this proportion, and that each is sharded. The
    dimension is the output features of a projection, which is split up as for
    `column`, or those of its bias.

    ```mlir
    dist.shard "h.*.mlp.c_fc" column over "tp"
    dist.shard "h.*.attn.c_attn" column over "tp" groups 3
    dist.shard "layers.*.self_attn.qkv_proj" column over "tp" groups [64, 16, 16]
    dist.shard "layers.*.self_attn" heads over "tp"
    dist.shard "layers.*.mlp.experts" experts over "ep"
    dist.shard parameter "wte.weight" [{"tp"}, {} ] optional
    dist.shard parameter "qkv_proj.weight" [{"tp"}, {} ] groups [64, 16, 16] dim 0
    dist.shard input "input_ids" [{"dp"}, {} ]
    dist.shard "h.*.mlp" output 0 [{"dp"}, {"tp"}, {} ] expect 12
    dist.shard "h.*.mlp.c_proj" output [{"dp"}, {}, {} ] partial = sum {"tp"}
    dist.shard value "node_linear_4" [{"dp"}, {}, {"tp"} ]
    dist.shard parameter "**.ln_*.*" replicate
    ```

    Constraints:
    - (C1) `column`, `row`, `heads` and `experts` have axes and no dimensions. The
      others have dimensions, or `replicate`, and no axes.
    - (C2) `groups` is at least 1; only `column` and `row` have it. A list of
      groups has at least 2 numbers; only `column` has it, and `parameter` with a
      list of dimensions and the dimension of the groups.
    - (C3) axes are in the schedule's mesh, if its file defines the mesh, and no
      axis occurs twice.
    - (C4) only `input` and `output` of modules, and values, have a number. It is
      at least 0.
    - (C5) `expect` is at least 1, and not `optional`.
    - (C6) all entries of the list name a dimension, or none does; none is named
      twice.
    - (C7) only `input` and `output` of modules, and values, have `partial`, over
      at least one axis.
  }];
  let arguments = (ins StrAttr:$target, Dist_ShardTargetAttr:$kind,
                       OptionalAttr<Dist_AxisRefArrayAttr>:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<DenseI64ArrayAttr>:$blocks,
                       OptionalAttr<I64Attr>:$number,
                       OptionalAttr<Dist_DimShardingArrayAttr>:$dims,
                       OptionalAttr<DenseI64ArrayAttr>:$dimNumbers,
                       OptionalAttr<Dist_ReductionKindAttr>:$partialKind,
                       OptionalAttr<Dist_AxisRefArrayAttr>:$partialAxes,
                       UnitAttr:$replicate, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_SyncOp : Dist_Op<"sync", []> {
  let summary = "Communicate here, like this";
  let description = [{
    In a schedule it is a directive for the modules whose path matches `target`:

    ```mlir
    dist.sync "h.*.mlp.c_proj" fwd_post reduce_scatter dim 1 over "tp"
    ```

    In a program (level 1) it is the same for one value. The result is the value
    after the communication:

    ```mlir
    %y = dist.sync %x fwd_post reduce_scatter dim 1 over "tp" : tensor<2x16x64xf32>
    ```

    | operation | the operand must be | the result is |
    |---|---|---|
    | `all_gather dim d` | sharded over the axes on d | not sharded over them |
    | `reduce_scatter dim d` | partial over the axes | sharded over them on d |
    | `all_reduce` | partial over the axes | not partial |
    | `scatter dim d` | not sharded over the axes | sharded over them on d |
    | `all_to_all dim d to e` | sharded over the axes on d | sharded over them on e |
    | `halo dim d low l high h` | sharded over just the axes on d | the same, and a device has the l rows before its block and the h rows after it as well |

    `groups n` says that the dimension to cut, before or after, is n blocks that
    are each cut (fused q|k|v).

    A `halo` brings the rows that ops read in windows (convolutions, poolings,
    attention with a window) here, in one exchange. Otherwise each op exchanges
    its own rows. A halo must have as many rows as the widest window needs; else
    it is an error that names both numbers. If it has more, a remark says so. It
    is an error if no window reads the value. The program's padding says what
    windows read past the ends of the dimension. `boundary` repeats that, and is
    checked against it.

    ```mlir
    dist.sync "layer1.0.conv2" fwd_pre halo dim 2 low 1 high 1 boundary zero over "sp"
    ```

    Instead of an operation, a schedule may name a function that communicates. The
    function stands beside the schedule and is a program of level 3. It has one
    argument and one result of local types, each with its placement, and uses
    explicit collectives. `backward` names the function that maps the result's
    gradient to the argument's; it is recorded for differentiation.

    ```mlir
    func.func private @sum_halves(
        %x: tensor<2x16x64xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {} ], partial = sum {"tp"}>})
        -> (tensor<2x16x64xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {} ]>}) {
      …
    }
    dist.sync "h.*.mlp.c_proj" fwd_post @sum_halves backward @copy
    ```

    The value must have the placement of the function's argument. In a program the
    directive becomes a `dist.manual_reshard`. Only `dist-run --verify` can tell
    whether the function returns the same value.

    `fwd_pre` communicates the inputs of a module, `fwd_post` its outputs.
    `bwd_post` applies to the gradients of the module's inputs, after its
    backward. It is recorded for differentiation, and changes nothing in a forward
    program.

    A module may have several inputs or results. A reduction then applies to
    those that are partial; other communication to all that have the dimension.
    A number says which is meant: `fwd_post 1 all_gather dim 0`.

    A sync that contradicts the placements is an error. A negative dimension of a
    directive counts from the end.

    Constraints:
    - (C1) in a schedule there is a target and no operand; elsewhere an operand
      and no target.
    - (C2) `all_reduce` has no dimension; the others have one, in range. In a
      schedule it may be negative.
    - (C3) `all_to_all` has a second dimension that differs from the first.
    - (C4) there is at least one axis; all axes are in the mesh, and none occurs
      twice.
    - (C5) in a schedule there is no mesh and no cause; elsewhere it is not
      `optional` and has no `expect`, `except` and number.
    - (C6) `expect` is at least 1, and not `optional`.
    - (C7) `groups` is at least 1, and `all_reduce` has no groups.
    - (C8) only a sync in a schedule has a function; it has no dimensions, axes or
      groups, and is not `bwd_post`. Only it has a `backward`.
    - (C9) `halo` has `low` and `high`, at least 0 and at most 2^40, not both 0.
      It has no `groups`, and is not `bwd_post`. Its boundary is not `periodic`,
      since no op reads around the ends. Other operations lack these attributes.

    `cause` says which directive of a schedule put the sync into the program.
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$operand,
                       OptionalAttr<StrAttr>:$target,
                       Dist_SyncModeAttr:$mode, OptionalAttr<I64Attr>:$number,
                       Dist_SyncKindAttr:$kind,
                       OptionalAttr<I64Attr>:$dim, OptionalAttr<I64Attr>:$toDim,
                       OptionalAttr<I64Attr>:$low, OptionalAttr<I64Attr>:$high,
                       OptionalAttr<Dist_BoundaryAttr>:$boundary,
                       Dist_AxisRefArrayAttr:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<FlatSymbolRefAttr>:$function,
                       OptionalAttr<FlatSymbolRefAttr>:$backward,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$except, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_ReplaceOp : Dist_Op<"replace", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: replaces the ops of a module by a function's";
  let description = [{
    Each module whose path matches `target` is replaced by the body of a function
    of level 0 that stands beside the schedule.

    - The function's arguments are what the module reads from outside, in order of
      first use, parameters included. Constants, and values computed only from
      constants, are not arguments: the function has its own.
    - The function's results are the values of the module that others read, in
      program order.
    - Types must be equal. Otherwise an error shows both signatures.

    The new ops belong to the module. An op with a `dist.scope` belongs to the
    submodule of that name. Modules are replaced before any other directive is
    applied.

    ```mlir
    dist.replace "h.*.mlp" with @fast_mlp expect 12
    ```

    `dist-run --verify` checks that the function computes the same: it compares
    with the original program.

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, FlatSymbolRefAttr:$function,
                       OptionalAttr<StrAttr>:$except, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_DecomposeOp : Dist_Op<"decompose", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: splits a linear layer into a matmul and a bias";
  let description = [{
    This applies to each linear layer in the modules that `target` matches. The
    contraction with the weight becomes a module `matmul` of its own. What follows
    it in the layer, the addition of the bias, becomes a module `bias`. If the
    contraction accumulates onto the bias, the bias is added after it instead.
    Directives can then name either module, so that a sync can stand between the
    two. Layers are split before any directive except `dist.replace` is applied.

    ```mlir
    dist.decompose "h.*.mlp.c_proj"
    dist.sync "h.*.mlp.c_proj.matmul" fwd_post reduce_scatter dim 1 over "tp"
    ```

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_FuseOp : Dist_Op<"fuse", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: one contraction for linear layers that read one input";
  let description = [{
    Of the linear layers in the modules that `target` matches, those of one parent
    module that read the same tensor become one contraction on each device.
    Examples: q, k and v; gate and up. Its weight is the device's parts of the
    layers' weights, concatenated in the output features. Each layer's result is a
    slice of the contraction's. Weights are joined when they are loaded, not in
    every step.

    ```mlir
    dist.shard "model.layers.*.self_attn" heads over "tp"
    dist.fuse "model.layers.*.self_attn.{q,k,v}_proj"
    dist.fuse "model.layers.*.mlp.{gate,up}_proj"
    ```

    Layers keep their names, and so do parameters in files and gradients. Layers
    are placed one by one, whatever number of heads each has.
    `--dist-fuse-contractions` makes them one on each device. A layer that shares
    its input with no other is an error here. That pass reports as errors the
    layers that placement gave another input, and weights that are not as they
    were loaded (gathered before each use).

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_AnnotateOp : Dist_Op<"annotate", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: sets attributes on the ops of modules";
  let description = [{
    It sets attributes on all ops of the modules whose path matches `target`, for
    later passes: those of your own dialect, or of another tool's pipeline.

    ```mlir
    dist.annotate "h.*.mlp" {my.precision = "bf16", my.profile}
    ```

    Constraints:
    - (C1) there is at least one attribute; their names have the prefix of a
      dialect that is not `dist`.
    - (C2) `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, DictionaryAttr:$annotations,
                       OptionalAttr<StrAttr>:$except, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_CheckpointOp : Dist_Op<"checkpoint", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: backward recomputes what modules compute";
  let description = [{
    For the backward pass, only the inputs of a module that `target` matches are
    kept (Chen et al. 2016). The directive is recorded on the module's ops
    (`dist.checkpoint`, the module's path) for differentiation. It changes nothing
    in the forward pass.

    ```mlir
    dist.checkpoint "h.*" expect 12
    ```

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_RingOp : Dist_Op<"ring", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: ring attention: keys and values circulate among devices";
  let description = [{
    It applies to modules that `target` matches and that attend to a sequence that
    is sharded over `axes`. Keys and values are then not gathered (ring attention,
    Liu et al. 2023, "Ring Attention with Blockwise Transformers"). Each device
    computes with its own block, passes the block to the next device and gets the
    block of the device before, p - 1 times. The results of the blocks are
    combined.

    As many bytes are sent as by gathering. But no device ever has more than two
    blocks, and each block can travel while the one before is computed with. Some
    blocks are only passed on: those that contribute nothing to a device's
    queries, because of a mask that depends only on positions.

    ```mlir
    dist.ring "model.layers.*.self_attn" over "cp"
    dist.ring "model.layers.*.self_attn" over "cp" zigzag
    ```

    With a causal mask, the first device's queries see one block and the last
    one's see all. `zigzag` balances the work. Devices r and p - 1 - r exchange
    half a block of queries, and the results for these are sent back. Each device
    then computes with as many keys as any other. (Llama 3 and zigzag ring
    attention have the same order: block i of 2p is with block 2p - 1 - i. Here
    keys and values stay where they are.) It is done if the masks leave the
    busiest device less work that way. Otherwise a remark says that it is not
    done. Blocks of one query are an error.

    Constraints: those of axes in directives; `expect` is at least 1, and not
    `optional`. A module without such attention is an error.
  }];
  let arguments = (ins StrAttr:$target, Dist_AxisRefArrayAttr:$axes,
                       UnitAttr:$zigzag, OptionalAttr<StrAttr>:$except,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_GraphHaloOp : Dist_Op<"graph_halo", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: exchanges only the rows that indices name";
  let description = [{
    It applies to modules that `target` matches and that look up rows of a tensor
    that is sharded over `axes`, by indices that are sharded over these axes too.
    The rows are then not gathered: each device gets only those that its indices
    name. Where modules add up rows by index, sums are sent to the devices that
    own the rows.

    Example: the nodes of a graph are cut into parts, and each edge is with one of
    its nodes. Then only the nodes at cut edges are sent: the halo of a part.

    ```mlir
    dist.shard input "x" [{"gp"}, {} ]
    dist.shard input "edges" [{}, {"gp"} ]
    dist.graph_halo "layers.*" over "gp"
    ```
    The number of rows depends on the indices, so it is known only when the
    program runs. It is never more than gathering would send.

    Constraints: those of axes in directives; `expect` is at least 1, and not
    `optional`. A module without such a lookup is an error.
  }];
  let arguments = (ins StrAttr:$target, Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$except, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_IncludeOp : Dist_Op<"include", [HasParent<"ScheduleOp">]> {
  let summary = "In a schedule: includes the directives of another schedule";
  let description = [{
    `file` is a path relative to the folder of the including file. If it has
    several schedules, `schedule` says which one is meant. The included schedule's
    own mesh is ignored. Its axes are those of the including schedule's mesh;
    `axes` maps the names. In its targets, `$(name)` stands for the text that
    `where` gives. All entries of `where` must be used.

    ```mlir
    dist.include "blocks.mlir" @tp axes {"tp" = "model"} where {layers = "{0..11}"}
    // where blocks.mlir has dist.shard "h.$(layers).mlp.c_fc" column over "tp"
    ```

    An included file may include others, but not a file that includes it.
  }];
  let arguments = (ins StrAttr:$file, OptionalAttr<FlatSymbolRefAttr>:$schedule,
                       OptionalAttr<DictionaryAttr>:$axes,
                       OptionalAttr<DictionaryAttr>:$where);
  let hasCustomAssemblyFormat = 1;
}

#endif // DIST_IR_DISTSCHEDULE_TD
