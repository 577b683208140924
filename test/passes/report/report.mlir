// The figures of the report, each worked out by hand.
// RUN: dist-report %s | FileCheck %s --check-prefix=TABLE
// RUN: dist-report %s --all --link latency=20us,bandwidth=1MB/s | FileCheck %s --check-prefix=ALL
// RUN: dist-report %s --json | FileCheck %s --check-prefix=JSON
// RUN: dist-report %s --json --link latency=1s,bandwidth=4096B/s | FileCheck %s --check-prefix=TIMED
// RUN: dist-opt %s | dist-report --json - -o %t && FileCheck %s --check-prefix=JSON < %t
// RUN: dist-report %s --json | /usr/bin/python3 -m json.tool > %t

// Alike collectives of layers share a line; the figures are of one of them.
// TABLE: 8 ranks, mesh @m: dp=2, tp=4
// TABLE-LABEL: @main
// TABLE-NEXT: collective axes local tensor sent times module cause
// TABLE-NEXT: all_reduce sum tp 2x16x64xf32 12.0 KiB 4 h.{0..3}.proj (1)
// TABLE-NEXT: all_gather dp,tp 16xbf16 224 B 10 loop (2)
// TABLE-NEXT: all_gather tp(1)2 4xf32 16 B 1 (3)
// TABLE-EMPTY:
// TABLE-NEXT: (1) s.mlir:4: dist.shard "h.*.proj" row over "tp": for linalg.contract (h.*)
// TABLE-NEXT: (2) s.mlir:9
// TABLE-NEXT: (3) {{.*}}report.mlir:[[#]]:[[#]]
// TABLE-EMPTY:
// TABLE-NEXT: in all times sent by a rank
// TABLE-NEXT: all_reduce 4 48.0 KiB
// TABLE-NEXT: all_gather 11 2.20 KiB
// TABLE-NEXT: sum 15 50.2 KiB
// TABLE: a rank holds 16.0 KiB of parameters, at most 40.0 KiB of tensors at once, and does 262 kFLOP in contractions
// TABLE-LABEL: @other (does not run: @main does not call it)
// TABLE-NEXT: no communication
// TABLE-LABEL: @constants (does not run
// TABLE: a rank holds 0 B of parameters, 108 B of constants, at most 108 B of tensors at once

// A line each; 20 us and 12.3 ms for every all_reduce.
// ALL: all_reduce sum tp 2x16x64xf32 12.0 KiB 1 h.0.proj (1)
// ALL: all_reduce sum tp 2x16x64xf32 12.0 KiB 1 h.1.proj (2)
// ALL: in all times sent by a rank on the link
// ALL: all_reduce 4 48.0 KiB 49.2 ms

// TIMED: "bytes_sent_per_rank":12288,"seconds":4,"count":1,"packed_bytes_per_rank":0,
// TIMED: "totals":{"all_reduce":{"count":4,"bytes_sent_per_rank":49152,"seconds":16,"packed_bytes_per_rank":0}

// JSON: {"mesh":{"axes":{"dp":2,"tp":4}},"functions":[
// JSON-SAME: {"name":"main","runs":true,"collectives":[
// JSON-SAME: {"op":"all_reduce","axes":["tp"],"reduce":"sum","shape":[2,16,64],"dtype":"f32","bytes_sent_per_rank":12288,"count":1,"packed_bytes_per_rank":0,
// JSON-SAME: "scope":"h.0.proj","cause":"s.mlir:4: dist.shard \"h.*.proj\" row over \"tp\": for linalg.contract (h.0)","location":"{{[^"]+}}"}
// JSON-SAME: {"op":"all_gather","axes":["dp","tp"],"reduce":"","shape":[16],"dtype":"bf16","bytes_sent_per_rank":224,"count":10,"packed_bytes_per_rank":0,
// JSON-SAME: {"op":"all_gather","axes":["tp(1)2"],"reduce":"","shape":[4],"dtype":"f32","bytes_sent_per_rank":16,"count":1,"packed_bytes_per_rank":0,"scope":"","cause":"",
// JSON-SAME: "totals":{"all_reduce":{"count":4,"bytes_sent_per_rank":49152,"packed_bytes_per_rank":0},"all_gather":{"count":11,"bytes_sent_per_rank":2256,"packed_bytes_per_rank":0}},"packed_bytes_per_rank":0
// JSON-SAME: "parameter_bytes_per_rank":16384,"state_bytes_per_rank":0,"constant_bytes_per_rank":0,"peak_bytes_per_rank":41008,"flops_per_rank":262144}
// JSON-SAME: {"name":"other","runs":false,"collectives":[],"totals":{},"packed_bytes_per_rank":0,"parameter_bytes_per_rank":0,"state_bytes_per_rank":0,"constant_bytes_per_rank":0,"peak_bytes_per_rank":16,"flops_per_rank":0}
// JSON-SAME: {"name":"constants","runs":false,"collectives":[],"totals":{},"packed_bytes_per_rank":0,"parameter_bytes_per_rank":0,"state_bytes_per_rank":0,"constant_bytes_per_rank":108,"peak_bytes_per_rank":108,"flops_per_rank":0}],"idle":{"share":0,"axes":[],"places":[]}}

