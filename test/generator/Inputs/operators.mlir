// Operators of the matrix test (MatrixTest.cpp), one a section. The letters N and
// M stand for the numbers of rows and columns; H, L, P and K for N / 2, N - 1,
// N + 2 and 2 N. The last word of a section's title says which numbers of rows it
// takes: any, some (not none), more (than one), even; or that they are unknown, ?.

// ----- arith.negf any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.negf %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- math.absf any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = math.absf %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- math.exp any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = math.exp %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- math.tanh any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = math.tanh %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- math.erf any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = math.erf %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- add 1 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c = arith.constant dense<1.0> : tensor<NxMxf64>
  %r = arith.addf %a, %c : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- mul 2 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c = arith.constant dense<2.0> : tensor<NxMxf64>
  %r = arith.mulf %a, %c : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- x * x any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.mulf %a, %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- x + x any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.addf %a, %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- relu any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c = arith.constant dense<0.0> : tensor<NxMxf64>
  %r = arith.maximumf %a, %c : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- to f32 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf32> {
  %r = arith.truncf %a : tensor<NxMxf64> to tensor<NxMxf32>
  return %r : tensor<NxMxf32>
}

// ----- to i64 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxi64> {
  %r = arith.fptosi %a : tensor<NxMxf64> to tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- where positive any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c = arith.constant dense<0.0> : tensor<NxMxf64>
  %p = arith.cmpf ogt, %a, %c : tensor<NxMxf64>
  %d = arith.mulf %a, %a : tensor<NxMxf64>
  %r = arith.select %p, %a, %d : tensor<NxMxi1>, tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- arith.addf any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.addf %a, %b : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- arith.subf any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.subf %a, %b : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- arith.mulf any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.mulf %a, %b : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- arith.maximumf any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.maximumf %a, %b : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- arith.minimumf any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.minimumf %a, %b : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- arith.addi any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64>) -> tensor<NxMxi64> {
  %r = arith.addi %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.muli any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64>) -> tensor<NxMxi64> {
  %r = arith.muli %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.maxsi any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64>) -> tensor<NxMxi64> {
  %r = arith.maxsi %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.minui any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64>) -> tensor<NxMxi64> {
  %r = arith.minui %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.xori any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64>) -> tensor<NxMxi64> {
  %r = arith.xori %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.andi any
func.func @main(%a: tensor<NxMxi1>, %b: tensor<NxMxi1>) -> tensor<NxMxi1> {
  %r = arith.andi %a, %b : tensor<NxMxi1>
  return %r : tensor<NxMxi1>
}

// ----- arith.ori any
func.func @main(%a: tensor<NxMxi1>, %b: tensor<NxMxi1>) -> tensor<NxMxi1> {
  %r = arith.ori %a, %b : tensor<NxMxi1>
  return %r : tensor<NxMxi1>
}

// ----- arith.divsi any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64> {test.nonzero}) -> tensor<NxMxi64> {
  %r = arith.divsi %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.remui any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64> {test.nonzero}) -> tensor<NxMxi64> {
  %r = arith.remui %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.floordivsi any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<NxMxi64> {test.nonzero}) -> tensor<NxMxi64> {
  %r = arith.floordivsi %a, %b : tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- arith.cmpf any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxi1> {
  %r = arith.cmpf olt, %a, %b : tensor<NxMxf64>
  return %r : tensor<NxMxi1>
}

// ----- arith.select any
func.func @main(%p: tensor<NxMxi1>, %a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = arith.select %p, %a, %b : tensor<NxMxi1>, tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- add a row any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Mxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<NxMxf64>, tensor<Mxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- add a column any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Nxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<NxMxf64>, tensor<Nxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- add a scalar any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<f64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<NxMxf64>, tensor<f64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- add the transposed any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<MxNxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<NxMxf64>, tensor<MxNxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- linalg.add any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.add ins(%a, %b : tensor<NxMxf64>, tensor<NxMxf64>) outs(%e : tensor<NxMxf64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- linalg.map any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.map { arith.mulf } ins(%a, %b : tensor<NxMxf64>, tensor<NxMxf64>) outs(%e : tensor<NxMxf64>)
  return %r : tensor<NxMxf64>
}

// ----- accumulate elementwise any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<NxMxf64>) outs(%b : tensor<NxMxf64>) {
  ^bb0(%x: f64, %o: f64):
    %s = arith.addf %x, %o : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- lower triangle any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<NxMxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %z = arith.constant 0.0 : f64
    %p = arith.cmpi ule, %j, %i : index
    %s = arith.select %p, %x, %z : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- dropout any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %seed = arith.constant 4294967301 : i64
  %step = arith.constant 7 : i64
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<NxMxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w:4 = dist.random_words %seed, %step operator 3 at (%i, %j) of [N, M]
    %h = arith.constant 2147483648 : i64
    %z = arith.constant 0.0 : f64
    %p = arith.cmpi uge, %w#0, %h : i64
    %s = arith.select %p, %x, %z : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- linalg.fill of an element some
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c = arith.constant 0 : index
  %x = tensor.extract %a[%c, %c] : tensor<NxMxf64>
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.fill ins(%x : f64) outs(%e : tensor<NxMxf64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- linalg.matmul any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Mx6xf64>) -> tensor<Nx6xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nx6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nx6xf64>) -> tensor<Nx6xf64>
  %r = linalg.matmul ins(%a, %b : tensor<NxMxf64>, tensor<Mx6xf64>) outs(%f : tensor<Nx6xf64>) -> tensor<Nx6xf64>
  return %r : tensor<Nx6xf64>
}

// ----- linalg.matmul, square any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<MxNxf64>) -> tensor<NxNxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<NxNxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<NxNxf64>) -> tensor<NxNxf64>
  %r = linalg.matmul ins(%a, %b : tensor<NxMxf64>, tensor<MxNxf64>) outs(%f : tensor<NxNxf64>) -> tensor<NxNxf64>
  return %r : tensor<NxNxf64>
}

// ----- linalg.matmul of integers any
func.func @main(%a: tensor<NxMxi64>, %b: tensor<Mx5xi64>) -> tensor<Nx5xi64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<Nx5xi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Nx5xi64>) -> tensor<Nx5xi64>
  %r = linalg.matmul ins(%a, %b : tensor<NxMxi64>, tensor<Mx5xi64>) outs(%f : tensor<Nx5xi64>) -> tensor<Nx5xi64>
  return %r : tensor<Nx5xi64>
}

// ----- linalg.batch_matmul any
func.func @main(%a: tensor<3xNxMxf64>, %b: tensor<3xMx5xf64>) -> tensor<3xNx5xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3xNx5xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<3xNx5xf64>) -> tensor<3xNx5xf64>
  %r = linalg.batch_matmul ins(%a, %b : tensor<3xNxMxf64>, tensor<3xMx5xf64>) outs(%f : tensor<3xNx5xf64>) -> tensor<3xNx5xf64>
  return %r : tensor<3xNx5xf64>
}

// ----- linalg.matvec any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Mxf64>) -> tensor<Nxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %r = linalg.matvec ins(%a, %b : tensor<NxMxf64>, tensor<Mxf64>) outs(%f : tensor<Nxf64>) -> tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- linalg.vecmat any
func.func @main(%a: tensor<Nxf64>, %b: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %r = linalg.vecmat ins(%a, %b : tensor<Nxf64>, tensor<NxMxf64>) outs(%f : tensor<Mxf64>) -> tensor<Mxf64>
  return %r : tensor<Mxf64>
}

