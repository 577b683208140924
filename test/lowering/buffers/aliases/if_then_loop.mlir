// What a branch yields is read in each iteration of a loop that makes other values.
//
// RUN: %{npy} make %t.flag.npy i1 '' "1"
// RUN: %{npy} make %t.number.npy i64 '' "3"
// RUN: dist-run %s --input flag=%t.flag.npy --input number=%t.number.npy --output %t
// RUN: %{npy} check %t/v.npy "i*512 + j + 3 * 2 * (i*512+j)"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i1> {dist.input = "flag"}, %num: tensor<i64> {dist.input = "number"})
    -> (tensor<8x512xf32> {dist.output = "v"}) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
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
  %r = scf.if %cond -> tensor<8x512xf32> {
    %x = linalg.add ins(%a, %a : tensor<8x512xf32>, tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) -> tensor<8x512xf32>
    scf.yield %x : tensor<8x512xf32>
  } else {
    %x = linalg.exp ins(%a : tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) -> tensor<8x512xf32>
    scf.yield %x : tensor<8x512xf32>
  }
  %we = tensor.empty() : tensor<8x8xf32>
  %w = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%we : tensor<8x8xf32>) {
  ^bb0(%q: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %same = arith.cmpi eq, %i, %j : index
    %v = arith.select %same, %one, %zero : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a) -> (tensor<8x512xf32>) {
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x512xf32>) -> tensor<8x512xf32>
    %s2 = linalg.matmul ins(%w, %r : tensor<8x8xf32>, tensor<8x512xf32>) outs(%f : tensor<8x512xf32>) -> tensor<8x512xf32>
    %s3 = linalg.matmul ins(%w, %s2 : tensor<8x8xf32>, tensor<8x512xf32>) outs(%f : tensor<8x512xf32>) -> tensor<8x512xf32>
    %next = linalg.add ins(%p, %s3 : tensor<8x512xf32>, tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) -> tensor<8x512xf32>
    scf.yield %next : tensor<8x512xf32>
  }
  return %z : tensor<8x512xf32>
}
