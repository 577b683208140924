//===- DifferentiableOpInterface.td - Adjoints of ops ------*- tablegen -*-===//

#ifndef DIST_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define DIST_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Dist_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that says how cotangents of its results become cotangents of its
    operands (reverse mode). `--dist-differentiate` knows ops only through this
    interface, ops on tensors as well as the scalar ones in bodies of linalg ops;
    a dialect of a user joins by implementing it.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds to the cotangent of each operand that is active what the op
        contributes to it. The op has a result with a cotangent; operands and
        results are those of the program, of which the op may read all. What it
        makes goes where `builder` points. An operand that gets nothing has a
        derivative of zero. Fails after an error at the op where its derivative is
        not known.
      }], "::llvm::LogicalResult", "addAdjoints",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::dist::Adjoints &":$adjoints)>,
  ];
}

#endif // DIST_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
