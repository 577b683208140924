// Below min-scores, attention is formed where tiles multiply less than parts do: two blocks of 128 queries and keys, of
// whose four a causal mask leaves three, forward and, where the scores are computed again, with the adjoint.
//
// RUN: dist-opt %s --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65536' | FileCheck %s --check-prefix=FORWARD
// RUN: dist-opt %s '--dist-differentiate=cotangent=do wrt=q,k,v' --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65536' | FileCheck %s --check-prefix=BOTH
// RUN: dist-opt %s --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65537' | FileCheck %s --check-prefix=NONE
// RUN: sed 's/cmpi sle, %%j, %%i/cmpi sle, %%j, %%all/' %s | dist-opt --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65536' | FileCheck %s --check-prefix=NONE
//
// Of 15 of 16 blocks the scores are not worth it to be computed again: queries of 512 see 256 keys beyond their own.
// RUN: sed 's/256x256x/512x512x/g; s/<256x/<512x/g; s/cmpi sle, %%j, %%i/cmpi sle, %%j, %%far/' %s | dist-opt --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65536' | FileCheck %s --check-prefix=FORWARD
// RUN: sed 's/256x256x/512x512x/g; s/<256x/<512x/g; s/cmpi sle, %%j, %%i/cmpi sle, %%j, %%far/' %s | dist-opt '--dist-differentiate=cotangent=do wrt=q,k,v' --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65536' | FileCheck %s --check-prefix=NONE

// FORWARD: rt.attentions = 1
// FORWARD: dist.attention
// FORWARD-NOT: dist.attention_adjoint
// BOTH: rt.attentions = 1
// BOTH: dist.attention(
// BOTH: dist.attention_adjoint
// NONE: rt.attentions = 0
// NONE-NOT: dist.attention
module {
  func.func @main(%q: tensor<256x8xf32> {dist.input = "q"}, %k: tensor<256x8xf32> {dist.input = "k"}, %v: tensor<256x8xf32> {dist.input = "v"}) -> (tensor<256x8xf32> {dist.output = "o"}) {
    %zero = arith.constant 0.0 : f32
    %inf = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<256x256xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
    %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
        ins(%q, %k : tensor<256x8xf32>, tensor<256x8xf32>) outs(%z : tensor<256x256xf32>) -> tensor<256x256xf32>
    %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
    ^bb0(%a: f32, %out: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %all = arith.constant 10000 : index
      %more = arith.constant 256 : index
      %far = arith.addi %i, %more : index
      %seen = arith.cmpi sle, %j, %i : index
      %1 = arith.select %seen, %a, %inf : f32
      linalg.yield %1 : f32
    } -> tensor<256x256xf32>
    %p = linalg.softmax dimension(1) ins(%x : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
    %eo = tensor.empty() : tensor<256x8xf32>
    %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<256x8xf32>) -> tensor<256x8xf32>
    %o = linalg.contract indexing_maps = [affine_map<(i, j, e) -> (i, j)>, affine_map<(i, j, e) -> (j, e)>, affine_map<(i, j, e) -> (i, e)>]
        ins(%p, %v : tensor<256x256xf32>, tensor<256x8xf32>) outs(%zo : tensor<256x8xf32>) -> tensor<256x8xf32>
    return %o : tensor<256x8xf32>
  }
}
