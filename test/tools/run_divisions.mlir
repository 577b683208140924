// An integer division that has no result ends the run with a message: op, place
// and value, and the rank. It is no signal, and what is not divided by does not
// count: the padding of 5 rows on two ranks.
// RUN: rm -rf %t && mkdir -p %t
// RUN: /usr/bin/python3 %S/Inputs/write_integers.py %t/good.npy 2 -1 3 4 -5
// RUN: /usr/bin/python3 %S/Inputs/write_integers.py %t/zero.npy 2 -1 3 0 -5
// RUN: /usr/bin/python3 %S/Inputs/write_integers.py %t/some.npy 7 -7 9 -9 11
// RUN: /usr/bin/python3 %S/Inputs/write_integers.py %t/least.npy 7 -2147483648 9 -9 11
// RUN: /usr/bin/python3 %S/Inputs/write_integers.py %t/quotient.npy 3 7 3 -2 -2
// RUN: /usr/bin/python3 %S/Inputs/write_integers.py %t/remainder.npy 1 0 0 -1 1
// RUN: dist-run %s --input a=%t/some.npy --input b=%t/good.npy --verify --expect q=%t/quotient.npy --expect r=%t/remainder.npy
// RUN: not dist-run %s --input a=%t/some.npy --input b=%t/zero.npy 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dist-run %s --input a=%t/least.npy --input b=%t/good.npy 2>&1 | FileCheck %s --check-prefix=LEAST
// ZERO: dist-run: error: rank 1 (dp=1): {{.*}}run_divisions.mlir:{{[0-9]+}}{{.*}}: arith.{{div|rem}}si: the divisor must be another number, not 0
// LEAST: dist-run: error: rank 0 (dp=0): {{.*}}run_divisions.mlir:{{[0-9]+}}{{.*}}: arith.divsi: what is divided by -1 must be greater than the least number of its type, not -2147483648

dist.mesh @m ["dp" = 2]
func.func @main(%a: tensor<5xi32> {dist.input = "a", dist.sharding = #dist.sharding<@m, [{"dp"}]>},
                %b: tensor<5xi32> {dist.input = "b", dist.sharding = #dist.sharding<@m, [{"dp"}]>})
    -> (tensor<5xi32> {dist.output = "q"}, tensor<5xi32> {dist.output = "r"}) {
  %q = arith.divsi %a, %b : tensor<5xi32>
  %r = arith.remsi %a, %b : tensor<5xi32>
  return %q, %r : tensor<5xi32>, tensor<5xi32>
}
