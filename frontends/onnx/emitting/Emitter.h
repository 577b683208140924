//===- Emitter.h - Level-0 IR, the way a person would write it --*- C++ -*-===//
//
// Builds linalg and tensor ops from tensors whose sizes are numbers or open
// (reading/Sizes.h). Knows nothing of ONNX's nodes; the converters say what,
// this says how:
//
// - reshapes cancel; a flattening ([b, s, k] to [b * s, k]) is carried past
//   elementwise ops, reductions, transposes and contractions, so that it meets
//   the reshape that undoes it;
// - transposes end in the indexing maps of contractions;
// - broadcast operands have their unit dimensions dropped, so that every map of
//   an elementwise op is a projected permutation.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_EMITTING_EMITTER_H
#define DIST_FRONTENDS_ONNX_EMITTING_EMITTER_H

#include "Scalar.h"
#include "frontends/onnx/reading/HostTensor.h"
#include "frontends/onnx/reading/Sizes.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <array>
#include <functional>

namespace mlir::dist::frontend {

/// NumPy's broadcasting. Empty if the shapes disagree, or are not known to
/// agree. An open size is assumed not to be a 1 that is broadcast, and is not
/// broadcast to.
std::optional<Shape> broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b);

enum class Reduction { Sum, Prod, Max, Min };

class Emitter : public OpBuilder::Listener {
public:
  explicit Emitter(MLIRContext *context);

  /// Where the ops that follow belong: block, location, module path.
  void setBlock(Block *block) { builder.setInsertionPointToEnd(block); }
  void setLocation(Location location, StringRef newScope);
  Location getLocation() const { return loc; }
  OpBuilder &getBuilder() { return builder; }

  Type typeOf(DType type);
  RankedTensorType tensorType(ArrayRef<int64_t> shape, Type element);

  /// Sizes. Open ones are computed of the arguments' where the function starts.
  Sizes sizes;
  /// The shape of a tensor, [] of a scalar.
  Shape shapeOf(Value value) const;
  /// An argument of that shape. Sizes of a name of their own, which no argument
  /// before had, are its.
  Value addArgument(Block *block, ArrayRef<int64_t> shape, Type element,
                    Location location);
  /// A size, or an integer computed of sizes, as an index or an integer.
  Value sizeValue(int64_t size);
  Value sizeValue(int64_t size, Type type);
  /// The program ends with `message` where a < b.
  void checkAtLeast(int64_t a, int64_t b, const Twine &message);
  /// A size in a loop's body, where numbers are constants of the body.
  Value numberOf(Scalar &scalar, Type type, int64_t size) {
    return isOpen(size) ? sizeValue(size, type)
                        : scalar.constantInt(type, size);
  }

  /// Values.
  Value constant(const HostTensor &tensor);
  /// Asked first for constants too large to be written into the program.
  std::function<Value(const HostTensor &)> largeConstant;
  /// What the file has for an argument; null of others.
  std::function<const HostTensor *(Value)> dataOf = [](Value) {
    return nullptr;
  };
  /// The inputs that random numbers are keyed by, an i64 each: the seed, and
  /// how many steps were before.
  std::function<std::array<Value, 2>()> randomKey;
  /// A number for each operator that draws random numbers.
  int64_t nextRandom() { return randomCount++; }
  /// Four random words of an element of a tensor of `shape`.
  std::array<Value, 4> randomWords(LoopScalar &scalar, Value seed, Value step,
                                   int64_t number, ArrayRef<int64_t> shape);
  Value scalar(const HostTensor &tensor, int64_t index = 0);
  Value scalar(Type type, double value);
  Value scalarInt(Type type, int64_t value);
  Value empty(ArrayRef<int64_t> shape, Type element);
  Value filled(ArrayRef<int64_t> shape, Value scalar);
  /// 0, 1, … along `dim`.
  Value iota(ArrayRef<int64_t> shape, int64_t dim, Type element);

