//===- Passes.td - From collectives to runtime calls -------*- tablegen -*-===//
//
// What every target's lowering starts with.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_PASSES_TD
#define DIST_LOWERING_RT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistLowerCollectives : Pass<"dist-lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Collectives of the dist dialect become calls of the runtime";
  let description = [{
    Numbers the groups of mesh axes (`rt.communicators`) and the collectives
    (`rt.collectives`, what the manifest says of each) and writes each collective
    in destination-passing style. `dist.all_slice` becomes a
    `tensor.extract_slice` at this rank's place, since it sends nothing.

    ```mlir
    %1 = dist.all_gather %0 dim 1 over "tp" : tensor<2x4xf32> -> tensor<2x16xf32>
    // becomes
    %d = tensor.empty() : tensor<2x16xf32>
    %1 = rt.all_gather comm 0 site 0 outer 2 whole 16 inner 1
        ins(%0 : tensor<2x4xf32>) outs(%d : tensor<2x16xf32>) -> tensor<2x16xf32>
    ```

    A collective with `dist.stream` becomes a call on that stream, which starts
    where the collective stands, and an `rt.wait` before the first use of its
    result.
  }];
  let dependentDialects = ["::mlir::rt::RtDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DistJoinParameters : Pass<"dist-join-parameters", "::mlir::ModuleOp"> {
  let summary = "Parameters that are only concatenated become one argument";
  let description = [{
    Where the entry function concatenates parameters, it takes what that makes as an
    argument: a rank puts its parts of them beside each other when it loads them, and
    not in each step. `dist.joined` says of which parameters the argument is, and in
    which dimension. Parameters that nothing else reads are no arguments any more.
    In a step of training, some of whose results take the places of arguments (`dist.updates`), nothing
    is joined.

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
    Each `dist.local_constant` becomes a further argument, whose data every rank
    loads its part of; equal ones share it. `rt.constants` says, in the order of
    these arguments, what the manifest has to say of each, and holds the data:
    the constant itself (`value`), how it is cut (`dist.sharding`), the type of
    the part (`local_type`).

    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %w = dist.local_constant dense_resource<table> : tensor<8x8xf32>
             <@m, [{"tp"}, {} ]> -> tensor<2x8xf32>
    // becomes
    func.func @main(%x: tensor<2x8xf32>, %w: tensor<2x8xf32>) -> tensor<2x8xf32> {
    ```

    Whole constants stay where they are, but for one number in more than 64 KiB,
    which is filled in where it is needed; of those that are resources, i1 become
    dense, since the translation to LLVM IR does not know such resources.

    Runs after inlining: elsewhere than in the entry function a
    `dist.local_constant` is an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // DIST_LOWERING_RT_PASSES_TD
