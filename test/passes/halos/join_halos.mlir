// --dist-join-halos: one exchange for layers that follow each other, whose border both neighbours compute.
// RUN: split-file %s %t
// RUN: dist-opt %t/chain.mlir --dist-join-halos=join=always --cse --dist-verify-spmd | FileCheck %t/chain.mlir
// RUN: dist-opt %t/chain.mlir --dist-join-halos="join=always layers=2" --cse --dist-verify-spmd | FileCheck %t/chain.mlir --check-prefix=PAIRS
// RUN: dist-opt %t/chain.mlir --dist-join-halos="machine=cpu link=latency=1ms report=true" --cse 2>%t/slow.log | FileCheck %t/chain.mlir
// RUN: FileCheck %t/chain.mlir --check-prefix=SLOW < %t/slow.log
// RUN: dist-opt %t/heavy.mlir --dist-join-halos="machine=cpu link=latency=100us report=true" 2>%t/heavy.log | FileCheck %t/heavy.mlir
// RUN: FileCheck %t/heavy.mlir --check-prefix=SAID < %t/heavy.log
// RUN: dist-opt %t/ends.mlir --split-input-file --dist-join-halos="join=always report=true" 2>%t/ends.log | FileCheck %t/ends.mlir
// RUN: FileCheck %t/ends.mlir --check-prefix=SAID < %t/ends.log
// RUN: dist-opt %t/residual.mlir --dist-join-halos=join=always --cse --dist-verify-spmd | FileCheck %t/residual.mlir
// RUN: dist-opt %t/reshaped.mlir --dist-join-halos=join=always --cse | FileCheck %t/reshaped.mlir
// RUN: not dist-opt %t/chain.mlir --dist-join-halos=join=some 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not dist-opt %t/chain.mlir --dist-join-halos="join=always layers=0" 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not dist-opt %t/chain.mlir --dist-join-halos 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not dist-run %t/chain.mlir --random --join-halos=auto 2>&1 | FileCheck %s --check-prefix=TOOL-MACHINE
// RUN: not dist-run %t/chain.mlir --random --join-halos=some 2>&1 | FileCheck %s --check-prefix=TOOL-WORD
// RUN: dist-run %t/chain.mlir --random --join-halos=auto --machine cpu --link latency=1ms -v 2>&1 | FileCheck %t/chain.mlir --check-prefix=SLOW
// RUN: dist-run %t/chain.mlir --random --output %t/apart
// RUN: dist-run %t/chain.mlir --random --join-halos=always --output %t/joined
// RUN: diff -r %t/apart %t/joined
// RUN: dist-compile %t/chain.mlir --join-halos=auto --machine cpu --link latency=1ms -o %t/chain.dist

// TOOL-MACHINE: error: --join-halos=auto needs --machine
// TOOL-WORD: error: --join-halos=some: expected auto, never or always
// WORD: error: --dist-join-halos: join=some: expected auto or always
// LAYERS: error: --dist-join-halos: layers=0: expected 1 or more
// MACHINE: error: --dist-join-halos needs to know what on

//--- chain.mlir
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
#row = affine_map<(o) -> (o)>
dist.mesh @m ["sp" = 4]
// Three rows more on each side come at once. What the third layer's boundary says is written where rows are none of the dimension's.
// CHECK-LABEL: func.func @main
// CHECK:      %[[X:.*]] = dist.halo_exchange %arg0 dim 0 low 3 high 3 over "sp" on @m cause "first; joined with the exchanges of 2 layers behind (b, c), of whose inputs 6 rows are computed twice" {dist.scope = "a"} : tensor<8xf32> -> tensor<14xf32>
// CHECK:      %[[A:.*]] = linalg.generic {{.*}} ins(%[[X]], %arg1 : tensor<14xf32>, tensor<3xf32>) outs({{.*}} : tensor<12xf32>)
// CHECK:      %[[RELU:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<12xf32>)
// CHECK-DAG:  %[[PLACE:.*]] = dist.axis_index "sp"
// CHECK:      %[[FILLED:.*]] = linalg.generic {{.*}} ins(%[[RELU]] : tensor<12xf32>)
// CHECK:      linalg.index 0
// CHECK:      arith.cmpi ult
// CHECK:      arith.select
// CHECK:      %[[B:.*]] = linalg.generic {{.*}} ins(%[[FILLED]], %arg1 : tensor<12xf32>, tensor<3xf32>) outs({{.*}} : tensor<10xf32>)
// CHECK:      %[[ENDS:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<10xf32>)
// CHECK:      %[[C:.*]] = linalg.generic {{.*}} ins(%[[ENDS]], %arg1 : tensor<10xf32>, tensor<3xf32>) outs({{.*}} : tensor<8xf32>)
// Who wants the device's own rows of something in between takes a slice.
// CHECK:      return %[[C]], %{{.*}} : tensor<8xf32>, tensor<8xf32>
// CHECK-NOT:  halo_exchange

