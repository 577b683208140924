//===- BucketReductions.cpp - Small reductions are one call ---------------===//
//
// The minimum cost of a collective is paid once for all that are ready near one
// another. A sum of a concatenation adds the members' elements in the order of
// the ranks, as separate sums do: no bit changes.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/overlap/OverlapProblem.h"
#include "passes/overlap/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTBUCKETREDUCTIONS
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// A bucket is full if it takes so many times as long as an empty one.
static constexpr double kFull = 4;

namespace {
/// Reductions that one call can do, in their order; nothing between them needs
/// their results.
struct Bucket {
  SmallVector<AllReduceOp> members;
  /// Views of their results that stand between them, in their order.
  SmallVector<Operation *> views;
  int64_t elements = 0;
  double seconds = 0;
};

class BucketFinder {
public:
  BucketFinder(Block &block, MeshOp mesh, StepTimes &times)
      : block(block), mesh(mesh), times(times), builder(mesh.getContext()) {}

  /// Returns how many reductions are part of others now.
  unsigned run();

private:
  using Key = std::tuple<Attribute, Attribute, Attribute, Type>;

  void visit(AllReduceOp op);
  void closeWhatIsRead(Operation *op);
  void close(Bucket &bucket);
  bool isFree(Operation *op) {
    return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           times.getCost(op).time.getTotal() == 0;
  }
  double getSeconds(AllReduceOp like, int64_t elements);
  double getCopySeconds(int64_t elements, Type type);

  Block &block;
  MeshOp mesh;
  StepTimes &times;
  OpBuilder builder;
  llvm::MapVector<Key, Bucket> open;
  /// Members' results, and views of them.
  DenseMap<Value, Key> waiting;
  unsigned joined = 0;
};
} // namespace

static RankedTensorType getFlatType(Type element, int64_t elements) {
  return RankedTensorType::get({elements}, element);
}

/// A reduction of so many elements instead of those of `like`.
double BucketFinder::getSeconds(AllReduceOp like, int64_t elements) {
  OpBuilder apart(like.getContext());
  Type type = getFlatType(getElementTypeOrSelf(like.getType()), elements);
  OwningOpRef<Operation *> data =
      tensor::EmptyOp::create(apart, like.getLoc(), type, ValueRange())
          .getOperation();
  OwningOpRef<Operation *> whole =
      AllReduceOp::create(apart, like.getLoc(), type, (*data)->getResult(0),
                          like.getReductionAttr(), like.getAxes(),
                          like.getMeshAttr(), like.getCauseAttr())
          .getOperation();
  return times.getModel().getSeconds(cast<CollectiveOpInterface>(*whole));
}

/// The time of copying so much into a bucket and out again.
double BucketFinder::getCopySeconds(int64_t elements, Type type) {
  Work work;
  work.bytes = 4.0 * getTensorBytes(getFlatType(type, elements));
  return times.getModel().getComputeSeconds(work) +
         2 * times.getModel().getOpSeconds();
}

void BucketFinder::visit(AllReduceOp op) {
  RankedTensorType type = cast<RankedTensorType>(op.getType());
  if (!isTransfer(op) || !type.hasStaticShape() || type.getNumElements() == 0 ||
      getWish(op, mesh) != OverlapTask::None)
    return;
  int64_t elements = type.getNumElements();
  Type element = type.getElementType();
  double seconds = getSeconds(op, elements);
  double copy = getCopySeconds(elements, element);
  // Joined with another one it would save less than it costs.
  double least = getSeconds(op, 1);
  if (copy >= least)
    return;
  Key key(op.getAxes(), op.getMeshAttr(), op.getReductionAttr(), element);
  Bucket &bucket = open[key];
  if (!bucket.members.empty()) {
    double together = getSeconds(op, bucket.elements + elements);
    bool isFull = bucket.seconds >= kFull * least;
    if (isFull || bucket.seconds + seconds - together <= 2 * copy)
      close(bucket);
  }
  bucket.members.push_back(op);
  bucket.elements += elements;
  bucket.seconds = getSeconds(op, bucket.elements);
  waiting[op.getResult()] = key;
}

/// Buckets whose results the op needs are done before it; views of results wait
/// with them.
void BucketFinder::closeWhatIsRead(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      auto found = waiting.find(operand);
      if (found == waiting.end())
        continue;
      Key key = found->second;
      if (op->getNumOperands() != 1 || !isFree(op)) {
        close(open[key]);
        continue;
      }
      open[key].views.push_back(op);
      for (Value result : op->getResults())
        waiting[result] = key;
    }
  });
}

