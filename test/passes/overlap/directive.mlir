// dist.overlap: never, and always, whatever the estimate is; errors at its line.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/never.mlir report=false" --dist-spmd --dist-schedule-overlap='machine=%t/slow.json memory=2' --dist-verify-schedule | FileCheck %s --check-prefix=NEVER
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/decide.mlir report=false" --dist-spmd --dist-schedule-overlap='machine=%t/slow.json memory=2' --dist-verify-schedule | FileCheck %s --check-prefix=DECIDE
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/decide.mlir report=false" --dist-spmd --dist-schedule-overlap='machine=%t/fast.json memory=2' | FileCheck %s --check-prefix=LEFT
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/always.mlir report=false" --dist-spmd --dist-schedule-overlap='machine=%t/fast.json memory=2' --dist-verify-schedule | FileCheck %s --check-prefix=ALWAYS
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/both.mlir" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/none.mlir" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/word.mlir" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: dist-opt %t/always.mlir | FileCheck %s --check-prefix=TEXT

// TEXT: dist.overlap "b" always expect 1

// Of parameters in parts the second could be gathered beside the first product.
// NEVER: dist.mesh @m ["dp" = 2] {dist.overlap = {b = false}}
// NEVER-NOT: dist.stream
// DECIDE: dist.all_gather
// DECIDE: dist.all_gather {{.*}}dist.stream = 1 : i32
// DECIDE: linalg.matmul
// LEFT-NOT: dist.stream
// ALWAYS: dist.all_gather {{.*}}dist.scope = "b", dist.stream = 1 : i32
// BOTH: both.mlir:5:3: error: module "b" has never from a directive before; leave one out
// NONE: none.mlir:4:3: error:{{.*}}"c"
// WORD: word.mlir:4:{{[0-9]+}}: error:{{.*}} expected 'always', 'never', 'chunks' or 'ring'

//--- model.mlir
func.func @main(%x: tensor<512x512xf32> {dist.input = "x"}, %w: tensor<512x512xf32> {dist.parameter = "a.weight"},
                %v: tensor<512x512xf32> {dist.parameter = "b.weight"}) -> (tensor<512x512xf32> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<512x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %0 = linalg.matmul {dist.scope = "a"} ins(%x, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = linalg.matmul {dist.scope = "b"} ins(%0, %v : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}
//--- decide.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.shard parameter "*.weight" [{"dp"}, {}]
}
//--- never.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.overlap "b" never
  dist.shard parameter "*.weight" [{"dp"}, {}]
}
//--- always.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.overlap "b" always expect 1
  dist.shard parameter "*.weight" [{"dp"}, {}]
}
//--- both.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.overlap "{a,b}" never
  dist.overlap "b" always
}
//--- none.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.overlap "c" never
}
//--- word.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.overlap "b" sometimes
}
//--- slow.json
{"name": "slow", "source": "round numbers", "call_seconds": 1e-3,
 "device": {"flops_per_second": {"f32": 1e11}, "scalar_ops_per_second": 1e10, "bytes_per_second": 1e11, "cache_bytes": 0, "cache_bytes_per_second": 1e11, "memory_bytes": 1e10, "op_seconds": 0, "source": "round numbers"},
 "overlap": {"start_seconds": 1e-6, "slowdown": 0, "source": "round numbers"},
 "links": [{"name": "l", "devices": 2, "bytes_per_second": 1e9, "step_seconds": 0, "source": "round numbers"}]}
//--- fast.json
{"name": "fast", "source": "round numbers", "call_seconds": 1e-9,
 "device": {"flops_per_second": {"f32": 1e11}, "scalar_ops_per_second": 1e10, "bytes_per_second": 1e11, "cache_bytes": 0, "cache_bytes_per_second": 1e11, "memory_bytes": 1e10, "op_seconds": 0, "source": "round numbers"},
 "overlap": {"start_seconds": 1e-3, "slowdown": 0, "source": "round numbers"},
 "links": [{"name": "l", "devices": 2, "bytes_per_second": 1e12, "step_seconds": 0, "source": "round numbers"}]}
