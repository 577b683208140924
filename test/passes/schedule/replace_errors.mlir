// A function that cannot take a module's place is an error at the directive.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "a" is (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>, but @f is (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>}}
  dist.replace "a" with @f
}
// expected-note@below {{the function is here}}
func.func private @f(%a: tensor<8xf32>, %b: tensor<4xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// expected-note@below {{input 0 of the module is 'tensor<8xf32>'}}
// expected-note@below {{input 1 of the module is 'tensor<8xf32>', argument 1 ("a.scale")}}
func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32> {dist.parameter = "a.scale"}) -> tensor<8xf32> {
  %0 = arith.mulf %x, %w {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "a" cannot be replaced: it reads what others make of its results}}
  dist.replace "a" with @f
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  // expected-note@below {{the first op of others that reads its results}}
  %1 = math.cos %0 {dist.scope = "b"} : tensor<8xf32>
  // expected-note@below {{this op of it}}
  %2 = math.sin %1 {dist.scope = "a"} : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.replace "a.b" with @f
  // expected-error@below {{module "a" cannot be replaced: another directive replaces some of its ops}}
  dist.replace "a" with @f
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.sin %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a.b"} : tensor<8xf32>
  %1 = math.cos %0 {dist.scope = "a"} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{@f holds 'dist.all_reduce'; a module is replaced by ops of level 0, which other directives place}}
  dist.replace "a" with @f
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@below {{this op}}
  %0 = dist.all_reduce %a sum over "tp" : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "a" cannot be replaced: its ops are in several blocks}}
  dist.replace "a" with @f
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  %1 = scf.if %c -> tensor<8xf32> {
    %2 = math.cos %0 {dist.scope = "a"} : tensor<8xf32>
    scf.yield %2 : tensor<8xf32>
  } else {
    scf.yield %0 : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{applies to 1 place, not to 2 as 'expect' says}}
  dist.replace "a" with @f expect 2
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
