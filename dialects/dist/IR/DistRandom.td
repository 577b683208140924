//===- DistRandom.td - Random numbers ----------------------*- tablegen -*-===//
//
// What a program draws them with, and what schedules say of it.
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
  let summary = "Four random words of an element, keyed by its place";
  let description = [{
    In the body of a linalg op: four words of 32 bits, each an i64, that hang on
    nothing but what they are keyed by. They are what Philox4x32-10 (Salmon et al.
    2011) makes of a counter of four words: the low and the high half of the
    element's row-major number in the tensor whose sizes stand after `of`, the
    number of the operator, and the low half of the step; and of a key of two: the
    halves of the seed. So each device, and each pass that computes an element
    again, draws the same.

    ```mlir
    %words:4 = dist.random_words %seed, %step operator 0 at (%i, %j) of [4, 6]
    ```

    With `streams over` axes (see `dist.random_streams`) a device draws from a
    stream of its own along them: `at` becomes the place in the device's part, `of`
    the part's sizes, and after `stream` stands which device of the axes it is.
    One more than that is added to the high half of the seed.

    Constraints:
    - (C1) `at` has an entry for each size.
    - (C2) `streams` has at least one axis, none twice, and no `stream` beside it;
      only it has `by`, the location of the directive.
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
    Where modules that `target` matches draw random numbers (dropout), each device
    along `axes` does so from a stream of its own, keyed by its place among them and
    by the element's number in its part (as with the random states that Megatron-LM
    keeps for tensor parallelism), in place of the element's number in the whole
    tensor.

    ```mlir
    dist.random_streams "h.*.attn.dropout" over "tp"
    ```

    The numbers then hang on the mesh and on how tensors are shared out: another
    mesh is another program. Along axes that are not named they do not. What draws
    them has to be shared out over all of the axes: devices that have the same
    elements would draw different numbers for them, and that is an error. Backward,
    and what is computed again, draws what forward drew.

    Constraints: those of axes in directives; `expect` is at least 1, and not
    `optional`. A module that draws no random numbers is an error.
  }];
  let arguments = (ins StrAttr:$target, Dist_AxisRefArrayAttr:$axes,
                       UnitAttr:$optional, OptionalAttr<I64Attr>:$expect);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // DIST_IR_DISTRANDOM_TD
