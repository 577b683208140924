// Data say which keys a query sees; that they are at most 3 before it, the op says.
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#m = affine_map<(h, i, j, d, e) -> (i, j)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
dist.mesh @m ["sp" = 4]
func.func @main(
    %q: tensor<2x32x8xf32> {dist.input = "q", dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>},
    %k: tensor<2x32x8xf32> {dist.input = "k", dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>},
    %v: tensor<2x32x8xf32> {dist.input = "v", dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>},
    %m: tensor<32x32xf32> {dist.input = "m"}) -> (tensor<2x32x8xf32> {dist.output = "o"}) {
  %e = tensor.empty() : tensor<2x32x8xf32>
  %o = dist.attention(%q, %k, %v : tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>)
      with (%m : tensor<32x32xf32>) outs(%e : tensor<2x32x8xf32>) maps [#q, #k, #v, #m, #o] window [3, 0] {
  ^bb0(%s: f32, %mask: f32, %h: index, %i: index, %j: index):
    %x = arith.addf %s, %mask : f32
    dist.attention_yield %x : f32
  } -> tensor<2x32x8xf32>
  return %o : tensor<2x32x8xf32>
}
