// RUN: %{root}/tools/dist-opt %s --split-input-file --dist-spmd --canonicalize --cse | FileCheck %s

// What an op reads in windows of a sharded dimension comes from the neighbours.
// Rows that a pad adds are nobody's: the ends of the line fill them in, and the
// pad sends nothing. Interior ranks send (low + high) rows.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<1x3x4x12xf32>
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 2 low 1 high 1 over "sp"
// CHECK-SAME: brings neighbours' rows of operand 0, which linalg.conv_2d_nchw_fchw reads in windows
// CHECK-SAME: tensor<1x3x4x12xf32> -> tensor<1x3x6x12xf32>
// The other dimension is padded where it is.
// CHECK: %[[P:.*]] = tensor.pad %[[X]] low[0, 0, 0, 1] high[0, 0, 0, 1]
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.conv_2d_nchw_fchw {{.*}} ins(%[[P]], %arg1 : tensor<1x3x6x14xf32>
// CHECK-SAME: -> tensor<1x4x4x12xf32>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<1x3x16x12xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}, {}]>}, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x16x12xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x16x12xf32> to tensor<1x3x18x14xf32>
  %f = arith.constant dense<0.0> : tensor<1x4x16x12xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x3x18x14xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<1x4x16x12xf32>) -> tensor<1x4x16x12xf32>
  return %r : tensor<1x4x16x12xf32>
}

// -----

// Two dimensions: the second exchange takes the rows of the first along, and so
// the corners.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 2 low 1 high 1 over "y" {{.*}} -> tensor<1x3x10x6xf32>
// CHECK: dist.halo_exchange %[[X]] dim 3 low 1 high 1 over "x" {{.*}} -> tensor<1x3x10x8xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.conv_2d_nchw_fchw
dist.mesh @m ["y" = 2, "x" = 2]
func.func @main(%x: tensor<1x3x16x12xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"y"}, {"x"}]>}, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x16x12xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x16x12xf32> to tensor<1x3x18x14xf32>
  %f = arith.constant dense<0.0> : tensor<1x4x16x12xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x3x18x14xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<1x4x16x12xf32>) -> tensor<1x4x16x12xf32>
  return %r : tensor<1x4x16x12xf32>
}

// -----

// A patch convolution whose blocks fit moves nothing.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.conv_2d_nchw_fchw {{.*}} ins(%arg0, %arg1 : tensor<2x3x8x16xf32>
// CHECK-SAME: -> tensor<2x5x2x4xf32>
dist.mesh @m ["sp" = 2]
func.func @main(%x: tensor<2x3x16x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}, {}]>}, %w: tensor<5x3x4x4xf32>) -> tensor<2x5x4x4xf32> {
  %f = arith.constant dense<0.0> : tensor<2x5x4x4xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<4> : tensor<2xi64>} ins(%x, %w : tensor<2x3x16x16xf32>, tensor<5x3x4x4xf32>) outs(%f : tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32>
  return %r : tensor<2x5x4x4xf32>
}

// -----

// Max pooling as exports write it: padded by -inf, which the exchange fills in
// at the ends of the line. At stride 2 nothing comes from behind.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 1 low 1 high 0 boundary constant 0xFF800000 : f32
// CHECK-SAME: tensor<2x4x3xf32> -> tensor<2x5x3xf32>
// CHECK-NOT: linalg.index
// CHECK: linalg.generic {{.*}} ins(%[[X]],
// CHECK: arith.maximumf
// CHECK: -> tensor<2x2x3xf32>
#in = affine_map<(n, o, c, k) -> (n, o * 2 + k, c)>
#window = affine_map<(n, o, c, k) -> (k)>
#out = affine_map<(n, o, c, k) -> (n, o, c)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<2x16x3xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>}) -> tensor<2x8x3xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %p = tensor.pad %x low[0, 1, 0] high[0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %inf : f32
  } : tensor<2x16x3xf32> to tensor<2x18x3xf32>
  %w = tensor.empty() : tensor<3xf32>
  %e = tensor.empty() : tensor<2x8x3xf32>
  %f = linalg.fill ins(%inf : f32) outs(%e : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<2x18x3xf32>, tensor<3xf32>) outs(%f : tensor<2x8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.maximumf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<2x8x3xf32>
  return %r : tensor<2x8x3xf32>
}

// -----

