//===- ShardingRuleOpInterface.td - Factors of ops ---------*- tablegen -*-===//

#ifndef DIST_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define DIST_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Dist_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that says how its dimensions hang together. Propagation, insertion of
    reshards and partitioning know ops only through this interface; a dialect of
    a user joins by implementing it.
  }];
  let methods = [
    InterfaceMethod<"The factors of the op's iteration space.",
                    "::mlir::dist::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
        The same for ops whose rule depends on sizes that only running tells:
        `sizes` says which of them are equal, and remembers what it found.
      }], "::mlir::dist::ShardingRule", "getShardingRuleFromSizes",
      (ins "::mlir::dist::SizeOrigins &":$sizes), "", [{
        return ::llvm::cast<::mlir::dist::ShardingRuleOpInterface>(
            $_op.getOperation()).getShardingRule();
      }]>,
    InterfaceMethod<[{
        What becomes of the results where the flagged operands are partial of
        `kind` and the others are not. An accumulator (an init of the rule)
        counts as flagged: it is made partial with the others.
      }], "::mlir::dist::PartialResult", "getPartialResult",
      (ins "::llvm::ArrayRef<bool>":$partial, "::mlir::dist::ReductionKind":$kind),
      "", "return ::mlir::dist::PartialResult::Illegal;">,
    InterfaceMethod<[{
        Rewrites the op for one device: its operands are local already, its
        results' types become local ones (`view` has the placements). Anything in
        the op that speaks of sizes or indices is adapted. Where a dimension does
        not divide, the last elements of some devices are padding, which may hold
        anything. The default sets the result types and nothing else.
      }], "::llvm::LogicalResult", "makeLocal",
      (ins "::mlir::OpBuilder &":$builder, "const ::mlir::dist::LocalView &":$view),
      "", "return ::mlir::dist::setLocalResultTypes($_op, view);">,
  ];
}

#endif // DIST_INTERFACES_SHARDINGRULEOPINTERFACE_TD
