// Integers and truth values that share their places.

func.func @main(%p: tensor<6x5xi32> {dist.input = "p"}, %q: tensor<6x5xi32> {dist.input = "q"}) -> (tensor<6x5xi32>, tensor<6x5xi1>, tensor<6x5xi32>) {
  %is = arith.cmpi slt, %p, %q : tensor<6x5xi32>
  %a = arith.select %is, %p, %q : tensor<6x5xi1>, tensor<6x5xi32>
  %b = arith.muli %a, %q : tensor<6x5xi32>
  %c = arith.subi %b, %p : tensor<6x5xi32>
  %not = arith.cmpi ne, %c, %a : tensor<6x5xi32>
  %both = arith.andi %is, %not : tensor<6x5xi1>
  return %c, %both, %a : tensor<6x5xi32>, tensor<6x5xi1>, tensor<6x5xi32>
}
