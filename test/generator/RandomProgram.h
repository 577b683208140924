//===- RandomProgram.h - A module in the making -----------------*- C++ -*-===//
//
// The state that the op families share: the values made so far with what is
// known of their elements, and how to get an operand of a wanted shape.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_RANDOMPROGRAM_H
#define DIST_TEST_GENERATOR_RANDOMPROGRAM_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/generator/Arguments.h"
#include "test/generator/Choices.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist::test {

/// What is known of a value's elements: multiples of 2^-grid of at most
/// `bound`. While these fit a mantissa, every order of summation gives the same
/// bits, and comparisons decide alike on one device and on many.
struct Bounds {
  double bound = 2;
  int grid = 2;
  bool isExact(Type elementType) const;
};

class RandomProgram;
/// Adds ops to a program; false where it has nothing to build on.
using Family = bool (*)(RandomProgram &);
struct NamedFamily {
  llvm::StringLiteral name;
  unsigned weight;
  Family make;
};

class RandomProgram {
public:
  enum class Style {
    /// Ops of all families, placed at random.
    Placed,
    /// One device, and what is hard on buffers.
    Buffers
  };
  /// All sizes are multiples of `scale`; a program to be run has scale 1.
  RandomProgram(MLIRContext *context, Choices &choices, int64_t scale = 1,
                Style style = Style::Placed);

  /// Makes the module of up to `maxSteps` families; `only` names some of them,
  /// with commas between, or is empty.
  OwningOpRef<ModuleOp> make(StringRef only, unsigned maxSteps);

  Choices &c;
  OpBuilder b;
  Location loc;

  //===--- Sizes and types ---===//
  int64_t pickSize() { return scale * c.pick(ArrayRef(sizes)); }
  SmallVector<int64_t> pickShape(int64_t minRank, int64_t maxRank);
  Type pickElementType();
  Type pickNumberType();

  //===--- Values ---===//
  RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  Bounds rangeOf(Value value) { return ranges.lookup(value); }
  /// Makes a value available to what follows.
  Value add(Value value, Bounds range);
  /// A value that `accept` takes; null where there is none.
  Value find(function_ref<bool(Value)> accept);
  /// Any tensor; an argument is made where there is none.
  Value pickTensor(int64_t minRank = 0, int64_t maxRank = 8);
  Value pickFloat(int64_t minRank = 0, int64_t maxRank = 8);
  /// A tensor of that type: one there is, an argument or a constant.
  Value getTensor(ArrayRef<int64_t> shape, Type elementType);
  Value argument(ArrayRef<int64_t> shape, Type elementType, Bounds range = {},
                 ArrayRef<NamedAttribute> attributes = {});
  Value constant(ArrayRef<int64_t> shape, Type elementType);
  Value empty(ArrayRef<int64_t> shape, Type elementType);
  Value filled(ArrayRef<int64_t> shape, Type elementType, double value);
  Value scalar(Type type, double value);
  /// A value whose floats are brought back to about [-2, 2] where they grew.
  Value tame(Value value);
  /// An output of an op that overwrites it: mostly tensor.empty.
  Value pickInit(ArrayRef<int64_t> shape, Type elementType);

  //===--- Ops ---===//
  AffineExpr dim(unsigned i) { return b.getAffineDimExpr(i); }
  AffineMap map(unsigned loops, ArrayRef<AffineExpr> results) {
    return AffineMap::get(loops, 0, results, b.getContext());
  }
  linalg::GenericOp
  generic(ArrayRef<Value> inputs, ArrayRef<Value> inits,
          ArrayRef<AffineMap> maps, ArrayRef<utils::IteratorType> loops,
          function_ref<void(OpBuilder &, Location, ValueRange)> body);
  /// A scalar computation on the operands (of one type), with its range.
  Value scalarOp(OpBuilder &builder, Location at, ValueRange operands,
                 ArrayRef<Bounds> in, Bounds &out);
  /// `steps` random families.
  void grow(unsigned steps);
  /// Runs `build` where only what it makes, and what is visible already, is
  /// available; and forgets what it made.
  void scope(function_ref<void()> build);
  func::FuncOp makeFunction(StringRef name, bool isPrivate);

  SmallVector<Value> values;
  llvm::DenseMap<Value, Bounds> ranges;
  ModuleOp module;
  func::FuncOp function;
  /// Depth of control flow and calls.
  unsigned depth = 0;
  unsigned functions = 0;

private:
  void pickTypes();

  int64_t scale;
  SmallVector<int64_t> sizes;
  SmallVector<Type> types;
  SmallVector<StringRef> only;
  Style style;

public:
  //===--- What FamiliesBuffers.cpp knows besides ---===//
  /// Index scalars, each with what it is below.
  SmallVector<std::pair<Value, int64_t>> indices;
  /// The function takes no further arguments: what is missing is a constant.
  bool isClosed = false;
};

/// The families of ops, each in a file of its own.
ArrayRef<NamedFamily> getFamilies();
ArrayRef<NamedFamily> getBufferFamilies();
bool makeElementwise(RandomProgram &);
bool makeWholeTensor(RandomProgram &);
bool makeContraction(RandomProgram &);
bool makeReduction(RandomProgram &);
bool makeMixedReduction(RandomProgram &);
bool makeArgMax(RandomProgram &);
bool makeNormalization(RandomProgram &);
bool makeTranspose(RandomProgram &);
bool makeBroadcast(RandomProgram &);
bool makeReshape(RandomProgram &);
bool makeSlice(RandomProgram &);
bool makeInsert(RandomProgram &);
bool makeConcat(RandomProgram &);
bool makePad(RandomProgram &);
bool makeGather(RandomProgram &);
bool makeScatter(RandomProgram &);
bool makeWindow(RandomProgram &);
bool makeConstant(RandomProgram &);
bool makeElement(RandomProgram &);
bool makeDivision(RandomProgram &);
bool makeLookup(RandomProgram &);
bool makeLoop(RandomProgram &);
bool makeBranch(RandomProgram &);
bool makeWhile(RandomProgram &);
bool makeCall(RandomProgram &);
bool makeConstraint(RandomProgram &);
bool makeSync(RandomProgram &);
bool makeExactWork(RandomProgram &);
bool makeAccumulation(RandomProgram &);
bool makeShiftedRead(RandomProgram &);
bool makeRowReduction(RandomProgram &);
bool makeExactProduct(RandomProgram &);
bool makeSliceChain(RandomProgram &);
bool makeMovingSlice(RandomProgram &);
bool makeSharingBranch(RandomProgram &);
bool makeSelection(RandomProgram &);
bool makeSharingLoop(RandomProgram &);
bool makeSharingWhile(RandomProgram &);
bool makeSharingCall(RandomProgram &);

/// A random mesh, put at the front of the module.
MeshOp makeMesh(RandomProgram &);
/// A random placement of a tensor of this shape.
ShardingAttr makeSharding(RandomProgram &, ArrayRef<int64_t> shape);
/// Places arguments and results of the entry function.
void placeBoundary(RandomProgram &);
/// Gives a module without placements a random mesh, random placements of what
/// enters and leaves it, and constraints inside.
void placeProgram(RandomProgram &, ModuleOp module);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_RANDOMPROGRAM_H
