// RUN: dist-opt %s --split-input-file --verify-diagnostics | dist-opt --split-input-file | FileCheck %s

#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#m = affine_map<(b, h, g, i, j, d, e) -> (0, i, j)>
#o = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#l = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>

// Two groups of queries share the keys of a head; a mask and logarithms.
// CHECK-LABEL: func @grouped
// CHECK: dist.attention(%{{.*}}) with(%{{.*}} : tensor<1x6x8xi1>) outs(%{{.*}}, %{{.*}}) maps [{{.*}}] nan_is_zero {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[M:.*]]: i1, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: dist.attention_yield %{{.*}} : f32
// CHECK: } -> tensor<1x6x3x2x5xf32>, tensor<1x3x2x6xf32>
func.func @grouped(%q: tensor<1x6x3x2x4xf32>, %k: tensor<1x8x3x4xf32>, %v: tensor<1x8x3x5xf32>, %m: tensor<1x6x8xi1>,
                   %o: tensor<1x6x3x2x5xf32>, %l: tensor<1x3x2x6xf32>) -> (tensor<1x6x3x2x5xf32>, tensor<1x3x2x6xf32>) {
  %inf = arith.constant 0xFF800000 : f32
  %0:2 = dist.attention(%q, %k, %v : tensor<1x6x3x2x4xf32>, tensor<1x8x3x4xf32>, tensor<1x8x3x5xf32>)
      with (%m : tensor<1x6x8xi1>) outs(%o, %l : tensor<1x6x3x2x5xf32>, tensor<1x3x2x6xf32>)
      maps [#q, #k, #v, #m, #o, #l] nan_is_zero {
  ^bb0(%s: f32, %seen: i1, %b: index, %h: index, %g: index, %i: index, %j: index):
    %x = arith.select %seen, %s, %inf : f32
    dist.attention_yield %x : f32
  } -> tensor<1x6x3x2x5xf32>, tensor<1x3x2x6xf32>
  return %0#0, %0#1 : tensor<1x6x3x2x5xf32>, tensor<1x3x2x6xf32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @sizes(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<7x5xf32>, %o: tensor<6x5xf32>) {
  // expected-error @below {{operand 1 of type 'tensor<8x4xf32>' with map affine_map<(d0, d1, d2, d3) -> (d1, d2)> has a size of 8, where 7 is wanted}}
  %0 = dist.attention(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<7x5xf32>) outs(%o : tensor<6x5xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %i: index, %j: index):
    dist.attention_yield %s : f32
  } -> tensor<6x5xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @keys(%q: tensor<6x4xf32>, %k: tensor<6x4xf32>, %v: tensor<7x5xf32>, %o: tensor<6x5xf32>) {
  // expected-error @below {{map of the key: it does not have the dimension d0}}
  %0 = dist.attention(%q, %k, %v : tensor<6x4xf32>, tensor<6x4xf32>, tensor<7x5xf32>) outs(%o : tensor<6x5xf32>) maps [#q, #q, #v, #o] {
  ^bb0(%s: f32, %i: index, %j: index):
    dist.attention_yield %s : f32
  } -> tensor<6x5xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @body(%q: tensor<6x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x5xf32>, %o: tensor<6x5xf32>) {
  // expected-error @below {{body takes a score ('f32'), an element of each operand after `with`, and 2 indices}}
  %0 = dist.attention(%q, %k, %v : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x5xf32>) outs(%o : tensor<6x5xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %i: index):
    dist.attention_yield %s : f32
  } -> tensor<6x5xf32>
  return
}

// -----

#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#m = affine_map<(b, h, g, i, j, d, e) -> (0, i, j)>
#o = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#l = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
#dk = affine_map<(b, h, g, i, j, d, e) -> (b, h, j, d)>

