// What is learned beside queries, keys and values gets its cotangent from tiles, too: totals of the attention's adjoint. The
// program on one rank that --verify compares with is lowered plainly: scores, softmax, its adjoint, products and sums, one op
// after the other.
//
// What is formed, and how much memory it takes, is looked at where there are more than 4 Mi scores, from which on tiles are used,
// on each device. Numbers are of fewer heads, queries and keys (%{less}): 64 Ki scores, from which on attention that was formed
// stays. A tile has 128 queries and 512 keys: two whole ones and a rest of both under the bias, and of keys where weights are dropped.
//
// RUN: split-file %s %t
// DEFINE: %{program} = bias
// DEFINE: %{wrt} = q,k,v,bias
// DEFINE: %{schedule} =
// DEFINE: %{recompute} =
// DEFINE: %{less} =
// DEFINE: %{formed} = --dist-spmd %{recompute} --dist-decompose-ops --canonicalize --cse --dist-form-attention
// DEFINE: %{form} = dist-opt %t/%{program}.mlir %{schedule} '--dist-differentiate=cotangent=do wrt=%{wrt}' -o %t/grad.mlir && \
// DEFINE:     dist-opt %t/grad.mlir %{formed}=min-scores=4194304
// DEFINE: %{run} = sed '%{less}' %t/grad.mlir > %t/less.mlir && \
// DEFINE:     dist-opt %t/less.mlir %{formed} --dist-decompose-ops=min-scores=65536 -o %t/formed.mlir && \
// DEFINE:     dist-run %t/formed.mlir --reference %t/less.mlir --random --verify %{opt1}
// DEFINE: %{memory} = dist-compile %t/grad.mlir -o %t/x.dist --statistics %{opt}
// FORMED: dist.attention_adjoint(
// EQUAL: equal to the program on one rank
// No scores (34 MB, with a bias beside its gradient).
// SMALL: alive at once {{[0-9][0-9]?[0-9]?[0-9]?[0-9]?[0-9]?[0-9]?}} bytes
//
// A bias of each head, query and key, summed over the batch.
// REDEFINE: %{less} = s/1030/270/g; s/x4x/x2x/g; s/<4x/<2x/g
// RUN: %{form} | FileCheck %s --check-prefix=BIAS
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// RUN: %{memory} | FileCheck %s --check-prefix=SMALL
// BIAS: rt.attentions = 1
// BIAS-NOT: tensor<2x4x1030x1040xf32>
// BIAS: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<4x1030x1040xf32>)
// BIAS: dist.attention_yield %{{.*}} terms(%{{.*}} : f32) : f32
// BIAS-NOT: tensor<2x4x1030x1040xf32>
//
// Devices that shard batches or heads.
// REDEFINE: %{schedule} = --dist-apply-schedule=file=%t/batches.mlir
// RUN: %{form} | FileCheck %s --check-prefix=BATCHES
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// BATCHES: rt.attentions = 1
// BATCHES: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<4x1030x1040xf32>)
// REDEFINE: %{schedule} = --dist-apply-schedule=file=%t/heads.mlir
// RUN: %{form} | FileCheck %s --check-prefix=HEADS
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// HEADS: rt.attentions = 1
// HEADS: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<2x1030x1040xf32>)
// REDEFINE: %{schedule} =
//
// The same bias in two layers, of one batch: nothing is summed within a layer, and causal masks leave nothing of some tiles.
// REDEFINE: %{program} = shared
// REDEFINE: %{less} = s/6x840/2x530/g; s/x840/x530/g
// RUN: %{form} | FileCheck %s --check-prefix=SHARED
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// SHARED: rt.attentions = 2
// SHARED-COUNT-2: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<6x840x840xf32>)
//
// Slopes times distances, once for two layers: the sum over layers is taken before that over queries and keys, so each hands out
// what comes back for its own scores, and reads none of the other's.
// REDEFINE: %{program} = once
// REDEFINE: %{wrt} = q,k,v,slope
// REDEFINE: %{less} = s/6x840/2x530/g; s/x840/x530/g; s/<6x/<2x/g
// RUN: %{form} | FileCheck %s --check-prefix=ONCE
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// ONCE: rt.attentions = 2
// ONCE-COUNT-2: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<6x840x840xf32>)
//
// Slopes and soft caps: sums over queries and keys. Here and in the next ones weights are computed again for backward.
// REDEFINE: %{program} = slopes
// REDEFINE: %{wrt} = q,k,v,slope,cap
// REDEFINE: %{recompute} = --dist-recompute
// REDEFINE: %{less} = s/<60x/<3x/g; s/x930x/x530x/g
// RUN: %{form} | FileCheck %s --check-prefix=SLOPES
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// RUN: %{memory} | FileCheck %s --check-prefix=SMALL
// SLOPES: rt.attentions = 1
// SLOPES: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<60xf32>, tensor<60xf32>)
//
// Devices that shard queries, of which the last device has fewer: padding adds nothing.
// REDEFINE: %{schedule} = --dist-apply-schedule=file=%t/queries.mlir
// RUN: %{form} | FileCheck %s --check-prefix=SLOPES
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// REDEFINE: %{schedule} =
//
// A factor of each query, one of all, and weights that are dropped.
// REDEFINE: %{program} = dropped
// REDEFINE: %{wrt} = q,k,v,factor,all
// REDEFINE: %{less} = s/1450/530/g; s/1500/1040/g
// RUN: %{form} | FileCheck %s --check-prefix=DROPPED
// RUN: %{run} | FileCheck %s --check-prefix=EQUAL
// RUN: FileCheck %s --check-prefix=FORMED < %t/formed.mlir
// RUN: %{memory} | FileCheck %s --check-prefix=SMALL
// DROPPED: rt.attentions = 1
// DROPPED: dist.attention_adjoint({{.*}} outs({{.*}}, tensor<{{1450xf32>, tensor<f32|f32>, tensor<1450xf32}}>)
//
// Weights that are a result, too: the parts stay.
// RUN: dist-opt %t/weights.mlir '--dist-differentiate=of=o cotangent=do wrt=q,k,v,bias' --dist-spmd --dist-decompose-ops --canonicalize --cse --dist-form-attention | FileCheck %s --check-prefix=PARTS
// PARTS: rt.attentions = 0

