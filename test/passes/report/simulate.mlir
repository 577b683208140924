// The time of each op on a machine of round numbers, worked out by hand: 4
// nodes of 4 devices. Axis b is inside a node, a from node to node.
// RUN: dist-report %s --simulate --machine %S/Inputs/machine.json --timeline %t.json | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=EVENT < %t.json
// RUN: dist-report %s --simulate --machine %S/Inputs/machine.json --json | FileCheck %s --check-prefix=JSON
// RUN: /usr/bin/python3 -m json.tool < %t.json > %t.ok
// Nothing is hidden, whatever sums of these times are rounded to.
// RUN: dist-report %s --simulate --machine 64x8xH100 --json | FileCheck %s --check-prefix=HIDDEN
// RUN: dist-report %s --simulate --machine cpu --link latency=20us,bandwidth=1GB/s --json | FileCheck %s --check-prefix=HIDDEN
// HIDDEN: "hidden_communication_seconds":0,

dist.mesh @m ["a" = 4, "b" = 4]

func.func @main(%x: tensor<64xf32>, %y: tensor<4xf32>, %l: tensor<8x8xf32>,
                %r: tensor<8x8xf32>) -> (tensor<64xf32>, tensor<64xf32>,
    tensor<64xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<8xf32>,
    tensor<8x8xf32>) {
  // 256 bytes, of which a rank sends 2 * 3/4; 2 * 3 steps of 1 s.
  // EVENT: "name":"all_reduce b"{{.*}}"dur":16384000,
  %0 = dist.all_reduce %x sum over "b" : tensor<64xf32>
  // A tree of 4 nodes: 2 * log2(4) steps of 5 s, fewer than a ring's 6.
  // EVENT-SAME: "name":"all_reduce a"{{.*}}"dur":33840000,
  %1 = dist.all_reduce %x sum over "a" : tensor<64xf32>
  // A ring of 16: 12 steps inside nodes and 3 between; a rank sends 192 bytes
  // inside its node, and as one of four 48 to the next.
  // EVENT-SAME: "name":"all_gather a, b"{{.*}}"dur":37480000,
  %2 = dist.all_gather %y dim 0 over "a", "b" : tensor<4xf32> -> tensor<64xf32>
  // 48 bytes for the others of the node, 192 for other nodes, all at once.
  // EVENT-SAME: "name":"all_to_all a, b"{{.*}}"dur":16920000,
  %x2 = tensor.expand_shape %x [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
  %3 = dist.all_to_all %x2 split 0 concat 1 over "a", "b" : tensor<64x1xf32> -> tensor<4x16xf32>
  // EVENT-SAME: "name":"send_recv a"{{.*}}"dur":15160000,
  %4 = dist.send_recv %y shift 1 over "a" : tensor<4xf32>
  // Pairs inside a node.
  // EVENT-SAME: "name":"all_gather b(1)2"{{.*}}"dur":11016000,
  %5 = dist.all_gather %y dim 0 over "b"(1)2 : tensor<4xf32> -> tensor<8xf32>
  // 1024 operations take longer than 768 bytes. The filled tensor is in no
  // memory, nor is what the second nest makes for the third.
  %e = tensor.empty() : tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // EVENT-SAME: "name":"matmul"{{.*}}"dur":202{{3[.]9|4}}
  %p = linalg.matmul ins(%l, %r : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  // EVENT-SAME: "name":"exp"{{.*}}"dur":256,
  %q = linalg.exp ins(%p : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // EVENT-SAME: "name":"negf"{{.*}}"dur":1256,
  %s = linalg.negf ins(%q : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2, %3, %4, %5, %s : tensor<64xf32>, tensor<64xf32>,
      tensor<64xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<8xf32>,
      tensor<8x8xf32>
}

// TABLE: simulated on sixteen: 131 s a step
// TABLE-NEXT: products 1.02 ms 0.0%
// TABLE-NEXT: memory 512 us 0.0%
// TABLE-NEXT: starting kernels 2.00 ms 0.0%
// TABLE-NEXT: communication over b 16.4 s 12.5%
// TABLE-NEXT: communication over a 49.0 s 37.5%
// TABLE-NEXT: communication over a, b 54.4 s 41.6%
// TABLE-NEXT: communication over b(1)2 11.0 s 8.4%
// TABLE-NEXT: a device has 977 KiB of memory; a rank needs

// JSON: "simulation":{"machine":"sixteen","seconds":130.80353{{[0-9]*}},"compute_seconds":0.00353{{[0-9]*}},"product_seconds":0.001024,
