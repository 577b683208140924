// RUN: dist-opt %s --split-input-file --dist-decompose-softmax --dist-recognize-windows | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-decompose-softmax --dist-recognize-windows=assume-masks | FileCheck %s --check-prefix=ASSUME

// Masks of all kinds: constants of places, data beside them. What data may mask whole rows of by a number, which makes
// the mean of all values of them, stays; so does what depends on the first key, or on the last.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#m = affine_map<(h, i, j) -> (i, j)>
#j = affine_map<(h, i, j) -> (j)>

// CHECK-LABEL: @constant_mask(
// CHECK: dist.attention{{.*}} window [1, 1]
dist.mesh @m ["sp" = 2]
func.func @constant_mask(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %mask = arith.constant dense<[[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]]> : tensor<4x4xi1>
  %es = tensor.empty() : tensor<2x4x4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x4x8xf32>, tensor<2x4x8xf32>) outs(%fs : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %x = linalg.generic {indexing_maps = [#x, #m, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<2x4x4xf32>, tensor<4x4xi1>) outs(%es : tensor<2x4x4xf32>) {
  ^bb0(%a: f32, %c: i1, %out: f32):
    %r = arith.select %c, %a, %inf : f32
    linalg.yield %r : f32
  } -> tensor<2x4x4xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x4x4xf32>) outs(%es : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %eo = tensor.empty() : tensor<2x4x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x4x4xf32>, tensor<2x4x8xf32>) outs(%fo : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----

// No query that sees the first key tells how far the window goes.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#m = affine_map<(h, i, j) -> (i, j)>

// CHECK-LABEL: @only_in_the_middle(
// CHECK: dist.attention{{.*}} window [1, 0]
dist.mesh @m ["sp" = 2]
func.func @only_in_the_middle(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %mask = arith.constant dense<[[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]> : tensor<4x4xi1>
  %es = tensor.empty() : tensor<2x4x4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x4x8xf32>, tensor<2x4x8xf32>) outs(%fs : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %x = linalg.generic {indexing_maps = [#x, #m, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<2x4x4xf32>, tensor<4x4xi1>) outs(%es : tensor<2x4x4xf32>) {
  ^bb0(%a: f32, %c: i1, %out: f32):
    %r = arith.select %c, %a, %inf : f32
    linalg.yield %r : f32
  } -> tensor<2x4x4xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x4x4xf32>) outs(%es : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %eo = tensor.empty() : tensor<2x4x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x4x4xf32>, tensor<2x4x8xf32>) outs(%fo : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----

// Whatever data say, keys outside of the window are at -inf.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#j = affine_map<(h, i, j) -> (j)>

// CHECK-LABEL: @data_and_infinity(
// CHECK: dist.attention{{.*}} window [1, 0]
dist.mesh @m ["sp" = 2]
func.func @data_and_infinity(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %alive: tensor<6xi64>) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %two = arith.constant 2 : index
  %masked = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #j, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %alive : tensor<2x6x6xf32>, tensor<6xi64>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %c: i64, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %two : index
    %near = arith.cmpi slt, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %window = arith.andi %near, %past : i1
    %live = arith.cmpi ne, %c, %none : i64
    %seen = arith.andi %window, %live : i1
    %add = arith.select %seen, %zero, %masked : f32
    %r = arith.addf %a, %add : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----

// A row whose keys in the window are all masked by the data is the mean of all values.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#j = affine_map<(h, i, j) -> (j)>

// CHECK-LABEL: @data_and_least_number(
// CHECK-NOT: dist.attention
// CHECK: dist.likely_window = array<i64: 1, 0>
// ASSUME-LABEL: @data_and_least_number(
// ASSUME: dist.attention{{.*}} window [1, 0]
dist.mesh @m ["sp" = 2]
func.func @data_and_least_number(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %alive: tensor<6xi64>) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %two = arith.constant 2 : index
  %masked = arith.constant -3.40282347E+38 : f32
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #j, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %alive : tensor<2x6x6xf32>, tensor<6xi64>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %c: i64, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %two : index
    %near = arith.cmpi slt, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %window = arith.andi %near, %past : i1
    %live = arith.cmpi ne, %c, %none : i64
    %seen = arith.andi %window, %live : i1
    %add = arith.select %seen, %zero, %masked : f32
    %r = arith.addf %a, %add : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----

// Every row sees itself.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#j = affine_map<(h, i, j) -> (j)>

// CHECK-LABEL: @least_number(
// CHECK: dist.attention{{.*}} window [1, 0]
dist.mesh @m ["sp" = 2]
func.func @least_number(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %alive: tensor<6xi64>) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %two = arith.constant 2 : index
  %masked = arith.constant -3.40282347E+38 : f32
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #j, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %alive : tensor<2x6x6xf32>, tensor<6xi64>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %c: i64, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %two : index
    %near = arith.cmpi slt, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %window = arith.andi %near, %past : i1
    %live = arith.cmpi ne, %c, %none : i64
    %seen = arith.ori %window, %window : i1
    %add = arith.select %seen, %zero, %masked : f32
    %r = arith.addf %a, %add : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----

// The last row sees all keys.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#j = affine_map<(h, i, j) -> (j)>

// CHECK-LABEL: @causal(
// CHECK-NOT: dist.attention
// ASSUME-LABEL: @causal(
// ASSUME-NOT: dist.attention
// ASSUME-LABEL: @width_below_two(
dist.mesh @m ["sp" = 2]
func.func @causal(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %alive: tensor<6xi64>) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %two = arith.constant 2 : index
  %masked = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #j, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %alive : tensor<2x6x6xf32>, tensor<6xi64>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %c: i64, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %two : index
    %near = arith.cmpi slt, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %window = arith.andi %near, %past : i1
    %live = arith.cmpi ne, %c, %none : i64
    %seen = arith.ori %past, %past : i1
    %add = arith.select %seen, %zero, %masked : f32
    %r = arith.addf %a, %add : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----

// Masks that depend on integers from outside are told apart by how these are computed, though the bodies are alike.

#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
#x = affine_map<(h, i, j) -> (h, i, j)>

dist.mesh @m ["sp" = 2]
// CHECK-LABEL: @width_below_two(
// CHECK: dist.attention{{.*}} window [1, 0]
func.func @width_below_two(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %n: index) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %all = arith.constant 2 : index
  %width = arith.remui %n, %all : index
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %width : index
    %near = arith.cmpi sle, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %seen = arith.andi %near, %past : i1
    %r = arith.select %seen, %a, %inf : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// CHECK-LABEL: @width_below_three(
// CHECK: dist.attention{{.*}} window [2, 0]
func.func @width_below_three(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %n: index) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %all = arith.constant 3 : index
  %width = arith.remui %n, %all : index
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %width : index
    %near = arith.cmpi sle, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %seen = arith.andi %near, %past : i1
    %r = arith.select %seen, %a, %inf : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// Nor are those alike whose integers are of other types.
// CHECK-LABEL: @one_bit(
// CHECK: dist.attention{{.*}} window [1, 0]
func.func @one_bit(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %n: i1) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %long = arith.extui %n : i1 to i64
  %width = arith.index_cast %long : i64 to index
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %width : index
    %near = arith.cmpi sle, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %seen = arith.andi %near, %past : i1
    %r = arith.select %seen, %a, %inf : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// CHECK-LABEL: @two_bits(
// CHECK: dist.attention{{.*}} window [3, 0]
func.func @two_bits(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %n: i2) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %long = arith.extui %n : i2 to i64
  %width = arith.index_cast %long : i64 to index
  %es = tensor.empty() : tensor<2x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%fs : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %x = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %to = arith.addi %j, %width : index
    %near = arith.cmpi sle, %i, %to : index
    %past = arith.cmpi sle, %j, %i : index
    %seen = arith.andi %near, %past : i1
    %r = arith.select %seen, %a, %inf : f32
    linalg.yield %r : f32
  } -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x6x6xf32>) outs(%es : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %eo = tensor.empty() : tensor<2x6x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%fo : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}
