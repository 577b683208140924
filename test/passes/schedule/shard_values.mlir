// Values by the names that the locations of their ops have.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false | FileCheck %s

// Of a node that became several ops, what others read is meant. A directive about the same layer adds to it, whichever
// comes first, and the order of directives does not hide it behind a sync.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK-NEXT: %[[C:.*]] = dist.sharding_constraint %[[P]] <@m, [{"dp"}, {"tp"}]>
// CHECK-NEXT: %[[S:.*]] = dist.sync %[[C]]
// CHECK: %[[N:.*]] = math.absf %[[S]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[N]]
// CHECK-NEXT: %[[D:.*]] = dist.sharding_constraint %[[E]] <@m, [{}, {}]>
// CHECK: math.cos %[[D]]
dist.mesh @m ["dp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.sync "fc" fwd_post all_gather dim 1 over "tp"
  dist.shard "fc" column over "tp"
  dist.shard value "node_linear_{1..2}" [0 = {"dp"}] expect 2
  dist.shard value "/h.0/Abs*" replicate
}
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32x16xf32> {dist.parameter = "fc.weight"}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32 loc("node_linear_1")
  %e = tensor.empty() : tensor<8x16xf32> loc("node_linear_1")
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32> loc("node_linear_1")
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xf32>, tensor<32x16xf32>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32> loc("node_linear_1")
  %1 = math.absf %0 : tensor<8x16xf32> loc("/h.0/AbsExp")
  %2 = math.exp %1 : tensor<8x16xf32> loc("/h.0/AbsExp")
  %3 = math.cos %2 : tensor<8x16xf32> loc("node_linear_2")
  return %3 : tensor<8x16xf32>
}

// -----

// CHECK-LABEL: func.func @pending
// CHECK: dist.sharding_constraint %{{.*}} <@m, [{}, {}], partial = sum {"tp"}>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard value "sum" replicate partial = sum {"tp"}
}
func.func @pending(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = math.absf %x : tensor<8x32xf32> loc("sum")
  %1 = math.cos %0 : tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{"split" names 2 values; say which, as in 'value "split" 0'}}
  dist.shard value "split" [{"tp"}]
}
func.func @main(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note@unknown {{value 0 is 'tensor<4xf32>'}}
  %0 = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32> loc("split")
  // expected-note@unknown {{value 1 is 'tensor<4xf32>'}}
  %1 = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32> loc("split")
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @second
// CHECK: tensor.extract_slice %{{.*}}[0]
// CHECK: %[[B:.*]] = tensor.extract_slice %{{.*}}[4]
// CHECK: dist.sharding_constraint %[[B]] <@m, [{"tp"}]>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard value "split" 1 [{"tp"}]
}
func.func @second(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32> loc("split")
  %1 = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32> loc("split")
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{"spilt" matches none of the program's 1 named values; did you mean "split"?}}
  dist.shard value "spilt" [{"tp"}]
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32> loc("split")
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{"split" matches none of the program's 0 named values: no op's location has a name, as loc("name")}}
  dist.shard value "split" [{"tp"}]
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{value "e" has no dimension 1: it is 'tensor<8xf32>'}}
  dist.shard value "e" [1 = {"tp"}]
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32> loc("e")
  return %0 : tensor<8xf32>
}
