//===- RtOps.td - Calls of the runtime on buffers ----------*- tablegen -*-===//
//
// Level 5: what runtime/include/dist/runtime.h offers, as ops with operands that
// are buffers (or, just before bufferization, tensors with destinations).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_RTOPS_TD
#define DIST_LOWERING_RT_RTOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::mlir::rt";
  let summary = "Calls of the runtime's C interface";
  let description = [{
    Each op is one call of `runtime/include/dist/runtime.h`. Communicators are
    numbers: their place in the module's `rt.communicators`, a list of lists of
    mesh axes; `site` is a place in the module's `rt.collectives`, which
    describes each call for the manifest.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

class Rt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rt_Dialect, mnemonic, traits>;

def Rt_CollectiveOp : Rt_Op<"collective", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A collective of the runtime, into a given destination";
  let description = [{
    ```mlir
    rt.collective all_gather comm 0 site 3 [2, 16, 64]
        ins(%0 : memref<2x4x64xf32>) outs(%1 : memref<2x16x64xf32>)
    ```
    `params` are the integers that the C function of that name takes between
    dtype (or reduction) and the pointers:

    | kind | params |
    |---|---|
    | all_reduce | count |
    | all_gather, reduce_scatter | outer, whole, inner |
    | all_to_all | split_first, outer, split_whole, middle, concat_whole, inner |
    | broadcast | root, count |
    | collective_permute | count, then source and target of each pair |
    | halo_exchange | outer, whole, inner, low, high |

    `reduction` is the C interface's `dist_op`. Buffers are contiguous.
  }];
  let arguments = (ins StrAttr:$kind, I32Attr:$comm, I32Attr:$site,
                       OptionalAttr<I32Attr>:$reduction,
                       DenseI64ArrayAttr:$params,
                       AnyTypeOf<[AnyMemRef, AnyRankedTensor]>:$input,
                       AnyTypeOf<[AnyMemRef, AnyRankedTensor]>:$init);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $kind `comm` $comm `site` $site (`reduction` $reduction^)? $params
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
  let hasVerifier = 1;
}

def Rt_ContractOp : Rt_Op<"contract"> {
  let summary = "A sum of products over any loops (dist_contract)";
  let description = [{
    `loops` holds {kind, extent, stride in a, in b, in c} of each loop, as
    `dist_contract` takes them; strides count elements from each operand's first.
    ```mlir
    rt.contract ins(%a, %b : memref<4x8xf32>, memref<8x2xf32>) outs(%c : memref<4x2xf32>)
        loops [1, 4, 8, 0, 2, 2, 2, 0, 1, 1, 3, 8, 1, 2, 0]
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$a,
                       Arg<AnyMemRef, "", [MemRead]>:$b,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$c,
                       DenseI64ArrayAttr:$loops, UnitAttr:$accumulate);
  let assemblyFormat = [{
    `ins` `(` $a `,` $b `:` type($a) `,` type($b) `)`
    `outs` `(` $c `:` type($c) `)` `loops` $loops (`accumulate` $accumulate^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_CommIndexOp : Rt_Op<"comm_index", [Pure]> {
  let summary = "This rank's place in its group of a communicator";
  let arguments = (ins I32Attr:$comm);
  let results = (outs Index:$result);
  let assemblyFormat = "$comm attr-dict";
}

def Rt_RankOp : Rt_Op<"rank", [Pure]> {
  let summary = "This rank, in the entry function";
  let results = (outs LLVM_AnyPointer:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Rt_FailOp : Rt_Op<"fail"> {
  let summary = "Ends the run on all ranks with a message (dist_fail)";
  let arguments = (ins LLVM_AnyPointer:$rank, StrAttr:$message);
  let assemblyFormat = "$rank `,` $message attr-dict `:` type($rank)";
}

#endif // DIST_LOWERING_RT_RTOPS_TD
