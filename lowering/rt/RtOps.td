//===- RtOps.td - Calls of the runtime on buffers ----------*- tablegen -*-===//
//
// Level 5: one op for each function of runtime/include/dist/runtime.h. Operands
// are buffers, or, just before bufferization, tensors with destinations.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_RTOPS_TD
#define DIST_LOWERING_RT_RTOPS_TD

include "lowering/rt/RtInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::mlir::rt";
  let summary = "Calls of the runtime's C interface";
  let description = [{
    Each op is one call of `runtime/include/dist/runtime.h`. The parameters of the
    C function are attributes and operands. The element type follows from the
    buffers, and so does the count of calls without a dimension. Three attributes
    of the module are lists that ops index:

    - `rt.communicators`: a list of mesh axes for each communicator.
    - `rt.collectives`: a description of each call for the manifest, its `site`.
    - `rt.checks`: the checks that the program makes of its data, each with its
      message.

    Work is issued on a stream of the rank. The default is stream 0, which
    computes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Rt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rt_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

def Rt_Reduction : I32EnumAttr<"Reduction", "dist_op of the C interface", [
      I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
      I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
      I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::mlir::rt";
  let genSpecializedAttr = 0;
}
def Rt_ReductionAttr : EnumAttr<Rt_Dialect, Rt_Reduction, "reduction"> {
  let summary = "How the members' operands combine";
  let assemblyFormat = "`<` $value `>`";
}

def Rt_Boundary : I32EnumAttr<"Boundary", "dist_boundary of the C interface", [
      I32EnumAttrCase<"Zero", 0, "zero">,
      I32EnumAttrCase<"Constant", 1, "constant">,
      I32EnumAttrCase<"None", 2, "none">,
      I32EnumAttrCase<"Periodic", 3, "periodic">]> {
  let cppNamespace = "::mlir::rt";
  let genSpecializedAttr = 0;
}
def Rt_BoundaryAttr : EnumAttr<Rt_Dialect, Rt_Boundary, "boundary"> {
  let summary = "What rows outside of the whole dimension are";
  let assemblyFormat = "`<` $value `>`";
}

def Rt_LoopKind : I32EnumAttr<"LoopKind", "dist_loop_kind of the C interface", [
      I32EnumAttrCase<"Batch", 0, "batch">, I32EnumAttrCase<"M", 1, "m">,
      I32EnumAttrCase<"N", 2, "n">, I32EnumAttrCase<"K", 3, "k">]> {
  let cppNamespace = "::mlir::rt";
  let genSpecializedAttr = 0;
}
def Rt_LoopAttr : AttrDef<Rt_Dialect, "Loop"> {
  let mnemonic = "loop";
  let summary = "A loop of a contraction";
  let description = [{
    `#rt.loop<m 4 a 8 b 0 c 2>` has 4 iterations. Each is 8 elements further in a
    and 2 in c. The kind says which operands depend on the loop: `batch` on all,
    `m` on a and c, `n` on b and c, `k` on a and b. The op sums over `k`. An
    operand that does not depend on the loop has stride 0.
  }];
  let parameters = (ins EnumParameter<Rt_LoopKind>:$kind, "int64_t":$extent,
                        "int64_t":$a, "int64_t":$b, "int64_t":$c);
  let assemblyFormat = "`<` $kind $extent `a` $a `b` $b `c` $c `>`";
  let genVerifyDecl = 1;
}

def Rt_WindowAttr : AttrDef<Rt_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "A dimension over which a convolution's window moves";
  let description = [{
    `#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>`: the
    dimension's number in each operand, the steps of the window and of its taps,
    and the number of implicit zeros before the image. The number behind it
    follows from the sizes.
  }];
  let parameters = (ins "int64_t":$image, "int64_t":$kernel, "int64_t":$out,
                        "int64_t":$stride, "int64_t":$dilation, "int64_t":$low);
  let assemblyFormat = [{
    `<` `image` $image `kernel` $kernel `out` $out `stride` $stride
    `dilation` $dilation `low` $low `>`
  }];
  let genVerifyDecl = 1;
}

def Rt_EventType : TypeDef<Rt_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "What had been issued on a stream when the event was recorded";
}

