// An axis of the mesh becomes turns of one device; what does not depend on the turn is done once.
// RUN: dist-opt %s --dist-unroll-axis --dist-verify-spmd --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: dist.mesh @m ["tp" = 2]
dist.mesh @m ["chunk" = 2, "tp" = 2]

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32> {dist.global_type = tensor<4x6xf32>, dist.sharding = #dist.sharding<@m, [{}, {}]>}
// CHECK-SAME: -> (tensor<4x6xf32> {{.*}}, tensor<4x6xf32> {{.*}})
func.func @main(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>},
                %w: tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>},
        tensor<4x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<4x6xf32>}) {
  // CHECK-DAG: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 6] [1, 1]
  // CHECK-DAG: %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 6] [1, 1]
  // CHECK: %[[W:.*]] = linalg.exp
  // CHECK-NOT: linalg.exp
  %we = tensor.empty() : tensor<6xf32>
  %we2 = linalg.exp ins(%w : tensor<6xf32>) outs(%we : tensor<6xf32>) -> tensor<6xf32>
  // A turn is done as a whole.
  // CHECK: %[[B0:.*]] = linalg.broadcast ins(%[[W]]
  // CHECK: linalg.add ins(%[[X0]], %[[B0]]
  // CHECK: %[[R0:.*]] = dist.all_reduce
  // CHECK: linalg.add ins(%[[X1]], %[[B0]]
  // CHECK: %[[R1:.*]] = dist.all_reduce
  %e = tensor.empty() : tensor<2x6xf32>
  %b = linalg.broadcast ins(%we2 : tensor<6xf32>) outs(%e : tensor<2x6xf32>) dimensions = [0]
  %a = linalg.add ins(%x, %b : tensor<2x6xf32>, tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %r = dist.all_reduce %a sum over "tp" : tensor<2x6xf32>
  // CHECK: %[[G:.*]] = tensor.concat dim(0) %[[R0]], %[[R1]]
  %g = dist.all_gather %r dim 0 over "chunk" : tensor<2x6xf32> -> tensor<4x6xf32>
  // CHECK: %[[Y:.*]] = tensor.concat dim(0) %[[R0]], %[[R1]]
  // CHECK: return %[[Y]], %[[G]]
  return %r, %g : tensor<2x6xf32>, tensor<4x6xf32>
}

// -----

dist.mesh @m ["chunk" = 2, "tp" = 2]
func.func @main(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<2x6xf32>}) {
  // expected-error@below {{cannot be done by one device in turns along axis 'chunk'}}
  %r = dist.all_reduce %x sum over "chunk" : tensor<2x6xf32>
  return %r : tensor<2x6xf32>
}

// -----

// expected-error@below {{--dist-unroll-axis: the program's mesh has no axis 'chunk'}}
module {
  dist.mesh @m ["tp" = 2]
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}

// -----

dist.mesh @m ["chunk" = 2, "dp" = 2]
// expected-error@below {{to do axis 'chunk' in turns it must shard a dimension as the last of its axes}}
func.func @main(%x: tensor<1x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk", "dp"}, {}]>, dist.global_type = tensor<4x6xf32>}) -> (tensor<1x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk", "dp"}, {}]>, dist.global_type = tensor<4x6xf32>}) {
  return %x : tensor<1x6xf32>
}

// -----

