//===- DistCollectives.td - Local-view collectives ---------*- tablegen -*-===//
//
// Level 3: what one device does with its local tensor and the others' of its
// group. Groups are named by mesh axes, never by device lists: the devices that
// differ in those axes' coordinates only.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTCOLLECTIVES_TD
#define DIST_IR_DISTCOLLECTIVES_TD

include "dialects/dist/IR/DistOps.td"

def Dist_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    What every local-view collective tells. Constraints of all collectives:
    - there is a mesh: `on @mesh`, or the only one before the module's functions.
    - at least one axis, all of them in the mesh, none twice.
    A size that is not known is taken to be what the constraints ask for; it is
    checked where it becomes known, before the program runs.
  }];
  let methods = [
    InterfaceMethod<"Axes of the group, major to minor.",
                    "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"The mesh of the axes; null means the module's only one.",
                    "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"Why it is here.", "::mlir::StringAttr", "getCauseAttr">,
    InterfaceMethod<[{Bytes that one device sends under a bandwidth-optimal
                      algorithm in a group of `groupSize`. Of a full tensor of n
                      bytes: all_reduce 2(p-1)/p n, all_gather and reduce_scatter
                      (p-1)/p n, all_to_all (p-1)/p of the local tensor.}],
                    "int64_t", "getBytesSentPerRank",
                    (ins "int64_t":$groupSize)>,
  ];
}

class Dist_Collective<string mnemonic, list<Trait> traits = []>
    : Dist_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<Dist_CollectiveOpInterface,
                                         ["getBytesSentPerRank"]>], traits)> {
  let hasVerifier = 1;
}

def Dist_AllReduceOp : Dist_Collective<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "Every device gets the reduction of the group's tensors";
  let description = [{
    ```mlir
    %1 = dist.all_reduce %0 sum over "tp" : tensor<2x16x64xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) elements can be reduced: `and` and `or` take integers.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_ReductionKindAttr:$reduction,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand custom<Enum>($reduction) `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($result)
  }];
}

