// RUN: not dist-opt %s --dist-recompute=what=all 2>&1 | FileCheck %s --check-prefix=WHAT
// RUN: not dist-opt %s --dist-recompute 2>&1 | FileCheck %s --check-prefix=LEVEL

// WHAT: error: --recompute=all: expected asked, cheap or gathers
// LEVEL: error: is of level 1: what is kept is decided for the program of one device, after --dist-spmd

dist.mesh @m ["dp" = 2]
func.func @main(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"dp"}]>}) -> tensor<8xf32> {
  %0 = math.exp %x {dist.backward} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
