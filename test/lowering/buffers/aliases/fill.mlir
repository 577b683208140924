// Zeros are read under another name before a product is added to them.
//
// RUN: %{npy} make %t.flag.npy i1 '' "1"
// RUN: dist-run %s --input flag=%t.flag.npy --output %t
// RUN: %{npy} check %t/u.npy "1"
// RUN: %{npy} check %t/v.npy "2 * (28 * 512 + 8 * j)"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i1> {dist.input = "flag"})
    -> (tensor<8x512xf32> {dist.output = "u"}, tensor<8x512xf32> {dist.output = "v"}) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %zero = arith.constant 0.0 : f32
  %c512 = arith.constant 512 : index
  %e = tensor.empty() : tensor<8x512xf32>
  %cond = tensor.extract %flag[] : tensor<i1>
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
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x512xf32>) -> tensor<8x512xf32>
  %r = scf.if %cond -> tensor<8x512xf32> {
    scf.yield %init : tensor<8x512xf32>
  } else {
    scf.yield %b : tensor<8x512xf32>
  }
  %u_row = tensor.extract_slice %r[0, 0] [1, 512] [1, 1] : tensor<8x512xf32> to tensor<512xf32>
  %u = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%u_row, %b : tensor<512xf32>, tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) {
  ^bb0(%p: f32, %p2: f32, %q: f32):
    %s = arith.addf %p, %p2 : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  %w0 = tensor.empty() : tensor<8x8xf32>
  %w = linalg.fill ins(%two : f32) outs(%w0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %v = linalg.matmul ins(%w, %a : tensor<8x8xf32>, tensor<8x512xf32>) outs(%init : tensor<8x512xf32>) -> tensor<8x512xf32>
  return %u, %v : tensor<8x512xf32>, tensor<8x512xf32>
}