// ----- linalg.dot any
func.func @main(%a: tensor<Nxf64>, %b: tensor<Nxf64>) -> tensor<f64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %r = linalg.dot ins(%a, %b : tensor<Nxf64>, tensor<Nxf64>) outs(%f : tensor<f64>) -> tensor<f64>
  return %r : tensor<f64>
}

// ----- linalg.contract, transposed any
func.func @main(%a: tensor<MxNxf64>, %b: tensor<6xMxf64>) -> tensor<6xNxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6xNxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<6xNxf64>) -> tensor<6xNxf64>
  %r = linalg.contract indexing_maps = [affine_map<(n, o, m) -> (m, n)>, affine_map<(n, o, m) -> (o, m)>, affine_map<(n, o, m) -> (o, n)>] ins(%a, %b : tensor<MxNxf64>, tensor<6xMxf64>) outs(%f : tensor<6xNxf64>) -> tensor<6xNxf64>
  return %r : tensor<6xNxf64>
}

// ----- rows by rows any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %r = linalg.contract indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>] ins(%a, %b : tensor<NxMxf64>, tensor<NxMxf64>) outs(%f : tensor<Nxf64>) -> tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- linalg.matmul onto an accumulator any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Mx3xf64>, %c: tensor<Nx3xf64>) -> tensor<Nx3xf64> {
  %r = linalg.matmul ins(%a, %b : tensor<NxMxf64>, tensor<Mx3xf64>) outs(%c : tensor<Nx3xf64>) -> tensor<Nx3xf64>
  return %r : tensor<Nx3xf64>
}

// ----- sum of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  return %s : tensor<Mxf64>
}

// ----- max of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.maximumf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  return %s : tensor<Mxf64>
}

// ----- min of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 0x7FF0000000000000 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.minimumf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  return %s : tensor<Mxf64>
}

// ----- product of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.mulf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  return %s : tensor<Mxf64>
}

// ----- any of rows any
func.func @main(%a: tensor<NxMxi1>) -> tensor<Mxi1> {
  %z = arith.constant false
  %e = tensor.empty() : tensor<Mxi1>
  %f = linalg.fill ins(%z : i1) outs(%e : tensor<Mxi1>) -> tensor<Mxi1>
  %s = linalg.reduce { arith.ori } ins(%a : tensor<NxMxi1>) outs(%f : tensor<Mxi1>) dimensions = [0]
  return %s : tensor<Mxi1>
}

// ----- all of rows any
func.func @main(%a: tensor<NxMxi1>) -> tensor<Mxi1> {
  %z = arith.constant true
  %e = tensor.empty() : tensor<Mxi1>
  %f = linalg.fill ins(%z : i1) outs(%e : tensor<Mxi1>) -> tensor<Mxi1>
  %s = linalg.reduce { arith.andi } ins(%a : tensor<NxMxi1>) outs(%f : tensor<Mxi1>) dimensions = [0]
  return %s : tensor<Mxi1>
}

// ----- integer sum of rows any
func.func @main(%a: tensor<NxMxi64>) -> tensor<Mxi64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<Mxi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Mxi64>) -> tensor<Mxi64>
  %s = linalg.reduce { arith.addi } ins(%a : tensor<NxMxi64>) outs(%f : tensor<Mxi64>) dimensions = [0]
  return %s : tensor<Mxi64>
}

// ----- integer max of rows any
func.func @main(%a: tensor<NxMxi64>) -> tensor<Mxi64> {
  %z = arith.constant -9223372036854775808 : i64
  %e = tensor.empty() : tensor<Mxi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Mxi64>) -> tensor<Mxi64>
  %s = linalg.reduce { arith.maxsi } ins(%a : tensor<NxMxi64>) outs(%f : tensor<Mxi64>) dimensions = [0]
  return %s : tensor<Mxi64>
}

// ----- unsigned max of rows any
func.func @main(%a: tensor<NxMxi64>) -> tensor<Mxi64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<Mxi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Mxi64>) -> tensor<Mxi64>
  %s = linalg.reduce { arith.maxui } ins(%a : tensor<NxMxi64>) outs(%f : tensor<Mxi64>) dimensions = [0]
  return %s : tensor<Mxi64>
}

// ----- sum of rows from 3 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 3.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  return %s : tensor<Mxf64>
}

// ----- mean of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  %n = arith.constant dense<7.0> : tensor<Mxf64>
  %r = arith.divf %s, %n : tensor<Mxf64>
  return %r : tensor<Mxf64>
}

// ----- norm of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %q = arith.mulf %a, %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  %r = math.sqrt %s : tensor<Mxf64>
  return %r : tensor<Mxf64>
}

// ----- infinity norm of rows any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %q = math.absf %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.maximumf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  return %s : tensor<Mxf64>
}

// ----- mean squared error of rows any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<Mxf64> {
  %d = arith.subf %a, %b : tensor<NxMxf64>
  %q = arith.mulf %d, %d : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  %n = arith.constant dense<7.0> : tensor<Mxf64>
  %r = arith.divf %s, %n : tensor<Mxf64>
  return %r : tensor<Mxf64>
}

// ----- sum of exponentials of rows some
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %q = math.exp %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Mxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Mxf64>) -> tensor<Mxf64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Mxf64>) dimensions = [0]
  %r = math.log %s : tensor<Mxf64>
  return %r : tensor<Mxf64>
}

// ----- sum of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  return %s : tensor<Nxf64>
}

// ----- max of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.maximumf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  return %s : tensor<Nxf64>
}

// ----- min of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 0x7FF0000000000000 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.minimumf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  return %s : tensor<Nxf64>
}

// ----- product of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.mulf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  return %s : tensor<Nxf64>
}

// ----- any of columns any
func.func @main(%a: tensor<NxMxi1>) -> tensor<Nxi1> {
  %z = arith.constant false
  %e = tensor.empty() : tensor<Nxi1>
  %f = linalg.fill ins(%z : i1) outs(%e : tensor<Nxi1>) -> tensor<Nxi1>
  %s = linalg.reduce { arith.ori } ins(%a : tensor<NxMxi1>) outs(%f : tensor<Nxi1>) dimensions = [1]
  return %s : tensor<Nxi1>
}

// ----- all of columns any
func.func @main(%a: tensor<NxMxi1>) -> tensor<Nxi1> {
  %z = arith.constant true
  %e = tensor.empty() : tensor<Nxi1>
  %f = linalg.fill ins(%z : i1) outs(%e : tensor<Nxi1>) -> tensor<Nxi1>
  %s = linalg.reduce { arith.andi } ins(%a : tensor<NxMxi1>) outs(%f : tensor<Nxi1>) dimensions = [1]
  return %s : tensor<Nxi1>
}

// ----- integer sum of columns any
func.func @main(%a: tensor<NxMxi64>) -> tensor<Nxi64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<Nxi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Nxi64>) -> tensor<Nxi64>
  %s = linalg.reduce { arith.addi } ins(%a : tensor<NxMxi64>) outs(%f : tensor<Nxi64>) dimensions = [1]
  return %s : tensor<Nxi64>
}

// ----- integer max of columns any
func.func @main(%a: tensor<NxMxi64>) -> tensor<Nxi64> {
  %z = arith.constant -9223372036854775808 : i64
  %e = tensor.empty() : tensor<Nxi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Nxi64>) -> tensor<Nxi64>
  %s = linalg.reduce { arith.maxsi } ins(%a : tensor<NxMxi64>) outs(%f : tensor<Nxi64>) dimensions = [1]
  return %s : tensor<Nxi64>
}

