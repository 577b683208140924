// RUN: dist-opt %s --split-input-file --dist-verify-spmd --verify-diagnostics

// Conditions that a group's devices share: an argument, a size, a maximum over
// the group; another axis than the group's.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @right(%c: i1, %a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %0 = scf.if %c -> tensor<4xf32> {
    %5 = dist.all_reduce %a sum over "x" on @m : tensor<4xf32>
    scf.yield %5 : tensor<4xf32>
  } else {
    scf.yield %a : tensor<4xf32>
  }
  %n = tensor.dim %0, %c0 : tensor<4xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0) -> tensor<4xf32> {
    %5 = dist.all_reduce %s max over "x" on @m : tensor<4xf32>
    %6 = tensor.extract %5[%c0] : tensor<4xf32>
    %7 = arith.cmpf ogt, %6, %z : f32
    %8 = scf.if %7 -> tensor<4xf32> {
      %9 = dist.all_reduce %5 sum over "x" on @m : tensor<4xf32>
      scf.yield %9 : tensor<4xf32>
    } else {
      scf.yield %5 : tensor<4xf32>
    }
    scf.yield %8 : tensor<4xf32>
  }
  %y = dist.axis_index "y" on @m
  %first = arith.cmpi eq, %y, %c0 : index
  %2 = scf.if %first -> tensor<4xf32> {
    %5 = dist.all_reduce %1 sum over "x" on @m : tensor<4xf32>
    scf.yield %5 : tensor<4xf32>
  } else {
    scf.yield %1 : tensor<4xf32>
  }
  // A slice sends nothing.
  %x = dist.axis_index "x" on @m
  %second = arith.cmpi eq, %x, %c1 : index
  %e = tensor.empty() : tensor<2xf32>
  %3 = scf.if %second -> tensor<2xf32> {
    %5 = dist.all_slice %2 dim 0 over "x" on @m : tensor<4xf32> -> tensor<2xf32>
    scf.yield %5 : tensor<2xf32>
  } else {
    scf.yield %e : tensor<2xf32>
  }
  return %2 : tensor<4xf32>
}

// -----

// C1: what is of level 2.
dist.mesh @m ["x" = 2]
func.func @reshard(%a: tensor<8xf32>) {
  // expected-error @below {{'dist.reshard' op is left over: in the program of one device there are collectives in its place}}
  %0 = dist.reshard %a <@m, [{"x"}]> to <@m, [{}]> cause "test" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["x" = 2]
func.func @constraint(%a: tensor<8xf32>) {
  // expected-error @below {{'dist.sharding_constraint' op is left over}}
  %0 = dist.sharding_constraint %a <@m, [{"x"}]> : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["x" = 2]
func.func @shardings(%a: tensor<8xf32>) {
  // expected-error @below {{which is of level 2}}
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@m, [{"x"}]>]} : tensor<8xf32>
  return
}

// -----

// C1: two meshes.
dist.mesh @m ["x" = 2]
dist.mesh @n ["x" = 2]
func.func @meshes(%a: tensor<8xf32>) {
  // expected-note @below {{used here}}
  %0 = dist.all_reduce %a sum over "x" on @m : tensor<8xf32>
  // expected-error @below {{uses mesh @n, while the program is on mesh @m elsewhere; a program runs on one mesh}}
  %1 = dist.all_reduce %0 sum over "x" on @n : tensor<8xf32>
  return
}

// -----

// C2: a type that is not that of the part.
dist.mesh @m ["x" = 2]
// expected-error @below {{argument 0 has type 'tensor<8xf32>', but of 'tensor<8xf32>' placed as #dist.sharding<@m, [{"x"}]> a device holds 'tensor<4xf32>'}}
func.func @type(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>}) {
  return
}

// -----

