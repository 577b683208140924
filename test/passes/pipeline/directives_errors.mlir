// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  // expected-error@+1 {{stages of what? The schedule has no dist.pipeline}}
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  // expected-error@+1 {{which modules do the stages have?}}
  dist.pipeline "1f1b" over "pp"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{a schedule has one dist.pipeline}}
  dist.pipeline "gpipe" over "pp"
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 4]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{matches 3 modules, and there are 4 stages, each of which has at least one}}
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "interleaved" over "pp" chunks 2
  // expected-error@+1 {{matches 3 modules, and there are 4 stages}}
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{sizes [1, 1] are of 2 stages and 2 modules, but there are 2 stages and 3 modules, as in sizes [1, 2]}}
  dist.stages "h.*" sizes [1, 1]
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{sizes [1, 1, 1] are of 3 stages and 3 modules, but there are 2 stages}}
  dist.stages "h.*" sizes [1, 1, 1]
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{module "h.0.fc" is within "h.0", which matches as well: a stage has either}}
  dist.stages "h.**"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  dist.stages "h.*"
  // expected-error@+1 {{the stages are known already}}
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  dist.stages "h.*"
  // expected-error@+1 {{is over "pp", which the stages of the dist.pipeline are on}}
  dist.shard "h.0.fc" column over "pp"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  dist.cut_pipeline_stage "h.1"
  // expected-error@+1 {{there are 2 stages, and 2 cuts: 1 are wanted}}
  dist.cut_pipeline_stage "h.2"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{no module stands before "h.0"}}
  dist.cut_pipeline_stage "h.0"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  // expected-error@+1 {{matches 2 modules: a stage begins with one}}
  dist.cut_pipeline_stage "h.{1,2}"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %a: tensor<8x8xf32> {dist.parameter = "h.0.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = "h.0.fc"} ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp {dist.scope = "h.1"} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "h.2"} ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
