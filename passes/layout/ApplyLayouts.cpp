//===- ApplyLayouts.cpp - Tensors stored as was chosen --------------------===//

#include "passes/layout/ApplyLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/layout/DimOrders.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class Application {
public:
  Application(StoredValues &values, RewriterBase &rewriter)
      : values(values), rewriter(rewriter) {}

  void run();

private:
  /// The orders of an op of linalg's operands; empty: as their types say.
  using OperandOrders = SmallVector<DimOrder>;

  void generalize();
  void findUses();
  OperandOrders &ordersOf(Operation *op);
  void changeCarriers();
  void changeValue(size_t number);
  void changeLinalg(linalg::LinalgOp op, const OperandOrders &orders);
  void changeMaps(linalg::LinalgOp op, const OperandOrders &orders);
  void changeTranspose(linalg::TransposeOp op, const OperandOrders &orders);

  Value transpose(Value value, ArrayRef<int64_t> order, Operation *cause);
  /// A tensor without contents of its own, made again in another order.
  Value remake(Value value, ArrayRef<int64_t> order);

  StoredValues &values;
  RewriterBase &rewriter;
  llvm::MapVector<Operation *, OperandOrders> linalgOps;
  /// For each entry: the uses that take the tensor as it is stored, and those
  /// that take it as its type says.
  std::vector<std::pair<SmallVector<OpOperand *>, SmallVector<OpOperand *>>>
      uses;
};

} // namespace

/// Whether the op's indexing maps are attributes, or follow from its types.
static bool isChangeable(Operation *op) {
  return isa<linalg::GenericOp, linalg::ContractOp, linalg::FillOp,
             linalg::TransposeOp>(op);
}

/// Named ops that the orders concern become generics.
void Application::generalize() {
  llvm::SetVector<Operation *> named;
  for (const StoredValue &entry : values.entries) {
    if (isIdentityPermutation(entry.order))
      continue;
    for (Operation *user : entry.value.getUsers())
      if (isa<linalg::LinalgOp>(user) && !isChangeable(user))
        named.insert(user);
    Operation *op = entry.value.getDefiningOp();
    if (isa_and_present<linalg::LinalgOp>(op) && !isChangeable(op))
      named.insert(op);
  }
  for (Operation *op : named) {
    SmallVector<StoredValue *> made;
    for (Value result : op->getResults())
      made.push_back(values.find(result));
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(op));
    if (failed(generic))
      llvm::report_fatal_error("a named op of linalg has no general form");
    for (auto [entry, result] : llvm::zip_equal(made, generic->getResults()))
      if (entry)
        values.rename(*entry, result);
  }
}

Application::OperandOrders &Application::ordersOf(Operation *op) {
  OperandOrders &orders = linalgOps[op];
  orders.resize(op->getNumOperands());
  return orders;
}

void Application::findUses() {
  for (const StoredValue &entry : values.entries) {
    auto &[stored, plain] = uses.emplace_back();
    if (isIdentityPermutation(entry.order))
      continue;
    for (OpOperand &use : entry.value.getUses()) {
      bool isStored = takesStored(use, entry, values);
      (isStored ? stored : plain).push_back(&use);
      if (isStored && isa<linalg::LinalgOp>(use.getOwner()))
        ordersOf(use.getOwner())[use.getOperandNumber()] = entry.order;
    }
    auto made = entry.value.getDefiningOp<linalg::LinalgOp>();
    if (made && !entry.isCopied) {
      unsigned result = cast<OpResult>(entry.value).getResultNumber();
      OpOperand *init = made.getDpsInitOperand(result);
      ordersOf(made)[init->getOperandNumber()] = entry.order;
    }
  }
}

void Application::changeCarriers() {
  for (Operation *op : values.carriers)
    reorderCarrier(op, [&](Value value) -> ArrayRef<int64_t> {
      return values.find(value)->order;
    });
}

