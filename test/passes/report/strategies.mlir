// RUN: %{root}/tools/dist-opt %s --dist-spmd | %{root}/tools/dist-report - | FileCheck %s
// RUN: %{root}/tools/dist-opt %s --dist-spmd | %{root}/tools/dist-report --json - | FileCheck %s --check-prefix=JSON
// RUN: sed 's/"sp" = 4/"sp" = 8/' %s | %{root}/tools/dist-opt --dist-spmd | %{root}/tools/dist-report - | FileCheck %s --check-prefix=MORE

// Each query sees four keys before its own. A rank has 16 of 64 rows; a row of
// keys and values has 2 * 4 * 8 * 4 = 256 B, queries and results as much.
// Halo: 4 rows. Gathered: 3 * 16 rows. By heads: 3/4 of 16 * 512 B. Scores of
// a rank in the middle: 16 * 5 pairs of 4 heads, 32 FLOP each; by heads
// 64 * 5 - 10 pairs of one head. In a ring as many bytes as gathered, and two
// whole blocks, 2 * 16 * 16 pairs. In zigzag 8 queries go and their results
// come, 2 * 8 * 128 B, with two numbers for each of 8 * 4 rows, and one number.
// Queries 8 to 15 of a block see no key of the block before: a rank in the
// middle has all of its own with its own block, and the 8 of the mirror's with
// the block before theirs: 24 * 16 pairs.

// CHECK: halo_exchange
// CHECK: attention{{ +}}axes{{ +}}sent  busiest rank  times  module
// CHECK-NEXT: * halo of keys and values{{ +}}sp     1.00 KiB    10.2 kFLOP      1
// CHECK-NEXT:   keys and values gathered{{ +}}sp     12.0 KiB    10.2 kFLOP      1
// CHECK-NEXT:   keys and values go round{{ +}}sp     12.0 KiB    65.5 kFLOP      1
// CHECK-NEXT:   keys and values go round, zigzag{{ +}}sp     14.3 KiB    49.2 kFLOP      1
// CHECK-NEXT:   heads sharded{{ +}}sp     6.00 KiB    9.92 kFLOP      1
// CHECK-NEXT: * what the program does

// JSON: "attentions":[{"scope":"","axes":["sp"],"count":1,"strategies":[
// JSON-SAME: {"name":"halo of keys and values","chosen":true,"bytes_sent_per_rank":1024,"flops_of_busiest_rank":10240}
// JSON-SAME: {"name":"keys and values gathered","chosen":false,"bytes_sent_per_rank":12288,"flops_of_busiest_rank":10240}
// JSON-SAME: {"name":"keys and values go round","chosen":false,"bytes_sent_per_rank":12288,"flops_of_busiest_rank":65536}
// JSON-SAME: {"name":"keys and values go round, zigzag","chosen":false,"bytes_sent_per_rank":14596,"flops_of_busiest_rank":49152}
// JSON-SAME: {"name":"heads sharded","chosen":false,"bytes_sent_per_rank":6144,"flops_of_busiest_rank":9920}

// MORE: heads sharded {{.*}} 8 ranks for keys of 4 heads
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
dist.mesh @m ["sp" = 4]
func.func @main(%q: tensor<4x64x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>}, %k: tensor<4x64x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>}, %v: tensor<4x64x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>}) -> tensor<4x64x8xf32> {
  %e = tensor.empty() : tensor<4x64x8xf32>
  %o = dist.attention(%q, %k, %v : tensor<4x64x8xf32>, tensor<4x64x8xf32>, tensor<4x64x8xf32>) outs(%e : tensor<4x64x8xf32>) maps [#q, #k, #v, #o] window [4, 0] {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    %four = arith.constant 4 : index
    %inf = arith.constant 0xFF800000 : f32
    %near = arith.addi %j, %four : index
    %before = arith.cmpi sle, %j, %i : index
    %after = arith.cmpi sge, %near, %i : index
    %seen = arith.andi %before, %after : i1
    %x = arith.select %seen, %s, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<4x64x8xf32>
  return %o : tensor<4x64x8xf32>
}
