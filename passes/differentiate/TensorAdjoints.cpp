//===- TensorAdjoints.cpp - Adjoints of ops that move elements ------------===//
//
// Moving is linear: its adjoint moves back, with zeros where nothing came from
// and sums where something went to several places.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/differentiate/Models.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The context of the adjoint of an op with one result.
template <typename OpTy> struct Context {
  OpTy op;
  OpBuilder &b;
  Adjoints &adjoints;
  Location loc = op.getLoc();
  Value cotangent = adjoints.lookup(op->getResult(0));

  void add(Value operand, function_ref<Value()> make) {
    if (!adjoints.isActive(operand))
      return;
    // An empty slice has no part.
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    bool isEmpty = type && llvm::is_contained(type.getShape(), 0);
    adjoints.add(b, loc, operand,
                 isEmpty ? createConstantLike(b, loc, operand, 0) : make());
  }

  /// The same where the operand's cotangent may be a sum that is carried:
  /// `into` adds to it in place, at the cost of the part alone.
  void add(Value operand, function_ref<Value()> make,
           function_ref<Value(Value sum)> into) {
    if (Value sum = adjoints.takeCarried(operand))
      adjoints.giveBack(b, loc, operand, into(sum));
    else
      add(operand, make);
  }
};
} // namespace

static LogicalResult derive(Context<tensor::ExpandShapeOp> c) {
  Value source = c.op.getSrc();
  c.add(source, [&] {
    return tensor::CollapseShapeOp::create(c.b, c.loc, source.getType(),
                                           c.cotangent,
                                           c.op.getReassociationIndices());
  });
  return success();
}

static LogicalResult derive(Context<tensor::CollapseShapeOp> c) {
  Value source = c.op.getSrc();
  c.add(source, [&] {
    return tensor::ExpandShapeOp::create(
        c.b, c.loc, source.getType(), c.cotangent,
        c.op.getReassociationIndices(),
        tensor::getMixedSizes(c.b, c.loc, source));
  });
  return success();
}

static LogicalResult derive(Context<tensor::CastOp> c) {
  Value source = c.op.getSource();
  c.add(source, [&] {
    return tensor::CastOp::create(c.b, c.loc, source.getType(), c.cotangent);
  });
  return success();
}