//--- bias.mlir
#q = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
#k = affine_map<(b, h, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, i, j, d, e) -> (b, j, h, e)>
#bias = affine_map<(b, h, i, j, d, e) -> (h, i, j)>
#o = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>
func.func @main(%q: tensor<2x1030x4x16xf32> {dist.input = "q"}, %k: tensor<2x1040x4x16xf32> {dist.input = "k"},
                %v: tensor<2x1040x4x8xf32> {dist.input = "v"}, %bias: tensor<4x1030x1040xf32> {dist.input = "bias"})
    -> (tensor<2x1030x4x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<2x1030x4x8xf32>
  %scale = arith.constant 0.25 : f32
  %0 = dist.attention(%q, %k, %v : tensor<2x1030x4x16xf32>, tensor<2x1040x4x16xf32>, tensor<2x1040x4x8xf32>)
      with (%bias : tensor<4x1030x1040xf32>) outs(%o : tensor<2x1030x4x8xf32>) maps [#q, #k, #v, #bias, #o] {
  ^bb0(%s: f32, %t: f32, %b: index, %h: index, %i: index, %j: index):
    %scaled = arith.mulf %s, %scale : f32
    %x = arith.addf %scaled, %t : f32
    dist.attention_yield %x : f32
  } -> tensor<2x1030x4x8xf32>
  return %0 : tensor<2x1030x4x8xf32>
}

//--- batches.mlir
dist.mesh @m ["d" = 2]
dist.schedule @s on @m {
  dist.shard input "q" [{"d"}, {}, {}, {}]
  dist.shard input "k" [{"d"}, {}, {}, {}]
  dist.shard input "v" [{"d"}, {}, {}, {}]
}

//--- heads.mlir
dist.mesh @m ["d" = 2]
dist.schedule @s on @m {
  dist.shard input "q" [{}, {}, {"d"}, {}]
  dist.shard input "k" [{}, {}, {"d"}, {}]
  dist.shard input "v" [{}, {}, {"d"}, {}]
  dist.shard input "bias" [{"d"}, {}, {}]
}

