// Dimensions that have names: given by them, or by one input of all that have them.

// RUN: dist-run %s --input x=random --input m=random --bind batch=6 --bind 'x[1]=5' --verify=f64 %{opt} | FileCheck %s --check-prefix=NAMED
// NAMED: y: equal to the program on one rank
// NAMED: y: f64[6, 5]
// NAMED: 2 ranks
// RUN: dist-run %s --input x=random --input m=random --bind 'm[0]=6' --bind 'x[1]=5' --verify=f64 %{opt} | FileCheck %s --check-prefix=NAMED
// RUN: dist-compile %s --bind batch=6 --bind rows=5 -o %t.dist
// RUN: dist-exec %t.dist --input x=random --input m=random | FileCheck %s --check-prefix=EXEC
// EXEC: y: f64[6, 5]

// RUN: dist-run %s --input x=random --input m=random --bind batch=6 --bind rows=5 --output %t
// RUN: dist-run %s --input x=%t/y.npy --input m=random | FileCheck %s --check-prefix=EXEC
// RUN: not dist-run %s --input x=%t/y.npy --input m=random --bind batch=4 2>&1 | FileCheck %s --check-prefix=DIFFER
// DIFFER: error: dimension 'batch' is of size 4 by --bind batch=4, and of size 6 by argument 'x', dimension 0
// RUN: not dist-run %s --input x=random --input m=random --bind 'x[0]=6' --bind 'm[0]=7' --bind rows=5 2>&1 | FileCheck %s --check-prefix=PLACES
// PLACES: error: dimension 'batch' is of size 6 by argument 'x', dimension 0, and of size 7 by argument 'm', dimension 0
// RUN: not dist-run %s --input x=random --input m=random --bind batch=0 --bind rows=5 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: dimension 'batch' is of size 0 by --bind batch=0; the program is for sizes of at least 1
// RUN: not dist-run %s --input x=random --input m=random --bind columns=5 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --bind columns=5: the program has no dimension 'columns'; the dimensions with names are: batch rows

// All that is missing is named at once.
// RUN: not dist-run %s --input x=random --input m=random 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not dist-compile %s -o %t.other 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: the sizes of dimension 0 of argument 'x', of type 'tensor<?x?xf64>', of dimension 1 of argument 'x', of type 'tensor<?x?xf64>', of dimension 0 of argument 'm', of type 'tensor<?xf64>', are not known; give them, as in --bind batch=8 --bind rows=8

// What the program asks of sizes alone is known as soon as they are.
// RUN: not dist-compile %s --bind batch=9 --bind rows=5 -o %t.other 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: run_named_sizes.mlir:[[#@LINE+10]]:{{.*}}: error: batch must be at most 8

dist.mesh @m ["d" = 2]
func.func @main(%x: tensor<?x?xf64> {dist.input = "x", dist.dimensions = ["batch", "rows"], dist.sharding = #dist.sharding<@m, [{"d"}, {}]>},
                %m: tensor<?xf64> {dist.input = "m", dist.dimensions = ["batch"]}) -> (tensor<?x?xf64> {dist.output = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = tensor.dim %x, %c0 : tensor<?x?xf64>
  %fits = arith.cmpi sge, %c8, %b : index
  cf.assert %fits, "batch must be at most 8"
  %r = tensor.dim %x, %c1 : tensor<?x?xf64>
  %e = tensor.empty(%b, %r) : tensor<?x?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<?x?xf64>, tensor<?xf64>) outs(%e : tensor<?x?xf64>) {
  ^bb0(%a: f64, %s: f64, %o: f64):
    %p = arith.mulf %a, %s : f64
    linalg.yield %p : f64
  } -> tensor<?x?xf64>
  return %y : tensor<?x?xf64>
}
