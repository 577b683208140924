// RUN: dist-opt %s --split-input-file --dist-verify-placed --verify-diagnostics

// What is placed right passes: a pending sum through a linear op, completed at
// once, a loop, a call.
dist.mesh @m ["x" = 2, "y" = 2]
func.func private @callee(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func @right(%a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>},
                 %b: tensor<16x4xf32> {dist.sharding = #dist.sharding<@m, [{"y"}, {}]>}, %n: index)
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} : tensor<8x4xf32>
  %f = linalg.fill {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} ins(%z : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul {dist.shardings = [#dist.sharding<@m, [{"x"}, {}], partial = sum {"y"}>]}
      ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = arith.negf %0 {dist.shardings = [#dist.sharding<@m, [{"x"}, {}], partial = sum {"y"}>]} : tensor<8x4xf32>
  %2 = dist.reshard %1 <@m, [{"x"}, {}], partial = sum {"y"}> to <@m, [{"x"}, {}]> cause "test"
      {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} : tensor<8x4xf32>
  %3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %2) -> tensor<8x4xf32> {
    %5 = arith.addf %s, %2 {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} : tensor<8x4xf32>
    scf.yield %5 : tensor<8x4xf32>
  } {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]}
  %4 = func.call @callee(%3) {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// -----

// C1: an op without a placement.
dist.mesh @m ["x" = 2]
func.func @op(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  // expected-error @below {{result 0 has no placement: 'dist.shardings' is missing}}
  %0 = math.exp %a : tensor<8xf32>
  return
}

// -----

// C1: an argument, a result.
dist.mesh @m ["x" = 2]
// expected-error @below {{argument 1 has no placement: 'dist.sharding' is missing}}
func.func @argument(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %b: tensor<8xf32>) {
  return
}

// -----

dist.mesh @m ["x" = 2]
// expected-error @below {{result 0 has no placement: 'dist.sharding' is missing}}
func.func @result(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

// -----

// C1: two meshes.
dist.mesh @m ["x" = 2]
dist.mesh @n ["x" = 2]
// expected-note @below {{used here}}
func.func @meshes(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{uses mesh @n, while the program is on mesh @m elsewhere; a program runs on one mesh}}
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@n, [{}]>]} : tensor<8xf32>
  return
}

// -----

// C1: a constraint is left.
dist.mesh @m ["x" = 2]
func.func @constraint(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  // expected-error @below {{is left over: --dist-insert-reshards puts reshards in its place}}
  %0 = dist.sharding_constraint %a <@m, [{"x"}]> {dist.shardings = [#dist.sharding<@m, [{"x"}]>]} : tensor<8xf32>
  return
}

// -----

// C2: operands that do not agree, and the reshard that is missing.
dist.mesh @m ["x" = 2]
func.func @disagree(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                    %b: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{operand 1 is placed as #dist.sharding<@m, [{}]>, which does not agree with operand 0 placed as #dist.sharding<@m, [{"x"}]>: dimension 0 would have to be {"x"}; a dist.reshard is missing}}
  %0 = arith.addf %a, %b {dist.shardings = [#dist.sharding<@m, [{"x"}]>]} : tensor<8xf32>
  return
}

// -----

// C2: factors of a merged dimension.
dist.mesh @m ["x" = 2]
func.func @merged(%a: tensor<4x2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  // expected-error @below {{result 0 is placed as #dist.sharding<@m, [{"x"} groups 4]>, which does not agree with operand 0}}
  %0 = tensor.collapse_shape %a [[0, 1]] {dist.shardings = [#dist.sharding<@m, [{"x"} groups 4]>]} : tensor<4x2xf32> into tensor<8xf32>
  return
}

// -----

// C2: an axis on two factors.
dist.mesh @m ["x" = 2]
func.func @twice(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                 %b: tensor<4x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} : tensor<8x8xf32>
  %f = linalg.fill {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{operand 1 is placed as #dist.sharding<@m, [{}, {"x"}]>, but "x" shards another dimension of the op as well}}
  %0 = linalg.matmul {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]}
      ins(%a, %b : tensor<8x4xf32>, tensor<4x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// C2: a dimension that the op needs whole.
dist.mesh @m ["x" = 2]
func.func @whole(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, %o: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  // expected-error @below {{but the op needs the dimension that is sharded over "x" whole}}
  %0 = linalg.softmax {dist.shardings = [#dist.sharding<@m, [{}, {"x"}]>]} dimension(1) ins(%a : tensor<8x4xf32>) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// C3: a sharded sum that is not said to be pending.
dist.mesh @m ["x" = 2]
func.func @not_said(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %z = arith.constant {dist.shardings = [#dist.sharding<@m, [{}]>]} dense<0.0> : tensor<8xf32>
  // expected-error @below {{result 0 is placed as #dist.sharding<@m, [{}]>, but a sum over "x" is pending in it}}
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%z : tensor<8xf32>) dimensions = [1] {dist.shardings = [#dist.sharding<@m, [{}]>]}
  return
}

// -----

// C3: of the other kind.
dist.mesh @m ["x" = 2]
func.func @other_kind(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %z = arith.constant {dist.shardings = [#dist.sharding<@m, [{}]>]} dense<0.0> : tensor<8xf32>
  // expected-error @below {{result 0 is placed as #dist.sharding<@m, [{}], partial = max {"x"}>, but a sum over "x" is pending in it}}
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
      {dist.shardings = [#dist.sharding<@m, [{}], partial = max {"x"}>]}
  return
}

// -----

// C3: pending where nothing is reduced.
dist.mesh @m ["x" = 2]
func.func @nothing(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{result 0 is placed as #dist.sharding<@m, [{}], partial = sum {"x"}>, but nothing leaves a reduction pending in it}}
  %0 = arith.negf %a {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]} : tensor<8xf32>
  return
}

// -----

// C3: through an op that does not commute.
dist.mesh @m ["x" = 2]
func.func @not_linear(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %z = arith.constant {dist.shardings = [#dist.sharding<@m, [{}]>]} dense<0.0> : tensor<8xf32>
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
      {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  // expected-error @below {{operand 0 is placed as #dist.sharding<@m, [{}], partial = sum {"x"}>, but the op does not commute with a sum; it must be completed before}}
  %1 = math.exp %0 {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]} : tensor<8xf32>
  return
}

// -----

// C3: a pending sum and a complete value are added: the value would count on
// every device.
dist.mesh @m ["x" = 2]
func.func @half_pending(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, %b: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %z = arith.constant {dist.shardings = [#dist.sharding<@m, [{}]>]} dense<0.0> : tensor<8xf32>
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
      {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  // expected-error @below {{but the op does not commute with a sum}}
  %1 = arith.addf %0, %b {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]} : tensor<8xf32>
  return
}

// -----

// C3: an accumulator that every device would add.
dist.mesh @m ["x" = 2]
func.func @accumulator(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, %b: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{accumulates onto operand 1 placed as #dist.sharding<@m, [{}]>, which every device adds to a result placed as #dist.sharding<@m, [{}], partial = sum {"x"}>}}
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%b : tensor<8xf32>) dimensions = [1]
      {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  return
}

// -----

// C4: a loop whose value comes back otherwise.
dist.mesh @m ["x" = 2]
func.func @loop(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %b: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> tensor<8xf32> {
    // expected-error @below {{operand 0 is placed as #dist.sharding<@m, [{}]>, but flows to where #dist.sharding<@m, [{"x"}]> is}}
    scf.yield %b : tensor<8xf32>
  } {dist.shardings = [#dist.sharding<@m, [{"x"}]>]}
  return
}

// -----

// C4: a loop may carry a sum pending, in each round in the same way.
dist.mesh @m ["x" = 2]
func.func @sum(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant {dist.shardings = [#dist.sharding<@m, [{}]>]} dense<0.0> : tensor<8xf32>
  %p = dist.reshard %z <@m, [{}]> to <@m, [{}], partial = sum {"x"}> cause "test"
      {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]} : tensor<8xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %p) -> tensor<8xf32> {
    %1 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%s : tensor<8xf32>) dimensions = [1]
        {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
    scf.yield %1 : tensor<8xf32>
  } {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  %2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %p) -> tensor<8xf32> {
    // expected-error @below {{operand 0 is placed as #dist.sharding<@m, [{}]>, but flows to where #dist.sharding<@m, [{}], partial = sum {"x"}> is}}
    scf.yield %z : tensor<8xf32>
  } {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  return
}

// -----

// C4: a branch that yields a pending value.
dist.mesh @m ["x" = 2]
func.func @branch(%c: i1, %a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %z = arith.constant {dist.shardings = [#dist.sharding<@m, [{}]>]} dense<0.0> : tensor<8xf32>
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<8x4xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
      {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  %1 = scf.if %c -> tensor<8xf32> {
    // expected-error @below {{what flows into or out of a region must be complete}}
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %0 : tensor<8xf32>
  } {dist.shardings = [#dist.sharding<@m, [{}], partial = sum {"x"}>]}
  return
}

// -----

// C4: a call that passes what the function does not take.
dist.mesh @m ["x" = 2]
func.func private @callee(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  return %a : tensor<8xf32>
}
func.func @call(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{argument 0 is placed as #dist.sharding<@m, [{}]>, but @callee takes it as #dist.sharding<@m, [{"x"}]>}}
  %0 = func.call @callee(%a) {dist.shardings = [#dist.sharding<@m, [{"x"}]>]} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// C4: a function that returns otherwise than it says.
dist.mesh @m ["x" = 2]
func.func @returns(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{operand 0 is placed as #dist.sharding<@m, [{"x"}]>, but result 0 of the function as #dist.sharding<@m, [{}]>}}
  return %a : tensor<8xf32>
}

// -----

// C4: a body that reads a tensor at any index.
dist.mesh @m ["x" = 2]
func.func @capture(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %0 = tensor.generate {
  ^bb0(%i: index):
    // expected-error @below {{operand 0 is placed as #dist.sharding<@m, [{"x"}]>, but is needed whole here}}
    %e = tensor.extract %a[%i] : tensor<8xf32>
    tensor.yield %e : f32
  } {dist.shardings = [#dist.sharding<@m, [{}]>]} : tensor<8xf32>
  return
}

// -----

// C5: a reshard that starts from elsewhere.
dist.mesh @m ["x" = 2]
func.func @reshard(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error @below {{starts from #dist.sharding<@m, [{"x"}]>, but its operand is placed as #dist.sharding<@m, [{}]>}}
  %0 = dist.reshard %a <@m, [{"x"}]> to <@m, [{}]> cause "test" {dist.shardings = [#dist.sharding<@m, [{}]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["x" = 2]
func.func @reshard_end(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  // expected-error @below {{ends at #dist.sharding<@m, [{}]>, but its result is placed as #dist.sharding<@m, [{"x"}]>}}
  %0 = dist.reshard %a <@m, [{"x"}]> to <@m, [{}]> cause "test" {dist.shardings = [#dist.sharding<@m, [{"x"}]>]} : tensor<8xf32>
  return
}

// -----

// Signatures without a placement do not hide what is placed inside.
dist.mesh @m ["x" = 2]
// expected-error @below {{argument 0 has no placement}}
func.func @inside_only(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = math.tanh %a {dist.shardings = [#dist.sharding<@m, [{}, {}], partial = sum {"x"}>]} : tensor<8x4xf32>
  %1 = math.exp %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Rows of which one device has each: what keeps them apart and makes zeros of zeros passes, if all are looked up by the
// same indices.
#id = affine_map<(i, j) -> (i, j)>
dist.mesh @m ["x" = 2]
func.func @rows(%i: tensor<4x1xindex> {dist.sharding = #dist.sharding<@m, [{}, {}]>},
                %j: tensor<4x1xindex> {dist.sharding = #dist.sharding<@m, [{}, {}]>},
                %a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %e = tensor.empty() {dist.shardings = [#dist.sharding<@m, [{}, {}]>]} : tensor<4x4xf32>
  %0 = tensor.gather %a[%i] gather_dims([0]) {dist.shardings = [#dist.sharding<@m, [{}, {}], partial = sum {"x"}>]}
      : (tensor<8x4xf32>, tensor<4x1xindex>) -> tensor<4x4xf32>
  %1 = tensor.gather %a[%j] gather_dims([0]) {dist.shardings = [#dist.sharding<@m, [{}, {}], partial = sum {"x"}>]}
      : (tensor<8x4xf32>, tensor<4x1xindex>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
      attrs = {dist.shardings = [#dist.sharding<@m, [{}, {}], partial = sum {"x"}>]} {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %z = arith.mulf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<4x4xf32>
  // expected-error @below {{but the op does not commute with a sum; it must be completed before}}
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
      attrs = {dist.shardings = [#dist.sharding<@m, [{}, {}], partial = sum {"x"}>]} {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %z = arith.mulf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<4x4xf32>
  return
}

// -----

// Rows that are added where they were looked up are complete; elsewhere they would be lost.

dist.mesh @m ["x" = 2]
func.func @added(%i: tensor<4x1xindex> {dist.sharding = #dist.sharding<@m, [{}, {}]>},
                 %j: tensor<4x1xindex> {dist.sharding = #dist.sharding<@m, [{}, {}]>},
                 %a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %zero = arith.constant {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]} dense<0.0> : tensor<8x4xf32>
  %0 = tensor.gather %a[%i] gather_dims([0]) {dist.shardings = [#dist.sharding<@m, [{}, {}], partial = sum {"x"}>]}
      : (tensor<8x4xf32>, tensor<4x1xindex>) -> tensor<4x4xf32>
  %1 = dist.scatter_add %0 into %zero[%i] dims [0] {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]}
      : tensor<4x4xf32> into tensor<8x4xf32>[tensor<4x1xindex>]
  // expected-error @below {{result 0 is placed as #dist.sharding<@m, [{"x"}, {}]>, but a sum over "x" is pending in it}}
  %2 = dist.scatter_add %0 into %zero[%j] dims [0] {dist.shardings = [#dist.sharding<@m, [{"x"}, {}]>]}
      : tensor<4x4xf32> into tensor<8x4xf32>[tensor<4x1xindex>]
  return
}

// -----

dist.mesh @m ["x" = 2]
func.func @manual(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error@below {{takes #dist.sharding<@m, [{}]>, but its operand is placed as #dist.sharding<@m, [{"x"}]>}}
  %0 = dist.manual_reshard %a <@m, [{}]> to <@m, [{}]> {dist.shardings = [#dist.sharding<@m, [{}]>]} : tensor<8xf32> {
  ^bb0(%part: tensor<8xf32>):
    dist.yield %part : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["x" = 2]
func.func @manual(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error@below {{its region takes 'tensor<8xf32>', but of 'tensor<8xf32>' placed as #dist.sharding<@m, [{"x"}]> a device holds 'tensor<4xf32>'}}
  %0 = dist.manual_reshard %a <@m, [{"x"}]> to <@m, [{}]> {dist.shardings = [#dist.sharding<@m, [{}]>]} : tensor<8xf32> {
  ^bb0(%part: tensor<8xf32>):
    dist.yield %part : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
