//===- LowerCollectives.cpp - Collectives become runtime calls ------------===//
//
// --dist-lower-collectives: from the dist dialect's local view to the rt
// dialect, in destination-passing style and still on tensors.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "lowering/rt/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTLOWERCOLLECTIVES
#include "lowering/rt/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static rt::Reduction convert(ReductionKind kind) {
  std::optional<rt::Reduction> reduction =
      rt::symbolizeReduction(stringifyReductionKind(kind));
  return *reduction; // the names are the same
}

static rt::Boundary convert(BoundaryKind kind) {
  return *rt::symbolizeBoundary(stringifyBoundaryKind(kind));
}

/// The bits of a boundary's constant; 0 without a constant.
static int64_t getBits(BoundaryAttr boundary) {
  TypedAttr value = boundary ? boundary.getValue() : TypedAttr();
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValue().bitcastToAPInt().getZExtValue();
  return value ? cast<IntegerAttr>(value).getValue().getZExtValue() : 0;
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

namespace {

class Lowering {
public:
  explicit Lowering(ModuleOp module)
      : module(module), rewriter(module.getContext()) {}

  LogicalResult run();

private:
  void findEnds(Block &block);
  LogicalResult lower(Operation *op);
  LogicalResult lowerCollective(CollectiveOpInterface op);
  void lowerSlice(AllSliceOp op);
  /// The communicator of these axes, numbered when first seen.
  int32_t getComm(ArrayAttr axes);
  /// The place of this rank in the group that `axes` make.
  Value createIndex(Location loc, ArrayAttr axes);
  /// The place of a new entry for the manifest.
  int32_t addSite(CollectiveOpInterface op, ArrayAttr axes);
  /// A Call that replaces `op`, over the group of `axes`, with its own
  /// attributes.
  template <typename Call, typename... Parameters>
  void replace(CollectiveOpInterface op, ArrayAttr axes,
               Parameters... parameters);
  /// The plan for rows that an op's indices name, of `whole` ones; one for all
  /// ops that have the same.
  template <typename RowsOp> Value getRowPlan(RowsOp op, int64_t whole);
  /// The pairs of places in a group of whole axes that a permutation makes.
  SmallVector<int64_t> permutationPairs(CollectivePermuteOp op,
                                        ArrayAttr group);

  ModuleOp module;
  IRRewriter rewriter;
  MeshOp mesh;
  llvm::MapVector<ArrayAttr, int32_t> comms;
  /// For collectives that are started, the op before which they are waited for.
  DenseMap<Operation *, Operation *> ends;
  SmallVector<Attribute> sites;
  DenseMap<std::tuple<Value, int32_t, int64_t>, Value> rowPlans;
};

} // namespace

/// For ops that follow a fence, with only ops that are in no kernel in between:
/// the first one behind it.
static DenseMap<Operation *, Operation *> findUnits(Block &block) {
  DenseMap<Operation *, Operation *> units;
  Operation *first = nullptr;
  for (Operation &op : block) {
    bool hasBlocks = op.getNumRegions() > 0 && !isa<linalg::LinalgOp>(op);
    if (isa<FenceOp>(op))
      first = op.getNextNode();
    else if (hasBlocks || getCommAxes(&op) || !isMemoryEffectFree(&op))
      first = nullptr;
    else if (first)
      units[&op] = first;
  }
  return units;
}

/// The wait for a collective on a stream stands before its first user. If other
/// ops may be in one kernel with that user, it stands before these, behind a
/// fence; otherwise there would be two kernels. It also stands before a
/// synchronous call of the communicator, which may come from an inlined
/// function.
void Lowering::findEnds(Block &block) {
  DenseMap<Operation *, Operation *> units = findUnits(block);
  DenseMap<ArrayAttr, Operation *> nextCall;
  for (Operation &op : llvm::reverse(block))
    op.walk([&](Operation *inner) {
      ArrayAttr axes = getCommAxes(inner);
      if (!axes)
        return;
      Operation *end =
          getStream(inner) ? findFirstUser(inner->getResult(0)) : nullptr;
      if (!end) {
        nextCall[axes] = &op;
      } else if (inner == &op) {
        if (Operation *unit = units.lookup(end))
          end = unit;
        Operation *next = nextCall.lookup(axes);
        ends[inner] = next && next->isBeforeInBlock(end) ? next : end;
      }
    });
}

int32_t Lowering::getComm(ArrayAttr axes) {
  return comms.insert({axes, int32_t(comms.size())}).first->second;
}

Value Lowering::createIndex(Location loc, ArrayAttr axes) {
  auto index = rt::CommIndexOp::create(rewriter, loc, rewriter.getIndexType(),
                                       getComm(axes));
  index->setAttr(rt::kGroupSizeAttr, rewriter.getIndexAttr(getGroupSize(
                                         getAxisRefs(axes), mesh.getAxes())));
  return index;
}

/// Sets how often an op is done in a run, which has no other function.
static void setCount(Operation *op, NamedAttrList &site) {
  int64_t count = 1;
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips)
      site.set("in_unknown_loop", UnitAttr::get(op->getContext()));
    else if (llvm::MulOverflow(count, trips->getSExtValue(), count))
      count = INT64_MAX;
  }
  if (count != 1)
    site.set("count",
             IntegerAttr::get(IntegerType::get(op->getContext(), 64), count));
}

