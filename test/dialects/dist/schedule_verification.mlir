// Constraints of dist.schedule and its directives.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{is no directive of a schedule}}
  %0 = arith.constant 0 : index
}

// -----

// expected-error@below {{'dist.shard' op expects parent op 'dist.schedule'}}
dist.shard "fc" column over "tp"

// -----

// dist.shard C1
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'column' takes axes}}
  "dist.shard"() {target = "fc", kind = #dist.shard_target<column>, axes = []} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'row' takes axes}}
  "dist.shard"() {target = "fc", kind = #dist.shard_target<row>, axes = [#dist.axis<"tp">], dims = []} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'input' takes one entry a dimension}}
  "dist.shard"() {target = "x", kind = #dist.shard_target<input>, axes = [#dist.axis<"tp">]} : () -> ()
}

// -----

// C2
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups 0 must be at least 1}}
  dist.shard "fc" column over "tp" groups 0
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups belong to 'column' and 'row', not to 'input'}}
  "dist.shard"() {target = "x", kind = #dist.shard_target<input>, dims = [], groups = 2 : i64} : () -> ()
}

// -----

// C3
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{axis "pp" is not in mesh @m ["tp" = 4]}}
  dist.shard "fc" column over "pp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{sub-axis "tp"(1)3 does not divide axis "tp" of size 4}}
  dist.shard input "x" [{"tp"(1)3}]
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{axis "tp"(1)2 occurs twice}}
  dist.shard "fc" column over "tp", "tp"(1)2
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{axis "tp" occurs twice}}
  dist.shard input "x" [{"tp"}, {"tp"}]
}

// -----

// dist.sync C1
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{in a schedule names modules and has no operand}}
  "dist.sync"() {mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<all_reduce>, axes = [#dist.axis<"tp">]} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
// expected-error@below {{outside a schedule has an operand and no module path}}
dist.sync "fc" fwd_pre all_reduce over "tp"

// -----

// C2
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'all_reduce' takes no dimension}}
  dist.sync "fc" fwd_post all_reduce dim 1 over "tp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'reduce_scatter' needs 'dim', as in 'dim 0'}}
  dist.sync "fc" fwd_post reduce_scatter over "tp"
}

// -----

// C3
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'all_to_all' needs 'dim … to …'}}
  dist.sync "fc" fwd_post all_to_all dim 1 over "tp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'all_gather' takes no second dimension}}
  dist.sync "fc" fwd_post all_gather dim 1 to 2 over "tp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'all_to_all' from dimension 1 to itself}}
  dist.sync "fc" fwd_post all_to_all dim 1 to 1 over "tp"
}

// -----

// C4
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{axis "pp" is not in mesh @m ["tp" = 4]}}
  dist.sync "fc" fwd_post all_reduce over "pp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{needs at least one axis}}
  "dist.sync"() {target = "fc", mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<all_reduce>, axes = []} : () -> ()
}

// -----

// C5
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{in a schedule has no 'on', for it is on the schedule's mesh}}
  dist.sync "fc" fwd_post all_reduce over "tp" on @m
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{in a schedule has no 'cause', for it is one}}
  dist.sync "fc" fwd_post all_reduce over "tp" cause "me"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{expect 0 must be at least 1}}
  dist.shard "fc" column over "tp" expect 0
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{is 'optional', so that it may match nothing, and expects 2 places: leave out one of the two}}
  dist.sync "fc" fwd_post all_reduce over "tp" optional expect 2
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{names dimension 1 twice}}
  dist.shard parameter "w" [1 = {"tp"}, 1 = {}]
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{number -1 names no input or output of a module}}
  dist.shard "fc" output -1 replicate
}

// -----