// ----- unsigned max of columns any
func.func @main(%a: tensor<NxMxi64>) -> tensor<Nxi64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<Nxi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<Nxi64>) -> tensor<Nxi64>
  %s = linalg.reduce { arith.maxui } ins(%a : tensor<NxMxi64>) outs(%f : tensor<Nxi64>) dimensions = [1]
  return %s : tensor<Nxi64>
}

// ----- sum of columns from 3 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 3.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  return %s : tensor<Nxf64>
}

// ----- mean of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  %n = arith.constant dense<7.0> : tensor<Nxf64>
  %r = arith.divf %s, %n : tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- norm of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %q = arith.mulf %a, %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  %r = math.sqrt %s : tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- infinity norm of columns any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %q = math.absf %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.maximumf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  return %s : tensor<Nxf64>
}

// ----- mean squared error of columns any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<Nxf64> {
  %d = arith.subf %a, %b : tensor<NxMxf64>
  %q = arith.mulf %d, %d : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  %n = arith.constant dense<7.0> : tensor<Nxf64>
  %r = arith.divf %s, %n : tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- sum of exponentials of columns some
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nxf64> {
  %q = math.exp %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<Nxf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<Nxf64>) -> tensor<Nxf64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<Nxf64>) dimensions = [1]
  %r = math.log %s : tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- sum of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %s : tensor<f64>
}

// ----- max of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %z = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.maximumf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %s : tensor<f64>
}

// ----- min of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %z = arith.constant 0x7FF0000000000000 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.minimumf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %s : tensor<f64>
}

// ----- product of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %z = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.mulf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %s : tensor<f64>
}

// ----- any of all any
func.func @main(%a: tensor<NxMxi1>) -> tensor<i1> {
  %z = arith.constant false
  %e = tensor.empty() : tensor<i1>
  %f = linalg.fill ins(%z : i1) outs(%e : tensor<i1>) -> tensor<i1>
  %s = linalg.reduce { arith.ori } ins(%a : tensor<NxMxi1>) outs(%f : tensor<i1>) dimensions = [0, 1]
  return %s : tensor<i1>
}

// ----- all of all any
func.func @main(%a: tensor<NxMxi1>) -> tensor<i1> {
  %z = arith.constant true
  %e = tensor.empty() : tensor<i1>
  %f = linalg.fill ins(%z : i1) outs(%e : tensor<i1>) -> tensor<i1>
  %s = linalg.reduce { arith.andi } ins(%a : tensor<NxMxi1>) outs(%f : tensor<i1>) dimensions = [0, 1]
  return %s : tensor<i1>
}

// ----- integer sum of all any
func.func @main(%a: tensor<NxMxi64>) -> tensor<i64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<i64>) -> tensor<i64>
  %s = linalg.reduce { arith.addi } ins(%a : tensor<NxMxi64>) outs(%f : tensor<i64>) dimensions = [0, 1]
  return %s : tensor<i64>
}

// ----- integer max of all any
func.func @main(%a: tensor<NxMxi64>) -> tensor<i64> {
  %z = arith.constant -9223372036854775808 : i64
  %e = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<i64>) -> tensor<i64>
  %s = linalg.reduce { arith.maxsi } ins(%a : tensor<NxMxi64>) outs(%f : tensor<i64>) dimensions = [0, 1]
  return %s : tensor<i64>
}

// ----- unsigned max of all any
func.func @main(%a: tensor<NxMxi64>) -> tensor<i64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<i64>) -> tensor<i64>
  %s = linalg.reduce { arith.maxui } ins(%a : tensor<NxMxi64>) outs(%f : tensor<i64>) dimensions = [0, 1]
  return %s : tensor<i64>
}

// ----- sum of all from 3 any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %z = arith.constant 3.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %s : tensor<f64>
}

// ----- mean of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  %n = arith.constant dense<7.0> : tensor<f64>
  %r = arith.divf %s, %n : tensor<f64>
  return %r : tensor<f64>
}

// ----- norm of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %q = arith.mulf %a, %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  %r = math.sqrt %s : tensor<f64>
  return %r : tensor<f64>
}

// ----- infinity norm of all any
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %q = math.absf %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.maximumf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %s : tensor<f64>
}

// ----- mean squared error of all any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<f64> {
  %d = arith.subf %a, %b : tensor<NxMxf64>
  %q = arith.mulf %d, %d : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  %n = arith.constant dense<7.0> : tensor<f64>
  %r = arith.divf %s, %n : tensor<f64>
  return %r : tensor<f64>
}

// ----- sum of exponentials of all some
func.func @main(%a: tensor<NxMxf64>) -> tensor<f64> {
  %q = math.exp %a : tensor<NxMxf64>
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  %r = math.log %s : tensor<f64>
  return %r : tensor<f64>
}

// ----- argmax over rows any
func.func @main(%a: tensor<NxMxf64>) -> (tensor<Mxf64>, tensor<Mxi64>) {
  %v = arith.constant 0xFFF0000000000000 : f64
  %i = arith.constant 0 : i64
  %ev = tensor.empty() : tensor<Mxf64>
  %ei = tensor.empty() : tensor<Mxi64>
  %fv = linalg.fill ins(%v : f64) outs(%ev : tensor<Mxf64>) -> tensor<Mxf64>
  %fi = linalg.fill ins(%i : i64) outs(%ei : tensor<Mxi64>) -> tensor<Mxi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<NxMxf64>) outs(%fv, %fi : tensor<Mxf64>, tensor<Mxi64>) {
  ^bb0(%x: f64, %b: f64, %n: i64):
    %p = linalg.index 0 : index
    %h = arith.index_cast %p : index to i64
    %q = arith.cmpf ogt, %x, %b : f64
    %s = arith.select %q, %x, %b : f64
    %t = arith.select %q, %h, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<Mxf64>, tensor<Mxi64>)
  return %r#0, %r#1 : tensor<Mxf64>, tensor<Mxi64>
}

// ----- argmax over columns any
func.func @main(%a: tensor<NxMxf64>) -> (tensor<Nxf64>, tensor<Nxi64>) {
  %v = arith.constant 0xFFF0000000000000 : f64
  %i = arith.constant 0 : i64
  %ev = tensor.empty() : tensor<Nxf64>
  %ei = tensor.empty() : tensor<Nxi64>
  %fv = linalg.fill ins(%v : f64) outs(%ev : tensor<Nxf64>) -> tensor<Nxf64>
  %fi = linalg.fill ins(%i : i64) outs(%ei : tensor<Nxi64>) -> tensor<Nxi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<NxMxf64>) outs(%fv, %fi : tensor<Nxf64>, tensor<Nxi64>) {
  ^bb0(%x: f64, %b: f64, %n: i64):
    %p = linalg.index 1 : index
    %h = arith.index_cast %p : index to i64
    %q = arith.cmpf ogt, %x, %b : f64
    %s = arith.select %q, %x, %b : f64
    %t = arith.select %q, %h, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<Nxf64>, tensor<Nxi64>)
  return %r#0, %r#1 : tensor<Nxf64>, tensor<Nxi64>
}