/// Zeros around the slice; between its elements as well, if it skipped some.
static LogicalResult derive(Context<tensor::ExtractSliceOp> c) {
  tensor::ExtractSliceOp op = c.op;
  Value source = op.getSource();
  RankedTensorType whole = op.getSourceType();
  auto addInto = [&](Value sum) -> Value {
    Value part = tensor::ExtractSliceOp::create(
        c.b, c.loc, op.getType(), sum, op.getMixedOffsets(), op.getMixedSizes(),
        op.getMixedStrides());
    return tensor::InsertSliceOp::create(
        c.b, c.loc, createSum(c.b, c.loc, part, c.cotangent), sum,
        op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
  };
  if (Value sum = c.adjoints.takeCarried(source)) {
    c.adjoints.giveBack(c.b, c.loc, source, addInto(sum));
    return success();
  }
  if (op.hasUnitStride() && whole.hasStaticShape() &&
      op.getType().getRank() == whole.getRank() &&
      op.getType().hasStaticShape() &&
      !ShapedType::isDynamicShape(op.getStaticOffsets())) {
    c.adjoints.addSlice(c.loc, source, op.getStaticOffsets(), c.cotangent);
    return success();
  }
  c.add(source, [&] {
    return tensor::InsertSliceOp::create(
        c.b, c.loc, c.cotangent, createZeros(c.b, c.loc, source),
        op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
  });
  return success();
}

static LogicalResult derive(Context<tensor::InsertSliceOp> c) {
  tensor::InsertSliceOp op = c.op;
  c.add(op.getSource(), [&] {
    return tensor::ExtractSliceOp::create(
        c.b, c.loc, op.getSourceType(), c.cotangent, op.getMixedOffsets(),
        op.getMixedSizes(), op.getMixedStrides());
  });
  c.add(op.getDest(), [&] {
    return tensor::InsertSliceOp::create(
        c.b, c.loc, createZeros(c.b, c.loc, op.getSource()), c.cotangent,
        op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
  });
  return success();
}

/// A tensor of ones of the offsets, sizes and strides of a slice.
static SmallVector<OpFoldResult> getUnits(OpBuilder &b, size_t count) {
  return SmallVector<OpFoldResult>(count, b.getIndexAttr(1));
}

/// The sum of all elements.
static Value sumUp(OpBuilder &b, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>(),
                                        type.getElementType());
  Value init = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  AffineMap one = AffineMap::get(type.getRank(), 0, b.getContext());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::reduction);
  Value sum = linalg::GenericOp::create(
                  b, loc, init.getType(), value, init,
                  ArrayRef<AffineMap>{all, one}, loops,
                  [](OpBuilder &b, Location loc, ValueRange args) {
                    Value added =
                        arith::AddFOp::create(b, loc, args[1], args[0]);
                    linalg::YieldOp::create(b, loc, added);
                  })
                  .getResult(0);
  return tensor::ExtractOp::create(b, loc, sum, ValueRange());
}

/// The padding number gets the sum of the cotangents of the padding.
static LogicalResult derive(Context<tensor::PadOp> c) {
  tensor::PadOp op = c.op;
  Value source = op.getSource();
  SmallVector<OpFoldResult> offsets = op.getMixedLowPad(),
                            sizes = tensor::getMixedSizes(c.b, c.loc, source),
                            strides =
                                getUnits(c.b, op.getSourceType().getRank());
  Value number = op.getConstantPaddingValue();
  auto isActive = [&](Value value) { return c.adjoints.isActive(value); };
  if (!number &&
      llvm::any_of(op.getBody()->getOperations(), [&](Operation &nested) {
        return readsAny(&nested, isActive);
      }))
    return op->emitOpError("pads with what varies from place to place: its "
                           "derivative is not known");
  if (number)
    c.add(number, [&] {
      Value around = tensor::InsertSliceOp::create(
          c.b, c.loc, createZeros(c.b, c.loc, source), c.cotangent, offsets,
          sizes, strides);
      return sumUp(c.b, c.loc, around);
    });
  c.add(source, [&] {
    return tensor::ExtractSliceOp::create(
        c.b, c.loc, cast<RankedTensorType>(source.getType()), c.cotangent,
        offsets, sizes, strides);
  });
  return success();
}

static OpFoldResult add(OpBuilder &b, Location loc, OpFoldResult x,
                        OpFoldResult y) {
  std::optional<int64_t> left = getConstantIntValue(x);
  std::optional<int64_t> right = getConstantIntValue(y);
  if (left && right)
    return b.getIndexAttr(*left + *right);
  return arith::AddIOp::create(b, loc,
                               getValueOrCreateConstantIndexOp(b, loc, x),
                               getValueOrCreateConstantIndexOp(b, loc, y))
      .getResult();
}

static LogicalResult derive(Context<tensor::ConcatOp> c) {
  int64_t dim = c.op.getDim();
  OpFoldResult before = c.b.getIndexAttr(0);
  for (Value input : c.op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(c.b, c.loc, input);
    c.add(input, [&] {
      SmallVector<OpFoldResult> offsets(type.getRank(), c.b.getIndexAttr(0));
      offsets[dim] = before;
      return tensor::ExtractSliceOp::create(c.b, c.loc, type, c.cotangent,
                                            offsets, sizes,
                                            getUnits(c.b, type.getRank()));
    });
    before = add(c.b, c.loc, before, sizes[dim]);
  }
  return success();
}

/// Rows are added where they came from.
static LogicalResult derive(Context<tensor::GatherOp> c) {
  Value table = c.op.getSource();
  auto addInto = [&](Value sum) -> Value {
    return ScatterAddOp::create(c.b, c.loc, table.getType(), c.cotangent, sum,
                                c.op.getIndices(), c.op.getGatherDims());
  };
  c.add(
      table, [&] { return addInto(createZeros(c.b, c.loc, table)); }, addInto);
  return success();
}

static LogicalResult derive(Context<ScatterAddOp> c) {
  ScatterAddOp op = c.op;
  c.add(op.getSource(), [&] {
    return tensor::GatherOp::create(c.b, c.loc, op.getSource().getType(),
                                    c.cotangent, op.getIndices(), op.getDims());
  });
  c.add(op.getDest(), [&] { return c.cotangent; });
  return success();
}

static LogicalResult derive(Context<tensor::SplatOp> c) {
  c.add(c.op.getInput(), [&] { return sumUp(c.b, c.loc, c.cotangent); });
  return success();
}

static LogicalResult derive(Context<tensor::ScatterOp> c) {
  tensor::ScatterOp op = c.op;
  c.add(op.getSource(), [&] {
    return tensor::GatherOp::create(c.b, c.loc, op.getSourceType(), c.cotangent,
                                    op.getIndices(), op.getScatterDims());
  });
  c.add(op.getDest(), [&] {
    return tensor::ScatterOp::create(
        c.b, c.loc, op.getResultType(), createZeros(c.b, c.loc, op.getSource()),
        c.cotangent, op.getIndices(), op.getScatterDims(), op.getUnique());
  });
  return success();
}

static LogicalResult derive(Context<tensor::FromElementsOp> c) {
  RankedTensorType type = c.op.getType();
  SmallVector<int64_t> index(type.getRank(), 0);
  for (Value element : c.op.getElements()) {
    c.add(element, [&] {
      SmallVector<Value> indices;
      for (int64_t i : index)
        indices.push_back(arith::ConstantIndexOp::create(c.b, c.loc, i));
      return tensor::ExtractOp::create(c.b, c.loc, c.cotangent, indices);
    });
    // The next one, row-major.
    for (int64_t dim = type.getRank() - 1;
         dim >= 0 && ++index[dim] == type.getDimSize(dim); --dim)
      index[dim] = 0;
  }
  return success();
}

/// One element: zeros except at its position.
static LogicalResult derive(Context<tensor::ExtractOp> c) {
  Value source = c.op.getTensor();
  auto insert = [&](Value number, Value into) -> Value {
    return tensor::InsertOp::create(c.b, c.loc, number, into,
                                    c.op.getIndices());
  };
  c.add(
      source,
      [&] { return insert(c.cotangent, createZeros(c.b, c.loc, source)); },
      [&](Value sum) {
        Value known =
            tensor::ExtractOp::create(c.b, c.loc, sum, c.op.getIndices());
        return insert(createSum(c.b, c.loc, known, c.cotangent), sum);
      });
  return success();
}

static LogicalResult derive(Context<tensor::InsertOp> c) {
  c.add(c.op.getScalar(), [&] {
    return tensor::ExtractOp::create(c.b, c.loc, c.cotangent,
                                     c.op.getIndices());
  });
  c.add(c.op.getDest(), [&] {
    Value zero = createConstantLike(c.b, c.loc, c.op.getScalar(), 0);
    return tensor::InsertOp::create(c.b, c.loc, zero, c.cotangent,
                                    c.op.getIndices());
  });
  return success();
}

namespace {
template <typename OpTy>
struct TensorModel
    : DifferentiableOpInterface::ExternalModel<TensorModel<OpTy>, OpTy> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    return derive(Context<OpTy>{cast<OpTy>(op), b, adjoints});
  }
};
} // namespace

template <typename... Ops> static void attach(MLIRContext *context) {
  (Ops::template attachInterface<TensorModel<Ops>>(*context), ...);
}

void mlir::dist::registerTensorAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
           tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp,
           tensor::ConcatOp, tensor::GatherOp, tensor::SplatOp,
           tensor::ScatterOp, tensor::FromElementsOp, tensor::ExtractOp,
           tensor::InsertOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    attach<ScatterAddOp>(context);
  });
}