// Blocks of 4 rows each, and of 3, 3, 3 and 1 iterations: each rank reads from
// elsewhere in what it got.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 0 low 3 high 3 {{.*}} tensor<4x5xf32> -> tensor<10x5xf32>
// CHECK: tensor.extract_slice %[[X]][%{{.*}}, 0] [7, 5] [1, 1]
// CHECK: linalg.generic
// CHECK: -> tensor<3x5xf32>
#in = affine_map<(o, c, k) -> (o + k * 2, c)>
#window = affine_map<(o, c, k) -> (k)>
#out = affine_map<(o, c, k) -> (o, c)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<14x5xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<3xf32>) -> tensor<10x5xf32> {
  %f = arith.constant dense<0.0> : tensor<10x5xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<14x5xf32>, tensor<3xf32>) outs(%f : tensor<10x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<10x5xf32>
  return %r : tensor<10x5xf32>
}

// -----

// A window wider than blocks: its rows come from several neighbours.

// CHECK-LABEL: func.func @main(
// CHECK: dist.halo_exchange %arg0 dim 0 low 4 high 4 over "sp" {{.*}} tensor<2x5xf32> -> tensor<10x5xf32>
// CHECK-NOT: dist.all_gather
// CHECK: linalg.generic
// CHECK: -> tensor<2x5xf32>
#in = affine_map<(o, c, k) -> (o + k, c)>
#window = affine_map<(o, c, k) -> (k)>
#out = affine_map<(o, c, k) -> (o, c)>
dist.mesh @m ["sp" = 8]
func.func @main(%x: tensor<16x5xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<9xf32>) -> tensor<16x5xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[4, 0] high[4, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<16x5xf32> to tensor<24x5xf32>
  %f = arith.constant dense<0.0> : tensor<16x5xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<24x5xf32>, tensor<9xf32>) outs(%f : tensor<16x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x5xf32>
  return %r : tensor<16x5xf32>
}

// -----

// Where neighbours have as much as all there is, it is gathered, which sends no
// more and takes less room.

// CHECK-LABEL: func.func @main(
// CHECK: dist.all_gather %arg0 dim 0 over "sp"
// CHECK-SAME: gathered whole as 3 rows before and 2 after blocks of 2 are more than all others
#in = affine_map<(o, c, k) -> (o + k, c)>
#window = affine_map<(o, c, k) -> (k)>
#out = affine_map<(o, c, k) -> (o, c)>
dist.mesh @m ["sp" = 3]
func.func @main(%x: tensor<6x5xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<6xf32>) -> tensor<6x5xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[3, 0] high[2, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<6x5xf32> to tensor<11x5xf32>
  %f = arith.constant dense<0.0> : tensor<6x5xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<11x5xf32>, tensor<6xf32>) outs(%f : tensor<6x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}

// -----

