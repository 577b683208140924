// Integer powers: of constants and of inputs, by constants and by inputs.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: %{npy} make x.npy i64 9 "[0, 1, -1, 2, -2, 3, 100, -7, 5][i]"
// RUN: %{npy} make n.npy i32 9 "[0, 1, 2, 31, 30, -1, -2, 40, 5][i]"
// RUN: %{npy} make m.npy i32 9 "[1, -1, 2, -1, 5, -2, 0, 3, -3][i]"
// RUN: dist-run powers.mlir --schedule s.mlir --input x=x.npy --input n=n.npy --input m=m.npy --verify --output out
// RUN: %{npy} check out/cubes.npy "[0, 1, -1, 8, -8, 27, 10**6, -343, 125][i]"
// RUN: %{npy} check out/of_two.npy "[1, 2, 4, -2**31, 2**30, 0, 0, 0, 32][i]"
// RUN: %{npy} check out/of_minus.npy "[-1, -1, 1, -1, -1, 1, 1, -1, -1][i]"
// RUN: not dist-run inverse.mlir --input x=x.npy 2>&1 | FileCheck %s --check-prefix=INVERSE
// INVERSE: error: rank 0: inverse.mlir:5:8: math.ipowi raises zero to a negative power

//--- s.mlir
dist.mesh @m ["x" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{"x"}]
  dist.shard input "n" [{"x"}]
}
//--- powers.mlir
func.func @main(%x: tensor<9xi64> {dist.input = "x"}, %n: tensor<9xi32> {dist.input = "n"}, %m: tensor<9xi32> {dist.input = "m"})
    -> (tensor<9xi64> {dist.output = "cubes"}, tensor<9xi32> {dist.output = "of_two"}, tensor<9xi32> {dist.output = "of_minus"}) {
  %c3 = arith.constant dense<3> : tensor<9xi64>
  %cubes = math.ipowi %x, %c3 : tensor<9xi64>
  %c2 = arith.constant dense<2> : tensor<9xi32>
  %of_two = math.ipowi %c2, %n : tensor<9xi32>
  %minus = arith.constant dense<-1> : tensor<9xi32>
  %of_minus = math.ipowi %minus, %m : tensor<9xi32>
  return %cubes, %of_two, %of_minus : tensor<9xi64>, tensor<9xi32>, tensor<9xi32>
}
//--- inverse.mlir
func.func @main(%x: tensor<9xi64> {dist.input = "x"}) -> (tensor<9xi64> {dist.output = "y"}) {
  %n = arith.constant dense<-2> : tensor<9xi64>
  %one = arith.constant dense<1> : tensor<9xi64>
  %e = arith.muli %n, %one : tensor<9xi64>
  %0 = math.ipowi %x, %e : tensor<9xi64>
  return %0 : tensor<9xi64>
}
