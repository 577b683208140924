//===- RingWriter.h - What rings of attention are written of ----*- C++ -*-===//
//
// What attention and its adjoint have in common where keys and values go round:
// blocks, the operands of one of them, and whether a device needs it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_RINGWRITER_H
#define DIST_PASSES_SPMD_RINGWRITER_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// What a dist.ring says.
struct Ring {
  StringRef module;
  ArrayAttr axes;
  Location by;
  int64_t devices;
  /// Which blocks of keys a device's queries may look at, by device; empty
  /// where that is not known.
  ArrayRef<bool> seen;
  /// What its devices agree on.
  const llvm::DenseSet<Value> *uniform;
  /// Takes what an op has made out of all that is known of values: an op that
  /// is made later may lie where it lay.
  llvm::function_ref<void(Operation *)> forget;
};

/// Blocks that go round: the device's own, what makes keys or values of one,
/// and which dimension of these is that of keys.
struct Traveller {
  Value block;
  SmallVector<Operation *> makers;
  Value made;
  int64_t place;
};

class RingWriter {
public:
  RingWriter(AttentionLikeOpInterface op, const Ring &ring,
             FlatSymbolRefAttr mesh)
      : op(op), ring(ring), mesh(mesh), loc(op.getLoc()),
        before(op->getPrevNode()), b(op), score(op.getScoreType()) {}

protected:
  InFlightDiagnostic emitUnusable();
  Value constant(double number) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(score, number));
  }
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  Value empty(ArrayRef<int64_t> shape, Type element);
  /// Of that type, all zero.
  Value zeros(RankedTensorType type);
  /// Elementwise over a tensor like `like`, with the maps given.
  SmallVector<Value> map(RankedTensorType like, ValueRange inputs,
                         ArrayRef<AffineMap> maps, unsigned numResults,
                         function_ref<SmallVector<Value>(ValueRange)> body);
  /// The elements put together into one; `start` is that of none.
  Value reduce(Value tensor, Value start,
               function_ref<Value(Value, Value)> combine);
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  }
  /// The largest absolute value; NaN where one is.
  Value getLargest(Value tensor);

  /// Where `operand` has a dimension of the op.
  std::optional<unsigned> placeOf(unsigned operand, unsigned dim) {
    return op.getMap(operand).getResultPosition(
        getAffineDimExpr(dim, op.getContext()));
  }
  bool isPadded() const { return blockKeys * ring.devices > numKeys; }
  /// `block` of the keys of `owner`, zero where there are none. Padding may be
  /// anything, also what 0 times is not 0.
  Value clearPadding(Value block, int64_t dim, Value owner);
  /// Further operands, as long as all blocks together.
  void padExtras(MutableArrayRef<Value> extras);
  Value passOn(Value block, StringRef what);
  /// Keys or values of a block that has come.
  Value make(const Traveller &traveller, Value block, Value owner);
  /// What the block of `owner` has of further operands.
  SmallVector<Value> cutExtras(ArrayRef<Value> extras, Value first);
  /// Whose block is there after so many steps.
  Value getOwner(int64_t step);
  /// A region of the op for a block of keys that begins at `first`; it yields
  /// `none` where there is no key.
  void writeBody(Region &from, Region &to, Value first, double none);

  /// Whether after so many steps all devices look at what is there.
  bool isAlwaysSeen(int64_t step) const;
  /// Whether the device's queries may look at what is there after so many
  /// steps; null where no device's do.
  Value isSeen(int64_t step);
  /// Whether the largest x of a row is so small that what is masked counts.
  Value isAnyMasked(Value largest);
  /// Whether sums of so many products may be larger than what masks outweigh,
  /// or no number.
  Value mayBeLarge(Value largestX, Value largestY, int64_t count);

  /// All that was made between these ops is the module's; ops within others
  /// but branches have no scope.
  void setScopes(Operation *from, Operation *to);

  AttentionLikeOpInterface op;
  const Ring &ring;
  FlatSymbolRefAttr mesh;
  Location loc;
  /// The op that what is made comes after.
  Operation *before;
  OpBuilder b;
  FloatType score;
  Traveller keys, values;
  int64_t numKeys = 0, blockKeys = 0;
  Value device;
};

inline RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

/// Erases an op without uses, and what was made for it alone.
void eraseWithMakers(Operation *op, const Ring &ring);

/// Attention whose keys and values go round.
class RingAttention : public RingWriter {
public:
  RingAttention(AttentionOp op, const Ring &ring, FlatSymbolRefAttr mesh)
      : RingWriter(op, ring, mesh), op(op) {}
  /// Writes it in the place of the op.
  LogicalResult write();

private:
  friend class RingAdjoint;
  /// What queries have seen, in the type of scores.
  struct Seen {
    Value means, largest, sums;
  };
  LogicalResult findBlocks();
  Value convert(Value tensor, Type element);
  Seen compute(Value keyBlock, Value valueBlock, Value owner);
  Seen add(const Seen &before, const Seen &more);
  Value needs(const Seen &before, Value keyBlock, Value valueBlock,
              int64_t step);
  Value finish(const Seen &seen);

  AttentionOp op;
  SmallVector<Value> extras;
  Value largestQuery;
  /// Of rows: shape, map from the op's dimensions, and from those of results.
  SmallVector<int64_t> rowShape;
  AffineMap rowMap, rowsOfMeans;
};

/// The adjoint of an attention whose keys and values went round: they go round
/// again, and what each device adds to a block's cotangents goes with the
/// block, home.
class RingAdjoint : public RingWriter {
public:
  RingAdjoint(AttentionAdjointOp op, const RingAttention &forward)
      : RingWriter(op, forward.ring, forward.mesh), op(op) {
    keys = forward.keys;
    values = forward.values;
    numKeys = forward.numKeys;
    blockKeys = forward.blockKeys;
    device = forward.device;
  }
  /// Writes it in the place of the op.
  LogicalResult write();

private:
  /// The cotangents of keys, or of values.
  struct Home {
    /// The op's result.
    Value whole;
    /// The device's own block of it, until the sum is there.
    Value placeholder;
    /// What is done with a block before it travels, and what that makes.
    SmallVector<Operation *> makers;
    Value travels;
  };
  /// A sum over the devices that these end in: the device's own block of it,
  /// and along which dimension it is that.
  struct Sum {
    Operation *op;
    Value block;
    int64_t dim;
  };
  LogicalResult findHomes();
  LogicalResult findSums(SetVector<Operation *> &sums);
  LogicalResult findOwnBlock(Operation *sum);
  void findSmallest(Home &home);
  /// In the form in which it travels.
  Value toTravel(const Home &home, Value block);
  /// Puts a sum's block in its place.
  void bringHome(const Sum &sum);
  SmallVector<Value> compute(Value keyBlock, Value valueBlock, Value owner);
  Value needs(Value keyBlock, Value valueBlock, int64_t step);
  Value add(Value x, Value y);

  AttentionAdjointOp op;
  SmallVector<Value> extras;
  std::optional<Home> homes[2]; // of keys, of values
  SmallVector<Sum> sums;
  /// Of all rows: whether what is masked counts, and how large numbers are.
  Value isAnyRowMasked, largestQuery, largestCotangent;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RINGWRITER_H
