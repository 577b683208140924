// RUN: not dist-run %s --mesh x=2 --input arg0=random:1 2>&1 | FileCheck %s

// A cf.assert that does not hold ends the run with its message and place.
// CHECK: run_assert.mlir:[[#@LINE+9]]:{{[0-9]+}}: index must be smaller than dim size
dist.mesh @m ["x" = 2]
func.func @main(%t: tensor<7xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<3xf64> {
  %i = arith.constant dense<[1, 7, 2]> : tensor<3xindex>
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : tensor<3xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%i : tensor<3xindex>) outs(%e : tensor<3xf64>) {
  ^bb0(%k: index, %o: f64):
    %p = arith.cmpi ult, %k, %c7 : index
    cf.assert %p, "index must be smaller than dim size"
    %v = tensor.extract %t[%k] : tensor<7xf64>
    linalg.yield %v : f64
  } -> tensor<3xf64>
  return %r : tensor<3xf64>
}
