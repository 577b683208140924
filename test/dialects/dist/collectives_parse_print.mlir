// Collectives print as they are written.
// RUN: dist-opt %s | dist-opt | FileCheck %s

// CHECK: dist.mesh @m ["dp" = 2, "tp" = 4]
dist.mesh @m ["dp" = 2, "tp" = 4]

// CHECK-LABEL: func.func @collectives
// CHECK-SAME: %[[X:.*]]: tensor<2x16x64xf32>, %[[I:.*]]: tensor<8xi32>
func.func @collectives(%x: tensor<2x16x64xf32>, %i: tensor<8xi32>) {
  // CHECK-NEXT: dist.all_reduce %[[X]] sum over "tp" : tensor<2x16x64xf32>
  %0 = dist.all_reduce %x sum over "tp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.all_reduce %[[X]] max over "dp", "tp"(2)2 on @m cause "s.mlir:3: dist.sync \"fc\"" {dist.scope = "fc"} : tensor<2x16x64xf32>
  %1 = dist.all_reduce %x max over "dp", "tp"(2)2 on @m cause "s.mlir:3: dist.sync \"fc\"" {dist.scope = "fc"} : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.all_reduce %[[I]] and over "tp" : tensor<8xi32>
  %2 = dist.all_reduce %i and over "tp" : tensor<8xi32>
  // CHECK-NEXT: dist.all_gather %[[X]] dim 1 over "tp" cause "because" : tensor<2x16x64xf32> -> tensor<2x64x64xf32>
  %3 = dist.all_gather %x dim 1 over "tp" cause "because" : tensor<2x16x64xf32> -> tensor<2x64x64xf32>
  // CHECK-NEXT: dist.reduce_scatter %[[X]] min dim 2 over "dp", "tp" : tensor<2x16x64xf32> -> tensor<2x16x8xf32>
  %4 = dist.reduce_scatter %x min dim 2 over "dp", "tp" : tensor<2x16x64xf32> -> tensor<2x16x8xf32>
  // CHECK-NEXT: dist.all_to_all %[[X]] split 2 concat 1 over "tp" on @m : tensor<2x16x64xf32> -> tensor<2x64x16xf32>
  %5 = dist.all_to_all %x split 2 concat 1 over "tp" on @m : tensor<2x16x64xf32> -> tensor<2x64x16xf32>
  // CHECK-NEXT: dist.all_slice %[[X]] dim 0 over "dp" : tensor<2x16x64xf32> -> tensor<1x16x64xf32>
  %6 = dist.all_slice %x dim 0 over "dp" : tensor<2x16x64xf32> -> tensor<1x16x64xf32>
  // CHECK-NEXT: dist.collective_permute %[[X]] from "dp", "tp" to "tp", "dp" : tensor<2x16x64xf32>
  %7 = dist.collective_permute %x from "dp", "tp" to "tp", "dp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.collective_permute %[[X]] from "tp"(1)2 to "dp" : tensor<2x16x64xf32>
  %8 = dist.collective_permute %x from "tp"(1)2 to "dp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.collective_permute %[[X]] from "dp", "tp" to "dp", "tp" reversed on @m : tensor<2x16x64xf32>
  %reversed = dist.collective_permute %x from "dp", "tp" to "dp", "tp" reversed on @m : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.broadcast %[[I]] root 7 over "dp", "tp" : tensor<8xi32>
  %9 = dist.broadcast %i root 7 over "dp", "tp" : tensor<8xi32>
  // CHECK-NEXT: dist.halo_exchange %[[I]] dim 0 low 1 high 2 over "tp" : tensor<8xi32> -> tensor<11xi32>
  %10 = dist.halo_exchange %i dim 0 low 1 high 2 over "tp" : tensor<8xi32> -> tensor<11xi32>
  // Zeros are what is meant where nothing is written.
  // CHECK-NEXT: dist.halo_exchange %[[I]] dim 0 low 0 high 0 over "tp" : tensor<8xi32> -> tensor<8xi32>
  %h0 = dist.halo_exchange %i dim 0 low 0 high 0 boundary zero over "tp" : tensor<8xi32> -> tensor<8xi32>
  // CHECK-NEXT: dist.halo_exchange %[[I]] dim 0 of 30 low 1 high 2 boundary constant -7 : i32 over "tp" : tensor<8xi32> -> tensor<11xi32>
  %h1 = dist.halo_exchange %i dim 0 of 30 low 1 high 2 boundary constant -7 : i32 over "tp" : tensor<8xi32> -> tensor<11xi32>
  // CHECK-NEXT: dist.halo_exchange %[[I]] dim 0 low 1 high 2 boundary none over "tp" : tensor<8xi32> -> tensor<11xi32>
  %h2 = dist.halo_exchange %i dim 0 low 1 high 2 boundary none over "tp" : tensor<8xi32> -> tensor<11xi32>
  // CHECK-NEXT: dist.halo_exchange %[[I]] dim 0 low 40 high 2 boundary periodic over "tp" cause "a ring" : tensor<8xi32> -> tensor<50xi32>
  %h3 = dist.halo_exchange %i dim 0 low 40 high 2 boundary periodic over "tp" cause "a ring" : tensor<8xi32> -> tensor<50xi32>
  // CHECK-NEXT: dist.halo_reduce %{{.*}} dim 0 of 30 low 40 high 2 periodic over "tp" : tensor<50xi32> -> tensor<8xi32>
  %h4 = dist.halo_reduce %h3 dim 0 of 30 low 40 high 2 periodic over "tp" : tensor<50xi32> -> tensor<8xi32>
  // CHECK-NEXT: dist.halo_reduce %{{.*}} dim 0 low 1 high 2 over "tp" : tensor<11xi32> -> tensor<8xi32>
  %h5 = dist.halo_reduce %h2 dim 0 low 1 high 2 over "tp" : tensor<11xi32> -> tensor<8xi32>
  // CHECK-NEXT: %[[ROWS:.*]] = dist.gather_rows %[[I]][%[[I]]] dim 0 over "tp" : tensor<8xi32>[tensor<8xi32>] -> tensor<8xi32>
  %g = dist.gather_rows %i[%i] dim 0 over "tp" : tensor<8xi32>[tensor<8xi32>] -> tensor<8xi32>
  // CHECK-NEXT: dist.reduce_rows %[[ROWS]][%[[I]]] dim 0 of 30 over "tp" on @m cause "back" : tensor<8xi32>[tensor<8xi32>] -> tensor<8xi32>
  %r = dist.reduce_rows %g[%i] dim 0 of 30 over "tp" on @m cause "back" : tensor<8xi32>[tensor<8xi32>] -> tensor<8xi32>
  // CHECK-NEXT: dist.send_recv %[[I]] shift -3 over "tp" : tensor<8xi32>
  %11 = dist.send_recv %i shift -3 over "tp" : tensor<8xi32>
  // CHECK-NEXT: dist.send_recv %[[I]] shift 1 periodic over "tp" : tensor<8xi32>
  %ring = dist.send_recv %i shift 1 periodic over "tp" : tensor<8xi32>
  // CHECK-NEXT: dist.axis_index "dp", "tp"
  %12 = dist.axis_index "dp", "tp"
  // CHECK-NEXT: dist.axis_index "tp"(2)2 on @m
  %13 = dist.axis_index "tp"(2)2 on @m
  return
}

