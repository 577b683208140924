// RUN: %{root}/tools/dist-opt %s --dist-spmd | FileCheck %s --check-prefix=UNKNOWN
// RUN: %{root}/tools/dist-opt %s --dist-spmd=machine=64x8xH100 | FileCheck %s --check-prefix=NODES
// RUN: %{root}/tools/dist-opt %s --dist-spmd='machine=64x8xH100 link={latency=1ms,bandwidth=1GB/s}' | FileCheck %s --check-prefix=UNKNOWN
// RUN: %{root}/tools/dist-opt %s --dist-spmd=machine=64x8xH100 | %{root}/tools/dist-report - --machine 64x8xH100 --simulate | FileCheck %s --check-prefix=REPORT
// RUN: %{root}/tools/dist-run %s --machine 64x8xH100 --random --verify=f64 %{opt} | FileCheck %s --check-prefix=EQUAL
// RUN: not %{root}/tools/dist-opt %s --dist-spmd=machine=8xH100 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not %{root}/tools/dist-opt %s --dist-spmd='link={latency=20us}' 2>&1 | FileCheck %s --check-prefix=LINK

// Where nothing is known of the machine each collective takes 20 us, and one
// gathers over both axes. On nodes of eight devices, between which "x" is, a
// ring of all 32 takes three steps between nodes and 28 within; one for each
// axis takes three and seven. With a link of 1 ms in place of these it is one
// again.

// UNKNOWN:      dist.all_gather {{.*}} over "x", "y"
// NODES:        dist.all_gather {{.*}} over "y"
// NODES:        dist.all_gather {{.*}} over "x"
// REPORT:       all_gather y
// REPORT:       all_gather x
// REPORT:       simulated on 64x8xH100
// EQUAL:        equal to the program on one rank
// SMALL:        error: mesh @m has 32 devices; machine 8xH100 has 8
// LINK:         error: --dist-partition: a link without a machine

dist.mesh @m ["x" = 4, "y" = 8]
func.func @main(%a: tensor<256x256xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x", "y"}]>}) -> (tensor<256x256xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  return %a : tensor<256x256xf32>
}
