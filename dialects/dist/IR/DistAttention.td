//===- DistAttention.td - Scaled dot product attention -----*- tablegen -*-===//
//
// One op for what exports write as two contractions with a softmax between
// them, so that nobody has to keep a score for each pair of a query and a key,
// and one for its adjoint.
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
    Attention or its adjoint: operands and maps begin with the query, the key, the
    value and further operands of the body, which is the first region.
  }];
  let methods = [
    InterfaceMethod<"What is asked for.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"What is compared with.", "::mlir::Value", "getKey">,
    InterfaceMethod<"What is weighted.", "::mlir::Value", "getValue">,
    InterfaceMethod<"What the body reads beside scores.",
                    "::mlir::Operation::operand_range", "getExtras">,
    InterfaceMethod<"A map for each operand.", "::mlir::ArrayAttr",
                    "getIndexingMaps">,
    InterfaceMethod<"What softmax is taken of, from a score.",
                    "::mlir::Region &", "getBody">,
    InterfaceMethod<"Whether weights that are NaN are 0.", "bool", "getNanIsZero">,
    InterfaceMethod<"[left, right]: the keys near a query that results hang on.",
                    "::std::optional<::llvm::ArrayRef<int64_t>>", "getWindow">,
    InterfaceMethod<"Sets the window; none where null.", "void", "setWindow",
                    (ins "::std::optional<::llvm::ArrayRef<int64_t>>":$window)>,
  ];
  let extraSharedClassDeclaration = [{
    /// Whether the body says which weights are kept.
    bool dropsWeights() {
      return $_op.getBody().front().getTerminator()->getNumOperands() > 1;
    }
    /// The map of an operand, by its number.
    ::mlir::AffineMap getMap(unsigned operand) {
      return ::llvm::cast<::mlir::AffineMapAttr>($_op.getIndexingMaps()[operand])
          .getValue();
    }
    /// The window's left and right; nothing without one.
    std::optional<std::pair<int64_t, int64_t>> getKeyWindow() {
      std::optional<::llvm::ArrayRef<int64_t>> window = $_op.getWindow();
      if (!window)
        return std::nullopt;
      return std::make_pair((*window)[0], (*window)[1]);
    }
    unsigned getNumDims() { return getMap(0).getNumDims(); }
    unsigned getNumBatches() { return getNumDims() - 4; }
    // Places of the other dimensions.
    unsigned getQueryDim() { return getNumDims() - 4; }
    unsigned getKeyDim() { return getNumDims() - 3; }
    unsigned getFeatureDim() { return getNumDims() - 2; }
    unsigned getValueDim() { return getNumDims() - 1; }
    /// The size of each dimension, kDynamic where it is not known.
    ::llvm::SmallVector<int64_t> getDimSizes() {
      return ::mlir::dist::getAttentionDimSizes($_op);
    }
    /// Scores of all batches; 0 where that is not known.
    int64_t getNumScores() { return ::mlir::dist::countScores($_op); }
    /// The type of scores and sums: f32, or f64 where queries are.
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
    further operand and the indices of the score, and yields x. Where it yields an
    i1, too, which does not hang on the score, weights for which that is false are 0,
    as dropout makes them: after the softmax, whose denominator has all.

    Dimensions are those of the indexing maps, as in linalg: first any number of
    batches, then queries, keys, features of keys, features of values. Operands
    name the batches that they have: in grouped-query attention a batch of the
    queries is none of the keys. Scores, sums and exponentials are f32 (f64 where
    the operands are); weights may be rounded to the type of the values before they
    are multiplied. The first result is of that type, or of that of scores. With `nan_is_zero` weights that are NaN are 0: exports
    guard rows in which every key is masked like that. A second result is the
    logarithm of the sum of exp(x(i,·)); of three the last two are the largest
    x(i,·), and the sum of the numerators, which say more than that where x is large.

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
  let extraClassDeclaration = destinations;
}

def Dist_AttentionAdjointOp : Dist_AttentionLikeOp<"attention_adjoint"> {
  let summary = "Cotangents of what dist.attention is of";
  let description = [{
    Of an attention with results o, m (the largest x of each query) and l (the sums of
    numerators), and the cotangent `do` of o:

        s(i,j)  = sum over d of q(i,d) * k(j,d)
        x(i,j)  = the body, of s(i,j) and of further operands
        p(i,j)  = exp(x(i,j) - m(i)) / l(i)
        dp(i,j) = sum over e of do(i,e) * v(j,e)
        dx(i,j) = p(i,j) * (dp(i,j) - sum over e of do(i,e) * o(i,e))
        ds(i,j) = the second region, of s(i,j), of further operands and dx(i,j)

        dq(i,d) = sum over j of ds(i,j) * k(j,d)
        dk(j,d) = sum over i of ds(i,j) * q(i,d)
        dv(j,e) = sum over i of p(i,j) * do(i,e)

    and totals, of terms that the second region yields beside ds(i,j): each is the sum of
    its terms over the batches, queries and keys that its map lacks. What is learned
    beside queries, keys and values gets its cotangent so: a bias that is added to scores
    (the term is dx), slopes, factors, caps.

    Where the body yields which weights are kept, dp(i,j) and the p(i,j) of dv are 0
    for the others.

    (Dao et al., "FlashAttention", 2022, algorithm 4): scores and weights are computed
    again, so that forward keeps two numbers for each query and none for each pair. Keys
    and values that lack a batch of the queries get the sum over it. With
    `nan_is_zero` weights that are NaN are 0 in dv and have no dp, as in forward.

    With `window [left, right]`, as of `dist.attention`, devices that share out the
    queries need their neighbours' keys and values at the borders alone, and what they
    add up for these goes home.

    Operands after those of the body: o, m, l, do; then destinations for dq, dk, dv and
    the totals. Queries, keys, values and `do` are of one type, all others of that of
    scores. The regions take the same arguments as
    the body of `dist.attention`, the second one dx after the score.

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

    With the total of a bias of each head, query and key: a destination, its map, and the
    term.

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
    // Numbers of operands.
    unsigned getResultOperand() { return 3 + getExtras().size(); }
    unsigned getLargestOperand() { return getResultOperand() + 1; }
    unsigned getSumsOperand() { return getResultOperand() + 2; }
    unsigned getCotangentOperand() { return getResultOperand() + 3; }
    unsigned getFirstInit() { return getResultOperand() + 4; }
    unsigned getFirstTotal() { return getFirstInit() + 3; }
    unsigned getNumTotals() { return getInits().size() - 3; }
    /// What is added to each total for a pair of a query and a key.
    ::mlir::ValueRange getTerms();
  }];
}

def Dist_AttentionYieldOp : Dist_Op<"attention_yield", [
    Pure, Terminator, AttrSizedOperandSegments, ParentOneOf<["AttentionOp", "AttentionAdjointOp"]>]> {
  let summary = "What softmax is taken of, or what comes back for a score";
  let description = [{
    From the body of attention also, after it, whether the weight is kept; from the
    second region of the adjoint, what is added to each of the totals.

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