// A tensor without elements, and one element without dimensions.
// CHECK-LABEL: func.func @corners
func.func @corners(%z: tensor<0x4xf32>, %s: tensor<f32>) {
  // CHECK-NEXT: dist.all_gather %{{.*}} dim 0 over "tp" : tensor<0x4xf32> -> tensor<0x4xf32>
  %0 = dist.all_gather %z dim 0 over "tp" : tensor<0x4xf32> -> tensor<0x4xf32>
  // CHECK-NEXT: dist.all_reduce %{{.*}} sum over "tp" : tensor<f32>
  %1 = dist.all_reduce %s sum over "tp" : tensor<f32>
  return
}

// The parts of constants: uneven, of two axes, interleaved, without dimensions.
// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK-NEXT: dist.local_constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32> <@m, [{"tp"}]> -> tensor<2xi32>
  %0 = dist.local_constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32> <@m, [{"tp"}]> -> tensor<2xi32>
  // CHECK-NEXT: dist.local_constant dense_resource<table> : tensor<4x2xbf16> <@m, [{"tp"(2)2, "dp"}, {}]> {dist.scope = "fc"} -> tensor<1x2xbf16>
  %1 = dist.local_constant dense_resource<table> : tensor<4x2xbf16> <@m, [{"tp"(2)2, "dp"}, {}]> {dist.scope = "fc"} -> tensor<1x2xbf16>
  // CHECK-NEXT: dist.local_constant dense<{{.*}}> : tensor<8xi1> <@m, [{"dp"} groups 2]> -> tensor<4xi1>
  %2 = dist.local_constant dense<[true, false, true, true, false, false, true, false]> : tensor<8xi1> <@m, [{"dp"} groups 2]> -> tensor<4xi1>
  // CHECK-NEXT: dist.local_constant dense<2.0{{.*}}> : tensor<f32> <@m, []> -> tensor<f32>
  %3 = dist.local_constant dense<2.0> : tensor<f32> <@m, []> -> tensor<f32>
  return
}

{-#
  dialect_resources: {
    builtin: {
      table: "0x02000000803F00404040804080BFA0C0C0C0E040"
    }
  }
#-}
