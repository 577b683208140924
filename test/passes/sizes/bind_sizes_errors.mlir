// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-bind-sizes='sizes=x[0]=6'

// expected-error @below {{the size of dimension 1 of argument 'x', of type 'tensor<?x?xf32>', is not known; give it, as in --bind x[1]=8}}
func.func @main(%x: tensor<?x?xf32> {dist.input = "x"}) {
  return
}

// -----

// expected-error @below {{dimension 0 of argument 'x' is of size 5, not 6}}
func.func @main(%x: tensor<5xf32> {dist.input = "x"}) {
  return
}

// -----

// expected-error @below {{argument 'x' of type 'tensor<f32>' has no dimension 0}}
func.func @main(%x: tensor<f32> {dist.input = "x"}) {
  return
}

// -----

// expected-error @below {{has no argument 'x'; its arguments are: arg0, y}}
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32> {dist.input = "y"}) {
  return
}

// -----

dist.mesh @m ["dp" = 4]
// expected-error @below {{dimension 0 of argument 'x' is of size 6, which 4 devices do not divide}}
func.func @main(%x: tensor<?xf32> {dist.input = "x", dist.global_type = tensor<?xf32>, dist.sharding = #dist.sharding<@m, [{"dp"}]>}) {
  return
}

// -----

dist.mesh @m ["dp" = 4]
func.func @main(%x: tensor<?xf32> {dist.input = "x", dist.global_type = tensor<?xf32>}) {
  // expected-error @below {{cuts dimension 0 of size 6 among 4 devices; a size that the program of one device does not know must be a multiple of them}}
  %0 = dist.all_slice %x dim 0 over "dp" : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @main(%x: tensor<?xf32> {dist.input = "x"}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{begins with value 0 as 'tensor<6xf32>' and hands on 'tensor<12xf32>': a size that changes on the way cannot become known}}
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> tensor<?xf32> {
    %2 = tensor.concat dim(0) %v, %v : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %2 : tensor<?xf32>
  }
  return
}

// -----

func.func @main(%x: tensor<?xf32> {dist.input = "x"}, %n: index) {
  // expected-error @below {{results in 'tensor<?xf32>', whose size does not follow from the sizes of the arguments}}
  %0 = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return
}

// -----

func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32>
func.func @main(%x: tensor<?xf32> {dist.input = "x"}) {
  // expected-error @below {{calls a function without a body, whose sizes cannot become known}}
  %0 = func.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{calls a function from within itself}}
  %0 = func.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @main(%x: tensor<?xf32> {dist.input = "x"}) {
  %0 = func.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// What a program states of a size is compared with what follows, whatever
// stands between. (test/lowering/oracle/LimitProgram.cpp makes many such.)
func.func @main(%x: tensor<6xf32> {dist.input = "x"}) -> tensor<9xf32> {
  %z = arith.constant 0.0 : f32
  %a = tensor.cast %x : tensor<6xf32> to tensor<?xf32>
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<?xf32> to tensor<?xf32>
  // expected-error @below {{'tensor.cast' op makes 'tensor<9xf32>' of what is 'tensor<8xf32>'}}
  %c = tensor.cast %p : tensor<?xf32> to tensor<9xf32>
  return %c : tensor<9xf32>
}

// -----

func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %e = math.exp %x : tensor<?xf32>
  return %e : tensor<?xf32>
}
func.func @main(%x: tensor<6xf32> {dist.input = "x"}) -> tensor<4096xf32> {
  %a = tensor.cast %x : tensor<6xf32> to tensor<?xf32>
  %e = func.call @f(%a) : (tensor<?xf32>) -> tensor<?xf32>
  // expected-error @below {{'tensor.cast' op makes 'tensor<4096xf32>' of what is 'tensor<6xf32>'}}
  %c = tensor.cast %e : tensor<?xf32> to tensor<4096xf32>
  return %c : tensor<4096xf32>
}

// -----

func.func @main(%x: tensor<6xf32> {dist.input = "x"}, %i: i1) -> tensor<4096xf32> {
  %a = tensor.cast %x : tensor<6xf32> to tensor<*xf32>
  %e = scf.if %i -> tensor<*xf32> {
    %u = math.exp %a : tensor<*xf32>
    scf.yield %u : tensor<*xf32>
  } else {
    scf.yield %a : tensor<*xf32>
  }
  // expected-error @below {{'tensor.cast' op makes 'tensor<4096xf32>' of what is 'tensor<6xf32>'}}
  %c = tensor.cast %e : tensor<*xf32> to tensor<4096xf32>
  return %c : tensor<4096xf32>
}

// -----

func.func @main(%x: tensor<6xf32> {dist.input = "x"}) -> tensor<4096xi32> {
  %a = tensor.cast %x : tensor<6xf32> to tensor<?xf32>
  // expected-error @below {{'tensor.bitcast' op makes 'tensor<4096xi32>' of what is 'tensor<6xi32>'}}
  %c = tensor.bitcast %a : tensor<?xf32> to tensor<4096xi32>
  return %c : tensor<4096xi32>
}

// -----

func.func @main(%x: tensor<6xf32> {dist.input = "x"}) -> tensor<4x3xf32> {
  %s = arith.constant dense<[2, 3]> : tensor<2xindex>
  %a = tensor.cast %x : tensor<6xf32> to tensor<?xf32>
  // expected-error @below {{'tensor.reshape' op makes 'tensor<4x3xf32>' of what is 'tensor<2x3xf32>'}}
  %r = tensor.reshape %a(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----

// Operands that do not fit each other.
func.func @main(%x: tensor<6xf32> {dist.input = "x"}, %y: tensor<4096xf32>) -> tensor<4096xf32> {
  %a = tensor.cast %x : tensor<6xf32> to tensor<?xf32>
  // expected-error @below {{inferred input/output operand #1 has shape's dimension #0 to be 6, but found 4096}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%a : tensor<?xf32>) outs(%y : tensor<4096xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// expected-error @below {{argument 'x' is a tensor of unknown rank}}
func.func @main(%x: tensor<*xf32> {dist.input = "x"}) {
  return
}

// -----

func.func @main(%x: tensor<?xf32> {dist.input = "x"}, %z: f32) {
  %c = arith.constant -5 : index
  // expected-error @below {{makes a tensor of a negative size: 'tensor<-5xf32>'}}
  %0 = tensor.splat %z[%c] : tensor<?xf32>
  return
}