// What is made of all turns' parts is done once, between turns and in no kernel of theirs; parts of one argument are that argument.
dist.mesh @m ["chunk" = 2, "tp" = 2]
// CHECK-LABEL: func.func @joined
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x6xf32>
// CHECK: %[[A0:.*]] = linalg.exp
// CHECK: dist.fence
// CHECK: %[[A1:.*]] = linalg.exp
// CHECK: dist.fence
// CHECK: %[[A:.*]] = tensor.concat dim(0) %[[A0]], %[[A1]]
// CHECK: %[[G:.*]] = linalg.reduce {{.*}}ins(%[[A]] : tensor<4x6xf32>)
// CHECK: dist.all_reduce %[[G]] sum over "tp"
// CHECK: linalg.reduce {{.*}}ins(%[[X]] : tensor<4x6xf32>)
// CHECK: dist.fence
// CHECK: linalg.negf ins(%[[A0]]
// CHECK: dist.fence
// CHECK: linalg.negf ins(%[[A1]]
// What another sum reads, too, is put together once.
// CHECK-NOT: concat dim(0) %[[A0]]
// CHECK: linalg.reduce {{.*}}ins(%[[A]] : tensor<4x6xf32>)
// CHECK: dist.fence
func.func @joined(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6xf32>
  %s = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%z : f32) outs(%s : tensor<6xf32>) -> tensor<6xf32>
  %a = linalg.exp ins(%x : tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %whole = dist.all_gather %a dim 0 over "chunk" : tensor<2x6xf32> -> tensor<4x6xf32>
  %g = linalg.reduce { arith.addf } ins(%whole : tensor<4x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  %r = dist.all_reduce %g sum over "tp" : tensor<6xf32>
  %xs = dist.all_gather %x dim 0 over "chunk" : tensor<2x6xf32> -> tensor<4x6xf32>
  %h = linalg.reduce { arith.addf } ins(%xs : tensor<4x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  %n = linalg.negf ins(%a : tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %i = linalg.reduce { arith.maximumf } ins(%whole : tensor<4x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  return %n, %r, %h, %i : tensor<2x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// Along other axes an exchange is done once, of what all turns have or for them: the turns' parts lie together.
dist.mesh @m ["dp" = 2, "chunk" = 2]
// CHECK-LABEL: func.func @others
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x6xf32>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<8x6xf32>
func.func @others(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "chunk"}, {}]>, dist.global_type = tensor<8x6xf32>},
                  %y: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<8x6xf32>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<8x6xf32>},
        tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "chunk"}, {}]>, dist.global_type = tensor<8x6xf32>},
        tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "chunk"}, {}]>, dist.global_type = tensor<8x6xf32>}) {
  // CHECK: %[[PART:.*]] = dist.all_slice %[[Y]] dim 0 over "dp" : tensor<8x6xf32> -> tensor<4x6xf32>
  // CHECK-DAG: %[[Y0:.*]] = tensor.extract_slice %[[PART]][0, 0] [2, 6]
  // CHECK-DAG: %[[Y1:.*]] = tensor.extract_slice %[[PART]][2, 0] [2, 6]
  // CHECK-DAG: dist.local_constant dense{{.*}} : tensor<8x1xf32> <@m, [{"dp"}, {}]> -> tensor<4x1xf32>
  // CHECK-DAG: %[[I:.*]] = dist.axis_index "dp"
  // CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[I]], %c2
  // CHECK-DAG: arith.addi %[[FIRST]], %c0
  // CHECK-DAG: arith.addi %[[FIRST]], %c1
  %s = dist.all_slice %y dim 0 over "dp", "chunk" : tensor<8x6xf32> -> tensor<2x6xf32>
  %c = dist.local_constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]> : tensor<8x1xf32> <@m, [{"dp", "chunk"}, {}]> -> tensor<2x1xf32>
  %i = dist.axis_index "dp", "chunk"
  %int = arith.index_cast %i : index to i32
  %float = arith.sitofp %int : i32 to f32
  %e = tensor.empty() : tensor<2x6xf32>
  // CHECK: %[[A0:.*]] = linalg.exp ins(%[[Y0]]
  // CHECK: %[[A1:.*]] = linalg.exp ins(%[[Y1]]
  %a = linalg.exp ins(%s : tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %column = tensor.collapse_shape %c [[0, 1]] : tensor<2x1xf32> into tensor<2xf32>
  %b = linalg.broadcast ins(%column : tensor<2xf32>) outs(%e : tensor<2x6xf32>) dimensions = [1]
  %f = linalg.fill ins(%float : f32) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %d = linalg.add ins(%b, %f : tensor<2x6xf32>, tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  // CHECK: %[[J:.*]] = tensor.concat dim(0) %[[A0]], %[[A1]]
  // CHECK: dist.all_gather %[[J]] dim 0 over "dp" : tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK-NOT: dist.all_gather
  %g = dist.all_gather %a dim 0 over "dp", "chunk" : tensor<2x6xf32> -> tensor<8x6xf32>
  return %g, %d, %x : tensor<8x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>
}

// -----

dist.mesh @m ["chunk" = 2, "dp" = 2]
func.func @first(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<8x6xf32>}) {
  // expected-error@below {{all_gather, all_slice and axis_index can where that is the last of their axes}}
  %g = dist.all_gather %x dim 0 over "chunk", "dp" : tensor<2x6xf32> -> tensor<8x6xf32>
  return %g : tensor<8x6xf32>
}

