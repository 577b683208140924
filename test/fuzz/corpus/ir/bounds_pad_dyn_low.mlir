func.func @main(%x: tensor<16xf32> {dist.input = "i0"}, %t: tensor<i64> {dist.input = "i1"}) -> (tensor<20xf32> {dist.output = "y"}) {
%z = arith.constant 0.0 : f32
%s0 = tensor.extract %t[] : tensor<i64>
%s = arith.index_cast %s0 : i64 to index
%r = tensor.pad %x low[%s] high[2] {
^bb0(%i: index):
tensor.yield %z : f32
} : tensor<16xf32> to tensor<20xf32>
return %r : tensor<20xf32>
}
