// Constraints of dist.sharding_constraint, dist.reshard and dist.sync in a
// program.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{sharding #dist.sharding<@m, [{}]> names no dist.mesh}}
  %0 = dist.sharding_constraint %x <@m, [{}]> : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{sharding #dist.sharding<@m, [{}, {"tp"}]> has 2 dimensions, but the tensor has 1}}
  %0 = dist.sharding_constraint %x <@m, [{}, {"tp"}]> : tensor<8xf32>
  return
}

// -----

// dist.reshard C1
dist.mesh @m ["tp" = 4]
dist.mesh @n ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{goes from mesh @m to mesh @n; a reshard stays on one}}
  %0 = dist.reshard %x <@m, [{}]> to <@n, [{}]> cause "" : tensor<8xf32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "dp" of sharding #dist.sharding<@m, [{"dp"}]> is not in mesh @m ["tp" = 4]}}
  %0 = dist.reshard %x <@m, [{"dp"}]> to <@m, [{}]> cause "" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "tp" occurs twice in sharding #dist.sharding<@m, [{"tp"}], partial = sum {"tp"}>}}
  %0 = dist.reshard %x <@m, [{}]> to <@m, [{"tp"}], partial = sum {"tp"}> cause "" : tensor<8xf32>
  return
}

// -----

// dist.sync C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{outside a schedule has an operand and no module path}}
  %0 = "dist.sync"(%x) {target = "fc", mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<all_reduce>, axes = [#dist.axis<"tp">]} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{result type 'tensor<4xf32>' differs from the operand's 'tensor<8xf32>'}}
  %0 = "dist.sync"(%x) {mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<all_reduce>, axes = [#dist.axis<"tp">]} : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{dimension 1 is out of range for a tensor of rank 1}}
  %0 = dist.sync %x fwd_pre all_gather dim 1 over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error@below {{dimension 2 is out of range for a tensor of rank 2}}
  %0 = dist.sync %x fwd_pre all_to_all dim 1 to 2 over "tp" : tensor<8x8xf32>
  return
}

// -----

// C4
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "dp" is not in mesh @m ["tp" = 4]}}
  %0 = dist.sync %x fwd_pre all_gather dim 0 over "dp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "tp" occurs twice}}
  %0 = dist.sync %x fwd_pre all_gather dim 0 over "tp", "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
dist.mesh @n ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{needs 'on @mesh', since the module has not exactly one mesh}}
  %0 = dist.sync %x fwd_pre all_gather dim 0 over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{names no dist.mesh: @n}}
  %0 = dist.sync %x fwd_pre all_gather dim 0 over "tp" on @n : tensor<8xf32>
  return
}

// -----

// C5
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{outside a schedule cannot be 'optional', and expects and excepts nothing}}
  %0 = dist.sync %x fwd_pre all_gather dim 0 over "tp" optional : tensor<8xf32>
  return
}

// -----

// dist.sync C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'halo' needs 'low' and 'high', the rows before and after a block}}
  %0 = dist.sync %x fwd_pre halo dim 0 low 1 over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'halo' of 0 rows before and 0 after a block brings nothing}}
  %0 = dist.sync %x fwd_pre halo dim 0 low 0 high 0 over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{halo of -3 is negative}}
  %0 = dist.sync %x fwd_pre halo dim 0 low 0 high -3 over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{halo of 2000000000000 rows is more than 1099511627776}}
  %0 = dist.sync %x fwd_pre halo dim 0 low 2000000000000 high 0 over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'halo' is 'fwd_pre' or 'fwd_post': what its gradient sends follows from it}}
  %0 = dist.sync %x bwd_post halo dim 0 low 1 high 0 over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'halo' cannot be 'periodic': a sync changes no result, and no op reads around the ends}}
  %0 = dist.sync %x fwd_pre halo dim 0 low 1 high 0 boundary periodic over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{boundary constant 1 : i32 is of type 'i32', but the tensor's elements are 'f32'}}
  %0 = dist.sync %x fwd_pre halo dim 0 low 1 high 0 boundary constant 1 : i32 over "tp" : tensor<8xf32>
  return
}

// -----

// C9
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'all_gather' has no 'low', 'high' or 'boundary': they are a halo's}}
  %0 = dist.sync %x fwd_pre all_gather dim 0 low 1 high 0 over "tp" : tensor<8xf32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'halo' needs 'dim'}}
  %0 = dist.sync %x fwd_pre halo low 1 high 0 over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @no_such_axis(%x: tensor<8xf32>) {
  // expected-error @below {{axis "pp" is not in mesh @m}}
  %0 = dist.sharding_constraint %x <@m, [{?}]> whole "pp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @twice(%x: tensor<8xf32>) {
  // expected-error @below {{axis "tp"}}
  %0 = dist.sharding_constraint %x <@m, [{?}]> whole "tp", "tp" : tensor<8xf32>
  return
}
