//===- DistAttrs.td - Meshes, shardings, reductions --------*- tablegen -*-===//

#ifndef DIST_IR_DISTATTRS_TD
#define DIST_IR_DISTATTRS_TD

include "dialects/dist/IR/DistBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Dist_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Dist_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Dist_ReductionKind : I32EnumAttr<"ReductionKind",
    "How partial values combine to the value they stand for", [
      I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
      I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
      I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::mlir::dist";
  let genSpecializedAttr = 0;
}
def Dist_ReductionKindAttr
    : EnumAttr<Dist_Dialect, Dist_ReductionKind, "reduction"> {
  let summary = "Combiner of a partial value or a reducing collective";
  let description = [{
    `max` and `min` propagate NaN, as `arith.maximumf` does. They compare signless
    integers as signed ones. So unsigned integers have only `sum`, `prod`, `and`
    and `or`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Dist_TaskKind : I32EnumAttr<"TaskKind", "a part of a stage's work", [
      I32EnumAttrCase<"Begin", 0, "begin">,
      I32EnumAttrCase<"Forward", 1, "forward">,
      I32EnumAttrCase<"Backward", 2, "backward">,
      I32EnumAttrCase<"Weight", 3, "weight">,
      I32EnumAttrCase<"End", 4, "end">]> {
  let cppNamespace = "::mlir::dist";
}

def Dist_SyncMode : I32EnumAttr<"SyncMode", "When a sync acts", [
      I32EnumAttrCase<"FwdPre", 0, "fwd_pre">,
      I32EnumAttrCase<"FwdPost", 1, "fwd_post">,
      I32EnumAttrCase<"BwdPost", 2, "bwd_post">]> {
  let cppNamespace = "::mlir::dist";
  let genSpecializedAttr = 0;
}
def Dist_SyncModeAttr : EnumAttr<Dist_Dialect, Dist_SyncMode, "sync_mode"> {
  let summary = "Before or after the module's forward, or after its backward";
  let assemblyFormat = "`<` $value `>`";
}

def Dist_SyncKind : I32EnumAttr<"SyncKind", "What a sync communicates", [
      I32EnumAttrCase<"AllGather", 0, "all_gather">,
      I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
      I32EnumAttrCase<"AllReduce", 2, "all_reduce">,
      I32EnumAttrCase<"Scatter", 3, "scatter">,
      I32EnumAttrCase<"AllToAll", 4, "all_to_all">,
      I32EnumAttrCase<"Function", 5, "function">,
      I32EnumAttrCase<"Halo", 6, "halo">]> {
  let cppNamespace = "::mlir::dist";
  let genSpecializedAttr = 0;
}
def Dist_SyncKindAttr : EnumAttr<Dist_Dialect, Dist_SyncKind, "sync_kind"> {
  let summary = "The operation of a sync, with the names of Slapo's .sync()";
  let assemblyFormat = "`<` $value `>`";
}

def Dist_ShardTarget : I32EnumAttr<"ShardTarget", "What a shard directive names", [
      I32EnumAttrCase<"Column", 0, "column">, I32EnumAttrCase<"Row", 1, "row">,
      I32EnumAttrCase<"Parameter", 2, "parameter">,
      I32EnumAttrCase<"Input", 3, "input">,
      I32EnumAttrCase<"Output", 4, "output">,
      I32EnumAttrCase<"ModuleInput", 5, "module_input">,
      I32EnumAttrCase<"ModuleOutput", 6, "module_output">,
      I32EnumAttrCase<"Heads", 7, "heads">,
      I32EnumAttrCase<"Experts", 8, "experts">,
      I32EnumAttrCase<"Value", 9, "value">]> {
  let cppNamespace = "::mlir::dist";
  let genSpecializedAttr = 0;
}
def Dist_ShardTargetAttr
    : EnumAttr<Dist_Dialect, Dist_ShardTarget, "shard_target"> {
  let summary = "A contraction's features, attention heads, experts, a named "
                "tensor, or an activation";
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

def Dist_MeshAxisAttr : Dist_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "A named axis of a mesh and the number of devices along it";
  let parameters = (ins StringRefParameter<"name of the axis">:$name,
                        "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def Dist_MeshAxesAttr
    : ArrayOfAttr<Dist_Dialect, "MeshAxes", "mesh_axes", "MeshAxisAttr"> {
  let summary = "The axes of a mesh, major to minor";
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
}

def Dist_AxisRefAttr : Dist_Attr<"AxisRef", "axis"> {
  let summary = "A mesh axis, or a part of one";
  let description = [{
    `"tp"` is the whole axis. `"tp"(2)4` is a *sub-axis* as in Shardy: the axis,
    of size n, is viewed as [2, 4, n/8], and the reference names the middle one.
    The first number is the product of the sizes before it (`pre`), the second
    its size. (Shardy writes `"tp":(2)4`; here a colon precedes a type.)
  }];
  let parameters = (ins StringRefParameter<"name of the axis">:$name,
                        DefaultValuedParameter<"int64_t", "1">:$pre,
                        DefaultValuedParameter<"int64_t", "0">:$size);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Whether only a part of the axis is named.
    bool isSubAxis() const { return getSize() != 0; }
  }];
}

def Dist_AxisRefArrayAttr
    : TypedArrayAttrBase<Dist_AxisRefAttr, "mesh axes, major to minor">;

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

def Dist_SubDimAttr : Dist_Attr<"SubDim", "sub_dim"> {
  let summary = "A sub-dimension and the axes it is sharded over";
  let description = [{
    `size` is the number of elements of the sub-dimension. In the last
    sub-dimension of a dimension it may be 0: the size then follows from the
    others. `axes` are major to minor.
  }];
  let parameters = (ins "int64_t":$size,
                        ArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
}

def Dist_DimShardingAttr : Dist_Attr<"DimSharding", "dim"> {
  let summary = "How one dimension of a tensor is sharded";
  let description = [{
    A dimension is a product of sub-dimensions, major to minor. Each is sharded
    over a list of mesh axes. Nearly always there is only one sub-dimension:

        {"tp"}              over one axis
        {"dp", "tp"}        over two, major to minor
        {"tp"(1)2}         over a part of an axis
        {}                  not sharded
        {"tp", ?}           open: propagation may shard it further

    With more than one sub-dimension, the dimension is *interleaved*. Example:
    fused q|k|v is three blocks that are each split, `3:{} * {"tp"}`. The short
    form is `{"tp"} groups 3`.

    Only the major sub-dimension may be padded: `7:{"tp"} * {}` is 7 heads that
    are never split.
  }];
  let parameters = (ins ArrayRefParameter<"SubDimAttr">:$subDims,
                        DefaultValuedParameter<"bool", "false">:$isOpen);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// A dimension of one sub-dimension, sharded over `axes`.
    static DimShardingAttr get(MLIRContext *context,
                               ArrayRef<AxisRefAttr> axes, bool isOpen = false);
    /// Whether no axis shards the dimension.
    bool isReplicated() const;
    /// All axes, major to minor.
    SmallVector<AxisRefAttr> getAllAxes() const;
  }];
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "The placement of a tensor on a mesh";
  let description = [{
    There is one `#dist.dim` for each tensor dimension. The tensor is replicated
    along axes that are not named. With `partial`, each device along the named
    axes holds one summand (or factor, …); the value is the reduction of these:

        #dist.sharding<@m, [{"dp"}, {}, {"tp"} ]>
        #dist.sharding<@m, [{"dp"}, {} ], partial = sum {"tp"}>
        #dist.sharding<@m, [{}, {"tp"} groups 3]>

    Constraints:
    - (C1) `mesh` names a `dist.mesh`.
    - (C2) there are as many dimensions as the tensor has.
    - (C3) every axis exists in the mesh; a sub-axis' `pre * size` divides its
      size.
    - (C4) no axis, and no overlapping parts of an axis, occur twice, `partial`
      included.
    - (C5) the sub-dimensions of an interleaved dimension divide it, and the axes
      that shard a sub-dimension divide the sub-dimension.
  }];
  let parameters = (ins "FlatSymbolRefAttr":$mesh,
                        ArrayRefParameter<"DimShardingAttr">:$dims,
                        DefaultValuedParameter<"ReductionKind", "ReductionKind::Sum">:$partialKind,
                        OptionalArrayRefParameter<"AxisRefAttr">:$partialAxes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The placement that replicates a tensor of `rank` dimensions.
    static ShardingAttr getReplicated(FlatSymbolRefAttr mesh, int64_t rank);
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// Whether every device holds the whole value.
    bool isReplicated() const;
    /// The same placement without the pending reduction.
    ShardingAttr withoutPartial() const;
    /// Checks C2 to C5 for a tensor of this shape on a mesh of these axes.
    LogicalResult verifyFor(ArrayRef<int64_t> shape, ArrayRef<MeshAxisAttr> axes,
                            function_ref<InFlightDiagnostic()> emitError) const;
    /// The shape of the part that every device holds, padding included. The
    /// tensor has the static `shape`, which verifyFor accepts.
    SmallVector<int64_t> getLocalShape(ArrayRef<int64_t> shape,
                                       ArrayRef<MeshAxisAttr> axes) const;
  }];
}

//===----------------------------------------------------------------------===//
// Halos
//===----------------------------------------------------------------------===//

def Dist_BoundaryKind : I32EnumAttr<"BoundaryKind",
    "What is beyond the ends of a dimension", [
      I32EnumAttrCase<"Zero", 0, "zero">,
      I32EnumAttrCase<"Constant", 1, "constant">,
      I32EnumAttrCase<"None", 2, "none">,
      I32EnumAttrCase<"Periodic", 3, "periodic">]> {
  let cppNamespace = "::mlir::dist";
  let genSpecializedAttr = 0;
}

def Dist_BoundaryAttr : Dist_Attr<"Boundary", "boundary"> {
  let summary = "What a halo holds beyond the ends of a dimension";
  let description = [{
    | boundary | rows before the first and after the last row |
    |---|---|
    | `zero` | are zero |
    | `constant 1.5 : f32` | are that number |
    | `none` | do not exist: blocks at the ends are shorter, and their other rows are padding, which may hold anything |
    | `periodic` | are the rows of the other end: the dimension is a ring |

    Constraint: `constant` has a value, an integer or a float. The others have no
    value.
  }];
  let parameters = (ins EnumParameter<Dist_BoundaryKind>:$kind,
                        OptionalParameter<"::mlir::TypedAttr">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def Dist_PartAttr : Dist_Attr<"Part", "part"> {
  let summary = "A block of a tensor of the model";
  let description = [{
    `dist.part` stands on an argument, beside `dist.parameter`. The argument is
    then only a block of the parameter of that name. The block starts at `offsets`
    and has the argument's type; the whole parameter has `shape`. Example: the q,
    k and v of grouped-query attention are blocks of different sizes, fused in one
    weight. Each block is sharded separately. Likewise it stands on a result,
    beside `dist.output`: results of one name are the blocks of one output.

    ```mlir
    // The k of q|k|v with 64, 16 and 16 rows.
    %k: tensor<16x64xf32> {dist.parameter = "qkv_proj.weight",
                           dist.part = #dist.part<[64, 0] of [96, 64]>}
    ```

    Constraints: offsets are at least 0, and the block is within `shape`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$offsets,
                        ArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` `[` $offsets `]` `of` ` ` `[` $shape `]` `>`";
}

def Dist_DimShardingArrayAttr
    : TypedArrayAttrBase<Dist_DimShardingAttr, "one entry a dimension">;

#endif // DIST_IR_DISTATTRS_TD
