// A directive that cannot be used is an error at its line, with what would help.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false

// expected-error@below {{there is no dist.schedule}}
module {}

// -----

// expected-error@below {{there are 2 schedules; choose one by its name (--schedule-name NAME, or schedule=NAME of the pass) of @a, @b}}
module {
  dist.mesh @m ["tp" = 4]
  dist.schedule @a on @m {
  }
  dist.schedule @b on @m {
  }
}

// -----

// expected-error@below {{is on mesh @m, which is not defined}}
dist.schedule @s on @m {
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"h.*.mpl" matches none of the program's 3 modules; did you mean "h.0.mlp"?}}
  dist.shard "h.*.mpl" column over "tp"
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "h.0.mlp"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"h.*.mlp" matches none of the program's 4 modules; did you mean "model.h.0.mlp"?}}
  dist.shard "h.*.mlp" column over "tp"
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "model.h.0.mlp"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"fc" matches none of the program's 0 modules: no op has a 'dist.scope'}}
  dist.sync "fc" fwd_post all_reduce over "tp"
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'{' without '}' in "h.{0,1.mlp"}}
  dist.shard "h.{0,1.mlp" column over "tp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"/h.(0/" is no valid pattern: parentheses not balanced}}
  dist.shard "/h.(0/" column over "tp"
}

// -----

// Repeated parts within repeated ones: 125,000 times a.
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{is no valid pattern: it repeats a part more than 1000 times in all}}
  dist.shard "/(((a{1,50}){1,50}){1,50})|act/" output [{"tp"}, {}]
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{is no valid pattern: it repeats a part more than 1000 times in all}}
  dist.shard "/a{18446744073709551615}/" output [{"tp"}, {}]
}

// -----

// An activation function has nothing to shard.
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"h.*" matches 1 module, the first "h.act", but no contraction with a parameter}}
  dist.shard "h.*" column over "tp"
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "h.act"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{module "wte" has no contraction with a parameter, so 'column' does not apply; to place its parameter write dist.shard parameter "wte.weight" [{"tp"}, {}]}}
  dist.shard "wte" column over "tp"
}
func.func @main(%ids: tensor<2x1xindex>,
    %w: tensor<64x8xf32> {dist.parameter = "wte.weight"}) -> tensor<2x8xf32> {
  // expected-note@below {{the parameter is read here}}
  %0 = tensor.gather %w[%ids] gather_dims([0]) {dist.scope = "wte"}
      : (tensor<64x8xf32>, tensor<2x1xindex>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups 5 do not divide the 96 output features}}
  dist.shard "fc" column over "tp" groups 5
}
func.func @main(%x: tensor<8x32xf32>,
    %w: tensor<32x96xf32> {dist.parameter = "fc.weight"}) -> tensor<8x96xf32> {
  %init = tensor.empty() : tensor<8x96xf32>
  // expected-note@below {{at this contraction}}
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xf32>, tensor<32x96xf32>)
         outs(%init : tensor<8x96xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}

// -----

dist.mesh @m ["tp" = 5]
dist.schedule @s on @m {
  // expected-error@below {{a group of 32 features cannot be split among 5 devices evenly, as interleaved dimensions must be; the size of the axis has to divide it}}
  dist.shard "fc" column over "tp" groups 3
}
func.func @main(%x: tensor<8x32xf32>,
    %w: tensor<32x96xf32> {dist.parameter = "fc.weight"}) -> tensor<8x96xf32> {
  %init = tensor.empty() : tensor<8x96xf32>
  // expected-note@below {{at this contraction}}
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xf32>, tensor<32x96xf32>)
         outs(%init : tensor<8x96xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"w" matches none of the program's 1 parameters; did you mean "fc.w"?}}
  dist.shard parameter "w" [{"tp"}, {}]
}
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32x96xf32> {dist.parameter = "fc.w"}) {
  return
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{argument 1 ("fc.w"): sharding #dist.sharding<@m, [{"tp"}]> has 1 dimensions, but the tensor has 2: write one entry for each, {} where it is whole}}
  dist.shard parameter "fc.w" [{"tp"}]
}
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32x96xf32> {dist.parameter = "fc.w"}) {
  return
}

// -----

// Two directives that contradict each other.
dist.mesh @m ["dp" = 2, "tp" = 4]
dist.schedule @s on @m {
  // expected-note@below {{placed here}}
  dist.shard parameter "fc.w" [{"tp"}, {}]
  // expected-error@below {{places argument 1 ("fc.w") as #dist.sharding<@m, [{"dp"}, {}]>, but it is placed as #dist.sharding<@m, [{"tp"}, {}]> already: both shard dimension 0, and neither continues the other with further axes}}
  dist.shard parameter "fc.*" [{"dp"}, {}]
}
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32x96xf32> {dist.parameter = "fc.w"}) {
  return
}

// -----

