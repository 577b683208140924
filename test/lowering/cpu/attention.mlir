// Attention in tiles is equal to what it means (the program on one rank that --verify compares with is lowered plainly:
// scores, softmax and products, one op after the other). Sizes are no multiples of tiles, of which there are two of queries and
// of keys at least, and of 512 keys three in least.mlir. Masks leave nothing of some tiles, and in some programs nothing of some
// rows, for which tiles that are skipped elsewhere must be computed. Where masks leave nothing of some tiles, they are used from
// 64 Ki scores on. The others (grouped, capped) have more than 4 Mi scores.
//
// RUN: split-file %s %t
// DEFINE: %{form} = dist-opt --dist-decompose-ops --canonicalize --cse '--dist-form-attention=min-scores=4194304 min-scores-of-fewer=65536'
// DEFINE: %{run} = dist-run --random --verify %{opt1}
// RUN: %{form} %t/causal.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/causal.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: %{form} %t/window.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/window.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: %{form} %t/grouped.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/grouped.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: %{form} %t/nothing.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/nothing.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: %{form} %t/added.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/added.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: %{form} %t/least.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/least.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: %{form} %t/capped.mlir | FileCheck %s --check-prefix=FORMED
// RUN: %{run} %t/capped.mlir | FileCheck %s --check-prefix=EQUAL
// FORMED: rt.attentions = 1
// EQUAL: equal to the program on one rank
//
// Which tiles are needed stands in the program. Of each tile of queries: the first entry of the table of tiles, and the one
// after its last. Of those: the first key, how many tiles follow each other, and of which size. The first two are all 600
// keys. Queries are taken 64 at a time where a causal mask leaves keys from the first one on, and 32 at a time with a window
// of 74 keys, for which 128 are needed; those of the last queries begin earlier, since there are just 700.
// RUN: dist-opt %t/causal.mlir --dist-decompose-ops --canonicalize --cse --dist-form-attention --dist-bufferize \
// RUN:   --dist-expand-attention | FileCheck %s --check-prefix=CAUSAL
// CAUSAL-DAG: @attention_rows : memref<5x2xi64> = dense<{{\[\[}}2, 3], [3, 4], [4, 5], [5, 6], [6, 7]]>
// CAUSAL-DAG: @attention_tiles : memref<7x3xi64> = dense<{{\[\[}}0, 1, 0], [512, 1, 1], [0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5], [0, 1, 6]]>
// RUN: dist-opt %t/window.mlir --dist-decompose-ops --canonicalize --cse --dist-form-attention --dist-bufferize \
// RUN:   --dist-expand-attention | FileCheck %s --check-prefix=WINDOW
// WINDOW: @attention_tiles : memref<24x3xi64> = dense<{{\[\[}}0, 1, 0], [512, 1, 1], [0, 1, 2], [0, 1, 3], [0, 1, 4], [16, 1, 4], [48, 1, 4], {{.*}}, [560, 1, 4], [572, 1, 4]]>

