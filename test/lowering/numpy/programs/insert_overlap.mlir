// Slices that overlap, and the tensor between the insertions.

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = tensor.extract_slice %y[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %q = tensor.extract_slice %x[4, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %a = tensor.insert_slice %p into %x[2, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %b = tensor.insert_slice %q into %a[3, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}