// Lists of groups.
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups [4] must be at least 2 sizes from 1 to 2^40}}
  dist.shard "fc" column over "tp" groups [4]
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups [4, 0] must be at least 2 sizes from 1 to 2^40}}
  dist.shard "fc" column over "tp" groups [4, 0]
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{a list of groups belongs to 'column' or to a parameter, not to 'row'}}
  dist.shard "fc" row over "tp" groups [4, 1]
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups belong to 'column' and 'row', not to 'heads'}}
  dist.shard "attn" heads over "tp" groups 3
}

// -----

// dist.annotate
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{gives no attribute}}
  dist.annotate "fc"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{attribute 'tag' must have the prefix of a dialect that is not 'dist', as in 'my.tag'}}
  dist.annotate "fc" {tag}
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{attribute 'dist.scope' must have the prefix}}
  dist.annotate "fc" {dist.scope = "other"}
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{expect 0 must be at least 1}}
  dist.checkpoint "fc" expect 0
}

// -----

// C7
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'partial' takes a reduction and axes, and belongs to values and to 'input' and 'output' of modules}}
  "dist.shard"() {target = "x", kind = #dist.shard_target<parameter>, replicate, partialKind = #dist.reduction<sum>, partialAxes = [#dist.axis<"tp">]} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{axis "tp" occurs twice}}
  dist.shard "x" output [{"tp"}, {}] partial = sum {"tp"}
}

// -----

// Syncs by functions, and groups.
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'bwd_post' by a function: write 'fwd_pre' and name the function after 'backward'}}
  dist.sync "fc" bwd_post @f
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{has a function or another operation, not both}}
  "dist.sync"() {target = "x", mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<all_reduce>, axes = [], function = @f} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{has a function or another operation, not neither}}
  "dist.sync"() {target = "x", mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<function>, axes = []} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{by a function has no dimension, axis or groups: the function says what is communicated}}
  "dist.sync"() {target = "x", mode = #dist.sync_mode<fwd_pre>, kind = #dist.sync_kind<function>, axes = [], function = @f, dim = 1 : i64} : () -> ()
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'all_reduce' cuts no dimension that groups could be of}}
  dist.sync "fc" fwd_post all_reduce over "tp" groups 3
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{groups 0 must be at least 1}}
  dist.sync "fc" fwd_post scatter dim 1 over "tp" groups 0
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{expect 0 must be at least 1}}
  dist.replace "fc" with @f expect 0
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{number 1 names no input or output of a module}}
  "dist.shard"() {target = "x", kind = #dist.shard_target<input>, dims = [], number = 1 : i64} : () -> ()
}

// -----

// The body of a sync in a program.
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{must have one block, one argument and a dist.yield at its end}}
  %0 = "dist.manual_reshard"(%x) ({
  ^bb0:
    %1 = tensor.empty() : tensor<8xf32>
    dist.yield %1 : tensor<8xf32>
  }, {}) {source = #dist.sharding<@m, [{}]>, sharding = #dist.sharding<@m, [{}]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{goes backward from 'tensor<8xf32>' to 'tensor<8xf32>', but forward from 'tensor<2xf32>' to 'tensor<8xf32>'}}
  %0 = dist.manual_reshard %x <@m, [{"tp"}]> to <@m, [{}]> : tensor<8xf32> {
  ^bb0(%part: tensor<2xf32>):
    %1 = dist.all_gather %part dim 0 over "tp" : tensor<2xf32> -> tensor<8xf32>
    dist.yield %1 : tensor<8xf32>
  } backward {
  ^bb0(%gradient: tensor<8xf32>):
    dist.yield %gradient : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{a dimension's 'groups' are a number of equal blocks; blocks of other sizes belong to 'column'}}
  dist.shard parameter "w" [{"tp"} groups [2, 1]]
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{groups [2, 1] belong to a dimension of the list}}
  dist.shard parameter "w" replicate groups [2, 1] dim 0
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{groups of one size stand in the list, at the dimension that they are of: {"tp"} groups 3}}
  dist.shard parameter "w" [{"tp"}] groups 3 dim 0
}
