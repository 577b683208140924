// A row that one device has and others need travels as a sum in which the others add nothing: of floats that is -0, since
// 0 + -0 is 0, which 1/x tells. A sum that begins with 0 is 0 on any number of devices, whatever zeros it adds.
//
// RUN: dist-run %s --random --verify --allow-nonfinite | FileCheck %s --implicit-check-not=differs
// CHECK: merged: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{.*}} 28 infinite
// CHECK: padded: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{.*}} 16 infinite
// CHECK: row: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{.*}} 3 infinite
// CHECK: looked: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{.*}} 9 infinite
// CHECK: spread: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{.*}} 94 infinite
// CHECK: onto: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{.*}} 12 infinite

dist.mesh @m ["rows" = 3]

#row = affine_map<(n) -> (n)>
#image = affine_map<(o, k) -> (o + k)>
#tap = affine_map<(o, k) -> (k)>
#major = affine_map<(o, k) -> (o)>
#minor = affine_map<(o, k) -> (k)>
#all = affine_map<(o, k) -> (o, k)>
#spread = affine_map<(o, k) -> (o * 3 + k)>

func.func @main(%rows: tensor<40xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"rows"}]>}) -> (tensor<80xf32> {dist.output = "merged"}, tensor<42xf32> {dist.output = "padded"},
    tensor<1xf32> {dist.output = "row"}, tensor<3xf32> {dist.output = "looked"}, tensor<120xf32> {dist.output = "spread"},
    tensor<4xf32> {dist.output = "onto"}, tensor<78xf32> {dist.output = "m"}, tensor<40xf32> {dist.output = "p"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e40 = tensor.empty() : tensor<40xf32>
  // Every third row is -0.
  %x = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%rows : tensor<40xf32>) outs(%e40 : tensor<40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %three = arith.constant 3 : index
    %none = arith.constant 0 : index
    %negative = arith.constant -0.0 : f32
    %r = arith.remui %i, %three : index
    %third = arith.cmpi eq, %r, %none : index
    %n = arith.select %third, %negative, %a : f32
    linalg.yield %n : f32
  } -> tensor<40xf32>
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>

  // Every row twice: blocks of 14 and 12 rows become blocks of 27 and 26.
  %e = tensor.empty() : tensor<40x2xf32>
  %t = linalg.generic {indexing_maps = [#major, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<40xf32>) outs(%e : tensor<40x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<40x2xf32>
  %twice = tensor.collapse_shape %t [[0, 1]] : tensor<40x2xf32> into tensor<80xf32>
  %z78 = arith.constant dense<0.0> : tensor<78xf32>
  %m = linalg.generic {indexing_maps = [#image, #tap, #major], iterator_types = ["parallel", "reduction"]}
      ins(%twice, %w : tensor<80xf32>, tensor<3xf32>) outs(%z78 : tensor<78xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<78xf32>
  %e80 = tensor.empty() : tensor<80xf32>
  %merged = linalg.reciprocal ins(%twice : tensor<80xf32>) outs(%e80 : tensor<80xf32>) -> tensor<80xf32>

  // A circular pad.
  %last = tensor.extract_slice %x[39] [1] [1] : tensor<40xf32> to tensor<1xf32>
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<40xf32> to tensor<1xf32>
  %ring = tensor.concat dim(0) %last, %x, %first : (tensor<1xf32>, tensor<40xf32>, tensor<1xf32>) -> tensor<42xf32>
  %z40 = arith.constant dense<0.0> : tensor<40xf32>
  %p = linalg.generic {indexing_maps = [#image, #tap, #major], iterator_types = ["parallel", "reduction"]}
      ins(%ring, %w : tensor<42xf32>, tensor<3xf32>) outs(%z40 : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q = arith.mulf %a, %b : f32
    %s = arith.addf %c, %q : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  %e42 = tensor.empty() : tensor<42xf32>
  %padded = linalg.reciprocal ins(%ring : tensor<42xf32>) outs(%e42 : tensor<42xf32>) -> tensor<42xf32>

  // A row, and rows that are looked up.
  %one_row = tensor.extract_slice %x[15] [1] [1] : tensor<40xf32> to tensor<1xf32>
  %e1 = tensor.empty() : tensor<1xf32>
  %row = linalg.reciprocal ins(%one_row : tensor<1xf32>) outs(%e1 : tensor<1xf32>) -> tensor<1xf32>
  %places = arith.constant dense<[[0], [21], [39]]> : tensor<3x1xindex>
  %some = tensor.gather %x[%places] gather_dims([0]) : (tensor<40xf32>, tensor<3x1xindex>) -> tensor<3xf32>
  %e3 = tensor.empty() : tensor<3xf32>
  %looked = linalg.reciprocal ins(%some : tensor<3xf32>) outs(%e3 : tensor<3xf32>) -> tensor<3xf32>

  // A sum that begins with 0; rows between are nobody's.
  %z120 = arith.constant dense<0.0> : tensor<120xf32>
  %w1 = arith.constant dense<1.0> : tensor<1xf32>
  %sums = linalg.generic {indexing_maps = [#major, #minor, #spread], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w1 : tensor<40xf32>, tensor<1xf32>) outs(%z120 : tensor<120xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q = arith.mulf %a, %b : f32
    %s = arith.addf %c, %q : f32
    linalg.yield %s : f32
  } -> tensor<120xf32>
  %e120 = tensor.empty() : tensor<120xf32>
  %spread = linalg.reciprocal ins(%sums : tensor<120xf32>) outs(%e120 : tensor<120xf32>) -> tensor<120xf32>

  // Onto -0 something that is -0 is added on every device.
  %begin = arith.constant dense<[0.0, -0.0, 0.0, -0.0]> : tensor<4xf32>
  %added = linalg.generic {indexing_maps = [#minor, #major, #minor], iterator_types = ["reduction", "parallel"]}
      ins(%begin, %x : tensor<4xf32>, tensor<40xf32>) outs(%begin : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %positive = math.absf %b : f32
    %q = arith.mulf %positive, %zero : f32
    %nothing = arith.negf %q : f32
    %s = arith.addf %c, %nothing : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %onto = linalg.reciprocal ins(%added : tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  return %merged, %padded, %row, %looked, %spread, %onto, %m, %p : tensor<80xf32>, tensor<42xf32>, tensor<1xf32>, tensor<3xf32>,
      tensor<120xf32>, tensor<4xf32>, tensor<78xf32>, tensor<40xf32>
}
