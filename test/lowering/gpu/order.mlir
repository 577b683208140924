// The order of a sum depends on how many terms it has, not on how they lie or how many sums there are. One column of 4,096
// rows is a block's 256 threads, as one row is; two are 32 threads' each. Both give the same bits, so their differences
// are 0. So it is with a row of 20,000, alone or beside another. (--verify would not tell: rounding decides what such a
// difference is.)
// RUN: dist-run %s --backend cuda --driver emulated --random=1 --output %t 2>&1 | FileCheck %s --implicit-check-not='emulated GPU'
// RUN: %{npy} check %t/f32sums.npy 0
// RUN: %{npy} check %t/f64sums.npy 0
// RUN: %{npy} check %t/maxima.npy 0
// RUN: %{npy} check %t/long.npy 0
// CHECK: 1 rank, 1 run

func.func @main(%x: tensor<4096x2xf32> {dist.input = "x"}, %rows: tensor<2x20000xf32> {dist.input = "rows"})
    -> (tensor<1xf32> {dist.output = "f32sums"}, tensor<1xf64> {dist.output = "f64sums"}, tensor<1xf32> {dist.output = "maxima"},
        tensor<1xf32> {dist.output = "long"}) {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %zero1 = arith.constant dense<0.0> : tensor<1xf32>
  %least = arith.constant dense<0xFF800000> : tensor<2xf32>
  %least1 = arith.constant dense<0xFF800000> : tensor<1xf32>
  %one = tensor.extract_slice %x[0, 1] [4096, 1] [1, 1] : tensor<4096x2xf32> to tensor<4096x1xf32>
  %a = linalg.reduce ins(%x : tensor<4096x2xf32>) outs(%zero : tensor<2xf32>) dimensions = [0]
    (%p: f32, %s: f32) { %r = arith.addf %p, %s : f32 linalg.yield %r : f32 }
  %b = linalg.reduce ins(%one : tensor<4096x1xf32>) outs(%zero1 : tensor<1xf32>) dimensions = [0]
    (%p: f32, %s: f32) { %r = arith.addf %p, %s : f32 linalg.yield %r : f32 }
  %a1 = tensor.extract_slice %a[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %d = arith.subf %a1, %b : tensor<1xf32>
  %m = linalg.reduce ins(%x : tensor<4096x2xf32>) outs(%least : tensor<2xf32>) dimensions = [0]
    (%p: f32, %s: f32) { %r = arith.maximumf %p, %s : f32 linalg.yield %r : f32 }
  %n = linalg.reduce ins(%one : tensor<4096x1xf32>) outs(%least1 : tensor<1xf32>) dimensions = [0]
    (%p: f32, %s: f32) { %r = arith.maximumf %p, %s : f32 linalg.yield %r : f32 }
  %m1 = tensor.extract_slice %m[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %e = arith.subf %m1, %n : tensor<1xf32>
  %wide = arith.extf %x : tensor<4096x2xf32> to tensor<4096x2xf64>
  %wide1 = arith.extf %one : tensor<4096x1xf32> to tensor<4096x1xf64>
  %z = arith.constant dense<0.0> : tensor<2xf64>
  %z1 = arith.constant dense<0.0> : tensor<1xf64>
  %u = linalg.reduce ins(%wide : tensor<4096x2xf64>) outs(%z : tensor<2xf64>) dimensions = [0]
    (%p: f64, %s: f64) { %r = arith.addf %p, %s : f64 linalg.yield %r : f64 }
  %v = linalg.reduce ins(%wide1 : tensor<4096x1xf64>) outs(%z1 : tensor<1xf64>) dimensions = [0]
    (%p: f64, %s: f64) { %r = arith.addf %p, %s : f64 linalg.yield %r : f64 }
  %u1 = tensor.extract_slice %u[1] [1] [1] : tensor<2xf64> to tensor<1xf64>
  %w = arith.subf %u1, %v : tensor<1xf64>
  %row = tensor.extract_slice %rows[1, 0] [1, 20000] [1, 1] : tensor<2x20000xf32> to tensor<1x20000xf32>
  %f = linalg.reduce ins(%rows : tensor<2x20000xf32>) outs(%zero : tensor<2xf32>) dimensions = [1]
    (%p: f32, %s: f32) { %r = arith.addf %p, %s : f32 linalg.yield %r : f32 }
  %g = linalg.reduce ins(%row : tensor<1x20000xf32>) outs(%zero1 : tensor<1xf32>) dimensions = [1]
    (%p: f32, %s: f32) { %r = arith.addf %p, %s : f32 linalg.yield %r : f32 }
  %f1 = tensor.extract_slice %f[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %h = arith.subf %f1, %g : tensor<1xf32>
  return %d, %w, %e, %h : tensor<1xf32>, tensor<1xf64>, tensor<1xf32>, tensor<1xf32>
}