// Cotangents may be stored in another order than what they belong to.
// CHECK-LABEL: func @adjoint
// CHECK: dist.attention_adjoint(%{{.*}}) with(%{{.*}} : tensor<1x6x8xi1>) of(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}}) maps [{{.*}}] nan_is_zero {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[M:.*]]: i1, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: dist.attention_yield %{{.*}} : f32
// CHECK: } adjoint {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i1, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: } -> tensor<1x6x3x2x4xf32>, tensor<1x3x8x4xf32>, tensor<1x8x3x5xf32>
func.func @adjoint(%q: tensor<1x6x3x2x4xf32>, %k: tensor<1x8x3x4xf32>, %v: tensor<1x8x3x5xf32>, %m: tensor<1x6x8xi1>,
                   %o: tensor<1x6x3x2x5xf32>, %l: tensor<1x3x2x6xf32>, %do: tensor<1x6x3x2x5xf32>)
    -> (tensor<1x6x3x2x4xf32>, tensor<1x3x8x4xf32>, tensor<1x8x3x5xf32>) {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %dk = tensor.empty() : tensor<1x3x8x4xf32>
  %0:3 = dist.attention_adjoint(%q, %k, %v : tensor<1x6x3x2x4xf32>, tensor<1x8x3x4xf32>, tensor<1x8x3x5xf32>)
      with (%m : tensor<1x6x8xi1>) of(%o, %l, %l, %do : tensor<1x6x3x2x5xf32>, tensor<1x3x2x6xf32>, tensor<1x3x2x6xf32>, tensor<1x6x3x2x5xf32>)
      outs(%q, %dk, %v : tensor<1x6x3x2x4xf32>, tensor<1x3x8x4xf32>, tensor<1x8x3x5xf32>)
      maps [#q, #k, #v, #m, #o, #l, #l, #o, #q, #dk, #v] nan_is_zero {
  ^bb0(%s: f32, %seen: i1, %b: index, %h: index, %g: index, %i: index, %j: index):
    %x = arith.select %seen, %s, %inf : f32
    dist.attention_yield %x : f32
  } adjoint {
  ^bb0(%s: f32, %dx: f32, %seen: i1, %b: index, %h: index, %g: index, %i: index, %j: index):
    %ds = arith.select %seen, %dx, %zero : f32
    dist.attention_yield %ds : f32
  } -> tensor<1x6x3x2x4xf32>, tensor<1x3x8x4xf32>, tensor<1x8x3x5xf32>
  return %0#0, %0#1, %0#2 : tensor<1x6x3x2x4xf32>, tensor<1x3x8x4xf32>, tensor<1x8x3x5xf32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
func.func @cotangents(%q: tensor<6x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>) {
  // expected-error @below {{map of the key's cotangent: it does not have the dimension d0}}
  %0:3 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x5xf32>) of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %q, %v : tensor<6x4xf32>, tensor<6x4xf32>, tensor<7x5xf32>) maps [#q, #k, #v, #o, #l, #l, #o, #q, #q, #v] {
  ^bb0(%s: f32, %i: index, %j: index):
    dist.attention_yield %s : f32
  } adjoint {
  ^bb0(%s: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx : f32
  } -> tensor<6x4xf32>, tensor<6x4xf32>, tensor<7x5xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
func.func @region(%q: tensor<6x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>) {
  // expected-error @below {{second region takes a score and a cotangent ('f32'), an element of each operand after `with`, and 2 indices}}
  %0:3 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x5xf32>) of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x5xf32>) maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v] {
  ^bb0(%s: f32, %i: index, %j: index):
    dist.attention_yield %s : f32
  } adjoint {
  ^bb0(%dx: f32, %i: index, %j: index):
    dist.attention_yield %dx : f32
  } -> tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x5xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#a = affine_map<(i, j, d, e) -> (i, j)>
