//===- DifferentiableOpInterface.td - Adjoints of ops ------*- tablegen -*-===//

#ifndef DIST_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define DIST_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Dist_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that says how cotangents of its results become cotangents of its
    operands (reverse mode). `--dist-differentiate` knows ops only through this
    interface: ops on tensors, and scalar ops in bodies of linalg ops. A user's
    dialect can implement it for its own ops.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the op's contribution to the cotangent of each active operand. At
        least one result has a cotangent. Operands and results are those of the
        forward program; the implementation may read all of them. New ops are
        inserted at `builder`. An operand that gets no contribution has a
        derivative of zero. If the derivative is unknown, emits an error at the op
        and fails.
      }], "::llvm::LogicalResult", "addAdjoints",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::dist::Adjoints &":$adjoints)>,
  ];
}

#endif // DIST_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