// C2: a tensor of which nothing is known.
dist.mesh @m ["x" = 2]
// expected-error @below {{result 0 is a tensor without 'dist.global_type', which others have}}
func.func @unknown(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// C2: a result that is pending.
dist.mesh @m ["x" = 2]
// expected-error @below {{result 0 is placed as #dist.sharding<@m, [{}], partial = sum {"x"}>, but what a function takes and returns is complete}}
func.func @pending(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<4xf32>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{}], partial = sum {"x"}>, dist.global_type = tensor<4xf32>}) {
  return %a : tensor<4xf32>
}

// -----

// C3: only the first device reduces.
dist.mesh @m ["x" = 2]
func.func @by_coordinate(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "x" on @m
  %c = arith.cmpi eq, %i, %c0 : index
  // expected-note @below {{the condition is that of 'scf.if'}}
  %0 = scf.if %c -> tensor<4xf32> {
    // expected-error @below {{runs under a condition that differs between devices along "x", which are of one group: all must issue the same collectives}}
    %1 = dist.all_reduce %a sum over "x" on @m : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %a : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// C3: a condition read from a part of a tensor.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @by_part(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>}) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.extract %a[%c0] : tensor<4xf32>
  %c = arith.cmpf ogt, %e, %z : f32
  // expected-note @below {{the condition is that of 'scf.if'}}
  scf.if %c {
    // expected-error @below {{differs between devices along "x"}}
    %1 = dist.all_gather %a dim 0 over "y", "x" on @m : tensor<4xf32> -> tensor<16xf32>
  }
  return
}

// -----

// C3: a loop that goes on as long as the part tells it to.
dist.mesh @m ["x" = 2]
func.func @by_loop(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>, dist.global_type = tensor<8xf32>}) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  // expected-note @below {{the condition is that of 'scf.while'}}
  %0 = scf.while (%s = %a) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.extract %s[%c0] : tensor<4xf32>
    %c = arith.cmpf ogt, %e, %z : f32
    scf.condition(%c) %s : tensor<4xf32>
  } do {
  ^bb0(%s: tensor<4xf32>):
    // expected-error @below {{differs between devices along "x"}}
    %1 = dist.all_reduce %s sum over "x" on @m : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// C3: the number of iterations of one loop is that of another that differs.
dist.mesh @m ["x" = 4]
func.func @carried(%a: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = dist.axis_index "x"(2)2 on @m
  %n = scf.for %k = %c0 to %i step %c1 iter_args(%s = %c0) -> index {
    %t = arith.addi %s, %c1 : index
    scf.yield %t : index
  }
  // The other part of the axis is alike.
  scf.for %k = %c0 to %n step %c1 {
    %1 = dist.all_reduce %a sum over "x"(1)2 on @m : tensor<4xf32>
  }
  // expected-note @below {{the condition is that of 'scf.for'}}
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @below {{differs between devices along "x"(2)2}}
    %1 = dist.all_reduce %a sum over "x" on @m : tensor<4xf32>
  }
  return
}

// -----