// ----- argmin over rows any
func.func @main(%a: tensor<NxMxf64>) -> (tensor<Mxf64>, tensor<Mxi64>) {
  %v = arith.constant 0x7FF0000000000000 : f64
  %i = arith.constant 0 : i64
  %ev = tensor.empty() : tensor<Mxf64>
  %ei = tensor.empty() : tensor<Mxi64>
  %fv = linalg.fill ins(%v : f64) outs(%ev : tensor<Mxf64>) -> tensor<Mxf64>
  %fi = linalg.fill ins(%i : i64) outs(%ei : tensor<Mxi64>) -> tensor<Mxi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<NxMxf64>) outs(%fv, %fi : tensor<Mxf64>, tensor<Mxi64>) {
  ^bb0(%x: f64, %b: f64, %n: i64):
    %p = linalg.index 0 : index
    %h = arith.index_cast %p : index to i64
    %q = arith.cmpf olt, %x, %b : f64
    %s = arith.select %q, %x, %b : f64
    %t = arith.select %q, %h, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<Mxf64>, tensor<Mxi64>)
  return %r#0, %r#1 : tensor<Mxf64>, tensor<Mxi64>
}

// ----- argmin over columns any
func.func @main(%a: tensor<NxMxf64>) -> (tensor<Nxf64>, tensor<Nxi64>) {
  %v = arith.constant 0x7FF0000000000000 : f64
  %i = arith.constant 0 : i64
  %ev = tensor.empty() : tensor<Nxf64>
  %ei = tensor.empty() : tensor<Nxi64>
  %fv = linalg.fill ins(%v : f64) outs(%ev : tensor<Nxf64>) -> tensor<Nxf64>
  %fi = linalg.fill ins(%i : i64) outs(%ei : tensor<Nxi64>) -> tensor<Nxi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<NxMxf64>) outs(%fv, %fi : tensor<Nxf64>, tensor<Nxi64>) {
  ^bb0(%x: f64, %b: f64, %n: i64):
    %p = linalg.index 1 : index
    %h = arith.index_cast %p : index to i64
    %q = arith.cmpf olt, %x, %b : f64
    %s = arith.select %q, %x, %b : f64
    %t = arith.select %q, %h, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<Nxf64>, tensor<Nxi64>)
  return %r#0, %r#1 : tensor<Nxf64>, tensor<Nxi64>
}

// ----- two reductions at once any
func.func @main(%a: tensor<NxMxf64>) -> (tensor<Nxf64>, tensor<Nxf64>) {
  %z = arith.constant dense<0.0> : tensor<Nxf64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<NxMxf64>) outs(%z, %z : tensor<Nxf64>, tensor<Nxf64>) {
  ^bb0(%x: f64, %s: f64, %q: f64):
    %t = arith.addf %x, %s : f64
    %y = arith.mulf %x, %x : f64
    %u = arith.addf %y, %q : f64
    linalg.yield %t, %u : f64, f64
  } -> (tensor<Nxf64>, tensor<Nxf64>)
  return %r#0, %r#1 : tensor<Nxf64>, tensor<Nxf64>
}

// ----- linalg.softmax over 0 some
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.softmax dimension(0) ins(%a : tensor<NxMxf64>) outs(%e : tensor<NxMxf64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- linalg.softmax over 1 some
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.softmax dimension(1) ins(%a : tensor<NxMxf64>) outs(%e : tensor<NxMxf64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- layer normalisation some
func.func @main(%a: tensor<NxMxf64>, %w: tensor<Mxf64>) -> tensor<NxMxf64> {
  %z = arith.constant dense<0.0> : tensor<Nxf64>
  %e = tensor.empty() : tensor<NxMxf64>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<NxMxf64>) outs(%z : tensor<Nxf64>) dimensions = [1]
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<NxMxf64>, tensor<Nxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %m: f64, %o: f64):
    %n = arith.constant 7.0 : f64
    %u = arith.divf %m, %n : f64
    %d = arith.subf %x, %u : f64
    linalg.yield %d : f64
  } -> tensor<NxMxf64>
  %q = arith.mulf %c, %c : tensor<NxMxf64>
  %v = linalg.reduce { arith.addf } ins(%q : tensor<NxMxf64>) outs(%z : tensor<Nxf64>) dimensions = [1]
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c, %v, %w : tensor<NxMxf64>, tensor<Nxf64>, tensor<Mxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %m: f64, %g: f64, %o: f64):
    %n = arith.constant 1.0 : f64
    %u = arith.addf %m, %n : f64
    %k = math.rsqrt %u : f64
    %d = arith.mulf %x, %k : f64
    %y = arith.mulf %d, %g : f64
    linalg.yield %y : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- linalg.transpose any
func.func @main(%a: tensor<NxMxf64>) -> tensor<MxNxf64> {
  %e = tensor.empty() : tensor<MxNxf64>
  %r = linalg.transpose ins(%a : tensor<NxMxf64>) outs(%e : tensor<MxNxf64>) permutation = [1, 0]
  return %r : tensor<MxNxf64>
}

// ----- linalg.broadcast any
func.func @main(%a: tensor<Nxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.broadcast ins(%a : tensor<Nxf64>) outs(%e : tensor<NxMxf64>) dimensions = [1]
  return %r : tensor<NxMxf64>
}

// ----- diagonal any
func.func @main(%a: tensor<NxNxf64>) -> tensor<Nxf64> {
  %e = tensor.empty() : tensor<Nxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<NxNxf64>) outs(%e : tensor<Nxf64>) {
  ^bb0(%x: f64, %o: f64):
    linalg.yield %x : f64
  } -> tensor<Nxf64>
  return %r : tensor<Nxf64>
}

// ----- trace any
func.func @main(%a: tensor<NxNxf64>) -> tensor<f64> {
  %e = arith.constant dense<0.0> : tensor<f64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<NxNxf64>) outs(%e : tensor<f64>) {
  ^bb0(%x: f64, %o: f64):
    %s = arith.addf %x, %o : f64
    linalg.yield %s : f64
  } -> tensor<f64>
  return %r : tensor<f64>
}

// ----- split rows even
func.func @main(%a: tensor<NxMxf64>) -> tensor<2xHxMxf64> {
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, H, M] : tensor<NxMxf64> into tensor<2xHxMxf64>
  return %r : tensor<2xHxMxf64>
}

// ----- split rows the other way even
func.func @main(%a: tensor<NxMxf64>) -> tensor<Hx2xMxf64> {
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [H, 2, M] : tensor<NxMxf64> into tensor<Hx2xMxf64>
  return %r : tensor<Hx2xMxf64>
}

// ----- flatten any
func.func @main(%a: tensor<2xNxMxf64>) -> tensor<KxMxf64> {
  %r = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2xNxMxf64> into tensor<KxMxf64>
  return %r : tensor<KxMxf64>
}

// ----- new dimension any
func.func @main(%a: tensor<NxMxf64>) -> tensor<Nx1xMxf64> {
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [N, 1, M] : tensor<NxMxf64> into tensor<Nx1xMxf64>
  return %r : tensor<Nx1xMxf64>
}

// ----- first half of rows even
func.func @main(%a: tensor<NxMxf64>) -> tensor<HxMxf64> {
  %r = tensor.extract_slice %a[0, 0] [H, M] [1, 1] : tensor<NxMxf64> to tensor<HxMxf64>
  return %r : tensor<HxMxf64>
}

// ----- rows after the first more
func.func @main(%a: tensor<NxMxf64>) -> tensor<LxMxf64> {
  %r = tensor.extract_slice %a[1, 0] [L, M] [1, 1] : tensor<NxMxf64> to tensor<LxMxf64>
  return %r : tensor<LxMxf64>
}

