//===- DistRandom.td - Random numbers ----------------------*- tablegen -*-===//
//
// The op that draws random numbers, and the directive that controls it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTRANDOM_TD
#define DIST_IR_DISTRANDOM_TD

include "dialects/dist/IR/DistAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_RandomWordsOp : Dist_Op<"random_words", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "Four random words of an element, keyed by its position";
  let description = [{
    It stands in the body of a linalg op. Its results are four words of 32 bits,
    each an i64. They depend only on the operands and attributes, so each device,
    and each pass that recomputes an element, draws the same words.

    The generator is Philox4x32-10 (Salmon et al. 2011). Its counter has four
    words. Two are the low and the high half of the element's row-major number, in
    a tensor of the sizes after `of`. The others are the number of the operator and
    the low half of the step. Its key is the two halves of the seed.

    ```mlir
    %words:4 = dist.random_words %seed, %step operator 0 at (%i, %j) of [4, 6]
    ```

    With `streams over` axes (see `dist.random_streams`), a device draws from its
    own stream along these axes. `at` becomes the position in the device's part,
    and `of` the sizes of the part. `stream` is the device's index on the axes.
    That index plus one is added to the high half of the seed.

    Constraints:
    - (C1) `at` has an entry for each size.
    - (C2) `streams` has at least one axis, none twice, and no `stream` beside it.
      Only it has `by`, the location of the directive.
  }];
  let arguments = (ins I64:$seed, I64:$step,
                       I64Attr:$number, Variadic<Index>:$indices,
                       Variadic<Index>:$dynamicSizes, DenseI64ArrayAttr:$sizes,
                       Optional<Index>:$stream,
                       OptionalAttr<Dist_AxisRefArrayAttr>:$axes,
                       OptionalAttr<AnyAttr>:$by);
  let results = (outs I64:$first, I64:$second, I64:$third, I64:$fourth);
  let assemblyFormat = [{
    $seed `,` $step `operator` $number `at` `(` $indices `)`
    `of` custom<DynamicIndexList>($dynamicSizes, $sizes)
    (`stream` $stream^)? (`streams` `over` custom<AxisList>($axes)^)?
    (`by` $by^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Dist_RandomStreamsOp : Dist_Op<"random_streams", [HasParent<"ScheduleOp">]> {
  let summary = "Directive: devices draw random numbers from streams of their own";
  let description = [{
    It applies to modules that `target` matches and that draw random numbers
    (dropout). Each device along `axes` then draws from a stream of its own, as
    with the random states that Megatron-LM keeps for tensor parallelism. The key
    is the device's index on the axes and the element's number in the device's
    part. Without the directive it is the element's number in the whole tensor.

    ```mlir
    dist.random_streams "h.*.attn.dropout" over "tp"
    ```

    The numbers then depend on the mesh and on the sharding along these axes:
    another mesh gives other numbers. The values that draw them must be sharded
    over all of the axes. Otherwise devices with the same elements would draw
    different numbers, and that is an error. Backward and recomputation draw the
    numbers that forward drew.

    Constraints: those of axes in directives; `expect` is at least 1, and not
    `optional`. A module that draws no random numbers is an error.
  }];
  let arguments = (ins StrAttr:$target, Dist_AxisRefArrayAttr:$axes,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // DIST_IR_DISTRANDOM_TD
