// Floats beyond the ends of an integer type become the nearer end, NaN 0, in
// vectors and single elements, on several ranks and on one.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: %{npy} make x.npy f32 37 "[1e10, -1e10, math.nan, 127.9, 128.0, -128.9, -0.9, math.inf, -math.inf, 3e38, 2.5][i %% 11]"
// RUN: %{npy} make d.npy f64 37 "[9.3e18, -9.3e18, math.nan, 2.0**63, -2.0**63, 2.0**62, 1.8e19, 2.0**64, -math.inf, 0.99, -1.5][i %% 11]"
// RUN: dist-run casts.mlir --schedule s.mlir --input x=x.npy --input d=d.npy --verify --output out
// RUN: %{npy} check out/s8.npy "[127, -128, 0, 127, 127, -128, 0, 127, -128, 127, 2][i %% 11]"
// RUN: %{npy} check out/u8.npy "[255, 0, 0, 127, 128, 0, 0, 255, 0, 255, 2][i %% 11]"
// RUN: %{npy} check out/s32.npy "[2**31 - 1, -2**31, 0, 127, 128, -128, 0, 2**31 - 1, -2**31, 2**31 - 1, 2][i %% 11]"
// RUN: %{npy} check out/s64.npy "[2**63 - 1, -2**63, 0, 2**63 - 1, -2**63, 2**62, 2**63 - 1, 2**63 - 1, -2**63, 0, -1][i %% 11]"
// As signed integers: 2^63 is -2^63, and 2^64 - 1 is -1.
// RUN: %{npy} check out/u64.npy "[9300000000000000000 - 2**64, 0, 0, -2**63, 0, 2**62, 18000000000000000000 - 2**64, -1, 0, 0, 0][i %% 11]"
// RUN: %{npy} check out/h.npy "[2**63 - 1, -2**63, 0, 127, 128, -128, 0, 2**63 - 1, -2**63, 2**63 - 1, 2][i %% 11]"

//--- s.mlir
dist.mesh @m ["x" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"x"}]
}
//--- casts.mlir
func.func @main(%x: tensor<37xf32> {dist.input = "x"}, %d: tensor<37xf64> {dist.input = "d"})
    -> (tensor<37xi32> {dist.output = "s8"}, tensor<37xi32> {dist.output = "u8"}, tensor<37xi32> {dist.output = "s32"},
        tensor<37xi64> {dist.output = "s64"}, tensor<37xi64> {dist.output = "u64"}, tensor<37xi64> {dist.output = "h"}) {
  %0 = arith.fptosi %x : tensor<37xf32> to tensor<37xi8>
  %s8 = arith.extsi %0 : tensor<37xi8> to tensor<37xi32>
  %1 = arith.fptoui %x : tensor<37xf32> to tensor<37xi8>
  %u8 = arith.extui %1 : tensor<37xi8> to tensor<37xi32>
  %s32 = arith.fptosi %x : tensor<37xf32> to tensor<37xi32>
  %s64 = arith.fptosi %d : tensor<37xf64> to tensor<37xi64>
  %u64 = arith.fptoui %d : tensor<37xf64> to tensor<37xi64>
  // Of f16 only infinities are beyond the ends.
  %half = arith.truncf %x : tensor<37xf32> to tensor<37xf16>
  %h = arith.fptosi %half : tensor<37xf16> to tensor<37xi64>
  return %s8, %u8, %s32, %s64, %u64, %h : tensor<37xi32>, tensor<37xi32>, tensor<37xi32>, tensor<37xi64>, tensor<37xi64>, tensor<37xi64>
}