// ----- every other row even
func.func @main(%a: tensor<NxMxf64>) -> tensor<HxMxf64> {
  %r = tensor.extract_slice %a[1, 0] [H, M] [2, 1] : tensor<NxMxf64> to tensor<HxMxf64>
  return %r : tensor<HxMxf64>
}

// ----- one row some
func.func @main(%a: tensor<NxMxf64>) -> tensor<Mxf64> {
  %r = tensor.extract_slice %a[0, 0] [1, M] [1, 1] : tensor<NxMxf64> to tensor<Mxf64>
  return %r : tensor<Mxf64>
}

// ----- tensor.insert_slice more
func.func @main(%a: tensor<LxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = tensor.insert_slice %a into %b[1, 0] [L, M] [1, 1] : tensor<LxMxf64> into tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.insert_slice of half even
func.func @main(%a: tensor<HxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %r = tensor.insert_slice %a into %b[H, 0] [H, M] [1, 1] : tensor<HxMxf64> into tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.concat of rows any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<KxMxf64> {
  %r = tensor.concat dim(0) %a, %b : (tensor<NxMxf64>, tensor<NxMxf64>) -> tensor<KxMxf64>
  return %r : tensor<KxMxf64>
}

// ----- tensor.concat of columns any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Nx3xf64>, %c: tensor<Nx2xf64>) -> tensor<Nx5xf64> {
  %r = tensor.concat dim(1) %b, %c : (tensor<Nx3xf64>, tensor<Nx2xf64>) -> tensor<Nx5xf64>
  return %r : tensor<Nx5xf64>
}

// ----- roll more
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %0 = tensor.extract_slice %a[0, 0] [1, M] [1, 1] : tensor<NxMxf64> to tensor<1xMxf64>
  %1 = tensor.extract_slice %a[1, 0] [L, M] [1, 1] : tensor<NxMxf64> to tensor<LxMxf64>
  %r = tensor.concat dim(0) %1, %0 : (tensor<LxMxf64>, tensor<1xMxf64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- gated linear unit even
func.func @main(%a: tensor<NxMxf64>) -> tensor<HxMxf64> {
  %0 = tensor.extract_slice %a[0, 0] [H, M] [1, 1] : tensor<NxMxf64> to tensor<HxMxf64>
  %1 = tensor.extract_slice %a[H, 0] [H, M] [1, 1] : tensor<NxMxf64> to tensor<HxMxf64>
  %2 = math.tanh %1 : tensor<HxMxf64>
  %r = arith.mulf %0, %2 : tensor<HxMxf64>
  return %r : tensor<HxMxf64>
}

// ----- tensor.pad any
func.func @main(%a: tensor<NxMxf64>) -> tensor<PxMxf64> {
  %z = arith.constant 0.5 : f64
  %r = tensor.pad %a low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f64
  } : tensor<NxMxf64> to tensor<PxMxf64>
  return %r : tensor<PxMxf64>
}

// ----- flip some
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %e = tensor.empty() : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<NxMxf64>) {
  ^bb0(%o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %l = arith.constant L : index
    %k = arith.subi %l, %i : index
    %x = tensor.extract %a[%k, %j] : tensor<NxMxf64>
    linalg.yield %x : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.gather some
func.func @main(%a: tensor<NxMxf64>, %i: tensor<5x1xi64> {test.below = N : i64}) -> tensor<5xMxf64> {
  %r = tensor.gather %a[%i] gather_dims([0]) : (tensor<NxMxf64>, tensor<5x1xi64>) -> tensor<5xMxf64>
  return %r : tensor<5xMxf64>
}

// ----- tensor.gather of columns some
func.func @main(%a: tensor<NxMxf64>, %i: tensor<Nx1xi32> {test.below = M : i64}) -> tensor<NxNxf64> {
  %r = tensor.gather %a[%i] gather_dims([1]) : (tensor<NxMxf64>, tensor<Nx1xi32>) -> tensor<NxNxf64>
  return %r : tensor<NxNxf64>
}

// ----- tensor.scatter some
func.func @main(%a: tensor<NxMxf64>, %s: tensor<Nx1xMxf64>, %i: tensor<Nx1xi64> {test.permutation = N : i64}) -> tensor<NxMxf64> {
  %r = tensor.scatter %s into %a[%i] scatter_dims([0]) unique : (tensor<Nx1xMxf64>, tensor<NxMxf64>, tensor<Nx1xi64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.extract and tensor.insert some
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c = arith.constant 0 : index
  %x = tensor.extract %a[%c, %c] : tensor<NxMxf64>
  %r = tensor.insert %x into %b[%c, %c] : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.insert at the last place some
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %i = arith.constant L : index
  %j = arith.constant 1 : index
  %x = arith.constant 7.0 : f64
  %r = tensor.insert %x into %a[%i, %j] : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.insert and sum some
func.func @main(%a: tensor<NxMxf64>, %s: tensor<Mxf64>) -> tensor<Mxf64> {
  %i = arith.constant H : index
  %j = arith.constant 0 : index
  %x = arith.constant 7.0 : f64
  %0 = tensor.insert %x into %a[%i, %j] : tensor<NxMxf64>
  %r = linalg.reduce { arith.addf } ins(%0 : tensor<NxMxf64>) outs(%s : tensor<Mxf64>) dimensions = [0]
  return %r : tensor<Mxf64>
}

// ----- tensor.from_elements some
func.func @main(%a: tensor<NxMxf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %i = arith.constant L : index
  %j = arith.constant 0 : index
  %x = tensor.extract %a[%i, %j] : tensor<NxMxf64>
  %y = arith.constant 2.0 : f64
  %0 = tensor.from_elements %x, %y, %x : tensor<3xf64>
  %r = arith.mulf %0, %b : tensor<3xf64>
  return %r : tensor<3xf64>
}

// ----- linalg.index any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxi64> {
  %e = tensor.empty() : tensor<NxMxi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<NxMxf64>) outs(%e : tensor<NxMxi64>) {
  ^bb0(%x: f64, %o: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %n = arith.index_cast %k : index to i64
    linalg.yield %n : i64
  } -> tensor<NxMxi64>
  return %r : tensor<NxMxi64>
}

// ----- constant any
func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
  %c = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf64>
  %r = arith.mulf %a, %c : tensor<3xf64>
  return %r : tensor<3xf64>
}

// ----- sliding sums more
func.func @main(%a: tensor<NxMxf64>) -> tensor<LxMxf64> {
  %w = tensor.empty() : tensor<2xf64>
  %z = arith.constant dense<0.0> : tensor<LxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<NxMxf64>, tensor<2xf64>) outs(%z : tensor<LxMxf64>) {
  ^bb0(%x: f64, %u: f64, %s: f64):
    %t = arith.addf %x, %s : f64
    linalg.yield %t : f64
  } -> tensor<LxMxf64>
  return %r : tensor<LxMxf64>
}

// ----- max pooling more
func.func @main(%a: tensor<2xNxMxf64>) -> tensor<2xLxMxf64> {
  %w = tensor.empty() : tensor<2xf64>
  %m = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<2xLxMxf64>
  %f = linalg.fill ins(%m : f64) outs(%e : tensor<2xLxMxf64>) -> tensor<2xLxMxf64>
  %r = linalg.pooling_nwc_max {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
      ins(%a, %w : tensor<2xNxMxf64>, tensor<2xf64>) outs(%f : tensor<2xLxMxf64>) -> tensor<2xLxMxf64>
  return %r : tensor<2xLxMxf64>
}

// ----- convolution more
func.func @main(%a: tensor<2xNxMxf64>, %w: tensor<2xMx3xf64>) -> tensor<2xLx3xf64> {
  %f = arith.constant dense<0.0> : tensor<2xLx3xf64>
  %r = linalg.conv_1d_nwc_wcf {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
      ins(%a, %w : tensor<2xNxMxf64>, tensor<2xMx3xf64>) outs(%f : tensor<2xLx3xf64>) -> tensor<2xLx3xf64>
  return %r : tensor<2xLx3xf64>
}

// ----- depthwise convolution more
func.func @main(%a: tensor<2xNxMxf64>, %w: tensor<2xMxf64>) -> tensor<2xLxMxf64> {
  %f = arith.constant dense<0.0> : tensor<2xLxMxf64>
  %r = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
      ins(%a, %w : tensor<2xNxMxf64>, tensor<2xMxf64>) outs(%f : tensor<2xLxMxf64>) -> tensor<2xLxMxf64>
  return %r : tensor<2xLxMxf64>
}

// ----- gradient of a window's weight more
func.func @main(%a: tensor<NxMxf64>, %b: tensor<Lx3xf64>) -> tensor<2xMx3xf64> {
  %z = arith.constant dense<0.0> : tensor<2xMx3xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(o, k, c, f) -> (o + k, c)>, affine_map<(o, k, c, f) -> (o, f)>, affine_map<(o, k, c, f) -> (k, c, f)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<NxMxf64>, tensor<Lx3xf64>) outs(%z : tensor<2xMx3xf64>) {
  ^bb0(%x: f64, %y: f64, %s: f64):
    %t = arith.mulf %x, %y : f64
    %u = arith.addf %t, %s : f64
    linalg.yield %u : f64
  } -> tensor<2xMx3xf64>
  return %r : tensor<2xMx3xf64>
}

// ----- cumulative sum any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %z = arith.constant dense<0.0> : tensor<NxMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a : tensor<NxMxf64>) outs(%z : tensor<NxMxf64>) {
  ^bb0(%x: f64, %s: f64):
    %i = linalg.index 0 : index
    %k = linalg.index 2 : index
    %p = arith.cmpi ule, %k, %i : index
    %t = arith.addf %x, %s : f64
    %u = arith.select %p, %t, %s : f64
    linalg.yield %u : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- scf.for any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> (tensor<NxMxf64>) {
    %0 = arith.mulf %x, %b : tensor<NxMxf64>
    %1 = arith.addf %0, %a : tensor<NxMxf64>
    scf.yield %1 : tensor<NxMxf64>
  }
  return %r : tensor<NxMxf64>
}

// ----- scf.if any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>, %n: tensor<i64>) -> tensor<NxMxf64> {
  %c = arith.constant 2 : i64
  %e = tensor.extract %n[] : tensor<i64>
  %p = arith.cmpi slt, %e, %c : i64
  %r = scf.if %p -> (tensor<NxMxf64>) {
    %0 = arith.mulf %a, %b : tensor<NxMxf64>
    scf.yield %0 : tensor<NxMxf64>
  } else {
    scf.yield %b : tensor<NxMxf64>
  }
  return %r : tensor<NxMxf64>
}