// PAIRS:      dist.halo_exchange %arg0 dim 0 low 2 high 2 over "sp"
// PAIRS-SAME: 1 layer behind (b), of whose inputs 2 rows are computed twice
// PAIRS:      dist.halo_exchange %{{.*}} dim 0 low 1 high 1 over "sp" on @m cause "third"
// PAIRS-NOT:  halo_exchange

// SLOW: chain.mlir:{{[0-9]+}}:8: remark: halos of 3 layers that follow each other, one exchange for 3: apart 3.{{.*}} ms, by 2 2.{{.*}}, by 3 1.{{.*}}, as chosen 1.{{.*}} with what is computed twice; 6 rows of inputs are computed twice, and 0 bytes less are sent
func.func @main(%x: tensor<8xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}, %w: tensor<3xf32> {dist.input = "w", dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<3xf32>})
    -> (tensor<8xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>},
        tensor<8xf32> {dist.output = "z", dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m cause "first" {dist.scope = "a"} : tensor<8xf32> -> tensor<10xf32>
  %1 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]} ins(%0, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%1 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %3 = dist.halo_exchange %2 dim 0 low 1 high 1 over "sp" on @m cause "second" {dist.scope = "b"} : tensor<8xf32> -> tensor<10xf32>
  %4 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]} ins(%3, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %5 = dist.halo_exchange %4 dim 0 low 1 high 1 over "sp" on @m cause "third" {dist.scope = "c"} : tensor<8xf32> -> tensor<10xf32>
  %6 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]} ins(%5, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %6, %2 : tensor<8xf32>, tensor<8xf32>
}

//--- heavy.mlir
// Rows that are computed twice cost more than a call.
// CHECK-COUNT-2: dist.halo_exchange {{.*}} low 1 high 1
// SAID: remark: halos of 2 layers that follow each other, one exchange for 1 + 1: apart 0.{{.*}} ms, by 2 {{.*}}, as chosen 0.{{.*}} with what is computed twice; 0 rows of inputs are computed twice, and 0 bytes less are sent
#in = affine_map<(o, f, k, c) -> (o + k, c)>
#window = affine_map<(o, f, k, c) -> (k, c, f)>
#out = affine_map<(o, f, k, c) -> (o, f)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<8x4096xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<32x4096xf32>}, %w: tensor<3x4096x4096xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {}]>, dist.global_type = tensor<3x4096x4096xf32>})
    -> (tensor<8x4096xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<32x4096xf32>}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4096xf32>) -> tensor<8x4096xf32>
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m : tensor<8x4096xf32> -> tensor<10x4096xf32>
  %1 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%0, %w : tensor<10x4096xf32>, tensor<3x4096x4096xf32>) outs(%f : tensor<8x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4096xf32>
  %2 = dist.halo_exchange %1 dim 0 low 1 high 1 over "sp" on @m : tensor<8x4096xf32> -> tensor<10x4096xf32>
  %3 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%2, %w : tensor<10x4096xf32>, tensor<3x4096x4096xf32>) outs(%f : tensor<8x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4096xf32>
  return %3 : tensor<8x4096xf32>
}

