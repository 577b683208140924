// A directive of a user's dialect: names modules like any other, is applied by
// its own function, and is refused like any other.
// RUN: %{root}/test/dialects/user/user-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule 2>&1 | FileCheck %s

// CHECK: directive.mlir:10: user.replicate "h.*.norm": 2 places
// CHECK: directive.mlir:11: user.replicate "x" optional: 0 places

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  user.replicate "h.*.norm"
  user.replicate "x" optional
}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[E:.*]] = math.exp
  // CHECK-NEXT: dist.sharding_constraint %[[E]] <@m, [{}]> cause "{{.*}}user.replicate \"h.*.norm\"" {dist.scope = "h.0.norm"}
  %0 = math.exp %x {dist.scope = "h.0.norm"} : tensor<8xf32>
  // CHECK: %[[T:.*]] = math.tanh
  // CHECK-NEXT: dist.sharding_constraint %[[T]] <@m, [{}]>
  %1 = math.tanh %0 {dist.scope = "h.1.norm"} : tensor<8xf32>
  // CHECK: math.exp
  // CHECK-NEXT: return
  %2 = math.exp %1 {dist.scope = "h.1.act"} : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{"h.*.nrom" matches none of the program's 3 modules; did you mean "h.0.norm"?}}
  user.replicate "h.*.nrom"
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "h.0.norm"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{'arith.constant' op is no directive of a schedule}}
  %0 = arith.constant 1 : i32
}
