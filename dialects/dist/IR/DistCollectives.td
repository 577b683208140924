//===- DistCollectives.td - Local-view collectives ---------*- tablegen -*-===//
//
// Level 3: collectives on local tensors. A group is named by mesh axes, never by
// a list of devices: it is the devices that differ only in their coordinates on
// those axes.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTCOLLECTIVES_TD
#define DIST_IR_DISTCOLLECTIVES_TD

include "dialects/dist/IR/DistAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    What all collectives on local tensors have. Constraints of all collectives:
    - there is a mesh: `on @mesh`, or the only mesh before the module's functions.
    - there is at least one axis; all axes are in the mesh, and none occurs twice.

    An unknown size is assumed to satisfy the constraints. It is checked when it
    becomes known, before the program runs.
  }];
  let methods = [
    InterfaceMethod<"Axes of the group, major to minor.",
                    "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"The mesh of the axes; null means the module's only one.",
                    "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The directive or op that it was inserted for.",
                    "::mlir::StringAttr", "getCauseAttr">,
    InterfaceMethod<[{Bytes that one device sends, with a bandwidth-optimal
                      algorithm, in a group of p = `groupSize` devices. For a full
                      tensor of n bytes: all_reduce 2(p-1)/p n; all_gather and
                      reduce_scatter (p-1)/p n. all_to_all: (p-1)/p of the local
                      tensor.}],
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
    - (C2) the result has p times the operand's size on `dim`, and otherwise the
      operand's shape and element type.
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
    - (C2) the operand has p times the result's size on `dim`, and otherwise the
      result's shape and element type.
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
    Each device cuts its tensor into p blocks along `splitDim` and sends the i-th
    block to the i-th device of the group. It concatenates what it receives along
    `concatDim`.
    ```mlir
    %1 = dist.all_to_all %0 split 2 concat 1 over "tp" : tensor<2x4x8xf32> -> tensor<2x16x2xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `splitDim` and `concatDim` are dimensions of the tensor and differ.
    - (C2) p divides the operand's size on `splitDim`.
    - (C3) the result's size is the operand's divided by p on `splitDim`, and p
      times the operand's on `concatDim`.
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
  let summary = "Every device keeps its slice of a replicated tensor; sends nothing";
  let description = [{
    ```mlir
    %1 = dist.all_slice %0 dim 1 over "tp" : tensor<2x16x64xf32> -> tensor<2x4x64xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the tensor.
    - (C2) the operand has p times the result's size on `dim`, and otherwise the
      result's shape and element type.
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
  let summary = "Every device sends its tensor to another: a permuted device order";
  let description = [{
    Before, block i is on the devices whose coordinates on `axes` (source), read
    row-major in the order given, are i. Afterwards it is on the devices whose
    coordinates on `toAxes` are i. Devices that differ in axes outside of both
    lists do not communicate.

    If the lists differ as sets, some axes leave and others come. The sender's
    coordinates on the axes that leave, read row-major, are the receiver's
    coordinates on the axes that come.

    If `reversed`, block i of p goes to the devices whose coordinates are p - 1 -
    i. Devices exchange their tensors in pairs, the first with the last; a device
    in the middle keeps its own.
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
  let summary = "Every device gets the tensor of one device of the group";
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
    the `low` rows before its block in front and the `high` rows after it behind.
    These come from the devices that own them: a halo wider than a block comes
    from several neighbours. `boundary` says what is past the ends of the line;
    the default is zeros.
    ```mlir
    %1 = dist.halo_exchange %0 dim 1 low 1 high 2 over "sp" : tensor<2x8xf32> -> tensor<2x11xf32>
    %2 = dist.halo_exchange %0 dim 1 low 1 high 2 boundary periodic over "sp"
           : tensor<2x8xf32> -> tensor<2x11xf32>
    ```
    The dimension has as many rows as all blocks together. With `of`, it has that
    number of rows: it is cut as a sharded dimension of that size, so some of the
    last blocks may be shorter or empty.

    Row i of the result is row s - low + i of the dimension, where s is the first
    row of the device's block. If the block is shorter, the `high` rows follow its
    last row, and the rest of the result is padding. If the block is empty, all of
    the result is padding. Example: five rows on three devices are blocks of 2, 2
    and 1.
    ```mlir
    %1 = dist.halo_exchange %0 dim 0 of 5 low 1 high 1 boundary constant -1.0 : f32
           over "sp" : tensor<2xf32> -> tensor<4xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the tensor.
    - (C2) `low` and `high` are at least 0, and at most 2^40.
    - (C3) the result has `low + high` more rows than the operand on `dim`.
    - (C4) a dimension of `of` rows has blocks of the operand's size.
    - (C5) the constant of a boundary has the tensor's element type.
    - (C6) a `periodic` dimension has at least one row, or the halo has no rows.
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
    /// What is beyond the ends of the line; zeros by default.
    ::mlir::dist::BoundaryKind getBoundaryKind() {
      return getBoundary() ? getBoundary()->getKind()
                           : ::mlir::dist::BoundaryKind::Zero;
    }
  }];
}

def Dist_HaloReduceOp : Dist_Collective<"halo_reduce"> {
  let summary = "Rows of halos are sent to their owners and added: halo_exchange's adjoint";
  let description = [{
    The operand is a block with `low` rows before it and `high` rows after it, as
    `dist.halo_exchange` with the same attributes returns it. The result is the
    device's own block: to each row, the same rows of other devices' halos are
    added. Rows past the ends of the line are dropped, or, with `periodic`, added
    at the other end. Padding adds nothing, and is zero in the result.
    ```mlir
    %1 = dist.halo_reduce %0 dim 1 low 1 high 2 over "sp" : tensor<2x11xf32> -> tensor<2x8xf32>
    %2 = dist.halo_reduce %0 dim 1 of 15 low 1 high 2 periodic over "sp"
           : tensor<2x11xf32> -> tensor<2x8xf32>
    ```
    The device's own number comes first in the sum, then the others' in the order
    of devices. Narrow floats are added in f32 and rounded once.

    Constraints, besides those of all collectives: those of `dist.halo_exchange`
    with the types of operand and result exchanged; elements can be added.
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

/// A lookup of rows on other devices, or its adjoint: the operand, the indices of
/// the rows, and the dimension that is indexed.
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
  let summary = "Every device gets the rows that its indices name, from their owners";
  let description = [{
    The operand is the device's block of a dimension that is sharded over the
    axes: rows of a table, nodes of a graph. Row i of the result is row
    `indices[i]` of the whole dimension, as if the dimension had been gathered.
    Only rows that other devices name are sent, once to each of these devices. In
    a graph these are the nodes at cut edges.

    ```mlir
    %1 = dist.gather_rows %0[%src] dim 0 over "gp"
           : tensor<12x8xf32>[tensor<30xindex>] -> tensor<30x8xf32>
    ```
    The dimension has as many rows as all blocks together. With `of`, it has that
    number of rows, as in `dist.halo_exchange`.

    Constraints, besides those of all collectives:
    - (C1) `dim` is a dimension of the operand.
    - (C2) `indices` has one dimension. The result's first dimension has its size;
      the others are those of the operand without `dim`.
    - (C3) a dimension of `of` rows has blocks of the operand's size.

    An index outside of the dimension ends the run.
  }];
}

def Dist_ReduceRowsOp : Dist_RowsOp<"reduce_rows"> {
  let summary = "Rows are sent to their owners and added there: the adjoint of gather_rows";
  let description = [{
    Row i of a device's operand is added to row `indices[i]` of the whole
    dimension. The result is the device's block of the sums; a row that no index
    names is zero.

    A device first adds up its own rows for each index. For each row of another
    device it then sends one sum. The owner adds the devices' sums in the order of
    devices. Narrow floats are added in f32, and rounded once on each side.

    ```mlir
    %1 = dist.reduce_rows %0[%dst] dim 0 of 23 over "gp"
           : tensor<30x8xf32>[tensor<30xindex>] -> tensor<12x8xf32>
    ```
    Constraints, besides those of all collectives: those of `dist.gather_rows`
    with the types of operand and result exchanged; elements can be added.
  }];
}

def Dist_SendRecvOp : Dist_Collective<"send_recv", [SameOperandsAndResultType]> {
  let summary = "Passes a tensor along a line of devices";
  let description = [{
    Every device sends its tensor to the device `shift` further along the axes
    (row-major) and receives the tensor of the device `shift` before it. A device
    without a sender gets zeros. If `periodic`, the line is a ring: the last
    device is before the first one.

    It is one op, not a send and a receive, so that the pair can be verified.
    ```mlir
    %1 = dist.send_recv %0 shift 1 over "pp" : tensor<4x4xf32>
    %2 = dist.send_recv %0 shift 1 periodic over "cp" : tensor<4x4xf32>
    ```
    Constraints, besides those of all collectives:
    - (C1) `shift` is not 0, and its absolute value is smaller than the group.
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
    The program holds the whole constant once. A device holds only the part that
    `sharding` gives it; rows past an end are padding. The lowering puts the data
    into a file, and every rank loads its part.

    ```mlir
    %w = dist.local_constant dense_resource<table> : tensor<1024x64xf32>
           <@m, [{"tp"}, {} ]> -> tensor<256x64xf32>
    ```

    Constraints:
    - (C1) the constant is a tensor, not a vector.
    - (C2) the sharding fits the constant and its mesh (see `#dist.sharding`), and
      is not partial.
    - (C3) the result has the constant's element type, and the shape of the part
      that every device holds, padding included.
  }];
  let arguments = (ins ElementsAttr:$value, Dist_ShardingAttr:$sharding);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value $sharding attr-dict `->` type($result)";
  let hasVerifier = 1;
}

#endif // DIST_IR_DISTCOLLECTIVES_TD
