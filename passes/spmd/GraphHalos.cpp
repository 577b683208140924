//===- GraphHalos.cpp - Only rows that indices name are exchanged ---------===//
//
// dist.graph_halo: of a table that is sharded over devices, and looked up by
// indices that are as well, placement has gathered all rows, and scattered sums
// of all rows. Here each device asks for the rows that its indices name, and
// sends its sums to who has their rows: the halo of a part of a graph (as in
// Wang et al., "Deep Graph Library", 2019, and Zheng et al., "DistDGL", 2020).
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/spmd/ModuleNotes.h"
#include "passes/spmd/PlacementText.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_GRAPHHALOSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What a dist.graph_halo says of a module.
struct GraphHalo {
  const NamedAttribute *note;
  ArrayAttr axes;

  LocationAttr getBy() const {
    return cast<DictionaryAttr>(note->getValue()).getAs<LocationAttr>("by");
  }
  std::string describe(Operation *lookup) const;
};

/// Rows that a lookup names, of which placement gathers all.
struct RowGather {
  tensor::GatherOp lookup;
  AllGatherOp whole;
  GraphHalo halo;
};

/// Sums by index that are scattered: of one lookup's adjoint, or of several
/// that are added.
struct RowSum {
  ReduceScatterOp scattered;
  SmallVector<ScatterAddOp> sums;
  /// All that makes the sum, each before what it reads.
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
  bool addSums(Value sum, RowSum &found);
  LogicalResult checkReaders();
  Value flatten(Value indices);
  void write(const RowGather &gather);
  void write(const RowSum &sum);

  ModuleOp module;
  MeshOp mesh;
  DictionaryAttr notes;
  SmallVector<RowGather> gathers;
  SmallVector<RowSum> sums;
  llvm::SmallPtrSet<const NamedAttribute *, 8> used;
  DenseMap<Value, Value> flat;
};
} // namespace

std::string GraphHalo::describe(Operation *lookup) const {
  return (describeFileLine(getBy()) + ": dist.graph_halo over " +
          printAxes(getAxisRefs(axes)) + ": the rows that " +
          lookup->getName().getStringRef() + " (" + note->getName().getValue() +
          ") names")
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

/// What was cut off `value` at the end of `dim`, which is padding; the value
/// itself where nothing was.
static Value getUncut(Value value, int64_t dim) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != slice.getType().getRank() ||
      !slice.hasUnitStride() || !slice.hasZeroOffset())
    return value;
  for (int64_t i = 0; i < slice.getType().getRank(); ++i)
    if (i != dim &&
        slice.getType().getDimSize(i) != slice.getSourceType().getDimSize(i))
      return value;
  return slice.getSource();
}

static bool isStatic(Value value) {
  return cast<RankedTensorType>(value.getType()).hasStaticShape();
}

static bool isZero(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether blocks of a dimension of `size` rows have `block` of them: what was
/// cut off is padding, and no row.
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
  int64_t dim = op.getGatherDims().front();
  auto whole = getUncut(op.getSource(), dim).getDefiningOp<AllGatherOp>();
  if (!whole || static_cast<int64_t>(whole.getDim()) != dim ||
      whole.getAxes() != halo->axes ||
      !isCut(
          op.getSourceType().getDimSize(dim),
          cast<RankedTensorType>(whole.getOperand().getType()).getDimSize(dim),
          halo->axes))
    return;
  gathers.push_back({op, whole, *halo});
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

/// The lookups' adjoints that `value` is the sum of, each of which begins with
/// zero or with the one before.
bool GraphHalos::addSums(Value value, RowSum &found) {
  Operation *maker = value.getDefiningOp();
  if (!maker || !value.hasOneUse())
    return false;
  found.makers.push_back(maker);
  if (isAddition(maker))
    return addSums(maker->getOperand(0), found) &&
           addSums(maker->getOperand(1), found);
  auto sum = dyn_cast<ScatterAddOp>(maker);
  if (!sum || sum.getDims().size() != 1 ||
      sum.getDims().front() != static_cast<int64_t>(found.scattered.getDim()) ||
      !isStatic(sum.getIndices()) || !isStatic(sum.getSource()))
    return false;
  std::optional<GraphHalo> halo = find(sum);
  int64_t dim = found.scattered.getDim();
  if (!halo || found.scattered.getAxes() != halo->axes ||
      !isCut(sum.getDest().getType().getDimSize(dim),
             cast<RankedTensorType>(found.scattered.getType()).getDimSize(dim),
             halo->axes))
    return false;
  found.halo = *halo;
  // What it begins with was added first.
  if (!isZero(sum.getDest()) && !addSums(sum.getDest(), found))
    return false;
  found.sums.push_back(sum);
  return true;
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
  RowSum found{op, {}, {}, {}};
  if (addSums(value, found))
    sums.push_back(std::move(found));
}

/// Who needs all rows gets all rows, and then asking for some of them sends
/// these twice.
LogicalResult GraphHalos::checkReaders() {
  llvm::MapVector<AllGatherOp, const RowGather *> wholes;
  DenseSet<Operation *> lookups;
  for (const RowGather &gather : gathers) {
    wholes.insert({gather.whole, &gather});
    lookups.insert(gather.lookup);
  }
  bool failed = false;
  for (auto [whole, gather] : wholes) {
    SmallVector<Operation *> readers(whole->getUsers());
    while (!readers.empty()) {
      Operation *reader = readers.pop_back_val();
      if (lookups.contains(reader))
        continue;
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(reader);
          slice && slice.getSource() == whole.getResult() &&
          getUncut(slice, whole.getDim()) == slice.getSource()) {
        llvm::append_range(readers, slice->getUsers());
        continue;
      }
      InFlightDiagnostic error = emitError(gather->halo.getBy())
                                 << "dist.graph_halo: module \""
                                 << gather->halo.note->getName().getValue()
                                 << "\" looks rows up that something else has "
                                    "gathered, too: place what that reads "
                                    "over the same axes";
      error.attachNote(reader->getLoc()) << "this reads all rows";
      failed = true;
      break;
    }
  }
  return failure(failed);
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

/// A block's type with a dimension of its own for rows in front, in place of
/// `dim`.
static RankedTensorType getRowsType(RankedTensorType block, int64_t dim,
                                    int64_t count) {
  SmallVector<int64_t> shape(block.getShape());
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin(), count);
  return block.clone(shape);
}