static SmallVector<ReassociationIndices> getAllDims(RankedTensorType type) {
  SmallVector<ReassociationIndices> dims;
  if (type.getRank() > 0)
    dims.emplace_back(llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  return dims;
}

static Value flatten(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  RankedTensorType flat =
      getFlatType(type.getElementType(), type.getNumElements());
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, loc, flat, value,
                                         getAllDims(type));
  return tensor::CollapseShapeOp::create(builder, loc, flat, value,
                                         getAllDims(type));
}

static Value unflatten(OpBuilder &builder, Location loc, Value flat,
                       RankedTensorType type) {
  if (type.getRank() == 1)
    return flat;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, loc, type, flat,
                                           getAllDims(type));
  return tensor::ExpandShapeOp::create(builder, loc, type, flat,
                                       getAllDims(type));
}

/// The modules that it is for, one after the other.
static StringAttr joinScopes(ArrayRef<AllReduceOp> members) {
  SmallVector<StringRef> names;
  for (AllReduceOp member : members)
    if (auto scope = member->getAttrOfType<StringAttr>(kScopeAttr))
      names.push_back(scope.getValue());
  if (names.empty())
    return {};
  // The module that all are in.
  StringRef common = names.front();
  for (StringRef name : names)
    while (!common.empty() && name != common &&
           !(name.starts_with(common) && name[common.size()] == '.'))
      common = common.contains('.') ? common.rsplit('.').first : "";
  return StringAttr::get(members.front()->getContext(), common);
}

/// Writes the members as one where the last one stands, and empties the bucket.
void BucketFinder::close(Bucket &bucket) {
  Bucket closed = std::exchange(bucket, Bucket());
  for (AllReduceOp member : closed.members)
    waiting.erase(member.getResult());
  for (Operation *view : closed.views)
    for (Value result : view->getResults())
      waiting.erase(result);
  if (closed.members.size() < 2)
    return;
  AllReduceOp first = closed.members.front(), last = closed.members.back();
  builder.setInsertionPoint(last);
  SmallVector<Location> locations;
  SmallVector<Value> parts;
  for (AllReduceOp member : closed.members) {
    locations.push_back(member.getLoc());
    parts.push_back(flatten(builder, member.getLoc(), member.getOperand()));
  }
  Location loc = builder.getFusedLoc(locations);
  Value joint = tensor::ConcatOp::create(builder, loc, 0, parts);
  auto sum = AllReduceOp::create(builder, loc, joint.getType(), joint,
                                 first.getReductionAttr(), first.getAxes(),
                                 first.getMeshAttr(), first.getCauseAttr());
  if (StringAttr scope = joinScopes(closed.members))
    sum->setAttr(kScopeAttr, scope);
  int64_t offset = 0;
  Operation *end = last;
  for (AllReduceOp member : closed.members) {
    auto type = cast<RankedTensorType>(member.getType());
    int64_t elements = type.getNumElements();
    Value part = tensor::ExtractSliceOp::create(
        builder, member.getLoc(), getFlatType(type.getElementType(), elements),
        sum.getResult(), ArrayRef<OpFoldResult>{builder.getIndexAttr(offset)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(elements)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
    member.getResult().replaceAllUsesWith(
        unflatten(builder, member.getLoc(), part, type));
    offset += elements;
  }
  for (Operation *view : closed.views) {
    view->moveAfter(end);
    end = view;
  }
  // Kernels that a call kept apart stay apart.
  for (AllReduceOp member : closed.members) {
    if (member != last) {
      builder.setInsertionPoint(member);
      FenceOp::create(builder, member.getLoc());
    }
    member.erase();
  }
  joined += closed.members.size();
}

unsigned BucketFinder::run() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    closeWhatIsRead(&op);
    if (auto reduction = dyn_cast<AllReduceOp>(op))
      visit(reduction);
  }
  for (auto &[key, bucket] : open)
    close(bucket);
  return joined;
}

namespace {
struct BucketReductions
    : mlir::dist::impl::DistBucketReductionsBase<BucketReductions> {
  using DistBucketReductionsBase::DistBucketReductionsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Machine> machine = loadMachine(
        module.getLoc(), "--dist-bucket-reductions", machineName, link);
    FailureOr<MeshOp> mesh = findProgramMesh(module);
    if (failed(machine) || failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    StepTimes times(module, *machine, *mesh);
    module.walk([&](Block *block) {
      if (block->getOps<AllReduceOp>().empty())
        return;
      unsigned joined = BucketFinder(*block, *mesh, times).run();
      if (report && joined > 0)
        emitRemark(block->getParentOp()->getLoc())
            << joined << " reductions are done in fewer calls";
    });
  }
};
} // namespace