//--- residual.mlir
// What is added again is taken from the rows that came for the layers in between.
// CHECK-LABEL: func.func @main
// CHECK:      %[[X:.*]] = dist.halo_exchange %arg0 dim 0 low 2 high 2 over "sp"
// CHECK-SAME: tensor<8xf32> -> tensor<12xf32>
// CHECK:      %[[A:.*]] = linalg.generic {{.*}} ins(%[[X]], %arg1 : tensor<12xf32>, tensor<3xf32>) outs({{.*}} : tensor<10xf32>)
// CHECK:      %[[OWN:.*]] = tensor.extract_slice %[[X]][1] [10] [1] : tensor<12xf32> to tensor<10xf32>
// CHECK:      %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[OWN]] : tensor<10xf32>, tensor<10xf32>)
// CHECK:      linalg.generic {{.*}} ins(%[[SUM]] : tensor<10xf32>)
// CHECK-NOT:  halo_exchange
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
#row = affine_map<(o) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}, %w: tensor<3xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<3xf32>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %1 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]} ins(%0, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%1, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %3 = dist.halo_exchange %2 dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %4 = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]} ins(%3, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

//--- reshaped.mlir
// An exchange of what has one dimension more is made before, where the residual reads the same rows.
// CHECK-LABEL: func.func @main
// CHECK:      %[[X:.*]] = dist.halo_exchange %arg0 dim 0 low 2 high 0 over "sp"
// CHECK-SAME: tensor<8x4xf32> -> tensor<10x4xf32>
// CHECK:      tensor.expand_shape %[[X]] {{.*}} : tensor<10x4xf32> into tensor<10x1x4xf32>
// CHECK:      tensor.extract_slice %[[X]][1, 0] [9, 4] [1, 1]
// CHECK-NOT:  halo_exchange
#row = affine_map<(o, c) -> (o, c)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<32x4xf32>}) -> tensor<9x1x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [8, 1, 4] : tensor<8x4xf32> into tensor<8x1x4xf32>
  %1 = dist.halo_exchange %0 dim 0 low 1 high 0 over "sp" on @m : tensor<8x1x4xf32> -> tensor<9x1x4xf32>
  %2 = tensor.extract_slice %1[0, 0, 0] [8, 1, 4] [1, 1, 1] : tensor<9x1x4xf32> to tensor<8x1x4xf32>
  %3 = tensor.collapse_shape %2 [[0, 1], [2]] : tensor<8x1x4xf32> into tensor<8x4xf32>
  %4 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]} ins(%3, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x4xf32>
  %5 = tensor.expand_shape %4 [[0, 1], [2]] output_shape [8, 1, 4] : tensor<8x4xf32> into tensor<8x1x4xf32>
  %6 = dist.halo_exchange %5 dim 0 low 1 high 0 over "sp" on @m : tensor<8x1x4xf32> -> tensor<9x1x4xf32>
  return %6 : tensor<9x1x4xf32>
}

//--- ends.mlir
// What mixes rows, and what differs from device to device, ends a chain.
// SAID: remark: halo not joined with one before it: dist.all_gather mixes rows
#row = affine_map<(o) -> (o)>
dist.mesh @m ["sp" = 4]
// CHECK-LABEL: func.func @gathered
// CHECK-COUNT-2: dist.halo_exchange {{.*}} low 1 high 1
func.func @gathered(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) -> tensor<10xf32> {
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %1 = dist.all_gather %0 dim 0 over "sp" on @m : tensor<10xf32> -> tensor<40xf32>
  %2 = tensor.extract_slice %1[4] [8] [1] : tensor<40xf32> to tensor<8xf32>
  %3 = dist.halo_exchange %2 dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  return %3 : tensor<10xf32>
}

// -----

// Each device multiplies by a number of its own.
// SAID: remark: halo not joined with one before it: linalg.generic does not do the same to all rows
#row = affine_map<(o) -> (o)>
dist.mesh @m ["sp" = 4]
// CHECK-LABEL: func.func @own
// CHECK-COUNT-2: dist.halo_exchange {{.*}} low 1 high 1
func.func @own(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) -> tensor<10xf32> {
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %1 = tensor.extract_slice %0[1] [8] [1] : tensor<10xf32> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %i = dist.axis_index "sp" on @m
  %j = arith.index_cast %i : index to i64
  %n = arith.sitofp %j : i64 to f32
  %2 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%1 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %n : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %3 = dist.halo_exchange %2 dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  return %3 : tensor<10xf32>
}