// C3: in a function that is called under such a condition, which comes from a
// function as well.
dist.mesh @m ["x" = 2]
func.func private @is_first() -> i1 {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "x" on @m
  %c = arith.cmpi eq, %i, %c0 : index
  return %c : i1
}
func.func private @reduce(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{the collective is here}}
  %0 = dist.all_reduce %a sum over "x" on @m : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @by_call(%a: tensor<4xf32>) {
  %c = func.call @is_first() : () -> i1
  // expected-note @below {{the condition is that of 'scf.if'}}
  scf.if %c {
    // expected-error @below {{'func.call' op runs under a condition that differs between devices along "x"}}
    %0 = func.call @reduce(%a) : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

// Parts of an axis of 6 that do not nest: coordinates 0 to 5 are 0, 0, 1, 1, 2, 2 along one, 0, 0, 0, 1, 1, 1 along the other. What
// is reduced over the latter, in groups {0, 3}, {1, 4}, {2, 5}, is one number for each of these.
dist.mesh @m ["x" = 6]
func.func @parts(%a: tensor<1xf32>) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "x"(1)3 on @m
  %t = tensor.from_elements %i : tensor<1xindex>
  %0 = dist.all_reduce %t sum over "x"(1)2 on @m : tensor<1xindex>
  %1 = tensor.extract %0[%c0] : tensor<1xindex>
  %2 = arith.cmpi eq, %1, %c0 : index
  %3 = scf.if %2 -> tensor<1xf32> {
    %7 = dist.all_reduce %a sum over "x"(1)2 on @m : tensor<1xf32>
    scf.yield %7 : tensor<1xf32>
  } else {
    scf.yield %a : tensor<1xf32>
  }
  // Over the rest it is one for all.
  %4 = dist.all_reduce %0 sum over "x"(2)3 on @m : tensor<1xindex>
  %5 = tensor.extract %4[%c0] : tensor<1xindex>
  %6 = scf.for %k = %c0 to %5 step %5 iter_args(%s = %3) -> tensor<1xf32> {
    %7 = dist.all_reduce %s sum over "x" on @m : tensor<1xf32>
    scf.yield %7 : tensor<1xf32>
  }
  return %6 : tensor<1xf32>
}

// -----

// But coordinates 0 and 3 differ along the first.
dist.mesh @m ["x" = 6]
func.func @parts_differ(%a: tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "x"(1)3 on @m
  // expected-note @below {{the condition is that of 'scf.for'}}
  scf.for %k = %c0 to %i step %i {
    // expected-error @below {{runs under a condition that differs between devices along "x"(1)3, "x"(1)2}}
    %0 = dist.all_reduce %a sum over "x"(1)2 on @m : tensor<1xf32>
  }
  return
}

// -----

// And what is one number for each group of two is another for 0, 2 and 4.
dist.mesh @m ["x" = 6]
func.func @parts_of_sums(%a: tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "x"(1)3 on @m
  %t = tensor.from_elements %i : tensor<1xindex>
  %0 = dist.all_reduce %t sum over "x"(1)2 on @m : tensor<1xindex>
  %1 = tensor.extract %0[%c0] : tensor<1xindex>
  // expected-note @below {{the condition is that of 'scf.for'}}
  scf.for %k = %c0 to %1 step %1 {
    // expected-error @below {{runs under a condition that differs between devices along "x"(1)3}}
    %2 = dist.all_reduce %a sum over "x"(1)3 on @m : tensor<1xf32>
  }
  return
}

// -----

// Blocks that change places: a device gets that of the one whose coordinates are its own, exchanged.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @moved(%a: tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "y" on @m
  %t = tensor.from_elements %i : tensor<1xindex>
  %0 = dist.collective_permute %t from "x" to "y" on @m : tensor<1xindex>
  %1 = tensor.extract %0[%c0] : tensor<1xindex>
  // expected-note @below {{the condition is that of 'scf.for'}}
  scf.for %k = %c0 to %1 step %1 {
    // expected-error @below {{runs under a condition that differs between devices along "x"}}
    %2 = dist.all_reduce %a sum over "x" on @m : tensor<1xf32>
  }
  return
}

// -----

// What was one along the axis that blocks come to is one along the axis that they left.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @moved_from_one(%a: tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "x" on @m
  %t = tensor.from_elements %i : tensor<1xindex>
  %0 = dist.collective_permute %t from "x" to "y" on @m : tensor<1xindex>
  %1 = tensor.extract %0[%c0] : tensor<1xindex>
  scf.for %k = %c0 to %1 step %1 {
    %2 = dist.all_reduce %a sum over "x" on @m : tensor<1xf32>
  }
  return
}

// -----

// An axis that blocks leave and come to again is none that they bring along: what was one along "z" is one along "y".
dist.mesh @m ["x" = 2, "y" = 2, "z" = 2]
func.func @moved_beside(%a: tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %i = dist.axis_index "y", "x" on @m
  %t = tensor.from_elements %i : tensor<1xindex>
  %0 = dist.collective_permute %t from "y", "x" to "z", "x" on @m : tensor<1xindex>
  %1 = tensor.extract %0[%c0] : tensor<1xindex>
  scf.for %k = %c0 to %1 step %1 {
    %2 = dist.all_reduce %a sum over "y" on @m : tensor<1xf32>
  }
  return
}