#o = affine_map<(i, j, d, e) -> (i, e)>
// Weights that are 0 after the softmax.
// CHECK-LABEL: func @dropped
// CHECK: ^bb0(%[[S:.*]]: f32, %[[KEPT:.*]]: i1, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT: dist.attention_yield %[[S]], %[[KEPT]] : f32, i1
func.func @dropped(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %a: tensor<6x8xi1>, %o: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %0 = dist.attention(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>) with(%a : tensor<6x8xi1>) outs(%o : tensor<6x5xf32>)
      maps [#q, #k, #v, #a, #o] {
  ^bb0(%s: f32, %kept: i1, %i: index, %j: index):
    dist.attention_yield %s, %kept : f32, i1
  } -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @by_score(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{body says by the score which weights are kept: only by places and elements of further operands}}
  %0 = dist.attention(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>) outs(%o : tensor<6x5xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %i: index, %j: index):
    %kept = arith.cmpf oge, %s, %zero : f32
    dist.attention_yield %s, %kept : f32, i1
  } -> tensor<6x5xf32>
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
#l = affine_map<(h, i, j, d, e) -> (h, i)>
#bias = affine_map<(h, i, j, d, e) -> (j, i)>
#slope = affine_map<(h, i, j, d, e) -> (h)>
#factor = affine_map<(h, i, j, d, e) -> ()>
// Totals over heads, over queries and keys, over all.
// CHECK-LABEL: func @totals
// CHECK: outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}, tensor<8x6xf32>, tensor<2xf32>, tensor<f32>)
// CHECK: ^bb0(%[[S:.*]]: f32, %[[DX:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT: %[[TERM:.*]] = arith.mulf
// CHECK-NEXT: dist.attention_yield %[[DX]] terms(%[[DX]], %[[TERM]], %[[TERM]] : f32, f32, f32) : f32
// CHECK: -> tensor<2x6x4xf32>, tensor<2x8x4xf32>, tensor<2x8x5xf32>, tensor<8x6xf32>, tensor<2xf32>, tensor<f32>
func.func @totals(%q: tensor<2x6x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x5xf32>, %o: tensor<2x6x5xf32>, %l: tensor<2x6xf32>,
                  %b: tensor<8x6xf32>, %s: tensor<2xf32>, %f: tensor<f32>) -> (tensor<8x6xf32>, tensor<2xf32>, tensor<f32>) {
  %0:6 = dist.attention_adjoint(%q, %k, %v : tensor<2x6x4xf32>, tensor<2x8x4xf32>, tensor<2x8x5xf32>)
      of(%o, %l, %l, %o : tensor<2x6x5xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6x5xf32>)
      outs(%q, %k, %v, %b, %s, %f : tensor<2x6x4xf32>, tensor<2x8x4xf32>, tensor<2x8x5xf32>, tensor<8x6xf32>, tensor<2xf32>, tensor<f32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #bias, #slope, #factor] {
  ^bb0(%score: f32, %h: index, %i: index, %j: index):
    dist.attention_yield %score : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %h: index, %i: index, %j: index):
    %term = arith.mulf %dx, %score : f32
    dist.attention_yield %dx terms(%dx, %term, %term : f32, f32, f32) : f32
  } -> tensor<2x6x4xf32>, tensor<2x8x4xf32>, tensor<2x8x5xf32>, tensor<8x6xf32>, tensor<2xf32>, tensor<f32>
  return %0#3, %0#4, %0#5 : tensor<8x6xf32>, tensor<2xf32>, tensor<f32>
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
#t = affine_map<(i, j, d, e) -> (i, j)>
func.func @no_term(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>, %t: tensor<6x8xf32>) {
  // expected-error @below {{second region yields 0 terms, where 1 of type 'f32' are wanted}}
  %0:4 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>)
      of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v, %t : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x8xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] {
  ^bb0(%score: f32, %i: index, %j: index):
    dist.attention_yield %score : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx : f32
  } -> tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x8xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
#t = affine_map<(i, j, d, e) -> (i, j)>
func.func @body_term(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>, %t: tensor<6x8xf32>) {
  // expected-error @below {{body yields 1 terms, where 0 of type 'f32' are wanted}}
  %0:4 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>)
      of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v, %t : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x8xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] {
  ^bb0(%score: f32, %i: index, %j: index):
    dist.attention_yield %score terms(%score : f32) : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx terms(%dx : f32) : f32
  } -> tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x8xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