// The gradient of a weight: the loop that moves the windows is reduced, and
// each rank makes a part of the sum. The convolution before reads the same rows,
// so that they come once.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 2 low 1 high 1 over "sp"
// CHECK: linalg.conv_1d_ncw_fcw {{.*}} ins(%[[X]],
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%[[X]], %arg2 : tensor<2x3x6xf32>, tensor<2x4x4xf32>)
// CHECK: dist.all_reduce %{{.*}} sum over "sp" {{.*}} tensor<4x3x3xf32>
#x = affine_map<(n, f, o, c, k) -> (n, c, o + k)>
#dy = affine_map<(n, f, o, c, k) -> (n, f, o)>
#dw = affine_map<(n, f, o, c, k) -> (f, c, k)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<2x3x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}]>}, %w: tensor<4x3x3xf32>, %dy: tensor<2x4x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}]>}) -> (tensor<2x4x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}]>}, tensor<4x3x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<2x3x16xf32> to tensor<2x3x18xf32>
  %f = arith.constant dense<0.0> : tensor<2x4x16xf32>
  %y = linalg.conv_1d_ncw_fcw {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>} ins(%p, %w : tensor<2x3x18xf32>, tensor<4x3x3xf32>) outs(%f : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %g = arith.constant dense<0.0> : tensor<4x3x3xf32>
  %r = linalg.generic {indexing_maps = [#x, #dy, #dw], iterator_types = ["reduction", "parallel", "reduction", "parallel", "parallel"]}
      ins(%p, %dy : tensor<2x3x18xf32>, tensor<2x4x16xf32>) outs(%g : tensor<4x3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x3x3xf32>
  return %y, %r : tensor<2x4x16xf32>, tensor<4x3x3xf32>
}

// -----

// Queries whose number is not known, or of which there are none, are sharded
// without a window, which is another for those of a device.

// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[BLOCK:.*]] = tensor.dim %arg0, %{{.*}} : tensor<2x?x8xf32>
// CHECK-DAG: %[[DEVICE:.*]] = dist.axis_index "sp"
// CHECK: dist.attention(%arg0, %arg1, %arg1 : tensor<2x?x8xf32>,
// CHECK-NOT: window
// CHECK: %[[FIRST:.*]] = arith.muli %[[DEVICE]], %[[BLOCK]]
// CHECK: arith.addi %[[FIRST]], %{{.*}}
#q = affine_map<(b, i, j, d, e) -> (b, i, d)>
#k = affine_map<(b, i, j, d, e) -> (b, j, d)>
#v = affine_map<(b, i, j, d, e) -> (b, j, e)>
#o = affine_map<(b, i, j, d, e) -> (b, i, e)>
dist.mesh @m ["sp" = 4]
func.func @main(%q: tensor<2x?x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>}, %k: tensor<2x8x8xf32>, %e: tensor<2x?x8xf32>) -> tensor<2x?x8xf32> {
  %none = arith.constant 0xFF800000 : f32
  %r = dist.attention(%q, %k, %k : tensor<2x?x8xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) outs(%e : tensor<2x?x8xf32>) maps [#q, #k, #v, #o] window [0, 0] {
  ^bb0(%s: f32, %b: index, %i: index, %j: index):
    %seen = arith.cmpi eq, %i, %j : index
    %t = arith.select %seen, %s, %none : f32
    dist.attention_yield %t : f32
  } -> tensor<2x?x8xf32>
  return %r : tensor<2x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: dist.attention(%arg0, %arg1, %arg1 : tensor<2x0x8xf32>,
// CHECK-NOT: window
#q = affine_map<(b, i, j, d, e) -> (b, i, d)>
#k = affine_map<(b, i, j, d, e) -> (b, j, d)>
#v = affine_map<(b, i, j, d, e) -> (b, j, e)>
#o = affine_map<(b, i, j, d, e) -> (b, i, e)>
dist.mesh @m ["sp" = 4]
func.func @main(%q: tensor<2x0x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>}, %k: tensor<2x8x8xf32>, %e: tensor<2x0x8xf32>) -> tensor<2x0x8xf32> {
  %r = dist.attention(%q, %k, %k : tensor<2x0x8xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) outs(%e : tensor<2x0x8xf32>) maps [#q, #k, #v, #o] window [1, 1] {
  ^bb0(%s: f32, %b: index, %i: index, %j: index):
    dist.attention_yield %s : f32
  } -> tensor<2x0x8xf32>
  return %r : tensor<2x0x8xf32>
}

// -----

// Windows that begin with the same row, as those of a transposed convolution's
// phases do: what the widest reads is brought once, for all.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 0 low 1 high 1 over "sp"
// CHECK-SAME: tensor<4x2xf32> -> tensor<6x2xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%[[X]], %arg1 : tensor<6x2xf32>, tensor<2xf32>)
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%[[X]], %arg1 : tensor<6x2xf32>, tensor<2xf32>)
#first = affine_map<(o, k, c) -> (o + k, c)>
#second = affine_map<(o, k, c) -> (o + k + 1, c)>
#taps = affine_map<(o, k, c) -> (k)>
#out = affine_map<(o, k, c) -> (o, c)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16x2xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<2xf32>) -> (tensor<16x2xf32>, tensor<16x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<16x2xf32> to tensor<18x2xf32>
  %f = arith.constant dense<0.0> : tensor<16x2xf32>
  %r = linalg.generic {indexing_maps = [#first, #taps, #out], iterator_types = ["parallel", "reduction", "parallel"]} ins(%p, %w : tensor<18x2xf32>, tensor<2xf32>) outs(%f : tensor<16x2xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<16x2xf32>
  %q = linalg.generic {indexing_maps = [#second, #taps, #out], iterator_types = ["parallel", "reduction", "parallel"]} ins(%p, %w : tensor<18x2xf32>, tensor<2xf32>) outs(%f : tensor<16x2xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<16x2xf32>
  return %r, %q : tensor<16x2xf32>, tensor<16x2xf32>
}
