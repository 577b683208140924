// A branch yields an argument, which must not be written to and is a result as well.
//
// RUN: %{npy} make %t.flag.npy i1 '' "1"
// RUN: %{npy} make %t.x.npy f32 8,512 "i*512+j"
// RUN: dist-run %s --input flag=%t.flag.npy --input x=%t.x.npy --output %t
// RUN: %{npy} check %t/u.npy "j + 1"
// RUN: %{npy} check %t/v.npy "i*512 + j + (j + 1)"
// RUN: %{npy} check %t/x.npy "i*512+j"
// RUN: %{npy} check %t/r.npy "i*512+j"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<8x512xf32> {dist.input = "x"}, %flag: tensor<i1> {dist.input = "flag"})
    -> (tensor<8x512xf32> {dist.output = "u"}, tensor<8x512xf32> {dist.output = "v"}, tensor<8x512xf32> {dist.output = "x"}, tensor<8x512xf32> {dist.output = "r"}) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8x512xf32>
  %cond = tensor.extract %flag[] : tensor<i1>
  %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x512xf32>) {
  ^bb0(%q: f32):
    linalg.yield %one : f32
  } -> tensor<8x512xf32>
  %r = scf.if %cond -> tensor<8x512xf32> {
    scf.yield %x : tensor<8x512xf32>
  } else {
    scf.yield %b : tensor<8x512xf32>
  }
  %u_row = tensor.extract_slice %x[0, 0] [1, 512] [1, 1] : tensor<8x512xf32> to tensor<512xf32>
  %u = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%u_row, %b : tensor<512xf32>, tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) {
  ^bb0(%p: f32, %p2: f32, %q: f32):
    %s = arith.addf %p, %p2 : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<8x512xf32>) outs(%r : tensor<8x512xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  return %u, %v, %x, %r : tensor<8x512xf32>, tensor<8x512xf32>, tensor<8x512xf32>, tensor<8x512xf32>
}
