// Constraints of all collectives, and of each.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

// All: a mesh, and axes of it.

func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{needs 'on @mesh', since the module has not exactly one mesh}}
  %0 = dist.all_reduce %x sum over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{names no dist.mesh: n}}
  %0 = dist.all_reduce %x sum over "tp" on @n : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "dp" is not in mesh @m ["tp" = 4]}}
  %0 = dist.all_reduce %x sum over "dp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "tp"(1)2 occurs twice}}
  %0 = dist.all_reduce %x sum over "tp", "tp"(1)2 : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{needs at least one axis}}
  %0 = "dist.all_reduce"(%x) {axes = [], reduction = #dist.reduction<sum>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<*xf32>) {
  // expected-error@below {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %0 = dist.all_reduce %x sum over "tp" : tensor<*xf32>
  return
}

// -----

// Sizes that are not known contradict nothing; those that are, do.
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<?x3xf32>) {
  %0 = dist.all_gather %x dim 0 over "tp" : tensor<?x3xf32> -> tensor<?x3xf32>
  // expected-error@below {{relates 'tensor<?x3xf32>' to 'tensor<?x12xf32>' on dimension 1, but the other type is 'tensor<?x8xf32>'}}
  %1 = dist.all_gather %x dim 1 over "tp" : tensor<?x3xf32> -> tensor<?x8xf32>
  return
}

// -----

// all_reduce C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'or' needs integers, but the elements are 'f32'}}
  %0 = dist.all_reduce %x or over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xcomplex<f32>>) {
  // expected-error@below {{cannot reduce elements of type 'complex<f32>'}}
  %0 = dist.all_reduce %x max over "tp" : tensor<8xcomplex<f32>>
  return
}

// -----

// all_gather C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{dimension 1 is out of range for a tensor of rank 1}}
  %0 = dist.all_gather %x dim 1 over "tp" : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{in groups of 4 relates 'tensor<8xf32>' to 'tensor<32xf32>' on dimension 0, but the other type is 'tensor<16xf32>'}}
  %0 = dist.all_gather %x dim 0 over "tp" : tensor<8xf32> -> tensor<16xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{relates 'tensor<8xf32>' to 'tensor<32xf32>' on dimension 0, but the other type is 'tensor<32xi32>'}}
  %0 = dist.all_gather %x dim 0 over "tp" : tensor<8xf32> -> tensor<32xi32>
  return
}

// -----

// reduce_scatter C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{dimension -1 is out of range for a tensor of rank 1}}
  %0 = dist.reduce_scatter %x sum dim -1 over "tp" : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

// C2
dist.mesh @m ["dp" = 2, "tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{in groups of 8 relates 'tensor<2xf32>' to 'tensor<16xf32>' on dimension 0, but the other type is 'tensor<8xf32>'}}
  %0 = dist.reduce_scatter %x sum dim 0 over "dp", "tp" : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

// C3
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{'and' needs integers, but the elements are 'f32'}}
  %0 = dist.reduce_scatter %x and dim 0 over "tp" : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

// all_slice C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<f32>) {
  // expected-error@below {{dimension 0 is out of range for a tensor of rank 0}}
  %0 = dist.all_slice %x dim 0 over "tp" : tensor<f32> -> tensor<f32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{in groups of 4 relates 'tensor<4xf32>' to 'tensor<16xf32>' on dimension 0, but the other type is 'tensor<8xf32>'}}
  %0 = dist.all_slice %x dim 0 over "tp" : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

// all_to_all C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error@below {{dimension 2 is out of range for a tensor of rank 2}}
  %0 = dist.all_to_all %x split 0 concat 2 over "tp" : tensor<8x8xf32> -> tensor<2x32xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error@below {{splits and concatenates the same dimension 1}}
  %0 = dist.all_to_all %x split 1 concat 1 over "tp" : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<6x8xf32>) {
  // expected-error@below {{cannot split dimension 0 of size 6 among 4 devices}}
  %0 = dist.all_to_all %x split 0 concat 1 over "tp" : tensor<6x8xf32> -> tensor<2x32xf32>
  return
}

// -----

// C3
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error@below {{makes 'tensor<2x32xf32>' of 'tensor<8x8xf32>', but the result type is 'tensor<32x2xf32>'}}
  %0 = dist.all_to_all %x split 0 concat 1 over "tp" : tensor<8x8xf32> -> tensor<32x2xf32>
  return
}

// -----

// collective_permute C1
dist.mesh @m ["dp" = 2, "tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{goes from 2 blocks to 4}}
  %0 = dist.collective_permute %x from "dp" to "tp" : tensor<8xf32>
  return
}

// -----

