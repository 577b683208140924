//===- Passes.td - From collectives to runtime calls -------*- tablegen -*-===//
//
// The passes that every target's lowering starts with.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_PASSES_TD
#define DIST_LOWERING_RT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistLowerCollectives : Pass<"dist-lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Collectives of the dist dialect become calls of the runtime";
  let description = [{
    Needs a program of level 3 or 4. Numbers the groups of mesh axes
    (`rt.communicators`) and the collectives (`rt.collectives`, their descriptions
    for the manifest). Each collective becomes a call in destination-passing
    style. `dist.all_slice` sends nothing: it becomes a `tensor.extract_slice` at
    this rank's offset.

    ```mlir
    %1 = dist.all_gather %0 dim 1 over "tp" : tensor<2x4xf32> -> tensor<2x16xf32>
    // becomes
    %d = tensor.empty() : tensor<2x16xf32>
    %1 = rt.all_gather comm 0 site 0 outer 2 whole 16 inner 1
        ins(%0 : tensor<2x4xf32>) outs(%d : tensor<2x16xf32>) -> tensor<2x16xf32>
    ```

    A collective with `dist.stream` becomes a call on that stream, which starts at
    the collective, and an `rt.wait` before the first use of its result.
  }];
  let dependentDialects = ["::mlir::rt::RtDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DistJoinParameters : Pass<"dist-join-parameters", "::mlir::ModuleOp"> {
  let summary = "Parameters that are only concatenated become one argument";
  let description = [{
    Needs a program of level 3. If the entry function concatenates parameters, it
    takes the concatenation as one argument instead. A rank then joins its parts
    of the parameters when it loads them, not in each step. `dist.joined` lists
    the parameters of the argument, and the dimension. Parameters without other
    uses are erased. Training steps, in which results replace arguments
    (`dist.updates`), stay as they are.

    ```mlir
    func.func @main(%a: tensor<2x8xf32> {dist.parameter = "a"}, %b: tensor<4x8xf32> {dist.parameter = "b"}) {
      %w = tensor.concat dim(0) %a, %b : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    // becomes
    func.func @main(%w: tensor<6x8xf32> {dist.parameter = "a + b", dist.joined = {dim = 0 : i64, pieces = [
        {dist.parameter = "a", type = tensor<2x8xf32>}, {dist.parameter = "b", type = tensor<4x8xf32>} ]} }) {
    ```
  }];
}

def DistLowerConstants : Pass<"dist-lower-constants", "::mlir::ModuleOp"> {
  let summary = "Parts of constants become arguments of the entry function";
  let description = [{
    Needs a program after inlining: a `dist.local_constant` outside of the entry
    function is an error. Each `dist.local_constant` becomes a further argument.
    Every rank loads its part of the data; equal constants share an argument.
    `rt.constants` describes them for the manifest, in the order of these
    arguments. An entry also holds the data: the constant itself (`value`), its
    sharding (`dist.sharding`), and the type of the part (`local_type`).

    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %w = dist.local_constant dense_resource<table> : tensor<8x8xf32>
             <@m, [{"tp"}, {} ]> -> tensor<2x8xf32>
    // becomes
    func.func @main(%x: tensor<2x8xf32>, %w: tensor<2x8xf32>) -> tensor<2x8xf32> {
    ```

    Whole constants stay in place, except splats of more than 64 KiB: these are
    filled in where they are needed. Resources of i1 become dense constants, since
    the translation to LLVM IR does not support such resources.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // DIST_LOWERING_RT_PASSES_TD