dist.mesh @m ["dp" = 2, "tp" = 4]

func.func @main(
    %w: tensor<64x64xf32> {dist.parameter = "h.weight", dist.global_type = tensor<64x64xf32>},
    %x: tensor<2x16x64xf32> {dist.input = "x", dist.global_type = tensor<2x16x64xf32>},
    %b: tensor<16xbf16> {dist.input = "b", dist.global_type = tensor<128xbf16>},
    %c: tensor<4xf32>)
    -> tensor<2x16x64xf32> {
  // Arguments: 16384 + 8192 + 32 + 16 bytes, alive all the time. Beside them at
  // most two tensors of 8192 bytes: what an all_reduce reads and what it makes.
  %0 = dist.all_reduce %x sum over "tp" cause "s.mlir:4: dist.shard \"h.*.proj\" row over \"tp\": for linalg.contract (h.0)" {dist.scope = "h.0.proj"} : tensor<2x16x64xf32>
  %v = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x16x64xf32> into tensor<32x64xf32>
  // %v is %0 seen otherwise, and the contraction writes over its destination: no
  // third tensor. 2 * 32 * 64 * 64 FLOP.
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %p = linalg.matmul ins(%v, %w : tensor<32x64xf32>, tensor<64x64xf32>) outs(%f : tensor<32x64xf32>) -> tensor<32x64xf32>
  %q = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 16, 64] : tensor<32x64xf32> into tensor<2x16x64xf32>
  %1 = dist.all_reduce %q sum over "tp" cause "s.mlir:4: dist.shard \"h.*.proj\" row over \"tp\": for linalg.contract (h.1)" {dist.scope = "h.1.proj"} : tensor<2x16x64xf32>
  %2 = dist.all_reduce %1 sum over "tp" cause "s.mlir:4: dist.shard \"h.*.proj\" row over \"tp\": for linalg.contract (h.2)" {dist.scope = "h.2.proj"} : tensor<2x16x64xf32>
  %3 = dist.all_reduce %2 sum over "tp" cause "s.mlir:4: dist.shard \"h.*.proj\" row over \"tp\": for linalg.contract (h.3)" {dist.scope = "h.3.proj"} : tensor<2x16x64xf32>
  %lo = arith.constant 0 : index
  %hi = arith.constant 20 : index
  %step = arith.constant 2 : index
  // 10 times; of 8 * 16 elements of 2 bytes, 7/8 are sent.
  scf.for %i = %lo to %hi step %step {
    %g = dist.all_gather %b dim 0 over "dp", "tp" cause "s.mlir:9" {dist.scope = "loop"} : tensor<16xbf16> -> tensor<128xbf16>
  }
  %h = dist.all_gather %c dim 0 over "tp"(1)2 : tensor<4xf32> -> tensor<8xf32>
  // Sends nothing.
  %s = dist.all_slice %c dim 0 over "tp" : tensor<4xf32> -> tensor<1xf32>
  return %3 : tensor<2x16x64xf32>
}

func.func @other(%c: tensor<4xf32>) {
  return
}

// The part of a constant, 2 x 2 of 16 x 2 elements, counts once, 16 bytes; another part of it 64; a whole constant 28; a uniform
// one nothing.
func.func @constants() {
  %0 = dist.local_constant dense_resource<table> : tensor<16x2xf32> <@m, [{"dp", "tp"}, {}]> -> tensor<2x2xf32>
  %1 = dist.local_constant dense_resource<table> : tensor<16x2xf32> <@m, [{"dp", "tp"}, {}]> -> tensor<2x2xf32>
  %2 = dist.local_constant dense_resource<table> : tensor<16x2xf32> <@m, [{"dp"}, {}]> -> tensor<8x2xf32>
  %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7]> : tensor<7xi32>
  %u = arith.constant dense<1> : tensor<1000xi32>
  return
}
