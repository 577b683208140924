// One of two slices that lie in memory in different ways is selected, then read and added to. (Once this was refused.)
//
// RUN: %{npy} make %t.a.npy f32 4,4 "i*4 + j"
// RUN: %{npy} make %t.0.npy i64 '' "0"
// RUN: %{npy} make %t.1.npy i64 '' "1"
// RUN: dist-run %s --input a=%t.a.npy --input number=%t.0.npy --output %t
// RUN: %{npy} check %t/y.npy "2*i"
// RUN: dist-run %s --input a=%t.a.npy --input number=%t.1.npy --output %t
// RUN: %{npy} check %t/y.npy "5*i"

#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<4x4xf32> {dist.input = "a"}, %p: tensor<i64> {dist.input = "number"})
    -> (tensor<4xf32> {dist.output = "y"}) {
  %number = tensor.extract %p[] : tensor<i64>
  %zero = arith.constant 0 : i64
  %c = arith.cmpi eq, %number, %zero : i64
  %row = tensor.extract_slice %a[0, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
  %column = tensor.extract_slice %a[0, 0] [4, 1] [1, 1] : tensor<4x4xf32> to tensor<4xf32>
  %s = arith.select %c, %row, %column : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%row : tensor<4xf32>) outs(%s : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.addf %in, %out : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
