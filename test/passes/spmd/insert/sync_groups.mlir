// A dimension of several blocks is cut in each of them, as `groups` says.
// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards --dist-improve-reshards --verify-diagnostics | FileCheck %s

// From whole to cut and, by what is left of the groups, back.
// CHECK-LABEL: func.func @scatter
// CHECK: dist.reshard %{{.*}} <@m, [{}, {}]> to <@m, [{}, {"tp"} groups 3]>
// CHECK: math.cos {{.*}}groups 3
// CHECK: dist.reshard %{{.*}} <@m, [{}, {"tp"} groups 3]> to <@m, [{}, {}]>
dist.mesh @m ["tp" = 2]
func.func @scatter(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %0 = math.exp %x : tensor<4x12xf32>
  %1 = dist.sync %0 fwd_post scatter dim 1 over "tp" groups 3 : tensor<4x12xf32>
  %2 = math.cos %1 : tensor<4x12xf32>
  %3 = dist.sync %2 fwd_post all_gather dim 1 over "tp" : tensor<4x12xf32>
  return %3 : tensor<4x12xf32>
}

// -----

// What is gathered tells where its operand was cut.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: [{}, {"tp"} groups 3]
dist.mesh @m ["tp" = 2]
func.func @gather(%x: tensor<4x12xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"} groups 3]>}) -> tensor<4x12xf32> {
  %0 = math.exp %x : tensor<4x12xf32>
  %1 = dist.sync %0 fwd_post all_gather dim 1 over "tp" groups 3 : tensor<4x12xf32>
  return %1 : tensor<4x12xf32>
}

// -----

// 12 are not five blocks.
dist.mesh @m ["tp" = 2]
func.func @five(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  // expected-note@below {{the value is made here}}
  %0 = math.exp %x : tensor<4x12xf32>
  // expected-error@below {{'scatter' over "tp" needs a value that is divided by them in each interleaved block of dimension 1, but here it is #dist.sharding<@m, [{}, {}]>; 'groups' says how many blocks it has, which the axes have to divide}}
  %1 = dist.sync %0 fwd_post scatter dim 1 over "tp" groups 5 : tensor<4x12xf32>
  return %1 : tensor<4x12xf32>
}

// -----

// The message says what to write.
dist.mesh @m ["tp" = 2]
func.func @whole(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  // expected-note@below {{the value is made here}}
  %0 = math.exp %x {dist.scope = "h.0.mlp"} : tensor<4x12xf32>
  // expected-error@below {{needs a value that is sharded over them on dimension 1, but here it is #dist.sharding<@m, [{}, {}]>; 'dist.shard "h.0.mlp" output [1 = {"tp"}]' cuts it so}}
  %1 = dist.sync %0 fwd_post all_gather dim 1 over "tp" : tensor<4x12xf32>
  return %1 : tensor<4x12xf32>
}

// -----

// Of an argument, its name.
dist.mesh @m ["tp" = 2]
func.func @argument(%x: tensor<4x12xf32> {dist.input = "ids"}) -> tensor<4x12xf32> {
  // expected-error@below {{but here it is #dist.sharding<@m, [{}, {}]>; 'dist.shard input "ids" [1 = {"tp"}]' cuts it so}}
  %1 = dist.sync %x fwd_pre all_gather dim 1 over "tp" {dist.scope = "m"} : tensor<4x12xf32>
  return %1 : tensor<4x12xf32>
}

// -----

// Of a value that no module makes, the border at which it is.
dist.mesh @m ["tp" = 2]
func.func @border(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  // expected-note@below {{the value is made here}}
  %0 = math.exp %x : tensor<4x12xf32>
  // expected-error@below {{; 'dist.shard "m" input [1 = {"tp"}]' cuts it so}}
  %1 = dist.sync %0 fwd_pre all_gather dim 1 over "tp" {dist.scope = "m"} : tensor<4x12xf32>
  return %1 : tensor<4x12xf32>
}

// -----

dist.mesh @m ["tp" = 2]
func.func @nameless(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  // expected-error@below {{; a 'dist.sharding_constraint' before it shards it so}}
  %1 = dist.sync %x fwd_pre all_gather dim 1 over "tp" : tensor<4x12xf32>
  return %1 : tensor<4x12xf32>
}
