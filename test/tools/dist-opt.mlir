// dist-opt is mlir-opt with this project's dialect and passes: it knows the
// upstream ones too, and a pass that does not exist is an error.
// RUN: dist-opt %s --canonicalize | FileCheck %s
// RUN: not dist-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=ERR
// ERR: no-such-pass

// LLVM's own options, such as those of targets, are hidden, and taken.
// RUN: dist-opt --help | FileCheck %s --check-prefix=HELP --implicit-check-not=aarch64- --implicit-check-not=amdgpu-dpp
// RUN: dist-opt --help-hidden | FileCheck %s --check-prefix=HIDDEN
// HELP: --dist-apply-schedule
// HELP: --verify-diagnostics
// HELP: --help-hidden
// HIDDEN: --aarch64-use-aa

// CHECK-LABEL: func.func @upstream
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[A]]
func.func @upstream(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.cast %a : tensor<4xf32> to tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}
