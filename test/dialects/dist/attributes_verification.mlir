// Constraints of #dist.sharding, C1 to C5, and of the discardable attributes.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

// C1
// expected-error@below {{sharding #dist.sharding<@other, [{}]> of argument 0 names no dist.mesh}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@other, [{}]>})

// -----

func.func private @m()
// expected-error@below {{sharding #dist.sharding<@m, [{}]> of argument 0 names no dist.mesh}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>})

// -----

// C2
dist.mesh @m ["tp" = 4]
// expected-error@below {{argument 1: sharding #dist.sharding<@m, [{}]> has 1 dimensions, but the tensor has 2}}
func.func private @f(tensor<8xf32>, tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}]>})

// -----

// C3
dist.mesh @m ["dp" = 2, "tp" = 4]
// expected-error@below {{axis "x" of sharding #dist.sharding<@m, [{"x"}]> is not in mesh @m ["dp" = 2, "tp" = 4]}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>})

// -----

dist.mesh @m ["dp" = 2, "tp" = 4]
// expected-error@below {{axis "x" of sharding}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}], partial = max {"x"}>})

// -----

dist.mesh @m ["tp" = 6]
// expected-error@below {{sub-axis "tp"(2)2 does not divide axis "tp" of size 6}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(2)2}]>})

// -----

// The product of both numbers is past 63 bits.
dist.mesh @m ["tp" = 6]
// expected-error@below {{sub-axis "tp"(4294967296)4294967296 does not divide axis "tp" of size 6}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(4294967296)4294967296}]>})

// -----

// C4
dist.mesh @m ["tp" = 4]
// expected-error@below {{axis "tp" occurs twice in sharding #dist.sharding<@m, [{"tp"}, {"tp"}]>}}
func.func private @f(tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {"tp"}]>})

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{axis "tp" occurs twice in sharding #dist.sharding<@m, [{"tp"}], partial = sum {"tp"}>}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}], partial = sum {"tp"}>})

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{axis "tp"(2)2 occurs twice}}
func.func private @f(tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {"tp"(2)2}]>})

// -----

// [2, 3] and [3, 2] are no parts of one product.
dist.mesh @m ["tp" = 6]
// expected-error@below {{axis "tp"(3)2 occurs twice}}
func.func private @f(tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(1)2}, {"tp"(3)2}]>})

// -----

