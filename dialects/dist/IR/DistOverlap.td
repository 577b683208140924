//===- DistOverlap.td - Communication beside computation ---*- tablegen -*-===//
//
// What schedules say of it, and what keeps its order from changing results.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTOVERLAP_TD
#define DIST_IR_DISTOVERLAP_TD

include "dialects/dist/IR/DistBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_OverlapOp : Dist_Op<"overlap", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: whether modules' collectives run beside computation";
  let description = [{
    With `never`, collectives that are there for the modules that `target` matches
    are done where they stand. With `always`, they start as soon as their operand is
    there wherever something can be computed beside them, also where the machine's
    model foresees no gain. With `chunks` they are done in so many parts, each with
    that part of the products that make what is sent, or read what comes, so that one
    part travels while another is computed: parts of a dimension that the collective
    leaves as it is, the batch, say. With `ring` an all_gather passes devices' blocks
    around (Wang et al., 2023), and what reads them computes each as it is there, its
    own first; of a reduce_scatter the sums of blocks go around, and each device adds
    its part, its own block last: the order of a sum is that of the ring, which from
    three devices on may change bits. For all others `--dist-schedule-overlap`
    decides.

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
  let summary = "What is before and what is after it are not one kernel";
  let description = [{
    Where ops are put into another order, so that communication runs beside them,
    fences keep those apart that were not neighbours before. Kernels are made of
    neighbours, and what is rounded how depends on the kernel: so the order
    changes no bit.

    ```mlir
    %0 = linalg.exp ins(%a : …) outs(%e : …) -> tensor<8x16xf32>
    dist.fence
    %1 = linalg.add ins(%0, %b : …) outs(%e : …) -> tensor<8x16xf32>
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // DIST_IR_DISTOVERLAP_TD