// -----

// What comes from other devices under the axis' name does, too.
dist.mesh @m ["dp" = 2, "chunk" = 2]
func.func @permuted(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>}) {
  // expected-error@below {{cannot be done by one device in turns along axis 'chunk'}}
  %p = dist.collective_permute %x from "dp" to "chunk" : tensor<2x6xf32>
  return %p : tensor<2x6xf32>
}

// -----

// A loop that sends something does all turns in each of its own. What is carried of a turn is carried for each, also where
// it begins as the same for all; what is made of all of them is carried once. A loop that sends nothing is done by each.
dist.mesh @m ["chunk" = 2, "tp" = 2]
// CHECK-LABEL: func.func @loop
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x6xf32>
// CHECK-DAG: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 6]
// CHECK-DAG: %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 6]
// CHECK: %[[L:.*]]:5 = scf.for {{.*}} iter_args(%[[A0:.*]] = %[[X0]], %[[A1:.*]] = %[[X1]], %[[B0:.*]] = %[[F:.*]], %[[B1:.*]] = %[[F]], %[[S:.*]] = %{{.*}}) ->
// CHECK: %[[R0:.*]] = dist.all_reduce %[[A0]]
// CHECK: dist.fence
// CHECK: %[[R1:.*]] = dist.all_reduce %[[A1]]
// CHECK: dist.fence
// CHECK: %[[J:.*]] = tensor.concat dim(0) %[[R0]], %[[R1]]
// CHECK: %[[T:.*]] = linalg.reduce {{.*}}ins(%[[J]] : tensor<4x6xf32>) outs(%[[S]]
// CHECK: dist.fence
// CHECK: %[[C0:.*]] = linalg.add ins(%[[R0]], %[[B0]]
// CHECK: %[[C1:.*]] = linalg.add ins(%[[R1]], %[[B1]]
// CHECK: scf.yield %[[R0]], %[[R1]], %[[C0]], %[[C1]], %[[T]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[L]]#2)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[L]]#3)
// CHECK: return %{{.*}}, %[[L]]#4
func.func @loop(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>}) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<2x6xf32>
  %s = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %fs = linalg.fill ins(%z : f32) outs(%s : tensor<6xf32>) -> tensor<6xf32>
  %l:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %f, %sum = %fs) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<6xf32>) {
    %r = dist.all_reduce %a sum over "tp" : tensor<2x6xf32>
    %whole = dist.all_gather %r dim 0 over "chunk" : tensor<2x6xf32> -> tensor<4x6xf32>
    %t = linalg.reduce { arith.addf } ins(%whole : tensor<4x6xf32>) outs(%sum : tensor<6xf32>) dimensions = [0]
    %c = linalg.add ins(%r, %b : tensor<2x6xf32>, tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
    scf.yield %r, %c, %t : tensor<2x6xf32>, tensor<2x6xf32>, tensor<6xf32>
  }
  %k = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %l#1) -> (tensor<2x6xf32>) {
    %n = linalg.negf ins(%a : tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
    scf.yield %n : tensor<2x6xf32>
  }
  return %k, %l#2 : tensor<2x6xf32>, tensor<6xf32>
}

// -----

dist.mesh @m ["chunk" = 2, "tp" = 2]
func.func @often(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>, dist.global_type = tensor<4x6xf32>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = dist.axis_index "chunk"
  // expected-error@below {{turns as often as the place along axis 'chunk' says}}
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<2x6xf32>) {
    %r = dist.all_reduce %a sum over "tp" : tensor<2x6xf32>
    scf.yield %r : tensor<2x6xf32>
  }
  return %l : tensor<2x6xf32>
}