// collective_permute C2
dist.mesh @m ["dp" = 4, "tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{is reversed, but goes to other axes than it comes from}}
  %0 = dist.collective_permute %x from "dp" to "tp" reversed : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["dp" = 2, "tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{axis "pp" is not in mesh @m ["dp" = 2, "tp" = 4]}}
  %0 = dist.collective_permute %x from "dp" to "pp" : tensor<8xf32>
  return
}

// -----

// broadcast C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{root 4 is not in a group of 4}}
  %0 = dist.broadcast %x root 4 over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{root -1 is not in a group of 4}}
  %0 = dist.broadcast %x root -1 over "tp" : tensor<8xf32>
  return
}

// -----

// halo_exchange C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{dimension 1 is out of range for a tensor of rank 1}}
  %0 = dist.halo_exchange %x dim 1 low 1 high 1 over "tp" : tensor<8xf32> -> tensor<10xf32>
  return
}

// -----

// C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{halo of -1 is negative}}
  %0 = dist.halo_exchange %x dim 0 low -1 high 1 over "tp" : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// C3
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{relates 'tensor<8xf32>' to 'tensor<11xf32>', but the other type is 'tensor<10xf32>'}}
  %0 = dist.halo_exchange %x dim 0 low 1 high 2 over "tp" : tensor<8xf32> -> tensor<10xf32>
  return
}

// -----

// C2, where the size is not known
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<?xf32>) {
  // expected-error@below {{halo of 1099511627777 rows is more than 1099511627776}}
  %0 = dist.halo_exchange %x dim 0 low 1 high 1099511627777 over "tp" : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

// C2: no number of 64 bits
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{integer constant out of range}}
  %0 = dist.halo_exchange %x dim 0 low 1 high 18446744073709551616 over "tp" : tensor<8xf32> -> tensor<11xf32>
  return
}

// -----

// C4
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<3xf32>) {
  // expected-error@below {{is of a dimension of 14 rows, of which a device's block has 4, not 3}}
  %0 = dist.halo_exchange %x dim 0 of 14 low 1 high 1 over "tp" : tensor<3xf32> -> tensor<5xf32>
  return
}

// -----

// C4
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<3xf32>) {
  // expected-error@below {{is of a dimension of -1 rows, of which a device's block has 0, not 3}}
  %0 = dist.halo_exchange %x dim 0 of -1 low 1 high 1 over "tp" : tensor<3xf32> -> tensor<5xf32>
  return
}

// -----

// C5
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<3xf32>) {
  // expected-error@below {{boundary constant 1.000000e+00 : f64 is of type 'f64', but the tensor's elements are 'f32'}}
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 boundary constant 1.0 : f64 over "tp" : tensor<3xf32> -> tensor<5xf32>
  return
}

// -----

// C6
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<0xf32>) {
  // expected-error@below {{is periodic over 0 rows, of which none is among the 1 before and the 2 after a block}}
  %0 = dist.halo_exchange %x dim 0 low 1 high 2 boundary periodic over "tp" : tensor<0xf32> -> tensor<3xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<3xf32>) {
  // expected-error@below {{'ring' is none of zero, constant, none, periodic}}
  %0 = dist.halo_exchange %x dim 0 low 1 high 1 boundary ring over "tp" : tensor<3xf32> -> tensor<5xf32>
  return
}

// -----

// expected-error@below {{expected '>'}}
#b = #dist.boundary<periodic 1.0 : f32>

// -----

// halo_reduce: as of halo_exchange, the other way round
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{relates 'tensor<8xf32>' to 'tensor<11xf32>', but the other type is 'tensor<8xf32>'}}
  %0 = dist.halo_reduce %x dim 0 low 1 high 2 over "tp" : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<3xf32>) {
  // expected-error@below {{is periodic over 0 rows}}
  %0 = dist.halo_reduce %x dim 0 low 1 high 2 periodic over "tp" : tensor<3xf32> -> tensor<0xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<10xcomplex<f32>>) {
  // expected-error@below {{cannot reduce elements of type 'complex<f32>'}}
  %0 = dist.halo_reduce %x dim 0 low 1 high 1 over "tp" : tensor<10xcomplex<f32>> -> tensor<8xcomplex<f32>>
  return
}

// -----

// gather_rows C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x2xf32>, %i: tensor<5xindex>) {
  // expected-error@below {{dimension 2 is out of range for a tensor of rank 2}}
  %0 = dist.gather_rows %x[%i] dim 2 over "tp" : tensor<8x2xf32>[tensor<5xindex>] -> tensor<5x2xf32>
  return
}

// -----

// gather_rows C2
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x2xf32>, %i: tensor<5x1xindex>) {
  // expected-error@below {{has indices of type 'tensor<5x1xindex>'; one dimension is wanted}}
  %0 = dist.gather_rows %x[%i] dim 0 over "tp" : tensor<8x2xf32>[tensor<5x1xindex>] -> tensor<5x2xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<3x8x2xf32>, %i: tensor<5xi64>) {
  // expected-error@below {{relates 'tensor<3x8x2xf32>' by 'tensor<5xi64>' to 'tensor<5x3x2xf32>', but the other type is 'tensor<3x5x2xf32>'}}
  %0 = dist.gather_rows %x[%i] dim 1 over "tp" : tensor<3x8x2xf32>[tensor<5xi64>] -> tensor<3x5x2xf32>
  return
}

