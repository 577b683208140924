// A slice whose place only running tells, from the tensor into itself.

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %c: tensor<1xi64> {dist.input = "c"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0 : index
  %number = tensor.extract %c[%zero] : tensor<1xi64>
  %none = arith.constant 0 : i64
  %is = arith.cmpi sgt, %number, %none : i64
  %at = arith.index_cast %number : i64 to index
  %p = tensor.extract_slice %x[%at, 0] [3, 8] [1, 1] : tensor<8x8xf32> to tensor<3x8xf32>
  %a = tensor.insert_slice %p into %x[1, 0] [3, 8] [1, 1] : tensor<3x8xf32> into tensor<8x8xf32>
  %q = tensor.extract_slice %a[0, %at] [8, 2] [1, 1] : tensor<8x8xf32> to tensor<8x2xf32>
  %b = tensor.insert_slice %q into %y[0, %at] [8, 2] [1, 1] : tensor<8x2xf32> into tensor<8x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}
