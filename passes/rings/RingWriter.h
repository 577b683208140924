//===- RingWriter.h - Common parts of ring attention ------------*- C++ -*-===//
//
// The common parts of ring attention and its adjoint: blocks, the operands for
// one block, and whether a device needs it.
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

/// A dist.ring directive.
struct Ring {
  StringRef module;
  ArrayAttr axes;
  Location by;
  int64_t devices;
  /// Whether devices at the same distance from both ends exchange the first
  /// halves of their queries.
  bool isZigzag;
  /// The blocks of keys that each half of a device's queries may attend to, by
  /// device; empty if unknown.
  ArrayRef<bool> seen;
  /// The number of keys left and right of a query that masks allow; may be
  /// null.
  DenseI64ArrayAttr window;
  /// Values that are equal on all devices of the ring.
  const llvm::DenseSet<Value> *uniform;
  /// Forgets all that is known of an op's results: a later op may have the same
  /// address.
  llvm::function_ref<void(Operation *)> forget;
};

/// Circulating blocks: the device's own block, the ops that compute keys or
/// values from one, and the dimension of keys in these.
struct CirculatingBlock {
  Value block;
  SmallVector<Operation *> makers;
  Value made;
  int64_t place;
};

/// Queries that a device computes with together.
struct Queries {
  enum Kind { Own, OwnSecondHalf, MirrorsFirstHalf };
  Kind kind = Own;
  /// The position of the first one in its block.
  int64_t first = 0;
  Value tensor;
  /// The further operands for these queries.
  SmallVector<Value> extras;
  /// For queries of the device at the other end: that device's values, for
  /// values outside of the body that differ from device to device.
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
  std::string nameSequence();
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
  /// A tensor of zeros of that type.
  Value zeros(RankedTensorType type);
  /// An elementwise op over a tensor like `like`, with the given maps.
  SmallVector<Value> map(RankedTensorType like, ValueRange inputs,
                         ArrayRef<AffineMap> maps, unsigned numResults,
                         function_ref<SmallVector<Value>(ValueRange)> body);
  /// The elements combined into one, a tensor without dimensions. `start` is
  /// the value for no elements.
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
  /// The largest absolute value, or NaN if there is one. Computed once, where
  /// it is first needed: not in a branch.
  Value getLargest(Value tensor);

  /// The position of a dimension of the op in `operand`.
  std::optional<unsigned> placeOf(unsigned operand, unsigned dim) {
    return op.getMap(operand).getResultPosition(
        getAffineDimExpr(dim, op.getContext()));
  }
  bool isPadded() const { return blockKeys * ring.devices > numKeys; }
  /// `block` of the keys of `owner`, with zeros instead of padding. Padding may
  /// be anything, such as infinities, whose product with 0 is not 0.
  Value clearPadding(Value block, int64_t dim, Value owner);
  /// A further operand, as long as all blocks of keys together.
  Value padExtra(unsigned number, Value extra);
  Value passOn(Value block, StringRef what);
  StringAttr getCause(const Twine &what);
  /// Keys or values of a block that was received.
  Value make(const CirculatingBlock &circulating, Value block, Value owner);
  /// The part of further operands for the block of keys that begins at `first`.
  SmallVector<Value> cutExtras(ArrayRef<Value> extras, Value first);
  /// The owner of the block that is here after so many steps.
  Value getOwner(int64_t step);
  /// A region of the op, for some queries and a block of keys that begins at
  /// `first`. It yields `none` for padding.
  void writeBody(Region &from, Region &to, const Queries &queries, Value first,
                 double none);

  /// All of the device's queries, or its second half of them.
  Queries getOwn(Queries::Kind kind);
  /// The queries of the device at the other end. An error if the body reads
  /// something of that device that is not known here.
  LogicalResult getMirrors(Queries &queries);
  Value getMirrors(Value scalar, IRMapping &known);
  bool isSameForAll(Value value) const;
  /// Exchanges tensors with the device at the other end; two of one type in one
  /// call.
  Value exchangeWithMirrorRank(Value tensor, const Twine &what);
  std::pair<Value, Value> exchangeWithMirrorRank(Value x, Value y,
                                                 const Twine &what);
  /// The first half, or the second, of a tensor with a dimension of queries.
  Value cutHalf(Value tensor, int64_t dim, bool isFirst);
  Value join(Value firstHalf, Value secondHalf, int64_t dim);
  /// The device that owns these queries, when they are at a device.
  int64_t getHolder(Queries::Kind kind, int64_t device) const {
    return kind == Queries::MirrorsFirstHalf ? ring.devices - 1 - device
                                             : device;
  }
  /// Whether a device's queries of that kind may attend to the block that is
  /// here after so many steps.
  bool sees(Queries::Kind kind, int64_t device, int64_t step) const;
  /// Whether the queries of all devices may.
  bool isAlwaysSeen(Queries::Kind kind, int64_t step) const;
  /// Whether `holds` is true for this device; null if it is true for no device.
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
  /// Whether the largest x of some row is so small that masked keys count. The
  /// argument is the least of these.
  Value isAnyMasked(Value least);
  /// If one is null, the result is the other one.
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
  /// The results of `yes` if the condition is true, else those of `no`.
  SmallVector<Value> choose(Value condition, TypeRange types,
                            function_ref<SmallVector<Value>()> yes,
                            function_ref<SmallVector<Value>()> no);
  /// Whether sums of so many products may exceed the numbers that masks use, or
  /// be NaN.
  Value mayBeLarge(Value largestX, Value largestY, int64_t count);

  /// Gives the ops that were created between these ops the scope of the module.
  /// Ops within other ops have no scope, except in branches.
  void setScopes(Operation *from, Operation *to);