//--- shared.mlir
#q = affine_map<(b, h, i, j, d, e) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d, e) -> (b, h, j, d)>
#v = affine_map<(b, h, i, j, d, e) -> (b, h, j, e)>
#bias = affine_map<(b, h, i, j, d, e) -> (h, i, j)>
#o = affine_map<(b, h, i, j, d, e) -> (b, h, i, e)>
func.func @main(%q: tensor<1x6x840x16xf32> {dist.input = "q"}, %k: tensor<1x6x840x16xf32> {dist.input = "k"},
                %v: tensor<1x6x840x16xf32> {dist.input = "v"}, %bias: tensor<6x840x840xf32> {dist.input = "bias"})
    -> (tensor<1x6x840x16xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<1x6x840x16xf32>
  %inf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.25 : f32
  %0 = dist.attention(%q, %k, %v : tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>)
      with (%bias : tensor<6x840x840xf32>) outs(%o : tensor<1x6x840x16xf32>) maps [#q, #k, #v, #bias, #o] {
  ^bb0(%s: f32, %t: f32, %b: index, %h: index, %i: index, %j: index):
    %scaled = arith.mulf %s, %scale : f32
    %sum = arith.addf %scaled, %t : f32
    %seen = arith.cmpi sle, %j, %i : index
    %x = arith.select %seen, %sum, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<1x6x840x16xf32>
  %1 = dist.attention(%k, %q, %0 : tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>)
      with (%bias : tensor<6x840x840xf32>) outs(%o : tensor<1x6x840x16xf32>) maps [#q, #k, #v, #bias, #o] {
  ^bb0(%s: f32, %t: f32, %b: index, %h: index, %i: index, %j: index):
    %scaled = arith.mulf %s, %scale : f32
    %sum = arith.addf %scaled, %t : f32
    %seen = arith.cmpi sle, %j, %i : index
    %x = arith.select %seen, %sum, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<1x6x840x16xf32>
  return %1 : tensor<1x6x840x16xf32>
}

//--- once.mlir
#q = affine_map<(b, h, i, j, d, e) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d, e) -> (b, h, j, d)>
#v = affine_map<(b, h, i, j, d, e) -> (b, h, j, e)>
#bias = affine_map<(b, h, i, j, d, e) -> (h, i, j)>
#o = affine_map<(b, h, i, j, d, e) -> (b, h, i, e)>
func.func @main(%q: tensor<1x6x840x16xf32> {dist.input = "q"}, %k: tensor<1x6x840x16xf32> {dist.input = "k"},
                %v: tensor<1x6x840x16xf32> {dist.input = "v"}, %slope: tensor<6xf32> {dist.input = "slope"})
    -> (tensor<1x6x840x16xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<1x6x840x16xf32>
  %e = tensor.empty() : tensor<6x840x840xf32>
  %hundredth = arith.constant 0.01 : f32
  %bias = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%slope : tensor<6xf32>) outs(%e : tensor<6x840x840xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %j, %i : index
    %integer = arith.index_cast %distance : index to i32
    %float = arith.sitofp %integer : i32 to f32
    %less = arith.mulf %float, %hundredth : f32
    %add = arith.mulf %less, %a : f32
    linalg.yield %add : f32
  } -> tensor<6x840x840xf32>
  %0 = dist.attention(%q, %k, %v : tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>)
      with (%bias : tensor<6x840x840xf32>) outs(%o : tensor<1x6x840x16xf32>) maps [#q, #k, #v, #bias, #o] {
  ^bb0(%s: f32, %t: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.addf %s, %t : f32
    dist.attention_yield %x : f32
  } -> tensor<1x6x840x16xf32>
  %1 = dist.attention(%k, %q, %0 : tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>, tensor<1x6x840x16xf32>)
      with (%bias : tensor<6x840x840xf32>) outs(%o : tensor<1x6x840x16xf32>) maps [#q, #k, #v, #bias, #o] {
  ^bb0(%s: f32, %t: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.addf %s, %t : f32
    dist.attention_yield %x : f32
  } -> tensor<1x6x840x16xf32>
  return %1 : tensor<1x6x840x16xf32>
}

//--- weights.mlir
#all = affine_map<(h, i, j) -> (h, i, j)>
func.func @main(%q: tensor<2x6x4xf32> {dist.input = "q"}, %k: tensor<2x8x4xf32> {dist.input = "k"}, %v: tensor<2x8x4xf32> {dist.input = "v"},
                %bias: tensor<6x8xf32> {dist.input = "bias"})
    -> (tensor<2x6x4xf32> {dist.output = "o"}, tensor<2x6x8xf32> {dist.output = "weights"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>,
                                        affine_map<(h, i, j, d) -> (h, i, j)>]
      ins(%q, %k : tensor<2x6x4xf32>, tensor<2x8x4xf32>) outs(%z : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %x = linalg.generic {indexing_maps = [#all, affine_map<(h, i, j) -> (i, j)>, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<2x6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<2x6x8xf32>) {
  ^bb0(%a: f32, %t: f32, %out: f32):
    %1 = arith.addf %a, %t : f32
    linalg.yield %1 : f32
  } -> tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x8xf32>) outs(%e : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %eo = tensor.empty() : tensor<2x6x4xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(h, i, e, j) -> (h, i, j)>, affine_map<(h, i, e, j) -> (h, j, e)>,
                                        affine_map<(h, i, e, j) -> (h, i, e)>]
      ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%zo : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o, %p : tensor<2x6x4xf32>, tensor<2x6x8xf32>
}

//--- slopes.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#slope = affine_map<(h, i, j, d, e) -> (h)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
func.func @main(%q: tensor<60x151x16xf32> {dist.input = "q"}, %k: tensor<60x930x16xf32> {dist.input = "k"}, %v: tensor<60x930x8xf32> {dist.input = "v"},
                %slope: tensor<60xf32> {dist.input = "slope"}, %cap: tensor<60xf32> {dist.input = "cap"})
    -> (tensor<60x151x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<60x151x8xf32>
  %five = arith.constant 5.0 : f32
  %hundredth = arith.constant 0.01 : f32
  %0 = dist.attention(%q, %k, %v : tensor<60x151x16xf32>, tensor<60x930x16xf32>, tensor<60x930x8xf32>) with (%slope, %cap : tensor<60xf32>, tensor<60xf32>)
      outs(%o : tensor<60x151x8xf32>) maps [#q, #k, #v, #slope, #slope, #o] {
  ^bb0(%s: f32, %t: f32, %c: f32, %h: index, %i: index, %j: index):
    %cap1 = arith.addf %c, %five : f32
    %small = arith.divf %s, %cap1 : f32
    %bent = math.tanh %small : f32
    %capped = arith.mulf %bent, %cap1 : f32
    %distance = arith.subi %j, %i : index
    %integer = arith.index_cast %distance : index to i32
    %float = arith.sitofp %integer : i32 to f32
    %less = arith.mulf %float, %hundredth : f32
    %bias = arith.mulf %less, %t : f32
    %x = arith.addf %capped, %bias : f32
    dist.attention_yield %x : f32
  } -> tensor<60x151x8xf32>
  return %0 : tensor<60x151x8xf32>
}

//--- queries.mlir
dist.mesh @m ["d" = 2]
dist.schedule @s on @m {
  dist.shard input "q" [{}, {"d"}, {}]
}

//--- dropped.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#factor = affine_map<(h, i, j, d, e) -> (i)>
#all = affine_map<(h, i, j, d, e) -> (0)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
func.func @main(%q: tensor<2x1450x8xf32> {dist.input = "q"}, %k: tensor<2x1500x8xf32> {dist.input = "k"}, %v: tensor<2x1500x8xf32> {dist.input = "v"},
                %factor: tensor<1450xf32> {dist.input = "factor"}, %all: tensor<1xf32> {dist.input = "all"})
    -> (tensor<2x1450x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<2x1450x8xf32>
  %inf = arith.constant 0xFF800000 : f32
  %odd = arith.constant 2654435761 : i64
  %word = arith.constant 65535 : i64
  %ratio = arith.constant 13107 : i64
  %sixteen = arith.constant 16 : i64
  %rows = arith.constant 1450 : index
  %columns = arith.constant 1500 : index
  %0 = dist.attention(%q, %k, %v : tensor<2x1450x8xf32>, tensor<2x1500x8xf32>, tensor<2x1500x8xf32>) with (%factor, %all : tensor<1450xf32>, tensor<1xf32>)
      outs(%o : tensor<2x1450x8xf32>) maps [#q, #k, #v, #factor, #all, #o] {
  ^bb0(%s: f32, %f: f32, %a: f32, %h: index, %i: index, %j: index):
    %more = arith.mulf %s, %a : f32
    %scaled = arith.mulf %more, %f : f32
    %seen = arith.cmpi sle, %j, %i : index
    %x = arith.select %seen, %scaled, %inf : f32
    %1 = arith.muli %h, %rows : index
    %2 = arith.addi %1, %i : index
    %3 = arith.muli %2, %columns : index
    %4 = arith.addi %3, %j : index
    %5 = arith.index_cast %4 : index to i64
    %6 = arith.muli %5, %odd : i64
    %7 = arith.shrui %6, %sixteen : i64
    %8 = arith.andi %7, %word : i64
    %kept = arith.cmpi sge, %8, %ratio : i64
    dist.attention_yield %x, %kept : f32, i1
  } -> tensor<2x1450x8xf32>
  return %0 : tensor<2x1450x8xf32>
}
