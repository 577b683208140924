// Three batches that keys lack, on two devices, and rows on three: padding of both would be added up.
#q = affine_map<(g, i, j, d, e) -> (g, i, d)>
#k = affine_map<(g, i, j, d, e) -> (j, d)>
#v = affine_map<(g, i, j, d, e) -> (j, e)>
#o = affine_map<(g, i, j, d, e) -> (g, i, e)>
#l = affine_map<(g, i, j, d, e) -> (g, i)>
#t = affine_map<(g, i, j, d, e) -> (i, j)>
#A = #dist.sharding<@m, [{"h"}, {"sp"}, {}]>
#L = #dist.sharding<@m, [{"h"}, {"sp"}]>
#K = #dist.sharding<@m, [{"sp"}, {}]>
dist.mesh @m ["sp" = 3, "h" = 2]
func.func @main(%q: tensor<3x20x4xf32> {dist.input = "q", dist.sharding = #A}, %k: tensor<20x4xf32> {dist.input = "k", dist.sharding = #K}, %v: tensor<20x4xf32> {dist.input = "v", dist.sharding = #K},
   %do: tensor<3x20x4xf32> {dist.input = "do", dist.sharding = #A})
   -> (tensor<3x20x4xf32> {dist.output = "dq"}, tensor<20x4xf32> {dist.output = "dk"}, tensor<20x4xf32> {dist.output = "dv"}, tensor<20x20xf32> {dist.output = "t"}) {
  %inf = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x20x4xf32>
  %el = tensor.empty() : tensor<3x20xf32>
  %ek = tensor.empty() : tensor<20x4xf32>
  %et = tensor.empty() : tensor<20x20xf32>
  %o:3 = dist.attention(%q, %k, %v : tensor<3x20x4xf32>, tensor<20x4xf32>, tensor<20x4xf32>) outs(%e, %el, %el : tensor<3x20x4xf32>, tensor<3x20xf32>, tensor<3x20xf32>) maps [#q, #k, #v, #o, #l, #l] window [3, 0] {
  ^bb0(%s: f32, %g: index, %i: index, %j: index):
    %far = arith.addi %j, %c3 : index
    %a = arith.cmpi ule, %i, %far : index
    %b = arith.cmpi ule, %j, %i : index
    %c = arith.andi %a, %b : i1
    %x = arith.select %c, %s, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<3x20x4xf32>, tensor<3x20xf32>, tensor<3x20xf32>
  %d:4 = dist.attention_adjoint(%q, %k, %v : tensor<3x20x4xf32>, tensor<20x4xf32>, tensor<20x4xf32>)
     of(%o#0, %o#1, %o#2, %do : tensor<3x20x4xf32>, tensor<3x20xf32>, tensor<3x20xf32>, tensor<3x20x4xf32>)
     outs(%e, %ek, %ek, %et : tensor<3x20x4xf32>, tensor<20x4xf32>, tensor<20x4xf32>, tensor<20x20xf32>)
     maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] window [3, 0] {
  ^bb0(%s: f32, %g: index, %i: index, %j: index):
    %far = arith.addi %j, %c3 : index
    %a = arith.cmpi ule, %i, %far : index
    %b = arith.cmpi ule, %j, %i : index
    %c = arith.andi %a, %b : i1
    %x = arith.select %c, %s, %inf : f32
    dist.attention_yield %x : f32
  } adjoint {
  ^bb0(%s: f32, %dx: f32, %g: index, %i: index, %j: index):
    dist.attention_yield %dx terms(%dx : f32) : f32
  } -> tensor<3x20x4xf32>, tensor<20x4xf32>, tensor<20x4xf32>, tensor<20x20xf32>
  return %d#0, %d#1, %d#2, %d#3 : tensor<3x20x4xf32>, tensor<20x4xf32>, tensor<20x4xf32>, tensor<20x20xf32>
}
