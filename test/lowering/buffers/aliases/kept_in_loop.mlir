// A loop carries what it makes in its first iteration, in a buffer that nothing else uses.
//
// RUN: %{npy} make %t.number.npy i64 '' "3"
// RUN: dist-run %s --input number=%t.number.npy --output %t
// RUN: %{npy} check %t/v.npy "4 * (i*512 + j) + 3"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i64> {dist.input = "number"})
    -> (tensor<8x512xf32> {dist.output = "v"}) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %e = tensor.empty() : tensor<8x512xf32>
  %number = tensor.extract %flag[] : tensor<i64>
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
  %z:2 = scf.for %it = %c0 to %n step %c1 iter_args(%t = %e, %acc = %a) -> (tensor<8x512xf32>, tensor<8x512xf32>) {
    %first = arith.cmpi eq, %it, %c0 : index
    %t2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x512xf32>) outs(%t : tensor<8x512xf32>) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %q, %one : f32
      %m = arith.select %first, %p, %s : f32
      linalg.yield %m : f32
    } -> tensor<8x512xf32>
    %acc2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t2 : tensor<8x512xf32>) outs(%acc : tensor<8x512xf32>) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %q, %p : f32
      linalg.yield %s : f32
    } -> tensor<8x512xf32>
    scf.yield %t2, %acc2 : tensor<8x512xf32>, tensor<8x512xf32>
  }
  return %z#1 : tensor<8x512xf32>
}
