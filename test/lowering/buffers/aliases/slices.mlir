// Slices of one tensor that overlap, read and inserted one after the other.
//
// RUN: %{npy} make %t.number.npy i64 '' "1"
// RUN: dist-run %s --input number=%t.number.npy --output %t
// RUN: %{npy} check %t/v.npy "(lambda a: [[a.__setitem__(slice(2, 6), [r[:] for r in a[0:4]]), a.__setitem__(slice(3, 7), [[x * x for x in r] for r in a[1:5]]), [a[m].__setitem__(slice(0, 511), r) for m, r in enumerate([r[1:] for r in a[1:8]])], a][-1]][0])([[m * 512 + n for n in range(512)] for m in range(8)])[i][j]"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%flag: tensor<i64> {dist.input = "number"})
    -> (tensor<8x512xf32> {dist.output = "v"}) {
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
  %s = tensor.extract_slice %a[0, 0] [4, 512] [1, 1] : tensor<8x512xf32> to tensor<4x512xf32>
  %r = tensor.insert_slice %s into %a[2, 0] [4, 512] [1, 1] : tensor<4x512xf32> into tensor<8x512xf32>
  %s2 = tensor.extract_slice %r[%n, 0] [4, 512] [1, 1] : tensor<8x512xf32> to tensor<4x512xf32>
  %s3 = linalg.square ins(%s2 : tensor<4x512xf32>) outs(%s2 : tensor<4x512xf32>) -> tensor<4x512xf32>
  %r2 = tensor.insert_slice %s3 into %r[3, 0] [4, 512] [1, 1] : tensor<4x512xf32> into tensor<8x512xf32>
  %s4 = tensor.extract_slice %r2[%n, 1] [7, 511] [1, 1] : tensor<8x512xf32> to tensor<7x511xf32>
  %r3 = tensor.insert_slice %s4 into %r2[0, 0] [7, 511] [1, 1] : tensor<7x511xf32> into tensor<8x512xf32>
  return %r3 : tensor<8x512xf32>
}