int32_t Lowering::addSite(CollectiveOpInterface op, ArrayAttr axes) {
  auto operandType = cast<RankedTensorType>(op->getOperand(0).getType());
  int64_t groupSize = getGroupSize(getAxisRefs(op.getAxes()), mesh.getAxes());

  NamedAttrList site;
  site.set("op", rewriter.getStringAttr(op->getName().stripDialect()));
  site.set("comm", rewriter.getI32IntegerAttr(getComm(axes)));
  SmallVector<Attribute> names;
  for (AxisRefAttr axis : getAxisRefs(op.getAxes()))
    names.push_back(rewriter.getStringAttr(axis.getName()));
  site.set("axes", rewriter.getArrayAttr(names));
  if (auto reduction = op->getAttrOfType<ReductionKindAttr>("reduction"))
    site.set("reduce", rewriter.getStringAttr(
                           stringifyReductionKind(reduction.getValue())));
  site.set("dtype", rewriter.getStringAttr(
                        rt::getDtypeName(operandType.getElementType())));
  site.set("shape", rewriter.getDenseI64ArrayAttr(operandType.getShape()));
  site.set("bytes_sent_per_rank",
           rewriter.getI64IntegerAttr(op.getBytesSentPerRank(groupSize)));
  setCount(op, site);
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    site.set("scope", scope);
  if (StringAttr cause = op.getCauseAttr())
    site.set("cause", cause);
  site.set("location", rewriter.getStringAttr(describeFileLine(op.getLoc())));
  sites.push_back(site.getDictionary(rewriter.getContext()));
  return sites.size() - 1;
}

template <typename Call, typename... Parameters>
void Lowering::replace(CollectiveOpInterface op, ArrayAttr axes,
                       Parameters... parameters) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int32_t site = addSite(op, axes);
  rewriter.setInsertionPoint(op);
  Value init = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                       type.getElementType());
  Operation *end = ends.lookup(op);
  int32_t stream = end ? getStream(op) : 0;
  SmallVector<Type> types = {type};
  if (stream != 0)
    types.push_back(rt::TokenType::get(rewriter.getContext()));
  Value operand = op->getOperand(0);
  auto call = Call::create(rewriter, loc, types, getComm(axes), site, stream,
                           parameters..., operand, init);
  if (Attribute scope = op->getAttr(kScopeAttr))
    call->setAttr(kScopeAttr, scope);
  Value result = call.getTensor();
  if (stream != 0) {
    rewriter.setInsertionPoint(end);
    result = rt::WaitOp::create(rewriter, loc, type, call.getToken(), operand,
                                result)
                 .getResult();
  }
  rewriter.replaceOp(op, result);
}

/// This rank's rows of a tensor that all hold: a view, which costs nothing.
void Lowering::lowerSlice(AllSliceOp op) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (type.getNumElements() == 0) { // where no offset is within bounds
    rewriter.replaceOpWithNewOp<tensor::EmptyOp>(op, type, ValueRange());
    return;
  }
  Value index = createIndex(loc, op.getAxesAttr());
  Value rows = arith::ConstantIndexOp::create(rewriter, loc,
                                              type.getDimSize(op.getDim()));
  Value start = arith::MulIOp::create(rewriter, loc, index, rows);
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes,
      strides(type.getRank(), rewriter.getIndexAttr(1));
  for (int64_t size : type.getShape())
    sizes.push_back(rewriter.getIndexAttr(size));
  offsets[op.getDim()] = start;
  rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(op, type, op.getOperand(),
                                                      offsets, sizes, strides);
}

