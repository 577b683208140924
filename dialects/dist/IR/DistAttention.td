//===- DistAttention.td - Scaled dot product attention -----*- tablegen -*-===//
//
// One op for attention, and one for its adjoint. Exported models write
// attention as two contractions with a softmax between them. As one op it need
// not store a score for each pair of a query and a key.
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

def Dist_AttentionLikeOpInterface : OpInterface<"AttentionLikeOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    Attention or its adjoint. Operands and indexing maps begin with query, key,
    value and the further operands of the body. The body is the first region.
  }];
  let methods = [
    InterfaceMethod<"The queries.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"The keys.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The values.", "::mlir::Value", "getValue">,
    InterfaceMethod<"Operands of the body besides the score.",
                    "::mlir::Operation::operand_range", "getExtras">,
    InterfaceMethod<"One indexing map for each operand.", "::mlir::ArrayAttr",
                    "getIndexingMaps">,
    InterfaceMethod<"The body: maps a score to the argument of softmax.",
                    "::mlir::Region &", "getBody">,
    InterfaceMethod<"Whether weights that are NaN become 0.", "bool",
                    "getNanIsZero">,
    InterfaceMethod<"[left, right]: the results of query i depend only on keys "
                    "i - left to i + right. Missing: on all keys.",
                    "::std::optional<::llvm::ArrayRef<int64_t>>", "getWindow">,
    InterfaceMethod<"Sets the window, or removes it.", "void", "setWindow",
                    (ins "::std::optional<::llvm::ArrayRef<int64_t>>":$window)>,
  ];
  let extraSharedClassDeclaration = [{
    /// Whether the body also yields which weights are kept.
    bool dropsWeights() {
      return $_op.getBody().front().getTerminator()->getNumOperands() > 1;
    }
    /// The indexing map of an operand.
    ::mlir::AffineMap getMap(unsigned operand) {
      return ::llvm::cast<::mlir::AffineMapAttr>($_op.getIndexingMaps()[operand])
          .getValue();
    }
    /// The window's left and right, if there is one.
    std::optional<std::pair<int64_t, int64_t>> getKeyWindow() {
      std::optional<::llvm::ArrayRef<int64_t>> window = $_op.getWindow();
      if (!window)
        return std::nullopt;
      return std::make_pair((*window)[0], (*window)[1]);
    }
    unsigned getNumDims() { return getMap(0).getNumDims(); }
    unsigned getNumBatches() { return getNumDims() - 4; }
    // Positions of the dimensions that are not batches.
    unsigned getQueryDim() { return getNumDims() - 4; }
    unsigned getKeyDim() { return getNumDims() - 3; }
    unsigned getFeatureDim() { return getNumDims() - 2; }
    unsigned getValueDim() { return getNumDims() - 1; }
    /// The size of each dimension; kDynamic if it is unknown.
    ::llvm::SmallVector<int64_t> getDimSizes() {
      return ::mlir::dist::getAttentionDimSizes($_op);
    }
    /// The number of scores in all batches; 0 if it is unknown.
    int64_t getNumScores() { return ::mlir::dist::countScores($_op); }
    /// The type of scores and sums: f64 if queries are f64, else f32.
    ::mlir::FloatType getScoreType() {
      return ::mlir::dist::getAttentionScoreType($_op);
    }
  }];
}

class Dist_AttentionLikeOp<string mnemonic> : Dist_Op<mnemonic, [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    Dist_AttentionLikeOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<AggregatedOpInterface,
                              ["decomposeOperation"]>]> {
  let hasVerifier = 1;
  code destinations = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
  }];
}

