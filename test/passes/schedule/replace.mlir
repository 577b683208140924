// A module's ops give way to a function's, which belong to the module.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s

// Of two modules each takes its own parameters; what others make of the first one's result, and stands between its ops,
// comes after. Ops of the function are in modules within the module where they say so, and other directives find them.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W0:[a-z0-9]+]]: tensor<8x8xf32> {dist.cause = {{.*}}, dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>}, %[[W1:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK: %[[P0:.*]] = linalg.matmul {dist.scope = "h.0.mlp.fc"} ins(%[[X]], %[[W0]]
// CHECK: %[[C0:.*]] = dist.sharding_constraint %[[P0]]
// CHECK: %[[T0:.*]] = math.tanh %[[C0]] {dist.scope = "h.0.mlp"}
// CHECK: %[[L0:.*]] = math.absf %[[T0]] {dist.scope = "log"}
// CHECK: %[[P1:.*]] = linalg.matmul {dist.scope = "h.1.mlp.fc"} ins(%[[T0]], %[[W1]]
// CHECK: %[[C1:.*]] = dist.sharding_constraint %[[P1]]
// CHECK: %[[T1:.*]] = math.tanh %[[C1]] {dist.scope = "h.1.mlp"}
// What is only a destination stays for those who share it.
// CHECK: %[[L1:.*]] = linalg.exp {{.*}} ins(%[[L0]] :
// CHECK: return %[[T1]], %[[L1]]
// CHECK-NOT: func.func
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // The order of the directives does not matter.
  dist.shard "h.*.mlp.fc" column over "tp"
  dist.replace "h.*.mlp" with @mlp expect 2
}
func.func private @mlp(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>)
         outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = math.tanh %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32>, %w0: tensor<8x8xf32> {dist.parameter = "h.0.mlp.fc.weight"},
                %w1: tensor<8x8xf32> {dist.parameter = "h.1.mlp.fc.weight"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %shared = tensor.empty() {dist.scope = "h.0.mlp"} : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.mlp"} ins(%x, %w0 : tensor<4x8xf32>, tensor<8x8xf32>)
         outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = math.tanh %0 {dist.scope = "h.0.mlp.act"} : tensor<4x8xf32>
  %2 = math.absf %1 {dist.scope = "log"} : tensor<4x8xf32>
  %unused = math.exp %1 {dist.scope = "h.0.mlp.act"} : tensor<4x8xf32>
  %3 = linalg.matmul {dist.scope = "h.1.mlp"} ins(%1, %w1 : tensor<4x8xf32>, tensor<8x8xf32>)
         outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = math.tanh %3 {dist.scope = "h.1.mlp.act"} : tensor<4x8xf32>
  %5 = linalg.exp {dist.scope = "log"} ins(%2 : tensor<4x8xf32>) outs(%shared : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// In a loop, with scopes of ops in its body, and a number that the module reads.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[R:.*]] = tensor.generate
// CHECK: %[[S:.*]] = index.add %{{.*}}, %[[I]]
// CHECK: {dist.scope = "a"}
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.replace "a" with @f
}
func.func private @f(%i: index) -> tensor<4xindex> {
  %0 = tensor.generate {
  ^bb0(%j: index):
    %1 = index.add %j, %i
    tensor.yield %1 : index
  } : tensor<4xindex>
  return %0 : tensor<4xindex>
}
func.func @loop(%x: tensor<4xindex>, %n: index) -> tensor<4xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<4xindex> {
    %1 = tensor.splat %i {dist.scope = "a"} : tensor<4xindex>
    scf.yield %1 : tensor<4xindex>
  }
  return %0 : tensor<4xindex>
}
