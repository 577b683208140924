//===- ShardingRuleOpInterface.td - Factors of ops ---------*- tablegen -*-===//

#ifndef DIST_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define DIST_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Dist_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that says how the dimensions of its operands and results correspond.
    Propagation, insertion of reshards and partitioning know ops only through this
    interface. A user's dialect can implement it for its own ops.
  }];
  let methods = [
    InterfaceMethod<"The factors of the op's iteration space.",
                    "::mlir::dist::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
        The same for ops whose rule depends on sizes that are known only when the
        program runs. `sizes` tells which of them are equal, and caches what it
        found.
      }], "::mlir::dist::ShardingRule", "getShardingRuleFromSizes",
      (ins "::mlir::dist::SizeOrigins &":$sizes), "", [{
        return ::llvm::cast<::mlir::dist::ShardingRuleOpInterface>(
            $_op.getOperation()).getShardingRule();
      }]>,
    InterfaceMethod<[{
        How the results are placed if the flagged operands are partial of `kind`
        and the others are not. An accumulator (an init of the rule) counts as
        flagged: it is made partial with the others.
      }], "::mlir::dist::PartialResult", "getPartialResult",
      (ins "::llvm::ArrayRef<bool>":$partial, "::mlir::dist::ReductionKind":$kind),
      "", "return ::mlir::dist::PartialResult::Illegal;">,
    InterfaceMethod<[{
        Rewrites the op for one device. Its operands are local already; its result
        types become local (`view` has the placements). Sizes and indices in the op
        are adapted. If a dimension is not divisible, the last elements of some
        devices are padding, which may hold anything. The default sets the result
        types and nothing else.
      }], "::llvm::LogicalResult", "makeLocal",
      (ins "::mlir::OpBuilder &":$builder, "const ::mlir::dist::LocalView &":$view),
      "", "return ::mlir::dist::setLocalResultTypes($_op, view);">,
  ];
}

#endif // DIST_INTERFACES_SHARDINGRULEOPINTERFACE_TD
