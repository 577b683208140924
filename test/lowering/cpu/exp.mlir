// exp in f32 is within an ulp, keeps NaN, and reaches 0 and infinity where it has to.
//
// RUN: python3 %S/Inputs/exp.py write %t.in
// RUN: dist-run %s --input x=%t.in/x.npy --output %t.out
// RUN: python3 %S/Inputs/exp.py check %t.in %t.out

func.func @main(%x: tensor<4096xf32> {dist.input = "x"}) -> (tensor<4096xf32> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<4096xf32>
  %0 = linalg.exp ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
