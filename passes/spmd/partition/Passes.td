//===- Passes.td - The program of one device ---------------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_PARTITION_PASSES_TD
#define DIST_PASSES_SPMD_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"dist-partition", "ModuleOp"> {
  let summary = "The program of one device: level 2 to 3";
  let description = [{
    Needs a program that `--dist-verify-placed` accepts. Types become those of
    local parts. Each reshard becomes the cheapest sequence of collectives.
    Arguments and results keep `dist.sharding` and get `dist.global_type`, the
    type of the whole tensor. Dimensions that the mesh does not divide are padded;
    padding is masked where it would be reduced.

    Costs depend on the machine's links. Without a machine, each collective takes
    20 us plus its bytes at 1 GB/s.
  }];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "The machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "As in --dist-schedule-overlap">,
  ];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FuseContractionsPass : Pass<"dist-fuse-contractions", "ModuleOp"> {
  let summary = "Linear layers that read one input become one contraction: level 3";
  let description = [{
    Needs a program of level 3 in which `dist.fuse` marks the contractions of a
    group. The group becomes one contraction, in the place of the first. Its
    weight is the device's parts of their weights, concatenated in the output
    features. Slices of its result replace the results of the group.

    ```mlir
    %q = linalg.contract … {dist.fuse = {group = 1 : i64, …}} ins(%x, %wq : tensor<4x64xf32>, tensor<32x64xf32>) …
    %k = linalg.contract … {dist.fuse = {group = 1 : i64, …}} ins(%x, %wk : tensor<4x64xf32>, tensor<16x64xf32>) …
    ```
    becomes
    ```mlir
    %w = tensor.concat dim(0) %wq, %wk : (tensor<32x64xf32>, tensor<16x64xf32>) -> tensor<48x64xf32>
    %qk = linalg.contract … ins(%x, %w : tensor<4x64xf32>, tensor<48x64xf32>) …
    %q = tensor.extract_slice %qk[0, 0] [4, 32] [1, 1] : tensor<4x48xf32> to tensor<4x32xf32>
    %k = tensor.extract_slice %qk[0, 32] [4, 16] [1, 1] : tensor<4x48xf32> to tensor<4x16xf32>
    ```

    Weights are joined when they are loaded (`--dist-join-parameters`), not in
    each step, unless training changes them in each step. It is an error, at the
    directive, if the contractions do not read the same tensor, or differ in more
    than their output features. So is a weight that is not a parameter as it was
    loaded.
  }];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // DIST_PASSES_SPMD_PARTITION_PASSES_TD