  /// Shape. The element counts, dimensions and bounds must be right.
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value transpose(Value value, ArrayRef<int64_t> permutation);
  Value slice(Value value, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
              ArrayRef<int64_t> strides);
  Value sliceDim(Value value, int64_t dim, int64_t offset, int64_t size,
                 int64_t stride = 1);
  /// `base` with `part` at each `strides[i]`-th element from `offsets[i]` on;
  /// all sizes are known.
  Value insert(Value base, Value part, ArrayRef<int64_t> offsets,
               ArrayRef<int64_t> strides);
  Value concat(ArrayRef<Value> values, int64_t dim);
  Value pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
            Value scalar);
  /// NumPy's broadcast_to.
  Value broadcast(Value value, ArrayRef<int64_t> shape);
  /// Repeats dimension `dim` as a whole `times` times.
  Value tile(Value value, int64_t dim, int64_t times);
  /// `value` at the positions `indices` along `dim`, all in range: slices where
  /// they are runs, else a gather.
  Value take(Value value, int64_t dim, ArrayRef<int64_t> indices);
  /// tensor.gather: `indices` is [..., n] of index type; the result has its
  /// leading dimensions, then those of `source` not among the n `dims`.
  Value gather(Value source, Value indices, ArrayRef<int64_t> dims);
  /// `base`, to which `updates` are added at the places that `indices` name:
  /// [...] of what gather() would take from there, the indices' shape [...,
  /// dims].
  Value scatterAdd(Value base, Value indices, Value updates,
                   ArrayRef<int64_t> dims);
  /// Integers as indices, negative ones counted from `size`.
  Value toIndices(Value integers, int64_t size);
  Value cast(Value value, DType from, DType to);

  /// Of a node in branches of Ifs that running decides: whether these are
  /// taken, an i1; null elsewhere.
  Value taken;
  /// An integer that not every operator can work on, in a loop's body: another
  /// one where the branch that it stands in is not taken.
  Value whereTaken(Scalar &scalar, Value integer, int64_t otherwise) {
    return taken
               ? scalar.select(taken, integer,
                               scalar.constantInt(integer.getType(), otherwise))
               : integer;
  }

  /// Loops. Operands are tensors, broadcast to `shape`, or scalars.
  using Body = llvm::function_ref<Value(Scalar &, ArrayRef<Value>)>;
  Value map(ArrayRef<Value> operands, ArrayRef<int64_t> shape, Type element,
            Body body);
  /// The same with a body that reads positions: its loops are the dimensions of
  /// `shape`, where map() may take others of the same elements.
  using PositionBody = llvm::function_ref<Value(LoopScalar &, ArrayRef<Value>)>;
  Value mapPositions(ArrayRef<Value> operands, ArrayRef<int64_t> shape,
                     Type element, PositionBody body);
  /// Reduces `axes` (sorted) away; they are kept with size 1 if `keep`. Of
  /// equal elements the first has the gradient if `isFirst`.
  Value reduce(Reduction kind, Value value, ArrayRef<int64_t> axes, bool keep,
               bool isUnsigned = false, bool isFirst = false);
  /// The general form: loop i has the extent that the maps give it; loops that
  /// the result's map lacks are reductions.
  using Combine =
      llvm::function_ref<Value(LoopScalar &, ArrayRef<Value> in, Value out)>;
  Value loops(ArrayRef<Value> inputs, ArrayRef<AffineMap> inputMaps, Value init,
              AffineMap initMap, Combine body);

  /// Einsum of two tensors. Labels stand for loops; equal ones have equal sizes
  /// or 1. No label twice in one operand; every label of the result in an
  /// operand. Accumulates in at least f32 and returns `element`.
  Value contract(Value lhs, ArrayRef<int64_t> lhsLabels, Value rhs,
                 ArrayRef<int64_t> rhsLabels, ArrayRef<int64_t> resultLabels);

  /// linalg.conv_*_n..fc..: `image` [n, c, space], `kernel` [f, c, window], no
  /// padding; 1 to 3 dimensions of space.
  Value convolve(Value image, Value kernel, Value init,
                 ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations);

  /// A flattened tensor before it was flattened.
  struct Unflattened {
    Value value;
    /// The dimensions of `value` that make up each flattened one.
    SmallVector<SmallVector<int64_t, 2>> groups;
  };
  /// Looks through a collapse_shape that merges dimensions other than those in
  /// `fixed`.
  std::optional<Unflattened> unflatten(Value value, ArrayRef<int64_t> fixed);

  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override;

private:
  Value reshapeDirectly(Value value, ArrayRef<int64_t> shape);
  /// Remembers the shape of a value with open sizes.
  Value note(Value value, ArrayRef<int64_t> shape);
  SmallVector<Value> openSizes(ArrayRef<int64_t> shape);
  SmallVector<OpFoldResult> mixed(ArrayRef<int64_t> sizes);
  Value computeSize(int64_t size);
  Value computeAtom(int atom);

  OpBuilder builder;
  Location loc;
  std::string scope;
  StringAttr scopeAttr;
  /// Scalar constants of the current scope.
  llvm::DenseMap<std::pair<Block *, Attribute>, Value> scalars;
  /// Shapes of values that have open sizes.
  llvm::DenseMap<Value, Shape> openShapes;
  /// Open sizes as values, at the start of `sizeBlock`.
  llvm::DenseMap<int64_t, Value> sizeValues;
  llvm::DenseMap<int, Value> atomValues;
  /// Where a named size is found.
  llvm::DenseMap<int, std::pair<Value, int64_t>> origins;
  int64_t randomCount = 0;
  Block *sizeBlock = nullptr;
  Operation *lastSize = nullptr;
};

/// After all is emitted: folds transposes beyond elementwise ops into
/// contractions, where later ops allow it, and erases unused ops.
void simplify(Block &block);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_EMITTING_EMITTER_H
