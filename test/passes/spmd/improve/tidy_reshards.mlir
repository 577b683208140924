// What has no user goes, and so does a stop on the way that nobody asked for.
// RUN: dist-opt %s --split-input-file --dist-tidy-reshards --dist-verify-placed | FileCheck %s --implicit-check-not=asked_for

// CHECK-LABEL: func.func @detour
// CHECK-NEXT: %[[Y:.*]] = dist.reshard %arg0 <@m, [{"tp"}, {}]> to <@m, [{}, {"tp"}]> cause "b"
// CHECK-NEXT: return %[[Y]]
dist.mesh @m ["tp" = 2]
func.func @detour(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}) {
  %unused = tensor.empty() {dist.shardings = [#dist.sharding<@m, [{}, {}]>]} : tensor<8x4xf32>
  %0 = dist.reshard %x <@m, [{"tp"}, {}]> to <@m, [{}, {}]> cause "a" {dist.shardings = [#dist.sharding<@m, [{}, {}]>]} : tensor<8x4xf32>
  %1 = dist.reshard %0 <@m, [{}, {}]> to <@m, [{}, {"tp"}]> cause "b" {dist.shardings = [#dist.sharding<@m, [{}, {"tp"}]>]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @asked
// CHECK-NEXT: %[[X:.*]] = dist.reshard %arg0 <@m, [{"tp"}, {}]> to <@m, [{}, {}]> cause "a"
// CHECK-NEXT: %[[Y:.*]] = dist.reshard %[[X]] <@m, [{}, {}]> to <@m, [{}, {"tp"}]> cause "b"
// CHECK-NEXT: return %[[Y]]
dist.mesh @m ["tp" = 2]
func.func @asked(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}) {
  %0 = dist.reshard %x <@m, [{"tp"}, {}]> to <@m, [{}, {}]> cause "a" {dist.asked_for = "collective", dist.shardings = [#dist.sharding<@m, [{}, {}]>]} : tensor<8x4xf32>
  %1 = dist.reshard %0 <@m, [{}, {}]> to <@m, [{}, {"tp"}]> cause "b" {dist.shardings = [#dist.sharding<@m, [{}, {"tp"}]>]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