// ----- func.call any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %0 = call @f(%a, %b) : (tensor<NxMxf64>, tensor<NxMxf64>) -> tensor<NxMxf64>
  %r = call @f(%b, %0) : (tensor<NxMxf64>, tensor<NxMxf64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}
func.func private @f(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %0 = arith.addf %a, %b : tensor<NxMxf64>
  return %0 : tensor<NxMxf64>
}

// ----- top three, as dist-import writes them some
func.func @main(%a: tensor<NxMxf64>) -> tensor<3xMxf64> {
  %z = arith.constant dense<0> : tensor<NxMxi64>
  %ranks = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %a : tensor<NxMxf64>, tensor<NxMxf64>) outs(%z : tensor<NxMxi64>) {
  ^bb0(%x: f64, %y: f64, %s: i64):
    %i = linalg.index 0 : index
    %k = linalg.index 2 : index
    %more = arith.cmpf ogt, %y, %x : f64
    %same = arith.cmpf oeq, %y, %x : f64
    %first = arith.cmpi ult, %k, %i : index
    %tie = arith.andi %same, %first : i1
    %before = arith.ori %more, %tie : i1
    %one = arith.extui %before : i1 to i64
    %t = arith.addi %s, %one : i64
    linalg.yield %t : i64
  } -> tensor<NxMxi64>
  %f = arith.constant dense<0.0> : tensor<3xMxf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%ranks, %a : tensor<NxMxi64>, tensor<NxMxf64>) outs(%f : tensor<3xMxf64>) {
  ^bb0(%n: i64, %x: f64, %s: f64):
    %i = linalg.index 0 : index
    %h = arith.index_cast %i : index to i64
    %z0 = arith.constant 0.0 : f64
    %is = arith.cmpi eq, %n, %h : i64
    %y = arith.select %is, %x, %z0 : f64
    %t = arith.addf %s, %y : f64
    linalg.yield %t : f64
  } -> tensor<3xMxf64>
  return %r : tensor<3xMxf64>
}

// ----- scattered rows, as dist-import writes them some
func.func @main(%a: tensor<NxMxf64>, %u: tensor<2xMxf64>, %rows: tensor<2xi64> {test.below = N : i64}) -> tensor<NxMxf64> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%u, %rows : tensor<2xMxf64>, tensor<2xi64>) outs(%a : tensor<NxMxf64>) {
  ^bb0(%x: f64, %row: i64, %s: f64):
    %i = linalg.index 0 : index
    %h = arith.index_cast %i : index to i64
    %is = arith.cmpi eq, %row, %h : i64
    %y = arith.select %is, %x, %s : f64
    linalg.yield %y : f64
  } -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- tensor.scatter of columns some
func.func @main(%a: tensor<NxMxf64>, %s: tensor<MxNxf64>, %i: tensor<Mx1xi64> {test.permutation = M : i64}) -> tensor<NxMxf64> {
  %r = tensor.scatter %s into %a[%i] scatter_dims([1]) unique : (tensor<MxNxf64>, tensor<NxMxf64>, tensor<Mx1xi64>) -> tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- dist.scatter_add some
func.func @main(%a: tensor<NxMxf64>, %s: tensor<4x3xMxf64>, %i: tensor<4x3x1xi64> {test.below = N : i64}) -> tensor<NxMxf64> {
  %r = dist.scatter_add %s into %a[%i] dims [0] : tensor<4x3xMxf64> into tensor<NxMxf64>[tensor<4x3x1xi64>]
  return %r : tensor<NxMxf64>
}

// ----- dist.scatter_add of elements some
func.func @main(%a: tensor<NxNxi32>, %s: tensor<6x1x1xi32>, %i: tensor<6x2xi64> {test.below = N : i64}) -> tensor<NxNxi32> {
  %r = dist.scatter_add %s into %a[%i] dims [0, 1] : tensor<6x1x1xi32> into tensor<NxNxi32>[tensor<6x2xi64>]
  return %r : tensor<NxNxi32>
}

// ----- tensor.generate any
func.func @main(%a: tensor<NxMxf64>) -> tensor<NxMxf64> {
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %x = tensor.extract %a[%i, %j] : tensor<NxMxf64>
    %k = arith.muli %i, %j : index
    %n = arith.index_cast %k : index to i64
    %f = arith.sitofp %n : i64 to f64
    %y = arith.addf %x, %f : f64
    tensor.yield %y : f64
  } : tensor<NxMxf64>
  %r = arith.mulf %0, %a : tensor<NxMxf64>
  return %r : tensor<NxMxf64>
}

