//===- DistBase.td - The dist dialect ----------------------*- tablegen -*-===//
//
// The dialect itself and what all its .td files share.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTBASE_TD
#define DIST_IR_DISTBASE_TD

include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::mlir::dist";
  let summary = "Device meshes, shardings, schedules and collectives";
  let description = [{
    The `dist` dialect describes how the values of a tensor program are placed on an
    n-dimensional mesh of devices, and which communication that needs. A *schedule*,
    separate from the model, asks for both.

    | level | ops and attributes |
    |---|---|
    | 1, annotated | `dist.mesh`, `dist.schedule`, `dist.shard`, `dist.sync`, `dist.sharding_constraint`, `#dist.sharding` |
    | 2, placed | `dist.reshard`, `dist.shardings` on every op with tensor results |
    | 3, SPMD | `dist.all_reduce`, `dist.all_gather`, `dist.reduce_scatter`, `dist.all_to_all`, `dist.all_slice`, … |

    Shardings follow the factor rule of Shardy and GSPMD (Xu et al., "GSPMD:
    General and Scalable Parallelization for ML Computation Graphs", 2021). In
    addition, *partial* values are placements of their own, as in OneFlow's SBP
    and PyTorch's DTensor.

    Discardable attributes of the dialect are declared in `Attributes.inc`, and listed
    in docs/internals/attributes.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    /// For an unknown op name: suggests the op that may be meant.
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef name) const override;
  }];
}

class Dist_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, traits>;

#endif // DIST_IR_DISTBASE_TD