SmallVector<int64_t> Lowering::permutationPairs(CollectivePermuteOp op,
                                                ArrayAttr group) {
  ArrayRef<MeshAxisAttr> axes = mesh.getAxes();
  int64_t last = getGroupSize(getAxisRefs(op.getToAxes()), axes) - 1;
  SmallVector<AxisRefAttr> whole = getAxisRefs(group);
  int64_t members = getGroupSize(whole, axes);
  // The block that a member holds under a list of axes.
  auto blockOf = [&](int64_t member, ArrayAttr list) {
    llvm::StringMap<int64_t> coordinates;
    for (AxisRefAttr axis : llvm::reverse(whole)) {
      int64_t size = mesh.getAxisSize(axis.getName());
      coordinates[axis.getName()] = member % size;
      member /= size;
    }
    int64_t block = 0;
    for (AxisRefAttr ref : getAxisRefs(list)) {
      int64_t size = getAxisSize(ref, axes);
      int64_t rest = mesh.getAxisSize(ref.getName()) / (ref.getPre() * size);
      block = block * size + coordinates[ref.getName()] / rest % size;
    }
    return block;
  };
  auto wantedBy = [&](int64_t member) {
    int64_t block = blockOf(member, op.getToAxes());
    return op.getReversed() ? last - block : block;
  };
  // Several members may have equal blocks: each keeps its own if possible, the
  // others are paired in order.
  DenseMap<int64_t, SmallVector<int64_t>> sources;
  SmallVector<int64_t> pairs, waiting;
  for (int64_t member = 0; member < members; ++member) {
    int64_t has = blockOf(member, op.getAxes());
    if (has == wantedBy(member)) {
      pairs.append({member, member});
      continue;
    }
    sources[has].push_back(member);
    waiting.push_back(member);
  }
  DenseMap<int64_t, size_t> next;
  for (int64_t member : waiting) {
    int64_t wants = wantedBy(member);
    pairs.append({sources[wants][next[wants]++], member});
  }
  return pairs;
}

template <typename RowsOp>
Value Lowering::getRowPlan(RowsOp op, int64_t whole) {
  Value indices = op.getIndices();
  int32_t comm = getComm(op.getAxes());
  Value &plan = rowPlans[{indices, comm, whole}];
  if (plan)
    return plan;
  // Where the indices are: before all that has them.
  rewriter.setInsertionPointAfterValue(indices);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(indices.getType());
  if (!type.getElementType().isIndex() && !type.getElementType().isInteger(64))
    indices = arith::ExtSIOp::create(
        rewriter, loc, type.clone(rewriter.getI64Type()), indices);
  // The site that its first call will have.
  plan = rt::PlanRowsOp::create(rewriter, loc,
                                rt::RowPlanType::get(rewriter.getContext()),
                                comm, sites.size(), whole, indices);
  return plan;
}

LogicalResult Lowering::lowerCollective(CollectiveOpInterface op) {
  if (!mesh)
    return op->emitOpError("needs a dist.mesh in the module, of which there is "
                           "none, or several");
  if (op.getMeshAttr() && op.getMeshAttr().getValue() != mesh.getSymName())
    return op->emitOpError("is on mesh @")
           << op.getMeshAttr().getValue() << ", but the program runs on @"
           << mesh.getSymName() << "; a program has one mesh";
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  if (failed(rt::getDtype(type.getElementType())))
    return op->emitOpError("the runtime has no element type ")
           << type.getElementType();
  ArrayRef<int64_t> shape = type.getShape();
  int64_t p = getGroupSize(getAxisRefs(op.getAxes()), mesh.getAxes());
  auto before = [&](int64_t dim) { return product(shape.take_front(dim)); };
  auto after = [&](int64_t dim) { return product(shape.drop_front(dim + 1)); };

  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AllReduceOp reduce) {
        replace<rt::AllReduceOp>(op, op.getAxes(),
                                 convert(reduce.getReduction()));
        return success();
      })
      .Case([&](AllGatherOp gather) {
        int64_t dim = gather.getDim();
        replace<rt::AllGatherOp>(op, op.getAxes(), before(dim), shape[dim] * p,
                                 after(dim));
        return success();
      })
      .Case([&](ReduceScatterOp scatter) {
        int64_t dim = scatter.getDim();
        replace<rt::ReduceScatterOp>(op, op.getAxes(),
                                     convert(scatter.getReduction()),
                                     before(dim), shape[dim], after(dim));
        return success();
      })
      .Case([&](AllToAllOp exchange) {
        int64_t split = exchange.getSplitDim();
        int64_t concat = exchange.getConcatDim();
        int64_t first = std::min(split, concat);
        int64_t second = std::max(split, concat);
        replace<rt::AllToAllOp>(
            op, op.getAxes(), /*split_first=*/split < concat, before(first),
            shape[split], product(shape.slice(first + 1, second - first - 1)),
            shape[concat] * p, after(second));
        return success();
      })
      .Case([&](BroadcastOp broadcast) {
        replace<rt::BroadcastOp>(op, op.getAxes(), broadcast.getRoot());
        return success();
      })
      .Case([&](HaloExchangeOp halo) {
        int64_t dim = halo.getDim();
        replace<rt::HaloExchangeOp>(op, op.getAxes(), before(dim),
                                    halo.getSize().value_or(shape[dim] * p),
                                    after(dim), halo.getLow(), halo.getHigh(),
                                    convert(halo.getBoundaryKind()),
                                    getBits(halo.getBoundaryAttr()));
        return success();
      })
      .Case([&](HaloReduceOp halo) {
        int64_t dim = halo.getDim();
        int64_t rows = halo.getResult().getType().getDimSize(dim);
        replace<rt::HaloReduceOp>(
            op, op.getAxes(), before(dim), halo.getSize().value_or(rows * p),
            after(dim), halo.getLow(), halo.getHigh(), halo.getPeriodic());
        return success();
      })
      .Case([&](GatherRowsOp gather) {
        int64_t dim = gather.getDim();
        int64_t whole = gather.getSize().value_or(shape[dim] * p);
        replace<rt::GatherRowsOp>(op, op.getAxes(), getRowPlan(gather, whole),
                                  before(dim), whole, after(dim));
        return success();
      })
      .Case([&](ReduceRowsOp reduce) {
        int64_t dim = reduce.getDim();
        ArrayRef<int64_t> block = reduce.getResult().getType().getShape();
        int64_t whole = reduce.getSize().value_or(block[dim] * p);
        replace<rt::ReduceRowsOp>(op, op.getAxes(), getRowPlan(reduce, whole),
                                  product(block.take_front(dim)), whole,
                                  product(block.drop_front(dim + 1)));
        return success();
      })
      .Case([&](CollectivePermuteOp permute) {
        ArrayAttr group = getCommAxes(permute);
        SmallVector<int64_t> pairs = permutationPairs(permute, group);
        replace<rt::CollectivePermuteOp>(op, group, ArrayRef<int64_t>(pairs));
        return success();
      })
      .Case([&](SendRecvOp shift) {
        SmallVector<int64_t> pairs;
        int64_t by = shift.getShift();
        for (int64_t source = 0; source < p; ++source)
          if (shift.getPeriodic())
            pairs.append({source, (source + by + p) % p});
          else if (source + by >= 0 && source + by < p)
            pairs.append({source, source + by});
        replace<rt::CollectivePermuteOp>(op, op.getAxes(),
                                         ArrayRef<int64_t>(pairs));
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("is no collective that the runtime has");
      });
}

