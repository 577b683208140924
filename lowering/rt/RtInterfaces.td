//===- RtInterfaces.td - What collectives have in common ---*- tablegen -*-===//

#ifndef DIST_LOWERING_RT_RTINTERFACES_TD
#define DIST_LOWERING_RT_RTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Rt_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::rt";
  let description = [{
    A call in which all members of a group take part. Every rank of a program
    issues the same calls, in the same order on each communicator.
  }];
  let methods = [
    InterfaceMethod<"The communicator: an index into the module's "
                    "`rt.communicators`",
                    "uint32_t", "getComm">,
    InterfaceMethod<"The description of the call: an index into the module's "
                    "`rt.collectives`", "uint32_t", "getSite">,
    InterfaceMethod<"The rank's stream that does the work; stream 0 computes",
                    "uint32_t", "getStream">,
    InterfaceMethod<"The tensor or buffer that this rank sends",
                    "::mlir::Value", "getSent">,
    InterfaceMethod<"The tensor or buffer that this rank receives into",
                    "::mlir::Value", "getReceived">
  ];
  let extraSharedClassDeclaration = [{
    /// The result that is a tensor; null for a call on buffers.
    ::mlir::Value getTensor() {
      return ::mlir::rt::detail::findResult<::mlir::RankedTensorType>($_op);
    }
    /// The operand of rt.wait; null if the call is synchronous.
    ::mlir::Value getToken() {
      return ::mlir::rt::detail::findResult<::mlir::rt::TokenType>($_op);
    }
  }];
  let verify = "return ::mlir::rt::detail::verifyCollective($_op);";
}

#endif // DIST_LOWERING_RT_RTINTERFACES_TD