/// Of the whole dimension, where the blocks have more.
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

void GraphHalos::write(const RowGather &gather) {
  tensor::GatherOp lookup = gather.lookup;
  AllGatherOp whole = gather.whole;
  Operation *before = lookup->getPrevNode();
  OpBuilder b(lookup);
  Location loc = lookup.getLoc();
  int64_t dim = whole.getDim();
  Value indices = flatten(lookup.getIndices());
  auto block = cast<RankedTensorType>(whole.getOperand().getType());
  Value rows = GatherRowsOp::create(
      b, loc,
      getRowsType(block, dim,
                  cast<RankedTensorType>(indices.getType()).getDimSize(0)),
      whole.getOperand(), indices, b.getI64IntegerAttr(dim),
      getSize(b, lookup.getSourceType().getDimSize(dim),
              cast<RankedTensorType>(whole.getType()).getDimSize(dim)),
      whole.getAxes(), whole.getMeshAttr(),
      b.getStringAttr(gather.halo.describe(lookup)));
  Value same = reshape(b, loc, rows, lookup.getType());
  setScopes(before, lookup, lookup);
  lookup.getResult().replaceAllUsesWith(same);
  Operation *source = lookup.getSource().getDefiningOp();
  lookup.erase();
  if (source != whole && source->use_empty())
    source->erase();
  if (whole->use_empty())
    whole.erase();
}

void GraphHalos::write(const RowSum &sum) {
  ReduceScatterOp scattered = sum.scattered;
  Operation *before = scattered->getPrevNode();
  OpBuilder b(scattered);
  int64_t dim = scattered.getDim();
  auto block = cast<RankedTensorType>(scattered.getType());
  int64_t padded =
      cast<RankedTensorType>(scattered.getOperand().getType()).getDimSize(dim);
  Value result;
  for (ScatterAddOp part : sum.sums) {
    Location loc = part.getLoc();
    Value indices = flatten(part.getIndices());
    int64_t count = cast<RankedTensorType>(indices.getType()).getDimSize(0);
    Value rows =
        reshape(b, loc, part.getSource(), getRowsType(block, dim, count));
    Value reduced = ReduceRowsOp::create(
        b, loc, block, rows, indices, b.getI64IntegerAttr(dim),
        getSize(b, part.getDest().getType().getDimSize(dim), padded),
        scattered.getAxes(), scattered.getMeshAttr(),
        b.getStringAttr(sum.halo.describe(part)));
    if (!result) {
      result = reduced;
      continue;
    }
    Value init = tensor::EmptyOp::create(b, loc, block.getShape(),
                                         block.getElementType());
    result = linalg::AddOp::create(b, loc, block, ValueRange{result, reduced},
                                   ValueRange{init})
                 .getResult(0);
  }
  setScopes(before, scattered, sum.sums.front());
  Operation *pad = scattered.getOperand().getDefiningOp<tensor::PadOp>();
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
  if (failed(checkReaders()))
    return failure();
  for (const RowGather &gather : gathers) {
    used.insert(gather.halo.note);
    write(gather);
  }
  for (const RowSum &sum : sums) {
    used.insert(sum.halo.note);
    write(sum);
  }
  bool failed = false;
  for (const NamedAttribute &note : notes) {
    GraphHalo halo{
        &note, cast<DictionaryAttr>(note.getValue()).getAs<ArrayAttr>("axes")};
    int64_t devices = getGroupSize(getAxisRefs(halo.axes), mesh.getAxes());
    if (devices == 1 || used.contains(&note))
      continue;
    failed = true;
    emitError(halo.getBy())
        << "dist.graph_halo: module \"" << note.getName().getValue()
        << "\" has no lookup of rows that are gathered over "
        << printAxes(getAxisRefs(halo.axes))
        << ", nor sums by index that are scattered over it: place the rows "
           "and the indices over it";
  }
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
      return;
    if (failed(GraphHalos(getOperation(), *mesh, notes).run()))
      return signalPassFailure();
    (*mesh)->removeAttr(kGraphHalosAttr);
  }
};
} // namespace
