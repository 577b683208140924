// What a switch yields was to be computed in the result's place by two of its cases, which do not always lie there: it is
// computed elsewhere. (Once this was refused.)
//
// RUN: %{npy} make %t.a.npy f32 4,4 "i*4 + j"
// RUN: %{npy} make %t.b.npy f32 4,4 "j + 1"
// RUN: %{npy} make %t.0.npy i64 '' "0"
// RUN: %{npy} make %t.1.npy i64 '' "1"
// RUN: %{npy} make %t.2.npy i64 '' "2"
// RUN: dist-run %s --input a=%t.a.npy --input b=%t.b.npy --input number=%t.0.npy --output %t
// RUN: %{npy} check %t/y.npy "-(i*4 + j) - (j + 1)"
// RUN: dist-run %s --input a=%t.a.npy --input b=%t.b.npy --input number=%t.1.npy --output %t
// RUN: %{npy} check %t/y.npy "2*(i*4 + j) - (j + 1)"
// RUN: dist-run %s --input a=%t.a.npy --input b=%t.b.npy --input number=%t.2.npy --output %t
// RUN: %{npy} check %t/y.npy "0*i"

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%a: tensor<4x4xf32> {dist.input = "a"}, %b: tensor<4x4xf32> {dist.input = "b"}, %p: tensor<i64> {dist.input = "number"})
    -> (tensor<4x4xf32> {dist.output = "y"}) {
  %number = tensor.extract %p[] : tensor<i64>
  %c = arith.index_cast %number : i64 to index
  %e = tensor.empty() : tensor<4x4xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  %s = scf.index_switch %c -> tensor<4x4xf32>
  case 0 {
    scf.yield %x : tensor<4x4xf32>
  }
  case 1 {
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %n = arith.addf %in, %in : f32
      linalg.yield %n : f32
    } -> tensor<4x4xf32>
    scf.yield %t : tensor<4x4xf32>
  }
  case 2 {
    scf.yield %b : tensor<4x4xf32>
  }
  default {
    scf.yield %x : tensor<4x4xf32>
  }
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4x4xf32>) outs(%s : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.subf %out, %in : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