def Dist_AttentionOp : Dist_AttentionLikeOp<"attention"> {
  let summary = "Means of values, weighted by the softmax of query times key";
  let description = [{
    For each query i, over all keys j and their values v:

        s(i,j) = sum over d of q(i,d) * k(j,d)
        x(i,j) = the body, of s(i,j) and of further operands
        p(i,j) = exp(x(i,j) - max x(i,·)) / (sum of the numerators)
        o(i,e) = sum over j of p(i,j) * v(j,e)

    (Vaswani et al., "Attention is all you need", 2017). The body computes what
    happens between score and softmax: scaling, additive and boolean masks, causal
    and windowed masks, ALiBi, soft caps. Its arguments are the score, one element
    of each further operand, and the indices of the score. It yields x. It may
    also yield an i1 that does not depend on the score. Weights whose i1 is false
    become 0 after the softmax, as dropout does it; the denominator still counts
    them.

    Dimensions are those of the indexing maps, as in linalg: any number of
    batches, then queries, keys, features of keys, features of values. An
    operand's map names only the batches that the operand has. In grouped-query
    attention, the keys lack one batch of the queries.

    Scores, sums and exponentials are f32, or f64 if the operands are f64. Weights
    may be rounded to the type of the values before they are multiplied. The first
    result has that type, or the type of scores. With `nan_is_zero`, weights that
    are NaN become 0. Exports guard rows whose keys are all masked in this way.

    There are one, two or three results:

    - one: o.
    - two: o, and the logarithm of the sum of exp(x(i,·)).
    - three: o, the largest x(i,·), and the sum of the numerators. These are more
      precise than the logarithm where x is large.

    With `window [left, right]`, the results of query i depend only on keys j with
    i - left <= j <= i + right. Whoever sets the attribute promises this of the
    body. Devices that shard the queries then need their neighbours' keys at the
    borders only.

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
  let extraClassDeclaration = destinations;
}

def Dist_AttentionAdjointOp : Dist_AttentionLikeOp<"attention_adjoint"> {
  let summary = "Cotangents of the operands of dist.attention";
  let description = [{
    The forward op has the results o, m (the largest x of each query) and l (the
    sum of the numerators). `do` is the cotangent of o:

        s(i,j)  = sum over d of q(i,d) * k(j,d)
        x(i,j)  = the body, of s(i,j) and of further operands
        p(i,j)  = exp(x(i,j) - m(i)) / l(i)
        dp(i,j) = sum over e of do(i,e) * v(j,e)
        dx(i,j) = p(i,j) * (dp(i,j) - sum over e of do(i,e) * o(i,e))
        ds(i,j) = the second region, of s(i,j), of further operands and dx(i,j)

        dq(i,d) = sum over j of ds(i,j) * k(j,d)
        dk(j,d) = sum over i of ds(i,j) * q(i,d)
        dv(j,e) = sum over i of p(i,j) * do(i,e)

    The second region may yield further terms beside ds(i,j). Each has a result,
    its *total*: the sum of the term over the batches, queries and keys that the
    total's map lacks. Totals are the cotangents of learned values in the body: a
    bias that is added to scores (its term is dx), slopes, factors, caps.

    If the body yields which weights are kept, then dp(i,j), and p(i,j) in the
    formula of dv, are 0 for the others.

    Scores and weights are computed again (Dao et al., "FlashAttention", 2022,
    algorithm 4). So forward stores two numbers for each query and none for each
    pair. Keys and values that lack a batch of the queries get the sum over it.
    With `nan_is_zero`, weights that are NaN are 0 in dv and have no dp, as in
    forward.

    `window [left, right]` has the meaning that it has in `dist.attention`.
    Devices that shard the queries then need their neighbours' keys and values at
    the borders only. They send the sums that they made for these keys and values
    back to the owners.

    After the operands of the body come o, m, l and `do`. Then come the
    destinations of dq, dk, dv and the totals. Queries, keys, values and `do` have
    one type; all others have the type of scores. The regions take the arguments
    of the body of `dist.attention`; the second region takes dx after the score.

    ```mlir
    %dq, %dk, %dv = dist.attention_adjoint(%q, %k, %v : tensor<1x256x8x64xf32>,
        tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>)
        of(%o, %m, %l, %do : tensor<1x256x8x64xf32>, tensor<1x8x256xf32>, tensor<1x8x256xf32>,
           tensor<1x256x8x64xf32>)
        outs(%a, %b, %c : tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>)
        maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v] {
    ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index):
      %x = arith.mulf %s, %scale : f32
      dist.attention_yield %x : f32
    } adjoint {
    ^bb0(%s: f32, %dx: f32, %b0: index, %h: index, %i: index, %j: index):
      %ds = arith.mulf %dx, %scale : f32
      dist.attention_yield %ds : f32
    } -> tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>
    ```

    A bias with one element for each head, query and key has a total. It takes a
    destination, its map, and the term:

    ```mlir
        outs(%a, %b, %c, %t : …, tensor<8x256x256xf32>)
        maps [#q, #k, #v, #o, #l, #l, #o, #q, #k, #v, affine_map<(b, h, i, j, d, e) -> (h, i, j)>] {
      …
      dist.attention_yield %ds terms(%dx : f32) : f32
    ```
  }];
  let arguments = (ins Dist_TensorOrBuffer:$query, Dist_TensorOrBuffer:$key,
                       Dist_TensorOrBuffer:$value,
                       Variadic<Dist_TensorOrBuffer>:$extras,
                       Dist_TensorOrBuffer:$result,
                       Dist_TensorOrBuffer:$largest,
                       Dist_TensorOrBuffer:$sums,
                       Dist_TensorOrBuffer:$cotangent,
                       Variadic<Dist_TensorOrBuffer>:$inits,
                       AffineMapArrayAttr:$indexing_maps,
                       UnitAttr:$nan_is_zero,
                       OptionalAttr<DenseI64ArrayAttr>:$window);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$adjoint);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,`
    type($value) `)` (`with` `(` $extras^ `:` type($extras) `)`)?
    `of` `(` $result `,` $largest `,` $sums `,` $cotangent `:` type($result) `,`
    type($largest) `,` type($sums) `,` type($cotangent) `)`
    `outs` `(` $inits `:` type($inits) `)` `maps` $indexing_maps
    (`nan_is_zero` $nan_is_zero^)? (`window` $window^)? attr-dict-with-keyword $body
    `adjoint` $adjoint (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinations # [{
    // Operand numbers.
    unsigned getResultOperand() { return 3 + getExtras().size(); }
    unsigned getLargestOperand() { return getResultOperand() + 1; }
    unsigned getSumsOperand() { return getResultOperand() + 2; }
    unsigned getCotangentOperand() { return getResultOperand() + 3; }
    unsigned getFirstInit() { return getResultOperand() + 4; }
    unsigned getFirstTotal() { return getFirstInit() + 3; }
    unsigned getNumTotals() { return getInits().size() - 3; }
    /// For each total, the term of one pair of a query and a key.
    ::mlir::ValueRange getTerms();
  }];
}

def Dist_AttentionYieldOp : Dist_Op<"attention_yield", [
    Pure, Terminator, AttrSizedOperandSegments, ParentOneOf<["AttentionOp", "AttentionAdjointOp"]>]> {
  let summary = "Ends a region of attention: the argument of softmax, or the score's cotangent";
  let description = [{
    The body of attention may also yield whether the weight is kept. The second
    region of the adjoint also yields one term for each total.

    ```mlir
    dist.attention_yield %x : f32
    dist.attention_yield %x, %kept : f32, i1
    dist.attention_yield %ds terms(%dx : f32) : f32
    ```
  }];
  let arguments = (ins AnyFloat:$operand, Optional<I1>:$kept,
                       Variadic<AnyFloat>:$terms);
  let assemblyFormat = [{
    $operand (`,` $kept^)? (`terms` `(` $terms^ `:` type($terms) `)`)? attr-dict
    `:` type($operand) (`,` type($kept)^)?
  }];
}

#endif // DIST_IR_DISTATTENTION_TD