LogicalResult Lowering::lower(Operation *op) {
  if (auto slice = dyn_cast<AllSliceOp>(op)) {
    lowerSlice(slice);
    return success();
  }
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    rewriter.setInsertionPoint(op);
    rewriter.replaceOp(op, createIndex(op->getLoc(), index.getAxesAttr()));
    return success();
  }
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return lowerCollective(collective);
  if (isa<MeshOp, ScheduleOp>(op)) {
    rewriter.eraseOp(op);
    return success();
  }
  // For one device.
  if (isa<AttentionOp, AttentionAdjointOp, AttentionYieldOp, FenceOp,
          OptimizationBarrierOp, RandomWordsOp, ScatterAddOp>(op))
    return success();
  return op->emitOpError("is not of level 3; run --dist-spmd first");
}

LogicalResult Lowering::run() {
  FailureOr<MeshOp> found = findProgramMesh(module);
  if (failed(found))
    return failure();
  mesh = *found;
  SmallVector<Operation *> ops, symbols;
  llvm::SetVector<Block *> blocks;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa_and_present<DistDialect>(op->getDialect()))
      return WalkResult::advance();
    if (getStream(op) != 0)
      blocks.insert(op->getBlock());
    (isa<MeshOp, ScheduleOp>(op) ? symbols : ops).push_back(op);
    return isa<ScheduleOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  // Those of the tasks before this one, of which a pipeline consists.
  if (auto lists = module->getAttrOfType<ArrayAttr>(rt::kCommunicatorsAttr))
    for (ArrayAttr axes : lists.getAsRange<ArrayAttr>())
      getComm(axes);
  if (auto known = module->getAttrOfType<ArrayAttr>(rt::kCollectivesAttr))
    llvm::append_range(sites, known);
  for (Block *block : blocks)
    findEnds(*block);
  for (Operation *op : ops)
    if (failed(lower(op)))
      return failure();
  for (Operation *op : symbols)
    if (failed(lower(op)))
      return failure();
  // The remaining uses are about one device.
  for (auto function : module.getOps<FunctionOpInterface>())
    for (auto update : {updateArgAttrs, updateResultAttrs})
      update(function, [](unsigned, NamedAttrList &list) {
        list.erase(kShardingAttr);
        list.erase(kGlobalTypeAttr);
      });
  SmallVector<Attribute> lists;
  for (auto &[axes, number] : comms)
    lists.push_back(axes);
  module->setAttr(rt::kCommunicatorsAttr, rewriter.getArrayAttr(lists));
  module->setAttr(rt::kCollectivesAttr, rewriter.getArrayAttr(sites));
  return success();
}

namespace {
struct LowerCollectives
    : dist::impl::DistLowerCollectivesBase<LowerCollectives> {
  void runOnOperation() override {
    if (failed(Lowering(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
