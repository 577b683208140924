// A while loop yields a value of its surroundings, which is read under both names.
//
// RUN: %{npy} make %t.number.npy i64 '' "1"
// RUN: dist-run %s --input number=%t.number.npy --output %t
// RUN: %{npy} check %t/u.npy "j + 1"
// RUN: %{npy} check %t/v.npy "i*512 + j + (j + 1)"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i64> {dist.input = "number"})
    -> (tensor<8x512xf32> {dist.output = "u"}, tensor<8x512xf32> {dist.output = "v"}) {
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
  %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x512xf32>) {
  ^bb0(%q: f32):
    linalg.yield %one : f32
  } -> tensor<8x512xf32>
  %r:2 = scf.while (%i = %c0, %p = %b) : (index, tensor<8x512xf32>) -> (index, tensor<8x512xf32>) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i, %p : index, tensor<8x512xf32>
  } do {
  ^bb0(%i: index, %p: tensor<8x512xf32>):
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %a : index, tensor<8x512xf32>
  }
  %u_row = tensor.extract_slice %a[0, 0] [1, 512] [1, 1] : tensor<8x512xf32> to tensor<512xf32>
  %u = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%u_row, %b : tensor<512xf32>, tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) {
  ^bb0(%p: f32, %p2: f32, %q: f32):
    %s = arith.addf %p, %p2 : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<8x512xf32>) outs(%r#1 : tensor<8x512xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x512xf32>
  return %u, %v : tensor<8x512xf32>, tensor<8x512xf32>
}