// ----- add of unknown size unknown
func.func @main(%a: tensor<?x6xf64>, %b: tensor<?x6xf64>) -> tensor<?x6xf64> {
  %r = arith.addf %a, %b : tensor<?x6xf64>
  return %r : tensor<?x6xf64>
}

// ----- exp of unknown sizes unknown
func.func @main(%a: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %r = math.exp %a : tensor<?x?xf64>
  return %r : tensor<?x?xf64>
}

// ----- division of unknown size unknown
func.func @main(%a: tensor<?x5xi64>, %b: tensor<?x5xi64> {test.nonzero}) -> tensor<?x5xi64> {
  %r = arith.divsi %a, %b : tensor<?x5xi64>
  return %r : tensor<?x5xi64>
}

// ----- matmul of unknown rows unknown
func.func @main(%a: tensor<?x8xf64>, %b: tensor<8x5xf64>) -> tensor<?x5xf64> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x8xf64>
  %e = tensor.empty(%n) : tensor<?x5xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x5xf64>) -> tensor<?x5xf64>
  %r = linalg.matmul ins(%a, %b : tensor<?x8xf64>, tensor<8x5xf64>) outs(%f : tensor<?x5xf64>) -> tensor<?x5xf64>
  return %r : tensor<?x5xf64>
}

// ----- matmul over an unknown size unknown
func.func @main(%a: tensor<6x?xf64>, %b: tensor<?x5xf64>, %c: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %r = linalg.matmul ins(%a, %b : tensor<6x?xf64>, tensor<?x5xf64>) outs(%c : tensor<6x5xf64>) -> tensor<6x5xf64>
  return %r : tensor<6x5xf64>
}

// ----- batch_matmul of unknown sizes unknown
func.func @main(%a: tensor<?x?x3xf64>, %b: tensor<?x3x5xf64>) -> tensor<?x?x5xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x?x3xf64>
  %m = tensor.dim %a, %c1 : tensor<?x?x3xf64>
  %e = tensor.empty(%n, %m) : tensor<?x?x5xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x?x5xf64>) -> tensor<?x?x5xf64>
  %r = linalg.batch_matmul ins(%a, %b : tensor<?x?x3xf64>, tensor<?x3x5xf64>) outs(%f : tensor<?x?x5xf64>) -> tensor<?x?x5xf64>
  return %r : tensor<?x?x5xf64>
}

// ----- sum over an unknown size unknown
func.func @main(%a: tensor<?x6xf64>, %c: tensor<6xf64>) -> tensor<6xf64> {
  %r = linalg.reduce ins(%a : tensor<?x6xf64>) outs(%c : tensor<6xf64>) dimensions = [0]
    (%x: f64, %s: f64) { %t = arith.addf %x, %s : f64 linalg.yield %t : f64 }
  return %r : tensor<6xf64>
}

// ----- argmax over an unknown size unknown
func.func @main(%a: tensor<?x6xf64>, %v: tensor<6xf64>, %i: tensor<6xi64>) -> (tensor<6xf64>, tensor<6xi64>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<?x6xf64>) outs(%v, %i : tensor<6xf64>, tensor<6xi64>) {
  ^bb0(%x: f64, %best: f64, %at: i64):
    %k = linalg.index 1 : index
    %ki = arith.index_cast %k : index to i64
    %more = arith.cmpf ogt, %x, %best : f64
    %b = arith.select %more, %x, %best : f64
    %j = arith.select %more, %ki, %at : i64
    linalg.yield %b, %j : f64, i64
  } -> (tensor<6xf64>, tensor<6xi64>)
  return %r#0, %r#1 : tensor<6xf64>, tensor<6xi64>
}

// ----- mean of an unknown size unknown
func.func @main(%a: tensor<?xf64>, %c: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf64>
  %i = arith.index_cast %n : index to i64
  %f = arith.sitofp %i : i64 to f64
  %s = linalg.reduce ins(%a : tensor<?xf64>) outs(%c : tensor<f64>) dimensions = [0]
    (%x: f64, %t: f64) { %u = arith.addf %x, %t : f64 linalg.yield %u : f64 }
  %e = tensor.empty() : tensor<f64>
  %r = linalg.map ins(%s : tensor<f64>) outs(%e : tensor<f64>)
    (%x: f64, %init: f64) { %u = arith.divf %x, %f : f64 linalg.yield %u : f64 }
  return %r : tensor<f64>
}

// ----- softmax of unknown sizes unknown
func.func @main(%a: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c0 : tensor<?x?xf64>
  %m = tensor.dim %a, %c1 : tensor<?x?xf64>
  %e = tensor.empty(%n, %m) : tensor<?x?xf64>
  %r = linalg.softmax dimension(1) ins(%a : tensor<?x?xf64>) outs(%e : tensor<?x?xf64>) -> tensor<?x?xf64>
  return %r : tensor<?x?xf64>
}

// ----- transpose of an unknown size unknown
func.func @main(%a: tensor<?x6xf64>) -> tensor<6x?xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x6xf64>
  %e = tensor.empty(%n) : tensor<6x?xf64>
  %r = linalg.transpose ins(%a : tensor<?x6xf64>) outs(%e : tensor<6x?xf64>) permutation = [1, 0]
  return %r : tensor<6x?xf64>
}

// ----- indices of an unknown size unknown
func.func @main(%a: tensor<?x3xi64>) -> tensor<?x3xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x3xi64>
  %e = tensor.empty(%n) : tensor<?x3xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x3xi64>) outs(%e : tensor<?x3xi64>) {
  ^bb0(%x: i64, %o: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %s = arith.addi %k, %x : i64
    linalg.yield %s : i64
  } -> tensor<?x3xi64>
  return %r : tensor<?x3xi64>
}

// ----- collapse of an unknown major unknown
func.func @main(%a: tensor<?x4x3xf64>) -> tensor<?x3xf64> {
  %r = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x4x3xf64> into tensor<?x3xf64>
  return %r : tensor<?x3xf64>
}

// ----- collapse of an unknown minor unknown
func.func @main(%a: tensor<4x?x3xf64>) -> tensor<?x3xf64> {
  %r = tensor.collapse_shape %a [[0, 1], [2]] : tensor<4x?x3xf64> into tensor<?x3xf64>
  %e = math.absf %r : tensor<?x3xf64>
  return %e : tensor<?x3xf64>
}

// ----- collapse of two unknown unknown
func.func @main(%a: tensor<?x?x3xf64>) -> tensor<?x3xf64> {
  %r = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x?x3xf64> into tensor<?x3xf64>
  return %r : tensor<?x3xf64>
}

// ----- expand of an unknown size, minor known unknown
func.func @main(%a: tensor<?x3xf64>) -> tensor<?x4x3xf64> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x3xf64>
  %e = tensor.empty(%n) : tensor<?x4x3xf64>
  %f = linalg.fill ins(%one : f64) outs(%e : tensor<?x4x3xf64>) -> tensor<?x4x3xf64>
  %flat = tensor.collapse_shape %f [[0, 1], [2]] : tensor<?x4x3xf64> into tensor<?x3xf64>
  %abs = math.absf %flat : tensor<?x3xf64>
  %r = tensor.expand_shape %abs [[0, 1], [2]] output_shape [%n, 4, 3] : tensor<?x3xf64> into tensor<?x4x3xf64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %a : tensor<?x4x3xf64>, tensor<?x3xf64>) outs(%e : tensor<?x4x3xf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<?x4x3xf64>
  return %b : tensor<?x4x3xf64>
}

