//===- Passes.td - The program of one device ---------------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_PARTITION_PASSES_TD
#define DIST_PASSES_SPMD_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"dist-partition", "ModuleOp"> {
  let summary = "The program of one device: level 2 to 3";
  let description = [{
    Types become those of the local parts, reshards the cheapest sequences of
    collectives. Arguments and results keep `dist.sharding` and get
    `dist.global_type`, the type of the whole tensor. Dimensions that the mesh
    does not divide are padded; padding is masked where it would be reduced.

    Which sequence is cheapest hangs on the machine's links: of none that is
    named each collective takes 20 us, and its bytes 1 GB/s.
  }];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "What it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "As of --dist-schedule-overlap">,
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
    Contractions that `dist.fuse` marks become one for each group, in the place of the
    first: its weight is what the device has of their weights, one after the other in
    the output features, and slices of what it makes stand in their results' place.

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

    Weights are joined when they are loaded (`--dist-join-parameters`), not in each
    step, unless training makes them anew in each. It is an error, at the directive, where the contractions do not read the same
    tensor, differ in more than their output features, or have weights that are not
    parameters as they were loaded.
  }];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // DIST_PASSES_SPMD_PARTITION_PASSES_TD