//--- causal.mlir
#q = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
#k = affine_map<(b, h, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, i, j, d, e) -> (b, j, h, e)>
#o = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>
#l = affine_map<(b, h, i, j, d, e) -> (b, h, i)>
func.func @main(%q: tensor<2x300x2x16xf32> {dist.input = "q"}, %k: tensor<2x600x2x16xf32> {dist.input = "k"},
                %v: tensor<2x600x2x8xf32> {dist.input = "v"})
    -> (tensor<2x300x2x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<2x300x2x8xf32>
  %inf = arith.constant 0xFF800000 : f32
  %0 = dist.attention(%q, %k, %v : tensor<2x300x2x16xf32>, tensor<2x600x2x16xf32>, tensor<2x600x2x8xf32>)
      outs(%o : tensor<2x300x2x8xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    %x = arith.select %seen, %s, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<2x300x2x8xf32>
  return %0 : tensor<2x300x2x8xf32>
}

// The window's keys lie up to 70 before the query and up to 3 after it; the mask is a large number that is added.

//--- window.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, d, j)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (i, h, e)>
#l = affine_map<(h, i, j, d, e) -> (i, h)>
func.func @main(%q: tensor<2x700x12xf32> {dist.input = "q"}, %k: tensor<2x12x700xf32> {dist.input = "k"},
                %v: tensor<2x700x20xf32> {dist.input = "v"})
    -> (tensor<700x2x20xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<700x2x20xf32>
  %zero = arith.constant 0.0 : f32
  %large = arith.constant -3.40282347E+38 : f32
  %left = arith.constant 70 : index
  %right = arith.constant 3 : index
  %0 = dist.attention(%q, %k, %v : tensor<2x700x12xf32>, tensor<2x12x700xf32>, tensor<2x700x20xf32>)
      outs(%o : tensor<700x2x20xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    %from = arith.addi %j, %left : index
    %to = arith.addi %i, %right : index
    %a = arith.cmpi sge, %from, %i : index
    %c = arith.cmpi sle, %j, %to : index
    %seen = arith.andi %a, %c : i1
    %mask = arith.select %seen, %zero, %large : f32
    %x = arith.addf %s, %mask : f32
    dist.attention_yield %x : f32
  } -> tensor<700x2x20xf32>
  return %0 : tensor<700x2x20xf32>
}

// Groups of queries share keys; a mask of booleans that is an input, and what keys add.

//--- grouped.mlir
#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#m = affine_map<(b, h, g, i, j, d, e) -> (i, j)>
#a = affine_map<(b, h, g, i, j, d, e) -> (b, j)>
#o = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#l = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
func.func @main(%q: tensor<1x130x40x3x8xf32> {dist.input = "q"}, %k: tensor<1x300x40x8xf32> {dist.input = "k"},
                %v: tensor<1x300x40x8xf32> {dist.input = "v"}, %m: tensor<130x300xi1> {dist.input = "m"}, %a: tensor<1x300xf32> {dist.input = "a"})
    -> (tensor<1x130x40x3x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<1x130x40x3x8xf32>
  %inf = arith.constant 0xFF800000 : f32
  %0 = dist.attention(%q, %k, %v : tensor<1x130x40x3x8xf32>, tensor<1x300x40x8xf32>, tensor<1x300x40x8xf32>)
      with (%m, %a : tensor<130x300xi1>, tensor<1x300xf32>) outs(%o : tensor<1x130x40x3x8xf32>)
      maps [#q, #k, #v, #m, #a, #o] {
  ^bb0(%s: f32, %seen: i1, %add: f32, %b: index, %h: index, %g: index, %i: index, %j: index):
    %sum = arith.addf %s, %add : f32
    %x = arith.select %seen, %sum, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<1x130x40x3x8xf32>
  return %0 : tensor<1x130x40x3x8xf32>
}

// Queries before the 140th see no key. With a mask of -inf their weights are NaN and count as 0; with the least number
// they are the mean of all values, also of those that other queries skip.

//--- nothing.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
func.func @main(%q: tensor<2x700x16xf32> {dist.input = "q"}, %k: tensor<2x700x16xf32> {dist.input = "k"}, %v: tensor<2x700x8xf32> {dist.input = "v"})
    -> (tensor<2x700x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<2x700x8xf32>
  %p = tensor.empty() : tensor<2x700x8xf32>
  %inf = arith.constant 0xFF800000 : f32
  %least = arith.constant -3.40282347E+38 : f32
  %before = arith.constant 140 : index
  %0 = dist.attention(%q, %k, %v : tensor<2x700x16xf32>, tensor<2x700x16xf32>, tensor<2x700x8xf32>) outs(%o : tensor<2x700x8xf32>)
      maps [#q, #k, #v, #o] nan_is_zero {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    %past = arith.addi %j, %before : index
    %seen = arith.cmpi sle, %past, %i : index
    %x = arith.select %seen, %s, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<2x700x8xf32>
  return %0 : tensor<2x700x8xf32>
}

// The same by a mask that is added, as exports write it: what comes back for a score is what comes back for x.

//--- added.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
func.func @main(%q: tensor<2x700x16xf32> {dist.input = "q"}, %k: tensor<2x700x16xf32> {dist.input = "k"}, %v: tensor<2x700x8xf32> {dist.input = "v"})
    -> (tensor<2x700x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<2x700x8xf32>
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %before = arith.constant 140 : index
  %0 = dist.attention(%q, %k, %v : tensor<2x700x16xf32>, tensor<2x700x16xf32>, tensor<2x700x8xf32>) outs(%o : tensor<2x700x8xf32>)
      maps [#q, #k, #v, #o] nan_is_zero {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    %past = arith.addi %j, %before : index
    %seen = arith.cmpi sle, %past, %i : index
    %m = arith.select %seen, %zero, %inf : f32
    %x = arith.addf %s, %m : f32
    dist.attention_yield %x : f32
  } -> tensor<2x700x8xf32>
  return %0 : tensor<2x700x8xf32>
}

// A soft cap, and ALiBi: what is subtracted grows with the distance.

//--- least.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
func.func @main(%q: tensor<1x1100x16xf32> {dist.input = "q"}, %k: tensor<1x1100x16xf32> {dist.input = "k"}, %v: tensor<1x1100x8xf32> {dist.input = "v"})
    -> (tensor<1x1100x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<1x1100x8xf32>
  %p = tensor.empty() : tensor<1x1100x8xf32>
  %inf = arith.constant 0xFF800000 : f32
  %least = arith.constant -3.40282347E+38 : f32
  %before = arith.constant 140 : index
  %0 = dist.attention(%q, %k, %v : tensor<1x1100x16xf32>, tensor<1x1100x16xf32>, tensor<1x1100x8xf32>) outs(%o : tensor<1x1100x8xf32>)
      maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    %past = arith.addi %j, %before : index
    %seen = arith.cmpi sle, %past, %i : index
    %x = arith.select %seen, %s, %least : f32
    dist.attention_yield %x : f32
  } -> tensor<1x1100x8xf32>
  return %0 : tensor<1x1100x8xf32>
}

// A soft cap, and ALiBi: what is subtracted grows with the distance.

//--- capped.mlir
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#slope = affine_map<(h, i, j, d, e) -> (h)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
#l = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @main(%q: tensor<60x150x16xf32> {dist.input = "q"}, %k: tensor<60x513x16xf32> {dist.input = "k"}, %v: tensor<60x513x8xf32> {dist.input = "v"},
                %slope: tensor<60xf32> {dist.input = "slope"})
    -> (tensor<60x150x8xf32> {dist.output = "o"}) {
  %o = tensor.empty() : tensor<60x150x8xf32>
  %cap = arith.constant 5.0 : f32
  %0 = dist.attention(%q, %k, %v : tensor<60x150x16xf32>, tensor<60x513x16xf32>, tensor<60x513x8xf32>) with (%slope : tensor<60xf32>)
      outs(%o : tensor<60x150x8xf32>) maps [#q, #k, #v, #slope, #o] {
  ^bb0(%s: f32, %t: f32, %h: index, %i: index, %j: index):
    %small = arith.divf %s, %cap : f32
    %bent = math.tanh %small : f32
    %capped = arith.mulf %bent, %cap : f32
    %distance = arith.subi %j, %i : index
    %integer = arith.index_cast %distance : index to i32
    %float = arith.sitofp %integer : i32 to f32
    %bias = arith.mulf %float, %t : f32
    %x = arith.addf %capped, %bias : f32
    dist.attention_yield %x : f32
  } -> tensor<60x150x8xf32>
  return %0 : tensor<60x150x8xf32>
}
