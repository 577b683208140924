// Two sums that are completed alike and then added are completed as one.
// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards --dist-combine-sums --dist-tidy-reshards --dist-verify-placed | FileCheck %s

// The parallel residual, each of whose modules has a bias and a sync of its own: x + (a + bias) + (b + bias).
// CHECK-LABEL: func.func @biases
// CHECK: %[[A:.*]] = linalg.matmul {{.*}}scope = "h.0.attn.o"
// CHECK-NOT: dist.reshard
// CHECK: %[[B:.*]] = linalg.matmul {{.*}}scope = "h.0.mlp.fc"
// CHECK-NOT: dist.reshard
// CHECK: %[[S:.*]] = linalg.add {{.*}}[{}, {}], partial = sum {"tp"}{{.*}} ins(%[[B]], %[[A]]
// CHECK: dist.reshard %[[S]] <@m, [{}, {}], partial = sum {"tp"}> to <@m, [{"tp"}, {}]> cause "second; and first" {dist.scope = "h.0"
// CHECK: linalg.add
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK-NOT: dist.reshard
// CHECK: return
dist.mesh @m ["tp" = 2]
func.func @biases(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
    %h: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    %w: tensor<6x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}, %bias: tensor<4xf32>)
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %a = linalg.matmul {dist.scope = "h.0.attn.o"} ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = dist.sync %a fwd_post reduce_scatter dim 0 over "tp" cause "first" {dist.scope = "h.0.attn.o"} : tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %b = linalg.matmul {dist.scope = "h.0.mlp.fc"} ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = dist.sync %b fwd_post reduce_scatter dim 0 over "tp" cause "second" {dist.scope = "h.0.mlp.fc"} : tensor<8x4xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%2, %bias : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %4 = linalg.add ins(%x, %1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = linalg.add ins(%4, %3 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// -----

// Nothing else is added: whoever reads the sum reads what is completed.
// CHECK-LABEL: func.func @alone
// CHECK: %[[S:.*]] = linalg.add {{.*}}partial = sum {"tp"}
// CHECK: %[[R:.*]] = dist.reshard %[[S]]
// CHECK: math.cos %[[R]]
// CHECK: math.exp %[[R]]
// CHECK-NOT: dist.reshard
dist.mesh @m ["tp" = 2]
func.func @alone(%h: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    %w: tensor<6x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %a = linalg.matmul ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = dist.sync %a fwd_post reduce_scatter dim 0 over "tp" : tensor<8x4xf32>
  %b = linalg.matmul ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = dist.sync %b fwd_post reduce_scatter dim 0 over "tp" : tensor<8x4xf32>
  %2 = linalg.add ins(%0, %1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = math.cos %2 : tensor<8x4xf32>
  %4 = math.exp %2 : tensor<8x4xf32>
  return %3, %4 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// One of them is read by another op, too; the others are cut in different dimensions.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: dist.reshard %{{.*}} <@m, [{}, {}], partial = sum {"tp"}> to <@m, [{"tp"}, {}]>
dist.mesh @m ["tp" = 2]
func.func @apart(%h: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    %w: tensor<6x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %a = linalg.matmul ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = dist.sync %a fwd_post reduce_scatter dim 0 over "tp" : tensor<8x4xf32>
  %b = linalg.matmul ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = dist.sync %b fwd_post reduce_scatter dim 0 over "tp" : tensor<8x4xf32>
  %2 = linalg.add ins(%0, %1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = math.exp %0 : tensor<8x4xf32>
  return %2, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// What is there by hand stays.
// CHECK-LABEL: func.func @by_hand
// CHECK-COUNT-2: dist.reshard %{{.*}} <@m, [{}, {}], partial = sum {"tp"}> to <@m, [{"tp"}, {}]> cause "by hand"
dist.mesh @m ["tp" = 2]
func.func @by_hand(%h: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    %w: tensor<6x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %a = linalg.matmul ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = dist.reshard %a <@m, [{}, {}], partial = sum {"tp"}> to <@m, [{"tp"}, {}]> cause "by hand" : tensor<8x4xf32>
  %b = linalg.matmul ins(%h, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = dist.reshard %b <@m, [{}, {}], partial = sum {"tp"}> to <@m, [{"tp"}, {}]> cause "by hand" : tensor<8x4xf32>
  %2 = linalg.add ins(%0, %1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// The sum of two maxima is not the maximum of the sums.
// CHECK-LABEL: func.func @maxima
// CHECK-COUNT-2: dist.reshard %{{.*}} <@m, [{}], partial = max {"tp"}> to <@m, [{}]>
// CHECK: linalg.add
// CHECK-NOT: dist.reshard
// CHECK: return
#in = affine_map<(i, j) -> (i, j)>
#out = affine_map<(i, j) -> (i)>
dist.mesh @m ["tp" = 2]
func.func @maxima(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x4xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<8x4xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %s = linalg.add ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}