dist.mesh @m ["dp" = 2, "tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{places result 0 ("y") as #dist.sharding<@m, [{?}, {"tp"}]>, but it is placed as #dist.sharding<@m, [{"tp"}, {?}]> already: they shard two dimensions over axis "tp"}}
  dist.shard output "y" [{?}, {"tp"}]
}
// expected-note@below {{placed here}}
func.func @main(%x: tensor<8x32xf32>)
    -> (tensor<8x32xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"tp"}, {?}]>}) {
  return %x : tensor<8x32xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{dimension 1 is out of range for 'tensor<8xf32>' of rank 1}}
  dist.sync "fc" fwd_pre all_gather dim 1 over "tp"
}
// expected-note@below {{this value}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "fc"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A module whose only input is a parameter.
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{module "fc" has no input tensor to sync}}
  dist.sync "fc" fwd_pre all_gather dim 0 over "tp"
}
func.func @main(%w: tensor<8xf32> {dist.parameter = "w"}) -> tensor<8xf32> {
  %0 = math.exp %w {dist.scope = "fc"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Each alternative of each brace, also of one within another.

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.shard "{a,b}.{q,k}" output replicate
  dist.shard "{a,b}.{q,x{k,z}}" output replicate optional
  // expected-error@below {{"{a,b}.w" matches none of the program's 5 modules, such as "a.k" ('w' is an alternative of "{a,b}.{q,k,w}"; each must match)}}
  dist.shard "{a,b}.{q,k,w}" output replicate
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a.q"} : tensor<8xf32>
  %1 = math.exp %0 {dist.scope = "b.k"} : tensor<8xf32>
  %2 = math.exp %1 {dist.scope = "a.k"} : tensor<8xf32>
  %3 = math.exp %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"a.xz" matches none of the program's 3 modules}}
  dist.shard "a.{q,x{k,z}}" output replicate
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a.q"} : tensor<8xf32>
  %1 = math.exp %0 {dist.scope = "a.xk"} : tensor<8xf32>
  %3 = math.exp %1 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{applies to 1 place, not to 2 as 'expect' says}}
  dist.shard "a" input [{"tp"}] expect 2
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{module "a" has 2 outputs; say which, as in 'output 0'}}
  dist.shard "a" output [{"tp"}]
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@below {{output 0 is 'tensor<8xf32>'}}
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  // expected-note@below {{output 1 is 'tensor<8xf32>'}}
  %1 = math.cos %x {dist.scope = "a"} : tensor<8xf32>
  %2 = arith.addf %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{module "a" has 1 input, and no input 1}}
  dist.shard "a" input 1 [{"tp"}]
}
// expected-note@below {{input 0 is 'tensor<8xf32>'}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4, "dp" = 2]
dist.schedule @s on @m {
  // expected-note@below {{placed here}}
  // expected-note@below {{at this op}}
  dist.shard "a" output [{"tp"}]
  // expected-error@below {{but the value is placed as #dist.sharding<@m, [{"tp"}]> already: both shard dimension 0}}
  dist.shard "a" output [{"dp"}]
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Groups of a list.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{groups [3, 1, 1] are 5 in all, which do not divide the 16 output features}}
  dist.shard "fc" column over "tp" groups [3, 1, 1]
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight"}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  // expected-note@below {{at this contraction}}
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-note@below {{by this}}
  dist.shard "fc" column over "tp" groups [3, 1]
  // expected-error@below {{takes the 16 output features apart as [8, 8], but they are taken apart as [12, 4] already}}
  dist.shard "fc" column over "tp" groups [1, 1]
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight"}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  // expected-note@below {{at this contraction}}
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{takes parameters of @f apart, which is called}}
  dist.shard "fc" column over "tp" groups [3, 1]
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight"}) -> tensor<4x16xf32> {
  %0 = func.call @f(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
func.func private @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight"}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{parameter "fc.weight" has a sharding already, so that it cannot be taken apart}}
  dist.shard "fc" column over "tp" groups [3, 1]
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Heads.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "fc" has no attention: no contraction of what its projections make; 'column' and 'row' shard projections by themselves}}
  dist.shard "fc" heads over "tp"
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight"}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Annotations.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.annotate "a" {my.tag = 1}
  // expected-error@below {{sets 'my.tag' to 2 : i64, but an op of "a" has 1 : i64 already}}
  dist.annotate "a" {my.tag = 2}
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@below {{this op}}
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Ranges of numbers.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{the range {3..1} is empty}}
  dist.annotate "h.{3..1}" {my.tag}
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{the range {0..99999999} is too long}}
  dist.annotate "h.{0..99999999}" {my.tag}
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// What is to be whole is not cut by another directive.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-note@below {{placed here}}
  dist.shard output "y" replicate
  // expected-error@below {{already: one of them says 'replicate'}}
  dist.shard output "y" [{"tp"}]
}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {dist.output = "y"}) {
  return %x : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-note@below {{placed here}}
  // expected-note@below {{at this op}}
  dist.shard "a" output [{"tp"}]
  // expected-error@below {{already: one of them says 'replicate'}}
  dist.shard "a" output replicate
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// The largest number there is has no next one.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{matches none of the program's 0 modules}}
  dist.annotate "h.{18446744073709551615..18446744073709551615}" {my.tag}
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// Which of a module's outputs has so many dimensions.

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{the list has 2 entries, but output 0 of module "a" is 'tensor<8xf32>'}}
  dist.shard "a" output 0 [{"tp"}, {}]
}
func.func @main(%x: tensor<8xf32>, %y: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>) {
  // expected-note@below {{output 0 is 'tensor<8xf32>'}}
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  // expected-note@below {{output 1 is 'tensor<8x4xf32>'}}
  %1 = math.cos %y {dist.scope = "a"} : tensor<8x4xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x4xf32>
}
