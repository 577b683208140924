// Rows of a tensor, one further down in the same tensor.

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = tensor.extract_slice %x[0, 0] [7, 8] [1, 1] : tensor<8x8xf32> to tensor<7x8xf32>
  %a = tensor.insert_slice %p into %x[1, 0] [7, 8] [1, 1] : tensor<7x8xf32> into tensor<8x8xf32>
  %q = tensor.extract_slice %a[0, 1] [8, 7] [1, 1] : tensor<8x8xf32> to tensor<8x7xf32>
  %b = tensor.insert_slice %q into %a[0, 0] [8, 7] [1, 1] : tensor<8x7xf32> into tensor<8x8xf32>
  return %b, %a : tensor<8x8xf32>, tensor<8x8xf32>
}
