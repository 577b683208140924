//===- DistOps.td - Meshes and placements ------------------*- tablegen -*-===//
//
// Level 2: where values are, before the program is partitioned.
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
    /// Size of the axis called `name`; 0 if there is no such axis.
    int64_t getAxisSize(StringRef name);
    int64_t getNumDevices();
  }];
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

def Dist_ShardingConstraintOp : Dist_Op<"sharding_constraint", [
    Pure, SameOperandsAndResultType]> {
  let summary = "The value is placed like this";
  let description = [{
    An annotation of a value inside a function. Propagation may shard open
    dimensions (`?`) further, but not over the axes after `whole`. Example: there
    are fewer heads of keys than devices. Then each device computes all of the
    keys, although the sequence is sharded over the same devices elsewhere.

    ```mlir
    %1 = dist.sharding_constraint %0 <@m, [{?}, {"tp"} ]> : tensor<8x16xf32>
    %3 = dist.sharding_constraint %2 <@m, [{?}, {} ]> whole "tp" : tensor<8x4xf32>
    ```

    Constraints:
    - (C1) the sharding fits the tensor and its mesh (see `#dist.sharding`).
    - (C2) the axes after `whole` are axes of the mesh, and none occurs twice.
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
    Becomes the cheapest sequence of collectives that leads from the placement
    `source` to the placement `sharding`. `cause` names the directive or op that
    needs it.

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
  let summary = "The same value, placed differently by your own code";
  let description = [{
    A `dist.sync` by a function becomes this op. Its region is the code of one
    device. The argument is the device's part of the operand, placed as `source`.
    It yields the device's part of the result, placed as `sharding`.
    `--dist-partition` inlines its ops. The second region, after `backward`, takes
    a part of the result's gradient and yields a part of the operand's. It is kept
    for differentiation.

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
    - (C2) a region has one block with one argument, and yields one tensor with
      the element type of the operand. `backward` takes the type that the first
      region yields, and yields the type that it takes.
    - (C3) the operand has no reduction pending over axes that `source` does not
      name.
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
  let summary = "Ends a region of dist.manual_reshard";
  let description = [{
    ```mlir
    dist.yield %2 : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif // DIST_IR_DISTOPS_TD
