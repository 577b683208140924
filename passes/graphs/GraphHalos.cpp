//===- GraphHalos.cpp - Only rows that indices name are exchanged ---------===//
//
// dist.graph_halo: placement has gathered all rows of a sharded table that is
// looked up by sharded indices, and has scattered sums of all rows. Here each
// device asks for the rows that its indices name, and sends its sums to the
// owners of the rows: the halo of a part of a graph. (As in Wang et al., "Deep
// Graph Library", 2019, and Zheng et al., "DistDGL", 2020.)
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/bounds/Bounds.h"
#include "passes/graphs/Passes.h"
#include "passes/rings/DeviceBlocks.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/verify/Uniformity.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_GRAPHHALOSPASS
#include "passes/graphs/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A dist.graph_halo of a module.
struct GraphHalo {
  const NamedAttribute *note;
  ArrayAttr axes;

  LocationAttr getBy() const {
    return cast<DictionaryAttr>(note->getValue()).getAs<LocationAttr>("by");
  }
  std::string describe(Operation *lookup) const;
};

/// Rows of a lookup, of which placement gathers all.
struct RowGather {
  tensor::GatherOp lookup;
  /// The gathered value, by the value derived from it that is the lookup's
  /// table.
  SmallVector<AllGatherOp, 1> wholes;
  GraphHalo halo;
};

/// Sums by index that are scattered: of one lookup's adjoint, or of several
/// that are added.
struct RowSum {
  ReduceScatterOp scattered;
  /// Of each device's rows.
  int64_t block;
  /// All ops that compute the sum, each before its operands.
  SmallVector<Operation *> makers;
  GraphHalo halo;
};

class GraphHalos {
public:
  GraphHalos(ModuleOp module, MeshOp mesh, DictionaryAttr notes)
      : module(module), mesh(mesh), notes(notes) {}
  LogicalResult run();

private:
  std::optional<GraphHalo> find(Operation *op);
  bool isCut(int64_t size, int64_t block, ArrayAttr axes);
  void visitGather(tensor::GatherOp op);
  void visitScattered(ReduceScatterOp op);
  bool isSum(Value value, int64_t dim, RowSum &found);
  Value writeSum(OpBuilder &b, Value value, int64_t dim, const RowSum &sum);
  LogicalResult checkReaders(const RowGather &gather);
  Value flatten(Value indices);
  bool write(const RowGather &gather);
  void write(const RowSum &sum);

  ModuleOp module;
  MeshOp mesh;
  DictionaryAttr notes;
  SmallVector<RowGather> gathers;
  SmallVector<RowSum> sums;
  llvm::SmallPtrSet<const NamedAttribute *, 8> used;
  DenseMap<Value, Value> flat;
  llvm::MapVector<ArrayAttr, DenseSet<Value>> uniform;
};
} // namespace

std::string GraphHalo::describe(Operation *lookup) const {
  return (describeFileLine(getBy()) + ": dist.graph_halo over " +
          printAxes(getAxisRefs(axes)) + ": the rows that " +
          lookup->getName().getStringRef() + " (" +
          getNotedModule(note->getName()) + ") names")
      .str();
}

