// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-spmd

dist.mesh @m ["tp" = 4]
func.func @sync_contradicted(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-note @below {{the value is made here}}
  %0 = arith.negf %x : tensor<8x16xf32>
  // expected-error @below {{'all_reduce' over "tp" needs a value that is partial over them, but here it is #dist.sharding<@m, [{}, {}]>}}
  %1 = dist.sync %0 fwd_post all_reduce over "tp" : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @gather_of_unsharded(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-note @below {{the value is made here}}
  %0 = arith.negf %x : tensor<8x16xf32>
  // expected-error @below {{'all_gather' over "tp" needs a value that is sharded over them on dimension 1, but here it is #dist.sharding<@m, [{}, {}]>}}
  %1 = dist.sync %0 fwd_post all_gather dim 1 over "tp" : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["tp" = 4]
// expected-error @below {{is the program of one device already: it cannot be placed again}}
func.func @twice(%x: tensor<2x16xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>, dist.global_type = tensor<8x16xf32>}) -> tensor<2x16xf32> {
  return %x : tensor<2x16xf32>
}

// -----

dist.mesh @m ["tp" = 4]
// expected-error @below {{pending reductions arise from ops}}
func.func @pending_result(%x: tensor<8x16xf32>) -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>}) {
  return %x : tensor<8x16xf32>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @pending_by_hand(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @below {{leaves a sum over "tp" pending, but here the value is #dist.sharding<@m, [{}, {}]>: in place of 'P' say R or S(d), or leave it alone (null)}}
  %0 = dist.sharding_constraint %x <@m, [{}, {}], partial = sum {"tp"}> : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["x" = 2, "y" = 3]
func.func @blocks_too_small(%x: tensor<4x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                            %y: tensor<4x9xf64> {dist.sharding = #dist.sharding<@m, [{}, {"y"} groups 3]>}) -> tensor<4x9xf64> {
  // expected-note @below {{the value is made here}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<4x8xf64>) outs(%y : tensor<4x9xf64>) {
  ^bb0(%a: f64, %s: f64):
    %t = arith.addf %s, %a : f64
    linalg.yield %t : f64
  } -> tensor<4x9xf64>
  // expected-error @below {{'reduce_scatter' over "x" needs a value that is divided by them in each interleaved block of dimension 1}}
  %1 = dist.sync %0 fwd_post reduce_scatter dim 1 over "x" : tensor<4x9xf64>
  return %1 : tensor<4x9xf64>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @blocks_in_a_region(%c: i1, %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  // expected-error @below {{has 3 blocks, between which tensors cannot be placed; use scf for control flow (--lift-cf-to-scf makes it)}}
  %0 = scf.execute_region -> tensor<8x16xf32> {
    cf.cond_br %c, ^bb1, ^bb2(%x : tensor<8x16xf32>)
  ^bb1:
    %1 = arith.negf %x : tensor<8x16xf32>
    cf.br ^bb2(%1 : tensor<8x16xf32>)
  ^bb2(%2: tensor<8x16xf32>):
    scf.yield %2 : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["tp" = 4]
// expected-error @below {{has 2 blocks, between which tensors cannot be placed}}
func.func @blocks_in_a_function(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<8x16xf32>
}

// -----

// What a block takes is no argument of the function, whose attributes say
// nothing of it.
dist.mesh @m ["tp" = 4]
// expected-error @below {{has 2 blocks, between which tensors cannot be placed}}
func.func @arguments_of_a_block(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  cf.br ^bb1(%x, %x, %x, %x : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
^bb1(%0: tensor<8x16xf32>, %1: tensor<8x16xf32>, %2: tensor<8x16xf32>, %3: tensor<8x16xf32>):
  return %3 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @cut(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  // expected-note @below {{the value is made here}}
  %0 = math.exp %x : tensor<8x16xf32>
  // expected-error @below {{'all_reduce' over "tp" needs a value that is partial over them}}
  // expected-note @below {{it is computed in parts of dimension 0: a 'column' directive does so, where 'row' leaves a sum; or what the module takes is cut, where 'fwd_pre all_gather dim 0' of the module makes it whole}}
  %1 = dist.sync %0 fwd_post all_reduce over "tp" : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