#t = affine_map<(i, j, d, e) -> (i, d)>
func.func @of_features(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>, %t: tensor<6x4xf32>) {
  // expected-error @below {{map of a total: it does not have the dimension d2}}
  %0:4 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>)
      of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v, %t : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x4xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] {
  ^bb0(%score: f32, %i: index, %j: index):
    dist.attention_yield %score : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx terms(%dx : f32) : f32
  } -> tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x4xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
#t = affine_map<(i, j, d, e) -> (i, i)>
func.func @twice(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>, %t: tensor<6x6xf32>) {
  // expected-error @below {{map of a total: d0 occurs twice}}
  %0:4 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>)
      of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v, %t : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x6xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] {
  ^bb0(%score: f32, %i: index, %j: index):
    dist.attention_yield %score : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx terms(%dx : f32) : f32
  } -> tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x6xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
#t = affine_map<(i, j, d, e) -> (0, j)>
func.func @one_element(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>, %t: tensor<1x8xf32>) {
  // expected-error @below {{map of a total: result 0 of affine_map<(d0, d1, d2, d3) -> (0, d1)> is no dimension}}
  %0:4 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>)
      of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v, %t : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<1x8xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] {
  ^bb0(%score: f32, %i: index, %j: index):
    dist.attention_yield %score : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx terms(%dx : f32) : f32
  } -> tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<1x8xf32>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
#t = affine_map<(i, j, d, e) -> (i, j)>
func.func @wide(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x5xf32>, %o: tensor<6x5xf32>, %l: tensor<6xf32>, %t: tensor<6x8xf64>) {
  // expected-error @below {{operand 10 of type 'tensor<6x8xf64>': it is of 'f32'}}
  %0:4 = dist.attention_adjoint(%q, %k, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>)
      of(%o, %l, %l, %o : tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x5xf32>)
      outs(%q, %k, %v, %t : tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x8xf64>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, #t] {
  ^bb0(%score: f32, %i: index, %j: index):
    dist.attention_yield %score : f32
  } adjoint {
  ^bb0(%score: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx terms(%dx : f32) : f32
  } -> tensor<6x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<6x8xf64>
  return
}

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
func.func @window_of_adjoint(%q: tensor<6x4xf32>, %k: tensor<7x4xf32>, %l: tensor<6xf32>) {
  // expected-error @below {{window is no pair [left, right] of numbers of keys before and after a query}}
  %0:3 = dist.attention_adjoint(%q, %k, %k : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>)
      of(%q, %l, %l, %q : tensor<6x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x4xf32>)
      outs(%q, %k, %k : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v] window [2, -3] {
  ^bb0(%s: f32, %i: index, %j: index):
    dist.attention_yield %s : f32
  } adjoint {
  ^bb0(%s: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx : f32
  } -> tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>
  return
}

// -----

// CHECK-LABEL: func @window_of_adjoint
// CHECK: dist.attention_adjoint({{.*}} window [2, 1] {
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#l = affine_map<(i, j, d, e) -> (i)>
func.func @window_of_adjoint(%q: tensor<6x4xf32>, %k: tensor<7x4xf32>, %l: tensor<6xf32>) -> tensor<6x4xf32> {
  %0:3 = dist.attention_adjoint(%q, %k, %k : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>)
      of(%q, %l, %l, %q : tensor<6x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x4xf32>)
      outs(%q, %k, %k : tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>)
      maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v] window [2, 1] {
  ^bb0(%s: f32, %i: index, %j: index):
    dist.attention_yield %s : f32
  } adjoint {
  ^bb0(%s: f32, %dx: f32, %i: index, %j: index):
    dist.attention_yield %dx : f32
  } -> tensor<6x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>
  return %0#0 : tensor<6x4xf32>
}