def Rt_TokenType : TypeDef<Rt_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "A collective that has been started";
}

def Rt_RowPlanType : TypeDef<Rt_Dialect, "RowPlan"> {
  let mnemonic = "row_plan";
  let summary = "Which rows of a dimension are needed, by owner";
}

def Rt_Stream : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<15>]>;
def Rt_Index : ConfinedAttr<I32Attr, [IntNonNegative]>;
def Rt_Size : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Rt_BufferOrTensor : AnyTypeOf<[AnyMemRef, AnyRankedTensor]>;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// A collective with an operand and a destination. `parameters` are its own
/// attributes, `parametersFormat` their assembly. If it returns a token, it is
/// only started: `rt.wait` waits for its end.
class Rt_CollectiveOp<string mnemonic, dag parameters, string parametersFormat>
    : Rt_Op<mnemonic, [DestinationStyleOpInterface, Rt_CollectiveOpInterface,
                       DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = !con(
      (ins Rt_Index:$comm, Rt_Index:$site,
           DefaultValuedAttr<Rt_Stream, "0">:$stream),
      parameters,
      (ins Rt_BufferOrTensor:$input, Rt_BufferOrTensor:$init));
  let results = (outs Variadic<AnyTypeOf<[AnyRankedTensor, Rt_TokenType]>>:
                     $produced);
  let assemblyFormat = [{
    `comm` $comm `site` $site (`stream` $stream^)? }] # parametersFormat # [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    attr-dict (`->` type($produced)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    ::mlir::Value getSent() { return getInput(); }
    ::mlir::Value getReceived() { return getInit(); }
  }];
  let extraClassDefinition = [{
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<
            ::mlir::MemoryEffects::Effect>> &effects) {
      ::mlir::rt::detail::addCollectiveEffects(getInputMutable(),
                                               getInitMutable(), effects);
    }
  }];
  let hasVerifier = 1;
}

def Rt_AllReduceOp : Rt_CollectiveOp<"all_reduce",
    (ins Rt_ReductionAttr:$reduction), "$reduction"> {
  let summary = "The reduction of the members' operands, on all";
  let description = [{
    ```mlir
    rt.all_reduce comm 0 site 3 <sum>
        ins(%0 : memref<2x64xf32>) outs(%1 : memref<2x64xf32>)
    ```
    The destination may be the operand.
  }];
}

def Rt_AllGatherOp : Rt_CollectiveOp<"all_gather",
    (ins Rt_Size:$outer, Rt_Size:$whole, Rt_Size:$inner),
    "`outer` $outer `whole` $whole `inner` $inner"> {
  let summary = "The members' blocks of a dimension, concatenated on all members";
  let description = [{
    The destination is [outer, whole, inner]. A block is stored with ceil(whole /
    members) rows; only rows within `whole` are gathered.
    ```mlir
    rt.all_gather comm 0 site 3 stream 1 outer 2 whole 16 inner 64
        ins(%0 : memref<2x4x64xf32>) outs(%1 : memref<2x16x64xf32>)
    ```
  }];
}

def Rt_ReduceScatterOp : Rt_CollectiveOp<"reduce_scatter",
    (ins Rt_ReductionAttr:$reduction, Rt_Size:$outer, Rt_Size:$whole,
         Rt_Size:$inner),
    "$reduction `outer` $outer `whole` $whole `inner` $inner"> {
  let summary = "This member's block of the reduction of the members' operands";
  let description = [{
    The operand is [outer, whole, inner].
    ```mlir
    rt.reduce_scatter comm 0 site 3 <sum> outer 2 whole 16 inner 64
        ins(%0 : memref<2x16x64xf32>) outs(%1 : memref<2x4x64xf32>)
    ```
  }];
}

