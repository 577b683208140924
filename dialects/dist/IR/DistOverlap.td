//===- DistOverlap.td - Communication beside computation ---*- tablegen -*-===//
//
// The directive that controls it, and an op that keeps a new order from changing
// results.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTOVERLAP_TD
#define DIST_IR_DISTOVERLAP_TD

include "dialects/dist/IR/DistBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_OverlapOp : Dist_Op<"overlap", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: whether modules' collectives run beside computation";
  let description = [{
    It applies to the collectives of the modules that `target` matches:

    - `never`: they stay where they are.
    - `always`: they start as soon as their operand is available, if anything can
      be computed beside them. The estimate need not predict a gain.
    - `chunks n`: they are cut into n parts along a dimension that they leave as
      it is, such as the batch. So are the products that compute what is sent, or
      that read what is received. One part then travels while another is computed.
    - `ring`: an all_gather passes the devices' blocks around (Wang et al., 2023).
      Its readers compute with each block when it arrives, with their own first.
      For a reduce_scatter the sums of blocks go around, and each device adds its
      part, its own block last. Sums are then added in the order of the ring, so
      from three devices on bits may change.

    `--dist-schedule-overlap` decides for all other collectives.

    ```mlir
    dist.overlap "h.0" never
    dist.overlap "h.*.attn.{wq,wk,wv}" always
    dist.overlap "h.*.mlp.c_proj" chunks 2
    dist.overlap "h.*.mlp.c_fc" ring
    ```

    Constraints: `chunks` is at least 2, `expect` at least 1 and not `optional`.
  }];
  let arguments = (ins StrAttr:$target, UnitAttr:$always,
                       OptionalAttr<I64Attr>:$chunks, UnitAttr:$ring,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_FenceOp : Dist_Op<"fence", [MemoryEffects<[MemWrite]>]> {
  let summary = "Ops before and after it are never fused into one kernel";
  let description = [{
    Overlap reorders ops, so ops may become neighbours that were not neighbours
    before. Kernels are made of neighbours, and rounding depends on the kernel. A
    fence keeps new neighbours apart, so that the new order changes no bit.

    ```mlir
    %0 = linalg.exp ins(%a : …) outs(%e : …) -> tensor<8x16xf32>
    dist.fence
    %1 = linalg.add ins(%0, %b : …) outs(%e : …) -> tensor<8x16xf32>
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // DIST_IR_DISTOVERLAP_TD
