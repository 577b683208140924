// Sizes that only running tells: given, read off an input, or missing.

// RUN: dist-run %s --input x=random --input w=random --bind 'x[0]=8' --verify=f64 %{opt} | FileCheck %s --check-prefix=EIGHT
// EIGHT: y: equal to the program on one rank
// EIGHT: y: f64[8, 3, 4]
// EIGHT: 4 ranks

// Devices need not divide what a module of level 0 to 2 is given.
// RUN: dist-run %s --input x=random --input w=random --bind 'x[0]=5' --verify=f64 %{opt} | FileCheck %s --check-prefix=FIVE
// RUN: dist-opt %s --dist-propagate --dist-insert-reshards --dist-improve-reshards -o %t.placed.mlir
// RUN: dist-run %t.placed.mlir --reference %s --input x=random --input w=random --bind 'x[0]=5' --verify=f64 %{opt} | FileCheck %s --check-prefix=FIVE
// FIVE: y: equal to the program on one rank
// FIVE: y: f64[5, 3, 4]

// What a file holds has a size.
// RUN: dist-run %s --input x=random --input w=random --bind 'x[0]=7' --output %t
// RUN: dist-run %s --input x=%t/z.npy --input w=random --verify=f64 %{opt} | FileCheck %s --check-prefix=SEVEN
// SEVEN: y: equal to the program on one rank
// SEVEN: y: f64[7, 3, 4]

// The program of one device knows parts only.
// RUN: dist-opt %s --dist-spmd -o %t.spmd.mlir
// RUN: dist-run %t.spmd.mlir --reference %s --input x=random --input w=random --bind 'x[0]=8' --verify=f64 %{opt} | FileCheck %s --check-prefix=EIGHT
// RUN: not dist-run %t.spmd.mlir --input x=random --input w=random --bind 'x[0]=5' 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: spmd.mlir{{.*}}: error: dimension 0 of argument 'x' is of size 5, which 4 devices do not divide

// RUN: not dist-run %s --input x=random --input w=random 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not dist-compile %s -o %t.dist 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not dist-report %t.spmd.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: the size of dimension 0 of argument 'x', of type 'tensor<?x3x8xf64>', is not known; give it, as in --bind x[0]=8
// RUN: not dist-run %s --input x=random --input w=random --bind 'x[0]' 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: --bind x[0]: expected ARGUMENT[DIM]=SIZE, such as x[0]=8, or NAME=SIZE with the name of a dimension, and a SIZE of at least 1
// RUN: not dist-run %s --input x=random --input w=random --bind x=5 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --bind x=5: the program has no dimension 'x'; no dimension has a name

// RUN: dist-compile %s --bind 'x[0]=6' -o %t.dist
// RUN: dist-exec %t.dist --input x=random --input w=random | FileCheck %s --check-prefix=SIX
// SIX: y: f64[6, 3, 4]
// RUN: dist-report %t.spmd.mlir --bind 'x[0]=8' --json | FileCheck %s --check-prefix=REPORT
// REPORT: "op":"all_to_all","axes":["x"],"reduce":"","shape":[2,3,4],"dtype":"f64","bytes_sent_per_rank":144

dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<?x3x8xf64> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}, {}, {}]>}, %w: tensor<8x4xf64> {dist.input = "w"})
    -> (tensor<?x3x4xf64> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{}, {}, {"x"}]>}, tensor<?x3x8xf64> {dist.output = "z"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %b = tensor.dim %x, %c0 : tensor<?x3x8xf64>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x3x8xf64> into tensor<?x8xf64>
  %n = tensor.dim %flat, %c0 : tensor<?x8xf64>
  %e = tensor.empty(%n) : tensor<?x4xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<?x4xf64>) -> tensor<?x4xf64>
  %y = linalg.matmul ins(%flat, %w : tensor<?x8xf64>, tensor<8x4xf64>) outs(%f : tensor<?x4xf64>) -> tensor<?x4xf64>
  %split = tensor.expand_shape %y [[0, 1], [2]] output_shape [%b, 3, 4] : tensor<?x4xf64> into tensor<?x3x4xf64>
  %z = math.absf %x : tensor<?x3x8xf64>
  return %split, %z : tensor<?x3x4xf64>, tensor<?x3x8xf64>
}
