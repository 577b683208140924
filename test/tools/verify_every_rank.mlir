// A result that all ranks hold is compared on all of them: here the sum is done
// on rank 0 only, which is the one whose result is written.
// RUN: not dist-run %s --reference %S/Inputs/verify_product.mlir --input a=random:1 --input b=random:2 2>&1 | FileCheck %s
// RUN: not dist-run %s --reference %S/Inputs/verify_product.mlir --input a=random:1 --input b=random:2 --json 2>&1 | FileCheck %s --check-prefix=JSON

// CHECK: error: result 'y' differs from the program on one rank at 16 of 32 elements; the worst, [{{[0-3], [0-3]}}], is {{.*}} on rank 1, expected
// JSON: "ok":false
// JSON-SAME: "compared":32
// JSON-SAME: "max_abs_err":{{.*}}"max_rel_err":{{.*}}"worst":{"actual":{{.*}},"allowed":{{.*}},"expected":{{.*}},"index":[{{.*}}],"rank":1}

dist.mesh @m ["x" = 2]
func.func @main(%a: tensor<4x4xf32> {dist.input = "a", dist.global_type = tensor<4x8xf32>, dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                %b: tensor<4x4xf32> {dist.input = "b", dist.global_type = tensor<8x4xf32>, dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<4x4xf32> {dist.output = "y", dist.global_type = tensor<4x4xf32>, dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %part = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = dist.all_reduce %part sum over "x" on @m cause "test" : tensor<4x4xf32>
  %place = dist.axis_index "x" on @m
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %place, %c0 : index
  %y = arith.select %first, %sum, %part : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
