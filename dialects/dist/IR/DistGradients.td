//===- DistGradients.td - What gradients are made of -------*- tablegen -*-===//
//
// Ops that --dist-differentiate needs and no other dialect has.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTGRADIENTS_TD
#define DIST_IR_DISTGRADIENTS_TD

include "dialects/dist/IR/DistBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_FollowOp : Dist_Op<"follow", [
    Pure, AllTypesMatch<["operand", "leader", "result"]>]> {
  let summary = "The value is placed as another one, which it does not move";
  let description = [{
    The result is `operand`, which is to lie where `leader` does: a cotangent
    where its primal is, a gradient where its parameter is stored. Unlike a
    constraint it is a wish: where a reduction is pending, it is scattered when
    something needs it. The leader's own placement never depends on it, and is
    settled before.

    With `moved` the operand may lie elsewhere: it is the cotangent of what the
    leader becomes by a `dist.sync`, on the other side of it.

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
    `dest`, to which the parts of `source` are added at the places that `indices`
    name, several of which may be one: the adjoint of `tensor.gather`, whose
    shapes are the same. The last dimension of `indices` has an entry for each of
    `dims`; `source` has the others, then the dimensions of `dest` without
    `dims`, or with these as 1.

    ```mlir
    %1 = dist.scatter_add %rows into %table[%ids] dims [0]
           : tensor<8x64xf32> into tensor<256x64xf32>[tensor<8x1xi64>]
    ```

    Constraints:
    - (C1) `dims` are dimensions of `dest`, in increasing order, as many as the
      last dimension of `indices` says.
    - (C2) the shape of `source` is that of a gather from `dest`, and its
      elements are of the type of those of `dest`: numbers.
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
  let summary = "The value, of which no pass knows what it is";
  let description = [{
    The result is `operand`. What is computed of it is not found to be what is
    computed of the operand, and so not made one with it: backward computes again
    what forward has computed, in place of keeping it. With `after`, it is not
    there before that value is. It takes no memory and no time.

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
