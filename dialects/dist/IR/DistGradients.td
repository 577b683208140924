//===- DistGradients.td - Ops of backward passes -----------*- tablegen -*-===//
//
// Ops that --dist-differentiate emits and no other dialect has.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTGRADIENTS_TD
#define DIST_IR_DISTGRADIENTS_TD

include "dialects/dist/IR/DistBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_FollowOp : Dist_Op<"follow", [
    Pure, AllTypesMatch<["operand", "leader", "result"]>]> {
  let summary = "A value that is placed like another one, without moving it";
  let description = [{
    The result is `operand`. It should have the placement of `leader`: a cotangent
    the placement of its primal, a gradient the placement of its parameter. Unlike
    a constraint this is a preference: a pending reduction is scattered only when
    something needs it. The leader's own placement never depends on this op.

    With `moved`, `leader` is resharded by a `dist.sync`, and `operand` is the
    cotangent of the result of that sync. Then the two may be placed differently.

    ```mlir
    %1 = dist.follow %cotangent like %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$leader,
                       UnitAttr:$moved);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `like` $leader (`moved` $moved^)? attr-dict `:` type($result)
  }];
}

def Dist_ScatterAddOp : Dist_Op<"scatter_add", [
    Pure, AllTypesMatch<["dest", "result"]>]> {
  let summary = "Adds rows to those that indices name";
  let description = [{
    The result is `dest`, to which the parts of `source` are added at the
    positions that `indices` name. A position may be named several times. It is
    the adjoint of `tensor.gather`, and has its shapes: the last dimension of
    `indices` has an entry for each of `dims`. `source` has the other dimensions
    of `indices`, then the dimensions of `dest` without `dims`, or with these as
    1.

    ```mlir
    %1 = dist.scatter_add %rows into %table[%ids] dims [0]
           : tensor<8x64xf32> into tensor<256x64xf32>[tensor<8x1xi64>]
    ```

    Constraints:
    - (C1) `dims` are dimensions of `dest`, in increasing order. There are as many
      as the size of the last dimension of `indices`.
    - (C2) `source` has the shape of a gather from `dest`, and the element type of
      `dest`, which is a number.
  }];
  let arguments = (ins RankedTensorOf<[AnyInteger, AnyFloat]>:$source,
                       RankedTensorOf<[AnyInteger, AnyFloat]>:$dest,
                       RankedTensorOf<[AnyInteger, Index]>:$indices,
                       DenseI64ArrayAttr:$dims);
  let results = (outs RankedTensorOf<[AnyInteger, AnyFloat]>:$result);
  let assemblyFormat = [{
    $source `into` $dest `[` $indices `]` `dims` $dims attr-dict
    `:` type($source) `into` type($dest) `[` type($indices) `]`
  }];
  let hasVerifier = 1;
}

def Dist_OptimizationBarrierOp : Dist_Op<"optimization_barrier", [
    Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "The operand; passes must not look through it";
  let description = [{
    The result is `operand`. Passes treat it as an unknown value. So an op on the
    result is never merged with the same op on the operand: backward recomputes
    what forward computed, and does not keep it. With `after`, the result is
    available only after that value is. The op takes no memory and no time.

    ```mlir
    %1 = dist.optimization_barrier %x after %dy : tensor<8x16xf32> after tensor<8x4xf32>
    %2 = math.exp %1 : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand,
                       Optional<AnyRankedTensor>:$after);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand (`after` $after^)? attr-dict
    `:` type($operand) (`after` type($after)^)?
  }];
}

#endif // DIST_IR_DISTGRADIENTS_TD