  AttentionLikeOpInterface op;
  const Ring &ring;
  FlatSymbolRefAttr mesh;
  Location loc;
  /// New ops are inserted after this op.
  Operation *before;
  OpBuilder b;
  FloatType score;
  CirculatingBlock keys, values;
  int64_t numKeys = 0, blockKeys = 0;
  Value device;
  llvm::DenseMap<Value, Value> largest;
  /// For first halves of the device's values: those received from the device at
  /// the other end.
  llvm::DenseMap<Value, Value> mirrored;
};

/// Ring attention.
class RingAttention : public RingWriter {
public:
  RingAttention(AttentionOp op, const Ring &ring, FlatSymbolRefAttr mesh)
      : RingWriter(op, ring, mesh), op(op) {}
  /// Replaces the op.
  LogicalResult write();

private:
  friend class RingAdjoint;
  /// The accumulated results of queries, in the type of scores.
  struct PartialAttention {
    Value means, largest, sums;
  };
  /// A block of keys and values that is here after so many steps.
  struct Step {
    int64_t number;
    Value owner, keys, values;
  };
  LogicalResult findBlocks();
  Value convert(Value tensor, Type element);
  /// The types of rows and of means, in the type of scores.
  RankedTensorType getRowType(const Queries &queries);
  RankedTensorType getMeansType(const Queries &queries);
  PartialAttention compute(const Queries &queries, const Step &step);
  PartialAttention add(const PartialAttention &before,
                       const PartialAttention &more);
  /// Adds one more block to the results of queries; `before` is null for the
  /// first block.
  PartialAttention advance(const Queries &queries,
                           const PartialAttention &before, const Step &step);
  Value needs(const Queries &queries, const PartialAttention &before,
              const Step &step);
  PartialAttention cutHalf(const PartialAttention &seen, bool isFirst);
  PartialAttention returnToOwner(const PartialAttention &ofMirrors);
  PartialAttention join(const PartialAttention &firstHalf,
                        const PartialAttention &secondHalf);
  Value finish(const PartialAttention &seen);
  void replaceRows(const PartialAttention &seen);
  DictionaryAttr describeRing();

  AttentionOp op;
  /// In zigzag: whether some row of the mirror's queries has seen so little of
  /// the keys there that masked keys count.
  Value isMirrorMasked;
  /// Maps of rows: from the op's dimensions, and from those of results.
  AffineMap rowMap, rowsOfMeans;
  /// The dimension of queries in means, and in rows.
  int64_t meansPlace, rowPlace;
};

/// The adjoint of ring attention. Keys and values circulate again. The
/// cotangents of a block travel with it, and each device adds its part. At the
/// end they are sent to the block's owner.
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
  /// For an adjoint in another loop: blocks are found again.
  RingAdjoint(AttentionAdjointOp op, const Ring &ring, FlatSymbolRefAttr mesh)
      : RingWriter(op, ring, mesh), op(op) {}
  /// Replaces the op.
  LogicalResult write();

private:
  /// The cotangents of keys, or of values.
  struct OwnerBlock {
    /// The op's result.
    Value whole;
    /// The device's own block of it, until the sum is complete.
    Value placeholder;
    /// An op that is applied to a block before it travels, and its result.
    SmallVector<Operation *> makers;
    Value travels;
  };
  /// A sum over the devices that uses these: the device's own block of the
  /// result, and its dimension.
  struct Sum {
    Operation *op;
    Value block;
    int64_t dim;
  };
  LogicalResult findOwnerBlocks();
  LogicalResult findSums(SetVector<Operation *> &sums);
  LogicalResult findOwnBlock(Operation *sum);
  void findSmallest(OwnerBlock &ownerBlock);
  /// In the form in which it travels.
  Value toTravel(const OwnerBlock &ownerBlock, Value block);
  /// Replaces a sum by the device's block.
  void returnToOwner(const Sum &sum);
  /// Queries, what is known of them, and their cotangent so far.
  struct Part : Queries {
    Value result, largestX, sums, cotangent;
    /// Whether masked keys count in some row; null until it is needed.
    Value isAnyRowMasked;
    Value ofQueries;
    /// The op's totals, for the keys of all blocks together.
    SmallVector<Value> totals;
  };
  LogicalResult findParts();
  /// The type of a cotangent of the part's queries, of a block of keys and
  /// values, or of a total for these.
  RankedTensorType getTypeOf(unsigned result, const Part &part);
  RankedTensorType getTypeOfTotal(unsigned total, const Part &part);
  /// The part's total, with the contribution of a block of keys.
  Value addToTotal(unsigned total, const Part &part, Value made, Value owner);
  /// For all of the device's queries.
  Value finishTotal(unsigned total);
  /// Cotangents of the queries, of a block of keys and values, and totals.
  SmallVector<Value> compute(const Part &part, Value keyBlock, Value valueBlock,
                             Value owner);
  /// Adds the contributions of a block to the cotangents of a part, and to
  /// those that travel with the block, in the form in which they travel or
  /// before.
  void advance(Part &part, Value keyBlock, Value valueBlock, int64_t step,
               MutableArrayRef<Value> totals, bool doTravel);
  Value needs(Part &part, Value keyBlock, Value valueBlock, int64_t step);
  Value add(Value x, Value y);

  AttentionAdjointOp op;
  SmallVector<Part, 2> parts;
  /// Whether blocks of which a mask leaves nothing may be skipped.
  bool skips = false;
  std::optional<OwnerBlock> ownerBlocks[2]; // of keys, of values
  SmallVector<Sum> sums;
};

} // namespace mlir::dist

#endif // DIST_PASSES_RINGS_RINGWRITER_H