def Rt_AllToAllOp : Rt_CollectiveOp<"all_to_all",
    (ins UnitAttr:$split_first, Rt_Size:$outer, Rt_Size:$split_whole,
         Rt_Size:$middle, Rt_Size:$concat_whole, Rt_Size:$inner),
    [{(`split_first` $split_first^)? `outer` $outer `split_whole` $split_whole
      `middle` $middle `concat_whole` $concat_whole `inner` $inner}]> {
  let summary = "Moves the sharding from one dimension to another";
  let description = [{
    The tensor is [outer, first, middle, second, inner]. With `split_first`, the
    dimension `first` is whole before and sharded after, and `second` the reverse.
    Without it, the two change roles.
    ```mlir
    rt.all_to_all comm 0 site 3 split_first outer 2 split_whole 8 middle 1
        concat_whole 16 inner 4
        ins(%0 : memref<2x8x4x4xf32>) outs(%1 : memref<2x2x16x4xf32>)
    ```
  }];
}

def Rt_BroadcastOp : Rt_CollectiveOp<"broadcast",
    (ins Rt_Size:$root), "`root` $root"> {
  let summary = "The operand of one member, on all";
  let description = [{
    ```mlir
    rt.broadcast comm 0 site 3 root 1
        ins(%0 : memref<8xf32>) outs(%1 : memref<8xf32>)
    ```
    The destination may be the operand.
  }];
}

def Rt_CollectivePermuteOp : Rt_CollectiveOp<"collective_permute",
    (ins DenseI64ArrayAttr:$pairs), "`pairs` $pairs"> {
  let summary = "Operands move between members, by pairs of source and target";
  let description = [{
    No member is a source twice, or a target twice. A member that is no target
    receives zeros. Here each of three members sends to the next:
    ```mlir
    rt.collective_permute comm 0 site 3 pairs [0, 1, 1, 2]
        ins(%0 : memref<8xf32>) outs(%1 : memref<8xf32>)
    ```
  }];
}

def Rt_HaloExchangeOp : Rt_CollectiveOp<"halo_exchange",
    (ins Rt_Size:$outer, Rt_Size:$whole, Rt_Size:$inner, Rt_Size:$low,
         Rt_Size:$high, DefaultValuedAttr<Rt_BoundaryAttr, "Boundary::Zero">:$boundary,
         DefaultValuedAttr<I64Attr, "0">:$fill),
    [{`outer` $outer `whole` $whole `inner` $inner `low` $low `high` $high
      (`boundary` $boundary^)? (`fill` $fill^)?}]> {
  let summary = "A block of a dimension with rows of its neighbours";
  let description = [{
    The operand is a block [outer, rows, inner] of [outer, whole, inner]. The
    destination has `low` rows before it and `high` rows after it. Rows outside of
    the whole dimension are zero, or as `boundary` says. The low bits of `fill`
    are the constant of the boundary, of the buffers' element type.
    ```mlir
    rt.halo_exchange comm 0 site 3 outer 2 whole 16 inner 4 low 1 high 1
        ins(%0 : memref<2x4x4xf32>) outs(%1 : memref<2x6x4xf32>)
    ```
  }];
}

def Rt_HaloReduceOp : Rt_CollectiveOp<"halo_reduce",
    (ins Rt_Size:$outer, Rt_Size:$whole, Rt_Size:$inner, Rt_Size:$low,
         Rt_Size:$high, UnitAttr:$periodic),
    [{`outer` $outer `whole` $whole `inner` $inner `low` $low `high` $high
      (`periodic` $periodic^)?}]> {
  let summary = "Rows of halos, sent to their owners and added there";
  let description = [{
    The adjoint of rt.halo_exchange: its operand has the shape of that op's
    destination.
    ```mlir
    rt.halo_reduce comm 0 site 3 outer 2 whole 16 inner 4 low 1 high 1
        ins(%0 : memref<2x6x4xf32>) outs(%1 : memref<2x4x4xf32>)
    ```
  }];
}

