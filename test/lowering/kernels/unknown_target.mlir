// A target that this build does not have.
//
// RUN: not dist-opt %s --dist-form-kernels=target=abacus 2>&1 | FileCheck %s
// RUN: not dist-opt %s --dist-expand-attention=target=abacus 2>&1 | FileCheck %s
// RUN: not dist-opt %s --dist-widen-contractions=target=abacus 2>&1 | FileCheck %s
// RUN: not dist-opt %s --dist-select-contractions=target=abacus 2>&1 | FileCheck %s
// RUN: not dist-opt %s --dist-select-convolutions=target=abacus 2>&1 | FileCheck %s

// CHECK: error: target=abacus: not in this build; known is cpu

func.func @main() {
  return
}
