// Windows over a padded image read the image itself: those inside of it, and those at each edge, with the taps that reach it.
//
// RUN: dist-opt %s --dist-split-windows --canonicalize --split-input-file | FileCheck %s

#in = affine_map<(x, t) -> (x * 2 + t)>
#window = affine_map<(x, t) -> (t)>
#out = affine_map<(x, t) -> (x)>

// Of 4 places over 7 elements the first lacks its first tap, the last its last one.
// CHECK-LABEL: func.func @maximum
// CHECK-SAME: (%[[X:.*]]: tensor<7xf32>)
// CHECK-NOT: tensor.pad
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: %[[F0:.*]] = linalg.fill ins(%[[LOWEST]] : f32) outs(%{{.*}} : tensor<1xf32>)
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0] [2] [1]
// CHECK: %[[Y0:.*]] = linalg.generic {{.*}} ins(%[[X0]], %{{.*}} : tensor<2xf32>, tensor<2xf32>) outs(%[[F0]] : tensor<1xf32>)
// CHECK: arith.maximumf
// CHECK: %[[R0:.*]] = tensor.insert_slice %[[Y0]] into %[[E]][0] [1] [1]
// CHECK: %[[F1:.*]] = linalg.fill ins(%[[LOWEST]] : f32) outs(%{{.*}} : tensor<2xf32>)
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][1] [5] [1]
// CHECK: %[[Y1:.*]] = linalg.generic {{.*}} ins(%[[X1]], %{{.*}} : tensor<5xf32>, tensor<3xf32>) outs(%[[F1]] : tensor<2xf32>)
// CHECK: %[[R1:.*]] = tensor.insert_slice %[[Y1]] into %[[R0]][1] [2] [1]
// CHECK: %[[X2:.*]] = tensor.extract_slice %[[X]][5] [2] [1]
// CHECK: linalg.generic {{.*}} ins(%[[X2]], %{{.*}} : tensor<2xf32>, tensor<2xf32>)
// CHECK: %[[R2:.*]] = tensor.insert_slice %{{.*}} into %[[R1]][3] [1] [1]
// CHECK: return %[[R2]]
func.func @maximum(%x: tensor<7xf32>) -> tensor<4xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %lowest : f32
  } : tensor<7xf32> to tensor<9xf32>
  %taps = tensor.empty() : tensor<3xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%lowest : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%padded, %taps : tensor<9xf32>, tensor<3xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#in = affine_map<(c, x, t) -> (c, x + t)>
#window = affine_map<(c, x, t) -> (t)>
#out = affine_map<(c, x, t) -> (c, x)>

// Zeros add nothing. Two places that reach nothing keep what the sum begins with.
// CHECK-LABEL: func.func @sum
// CHECK-NOT: tensor.pad
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : tensor<2x2xf32>)
// CHECK-NOT: linalg.generic
// CHECK: tensor.insert_slice
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x1xf32>, tensor<1xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x4xf32>, tensor<2xf32>)
// CHECK-NOT: linalg.generic
func.func @sum(%x: tensor<2x4xf32>) -> tensor<2x6xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 3] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x4xf32> to tensor<2x7xf32>
  %taps = tensor.empty() : tensor<2xf32>
  %empty = tensor.empty() : tensor<2x6xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x6xf32>) -> tensor<2x6xf32>
  %y = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%padded, %taps : tensor<2x7xf32>, tensor<2xf32>) outs(%start : tensor<2x6xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

#in = affine_map<(x, t) -> (x + t)>
#window = affine_map<(x, t) -> (t)>
#out = affine_map<(x, t) -> (x)>

// What is padded with counts: ones are added, and a sum that begins with -0 would tell whether a 0 was added.
// CHECK-LABEL: func.func @stays
// CHECK: tensor.pad
// CHECK: tensor.pad
func.func @stays(%x: tensor<7xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %one = arith.constant 1.0 : f32
  %minus_zero = arith.constant -0.0 : f32
  %ones = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<7xf32> to tensor<9xf32>
  %zeros = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %minus_zero : f32
  } : tensor<7xf32> to tensor<9xf32>
  %taps = tensor.empty() : tensor<2xf32>
  %empty = tensor.empty() : tensor<8xf32>
  %from_one = linalg.fill ins(%one : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %from_zero = linalg.fill ins(%minus_zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%ones, %taps : tensor<9xf32>, tensor<2xf32>) outs(%from_one : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.addf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%zeros, %taps : tensor<9xf32>, tensor<2xf32>) outs(%from_zero : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.addf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %y, %z : tensor<8xf32>, tensor<8xf32>
}
