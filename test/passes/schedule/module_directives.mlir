// Directives that are written down for passes to come, and change nothing else.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-spmd | FileCheck %s --check-prefix=SPMD

// CHECK-LABEL: func.func @main
// CHECK: %[[SYNC:.*]] = dist.sync %arg0 bwd_post all_reduce over "tp" cause {{.*}} {dist.checkpoint = "h.0", dist.scope = "h.0", my.precision = "bf16", my.profile}
// CHECK: math.exp %[[SYNC]] {dist.checkpoint = "h.0", dist.scope = "h.0", my.precision = "bf16", my.profile}
// CHECK: math.cos {{.*}} {dist.checkpoint = "h.0", dist.scope = "h.0.inner", my.precision = "bf16", my.profile}
// CHECK: math.sin {{.*}} {dist.checkpoint = "h.1", dist.scope = "h.1"}
// CHECK: math.absf {{.*}} {dist.scope = "h.2"}
// SPMD-NOT: dist.sync
// SPMD-NOT: dist.all_reduce
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.sync "h.0" bwd_post all_reduce over "tp"
  dist.annotate "h.0" {my.precision = "bf16", my.profile}
  dist.checkpoint "h.0.inner"
  dist.checkpoint "h.{0..1}" expect 2
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {dist.scope = "h.0"} : tensor<4xf32>
  %1 = math.cos %0 {dist.scope = "h.0.inner"} : tensor<4xf32>
  %2 = math.sin %1 {dist.scope = "h.1"} : tensor<4xf32>
  %3 = math.absf %2 {dist.scope = "h.2"} : tensor<4xf32>
  return %3 : tensor<4xf32>
}
