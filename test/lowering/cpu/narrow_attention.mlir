// Attention of bf16 and f16 with scores and softmax in f32, as exports write it, and its adjoint: in tiles, whose products
// are of the narrow numbers where the library multiplies them (of f16 it does not), and equal to the parts.
//
// RUN: dist-opt %s --dist-form-attention=min-scores=1 | FileCheck %s --check-prefix=FORMED
// RUN: dist-opt %s '--dist-differentiate=cotangent=do wrt=q,k,v' -o %t.grad.mlir
// RUN: dist-opt %t.grad.mlir --dist-spmd --dist-decompose-ops --canonicalize --cse --dist-form-attention=min-scores=1 -o %t.formed.mlir
// RUN: FileCheck %s --check-prefixes=FORMED,ADJOINT --input-file=%t.formed.mlir
// RUN: dist-opt %t.formed.mlir --dist-lower-cpu --mlir-print-ir-after=dist-select-contractions -o /dev/null 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: dist-run %t.formed.mlir --random --verify %{opt1} | FileCheck %s --check-prefixes=EQUAL,GRADIENTS
// RUN: sed 's/bf16/f16/g; s/-3.389530e+38/0xFC00/' %s > %t.f16.mlir
// RUN: dist-opt %t.f16.mlir '--dist-differentiate=cotangent=do wrt=q,k,v' -o %t.f16.grad.mlir
// RUN: dist-opt %t.f16.grad.mlir --dist-spmd --dist-decompose-ops --canonicalize --cse --dist-form-attention=min-scores=1 -o %t.f16.formed.mlir
// RUN: FileCheck %s --check-prefix=F16 --input-file=%t.f16.formed.mlir
// RUN: dist-run %t.f16.formed.mlir --random --verify %{opt1} | FileCheck %s --check-prefixes=EQUAL,GRADIENTS
//
// FORMED: dist.attention(
// FORMED-SAME: tensor<4x300x16xbf16>, tensor<4x300x16xbf16>, tensor<4x300x16xbf16>
// FORMED: arith.truncf %{{.*}} : f32 to bf16
// FORMED: dist.attention_yield %{{.*}} : f32
// ADJOINT: dist.attention_adjoint(
// ADJOINT-SAME: tensor<4x300x16xbf16>, tensor<4x300x16xbf16>, tensor<4x300x16xbf16>
// F16: dist.attention(
// F16-SAME: xf16>
// F16: dist.attention_adjoint(
// CALLS-COUNT-7: rt.contract ins({{[^)]*}}xbf16{{[^)]*}}xbf16{{[^)]*}}) outs({{[^)]*}}xf32
// EQUAL: {{^}}o: equal to the program on one rank (
// GRADIENTS: q.grad: equal to the program on one rank (
// GRADIENTS: k.grad: equal to the program on one rank (
// GRADIENTS: v.grad: equal to the program on one rank (

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#w = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#all = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>

func.func @main(%q: tensor<4x300x16xbf16> {dist.input = "q"}, %k: tensor<4x300x16xbf16> {dist.input = "k"},
    %v: tensor<4x300x16xbf16> {dist.input = "v"}) -> (tensor<4x300x16xbf16> {dist.output = "o"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %scale = arith.constant 2.5e-01 : bf16
  %masked = arith.constant -3.389530e+38 : bf16
  %none = arith.constant 0.0 : bf16
  %es = tensor.empty() : tensor<4x300x300xf32>
  %ez = linalg.fill ins(%zero : f32) outs(%es : tensor<4x300x300xf32>) -> tensor<4x300x300xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<4x300x16xbf16>, tensor<4x300x16xbf16>)
      outs(%ez : tensor<4x300x300xf32>) -> tensor<4x300x300xf32>
  %en = tensor.empty() : tensor<4x300x300xbf16>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<4x300x300xf32>) outs(%en : tensor<4x300x300xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %n = arith.truncf %a : f32 to bf16
    %m = arith.mulf %n, %scale : bf16
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %later = arith.cmpi ugt, %j, %i : index
    %mask = arith.select %later, %masked, %none : bf16
    %c = arith.addf %m, %mask : bf16
    linalg.yield %c : bf16
  } -> tensor<4x300x300xbf16>
  %wide = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x300x300xbf16>) outs(%es : tensor<4x300x300xf32>) {
  ^bb0(%a: bf16, %b: f32):
    %n = arith.extf %a : bf16 to f32
    linalg.yield %n : f32
  } -> tensor<4x300x300xf32>
  %er = tensor.empty() : tensor<4x300xf32>
  %rl = linalg.fill ins(%lowest : f32) outs(%er : tensor<4x300xf32>) -> tensor<4x300xf32>
  %largest = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%wide : tensor<4x300x300xf32>) outs(%rl : tensor<4x300xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.maximumf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<4x300xf32>
  %powers = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide, %largest : tensor<4x300x300xf32>, tensor<4x300xf32>) outs(%es : tensor<4x300x300xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    linalg.yield %p : f32
  } -> tensor<4x300x300xf32>
  %rz = linalg.fill ins(%zero : f32) outs(%er : tensor<4x300xf32>) -> tensor<4x300xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%powers : tensor<4x300x300xf32>) outs(%rz : tensor<4x300xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<4x300xf32>
  %weights = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%powers, %sums : tensor<4x300x300xf32>, tensor<4x300xf32>) outs(%es : tensor<4x300x300xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.divf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<4x300x300xf32>
  %rounded = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%weights : tensor<4x300x300xf32>) outs(%en : tensor<4x300x300xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %n = arith.truncf %a : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<4x300x300xbf16>
  %eo = tensor.empty() : tensor<4x300x16xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x300x16xf32>) -> tensor<4x300x16xf32>
  %means = linalg.contract indexing_maps = [#w, #v, #o] ins(%rounded, %v : tensor<4x300x300xbf16>, tensor<4x300x16xbf16>)
      outs(%oz : tensor<4x300x16xf32>) -> tensor<4x300x16xf32>
  %eb = tensor.empty() : tensor<4x300x16xbf16>
  %o = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%means : tensor<4x300x16xf32>) outs(%eb : tensor<4x300x16xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %n = arith.truncf %a : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<4x300x16xbf16>
  return %o : tensor<4x300x16xbf16>
}
