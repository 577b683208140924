// Contractions, convolutions and pooling, named ones too.

// quantized matmul
func.func @main(%a: tensor<6x5xi8>, %b: tensor<5x4xi8>, %c: tensor<6x4xi32>) -> tensor<6x4xi32> {
  %za = arith.constant 3 : i32
  %zb = arith.constant 5 : i32
  %r = linalg.quantized_matmul ins(%a, %b, %za, %zb : tensor<6x5xi8>, tensor<5x4xi8>, i32, i32) outs(%c : tensor<6x4xi32>) -> tensor<6x4xi32>
  return %r : tensor<6x4xi32>
}
// -----
// quantized batch matmul
func.func @main(%a: tensor<3x6x5xi8>, %b: tensor<3x5x4xi8>, %c: tensor<3x6x4xi32>) -> tensor<3x6x4xi32> {
  %za = arith.constant 3 : i32
  %zb = arith.constant 5 : i32
  %r = linalg.quantized_batch_matmul ins(%a, %b, %za, %zb : tensor<3x6x5xi8>, tensor<3x5x4xi8>, i32, i32) outs(%c : tensor<3x6x4xi32>) -> tensor<3x6x4xi32>
  return %r : tensor<3x6x4xi32>
}
// -----
// matmul with maps: transposed and broadcast operands; batch matmul transposed; vecmat, matvec, dot, mmt4d, batch_reduce_matmul
func.func @main(%a: tensor<5x6xf64>, %b: tensor<6x7xf64>, %v: tensor<5xf64>, %bb: tensor<3x6x5xf64>, %bc: tensor<3x7x5xf64>) -> (tensor<6x7xf64>, tensor<6x7xf64>, tensor<3x6x7xf64>, tensor<6x7xf64>) {
  %z = arith.constant dense<0.0> : tensor<6x7xf64>
  %z3 = arith.constant dense<1.0> : tensor<3x6x7xf64>
  %bt = arith.constant dense<2.0> : tensor<5x7xf64>
  %0 = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(k,m)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %bt : tensor<5x6xf64>, tensor<5x7xf64>) outs(%b : tensor<6x7xf64>) -> tensor<6x7xf64>
  %1 = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%v, %bt : tensor<5xf64>, tensor<5x7xf64>) outs(%z : tensor<6x7xf64>) -> tensor<6x7xf64>
  %2 = linalg.batch_matmul indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(b,n,k)>, affine_map<(b,m,n,k)->(b,m,n)>] ins(%bb, %bc : tensor<3x6x5xf64>, tensor<3x7x5xf64>) outs(%z3 : tensor<3x6x7xf64>) -> tensor<3x6x7xf64>
  %e = tensor.empty() : tensor<3x5x7xf64>
  %bct = linalg.transpose ins(%bc : tensor<3x7x5xf64>) outs(%e : tensor<3x5x7xf64>) permutation = [0, 2, 1]
  %3 = linalg.batch_reduce_matmul ins(%bb, %bct : tensor<3x6x5xf64>, tensor<3x5x7xf64>) outs(%b : tensor<6x7xf64>) -> tensor<6x7xf64>
  return %0, %1, %2, %3 : tensor<6x7xf64>, tensor<6x7xf64>, tensor<3x6x7xf64>, tensor<6x7xf64>
}
// -----
// mmt4d in f32
func.func @main(%a: tensor<3x2x4x5xf32>, %b: tensor<2x2x6x5xf32>, %c: tensor<3x2x4x6xf32>) -> tensor<3x2x4x6xf32> {
  %r = linalg.mmt4d ins(%a, %b : tensor<3x2x4x5xf32>, tensor<2x2x6x5xf32>) outs(%c : tensor<3x2x4x6xf32>) -> tensor<3x2x4x6xf32>
  return %r : tensor<3x2x4x6xf32>
}
// -----
// mmt4d and batch_mmt4d, uneven
func.func @main(%a: tensor<3x2x4x5xf64>, %b: tensor<5x2x6x5xf64>, %c: tensor<3x5x4x6xf64>, %d: tensor<2x3x2x4x5xf64>, %e: tensor<2x3x2x6x5xf64>, %f: tensor<2x3x3x4x6xf64>) -> (tensor<3x5x4x6xf64>, tensor<2x3x3x4x6xf64>) {
  %r = linalg.mmt4d ins(%a, %b : tensor<3x2x4x5xf64>, tensor<5x2x6x5xf64>) outs(%c : tensor<3x5x4x6xf64>) -> tensor<3x5x4x6xf64>
  %s = linalg.batch_mmt4d ins(%d, %e : tensor<2x3x2x4x5xf64>, tensor<2x3x2x6x5xf64>) outs(%f : tensor<2x3x3x4x6xf64>) -> tensor<2x3x3x4x6xf64>
  return %r, %s : tensor<3x5x4x6xf64>, tensor<2x3x3x4x6xf64>
}
// -----
// convolutions: strided, dilated, depthwise, grouped, quantized
func.func @main(%x: tensor<2x9x7x6xf64>, %w: tensor<3x2x6x4xf64>, %dw: tensor<3x3x6xf64>) -> (tensor<2x4x4x4xf64>, tensor<2x3x2x6xf64>) {
  %z = arith.constant dense<0.5> : tensor<2x4x4x4xf64>
  %z2 = arith.constant dense<0.0> : tensor<2x3x2x6xf64>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%x, %w : tensor<2x9x7x6xf64>, tensor<3x2x6x4xf64>) outs(%z : tensor<2x4x4x4xf64>) -> tensor<2x4x4x4xf64>
  %d = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<2> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %dw : tensor<2x9x7x6xf64>, tensor<3x3x6xf64>) outs(%z2 : tensor<2x3x2x6xf64>) -> tensor<2x3x2x6xf64>
  return %c, %d : tensor<2x4x4x4xf64>, tensor<2x3x2x6xf64>
}
// -----
// convolutions, channels first, with a bias and in groups
func.func @main(%x: tensor<2x5x8x6xf64>, %w: tensor<7x5x3x3xf64>, %gx: tensor<2x3x2x8x6xf64>, %gw: tensor<3x4x2x3x1xf64>, %b: tensor<7xf64>) -> (tensor<2x7x6x4xf64>, tensor<2x3x4x6x6xf64>) {
  %e = tensor.empty() : tensor<2x7x6x4xf64>
  %bi = linalg.broadcast ins(%b : tensor<7xf64>) outs(%e : tensor<2x7x6x4xf64>) dimensions = [0, 2, 3]
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<2x5x8x6xf64>, tensor<7x5x3x3xf64>) outs(%bi : tensor<2x7x6x4xf64>) -> tensor<2x7x6x4xf64>
  %z2 = arith.constant dense<0.0> : tensor<2x3x4x6x6xf64>
  %g = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%gx, %gw : tensor<2x3x2x8x6xf64>, tensor<3x4x2x3x1xf64>) outs(%z2 : tensor<2x3x4x6x6xf64>) -> tensor<2x3x4x6x6xf64>
  return %c, %g : tensor<2x7x6x4xf64>, tensor<2x3x4x6x6xf64>
}
// -----
// quantized convolution
func.func @main(%x: tensor<2x5x6x3xi8>, %w: tensor<2x2x3x4xi8>) -> tensor<2x4x5x4xi32> {
  %z = arith.constant dense<7> : tensor<2x4x5x4xi32>
  %zx = arith.constant 3 : i32
  %zw = arith.constant 2 : i32
  %c = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w, %zx, %zw : tensor<2x5x6x3xi8>, tensor<2x2x3x4xi8>, i32, i32) outs(%z : tensor<2x4x5x4xi32>) -> tensor<2x4x5x4xi32>
  return %c : tensor<2x4x5x4xi32>
}
// -----
// pooling of all kinds
func.func @main(%x: tensor<2x7x8x5xf64>, %y: tensor<2x5x7x8xf64>, %u: tensor<2x7x8x5xi32>) -> (tensor<2x3x4x5xf64>, tensor<2x5x5x6xf64>, tensor<2x3x4x5xf64>, tensor<2x3x4x5xi32>) {
  %ninf = arith.constant dense<0xFFF0000000000000> : tensor<2x3x4x5xf64>
  %zero = arith.constant dense<0.0> : tensor<2x5x5x6xf64>
  %inf = arith.constant dense<0x7FF0000000000000> : tensor<2x3x4x5xf64>
  %zi = arith.constant dense<0> : tensor<2x3x4x5xi32>
  %k = tensor.empty() : tensor<3x2xf64>
  %k3 = tensor.empty() : tensor<3x3xf64>
  %ki = tensor.empty() : tensor<3x2xi32>
  %a = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %k : tensor<2x7x8x5xf64>, tensor<3x2xf64>) outs(%ninf : tensor<2x3x4x5xf64>) -> tensor<2x3x4x5xf64>
  %b = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%y, %k3 : tensor<2x5x7x8xf64>, tensor<3x3xf64>) outs(%zero : tensor<2x5x5x6xf64>) -> tensor<2x5x5x6xf64>
  %c = linalg.pooling_nhwc_min {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %k : tensor<2x7x8x5xf64>, tensor<3x2xf64>) outs(%inf : tensor<2x3x4x5xf64>) -> tensor<2x3x4x5xf64>
  %d = linalg.pooling_nhwc_max_unsigned {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%u, %ki : tensor<2x7x8x5xi32>, tensor<3x2xi32>) outs(%zi : tensor<2x3x4x5xi32>) -> tensor<2x3x4x5xi32>
  return %a, %b, %c, %d : tensor<2x3x4x5xf64>, tensor<2x5x5x6xf64>, tensor<2x3x4x5xf64>, tensor<2x3x4x5xi32>
}
// -----
// rank 7
func.func @main(%x: tensor<2x3x1x4x2x3x2xf64>, %w: tensor<3x4x3x5xf64>) -> (tensor<2x1x2x2x5xf64>, tensor<24x12xf64>) {
  %z = arith.constant dense<0.0> : tensor<2x1x2x2x5xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b,c,d,e,f,g,h)->(a,b,c,d,e,f,g)>, affine_map<(a,b,c,d,e,f,g,h)->(b,d,f,h)>, affine_map<(a,b,c,d,e,f,g,h)->(a,c,e,g,h)>], iterator_types = ["parallel","reduction","parallel","reduction","parallel","reduction","parallel","parallel"]} ins(%x, %w : tensor<2x3x1x4x2x3x2xf64>, tensor<3x4x3x5xf64>) outs(%z : tensor<2x1x2x2x5xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b : f64
    %s = arith.addf %m, %o : f64
    linalg.yield %s : f64
  } -> tensor<2x1x2x2x5xf64>
  %c = tensor.collapse_shape %x [[0, 1, 2, 3], [4, 5, 6]] : tensor<2x3x1x4x2x3x2xf64> into tensor<24x12xf64>
  return %r, %c : tensor<2x1x2x2x5xf64>, tensor<24x12xf64>
}
