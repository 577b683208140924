// A branch in a loop yields what the loop carries, or something else.
//
// RUN: %{npy} make %t.flag.npy i1 '' "1"
// RUN: %{npy} make %t.number.npy i64 '' "1"
// RUN: dist-run %s --input flag=%t.flag.npy --input number=%t.number.npy --output %t
// RUN: %{npy} check %t/v.npy "i*512 + j + (j + 1)"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i1> {dist.input = "flag"}, %num: tensor<i64> {dist.input = "number"})
    -> (tensor<8x512xf32> {dist.output = "v"}) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %e = tensor.empty() : tensor<8x512xf32>
  %cond = tensor.extract %flag[] : tensor<i1>
  %number = tensor.extract %num[] : tensor<i64>
  %n = arith.index_cast %number : i64 to index
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
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a) -> (tensor<8x512xf32>) {
    %r = scf.if %cond -> tensor<8x512xf32> {
      scf.yield %p : tensor<8x512xf32>
    } else {
      scf.yield %b : tensor<8x512xf32>
    }
    %u_row = tensor.extract_slice %p[0, 0] [1, 512] [1, 1] : tensor<8x512xf32> to tensor<512xf32>
  %u = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%u_row, %b : tensor<512xf32>, tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) {
  ^bb0(%p0: f32, %p2: f32, %q: f32):
    %s = arith.addf %p0, %p2 : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<8x512xf32>) outs(%r : tensor<8x512xf32>) {
  ^bb0(%p0: f32, %q: f32):
    %s = arith.addf %q, %p0 : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
    scf.yield %v : tensor<8x512xf32>
  }
  return %z : tensor<8x512xf32>
}
