//===- RtInterfaces.td - What collectives have in common ---*- tablegen -*-===//

#ifndef DIST_LOWERING_RT_RTINTERFACES_TD
#define DIST_LOWERING_RT_RTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Rt_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::rt";
  let description = [{
    A call in which the members of a group take part: every rank of a program
    issues the same ones, in the same order on each communicator.
  }];
  let methods = [
    InterfaceMethod<"The communicator: a place in the module's "
                    "`rt.communicators`",
                    "uint32_t", "getComm">,
    InterfaceMethod<"A place in the module's `rt.collectives`, which describes "
                    "the call", "uint32_t", "getSite">,
    InterfaceMethod<"The stream of the rank that does the work; 0 is the one "
                    "that computes", "uint32_t", "getStream">,
    InterfaceMethod<"What this rank gives", "::mlir::Value",
                    "getSent">,
    InterfaceMethod<"What this rank receives into",
                    "::mlir::Value", "getReceived">
  ];
  let extraSharedClassDeclaration = [{
    /// The result that is a tensor, null of a call on buffers.
    ::mlir::Value getTensor() {
      return ::mlir::rt::detail::findResult<::mlir::RankedTensorType>($_op);
    }
    /// What rt.wait takes, null where the call is done when it returns.
    ::mlir::Value getToken() {
      return ::mlir::rt::detail::findResult<::mlir::rt::TokenType>($_op);
    }
  }];
  let verify = "return ::mlir::rt::detail::verifyCollective($_op);";
}

#endif // DIST_LOWERING_RT_RTINTERFACES_TD
