// A branch yields a constant, which must not be written to.
//
// RUN: %{npy} make %t.flag.npy i1 '' "1"
// RUN: dist-run %s --input flag=%t.flag.npy --output %t
// RUN: %{npy} check %t/u.npy "4"
// RUN: %{npy} check %t/v.npy "3 + 4 + 3"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i1> {dist.input = "flag"})
    -> (tensor<8x512xf32> {dist.output = "u"}, tensor<8x512xf32> {dist.output = "v"}) {
  %one = arith.constant 1.0 : f32
  %c512 = arith.constant 512 : index
  %e = tensor.empty() : tensor<8x512xf32>
  %cond = tensor.extract %flag[] : tensor<i1>
  %three = arith.constant dense<3.0> : tensor<8x512xf32>
  %a = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x512xf32>) {
  ^bb0(%q: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %c512 : index
    %l = arith.addi %k, %j : index
    %m = arith.index_cast %l : index to i64
    %s = arith.sitofp %m : i64 to f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x512xf32>) {
  ^bb0(%q: f32):
    linalg.yield %one : f32
  } -> tensor<8x512xf32>
  %r = scf.if %cond -> tensor<8x512xf32> {
    scf.yield %three : tensor<8x512xf32>
  } else {
    scf.yield %b : tensor<8x512xf32>
  }
  %u_row = tensor.extract_slice %three[0, 0] [1, 512] [1, 1] : tensor<8x512xf32> to tensor<512xf32>
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
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%three : tensor<8x512xf32>) outs(%v : tensor<8x512xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  return %u, %w : tensor<8x512xf32>, tensor<8x512xf32>
}