// C5
dist.mesh @m ["tp" = 4]
// expected-error@below {{dimension 0 of size 8 is not a multiple of its sub-dimensions' 3 in sharding #dist.sharding<@m, [{"tp"} groups 3]>}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"} groups 3]>})

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{interleaved sub-dimension of size 6 in dimension 0 is not divided by 4 devices in sharding #dist.sharding<@m, [{"tp"} groups 3]>}}
func.func private @f(tensor<18xf32> {dist.sharding = #dist.sharding<@m, [{"tp"} groups 3]>})

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{the sub-dimensions of dimension 0 multiply to more than 63 bits}}
func.func private @f(tensor<18xf32> {dist.sharding = #dist.sharding<@m, [4294967296:{} * 4294967296:{} * {"tp"}]>})

// -----

// Of a size that is not known, what is known must fit.
dist.mesh @m ["tp" = 4]
// expected-error@below {{interleaved sub-dimension of size 6 in dimension 0 is not divided by 4 devices}}
func.func private @f(tensor<?xf32> {dist.sharding = #dist.sharding<@m, [6:{"tp"} * {}]>})

// -----

// Discardable attributes.

dist.mesh @m ["tp" = 4]
// expected-error@below {{'dist.sharding' of argument 0 must be a #dist.sharding, but is "tp"}}
func.func private @f(tensor<8xf32> {dist.sharding = "tp"})

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{sharding #dist.sharding<@m, [{}]> of argument 0 needs a ranked tensor, but the type is 'f32'}}
func.func private @f(f32 {dist.sharding = #dist.sharding<@m, [{}]>})

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{result 0: sharding #dist.sharding<@m, [{}, {}]> has 2 dimensions, but the tensor has 1}}
func.func private @f() -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>})

// -----

// expected-error@below {{'dist.parameter' of argument 0 must be a string, but is 3 : i64}}
func.func private @f(f32 {dist.parameter = 3})

// -----

// expected-error@below {{'dist.output' of result 0 must be a string, but is unit}}
func.func private @f() -> (f32 {dist.output})

// -----

// expected-error@below {{'dist.global_type' of argument 0 must be a ranked tensor type, but is f32}}
func.func private @f(tensor<8xf32> {dist.global_type = f32})

// -----

// expected-error@below {{unknown attribute 'dist.shardng' of the dist dialect on argument 0}}
func.func private @f(tensor<8xf32> {dist.shardng = "tp"})

// -----

// expected-error@below {{'dist.scope' must be a string, but is 3 : i64}}
func.func private @f() attributes {dist.scope = 3}

// -----

// expected-error@below {{unknown attribute 'dist.scpe' of the dist dialect}}
func.func private @f() attributes {dist.scpe = "h"}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'dist.shardings' must be an array of one entry for each result, but is []}}
  %0 = math.exp %x {dist.shardings = []} : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{sharding #dist.sharding<@m, [{}, {}]> has 2 dimensions, but the tensor has 1}}
  %0 = math.exp %x {dist.shardings = [#dist.sharding<@m, [{}, {}]>]} : tensor<8xf32>
  return
}

// -----

// dist.part
// expected-error@below {{'dist.part' of argument 0: 'tensor<4x8xf32>' is not within #dist.part<[9, 0] of [12, 8]>}}
func.func private @f(tensor<4x8xf32> {dist.parameter = "w", dist.part = #dist.part<[9, 0] of [12, 8]>})

// -----

// expected-error@below {{'dist.part' of argument 0: 'tensor<4x8xf32>' is not within #dist.part<[-1, 0] of [12, 8]>}}
func.func private @f(tensor<4x8xf32> {dist.parameter = "w", dist.part = #dist.part<[-1, 0] of [12, 8]>})

// -----

// expected-error@below {{'dist.part' of argument 0, #dist.part<[1] of [12]>, does not have the dimensions of 'tensor<4x8xf32>'}}
func.func private @f(tensor<4x8xf32> {dist.parameter = "w", dist.part = #dist.part<[1] of [12]>})

// -----

// expected-error@below {{'dist.part' of argument 0 must be a #dist.part of a ranked tensor}}
func.func private @f(tensor<4x8xf32> {dist.parameter = "w", dist.part = 3})

// -----

// expected-error @below {{'dist.rings' must be {axes = […], by = loc(…)} for modules' paths, but is}}
dist.mesh @ring_of_no_axes ["tp" = 2] {dist.rings = {attn = {by = loc("x")}}}

// -----

// expected-error @below {{'dist.graph_halos' must be {axes = […], by = loc(…)} for modules' paths, but is 1 : i64}}
dist.mesh @graph_halo_of_what ["tp" = 2] {dist.graph_halos = 1 : i64}

// -----

func.func @padding_of_text(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'dist.padding' must be a unit attribute, but is "x"}}
  %0 = linalg.exp {dist.padding = "x"} ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @fuse_of_no_operand(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'dist.fuse' must be {by = loc(…), group = …, weight = …}, of which the last is the number of an operand, but is}}
  %0 = arith.negf %x {dist.fuse = {by = loc("x"), group = 0 : i64, weight = 1 : i64}} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error@below {{'dist.random' of argument 0 must be "seed" or "step" on a tensor<i64>, but is "seed" of type 'tensor<2xi64>'}}
func.func @main(%a: tensor<2xi64> {dist.input = "seed", dist.random = "seed"}) {
  return
}

// -----

// expected-error@below {{'dist.random' of argument 0 must be "seed" or "step" on a tensor<i64>, but is "epoch" of type 'tensor<i64>'}}
func.func @main(%a: tensor<i64> {dist.input = "epoch", dist.random = "epoch"}) {
  return
}

// -----

// expected-error @below {{'func.func' op results #0 and #2 are both the new value of argument #0 ('dist.updates'), which can take one; drop the attribute of the other}}
func.func @two(%w: tensor<4xf32>) -> (tensor<4xf32> {dist.updates = 0 : i64}, tensor<4xf32>, tensor<4xf32> {dist.updates = 0 : i64}) {
  return %w, %w, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @weights_of_an_op(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has 'dist.weights', which belongs on a module}}
  %0 = arith.negf %x {dist.weights = "w.safetensors"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @cause_of_an_op(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has 'dist.cause', which belongs on an argument or a result}}
  %0 = arith.negf %x {dist.cause = "x"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @window_cause_of_a_number(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'dist.window_cause' must be a string, but is 1 : i64}}
  %0 = arith.negf %x {dist.window_cause = 1 : i64} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @fixed_rows_of_no_exchange(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has 'dist.fixed_rows', which belongs on a dist.halo_exchange}}
  %0 = arith.negf %x {dist.fixed_rows} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What may have an attribute: docs/internals/attributes.md.

func.func @padding_of_no_linalg_op(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has 'dist.padding', which belongs on a linalg op}}
  %0 = arith.negf %x {dist.padding} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @sharding_of_an_op(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has 'dist.sharding', which belongs on an argument or a result}}
  %0 = arith.negf %x {dist.sharding = "x"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{has 'dist.rings', which belongs on a dist.mesh}}
func.func private @rings() attributes {dist.rings = {}}

// -----

// expected-error @below {{has 'dist.asked_for', which belongs on an op of one result}}
func.func private @asked_for() attributes {dist.asked_for = "reshard"}

// -----

func.func @asked_for_what(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'dist.asked_for' must be "placement", "collective" or "reshard", but is "me"}}
  %0 = arith.negf %x {dist.asked_for = "me"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{argument 1 has 'dist.scope', which belongs on an op}}
func.func private @scope(f32, f32 {dist.scope = "h"})

// -----

// expected-error @below {{argument 0 has 'dist.output', which belongs on a result}}
func.func private @output(f32 {dist.output = "y"})

// -----

// expected-error @below {{result 0 has 'dist.parameter', which belongs on an argument}}
func.func private @parameter() -> (f32 {dist.parameter = "w"})

// -----

// expected-error @below {{argument 0 has 'dist.buffer', which belongs on an argument with dist.parameter}}
func.func private @buffer(f32 {dist.input = "x", dist.buffer})

// -----

// expected-error @below {{argument 0 has 'dist.classes', which belongs on an argument with dist.input}}
func.func private @classes(tensor<8xi64> {dist.classes = 3 : i64})