Value Application::transpose(Value value, ArrayRef<int64_t> order,
                             Operation *cause) {
  Location loc = cause->getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  Value init = tensor::EmptyOp::create(
      rewriter, loc, applyPermutation(sizes, order),
      cast<RankedTensorType>(value.getType()).getElementType());
  auto op = linalg::TransposeOp::create(rewriter, loc, value, init, order);
  op->setAttr(kPacksAttr,
              rewriter.getStringAttr(cause->getName().stripDialect()));
  if (Attribute scope = cause->getAttr(kScopeAttr))
    op->setAttr(kScopeAttr, scope);
  return op->getResult(0);
}

Value Application::remake(Value value, ArrayRef<int64_t> order) {
  Operation *op = value.getDefiningOp();
  RankedTensorType type =
      reorder(cast<RankedTensorType>(value.getType()), order);
  Operation *made;
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value init = remake(fill.getOutputs()[0], order);
    made = linalg::FillOp::create(rewriter, op->getLoc(), fill.getInputs(),
                                  ValueRange(init));
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    made = tensor::EmptyOp::create(
        rewriter, op->getLoc(), applyPermutation(empty.getMixedSizes(), order),
        type.getElementType(), type.getEncoding());
  } else {
    SplatElementsAttr splat;
    matchPattern(op, m_Constant(&splat));
    made = arith::ConstantOp::create(rewriter, op->getLoc(),
                                     splat.resizeSplat(type));
  }
  if (Attribute scope = op->getAttr(kScopeAttr))
    made->setAttr(kScopeAttr, scope);
  return made->getResult(0);
}

void Application::changeValue(size_t number) {
  const StoredValue &entry = values.entries[number];
  if (isIdentityPermutation(entry.order))
    return;
  auto &[stored, plain] = uses[number];
  Value value = entry.value;
  rewriter.setInsertionPointAfterValue(value);
  if (entry.isCopied) {
    Value copy = isRemade(value) ? remake(value, entry.order)
                                 : transpose(value, entry.order, entry.cause);
    for (OpOperand *use : stored)
      use->set(copy);
    return;
  }
  value.setType(reorder(cast<RankedTensorType>(value.getType()), entry.order));
  if (plain.empty())
    return;
  Value copy =
      transpose(value, invertPermutationVector(entry.order), entry.cause);
  for (OpOperand *use : plain)
    use->set(copy);
}

void Application::changeMaps(linalg::LinalgOp op, const OperandOrders &orders) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [map, order] : llvm::zip_equal(maps, orders))
    if (!order.empty())
      map = AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                           applyPermutation(map.getResults(), order),
                           map.getContext());
  ArrayAttr attr = rewriter.getAffineMapArrayAttr(maps);
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    generic.setIndexingMapsAttr(attr);
  else
    cast<linalg::ContractOp>(op.getOperation()).setIndexingMapsAttr(attr);
}

void Application::changeTranspose(linalg::TransposeOp op,
                                  const OperandOrders &orders) {
  SmallVector<int64_t> permutation(op.getPermutation());
  if (!orders[1].empty())
    applyPermutationToVector(permutation, orders[1]);
  if (!orders[0].empty()) {
    SmallVector<int64_t> places = invertPermutationVector(orders[0]);
    for (int64_t &dim : permutation)
      dim = places[dim];
  }
  op.setPermutation(permutation);
  if (isIdentityPermutation(permutation))
    rewriter.replaceOp(op, op.getInput());
}

void Application::changeLinalg(linalg::LinalgOp op,
                               const OperandOrders &orders) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    const DimOrder &order = orders[init.getOperandNumber()];
    if (order.empty() ||
        init.get().getType() == op.getTiedOpResult(&init).getType())
      continue;
    rewriter.setInsertionPoint(op);
    init.set(remake(init.get(), order));
  }
  if (isa<linalg::FillOp>(op))
    return;
  if (auto transposeOp = dyn_cast<linalg::TransposeOp>(op.getOperation()))
    changeTranspose(transposeOp, orders);
  else
    changeMaps(op, orders);
}

void Application::run() {
  generalize();
  findUses();
  changeCarriers();
  for (size_t number = 0; number < values.entries.size(); ++number)
    changeValue(number);
  for (auto &[op, orders] : linalgOps)
    changeLinalg(cast<linalg::LinalgOp>(op), orders);
}

void mlir::dist::applyLayouts(StoredValues &values, RewriterBase &rewriter) {
  Application(values, rewriter).run();
}
