// Scatters are kernels: keys of their slices are sorted, and a thread a column adds the slices of a row in their order.
// The host reads nothing.
// RUN: dist-opt %s --dist-decompose-ops=sort-scatters | FileCheck %s --check-prefix=OP
// RUN: dist-opt %s --dist-lower-cuda | FileCheck %s
// RUN: dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: dist-run %s --backend cuda --driver emulated:reverse --random=2 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: dist-run %s --backend cuda --driver emulated:7 --random=3 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'

// OP: rt.scatter ins({{.*}} : tensor<40x6x8xf32>, tensor<256xi64>) outs({{.*}} : tensor<5x8xf32>) dims [0] batch 2 add
// OP: rt.scatter ins({{.*}} : tensor<7x3xf32>, tensor<8xi64>) outs({{.*}} : tensor<4x3x6xf32>) dims [0, 2] batch 1 add
// OP: rt.scatter ins({{.*}} : tensor<7x1x3x1xbf16>, tensor<8xi64>) outs({{.*}} : tensor<4x3x6xbf16>) dims [0, 2] batch 1 ->
// OP: rt.scatter ins({{.*}} : tensor<40x6xi32>, tensor<256xi64>) outs({{.*}} : tensor<5xi32>) dims [0] batch 2 add
// CHECK-NOT: llvm.call @dist_read
// CHECK: module @dist_device
// EQUAL: rows: equal to the program on one rank (largest difference 0)
// EQUAL: places: equal to the program on one rank (largest difference 0)
// EQUAL: written: equal to the program on one rank (largest difference 0)
// EQUAL: counts: equal to the program on one rank (largest difference 0)

func.func @main(%g: tensor<40x6x8xf32> {dist.input = "g"}, %i: tensor<40x6x1xi64> {dist.input = "i"},
                %t: tensor<5x8xf32> {dist.input = "t"}, %j: tensor<7x2xi64> {dist.input = "j"},
                %s: tensor<7x3xf32> {dist.input = "s"}, %c: tensor<4x3x6xf32> {dist.input = "c"},
                %u: tensor<7x1x3x1xbf16> {dist.input = "u"}, %v: tensor<4x3x6xbf16> {dist.input = "v"},
                %m: tensor<40x6xi32> {dist.input = "m"})
    -> (tensor<5x8xf32> {dist.output = "rows"}, tensor<4x3x6xf32> {dist.output = "places"},
        tensor<4x3x6xbf16> {dist.output = "written"}, tensor<5xi32> {dist.output = "counts"}) {
  %0 = dist.scatter_add %g into %t[%i] dims [0] : tensor<40x6x8xf32> into tensor<5x8xf32>[tensor<40x6x1xi64>]
  %1 = dist.scatter_add %s into %c[%j] dims [0, 2] : tensor<7x3xf32> into tensor<4x3x6xf32>[tensor<7x2xi64>]
  %2 = tensor.scatter %u into %v[%j] scatter_dims([0, 2]) unique
      : (tensor<7x1x3x1xbf16>, tensor<4x3x6xbf16>, tensor<7x2xi64>) -> tensor<4x3x6xbf16>
  %none = arith.constant dense<0> : tensor<5xi32>
  %3 = dist.scatter_add %m into %none[%i] dims [0] : tensor<40x6xi32> into tensor<5xi32>[tensor<40x6x1xi64>]
  return %0, %1, %2, %3 : tensor<5x8xf32>, tensor<4x3x6xf32>, tensor<4x3x6xbf16>, tensor<5xi32>
}
