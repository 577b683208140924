//===- DistOps.td - Meshes, schedules, placements ----------*- tablegen -*-===//
//
// Levels 1 and 2: what a person or a schedule writes, and what the passes make
// of it before the program is cut up.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTOPS_TD
#define DIST_IR_DISTOPS_TD

include "dialects/dist/IR/DistAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_DimShardingArrayAttr
    : TypedArrayAttrBase<Dist_DimShardingAttr, "one entry a dimension">;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "A named n-dimensional grid of devices";
  let description = [{
    Devices are numbered row-major over the axes: the last axis varies fastest.

    ```mlir
    dist.mesh @m ["dp" = 2, "tp" = 4]
    ```

    Constraints:
    - (C1) axis names are not empty and differ from each other.
    - (C2) sizes are at least 1, and their product fits 63 bits.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_MeshAxesAttr:$axes);
  let assemblyFormat = "$sym_name custom<MeshAxes>($axes) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Size of the axis called `name`; 0 where there is none.
    int64_t getAxisSize(StringRef name);
    int64_t getNumDevices();
  }];
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def Dist_ScheduleOp : Dist_Op<"schedule", [
    Symbol, NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "How a model is to be spread: a list of directives";
  let description = [{
    Directives name modules of the model by path: a glob (`*` is any run of
    characters but a dot, `**` any run, `?` one character but a dot, `{a,b}`
    either), or a regular expression between slashes. `--dist-apply-schedule` turns them into
    shardings, constraints and syncs; one that matches nothing is an error unless
    it says `optional`, and so is an alternative of a brace that matches nothing
    (`{q,k,w}_proj` where there is no `w_proj`). `expect n` at a directive's end is
    an error where it applies to another number of places.

    ```mlir
    dist.schedule @megatron_sp on @m {
      dist.shard "transformer.h.*.attn.c_attn" column over "tp" groups 3
      dist.shard "transformer.h.*.mlp.c_fc" column over "tp"
      dist.sync "transformer.h.*.attn.c_proj" fwd_post reduce_scatter dim 1 over "tp"
      dist.shard parameter "transformer.wte.weight" [{"tp"}, {} ] optional
    }
    ```

    Functions that directives name (`dist.sync … @function`, `dist.replace`) stand
    beside the schedule, and are private where it is in the program's own module.

    Constraint: all ops in it are directives: `dist.shard`, `dist.sync`,
    `dist.replace`, `dist.decompose`, `dist.annotate`, `dist.checkpoint`,
    `dist.include`, or those of your dialect.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `on` $mesh attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Dist_ShardOp : Dist_Op<"shard", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: how a contraction or a named tensor is sharded";
  let description = [{
    `column` and `row` shard the output and the input features of the
    contraction in the scope that `target` names, found through its factors,
    whatever layout its weight is stored in (Megatron-LM, Shoeybi et al. 2019).
    `groups n` splits each of n equal blocks of those features, `groups [64, 16, 16]`
    each of blocks whose sizes are in this proportion: the contraction and its
    weight are then taken apart into one for each block. `heads` does so for
    all projections of the attention in a scope: those that queries, keys and values
    come from by their output features, those that the result goes to by their
    input features, over as much of the axes as divides the number of heads of each
    (keys and values of grouped-query attention may have fewer). `experts` cuts the
    weights of a mixture of experts, in which a token takes those of the experts that
    it is routed to, by blocks of experts: each device applies its own, and what
    they make is added up once. `parameter`,
    `input` and `output` before the target place the tensors of the program whose
    names match. `input k` and `output k` after it place what a module reads and
    what it makes for others, in program order (JAX's `with_sharding_constraint`);
    without k it must have one only. The list has an entry for each dimension, or
    names some (`[1 = {"tp"} ]`, counted from the end where negative): the others are
    whole, so that tensors of several ranks can be meant. In place of the list,
    `replicate` says whole in all dimensions. `partial = sum {"tp"}` after the list of
    an activation says that its sum over the axes is not completed there (veScale's
    and DTensor's `Partial`); it is an error where nothing is pending. `value` before
    the target places a value by the name that its op's location gives it, which an
    importer takes from the model's nodes; of an op with several results that others
    read, a number after the name says which. `groups [64, 16, 16] dim 0` after the
    list of a parameter says that this dimension is blocks side by side, in this
    proportion, of which each is sharded: the output features of a projection, which
    is taken apart as for `column`, or those of its bias, given the same.

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
    - (C1) `column`, `row`, `heads` and `experts` have axes and no dimensions; the
      others the reverse, or `replicate`.
    - (C2) `groups` is at least 1, and only `column` and `row` have it; a list of
      them, of at least 2 numbers, only `column`, and `parameter` with a list and
      the dimension that they are of.
    - (C3) axes are in the schedule's mesh, where its file defines it, and no
      axis occurs twice.
    - (C4) only `input` and `output` of modules and values have a number, of at
      least 0.
    - (C5) `expect` is at least 1, and not `optional`.
    - (C6) either all entries of the list name a dimension or none; none is named
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
                       UnitAttr:$replicate, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_SyncOp : Dist_Op<"sync", []> {
  let summary = "Here communicate like this";
  let description = [{
    In a schedule, a directive for the modules whose path matches `target`:

    ```mlir
    dist.sync "h.*.mlp.c_proj" fwd_post reduce_scatter dim 1 over "tp"
    ```

    In a program (level 1), the same for one value, which is its result:

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

    `groups n` says that the dimension that is cut, before or after, is n blocks of
    which each is cut (fused q|k|v).

    A `halo` brings what ops read of the value in windows (convolutions, poolings,
    attention with a window) here and at once, in place of where each of them stands.
    It holds as many rows as the widest window needs, or it is an error with both
    numbers; with more, a remark says so. One that no window reads is an error. What
    windows read past the ends of the dimension the program says, by its padding;
    `boundary` repeats it, and is checked.

    ```mlir
    dist.sync "layer1.0.conv2" fwd_pre halo dim 2 low 1 high 1 boundary zero over "sp"
    ```

    In the place of an operation, a schedule may name a function that communicates,
    which stands beside the schedule and is written as a program of level 3: one
    argument and one result of local types, each with its placement, and explicit
    collectives. `backward` names the one that takes the result's gradient and gives
    the argument's, which is recorded for differentiation.

    ```mlir
    func.func private @sum_halves(
        %x: tensor<2x16x64xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {} ], partial = sum {"tp"}>})
        -> (tensor<2x16x64xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {} ]>}) {
      …
    }
    dist.sync "h.*.mlp.c_proj" fwd_post @sum_halves backward @copy
    ```

    The value must be placed as the argument is, and in a program it becomes a
    `dist.manual_reshard`. That the function computes nothing else is for
    `dist-run --verify` to tell.

    `fwd_pre` communicates what a module takes, `fwd_post` what it gives. `bwd_post`
    speaks of the gradient of what the module takes, after its backward: it is
    recorded, for differentiation; a forward program is the same without it.

    A sync that the placements contradict is an error.

    Constraints:
    - (C1) in a schedule a target and no operand; elsewhere the reverse.
    - (C2) `all_reduce` has no dimension, the others have one, in range.
    - (C3) `all_to_all` has a second dimension that differs from the first.
    - (C4) at least one axis, all of them in the mesh, none twice.
    - (C5) in a schedule no mesh and no cause; elsewhere not `optional` and no
      `expect`.
    - (C6) `expect` is at least 1, and not `optional`.
    - (C7) `groups` is at least 1, and `all_reduce` has none.
    - (C8) a function only in a schedule, with no dimensions, axes or groups, and not
      `bwd_post`; only it has a `backward`.
    - (C9) `halo` has `low` and `high`, at least 0 and at most 2^40, of which one is
      not 0, and no `groups`, is not `bwd_post`, and its boundary is not `periodic`,
      since no op reads around the ends; others have none of these.

    `cause` says which directive of a schedule put it into the program.
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$operand,
                       OptionalAttr<StrAttr>:$target,
                       Dist_SyncModeAttr:$mode, Dist_SyncKindAttr:$kind,
                       OptionalAttr<I64Attr>:$dim, OptionalAttr<I64Attr>:$toDim,
                       OptionalAttr<I64Attr>:$low, OptionalAttr<I64Attr>:$high,
                       OptionalAttr<Dist_BoundaryAttr>:$boundary,
                       Dist_AxisRefArrayAttr:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<FlatSymbolRefAttr>:$function,
                       OptionalAttr<FlatSymbolRefAttr>:$backward,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_ReplaceOp : Dist_Op<"replace", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: a function's ops in the place of a module's";
  let description = [{
    Each module whose path matches `target` is replaced by the body of a function of
    level 0 that stands beside the schedule. Its arguments are what the module reads
    that comes from elsewhere, parameters among them, in order of first use; constants
    and what is made of them alone are not, the function has its own. Its results are
    what others read of the module, in program order. Types are equal, or it is an
    error that shows both signatures. The new ops belong to the module; one that has a
    `dist.scope` belongs to the module of that name within it. Modules are replaced
    before any other directive is applied.

    ```mlir
    dist.replace "h.*.mlp" with @fast_mlp expect 12
    ```

    That the function computes the same is for `dist-run --verify` to tell, which
    compares with the program as it was.

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, FlatSymbolRefAttr:$function,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_DecomposeOp : Dist_Op<"decompose", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: a linear layer is a matmul and a bias";
  let description = [{
    In each linear layer in the modules that `target` matches, the contraction with
    the weight becomes a module `matmul` of its own, and what follows it in the layer
    (the addition of the bias) a module `bias`. A bias that the contraction
    accumulates onto is added after it instead. Directives can then name either, so
    that a sync stands between them. Layers are taken apart before any directive but
    `dist.replace` is applied.

    ```mlir
    dist.decompose "h.*.mlp.c_proj"
    dist.sync "h.*.mlp.c_proj.matmul" fwd_post reduce_scatter dim 1 over "tp"
    ```

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_FuseOp : Dist_Op<"fuse", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: linear layers that read one input are one contraction";
  let description = [{
    The linear layers in the modules that `target` matches, those of one parent module
    that read the same tensor together, are computed by one contraction on each device:
    its weight is what the device has of their weights, one after the other in the
    output features (q, k and v; gate and up), and each layer's result is a slice of
    what it makes. Weights are joined when they are loaded, not in every step.

    ```mlir
    dist.shard "model.layers.*.self_attn" heads over "tp"
    dist.fuse "model.layers.*.self_attn.{q,k,v}_proj"
    dist.fuse "model.layers.*.mlp.{gate,up}_proj"
    ```

    Layers keep their names, and so do parameters in files and gradients: they are
    placed one by one, however many heads each has, and become one on each device
    (`--dist-fuse-contractions`). A layer that shares its input with none of the others
    is an error here; one that placement gives another input, or a weight that is not
    as it was loaded (gathered before each use), there.

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_AnnotateOp : Dist_Op<"annotate", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: gives the ops of modules attributes";
  let description = [{
    Sets attributes on all ops of the modules whose path matches `target`, for
    passes to come: a dialect of yours, or a pipeline of another tool.

    ```mlir
    dist.annotate "h.*.mlp" {my.precision = "bf16", my.profile}
    ```

    Constraints:
    - (C1) at least one attribute; their names have the prefix of a dialect that is
      not `dist`.
    - (C2) `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, DictionaryAttr:$annotations,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_CheckpointOp : Dist_Op<"checkpoint", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: what modules compute is computed again for backward";
  let description = [{
    Of a module that `target` matches only the inputs are kept for the backward
    pass (Chen et al. 2016). It is recorded on the module's ops (`dist.checkpoint`,
    the module's path) for differentiation, and changes nothing of the forward pass.

    ```mlir
    dist.checkpoint "h.*" expect 12
    ```

    Constraint: `expect` is at least 1, and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, UnitAttr:$optional,
                       OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_RingOp : Dist_Op<"ring", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: keys and values go round the devices";
  let description = [{
    Where modules that `target` matches attend to a sequence that is sharded over
    `axes`, keys and values are not gathered: each device computes with its own block,
    passes it on to the next one and gets that of the one before, p - 1 times, and what
    its queries have seen of each block is put together (ring attention, Liu et al.
    2023, "Ring Attention with Blockwise Transformers"). As many bytes are sent as by
    gathering; no device ever has more than two blocks, and each block can travel while
    the one before is computed with. Blocks of which a mask that hangs on places alone
    leaves a device's queries nothing are passed on only.

    ```mlir
    dist.ring "model.layers.*.self_attn" over "cp"
    dist.ring "model.layers.*.self_attn" over "cp" zigzag
    ```

    A causal mask leaves the first device's queries one block and the last one's all. With
    `zigzag` devices at the same distance from both ends, r and p - 1 - r, exchange half a
    block of queries, and what these have seen goes back: each device then computes with
    as many keys as any other (the order of Llama 3 and of zigzag ring attention, by
    which block i of 2p is with block 2p - 1 - i; here keys and values stay where they
    are). It is done where the busiest device has less to do then, by what the masks leave;
    elsewhere a remark says that it is not. Blocks of one query are an error.

    Constraints: those of axes in directives; `expect` is at least 1, and not
    `optional`. A module without such attention is an error.
  }];
  let arguments = (ins StrAttr:$target, Dist_AxisRefArrayAttr:$axes,
                       UnitAttr:$zigzag, UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_GraphHaloOp : Dist_Op<"graph_halo", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: only the rows that indices name are exchanged";
  let description = [{
    Where modules that `target` matches look up rows of what is sharded over `axes`,
    by indices that are sharded over them as well, the rows are not all gathered:
    each device gets those that its indices name. Where they add rows up by index, sums
    are not made of all rows, but sent to the devices that have them. So a graph
    whose nodes are cut into parts, and whose edges lie with one of their nodes,
    sends the nodes at cut edges, and no others: the halo of a part.

    ```mlir
    dist.shard input "x" [{"gp"}, {} ]
    dist.shard input "edges" [{}, {"gp"} ]
    dist.graph_halo "layers.*" over "gp"
    ```
    How many these are only the indices tell, when the program runs; it is never
    more than gathering would send.

    Constraints: those of axes in directives; `expect` is at least 1, and not
    `optional`. A module without such a lookup is an error.
  }];
  let arguments = (ins StrAttr:$target, Dist_AxisRefArrayAttr:$axes,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_IncludeOp : Dist_Op<"include", [HasParent<"ScheduleOp">]> {
  let summary = "In a schedule: the directives of another one";
  let description = [{
    The directives of the schedule in `file`, a path from the including file's
    folder on; where it has several, `schedule` says which. Its own mesh does not
    matter: its axes are those of the including schedule's mesh, under the names that
    `axes` gives them. In its targets `$(name)` stands for the text that `where`
    gives, which must all be used.

    ```mlir
    dist.include "blocks.mlir" @tp axes {"tp" = "model"} where {layers = "{0..11}"}
    // where blocks.mlir has dist.shard "h.$(layers).mlp.c_fc" column over "tp"
    ```

    It may include others itself, but not a file that includes it.
  }];
  let arguments = (ins StrAttr:$file, OptionalAttr<FlatSymbolRefAttr>:$schedule,
                       OptionalAttr<DictionaryAttr>:$axes,
                       OptionalAttr<DictionaryAttr>:$where);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

def Dist_ShardingConstraintOp : Dist_Op<"sharding_constraint", [
    Pure, SameOperandsAndResultType]> {
  let summary = "The value is placed like this";
  let description = [{
    An annotation of a value inside a function. Open dimensions (`?`) leave
    propagation free to shard them further, but not over the axes after `whole`:
    keys of fewer heads than devices are computed whole by each, though the
    sequence is shared out over the same devices elsewhere.

    ```mlir
    %1 = dist.sharding_constraint %0 <@m, [{?}, {"tp"} ]> : tensor<8x16xf32>
    %3 = dist.sharding_constraint %2 <@m, [{?}, {} ]> whole "tp" : tensor<8x4xf32>
    ```

    Constraints:
    - (C1) the sharding fits the tensor and its mesh (see `#dist.sharding`).
    - (C2) the axes after `whole` are some of the mesh, each once.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_ShardingAttr:$sharding,
                       OptionalAttr<StrAttr>:$cause,
                       OptionalAttr<Dist_AxisRefArrayAttr>:$whole);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand $sharding (`whole` custom<AxisList>($whole)^)? (`cause` custom<Text>($cause)^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "The same value, placed differently";
  let description = [{
    Becomes the cheapest sequence of collectives that takes the placement `source`
    to the placement `sharding`. `cause` says whose wish it was.

    ```mlir
    %1 = dist.reshard %0 <@m, [{}, {} ], partial = sum {"tp"}>
           to <@m, [{}, {} ]> cause "…" : tensor<8x16xf32>
    ```

    Constraints:
    - (C1) both placements are on the same mesh.
    - (C2) both fit the tensor and the mesh (see `#dist.sharding`).
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_ShardingAttr:$source,
                       Dist_ShardingAttr:$sharding, StrAttr:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand $source `to` $sharding `cause` custom<Text>($cause) attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Dist_ManualReshardOp : Dist_Op<"manual_reshard", [
    RecursiveMemoryEffects, IsolatedFromAbove, SameOperandsAndResultType]> {
  let summary = "The same value, placed differently by code of your own";
  let description = [{
    What a `dist.sync` by a function becomes. Its region is what one device does: it
    is given the device's part of the operand, placed as `source`, and yields the
    device's part of the result, placed as `sharding`. `--dist-partition` puts its ops
    in its place. A second region, after `backward`, is given a part of the result's
    gradient and yields one of the operand's; it is kept for differentiation.

    ```mlir
    %1 = dist.manual_reshard %0 <@m, [{}, {} ], partial = sum {"tp"}>
           to <@m, [{}, {} ]> : tensor<8x16xf32> {
    ^bb0(%part: tensor<8x16xf32>):
      %2 = dist.all_reduce %part sum over "tp" : tensor<8x16xf32>
      dist.yield %2 : tensor<8x16xf32>
    }
    ```

    Constraints:
    - (C1) both placements are on the same mesh and fit the tensor.
    - (C2) a region has one block with one argument, and yields one tensor, of the
      element type of the operand; `backward` takes what the first region yields and
      yields what it takes.
    - (C3) an operand is not pending over other axes than `source` says.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_ShardingAttr:$source,
                       Dist_ShardingAttr:$sharding,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$backward);
  let assemblyFormat = [{
    $operand $source `to` $sharding (`cause` custom<Text>($cause)^)? attr-dict
    `:` type($result) $body (`backward` $backward^)?
  }];
  let hasVerifier = 1;
}

def Dist_YieldOp : Dist_Op<"yield", [
    Pure, Terminator, HasParent<"ManualReshardOp">]> {
  let summary = "What a region of dist.manual_reshard makes";
  let description = [{
    ```mlir
    dist.yield %2 : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif // DIST_IR_DISTOPS_TD