def Rt_PlanRowsOp : Rt_Op<"plan_rows",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Finds the owners of the rows that indices name: no communication";
  let description = [{
    Done once for all calls with these indices. An index outside of [0, whole)
    ends the run. `site` is that of a call that uses the plan; the message names
    it.
    ```mlir
    %p = rt.plan_rows comm 0 site 3 whole 24 indices(%i : memref<30xindex>)
    rt.gather_rows comm 0 site 3 plan %p outer 1 whole 24 inner 8
        ins(%0 : memref<12x8xf32>) outs(%1 : memref<30x8xf32>)
    ```
  }];
  let arguments = (ins Rt_Index:$comm, Rt_Index:$site, Rt_Size:$whole,
                       Rt_BufferOrTensor:$indices);
  let results = (outs Rt_RowPlanType:$plan);
  let assemblyFormat = [{
    `comm` $comm `site` $site `whole` $whole
    `indices` `(` $indices `:` type($indices) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_GatherRowsOp : Rt_CollectiveOp<"gather_rows",
    (ins Rt_RowPlanType:$plan, Rt_Size:$outer, Rt_Size:$whole, Rt_Size:$inner),
    "`plan` $plan `outer` $outer `whole` $whole `inner` $inner"> {
  let summary = "The rows of a dimension that a plan names";
  let description = [{
    The operand is a block [outer, rows, inner] of [outer, whole, inner], the
    destination [indices, outer, inner].
  }];
}

def Rt_ReduceRowsOp : Rt_CollectiveOp<"reduce_rows",
    (ins Rt_RowPlanType:$plan, Rt_Size:$outer, Rt_Size:$whole, Rt_Size:$inner),
    "`plan` $plan `outer` $outer `whole` $whole `inner` $inner"> {
  let summary = "Rows, sent to the owners that a plan names and added there";
  let description = [{
    The adjoint of rt.gather_rows: its operand has the shape of that op's
    destination.
    ```mlir
    rt.reduce_rows comm 0 site 4 plan %p outer 1 whole 24 inner 8
        ins(%0 : memref<30x8xf32>) outs(%1 : memref<12x8xf32>)
    ```
  }];
}

def Rt_WaitOp : Rt_Op<"wait", [DestinationStyleOpInterface,
                       DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Waits for a collective that was started";
  let description = [{
    ```mlir
    %0, %token = rt.all_gather comm 0 site 3 stream 1 outer 2 whole 16 inner 64
        ins(%a : tensor<2x4x64xf32>) outs(%d : tensor<2x16x64xf32>)
        -> tensor<2x16x64xf32>, !rt.token
    // computes what needs neither
    %1 = rt.wait %token reads(%a : tensor<2x4x64xf32>)
        outs(%0 : tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    ```
    From the start to the wait, nothing may write the operand, and nothing may
    touch the destination. The wait has both as operands, so that bufferization
    and memory planning keep both alive. It reads the operand, and writes the
    destination in place, as if the transfer took place at the wait.

    Constraints:
    1. The token comes from a collective on a stream other than 0, in the same
       block.
    2. The token has no other use.
    3. The op reads that collective's operand.
    4. The op writes that collective's result, which has no other use. On buffers
      it writes the destination.
  }];
  let arguments = (ins Rt_TokenType:$token, Rt_BufferOrTensor:$input,
                       Rt_BufferOrTensor:$init);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $token `reads` `(` $input `:` type($input) `)`
    `outs` `(` $init `:` type($init) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    /// The collective that is waited for.
    ::mlir::rt::CollectiveOpInterface getStart();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

def Rt_EventRecordOp : Rt_Op<"event_record"> {
  let summary = "Records all that was issued on a stream so far, as an event";
  let description = [{
    ```mlir
    %ready = rt.event_record stream 0   // operands are there
    rt.stream_wait %ready stream 1
    rt.all_reduce comm 0 site 3 stream 1 <sum> ins(...) outs(...)
    %done = rt.event_record stream 1
    // computes what needs neither operand nor destination
    rt.stream_wait %done stream 0
    ```
  }];
  let arguments = (ins Rt_Stream:$stream);
  let results = (outs Rt_EventType:$event);
  let assemblyFormat = "`stream` $stream attr-dict";
}

def Rt_StreamWaitOp : Rt_Op<"stream_wait"> {
  let summary = "Later work on a stream starts after an event";
  let arguments = (ins Rt_EventType:$event, Rt_Stream:$stream);
  let assemblyFormat = "$event `stream` $stream attr-dict";
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

def Rt_LoopArrayAttr
    : TypedArrayAttrBase<Rt_LoopAttr, "loops of a contraction">;

def Rt_ContractOp : Rt_Op<"contract"> {
  let summary = "A sum of products over any loops (dist_contract)";
  let description = [{
    Strides count elements from each operand's first.
    ```mlir
    rt.contract ins(%a, %b : memref<4x8xf32>, memref<8x2xf32>) outs(%c : memref<4x2xf32>)
        loops [#rt.loop<m 4 a 8 b 0 c 2>, #rt.loop<n 2 a 0 b 1 c 1>,
               #rt.loop<k 8 a 1 b 2 c 0>]
    ```
    `constant_a` and `constant_b` say that the operand's buffer holds the same data
    in all calls of a run. So it may be packed once. `only_a` and `only_b` say
    besides that no other op reads it. So its memory may be given back then.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$a,
                       Arg<AnyMemRef, "", [MemRead]>:$b,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$c,
                       Rt_LoopArrayAttr:$loops, UnitAttr:$accumulate,
                       UnitAttr:$constant_a, UnitAttr:$constant_b,
                       UnitAttr:$only_a, UnitAttr:$only_b);
  let assemblyFormat = [{
    `ins` `(` $a `,` $b `:` type($a) `,` type($b) `)`
    `outs` `(` $c `:` type($c) `)` `loops` $loops (`accumulate` $accumulate^)?
    (`constant_a` $constant_a^)? (`constant_b` $constant_b^)?
    (`only_a` $only_a^)? (`only_b` $only_b^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_WindowArrayAttr
    : TypedArrayAttrBase<Rt_WindowAttr, "windows of a convolution">;

def Rt_ScatterOp : Rt_Op<"scatter",
    [DestinationStyleOpInterface,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Slices that go to positions of a tensor, or are added there";
  let description = [{
    Does what `tensor.scatter` and `dist.scatter_add` do, on a target that runs it
    as a kernel. Which slices go to a position is known beforehand: `keys` are
    sorted, one for each slice.

    ```mlir
    // 3 slices of 4 elements are added to rows of %table.
    rt.scatter ins(%slices, %keys : memref<3x4xf32>, memref<4xi64>)
        outs(%table : memref<5x4xf32>) dims [0] batch 1 add
    ```
    The first `batch` dimensions of the source number the slices. A key is
    `row * size + slice`, where `size` is the number of keys, a power of two. The
    row numbers the positions in the dimensions `dims` of the destination, the
    last one fastest. All rows are within the destination. Keys beyond the slices
    are the largest number of 64 bits.

    Slices of one row are added in the order of their numbers. Without `add`, the
    last one stays. Buffers may have any strides.
  }];
  let arguments = (ins Rt_BufferOrTensor:$source, Rt_BufferOrTensor:$keys,
                       Rt_BufferOrTensor:$init, DenseI64ArrayAttr:$dims,
                       I64Attr:$batch, UnitAttr:$add);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $source `,` $keys `:` type($source) `,` type($keys) `)`
    `outs` `(` $init `:` type($init) `)` `dims` $dims `batch` $batch
    (`add` $add^)? attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    /// The dimension of the destination that each one of a slice runs along.
    /// Those in `dims` have one element, or are left out.
    ::llvm::SmallVector<int64_t> getSliceDims();
  }];
  let hasVerifier = 1;
}

def Rt_ConvolveOp : Rt_Op<"convolve",
    [DestinationStyleOpInterface,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A convolution (dist_convolve)";
  let description = [{
    The dimensions of the operands:

    - `batch`: one of the image and one of the result.
    - `group`: one of image, kernel and result.
    - `channel`: one of image and kernel, which is summed over.
    - `feature`: one of kernel and result.
    - all others are windows.

    An empty list means that the op has no such dimension. Buffers may have any
    strides.
    ```mlir
    rt.convolve ins(%x, %w : memref<1x3x8x8xf32>, memref<4x3x3x3xf32>)
        outs(%y : memref<1x4x8x8xf32>) batch [0, 0] group [] channel [1, 1]
        feature [0, 1]
        windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>,
                 #rt.window<image 3 kernel 3 out 3 stride 1 dilation 1 low 1>]
    ```
    With `accumulate`, the result is added to the destination. A bias has an
    element for each group and feature. `constant` says that the kernel's buffer
    holds the same data in all calls of a run. So it may be packed once.

    `clamp [low, high]` bounds the result, as `arith.maximumf` with the first
    bound and then `arith.minimumf` with the second do: a NaN stays a NaN. A lower
    bound of -0 and an upper bound of 0 are not supported.
  }];
  let arguments = (ins Rt_BufferOrTensor:$image, Rt_BufferOrTensor:$kernel,
                       Optional<Rt_BufferOrTensor>:$bias,
                       Rt_BufferOrTensor:$init,
                       DenseI64ArrayAttr:$batch, DenseI64ArrayAttr:$group,
                       DenseI64ArrayAttr:$channel, DenseI64ArrayAttr:$feature,
                       Rt_WindowArrayAttr:$windows, UnitAttr:$accumulate,
                       UnitAttr:$constant,
                       OptionalAttr<DenseF32ArrayAttr>:$clamp);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $image `,` $kernel `:` type($image) `,` type($kernel) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $init `:` type($init) `)` `batch` $batch `group` $group
    `channel` $channel `feature` $feature `windows` $windows
    (`accumulate` $accumulate^)? (`constant` $constant^)? (`clamp` custom<Bounds>($clamp)^)?
    attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    /// Whether these bounds are supported.
    static bool isClamp(float low, float high);
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Place in the mesh, failure
//===----------------------------------------------------------------------===//

def Rt_CommIndexOp : Rt_Op<"comm_index", [Pure]> {
  let summary = "This rank's index in its group of a communicator";
  let arguments = (ins Rt_Index:$comm);
  let results = (outs Index:$result);
  let assemblyFormat = "$comm attr-dict";
}

def Rt_StatusOp : Rt_Op<"status", [Pure]> {
  let summary = "The status words of the entry function";
  let results = (outs LLVM_AnyPointer:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Rt_FailOp : Rt_Op<"fail", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stores that a check failed: no call";
  let description = [{
    Kernels can do this on any device. The first failure of a rank is kept: the
    check's number and the value that it tested go to the status words
    (`dist_main` in runtime.h), and execution continues. The runtime ends the run
    with the message, before a wrong result is returned. Code after the check must
    be safe for values that fail it.
    ```mlir
    scf.if %bad {
      rt.fail %status, "model.py:7: the index is in [0, 5)" value %index : !llvm.ptr
    }
    %safe = arith.select %bad, %c0, %index : index
    ```
  }];
  let arguments = (ins LLVM_AnyPointer:$status, StrAttr:$message,
                       Optional<Index>:$value);
  let assemblyFormat = [{
    $status `,` $message (`value` $value^)? attr-dict `:` type($status)
  }];
}

def Rt_FailedOp : Rt_Op<"failed", [MemoryEffects<[MemRead]>]> {
  let summary = "Whether a check has failed on this rank: no call";
  let description = [{
    Reads the status words. Kernels use it in loops whose number of iterations
    depends on data, since after a failed check such a loop might never end.

    ```mlir
    %failed = rt.failed %status : !llvm.ptr
    ```
  }];
  let arguments = (ins LLVM_AnyPointer:$status);
  let results = (outs I1:$result);
  let assemblyFormat = "$status attr-dict `:` type($status)";
}

def Rt_CheckOp : Rt_Op<"check"> {
  let summary = "Ends the run on all ranks if a check has failed";
  let description = [{
    For code between kernels whose control flow depends on values that a failed
    check has made wrong.
  }];
  let assemblyFormat = "attr-dict";
}

#endif // DIST_LOWERING_RT_RTOPS_TD
