//===- Passes.td - Sizes that a file leaves open -----------*- tablegen -*-===//

#ifndef DIST_PASSES_SIZES_PASSES_TD
#define DIST_PASSES_SIZES_PASSES_TD

include "mlir/Pass/PassBase.td"

def BindSizesPass : Pass<"dist-bind-sizes", "ModuleOp"> {
  let summary = "Sets sizes that are otherwise known only at run time: any level";
  let description = [{
    Arguments of the entry function get the given sizes, and all values get the
    sizes that follow from these. If a function is then called with other types
    than before, it is copied. At level 3, sizes are those of whole tensors, and
    devices must divide the dimensions that they shard. At levels 0 to 2 any size
    will do.

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
