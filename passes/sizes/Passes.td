//===- Passes.td - Sizes that a file leaves open -----------*- tablegen -*-===//

#ifndef DIST_PASSES_SIZES_PASSES_TD
#define DIST_PASSES_SIZES_PASSES_TD

include "mlir/Pass/PassBase.td"

def BindSizesPass : Pass<"dist-bind-sizes", "ModuleOp"> {
  let summary = "Gives sizes that only running would tell: any level";
  let description = [{
    Arguments of the entry function get the sizes given, all values those that
    follow. Functions that are then called with other types than before become
    copies. At level 3 the sizes are those of whole tensors, and devices must
    divide what they shard; at levels 0 to 2 any size will do.

    `--dist-bind-sizes=sizes=x[0]=8` on

    ```mlir
    func.func @main(%x: tensor<?x4xf32> {dist.input = "x"}) -> tensor<?x4xf32> {
      %0 = math.exp %x : tensor<?x4xf32>
    ```
    makes
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.input = "x"}) -> tensor<8x4xf32> {
      %0 = math.exp %x : tensor<8x4xf32>
    ```
  }];
  let options = [
    ListOption<"sizes", "sizes", "std::string",
               "ARGUMENT[DIM]=SIZE, or NAME=SIZE of the dimensions of that name; "
               "arguments without a name are arg0, arg1, …">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::arith::ArithDialect"];
}

#endif // DIST_PASSES_SIZES_PASSES_TD
