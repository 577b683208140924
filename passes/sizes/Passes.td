//===- Passes.td - Sizes that a file leaves open -----------*- tablegen -*-===//

#ifndef DIST_PASSES_SIZES_PASSES_TD
#define DIST_PASSES_SIZES_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckBoundsPass : Pass<"dist-check-bounds"> {
  let summary = "Refuses numbers that leave their tensors: any level";
  let description = [{
    Sizes, offsets, strides, pads, bounds of loops, and indexing maps are
    compared with the tensors that they are about, in arithmetic that does not
    wrap. All tools run this pass on what they read. It runs again when sizes
    become known, and before code is made.

    These are refused:

    - a tensor of more than 2^46 elements;
    - a slice that begins or ends outside of its tensor, or has a stride below 1;
    - a negative pad, or one that does not give the size of the result;
    - one element at a constant place outside of its tensor, where it is read or
      written in any case (in a branch or a loop the run itself looks);
    - a loop that does not end: its step is below 1, or its last step leaves the
      type of its variable;
    - a loop whose step is beyond the type's largest signed number; of a signed
      loop also the way between its ends;
    - an indexing map that is outside of an operand somewhere in the loops, such
      as `(i) -> ((i mod 4) * 1000)` for `tensor<16xf32>`;
    - `tensor.dim` of a dimension that is not there;
    - casts that forget a size, and then say another one.

    Sizes that are not known yet are not judged before `--dist-bind-sizes` finds
    them. Numbers that the program computes are checked when it runs
    (`--dist-guard-ops`).
  }];
}

def BindSizesPass : Pass<"dist-bind-sizes", "ModuleOp"> {
  let summary = "Sets sizes that are otherwise known only at run time: any level";
  let description = [{
    Arguments of the entry function get the given sizes, and all values get the
    sizes that follow from these. If a function is then called with other types
    than before, it is copied. At level 3, sizes are those of whole tensors, and
    devices must divide the dimensions that they shard. At levels 0 to 2 any size
    will do.

    A size that the program states, as by a cast, and that does not follow from
    the arguments', is an error. A cast in a branch, a loop or a body may be there
    for other sizes: it becomes an assertion that it never runs.

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
