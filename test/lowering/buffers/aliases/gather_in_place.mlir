// An op looks up elements of what it could be computed in.
//
// RUN: dist-run %s --output %t
// RUN: %{npy} check %t/v.npy "i*512 + j - ((7-i)*512 + j)"

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main()
    -> (tensor<8x512xf32> {dist.output = "v"}) {
  %c512 = arith.constant 512 : index
  %e = tensor.empty() : tensor<8x512xf32>
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
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x512xf32>) outs(%e : tensor<8x512xf32>) {
    ^bb0(%p: f32, %q: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c7 = arith.constant 7 : index
      %k = arith.subi %c7, %i : index
      %g = tensor.extract %a[%k, %j] : tensor<8x512xf32>
      %s = arith.subf %p, %g : f32
      linalg.yield %s : f32
    } -> tensor<8x512xf32>
  return %v : tensor<8x512xf32>
}
