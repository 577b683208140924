//===- DistAttention.td - Scaled dot product attention -----*- tablegen -*-===//
//
// One op for what exports write as two contractions with a softmax between
// them, so that nobody has to keep a score for each pair of a query and a key.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_DISTATTENTION_TD
#define DIST_IR_DISTATTENTION_TD

include "dialects/dist/IR/DistBase.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_TensorOrBuffer : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

def Dist_AttentionOp : Dist_Op<"attention", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,

    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<AggregatedOpInterface,
                              ["decomposeOperation"]>]> {
  let summary = "Means of values, weighted by softmax of query times key";
  let description = [{
    For each query i, of all keys j and their values v:

        s(i,j) = sum over d of q(i,d) * k(j,d)
        x(i,j) = the body, of s(i,j) and of further operands
        p(i,j) = exp(x(i,j) - max x(i,·)) / (sum of the numerators)
        o(i,e) = sum over j of p(i,j) * v(j,e)

    (Vaswani et al., "Attention is all you need", 2017). What is between scores
    and softmax is up to the body: scales, additive and boolean masks, causal and
    windowed ones, ALiBi, soft caps. It is given the score, an element of each
    further operand and the indices of the score, and yields x.

    Dimensions are those of the indexing maps, as in linalg: first any number of
    batches, then queries, keys, features of keys, features of values. Operands
    name the batches that they have: in grouped-query attention a batch of the
    queries is none of the keys. Scores, sums and exponentials are f32 (f64 where
    the operands are). With `nan_is_zero` weights that are NaN are 0: exports
    guard rows in which every key is masked like that. A second result is the
    logarithm of the sum of exp(x(i,·)).

    With `window [left, right]` the results hang on no other keys j of query i than
    i - left <= j <= i + right: whoever writes it promises that of the body. Devices that
    share out the queries then need their neighbours' keys at the borders alone, and
    keep the values of no others.

    ```mlir
    #q = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
    #k = affine_map<(b, h, i, j, d, e) -> (b, j, h, d)>
    #v = affine_map<(b, h, i, j, d, e) -> (b, j, h, e)>
    #o = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>
    %0 = dist.attention(%q, %k, %v : tensor<1x256x8x64xf32>,
        tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>)
        outs(%init : tensor<1x256x8x64xf32>) maps [#q, #k, #v, #o] {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %seen = arith.cmpi sle, %j, %i : index
      %x = arith.select %seen, %s, %minus_infinity : f32
      dist.attention_yield %x : f32
    } -> tensor<1x256x8x64xf32>
    ```
  }];
  let arguments = (ins Dist_TensorOrBuffer:$query, Dist_TensorOrBuffer:$key,
                       Dist_TensorOrBuffer:$value,
                       Variadic<Dist_TensorOrBuffer>:$extras,
                       Variadic<Dist_TensorOrBuffer>:$inits,
                       AffineMapArrayAttr:$indexing_maps,
                       UnitAttr:$nan_is_zero,
                       OptionalAttr<DenseI64ArrayAttr>:$window);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,`
    type($value) `)` (`with` `(` $extras^ `:` type($extras) `)`)?
    `outs` `(` $inits `:` type($inits) `)` `maps` $indexing_maps
    (`nan_is_zero` $nan_is_zero^)? (`window` $window^)? attr-dict-with-keyword $body
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    /// The map of an operand, by its number.
    ::mlir::AffineMap getMap(unsigned operand) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getIndexingMaps()[operand])
          .getValue();
    }
    unsigned getNumDims() { return getMap(0).getNumDims(); }
    unsigned getNumBatches() { return getNumDims() - 4; }
    // Places of the other dimensions.
    unsigned getQueryDim() { return getNumDims() - 4; }
    unsigned getKeyDim() { return getNumDims() - 3; }
    unsigned getFeatureDim() { return getNumDims() - 2; }
    unsigned getValueDim() { return getNumDims() - 1; }
    /// The size of each dimension, kDynamic where it is not known.
    ::llvm::SmallVector<int64_t> getDimSizes();
    /// The window's left and right; nothing without one.
    std::optional<std::pair<int64_t, int64_t>> getKeyWindow();
    /// The type of scores and sums.
    ::mlir::FloatType getScoreType();
  }];
}

def Dist_AttentionYieldOp : Dist_Op<"attention_yield", [
    Pure, Terminator, HasParent<"AttentionOp">]> {
  let summary = "What softmax is taken of";
  let description = [{
    ```mlir
    dist.attention_yield %x : f32
    ```
  }];
  let arguments = (ins AnyFloat:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif // DIST_IR_DISTATTENTION_TD
