// RUN: dist-run %s --verify %{opt} --input arg0=random:1 --input arg1=random:2 | FileCheck %s
// CHECK: result0: equal to the program on one rank

// The mean squared error of uneven shards (DTensor).
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<10x7xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %b: tensor<10x7xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) -> tensor<f64> {
  %d = arith.subf %a, %b : tensor<10x7xf64>
  %q = arith.mulf %d, %d : tensor<10x7xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<10x7xf64>) outs(%z : tensor<f64>) dimensions = [0, 1]
  %n = arith.constant dense<70.0> : tensor<f64>
  %r = arith.divf %s, %n : tensor<f64>
  return %r : tensor<f64>
}
