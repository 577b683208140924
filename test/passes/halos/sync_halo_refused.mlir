// RUN: %{root}/tools/dist-opt %s --split-input-file --verify-diagnostics --dist-spmd

// Fewer rows than are read.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<3xf32>) -> tensor<16xf32> {
  %fill = arith.constant 0.0 : f32
  // expected-error@below {{'halo' brings 1 rows before and 0 after blocks of 4 of dimension 0, but 1 and 1 are read}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 0 over "sp" : tensor<16xf32>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  // expected-note@below {{they are read here}}
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Windows that reach over two blocks.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 8]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<7xf32>) -> tensor<16xf32> {
  %fill = arith.constant 0.0 : f32
  // expected-error@below {{'halo' brings 1 rows before and 1 after blocks of 2 of dimension 0, but 3 and 3 are read}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 over "sp" : tensor<16xf32>
  %p = tensor.pad %s low[3] high[3] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<22xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  // expected-note@below {{they are read here}}
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<22xf32>, tensor<7xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Nothing reads it; the windows read the value before.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<3xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %fill = arith.constant 0.0 : f32
  // expected-error@below {{'halo' brings 1 rows before and 1 after blocks of 4 of dimension 0, but no op reads this value in windows that reach over its blocks; the sync belongs where one does}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 over "sp" : tensor<16xf32>
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

// More rows than are read.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<3xf32>) -> tensor<16xf32> {
  %fill = arith.constant 0.0 : f32
  // expected-remark@below {{'halo' brings 2 rows before and 5 after blocks of dimension 0, of which 1 and 1 are read}}
  %s = dist.sync %x fwd_pre halo dim 0 low 2 high 5 over "sp" : tensor<16xf32>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// The program pads with something else.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<3xf32>) -> tensor<16xf32> {
  %fill = arith.constant 1.0 : f32
  // expected-error@below {{'halo' says that past the ends of dimension 0 there is 'zero', but 1.000000e+00 : f32 is read there}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 boundary zero over "sp" : tensor<16xf32>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  // expected-note@below {{it is read here}}
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// The program pads.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<3xf32>) -> tensor<16xf32> {
  %fill = arith.constant 0.0 : f32
  // expected-error@below {{'halo' says that past the ends of dimension 0 there is 'none', but 0.000000e+00 : f32 is read there}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 boundary none over "sp" : tensor<16xf32>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  // expected-note@below {{it is read here}}
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// The value is not sharded so.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{}]>}, %w: tensor<3xf32>) -> tensor<16xf32> {
  %fill = arith.constant 0.0 : f32
  // expected-error@below {{'halo' over "sp" needs a value whose dimension 0 is sharded over just them, but here it is #dist.sharding<@m, [{}]>}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 over "sp" : tensor<16xf32>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %fill : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