// -----

// A device's index is no row of the dimension; one that the block's first row is added to is.
// SAID: remark: halos of 2 layers that follow each other, one exchange for 2: 2 rows of inputs are computed twice
// SAID: remark: halo not joined with one before it: linalg.generic does not do the same to all rows
#row = affine_map<(o) -> (o)>
dist.mesh @m ["sp" = 4]
// CHECK-LABEL: func.func @indices
// CHECK: dist.halo_exchange {{.*}} low 2 high 1
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: arith.subi %[[I]], %
// CHECK: dist.halo_exchange {{.*}} low 1 high 1
// CHECK-NOT: dist.halo_exchange
func.func @indices(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) -> tensor<10xf32> {
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %1 = tensor.extract_slice %0[0] [8] [1] : tensor<10xf32> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %c8 = arith.constant 8 : index
  %c31 = arith.constant 31 : index
  %zero = arith.constant 0.0 : f32
  %i = dist.axis_index "sp" on @m
  %start = arith.muli %i, %c8 : index
  %2 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%1 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %k = linalg.index 0 : index
    %g = arith.addi %k, %start : index
    %is = arith.cmpi ult, %g, %c31 : index
    %r = arith.select %is, %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %3 = dist.halo_exchange %2 dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %4 = tensor.extract_slice %3[0] [8] [1] : tensor<10xf32> to tensor<8xf32>
  %5 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%4 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %k = linalg.index 0 : index
    %is = arith.cmpi ult, %k, %c31 : index
    %r = arith.select %is, %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %6 = dist.halo_exchange %5 dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  return %6 : tensor<10xf32>
}

// -----

// A ring, what a dist.sync asked for, and a halo that would be wider than a block.
// SAID: remark: halo not joined with one before it: the dimension is a ring
// SAID: remark: halo not joined with one before it: of the one before, the dimension is a ring
dist.mesh @m ["sp" = 4]
// CHECK-LABEL: func.func @ring
func.func @ring(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) -> tensor<10xf32> {
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 boundary periodic over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %1 = tensor.extract_slice %0[0] [8] [1] : tensor<10xf32> to tensor<8xf32>
  %2 = dist.halo_exchange %1 dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// -----

// SAID: remark: halo not joined with one before it: a dist.sync says how many rows are exchanged here
dist.mesh @m ["sp" = 4]
// CHECK-LABEL: func.func @asked
// CHECK-COUNT-2: dist.halo_exchange {{.*}} low 1 high 1
func.func @asked(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<32xf32>}) -> tensor<10xf32> {
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" on @m : tensor<8xf32> -> tensor<10xf32>
  %1 = tensor.extract_slice %0[0] [8] [1] : tensor<10xf32> to tensor<8xf32>
  %2 = dist.halo_exchange %1 dim 0 low 1 high 1 over "sp" on @m {dist.fixed_rows} : tensor<8xf32> -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// -----

// SAID: remark: halos of 2 layers that follow each other, one exchange for 1 + 1: 0 rows of inputs are computed twice
dist.mesh @m ["sp" = 4]
// CHECK-LABEL: func.func @wide
// CHECK-COUNT-2: dist.halo_exchange {{.*}} low 2 high 0
func.func @wide(%x: tensor<3xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>, dist.global_type = tensor<12xf32>}) -> tensor<5xf32> {
  %0 = dist.halo_exchange %x dim 0 low 2 high 0 over "sp" on @m : tensor<3xf32> -> tensor<5xf32>
  %1 = tensor.extract_slice %0[0] [3] [1] : tensor<5xf32> to tensor<3xf32>
  %2 = dist.halo_exchange %1 dim 0 low 2 high 0 over "sp" on @m : tensor<3xf32> -> tensor<5xf32>
  return %2 : tensor<5xf32>
}
