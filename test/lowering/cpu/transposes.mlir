// Copies that read along one dimension and write along another go by squares of a cache line's elements, which are
// transposed in registers; what is left of a dimension beside them, and dimensions shorter than a square, go one by one.
//
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --dist-form-kernels | FileCheck %s
// RUN: mkdir -p %t.in
// RUN: %{npy} make %t.in/x.npy f32 2,37,3,53 n
// RUN: %{npy} make %t.in/d.npy f64 40,11 n
// RUN: dist-run %s --input x=%t.in/x.npy --input d=%t.in/d.npy --output %t.out
// RUN: %{npy} check %t.out/y.npy "((i*37 + k)*3 + l)*53 + j"
// RUN: %{npy} check %t.out/z.npy "((i*37 + l)*3 + k)*53 + j"
// RUN: %{npy} check %t.out/t.npy "j*11 + i"
// RUN: %{npy} check %t.out/n.npy "((i*37 + j)*3 + l)*53 + k"
//
// CHECK-LABEL: func.func private @kernel_0
// CHECK-COUNT-16: vector.load {{.*}} vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK-LABEL: func.func private @kernel_1
// CHECK-COUNT-8: vector.load {{.*}} vector<8xf64>
// CHECK-COUNT-24: vector.shuffle
// CHECK-LABEL: func.func private @kernel_2
// CHECK-NOT: vector

#a = affine_map<(i, j, k, l) -> (i, j, k, l)>
#b = affine_map<(i, j, k, l) -> (i, l, j, k)>
func.func @main(%x: tensor<2x37x3x53xf32> {dist.input = "x"}, %d: tensor<40x11xf64> {dist.input = "d"})
    -> (tensor<2x53x37x3xf32> {dist.output = "y"}, tensor<2x53x3x37xf32> {dist.output = "z"},
        tensor<11x40xf64> {dist.output = "t"}, tensor<2x37x53x3xf32> {dist.output = "n"}) {
  %z = tensor.empty() : tensor<2x53x3x37xf32>
  %0 = linalg.transpose ins(%x : tensor<2x37x3x53xf32>) outs(%z : tensor<2x53x3x37xf32>) permutation = [0, 3, 2, 1]
  %t = tensor.empty() : tensor<11x40xf64>
  %1 = linalg.transpose ins(%d : tensor<40x11xf64>) outs(%t : tensor<11x40xf64>) permutation = [1, 0]
  // The neighbours that are written are only three.
  %n = tensor.empty() : tensor<2x37x53x3xf32>
  %2 = linalg.transpose ins(%x : tensor<2x37x3x53xf32>) outs(%n : tensor<2x37x53x3xf32>) permutation = [0, 1, 3, 2]
  // Two of the dimensions are one loop of 111.
  %y = tensor.empty() : tensor<2x53x37x3xf32>
  %3 = linalg.generic {indexing_maps = [#a, #b], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x37x3x53xf32>) outs(%y : tensor<2x53x37x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x53x37x3xf32>
  return %3, %0, %1, %2 : tensor<2x53x37x3xf32>, tensor<2x53x3x37xf32>, tensor<11x40xf64>, tensor<2x37x53x3xf32>
}
