// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// Rows in two pieces, as in a resize to the nearest: what is cut out is no run of whole blocks. Of 16 rows of 8 f32
// each of 4 devices sends its 4 to 3 others. Said once for the op of the model, which became two here.
// CHECK: resize.py:3:1: remark: dimension 0 of operand 0 of tensor.extract_slice is gathered, of which each device sends 384 bytes, and not neighbours' rows alone: it is cut out of several blocks; another dimension can be sharded instead; 'groups N' or 'heads' in its directive, if N parts stand side by side in it, as q, k and v; or a dist.sync with all_gather says that this is meant
dist.mesh @m ["rows" = 4]
func.func @pieces(%x: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}, {}]>}) -> (tensor<7x8xf32>, tensor<6x8xf32>) {
  %a = tensor.extract_slice %x[0, 0] [7, 8] [1, 1] : tensor<16x8xf32> to tensor<7x8xf32> loc("resize.py":3:1)
  %b = tensor.extract_slice %x[5, 0] [6, 8] [1, 1] : tensor<16x8xf32> to tensor<6x8xf32> loc("resize.py":3:1)
  return %a, %b : tensor<7x8xf32>, tensor<6x8xf32>
}

// -----

// A schedule asks for it: whoever wrote it knows.
dist.mesh @m ["rows" = 4]
func.func @asked(%x: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}, {}]>}) -> tensor<7x8xf32> {
  %w = dist.sync %x fwd_pre all_gather dim 0 over "rows" : tensor<16x8xf32>
  %a = tensor.extract_slice %w[0, 0] [7, 8] [1, 1] : tensor<16x8xf32> to tensor<7x8xf32>
  return %a : tensor<7x8xf32>
}

// -----

// A parameter that is only stored in parts is meant to be gathered.
#rows = affine_map<(b, i, j) -> (i, j)>
#all = affine_map<(b, i, j) -> (b, i, j)>
dist.mesh @m ["dp" = 4]
func.func @stored(%x: tensor<8x7x8xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>},
                  %w: tensor<16x8xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>}) -> tensor<8x7x8xf32> {
  %a = tensor.extract_slice %w[0, 0] [7, 8] [1, 1] : tensor<16x8xf32> to tensor<7x8xf32>
  %0 = tensor.empty() : tensor<8x7x8xf32>
  %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %a : tensor<8x7x8xf32>, tensor<7x8xf32>) outs(%0 : tensor<8x7x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %1 = arith.addf %p, %q : f32
    linalg.yield %1 : f32
  } -> tensor<8x7x8xf32>
  return %r : tensor<8x7x8xf32>
}

// -----

// Neighbours' rows come by an exchange; what reaches over more than all others gathers, which sends less.
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["rows" = 4]
func.func @exchanged(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>, %f: tensor<14xf32>) -> (tensor<14xf32>) {
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<16xf32>, tensor<3xf32>) outs(%f : tensor<14xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14xf32>
  return %r : tensor<14xf32>
}

// -----

// Windows that move backwards: no loop that moves it forward can be sharded.
#in = affine_map<(o, k) -> (13 - o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["rows" = 4]
// CHECK: remark: dimension 0 of operand 0 of linalg.generic is gathered, of which each device sends 48 bytes, and not neighbours' rows alone: no loop that moves its windows can be sharded; another dimension can be sharded instead; or a dist.sync with all_gather says that this is meant
func.func @backwards(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>, %f: tensor<14xf32>) -> (tensor<14xf32>) {
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<16xf32>, tensor<3xf32>) outs(%f : tensor<14xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14xf32>
  return %r : tensor<14xf32>
}

// -----

// A circular pad that is not read in place: only the ends' rows are needed of others.
dist.mesh @m ["rows" = 4]
// CHECK: remark: dimension 0 of operand 1 of tensor.concat is gathered, of which each device sends 48 bytes, and not neighbours' rows alone: it is padded with rows of its own, which are not read in place; another dimension can be sharded instead; or a dist.sync with all_gather says that this is meant
func.func @circular(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %z: tensor<1xf32>) -> (tensor<18xf32>, tensor<17xf32>) {
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<16xf32> to tensor<1xf32>
  %last = tensor.extract_slice %x[15] [1] [1] : tensor<16xf32> to tensor<1xf32>
  %p = tensor.concat dim(0) %last, %x, %first : (tensor<1xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<18xf32>
  %q = tensor.concat dim(0) %x, %z : (tensor<16xf32>, tensor<1xf32>) -> tensor<17xf32>
  return %p, %q : tensor<18xf32>, tensor<17xf32>
}
