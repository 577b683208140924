// dist.random_streams is written on what draws random numbers in a module.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.random_streams "h.*.drop" over "tp" expect 1
}
// CHECK: #[[$BY:.*]] = loc("{{.*}}random_streams.mlir":8:3)
// CHECK-LABEL: @main
// CHECK: dist.random_words %{{.*}} operator 0 at({{.*}}) of [4, 6] streams over "tp" by #[[$BY]]{{$}}
// CHECK: dist.random_words %{{.*}} operator 1 at({{.*}}) of [4, 6]{{$}}
func.func @main(%x: tensor<4x6xf32>, %seed: tensor<i64>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %seed : tensor<4x6xf32>, tensor<i64>) outs(%e : tensor<4x6xf32>) attrs = {dist.scope = "h.0.drop"} {
  ^bb0(%a: f32, %s: i64, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w:4 = dist.random_words %s, %s operator 0 at (%i, %j) of [4, 6]
    %f = arith.uitofp %w#0 : i64 to f32
    %y = arith.mulf %a, %f : f32
    linalg.yield %y : f32
  } -> tensor<4x6xf32>
  %1 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %seed : tensor<4x6xf32>, tensor<i64>) outs(%e : tensor<4x6xf32>) attrs = {dist.scope = "drop"} {
  ^bb0(%a: f32, %s: i64, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w:4 = dist.random_words %s, %s operator 1 at (%i, %j) of [4, 6]
    %f = arith.uitofp %w#0 : i64 to f32
    %y = arith.mulf %a, %f : f32
    linalg.yield %y : f32
  } -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "exp" draws no random numbers}}
  dist.random_streams "exp" over "tp"
}
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = math.exp %x {dist.scope = "exp"} : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

#id = affine_map<(i) -> (i)>
dist.mesh @m ["dp" = 2, "tp" = 2]
dist.schedule @s on @m {
  // expected-note@below {{that one}}
  dist.random_streams "h" over "tp"
  // expected-error@below {{module "h.drop" draws from streams of a directive before; leave one out}}
  dist.random_streams "h.drop" over "dp"
}
func.func @main(%x: tensor<4xi64>, %s: i64) -> tensor<4xi64> {
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xi64>) attrs = {dist.scope = "h.drop"} {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %w:4 = dist.random_words %s, %s operator 0 at (%i) of [4]
    linalg.yield %w#0 : i64
  } -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "drop" draws random numbers outside of the body of a linalg op, which devices do not shard}}
  dist.random_streams "drop" over "tp"
}
func.func @main(%x: tensor<4xi64>, %s: i64) -> tensor<4xi64> {
  // expected-note@below {{drawn here}}
  %w:4 = dist.random_words %s, %s operator 0 at () of [] {dist.scope = "drop"}
  %0 = tensor.splat %w#0 : tensor<4xi64>
  return %0 : tensor<4xi64>
}
