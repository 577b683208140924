func.func @main(%x: tensor<13xf64> {dist.input = "x"}, %y: tensor<13xf64> {dist.input = "y"})
    -> (tensor<13xf64> {dist.output = "a"}, tensor<13xf64> {dist.output = "b"},
        tensor<13xf64> {dist.output = "c"}, tensor<13xf64> {dist.output = "d"}) {
  %s1 = arith.addf %x, %y : tensor<13xf64>
  %s2 = arith.addf %s1, %x : tensor<13xf64>
  %s3 = arith.addf %s2, %s1 : tensor<13xf64>
  %first = tensor.extract_slice %s2[4] [1] [1] : tensor<13xf64> to tensor<1xf64>
  %middle = tensor.extract_slice %s3[1] [11] [1] : tensor<13xf64> to tensor<11xf64>
  %last = tensor.extract_slice %s2[3] [1] [1] : tensor<13xf64> to tensor<1xf64>
  %c = tensor.concat dim(0) %first, %middle, %last : (tensor<1xf64>, tensor<11xf64>, tensor<1xf64>) -> tensor<13xf64>
  return %y, %x, %c, %s2 : tensor<13xf64>, tensor<13xf64>, tensor<13xf64>, tensor<13xf64>
}
