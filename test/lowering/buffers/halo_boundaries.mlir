// What the devices at the ends hold, of five rows in blocks of 2, 2 and 1, and
// of a ring that is smaller than its halo; and the adjoint.
// RUN: %{npy} make %t.x.npy f64 5 "i + 1"
// RUN: %{npy} make %t.ring.npy i32 6,2 "10 * i + j"
// RUN: %{npy} make %t.bits.npy i1 6 "i == 2"
// RUN: %{npy} make %t.y.npy f64 12 "2.0 ** i"
// RUN: dist-run %s --input x=%t.x.npy --input ring=%t.ring.npy --input bits=%t.bits.npy --input y=%t.y.npy --output %t
// Element k of device r is row 2 r - 1 + k.
// RUN: %{npy} check %t/zero.npy "(lambda row: row + 1 if 0 <= row < 5 else 0)(2 * (i // 5) - 1 + i %% 5)"
// RUN: %{npy} check %t/constant.npy "(lambda row: row + 1 if 0 <= row < 5 else -2.5)(2 * (i // 5) - 1 + i %% 5)"
// RUN: %{npy} check %t/turns.npy "10 * ((2 * (i // 11) - 7 + i %% 11) %% 6) + j"
// RUN: %{npy} check %t/bits.npy "(lambda row: row == 2 if 0 <= row < 6 else True)(2 * (i // 4) - 1 + i %% 4)"
// RUN: %{npy} check %t/narrow.npy "(lambda row: row + 1 if 0 <= row < 5 else 0.5)(2 * (i // 5) - 1 + i %% 5)"
// Of a row, its own number and those that neighbours hold of it.
// RUN: %{npy} check %t/sum.npy "sum(2.0 ** n for n in range(12) if 2 * (n // 4) - 1 + n %% 4 == i)"
// RUN: %{npy} check %t/ringsum.npy "sum(2.0 ** n for n in range(12) if (2 * (n // 4) - 1 + n %% 4) %% 6 == i)"
// The same bits by shifts and by gathers.
// RUN: dist-run %s --input x=%t.x.npy --input ring=%t.ring.npy --input bits=%t.bits.npy --input y=%t.y.npy --halos=shifts --output %t/shifts
// RUN: cmp %t/zero.npy %t/shifts/zero.npy
// RUN: cmp %t/constant.npy %t/shifts/constant.npy
// RUN: cmp %t/turns.npy %t/shifts/turns.npy
// RUN: cmp %t/bits.npy %t/shifts/bits.npy
// RUN: cmp %t/narrow.npy %t/shifts/narrow.npy
// RUN: dist-run %s --input x=%t.x.npy --input ring=%t.ring.npy --input bits=%t.bits.npy --input y=%t.y.npy --halos=gather --output %t/gather
// RUN: cmp %t/zero.npy %t/gather/zero.npy
// RUN: cmp %t/constant.npy %t/gather/constant.npy
// RUN: cmp %t/turns.npy %t/gather/turns.npy
// RUN: cmp %t/bits.npy %t/gather/bits.npy
// RUN: cmp %t/narrow.npy %t/gather/narrow.npy
dist.mesh @m ["sp" = 3]
func.func @main(
    %x: tensor<2xf64> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<5xf64>},
    %ring: tensor<2x2xi32> {dist.input = "ring", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<6x2xi32>},
    %bits: tensor<2xi1> {dist.input = "bits", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<6xi1>},
    %y: tensor<4xf64> {dist.input = "y", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<12xf64>})
    -> (tensor<5xf64> {dist.output = "zero", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<15xf64>},
        tensor<5xf64> {dist.output = "constant", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<15xf64>},
        tensor<11x2xi32> {dist.output = "turns", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<33x2xi32>},
        tensor<4xi1> {dist.output = "bits", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<12xi1>},
        tensor<5xf64> {dist.output = "narrow", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<15xf64>},
        tensor<2xf64> {dist.output = "sum", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<6xf64>},
        tensor<2xf64> {dist.output = "ringsum", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<6xf64>}) {
  %zero = dist.halo_exchange %x dim 0 of 5 low 1 high 2 over "sp" : tensor<2xf64> -> tensor<5xf64>
  %constant = dist.halo_exchange %x dim 0 of 5 low 1 high 2 boundary constant -2.5 : f64 over "sp" : tensor<2xf64> -> tensor<5xf64>
  %turns = dist.halo_exchange %ring dim 0 low 7 high 2 boundary periodic over "sp" : tensor<2x2xi32> -> tensor<11x2xi32>
  %more = dist.halo_exchange %bits dim 0 low 1 high 1 boundary constant true over "sp" : tensor<2xi1> -> tensor<4xi1>
  %b = arith.truncf %x : tensor<2xf64> to tensor<2xbf16>
  %c = dist.halo_exchange %b dim 0 of 5 low 1 high 2 boundary constant 0.5 : bf16 over "sp" : tensor<2xbf16> -> tensor<5xbf16>
  %narrow = arith.extf %c : tensor<5xbf16> to tensor<5xf64>
  %sum = dist.halo_reduce %y dim 0 low 1 high 1 over "sp" : tensor<4xf64> -> tensor<2xf64>
  %ringsum = dist.halo_reduce %y dim 0 low 1 high 1 periodic over "sp" : tensor<4xf64> -> tensor<2xf64>
  return %zero, %constant, %turns, %more, %narrow, %sum, %ringsum : tensor<5xf64>, tensor<5xf64>, tensor<11x2xi32>, tensor<4xi1>, tensor<5xf64>, tensor<2xf64>, tensor<2xf64>
}
