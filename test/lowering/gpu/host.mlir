// What the host's own code has to do with the device's memory: a number that is inserted is written there, one that decides
// is read, constants are copied there, whichever way they come to a kernel or a collective, and a check's words are there.
// RUN: split-file %s %t
// DEFINE: %{lower} = dist-opt --dist-lower-cuda
// DEFINE: %{run} = dist-run --backend cuda --driver emulated:reverse --random=1 --verify
// RUN: %{lower} %t/insert.mlir | FileCheck %s --check-prefix=INSERT
// RUN: %{run} %t/insert.mlir 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: %{lower} %t/chosen.mlir | FileCheck %s --check-prefix=CHOSEN
// RUN: %{run} %t/chosen.mlir --input k=0 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: %{run} %t/chosen.mlir --input k=2 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: not %{run} %t/chosen.mlir --input k=4 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: dist-run --backend cuda --driver emulated --random=1 %t/gathered.mlir --output %t/results
// RUN: %{npy} check %t/results/g.npy "1 + i % 2"
// EQUAL: y: equal to the program on one rank

//--- insert.mlir
// INSERT: llvm.func @dist_main
// INSERT: llvm.call @dist_launch
// INSERT: llvm.call @dist_write
// INSERT: llvm.call @dist_launch
func.func @main(%x: tensor<100xf32> {dist.input = "x"}) -> (tensor<100xf32> {dist.output = "y"}) {
  %seven = arith.constant 7.0 : f32
  %three = arith.constant 3 : index
  %twice = arith.addf %x, %x : tensor<100xf32>
  %y = tensor.insert %seven into %twice[%three] : tensor<100xf32>
  return %y : tensor<100xf32>
}

//--- chosen.mlir
// CHOSEN: llvm.func @dist_main
// CHOSEN: llvm.call @dist_constant
// CHOSEN: llvm.call @dist_read
// CHOSEN: llvm.call @dist_launch
// WRONG: error: rank 0: {{.*}}chosen.mlir:18:13: an index of tensor.extract is out of range{{.*}}, not 4
func.func @main(%x: tensor<4xf32> {dist.input = "x"}, %k: tensor<i64> {dist.input = "k"}) -> (tensor<4xf32> {dist.output = "y"}) {
  %one = arith.constant 1 : i64
  %numbers = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %at = tensor.extract %k[] : tensor<i64>
  %place = arith.index_cast %at : i64 to index
  %isLarge = arith.cmpi sgt, %at, %one : i64
  %chosen = scf.if %isLarge -> tensor<4xf32> {
    scf.yield %numbers : tensor<4xf32>
  } else {
    %exp = math.exp %x : tensor<4xf32>
    scf.yield %exp : tensor<4xf32>
  }
  %number = tensor.extract %chosen[%place] : tensor<4xf32>
  %all = tensor.splat %number : tensor<4xf32>
  %y = arith.addf %all, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- gathered.mlir
dist.mesh @m ["sp" = 3]
func.func @main(%x: tensor<6xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>})
    -> (tensor<6xf32> {dist.output = "g", dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>}) {
  %numbers = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %g = dist.all_gather %numbers dim 0 over "sp" : tensor<2xf32> -> tensor<6xf32>
  return %g : tensor<6xf32>
}
