// Schedules and their directives print as they are written.
// RUN: dist-opt %s | dist-opt | FileCheck %s --strict-whitespace

// CHECK: dist.mesh @m ["dp" = 2, "tp" = 4]
dist.mesh @m ["dp" = 2, "tp" = 4]

// CHECK-LABEL:  dist.schedule @all on @m {
dist.schedule @all on @m {
  // CHECK-NEXT:{{^}}    dist.shard "h.*.fc" column over "tp"{{$}}
  dist.shard "h.*.fc" column over "tp"
  // CHECK-NEXT:{{^}}    dist.shard "h.*.attn" column over "dp", "tp"(1)2 groups 3{{$}}
  dist.shard "h.*.attn" column over "dp", "tp"(1)2 groups 3
  // CHECK-NEXT:{{^}}    dist.shard "h.*.attn" column over "tp" groups [64, 16, 16] expect 2{{$}}
  dist.shard "h.*.attn" column over "tp" groups [64, 16, 16] expect 2
  // CHECK-NEXT:{{^}}    dist.shard "h.*.attn" heads over "dp", "tp" optional{{$}}
  dist.shard "h.*.attn" heads over "dp", "tp" optional
  // CHECK-NEXT:{{^}}    dist.shard "h.*.experts" experts over "tp"{{$}}
  dist.shard "h.*.experts" experts over "tp"
  // CHECK-NEXT:{{^}}    dist.shard "h.*.mlp" output [1 = {"dp"}] partial = max {"tp"} optional{{$}}
  dist.shard "h.*.mlp" output [1 = {"dp"}] partial = max {"tp"} optional
  // CHECK-NEXT:{{^}}    dist.shard "h.*.mlp" input 0 replicate partial = sum {"dp", "tp"}{{$}}
  dist.shard "h.*.mlp" input 0 replicate partial = sum {"dp", "tp"}
  // CHECK-NEXT:{{^}}    dist.annotate "h.*" {my.flag, my.tag = 3 : i32} optional{{$}}
  dist.annotate "h.*" {my.tag = 3 : i32, my.flag} optional
  // CHECK-NEXT:{{^}}    dist.checkpoint "h.*" expect 12{{$}}
  dist.checkpoint "h.*" expect 12
  // CHECK-NEXT:{{^}}    dist.ring "h.*.attn" over "dp", "tp" expect 12{{$}}
  dist.ring "h.*.attn" over "dp", "tp" expect 12
  // CHECK-NEXT:{{^}}    dist.graph_halo "layers.*" over "dp", "tp" expect 2{{$}}
  dist.graph_halo "layers.*" over "dp", "tp" expect 2
  // CHECK-NEXT:{{^}}    dist.ring "h.*.attn" over "dp", "tp" zigzag expect 12{{$}}
  dist.ring "h.*.attn" over "dp", "tp" zigzag expect 12
  // CHECK-NEXT:{{^}}    dist.ring "h.*.attn" over "tp" optional{{$}}
  dist.ring "h.*.attn" over "tp" optional
  // CHECK-NEXT:{{^}}    dist.include "a b.mlir"{{$}}
  dist.include "a b.mlir"
  // CHECK-NEXT:{{^}}    dist.include "a.mlir" @s axes {"dp" = "data", "tp" = "model"} where {"layers" = "\22{0..3}\22"}{{$}}
  dist.include "a.mlir" @s axes {"tp" = "model", dp = "data"} where {layers = "\22{0..3}\22"}
  // CHECK-NEXT:{{^}}    dist.shard "/h\\.[0-9]+/" row over "tp" optional{{$}}
  dist.shard "/h\\.[0-9]+/" row over "tp" optional
  // CHECK-NEXT:{{^}}    dist.shard parameter "wte.weight" [{"tp"}, {?}] optional{{$}}
  dist.shard parameter "wte.weight" [{"tp"}, {?}] optional
  // CHECK-NEXT:{{^}}    dist.shard parameter "attn.weight" [{}, {"tp"} groups 3]{{$}}
  dist.shard parameter "attn.weight" [{}, {"tp"} groups 3]
  // CHECK-NEXT:{{^}}    dist.shard input "x" [{"dp"}, {}]{{$}}
  dist.shard input "x" [{"dp"}, {}]
  // CHECK-NEXT:{{^}}    dist.shard output "y" []{{$}}
  dist.shard output "y" []
  // CHECK-NEXT:{{^}}    dist.shard "h.*.mlp" input 1 [{"dp"}, {?}] expect 12{{$}}
  dist.shard "h.*.mlp" input 1 [{"dp"}, {?}] expect 12
  // CHECK-NEXT:{{^}}    dist.shard "h.*.mlp" output replicate optional{{$}}
  dist.shard "h.*.mlp" output replicate optional
  // CHECK-NEXT:{{^}}    dist.shard parameter "**" [-1 = {"tp"}, 0 = {}]{{$}}
  dist.shard parameter "**" [-1 = {"tp"}, 0 = {}]
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_pre all_gather dim 1 over "tp" expect 2{{$}}
  dist.sync "a" fwd_pre all_gather dim 1 over "tp" expect 2
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_pre all_gather dim 1 over "tp"{{$}}
  dist.sync "a" fwd_pre all_gather dim 1 over "tp"
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_post reduce_scatter dim 0 over "dp", "tp"{{$}}
  dist.sync "a" fwd_post reduce_scatter dim 0 over "dp", "tp"
  // CHECK-NEXT:{{^}}    dist.sync "a" bwd_post all_reduce over "tp" optional{{$}}
  dist.sync "a" bwd_post all_reduce over "tp" optional
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_pre halo dim 2 low 1 high 1 boundary none over "tp" optional{{$}}
  dist.sync "a" fwd_pre halo dim 2 low 1 high 1 boundary none over "tp" optional
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_post scatter dim 2 over "tp"{{$}}
  dist.sync "a" fwd_post scatter dim 2 over "tp"
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_post all_to_all dim 1 to 2 over "tp"(2)2{{$}}
  dist.sync "a" fwd_post all_to_all dim 1 to 2 over "tp"(2)2
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_post all_reduce over "tp" {note = "kept"}{{$}}
  dist.sync "a" fwd_post all_reduce over "tp" {note = "kept"}
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_post scatter dim 2 over "tp" groups 3 optional{{$}}
  dist.sync "a" fwd_post scatter dim 2 over "tp" groups 3 optional
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_post @sum{{$}}
  dist.sync "a" fwd_post @sum
  // CHECK-NEXT:{{^}}    dist.sync "a" fwd_pre @sum backward @copy expect 2{{$}}
  dist.sync "a" fwd_pre @sum backward @copy expect 2
  // CHECK-NEXT:{{^}}    dist.replace "h.*.mlp" with @mlp expect 12{{$}}
  dist.replace "h.*.mlp" with @mlp expect 12
  // CHECK-NEXT:{{^}}    dist.decompose "h.*.mlp" optional{{$}}
  dist.decompose "h.*.mlp" optional
  // CHECK-NEXT:{{^}}    dist.shard value "node_linear_1" [{"dp"}, {}]{{$}}
  dist.shard value "node_linear_1" [{"dp"}, {}]
  // CHECK-NEXT:{{^}}    dist.shard value "node_split" 1 replicate{{$}}
  dist.shard value "node_split" 1 replicate
}

// A schedule may be on a mesh that the program brings, and be empty.
// CHECK-LABEL: dist.schedule @elsewhere on @unknown attributes {note = "kept"} {
// CHECK-NEXT: dist.shard "fc" column over "any"
// CHECK-NEXT: }
dist.schedule @elsewhere on @unknown attributes {note = "kept"} {
  dist.shard "fc" column over "any"
}
// CHECK: dist.schedule @empty on @m {
// CHECK-NEXT: }
dist.schedule @empty on @m {
}