std::optional<GraphHalo> GraphHalos::find(Operation *op) {
  const NamedAttribute *note = findModuleNote(op, notes);
  if (!note)
    return std::nullopt;
  return GraphHalo{
      note, cast<DictionaryAttr>(note->getValue()).getAs<ArrayAttr>("axes")};
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

/// The gathers over `axes` that a table is made of.
static SmallVector<AllGatherOp, 1> findGathers(Value table, ArrayAttr axes) {
  SmallVector<AllGatherOp, 1> gathers;
  llvm::SetVector<Operation *> makers;
  auto add = [&](Value value) {
    if (Operation *maker = value.getDefiningOp())
      makers.insert(maker);
  };
  add(table);
  for (unsigned i = 0; i < makers.size() && i < kMostOpsToGather; ++i) {
    auto gather = dyn_cast<AllGatherOp>(makers[i]);
    if (gather && gather.getAxes() == axes)
      gathers.push_back(gather);
    else if (isa<linalg::LinalgOp, tensor::ExpandShapeOp,
                 tensor::CollapseShapeOp, tensor::ExtractSliceOp,
                 tensor::ConcatOp>(makers[i]))
      for (Value operand : makers[i]->getOperands())
        add(operand);
  }
  return gathers;
}

static bool isStatic(Value value) {
  return cast<RankedTensorType>(value.getType()).hasStaticShape();
}

static bool isZero(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether blocks of a dimension of `size` rows have `block` of them: then only
/// padding was cut off, and no row.
bool GraphHalos::isCut(int64_t size, int64_t block, ArrayAttr axes) {
  for (AxisRefAttr axis : getAxisRefs(axes))
    size = llvm::divideCeil(size, getAxisSize(axis, mesh.getAxes()));
  return size == block;
}

void GraphHalos::visitGather(tensor::GatherOp op) {
  std::optional<GraphHalo> halo = find(op);
  if (!halo || op.getGatherDims().size() != 1 || !isStatic(op.getIndices()) ||
      !isStatic(op.getSource()))
    return;
  SmallVector<AllGatherOp, 1> wholes = findGathers(op.getSource(), halo->axes);
  if (!wholes.empty())
    gathers.push_back({op, std::move(wholes), *halo});
}

/// Whether the op adds two tensors, element by element.
static bool isAddition(Operation *op) {
  auto sum = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!sum || op->getNumResults() != 1 || sum.getNumDpsInputs() != 2 ||
      !llvm::all_of(sum.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block &body = *sum.getBlock();
  Operation &add = body.front();
  return isa<arith::AddFOp, arith::AddIOp>(add) &&
         add.getNextNode() == body.getTerminator() &&
         body.getTerminator()->getOperand(0) == add.getResult(0) &&
         llvm::is_contained(add.getOperands(), body.getArgument(0)) &&
         llvm::is_contained(add.getOperands(), body.getArgument(1));
}

/// Whether `value` is computed only by sums by index along `dim`, each of which
/// begins with zero or with another one.
bool GraphHalos::isSum(Value value, int64_t dim, RowSum &found) {
  Operation *maker = value.getDefiningOp();
  if (!maker || !value.hasOneUse())
    return false;
  found.makers.push_back(maker);
  if (isAddition(maker))
    return isSum(maker->getOperand(0), dim, found) &&
           isSum(maker->getOperand(1), dim, found);
  if (auto transpose = dyn_cast<linalg::TransposeOp>(maker))
    return transpose.hasPureTensorSemantics() &&
           isSum(transpose.getInput(), transpose.getPermutation()[dim], found);
  auto sum = dyn_cast<ScatterAddOp>(maker);
  if (!sum || sum.getDims().size() != 1 || sum.getDims().front() != dim ||
      !isStatic(sum.getIndices()) || !isStatic(sum.getSource()))
    return false;
  std::optional<GraphHalo> halo = find(sum);
  if (!halo || found.scattered.getAxes() != halo->axes ||
      !isCut(sum.getDest().getType().getDimSize(dim), found.block, halo->axes))
    return false;
  found.halo = *halo;
  return isZero(sum.getDest()) || isSum(sum.getDest(), dim, found);
}

void GraphHalos::visitScattered(ReduceScatterOp op) {
  if (op.getReduction() != ReductionKind::Sum)
    return;
  Value value = op.getOperand();
  int64_t dim = op.getDim();
  // Rows that are padding come behind.
  if (auto pad = value.getDefiningOp<tensor::PadOp>()) {
    Value filler = pad.getConstantPaddingValue();
    bool isBehind =
        filler && isZero(filler) && pad.getResult().hasOneUse() &&
        llvm::all_of(pad.getStaticLow(), [](int64_t low) { return low == 0; });
    for (auto [i, high] : llvm::enumerate(pad.getStaticHigh()))
      isBehind &= static_cast<int64_t>(i) == dim || high == 0;
    if (!isBehind)
      return;
    value = pad.getSource();
  }
  RowSum found{
      op, cast<RankedTensorType>(op.getType()).getDimSize(dim), {}, {}};
  if (isSum(value, dim, found))
    sums.push_back(std::move(found));
}

/// Who needs all rows gets all rows, and then asking for some of them sends
/// these twice.
LogicalResult GraphHalos::checkReaders(const RowGather &gather) {
  for (AllGatherOp whole : gather.wholes) {
    if (whole->use_empty())
      continue;
    InFlightDiagnostic error = emitError(gather.halo.getBy())
                               << "dist.graph_halo: module \""
                               << getNotedModule(gather.halo.note->getName())
                               << "\" looks rows up that something else has "
                                  "gathered, too: place what that reads over "
                                  "the same axes";
    // A slice that only cuts off padding does not count as a reader.
    Operation *reader = *whole->user_begin();
    while (isa<tensor::ExtractSliceOp>(reader) && !reader->use_empty())
      reader = *reader->user_begin();
    error.attachNote(reader->getLoc()) << "this reads all rows";
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What becomes of it
//===----------------------------------------------------------------------===//

/// The same elements as another type, in their order.
static Value reshape(OpBuilder &b, Location loc, Value value,
                     RankedTensorType type) {
  auto from = cast<RankedTensorType>(value.getType());
  if (from == type)
    return value;
  // By way of one dimension, where one shape is not the other's, in groups.
  auto groups = getReassociationIndicesForReshape(from, type);
  if (!groups) {
    auto flat =
        RankedTensorType::get({from.getNumElements()}, from.getElementType());
    return reshape(b, loc, reshape(b, loc, value, flat), type);
  }
  if (from.getRank() > type.getRank())
    return tensor::CollapseShapeOp::create(b, loc, type, value, *groups);
  return tensor::ExpandShapeOp::create(b, loc, type, value, *groups);
}

/// A lookup's indices in one dimension: the same value for all lookups that
/// have the same.
Value GraphHalos::flatten(Value indices) {
  Value &known = flat[indices];
  if (known)
    return known;
  OpBuilder b(module.getContext());
  b.setInsertionPointAfterValue(indices);
  auto type = cast<RankedTensorType>(indices.getType());
  auto line =
      RankedTensorType::get({type.getNumElements()}, type.getElementType());
  if (auto expand = indices.getDefiningOp<tensor::ExpandShapeOp>();
      expand && expand.getSrcType() == line)
    return known = expand.getSrc();
  return known = reshape(b, indices.getLoc(), indices, line);
}

/// A block's type with a dimension of its own for rows in front, replacing
/// `dim`.
static RankedTensorType getRowsType(RankedTensorType block, int64_t dim,
                                    int64_t count) {
  SmallVector<int64_t> shape(block.getShape());
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin(), count);
  return block.clone(shape);
}

/// For the whole dimension, if the blocks have more.
static IntegerAttr getSize(OpBuilder &b, int64_t whole, int64_t padded) {
  return whole == padded ? IntegerAttr() : b.getI64IntegerAttr(whole);
}

/// Sets the module of everything new in front of `end`, after `begin`.
static void setScopes(Operation *begin, Operation *end, Operation *like) {
  Attribute scope = like->getAttr(kScopeAttr);
  Block *block = end->getBlock();
  for (Operation *op = begin ? begin->getNextNode() : &block->front();
       op != end; op = op->getNextNode())
    if (scope)
      op->setAttr(kScopeAttr, scope);
}

/// Asks for the rows, if the table is computed row by row from the gathered
/// rows.
bool GraphHalos::write(const RowGather &gather) {
  tensor::GatherOp lookup = gather.lookup;
  AllGatherOp whole = gather.wholes.front();
  ArrayAttr axes = gather.halo.axes;
  MeshLayout layout(mesh);
  auto [known, isNew] = uniform.try_emplace(axes);
  if (isNew)
    known->second = findUniformValues(module, layout, getAxisRefs(axes));
  Operation *before = lookup->getPrevNode();
  OpBuilder b(lookup);
  Location loc = lookup.getLoc();
  int64_t dim = lookup.getGatherDims().front();
  int64_t size = lookup.getSourceType().getDimSize(dim);
  int64_t devices = layout.size(getAxisRefs(axes));
  DeviceBlocks blocks(b, loc, whole.getMeshAttr(), axes, devices,
                      known->second);
  Value table = blocks.get(lookup.getSource(), dim);
  auto block =
      table ? cast<RankedTensorType>(table.getType()) : RankedTensorType();
  if (!table || !isCut(size, block.getDimSize(dim), axes)) {
    InFlightDiagnostic warning = emitWarning(gather.halo.getBy())
                                 << "dist.graph_halo: module \""
                                 << getNotedModule(gather.halo.note->getName())
                                 << "\" looks up rows of what is not made row "
                                    "by row of what is gathered "
                                    "over "
                                 << printAxes(getAxisRefs(axes))
                                 << ": for this all are gathered";
    warning.attachNote(loc) << "at this lookup";
    return false;
  }
  Value indices = flatten(lookup.getIndices());
  Value rows = GatherRowsOp::create(
      b, loc,
      getRowsType(block, dim,
                  cast<RankedTensorType>(indices.getType()).getDimSize(0)),
      table, indices, b.getI64IntegerAttr(dim),
      getSize(b, size, block.getDimSize(dim) * devices), axes,
      whole.getMeshAttr(), b.getStringAttr(gather.halo.describe(lookup)));
  Value same = reshape(b, loc, rows, lookup.getType());
  setScopes(before, lookup, lookup);
  lookup.getResult().replaceAllUsesWith(same);
  return true;
}

/// The device's rows of a sum.
Value GraphHalos::writeSum(OpBuilder &b, Value value, int64_t dim,
                           const RowSum &sum) {
  Operation *maker = value.getDefiningOp();
  Location loc = maker->getLoc();
  auto empty = [&](RankedTensorType type) -> Value {
    return tensor::EmptyOp::create(b, loc, type.getShape(),
                                   type.getElementType());
  };
  auto add = [&](Value x, Value y) -> Value {
    auto type = cast<RankedTensorType>(x.getType());
    return linalg::AddOp::create(b, loc, type, ValueRange{x, y},
                                 ValueRange{empty(type)})
        .getResult(0);
  };
  if (isAddition(maker)) {
    Value left = writeSum(b, maker->getOperand(0), dim, sum);
    return add(left, writeSum(b, maker->getOperand(1), dim, sum));
  }
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(value.getType()).getShape());
  shape[dim] = sum.block;
  RankedTensorType type = cast<RankedTensorType>(value.getType()).clone(shape);
  if (auto transpose = dyn_cast<linalg::TransposeOp>(maker)) {
    ArrayRef<int64_t> order = transpose.getPermutation();
    Value rows = writeSum(b, transpose.getInput(), order[dim], sum);
    return linalg::TransposeOp::create(b, loc, rows, empty(type), order)
        ->getResult(0);
  }
  auto part = cast<ScatterAddOp>(maker);
  ReduceScatterOp scattered = sum.scattered;
  Value indices = flatten(part.getIndices());
  int64_t count = cast<RankedTensorType>(indices.getType()).getDimSize(0);
  int64_t devices = getGroupSize(getAxisRefs(sum.halo.axes), mesh.getAxes());
  // Its initial value was added first.
  Value before =
      isZero(part.getDest()) ? Value() : writeSum(b, part.getDest(), dim, sum);
  Value rows = reshape(b, loc, part.getSource(), getRowsType(type, dim, count));
  Value reduced = ReduceRowsOp::create(
      b, loc, type, rows, indices, b.getI64IntegerAttr(dim),
      getSize(b, part.getDest().getType().getDimSize(dim), sum.block * devices),
      sum.halo.axes, scattered.getMeshAttr(),
      b.getStringAttr(sum.halo.describe(part)));
  return before ? add(before, reduced) : reduced;
}

void GraphHalos::write(const RowSum &sum) {
  ReduceScatterOp scattered = sum.scattered;
  Operation *before = scattered->getPrevNode();
  OpBuilder b(scattered);
  Operation *pad = scattered.getOperand().getDefiningOp<tensor::PadOp>();
  Value value = pad ? pad->getOperand(0) : scattered.getOperand();
  Value result = writeSum(b, value, scattered.getDim(), sum);
  setScopes(before, scattered, scattered);
  scattered.getResult().replaceAllUsesWith(result);
  scattered.erase();
  if (pad)
    pad->erase();
  for (Operation *maker : sum.makers)
    maker->erase();
}

LogicalResult GraphHalos::run() {
  module.walk([&](Operation *op) {
    if (auto gather = dyn_cast<tensor::GatherOp>(op))
      visitGather(gather);
    else if (auto scattered = dyn_cast<ReduceScatterOp>(op))
      visitScattered(scattered);
  });
  bool failed = false;
  for (RowGather &gather : gathers)
    if (write(gather))
      used.insert(gather.halo.note);
    else
      gather.wholes.clear(); // they are read
  // Only now: the analyses know values by their addresses.
  for (RowGather &gather : gathers)
    if (!gather.wholes.empty())
      // An all_gather stays, for the check whether it is read.
      eraseDead(gather.lookup.getOperation(), [](Operation *op) {
        return isOpTriviallyDead(op) && !isa<AllGatherOp>(op);
      });
  for (const RowSum &sum : sums) {
    used.insert(sum.halo.note);
    write(sum);
  }
  for (const RowGather &gather : gathers)
    if (!failed)
      failed = mlir::failed(checkReaders(gather));
  for (const NamedAttribute &note : notes) {
    GraphHalo halo{
        &note, cast<DictionaryAttr>(note.getValue()).getAs<ArrayAttr>("axes")};
    int64_t devices = getGroupSize(getAxisRefs(halo.axes), mesh.getAxes());
    if (devices == 1 || used.contains(&note))
      continue;
    failed = true;
    emitError(halo.getBy())
        << "dist.graph_halo: module \"" << getNotedModule(note.getName())
        << "\" has no lookup of rows that are gathered over "
        << printAxes(getAxisRefs(halo.axes))
        << ", nor sums by index that are scattered over it: place the rows "
           "and the indices over it"
        << (halo.axes.size() > 1 ? ", of as many rows as devices divide" : "");
  }
  llvm::SetVector<Operation *> unread;
  for (const RowGather &gather : gathers)
    for (AllGatherOp whole : gather.wholes)
      if (!failed)
        unread.insert(whole);
  for (Operation *whole : unread)
    whole->erase();
  return failure(failed);
}

namespace {
struct GraphHalosPass : mlir::dist::impl::GraphHalosPassBase<GraphHalosPass> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    auto notes = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kGraphHalosAttr)
                       : DictionaryAttr();
    if (!notes)
      return markAllAnalysesPreserved();
    if (failed(GraphHalos(getOperation(), *mesh, notes).run()))
      return signalPassFailure();
    (*mesh)->removeAttr(kGraphHalosAttr);
  }
};
} // namespace
