// A sync's function that cannot be meant is an error at the directive, with both types.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false --dist-spmd

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@sum is no function beside the schedule}}
  dist.sync "a" fwd_post @sum
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@gather takes 'tensor<8xf32>', but of 'tensor<8xf32>' placed as #dist.sharding<@m, [{"tp"}]> a device holds 'tensor<4xf32>'}}
  dist.sync "a" fwd_post @gather
}
func.func private @gather(%part: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %0 = dist.all_gather %part dim 0 over "tp" : tensor<8xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@below {{this value}}
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The value is whole where the function takes a pending sum.
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{takes a value that is #dist.sharding<@m, [{}], partial = sum {"tp"}>, but here it is #dist.sharding<@m, [{}]>; a 'row' directive over "tp", of the linear layer that makes it, leaves its sum pending}}
  dist.sync "a" fwd_post @sum
}
func.func private @sum(%part: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}], partial = sum {"tp"}>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %0 = dist.all_reduce %part sum over "tp" : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@below {{the value is made here}}
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@sum gives its argument back as it is, which cannot bring a value from #dist.sharding<@m, [{}], partial = sum {"tp"}> to #dist.sharding<@m, [{}]>}}
  dist.sync "a" fwd_post @sum
}
func.func private @sum(%part: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}], partial = sum {"tp"}>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  return %part : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{the argument of @sum has no 'dist.sharding', which says how the sync's value is placed}}
  dist.sync "a" fwd_post @sum
}
func.func private @sum(%part: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce %part sum over "tp" : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@both is (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>, but a sync's function takes a tensor and gives one}}
  dist.sync "a" fwd_post @both
}
func.func private @both(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@back is (tensor<4xf32>) -> tensor<8xf32>, but the backward of @gather takes what that gives and gives what that takes: (tensor<8xf32>) -> tensor<4xf32>}}
  dist.sync "a" fwd_post @gather backward @back
}
func.func private @gather(%part: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %0 = dist.all_gather %part dim 0 over "tp" : tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @back(%part: tensor<4xf32>) -> tensor<8xf32> {
  %0 = dist.all_gather %part dim 0 over "tp" : tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@whole holds 'dist.sharding_constraint', which places values; a sync's function is the program of one device (level 3)}}
  dist.sync "a" fwd_post @whole
}
func.func private @whole(%part: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-note@below {{this op}}
  %0 = dist.sharding_constraint %part <@m, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@outer uses another function; its ops must be in it}}
  dist.sync "a" fwd_post @outer
}
func.func private @inner(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
func.func private @outer(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-note@below {{here}}
  %0 = func.call @inner(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