// ----- expand of an unknown size, major known unknown
func.func @main(%a: tensor<?x3xf64>) -> tensor<2x?x3xf64> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %a, %c0 : tensor<?x3xf64>
  %h = arith.divui %n, %c2 : index
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, %h, 3] : tensor<?x3xf64> into tensor<2x?x3xf64>
  return %r : tensor<2x?x3xf64>
}

// ----- extract_slice beside an unknown size unknown
func.func @main(%a: tensor<?x8xf64>) -> tensor<?x4xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x8xf64>
  %r = tensor.extract_slice %a[0, 4] [%n, 4] [1, 1] : tensor<?x8xf64> to tensor<?x4xf64>
  return %r : tensor<?x4xf64>
}

// ----- extract_slice of an unknown size unknown
func.func @main(%a: tensor<?x8xf64>) -> (tensor<?x8xf64>, tensor<2x8xf64>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %a, %c0 : tensor<?x8xf64>
  %m = arith.subi %n, %c4 : index
  %r = tensor.extract_slice %a[4, 0] [%m, 8] [1, 1] : tensor<?x8xf64> to tensor<?x8xf64>
  %s = tensor.extract_slice %a[1, 0] [2, 8] [1, 1] : tensor<?x8xf64> to tensor<2x8xf64>
  return %r, %s : tensor<?x8xf64>, tensor<2x8xf64>
}

// ----- insert_slice beside an unknown size unknown
func.func @main(%a: tensor<?x4xf64>, %b: tensor<?x8xf64>) -> tensor<?x8xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %b, %c0 : tensor<?x8xf64>
  %r = tensor.insert_slice %a into %b[0, 4] [%n, 4] [1, 1] : tensor<?x4xf64> into tensor<?x8xf64>
  return %r : tensor<?x8xf64>
}

// ----- concat beside an unknown size unknown
func.func @main(%a: tensor<?x4xf64>, %b: tensor<?x8xf64>) -> tensor<?x12xf64> {
  %r = tensor.concat dim(1) %a, %b : (tensor<?x4xf64>, tensor<?x8xf64>) -> tensor<?x12xf64>
  return %r : tensor<?x12xf64>
}

// ----- concat of unknown sizes unknown
func.func @main(%a: tensor<?x4xf64>, %b: tensor<8x4xf64>) -> tensor<?x4xf64> {
  %r = tensor.concat dim(0) %a, %b : (tensor<?x4xf64>, tensor<8x4xf64>) -> tensor<?x4xf64>
  return %r : tensor<?x4xf64>
}

// ----- pad beside an unknown size unknown
func.func @main(%a: tensor<?x6xf64>) -> tensor<?x9xf64> {
  %z = arith.constant 1.0 : f64
  %r = tensor.pad %a low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f64
  } : tensor<?x6xf64> to tensor<?x9xf64>
  return %r : tensor<?x9xf64>
}

// ----- pad of an unknown size unknown
func.func @main(%a: tensor<?x6xf64>) -> tensor<?x6xf64> {
  %z = arith.constant 1.0 : f64
  %r = tensor.pad %a low[1, 0] high[3, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f64
  } : tensor<?x6xf64> to tensor<?x6xf64>
  return %r : tensor<?x6xf64>
}

// ----- gather of unknown rows unknown
func.func @main(%t: tensor<10x6xf64>, %i: tensor<?x1xi64> {test.below = 10}) -> tensor<?x6xf64> {
  %r = tensor.gather %t[%i] gather_dims([0]) : (tensor<10x6xf64>, tensor<?x1xi64>) -> tensor<?x6xf64>
  return %r : tensor<?x6xf64>
}

// ----- gather from an unknown size unknown
func.func @main(%t: tensor<?x6xf64>, %i: tensor<5x1xi64> {test.below = 4}) -> tensor<5x6xf64> {
  %r = tensor.gather %t[%i] gather_dims([0]) : (tensor<?x6xf64>, tensor<5x1xi64>) -> tensor<5x6xf64>
  return %r : tensor<5x6xf64>
}

// ----- generate of an unknown size unknown
func.func @main(%a: tensor<?xi64>) -> tensor<?x3xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?x3xi64>
  %g = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %s = arith.addi %i, %j : index
    %v = arith.index_cast %s : index to i64
    tensor.yield %v : i64
  } : tensor<?x3xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %g : tensor<?xi64>, tensor<?x3xi64>) outs(%e : tensor<?x3xi64>) {
  ^bb0(%x: i64, %y: i64, %o: i64):
    %s = arith.addi %x, %y : i64
    linalg.yield %s : i64
  } -> tensor<?x3xi64>
  return %r : tensor<?x3xi64>
}

// ----- cast of an unknown size unknown
func.func @main(%a: tensor<?x8xf64>) -> tensor<?x?xf64> {
  %r = tensor.cast %a : tensor<?x8xf64> to tensor<?x?xf64>
  %s = math.absf %r : tensor<?x?xf64>
  return %s : tensor<?x?xf64>
}

// ----- loop over an unknown size unknown
func.func @main(%a: tensor<?x6xf64>, %b: tensor<6x6xf64>) -> tensor<?x6xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 0.0 : f64
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %a) -> tensor<?x6xf64> {
    %n = tensor.dim %v, %c0 : tensor<?x6xf64>
    %e = tensor.empty(%n) : tensor<?x6xf64>
    %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x6xf64>) -> tensor<?x6xf64>
    %m = linalg.matmul ins(%v, %b : tensor<?x6xf64>, tensor<6x6xf64>) outs(%f : tensor<?x6xf64>) -> tensor<?x6xf64>
    %t = math.tanh %m : tensor<?x6xf64>
    scf.yield %t : tensor<?x6xf64>
  }
  return %r : tensor<?x6xf64>
}

// ----- casts between known and unknown sizes unknown
func.func @main(%a: tensor<NxMxf64>) -> (tensor<?x?xf64>, tensor<NxMxf64>) {
  %0 = tensor.cast %a : tensor<NxMxf64> to tensor<?x?xf64>
  %1 = math.absf %0 : tensor<?x?xf64>
  %2 = tensor.cast %1 : tensor<?x?xf64> to tensor<NxMxf64>
  %3 = arith.addf %2, %a : tensor<NxMxf64>
  return %0, %3 : tensor<?x?xf64>, tensor<NxMxf64>
}

// ----- sums of which one operand knows the size any
func.func @main(%a: tensor<NxMxf64>, %b: tensor<NxMxf64>) -> (tensor<NxMxf64>, tensor<f64>) {
  %z = arith.constant 0.0 : f64
  %0 = tensor.cast %a : tensor<NxMxf64> to tensor<?xMxf64>
  %e = tensor.empty() : tensor<NxMxf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %b : tensor<?xMxf64>, tensor<NxMxf64>) outs(%e : tensor<NxMxf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<NxMxf64>
  %e0 = tensor.empty() : tensor<f64>
  %f0 = linalg.fill ins(%z : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%0, %b : tensor<?xMxf64>, tensor<NxMxf64>) outs(%f0 : tensor<f64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %p, %o : f64
    linalg.yield %s : f64
  } -> tensor<f64>
  return %1, %2 : tensor<NxMxf64>, tensor<f64>
}
