// --dist-lower-halos: exchanges by shifts along the devices, by a gather, or by what the machine's figures say is fastest.
// RUN: split-file %s %t
// RUN: dist-opt %t/halos.mlir --dist-lower-halos=to=shifts --dist-verify-spmd | FileCheck %s --check-prefix=SHIFTS
// RUN: dist-opt %t/halos.mlir --dist-lower-halos=to=gather --dist-verify-spmd | FileCheck %s --check-prefix=GATHER
// RUN: dist-opt %t/halos.mlir --dist-lower-halos=to=exchange | FileCheck %s --check-prefix=AS-IS
// RUN: dist-opt %t/halos.mlir --dist-lower-halos="machine=cpu report=true" 2>%t/remarks | FileCheck %s --check-prefix=AS-IS
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t/remarks
// RUN: dist-opt %t/far.mlir --dist-lower-halos="machine=64x8xH100 report=true" 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: not dist-opt %t/ring.mlir --dist-lower-halos=to=shifts 2>&1 | FileCheck %s --check-prefix=RING
// RUN: not dist-opt %t/axes.mlir --dist-lower-halos=to=shifts 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not dist-opt %t/halos.mlir --dist-lower-halos=to=some 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not dist-opt %t/halos.mlir --dist-lower-halos 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not dist-run %t/halos.mlir --random --halos=auto 2>&1 | FileCheck %s --check-prefix=TOOL
// RUN: dist-run %t/halos.mlir --random --halos=auto --machine cpu -v 2>&1 | FileCheck %s --check-prefix=REMARK

// Rows of the one before, of the one before that, and the first of the one behind; who has no sender gets zeros.
// SHIFTS-LABEL: func.func @main
// SHIFTS:      %[[NEAR:.*]] = dist.send_recv %arg0 shift 1 over "sp" on @m cause "why" {dist.scope = "h"} : tensor<2x3xf32>
// SHIFTS:      %[[LAST:.*]] = tensor.extract_slice %arg0[1, 0] [1, 3]
// SHIFTS:      %[[FAR:.*]] = dist.send_recv %[[LAST]] shift 2 over "sp" on @m cause "why" {dist.scope = "h"} : tensor<1x3xf32>
// SHIFTS:      %[[FIRST:.*]] = tensor.extract_slice %arg0[0, 0] [1, 3]
// SHIFTS:      %[[NEXT:.*]] = dist.send_recv %[[FIRST]] shift -1 over "sp" on @m
// SHIFTS:      tensor.concat dim(0) %[[FAR]], %[[NEAR]], %arg0, %[[NEXT]] : {{.*}} -> tensor<6x3xf32>
// SHIFTS-NOT:  linalg.generic
// On a ring of three, what is two places before is one behind.
// SHIFTS:      dist.send_recv %arg0 shift 1 periodic
// SHIFTS:      dist.send_recv {{.*}} shift 2 periodic
// Of a constant, elements are chosen by their row.
// SHIFTS:      linalg.generic
// SHIFTS:      arith.select
// SHIFTS-NOT:  halo_exchange

// GATHER-LABEL: func.func @main
// GATHER:      %[[ALL:.*]] = dist.all_gather %arg0 dim 0 over "sp" on @m cause "why" {dist.scope = "h"} : tensor<2x3xf32> -> tensor<6x3xf32>
// GATHER:      %[[WIDE:.*]] = tensor.concat dim(0) %{{.*}}, %[[ALL]], %{{.*}} -> tensor<10x3xf32>
// GATHER:      tensor.extract_slice %[[WIDE]][%{{.*}}, 0] [6, 3]
// GATHER-NOT:  halo_exchange

// AS-IS-COUNT-3: dist.halo_exchange
// REMARK: halos.mlir:4:8: remark: halo by exchange: one exchange {{.*}} ms, shifts {{.*}} ms, a gather {{.*}} ms
// Two nodes of eight, each device wants all rows: a ring crosses between nodes with an eighth of what neighbours would send
// there one by one. A halo of one row is exchanged.
// NODES-DAG: far.mlir:3:8: remark: halo by gather: one exchange
// NODES-DAG: far.mlir:4:8: remark: halo by exchange: one exchange
// RING: ring.mlir:3:8: error: 'dist.halo_exchange' op cannot be made of shifts: of 5 rows in blocks of 2 the last device has fewer, so that neighbours on the ring are not equally far apart; halos by exchange, gather or auto can
// AXES: axes.mlir:3:8: error: 'dist.halo_exchange' op cannot be made of shifts: 5 rows on 4 devices along 2 axes: blocks do not begin equally far apart
// WORD: error: --dist-lower-halos: to=some: expected auto, exchange, gather or shifts
// MACHINE: error: --dist-lower-halos needs to know what on
// TOOL: error: --halos=auto needs --machine

//--- halos.mlir
dist.mesh @m ["sp" = 3]
func.func @main(%x: tensor<2x3xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<6x3xf32>})
    -> (tensor<6x3xf32> {dist.output = "a", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<18x3xf32>}, tensor<5x3xf32> {dist.output = "b", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<15x3xf32>}, tensor<3x3xf32> {dist.output = "c", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<9x3xf32>}) {
  %a = dist.halo_exchange %x dim 0 low 3 high 1 over "sp" on @m cause "why" {dist.scope = "h"} : tensor<2x3xf32> -> tensor<6x3xf32>
  %b = dist.halo_exchange %x dim 0 low 3 high 0 boundary periodic over "sp" : tensor<2x3xf32> -> tensor<5x3xf32>
  %c = dist.halo_exchange %x dim 0 low 1 high 0 boundary constant 2.0 : f32 over "sp" : tensor<2x3xf32> -> tensor<3x3xf32>
  return %a, %b, %c : tensor<6x3xf32>, tensor<5x3xf32>, tensor<3x3xf32>
}
//--- far.mlir
dist.mesh @m ["sp" = 16]
func.func @main(%x: tensor<256x65536xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<4096x65536xf32>}) -> (tensor<7936x65536xf32>, tensor<257x65536xf32>) {
  %a = dist.halo_exchange %x dim 0 low 3840 high 3840 over "sp" : tensor<256x65536xf32> -> tensor<7936x65536xf32>
  %b = dist.halo_exchange %x dim 0 low 1 high 0 over "sp" : tensor<256x65536xf32> -> tensor<257x65536xf32>
  return %a, %b : tensor<7936x65536xf32>, tensor<257x65536xf32>
}
//--- ring.mlir
dist.mesh @m ["sp" = 3]
func.func @main(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<5xf32>}) {
  %a = dist.halo_exchange %x dim 0 of 5 low 1 high 1 boundary periodic over "sp" : tensor<2xf32> -> tensor<4xf32>
  return
}
//--- axes.mlir
dist.mesh @m ["a" = 2, "b" = 2]
func.func @main(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"a", "b"}]>, dist.global_type = tensor<5xf32>}) {
  %a = dist.halo_exchange %x dim 0 of 5 low 1 high 1 over "a", "b" : tensor<2xf32> -> tensor<4xf32>
  return
}
