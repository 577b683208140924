// NaN and infinities are said, and are no equality unless asked for.
// RUN: not dist-run %s --verify %{opt} --input x=random 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: dist-run %s --verify %{opt} --input x=random --allow-nonfinite | FileCheck %s --check-prefix=ALLOWED
// RUN: dist-run %s --verify %{opt} --input x=random --allow-nonfinite --json | FileCheck %s --check-prefix=JSON
// RUN: sed 's/dense<.-1.0/dense<[1.0/' %s > %t.mlir
// RUN: not dist-run %s --reference %t.mlir --input x=random --allow-nonfinite 2>&1 | FileCheck %s --check-prefix=OTHER

// REFUSED: error: result 'y' is not compared with the program on one rank; NaN or infinite: on the ranks 1 NaN and 3 infinite, the first at [0]; expected 1 NaN and 3 infinite, the first at [0] (--allow-nonfinite compares them by their places)
// ALLOWED: y: equal to the program on one rank (largest difference 0; NaN or infinite: on the ranks 1 NaN and 3 infinite, the first at [0]; expected 1 NaN
// JSON: "nonfinite":{"actual":{"first":[0],"infinite":3,"nan":1},"expected":{"first":[0],"infinite":3,"nan":1}}
// OTHER: error: result 'y' differs from the program on one rank at 1 of 4 elements; the worst, [0], is -inf on rank 0, expected inf

dist.mesh @m ["x" = 2]
func.func @main(%x: tensor<4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<4xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %c = arith.constant dense<[-1.0, 0.0, 1.0, 2.0]> : tensor<4xf32>
  %zero = arith.subf %x, %x : tensor<4xf32>
  %y = arith.divf %c, %zero : tensor<4xf32>
  return %y : tensor<4xf32>
}