// -----

// gather_rows C3
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8x2xf32>, %i: tensor<5xi64>) {
  // expected-error@below {{is of a dimension of 40 rows, of which a device's block has 10, not 8}}
  %0 = dist.gather_rows %x[%i] dim 0 of 40 over "tp" : tensor<8x2xf32>[tensor<5xi64>] -> tensor<5x2xf32>
  return
}

// -----

// reduce_rows: as of gather_rows, the other way round
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<5x2xf32>, %i: tensor<6xi64>) {
  // expected-error@below {{relates 'tensor<8x2xf32>' by 'tensor<6xi64>' to 'tensor<6x2xf32>', but the other type is 'tensor<5x2xf32>'}}
  %0 = dist.reduce_rows %x[%i] dim 0 over "tp" : tensor<5x2xf32>[tensor<6xi64>] -> tensor<8x2xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<5xcomplex<f32>>, %i: tensor<5xi64>) {
  // expected-error@below {{cannot reduce elements of type 'complex<f32>'}}
  %0 = dist.reduce_rows %x[%i] dim 0 over "tp" : tensor<5xcomplex<f32>>[tensor<5xi64>] -> tensor<8xcomplex<f32>>
  return
}

// -----

// send_recv C1
dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{shift 0 reaches nobody in a group of 4}}
  %0 = dist.send_recv %x shift 0 over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{shift -4 reaches nobody in a group of 4}}
  %0 = dist.send_recv %x shift -4 over "tp" : tensor<8xf32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<8xf32>) {
  // expected-error@below {{shift 4 reaches nobody}}
  %0 = dist.send_recv %x shift 4 periodic over "tp" : tensor<8xf32>
  return
}

// -----

// axis_index
dist.mesh @m ["tp" = 4]
func.func @f() {
  // expected-error@below {{axis "dp" is not in mesh @m ["tp" = 4]}}
  %0 = dist.axis_index "dp"
  return
}

// -----

// local_constant C1
dist.mesh @m ["tp" = 4]
func.func @f() {
  // expected-error@below {{is a part of a constant of type 'vector<4xf32>'; it must be a tensor}}
  %0 = dist.local_constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32> <@m, [{"tp"}]> -> tensor<1xf32>
  return
}

// -----

// C2
func.func @f() {
  // expected-error@below {{sharding #dist.sharding<@m, [{"tp"}]> names no dist.mesh}}
  %0 = dist.local_constant dense<[1, 2, 3, 4]> : tensor<4xi64> <@m, [{"tp"}]> -> tensor<1xi64>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f() {
  // expected-error@below {{has 2 dimensions, but the tensor has 1}}
  %0 = dist.local_constant dense<[1, 2, 3, 4]> : tensor<4xi64> <@m, [{"tp"}, {}]> -> tensor<1xi64>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f() {
  // expected-error@below {{sharding #dist.sharding<@m, [{}], partial = sum {"tp"}> is partial; a part of a constant is not}}
  %0 = dist.local_constant dense<[1, 2, 3, 4]> : tensor<4xi64> <@m, [{}], partial = sum {"tp"}> -> tensor<4xi64>
  return
}

// -----

// C3
dist.mesh @m ["tp" = 4]
func.func @f() {
  // expected-error@below {{has type 'tensor<1xi64>', but of a constant of type 'tensor<5xi64>' under sharding #dist.sharding<@m, [{"tp"}]> a device holds 'tensor<2xi64>'}}
  %0 = dist.local_constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64> <@m, [{"tp"}]> -> tensor<1xi64>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f() {
  // expected-error@below {{has type 'tensor<2xi32>', but of a constant of type 'tensor<5xi64>'}}
  %0 = dist.local_constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64> <@m, [{"tp"}]> -> tensor<2xi32>
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{'dist.stream' must be an i32 from 1 to 15, but is 0 : i32}}
  %0 = dist.all_reduce %x sum over "tp" {dist.stream = 0 : i32} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<4xf32>) -> tensor<1xf32> {
  // expected-error@below {{has 'dist.stream', which belongs on a collective that sends}}
  %0 = dist.all_slice %x dim 0 over "tp" {dist.stream = 1 : i32} : tensor<4xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

dist.mesh @m ["tp" = 4]
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{has 'dist.stream', but its result is used in another block}}
  %0 = dist.all_reduce %x sum over "tp" {dist.stream = 1 : i32} : tensor<4xf32>
  cf.br ^next
^next:
  return %0 : tensor<4xf32>
}