def Dist_AllGatherOp : Dist_Collective<"all_gather"> {
  let summary = "Every device gets the group's tensors, concatenated on a dimension";
  let description = [{
    ```mlir
    %1 = dist.all_gather %0 dim 1 over "tp" : tensor<2x4x64xf32> -> tensor<2x16x64xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the tensor.
    - (C2) the result has p times the operand's size on `dim`, else its shape,
      and its element type.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter"> {
  let summary = "Every device gets its slice of the reduction of the group's tensors";
  let description = [{
    ```mlir
    %1 = dist.reduce_scatter %0 sum dim 1 over "tp" : tensor<2x16x64xf32> -> tensor<2x4x64xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the tensor.
    - (C2) the operand has p times the result's size on `dim`, else its shape,
      and its element type.
    - (C3) elements can be reduced: `and` and `or` take integers.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_ReductionKindAttr:$reduction,
                       I64Attr:$dim, Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand custom<Enum>($reduction) `dim` $dim `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_AllToAllOp : Dist_Collective<"all_to_all"> {
  let summary = "Splits one dimension among the group and joins another";
  let description = [{
    Each device cuts its tensor into p blocks along `splitDim`, sends the i-th to
    the i-th of the group, and concatenates what it gets along `concatDim`.
    ```mlir
    %1 = dist.all_to_all %0 split 2 concat 1 over "tp" : tensor<2x4x8xf32> -> tensor<2x16x2xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `splitDim` and `concatDim` are dimensions of the tensor and differ.
    - (C2) p divides the operand's size on `splitDim`.
    - (C3) the result has a p-th of that size, and p times that on `concatDim`.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$splitDim, I64Attr:$concatDim,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `split` $splitDim `concat` $concatDim `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_AllSliceOp : Dist_Collective<"all_slice"> {
  let summary = "Every device keeps its slice of a tensor that all hold; sends nothing";
  let description = [{
    ```mlir
    %1 = dist.all_slice %0 dim 1 over "tp" : tensor<2x16x64xf32> -> tensor<2x4x64xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the tensor.
    - (C2) the operand has p times the result's size on `dim`, else its shape,
      and its element type.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_CollectivePermuteOp : Dist_Collective<"collective_permute", [SameOperandsAndResultType]> {
  let summary = "Every device passes its tensor on: a permuted device order";
  let description = [{
    Block i lies on the devices whose coordinates on `axes` (source), read row-major
    in the order given, are i; afterwards on those whose coordinates on `toAxes`
    are i. Devices that differ only in axes outside both lists work apart. Where
    the lists differ as sets, the coordinates on the axes that left, read row-major,
    are those of the receiver on the axes that came. If `reversed`, block i of p goes to
    the devices whose coordinates are p - 1 - i: pairs of devices, end for end, exchange
    their tensors, and one in the middle keeps its own.
    ```mlir
    %1 = dist.collective_permute %0 from "x", "y" to "y", "x" : tensor<4x4xf32>
    %2 = dist.collective_permute %0 from "cp" to "cp" reversed : tensor<4x4xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) both lists have the same product of sizes.
    - (C2) if `reversed`, both lists are the same.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_AxisRefArrayAttr:$axes,
                       Dist_AxisRefArrayAttr:$toAxes, UnitAttr:$reversed,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `from` custom<AxisList>($axes) `to` custom<AxisList>($toAxes)
    (`reversed` $reversed^)? (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($result)
  }];
}

def Dist_BroadcastOp : Dist_Collective<"broadcast", [SameOperandsAndResultType]> {
  let summary = "Every device gets the tensor of one of the group";
  let description = [{
    ```mlir
    %1 = dist.broadcast %0 root 0 over "tp" : tensor<4x4xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `root` is a row-major index into the group.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$root,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `root` $root `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($result)
  }];
}

def Dist_HaloExchangeOp : Dist_Collective<"halo_exchange"> {
  let summary = "Every device gets the borders of its neighbours' blocks";
  let description = [{
    The devices form a line of blocks along `dim`. The result is the operand with
    the `low` rows before its block put in front and the `high` rows after it
    behind, whichever devices have them: a halo wider than a block comes from
    several neighbours. What is past the ends of the line `boundary` says: zeros,
    unless something else is written.
    ```mlir
    %1 = dist.halo_exchange %0 dim 1 low 1 high 2 over "sp" : tensor<2x8xf32> -> tensor<2x11xf32>
    %2 = dist.halo_exchange %0 dim 1 low 1 high 2 boundary periodic over "sp"
           : tensor<2x8xf32> -> tensor<2x11xf32>
    ```
    The dimension has as many rows as all blocks together, or, with `of`, that
    number: blocks are then those of a sharded dimension of that size, and of the
    last ones some are shorter, or empty. Row i of the result is row
    s - low + i of the dimension, where s is the one that the device's block
    begins with; after the `high` rows behind a shorter block the rest is padding,
    as all of the result is where the block is empty. Here five rows are blocks of
    2, 2 and 1 on three devices:
    ```mlir
    %1 = dist.halo_exchange %0 dim 0 of 5 low 1 high 1 boundary constant -1.0 : f32
           over "sp" : tensor<2xf32> -> tensor<4xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the tensor.
    - (C2) `low` and `high` are at least 0, and at most 2^40.
    - (C3) the result has `low + high` more rows than the operand on `dim`.
    - (C4) `of` is a number of rows of which each device's block is as large as
      the operand.
    - (C5) the constant of a boundary is of the tensor's element type.
    - (C6) a `periodic` dimension has rows, unless the halo has none.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       OptionalAttr<I64Attr>:$size, I64Attr:$low,
                       I64Attr:$high, OptionalAttr<Dist_BoundaryAttr>:$boundary,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`of` $size^)? `low` $low `high` $high
    (`boundary` custom<Boundary>($boundary)^)?
    `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($operand) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// What lies beyond the ends; where nothing is written, zeros.
    ::mlir::dist::BoundaryKind getBoundaryKind() {
      return getBoundary() ? getBoundary()->getKind()
                           : ::mlir::dist::BoundaryKind::Zero;
    }
  }];
}

def Dist_HaloReduceOp : Dist_Collective<"halo_reduce"> {
  let summary = "Halos travel home and are added there: halo_exchange's adjoint";
  let description = [{
    Of every row of its block a device gets the sum of its own number and of those
    that others hold of that row in their halos. The operand is a block with the
    `low` rows before it and the `high` rows after it, as `dist.halo_exchange` with
    the same attributes leaves it; rows past the ends of the line are dropped, or,
    with `periodic`, added at the other end. What is padding adds nothing, and is
    zero in the result.
    ```mlir
    %1 = dist.halo_reduce %0 dim 1 low 1 high 2 over "sp" : tensor<2x11xf32> -> tensor<2x8xf32>
    %2 = dist.halo_reduce %0 dim 1 of 15 low 1 high 2 periodic over "sp"
           : tensor<2x11xf32> -> tensor<2x8xf32>
    ```
    The sum is the device's own number, then the others' in their order. Narrow
    floats are added in f32 and rounded once.

    Constraints, besides those of all collectives: those of `dist.halo_exchange`,
    whose operand is of the type of this one's result and the reverse; elements
    can be added.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       OptionalAttr<I64Attr>:$size, I64Attr:$low,
                       I64Attr:$high, UnitAttr:$periodic,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`of` $size^)? `low` $low `high` $high
    (`periodic` $periodic^)? `over` custom<AxisList>($axes) (`on` $mesh^)?
    (`cause` custom<Text>($cause)^)? attr-dict `:` type($operand) `->` type($result)
  }];
}

/// What looking rows up among devices and its adjoint have in common: the
/// operand, the rows that are meant, and the dimension that they are of.
class Dist_RowsOp<string mnemonic> : Dist_Collective<mnemonic> {
  let arguments = (ins AnyRankedTensor:$operand,
                       RankedTensorOf<[I64, I32, Index]>:$indices,
                       I64Attr:$dim, OptionalAttr<I64Attr>:$size,
                       Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `[` $indices `]` `dim` $dim (`of` $size^)?
    `over` custom<AxisList>($axes) (`on` $mesh^)? (`cause` custom<Text>($cause)^)?
    attr-dict `:` type($operand) `[` type($indices) `]` `->` type($result)
  }];
}

def Dist_GatherRowsOp : Dist_RowsOp<"gather_rows"> {
  let summary = "Every device gets the rows that its indices name, from who has them";
  let description = [{
    The operand is the device's block of a dimension that is sharded over the
    axes: rows of a table, nodes of a graph. Row i of the result is row
    `indices[i]` of the whole dimension, as if that had been gathered; sent are only
    the rows that others name, once to each of them, however often they name it:
    those of the nodes at the cut edges of a graph.

    ```mlir
    %1 = dist.gather_rows %0[%src] dim 0 over "gp"
           : tensor<12x8xf32>[tensor<30xindex>] -> tensor<30x8xf32>
    ```
    The dimension has as many rows as all blocks together, or, with `of`, that
    number, as of `dist.halo_exchange`.

    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the operand.
    - (C2) `indices` has one dimension; the result's first is of its size, the
      others are those of the operand without `dim`.
    - (C3) `of` is a number of rows of which each device's block is as large as
      the operand.

    An index that names no row ends the run.
  }];
}

def Dist_ReduceRowsOp : Dist_RowsOp<"reduce_rows"> {
  let summary = "Rows are added where they are at home: the adjoint of gather_rows";
  let description = [{
    Of every row of its block a device gets the sum of the rows of operands, on
    all devices, that indices send there; a row that none is sent to is zero. A
    device adds up its own rows for each place first, and sends one sum for each row of
    another device's; there the devices' sums are added in their order. Narrow
    floats are added in f32, and rounded once on each side.

    ```mlir
    %1 = dist.reduce_rows %0[%dst] dim 0 of 23 over "gp"
           : tensor<30x8xf32>[tensor<30xindex>] -> tensor<12x8xf32>
    ```
    Constraints, besides those of all collectives: those of `dist.gather_rows`,
    whose operand is of the type of this one's result and the reverse; elements
    can be added.
  }];
}

def Dist_SendRecvOp : Dist_Collective<"send_recv", [SameOperandsAndResultType]> {
  let summary = "Passes a tensor along a line of devices";
  let description = [{
    Every device sends its tensor to the one `shift` further along the axes (row-major)
    and gets that of the one `shift` before it; a device without a sender gets zeros.
    If `periodic`, the line is a ring: the last device is before the first one.
    The matched pair of a send and a receive: apart, they could not be checked.
    ```mlir
    %1 = dist.send_recv %0 shift 1 over "pp" : tensor<4x4xf32>
    %2 = dist.send_recv %0 shift 1 periodic over "cp" : tensor<4x4xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `shift` is not 0, and its absolute value smaller than the group.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$shift,
                       UnitAttr:$periodic, Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `shift` $shift (`periodic` $periodic^)? `over` custom<AxisList>($axes)
    (`on` $mesh^)? (`cause` custom<Text>($cause)^)? attr-dict `:` type($result)
  }];
}

def Dist_AxisIndexOp : Dist_Op<"axis_index", [Pure]> {
  let summary = "The device's coordinate, row-major over the axes";
  let description = [{
    ```mlir
    %i = dist.axis_index "dp", "tp"
    ```
  }];
  let arguments = (ins Dist_AxisRefArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<AxisList>($axes) (`on` $mesh^)? attr-dict";
  let hasVerifier = 1;
}

def Dist_LocalConstantOp : Dist_Op<"local_constant", [Pure]> {
  let summary = "The device's part of a constant";
  let description = [{
    The whole constant stands in the program once; a device holds only what
    `sharding` gives it. What is past an end is padding, as everywhere. The
    lowering puts the data into a file, of which every rank loads its part.

    ```mlir
    %w = dist.local_constant dense_resource<table> : tensor<1024x64xf32>
           <@m, [{"tp"}, {} ]> -> tensor<256x64xf32>
    ```

    Constraints:
    - (C1) the constant is a tensor, not a vector.
    - (C2) the sharding fits the constant and its mesh (see `#dist.sharding`), and
      is not partial.
    - (C3) the result has the constant's element type, and the shape of the part
      that every device holds of it, padding included.
  }];
  let arguments = (ins ElementsAttr:$value, Dist_ShardingAttr:$sharding);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value $sharding attr-dict `->` type($result)";
  let hasVerifier = 1;
}

#endif // DIST_IR_DISTCOLLECTIVES_TD
