//===- RingWriter.h - What rings of attention are written of ----*- C++ -*-===//
//
// What attention and its adjoint have in common where keys and values go round:
// blocks, the operands of one of them, and whether a device needs it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_RINGS_RINGWRITER_H
#define DIST_PASSES_RINGS_RINGWRITER_H

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// What a dist.ring says.
struct Ring {
  StringRef module;
  ArrayAttr axes;
  Location by;
  int64_t devices;
  /// Whether devices at the same distance from both ends exchange the first
  /// halves of their queries.
  bool isZigzag;
  /// Which blocks of keys each half of a device's queries may look at, by
  /// device; empty where that is not known.
  ArrayRef<bool> seen;
  /// Keys on the left and right of a query that masks leave it; may be null.
  DenseI64ArrayAttr window;
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

/// Queries that a device computes with together.
struct Queries {
  enum Kind { Own, OwnSecondHalf, MirrorsFirstHalf };
  Kind kind = Own;
  /// The place of the first one in its block.
  int64_t first = 0;
  Value tensor;
  /// What further operands are for them.
  SmallVector<Value> extras;
  /// For those of the device at the other end: what it would have in the place
  /// of values outside of the body that differ from device to device.
  IRMapping outside;
};

class RingWriter {
public:
  RingWriter(AttentionLikeOpInterface op, const Ring &ring,
             FlatSymbolRefAttr mesh)
      : op(op), ring(ring), mesh(mesh), loc(op.getLoc()),
        before(op->getPrevNode()), b(op), score(op.getScoreType()) {}

protected:
  InFlightDiagnostic emitUnusable();
  /// The device's own blocks of keys and values.
  LogicalResult findTravellers();
  Value constant(double number) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(score, number));
  }
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  Value empty(ArrayRef<int64_t> shape, Type element);
  Value fill(RankedTensorType type, Value element);
  /// Of that type, all zero.
  Value zeros(RankedTensorType type);
  /// Elementwise over a tensor like `like`, with the maps given.
  SmallVector<Value> map(RankedTensorType like, ValueRange inputs,
                         ArrayRef<AffineMap> maps, unsigned numResults,
                         function_ref<SmallVector<Value>(ValueRange)> body);
  /// The elements put together into one, a tensor without dimensions; `start`
  /// is that of none.
  Value reduce(Value tensor, Value start,
               function_ref<Value(Value, Value)> combine);
  Value getElement(Value tensor) {
    return tensor::ExtractOp::create(b, loc, tensor, ValueRange());
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  }
  /// The largest absolute value; NaN where one is. Found once, where it is
  /// asked for first: not in a branch.
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
  /// A further operand, as long as all blocks of keys together.
  Value padExtra(unsigned number, Value extra);
  Value passOn(Value block, StringRef what);
  StringAttr getCause(const Twine &what);
  /// Keys or values of a block that has come.
  Value make(const Traveller &traveller, Value block, Value owner);
  /// What the block of keys from `first` on has of further operands.
  SmallVector<Value> cutExtras(ArrayRef<Value> extras, Value first);
  /// Whose block is there after so many steps.
  Value getOwner(int64_t step);
  /// A region of the op for some queries and a block of keys that begins at
  /// `first`; it yields `none` where there is no key.
  void writeBody(Region &from, Region &to, const Queries &queries, Value first,
                 double none);

  /// All of the device's queries, or its second half of them.
  Queries getOwn(Queries::Kind kind);
  /// What comes of the device at the other end. An error where the body reads
  /// something of which that is not known.
  LogicalResult getMirrors(Queries &queries);
  Value getMirrors(Value scalar, IRMapping &known);
  bool isSameForAll(Value value) const;
  /// Exchanges tensors with the device at the other end; two that are alike, in
  /// one call.
  Value mirror(Value tensor, const Twine &what);
  std::pair<Value, Value> mirror(Value x, Value y, const Twine &what);
  /// The first half, or the second, of what has a dimension of queries.
  Value cutHalf(Value tensor, int64_t dim, bool isFirst);
  Value join(Value firstHalf, Value secondHalf, int64_t dim);
  /// The device whose queries these are, at a device.
  int64_t getHolder(Queries::Kind kind, int64_t device) const {
    return kind == Queries::MirrorsFirstHalf ? ring.devices - 1 - device
                                             : device;
  }
  /// Whether a device's queries of that kind may look at what is there after so
  /// many steps.
  bool sees(Queries::Kind kind, int64_t device, int64_t step) const;
  /// Whether all devices' may.
  bool isAlwaysSeen(Queries::Kind kind, int64_t step) const;
  /// Whether `holds` of the device; null where it does of none.
  Value lookUp(function_ref<bool(int64_t device)> holds);
  Value isSeen(Queries::Kind kind, int64_t step) {
    return lookUp([&](int64_t device) { return sees(kind, device, step); });
  }
  int64_t countQueries(const Queries &queries) {
    return cast<RankedTensorType>(queries.tensor.getType())
        .getDimSize(*placeOf(0, op.getQueryDim()));
  }
  /// The least element, without dimensions.
  Value getLeast(Value tensor);
  /// Whether the largest x of some row, of which this is the least, is so small
  /// that what is masked counts.
  Value isAnyMasked(Value least);
  /// Of what is null nothing is known, and the other one stands alone.
  Value either(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    return arith::OrIOp::create(b, loc, x, y);
  }
  Value both(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    return arith::AndIOp::create(b, loc, x, y);
  }
  /// What `yes` makes where the condition holds, else what `no` does.
  SmallVector<Value> choose(Value condition, TypeRange types,
                            function_ref<SmallVector<Value>()> yes,
                            function_ref<SmallVector<Value>()> no);
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
  llvm::DenseMap<Value, Value> largest;
  /// First halves of what the device has: what came for them.
  llvm::DenseMap<Value, Value> mirrored;
};

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
  /// A block of keys and values that is there after so many steps.
  struct Step {
    int64_t number;
    Value owner, keys, values;
  };
  LogicalResult findBlocks();
  Value convert(Value tensor, Type element);
  /// Of rows, and of means, in the type of scores.
  RankedTensorType getRowType(const Queries &queries);
  RankedTensorType getMeansType(const Queries &queries);
  Seen compute(const Queries &queries, const Step &step);
  Seen add(const Seen &before, const Seen &more);
  /// What queries have seen with one block more; `before` is null at the first.
  Seen advance(const Queries &queries, const Seen &before, const Step &step);
  Value needs(const Queries &queries, const Seen &before, const Step &step);
  Seen cutHalf(const Seen &seen, bool isFirst);
  Seen bringHome(const Seen &ofMirrors);
  Seen join(const Seen &firstHalf, const Seen &secondHalf);
  Value finish(const Seen &seen);
  void replaceRows(const Seen &seen);
  DictionaryAttr describeRing();

  AttentionOp op;
  /// In zigzag: whether some row of the mirror's saw so little of its own keys
  /// that what is masked counts.
  Value isMirrorMasked;
  /// Of rows: map from the op's dimensions, and from those of results.
  AffineMap rowMap, rowsOfMeans;
  /// Where queries are in means, and in rows.
  int64_t meansPlace, rowPlace;
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
    mirrored = forward.mirrored;
  }
  /// Of one in another loop: blocks are found anew.
  RingAdjoint(AttentionAdjointOp op, const Ring &ring, FlatSymbolRefAttr mesh)
      : RingWriter(op, ring, mesh), op(op) {}
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
  /// Queries with what is known of them, and their cotangent so far.
  struct Part : Queries {
    Value result, largestX, sums, cotangent;
    /// Whether what is masked counts in some row; null until somebody asks.
    Value isAnyRowMasked;
    Value ofQueries;
    /// The op's totals, with as many keys as all blocks have together.
    SmallVector<Value> totals;
  };
  LogicalResult findParts();
  /// Of a cotangent of the part's queries, or of a block of keys and values, or
  /// of a total of these.
  RankedTensorType getTypeOf(unsigned result, const Part &part);
  RankedTensorType getTypeOfTotal(unsigned total, const Part &part);
  /// The part's total with what a block of keys has made.
  Value addToTotal(unsigned total, const Part &part, Value made, Value owner);
  /// Of all of the device's queries.
  Value finishTotal(unsigned total);
  /// Cotangents of the queries, and of a block of keys and values; totals.
  SmallVector<Value> compute(const Part &part, Value keyBlock, Value valueBlock,
                             Value owner);
  /// Adds what there is with a block to the cotangents of a part, and to those
  /// that go with the block: in the form in which they travel, or before.
  void advance(Part &part, Value keyBlock, Value valueBlock, int64_t step,
               MutableArrayRef<Value> totals, bool doTravel);
  Value needs(Part &part, Value keyBlock, Value valueBlock, int64_t step);
  Value add(Value x, Value y);

  AttentionAdjointOp op;
  SmallVector<Part, 2> parts;
  /// Whether what a mask leaves nothing of may be skipped.
  bool skips = false;
  std::optional<Home> homes[2]; // of keys, of values
  SmallVector<Sum> sums;
};

} // namespace mlir::dist

#endif // DIST_PASSES_RINGS_RINGWRITER_H
