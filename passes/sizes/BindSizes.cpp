//===- BindSizes.cpp - Sizes that only running tells become known ---------===//
//
// From the arguments on, in program order: sizes computed of sizes become
// constants, types of results follow from those of operands.
//
//===----------------------------------------------------------------------===//

#include "passes/sizes/BindSizes.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/NameList.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/FoldUtils.h"
#include "passes/sizes/Passes.h"
#include "passes/sizes/ResultSizes.h"
#include "passes/sizes/SizeBindings.h"
#include "passes/sizes/StaticBounds.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class Binder {
public:
  explicit Binder(ModuleOp module)
      : module(module), symbols(module), folder(module.getContext()) {}

  LogicalResult run(ArrayRef<SizeBinding> bindings);

private:
  /// The arithmetic of the mesh of `sharding`; null if there is no sharding.
  const MeshLayout *getLayout(ShardingAttr sharding);
  /// Writes the type of the tensor of which an argument or result is a part.
  void updateWhole(NamedAttrList &list, Type part);
  LogicalResult bindArgument(FunctionOpInterface function, unsigned number,
                             ArrayRef<SizeBinding> bindings);
  /// Whether nothing was missing; all that was is named at once.
  LogicalResult checkMissing(FunctionOpInterface function);
  LogicalResult visitFunction(FunctionOpInterface function);
  LogicalResult visitBlock(Block &block);
  LogicalResult visitOp(Operation *op);
  /// Sets the types of the op's results, and of what is in its regions.
  LogicalResult setTypesOf(Operation *op);
  LogicalResult visitFor(scf::ForOp loop);
  LogicalResult visitWhile(scf::WhileOp loop);
  LogicalResult visitIf(scf::IfOp branch);
  LogicalResult visitCall(func::CallOp call);
  void noteCompared(arith::CmpIOp compare);
  LogicalResult visitAssert(cf::AssertOp check);
  /// Whether passed values have the types of their targets.
  LogicalResult checkTypes(Operation *op, TypeRange given, TypeRange wanted,
                           StringRef what);

  ModuleOp module;
  SymbolTable symbols;
  OperationFolder folder;
  /// The two sizes for which an assert does not hold.
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> compared;
  llvm::DenseMap<Attribute, std::unique_ptr<MeshLayout>> layouts;
  /// Sizes by the names that dimensions have.
  llvm::StringMap<int64_t> sizeOfName;
  /// Dimensions of arguments with unknown size, and what tells it.
  std::vector<std::pair<std::string, std::string>> missing;
  /// Functions as they are for certain types of arguments.
  llvm::MapVector<std::pair<Operation *, Type>, func::FuncOp> copies;
  llvm::SmallPtrSet<Operation *, 4> active;
};
} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

const MeshLayout *Binder::getLayout(ShardingAttr sharding) {
  if (!sharding)
    return nullptr;
  std::unique_ptr<MeshLayout> &layout = layouts[sharding.getMesh()];
  if (!layout)
    if (auto mesh = symbols.lookup<MeshOp>(sharding.getMesh().getValue()))
      layout = std::make_unique<MeshLayout>(mesh);
  return layout.get();
}

LogicalResult Binder::bindArgument(FunctionOpInterface function,
                                   unsigned number,
                                   ArrayRef<SizeBinding> bindings) {
  std::string name = getArgumentName(function, number);
  RankedTensorType whole = getWholeType(function, number);
  if (!whole && isa<TensorType>(function.getArgument(number).getType()))
    return function.emitError()
           << "argument '" << name << "' is a tensor of unknown rank";
  if (!whole)
    return success();
  SmallVector<int64_t> shape(whole.getShape());
  SmallVector<StringRef> called = getDimensionNames(function, number);
  for (auto [size, known] : llvm::zip(shape, called))
    if (ShapedType::isDynamic(size) && sizeOfName.contains(known))
      size = sizeOfName.lookup(known);
  for (const SizeBinding &binding : bindings) {
    if (binding.argument != name || binding.dim < 0)
      continue;
    if (binding.dim >= whole.getRank())
      return function.emitError()
             << "argument '" << name << "' of type " << whole
             << " has no dimension " << binding.dim;
    int64_t &size = shape[binding.dim];
    if (!ShapedType::isDynamic(size) && size != binding.size)
      return function.emitError()
             << "dimension " << binding.dim << " of argument '" << name
             << "' is of size " << size << ", not " << binding.size;
    size = binding.size;
  }
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(size))
      continue;
    std::string place, at = std::to_string(dim);
    llvm::raw_string_ostream(place) << "dimension " << at << " of argument '"
                                    << name << "', of type '" << whole << "'";
    bool hasName = !called.empty() && !called[dim].empty();
    missing.push_back(
        {place, hasName ? called[dim].str() : name + "[" + at + "]"});
  }
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return success();
  RankedTensorType bound = whole.clone(shape);
  BlockArgument argument = function.getArgument(number);
  if (!function.getArgAttr(number, kGlobalTypeAttr)) {
    argument.setType(bound);
    return success();
  }
  auto sharding =
      function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
  const MeshLayout *layout = getLayout(sharding);
  for (auto [dim, size] : llvm::enumerate(shape))
    if (whole.isDynamicDim(dim) && layout &&
        !layout->isEven(sharding.getDims()[dim], size))
      return function.emitError()
             << "dimension " << dim << " of argument '" << name
             << "' is of size " << size << ", which "
             << layout->size(sharding.getDims()[dim].getAllAxes())
             << " devices do not divide; the program of one device takes "
                "multiples of them only (a module of level 0 to 2 takes any)";
  function.setArgAttr(number, kGlobalTypeAttr, TypeAttr::get(bound));
  argument.setType(layout ? layout->localType(bound, sharding) : bound);
  return success();
}

LogicalResult Binder::checkMissing(FunctionOpInterface function) {
  if (missing.empty())
    return success();
  std::string places, remedies;
  llvm::StringSet<> asked;
  for (const auto &[place, remedy] : missing) {
    places += (places.empty() ? "" : ", of ") + place;
    if (asked.insert(remedy).second)
      remedies += " --bind " + remedy + "=8";
  }
  bool isOne = missing.size() == 1;
  return function.emitError()
         << "the size" << (isOne ? "" : "s") << " of " << places
         << (isOne ? ", is" : ", are") << " not known; give "
         << (isOne ? "it" : "them") << ", as in" << remedies;
}

/// The type of the whole tensor of whose parts one is of type `part`.
static RankedTensorType getWhole(RankedTensorType whole, RankedTensorType part,
                                 ShardingAttr sharding,
                                 const MeshLayout &layout) {
  SmallVector<int64_t> shape(whole.getShape());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size))
      size = multiplySizes(part.getDimSize(dim),
                           layout.size(sharding.getDims()[dim].getAllAxes()));
  return whole.clone(shape);
}

void Binder::updateWhole(NamedAttrList &list, Type part) {
  auto whole = dyn_cast_or_null<TypeAttr>(list.get(kGlobalTypeAttr));
  auto sharding = dyn_cast_or_null<ShardingAttr>(list.get(kShardingAttr));
  const MeshLayout *layout = getLayout(sharding);
  if (whole && layout)
    list.set(kGlobalTypeAttr,
             TypeAttr::get(getWhole(cast<RankedTensorType>(whole.getValue()),
                                    cast<RankedTensorType>(part), sharding,
                                    *layout)));
}

LogicalResult Binder::visitFunction(FunctionOpInterface function) {
  if (!function.getFunctionBody().hasOneBlock())
    return function.emitError()
           << "has " << function.getFunctionBody().getBlocks().size()
           << " blocks; use scf for control flow";
  Block &body = function.getFunctionBody().front();
  active.insert(function);
  if (failed(visitBlock(body)))
    return failure();
  active.erase(function);
  TypeRange results = body.getTerminator()->getOperandTypes();
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    updateWhole(list, results[number]);
  });
  function.setType(
      FunctionType::get(module.getContext(), body.getArgumentTypes(), results));
  return success();
}

LogicalResult Binder::visitCall(func::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.getArgumentTypes() == call.getOperandTypes())
    return success();
  if (callee.isExternal())
    return call.emitOpError() << "calls a function without a body, whose sizes "
                                 "cannot become known";
  auto types = FunctionType::get(module.getContext(), call.getOperandTypes(),
                                 TypeRange());
  func::FuncOp copy = copies.lookup({callee, types});
  if (!copy) {
    copy = callee.clone();
    copy.setPrivate();
    symbols.insert(copy, std::next(callee->getIterator()));
    copies[{callee, types}] = copy;
    updateArgAttrs(copy, [&](unsigned number, NamedAttrList &list) {
      updateWhole(list, call.getOperandTypes()[number]);
    });
    for (auto [argument, type] :
         llvm::zip_equal(copy.getArguments(), call.getOperandTypes()))
      argument.setType(type);
    if (failed(visitFunction(copy)))
      return failure();
  }
  if (active.contains(copy))
    return call.emitOpError() << "calls a function from within itself: its "
                                 "sizes do not follow from its arguments'";
  call.setCallee(copy.getSymName());
  for (auto [result, type] :
       llvm::zip_equal(call.getResults(), copy.getResultTypes()))
    result.setType(type);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

static void setTypes(ValueRange values, TypeRange types) {
  for (auto [value, type] : llvm::zip_equal(values, types))
    value.setType(type);
}

LogicalResult Binder::checkTypes(Operation *op, TypeRange given,
                                 TypeRange wanted, StringRef what) {
  for (auto [number, types] : llvm::enumerate(llvm::zip_equal(given, wanted)))
    if (auto [have, want] = types; have != want)
      return op->emitOpError()
             << what << " " << number << " as " << want << " and hands on "
             << have << ": a size that changes on the way cannot become known";
  return success();
}

LogicalResult Binder::visitFor(scf::ForOp loop) {
  TypeRange types = loop.getInitArgs().getTypes();
  setTypes(loop.getRegionIterArgs(), types);
  if (failed(visitBlock(*loop.getBody())) ||
      failed(checkTypes(loop, loop.getYieldedValues().getTypes(), types,
                        "begins with value")))
    return failure();
  setTypes(loop.getResults(), types);
  return success();
}

LogicalResult Binder::visitWhile(scf::WhileOp loop) {
  TypeRange types = loop.getInits().getTypes();
  setTypes(loop.getBeforeArguments(), types);
  if (failed(visitBlock(*loop.getBeforeBody())))
    return failure();
  TypeRange handed = loop.getConditionOp().getArgs().getTypes();
  setTypes(loop.getAfterArguments(), handed);
  setTypes(loop.getResults(), handed);
  if (failed(visitBlock(*loop.getAfterBody())))
    return failure();
  return checkTypes(loop, loop.getYieldOp().getOperandTypes(), types,
                    "begins with value");
}

LogicalResult Binder::visitIf(scf::IfOp branch) {
  if (failed(visitBlock(*branch.thenBlock())))
    return failure();
  if (!branch.elseBlock())
    return success();
  if (failed(visitBlock(*branch.elseBlock())) ||
      failed(checkTypes(branch, branch.elseYield().getOperandTypes(),
                        branch.thenYield().getOperandTypes(),
                        "on one side yields value")))
    return failure();
  setTypes(branch.getResults(), branch.thenYield().getOperandTypes());
  return success();
}

/// The sizes that an assert compares, before they are folded into a condition
/// that does not hold.
void Binder::noteCompared(arith::CmpIOp compare) {
  std::optional<int64_t> lhs = getConstantIntValue(compare.getLhs());
  std::optional<int64_t> rhs = getConstantIntValue(compare.getRhs());
  if (!lhs || !rhs)
    return;
  auto width = getElementTypeOrSelf(compare.getLhs()).isIndex()
                   ? 64
                   : compare.getLhs().getType().getIntOrFloatBitWidth();
  if (arith::applyCmpPredicate(compare.getPredicate(),
                               llvm::APInt(width, *lhs, true, true),
                               llvm::APInt(width, *rhs, true, true)))
    return;
  SmallVector<Operation *> users(compare->getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (isa<cf::AssertOp>(user))
      compared.try_emplace(user, *lhs, *rhs);
    else if (isa<arith::AndIOp>(user))
      llvm::append_range(users, user->getUsers());
  }
}

/// A condition on sizes alone is now true or false.
LogicalResult Binder::visitAssert(cf::AssertOp check) {
  std::optional<int64_t> holds = getConstantIntValue(check.getArg());
  if (!holds)
    return success();
  if (*holds == 0) {
    InFlightDiagnostic error = check.emitError() << check.getMsg();
    if (auto sizes = compared.find(check); sizes != compared.end())
      error << " (here " << sizes->second.first << " and "
            << sizes->second.second << ")";
    return error;
  }
  check.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Whether `op` computes with sizes and indices, or makes a tensor or a number
/// of them, but not with elements.
static bool isScalarCode(Operation *op) {
  if (isa<tensor::FromElementsOp>(op))
    return true;
  if (auto number = dyn_cast<arith::SIToFPOp>(op))
    return isa<FloatType>(number.getType());
  return op->getNumRegions() == 0 && op->getNumResults() > 0 &&
         (isa<tensor::DimOp>(op) ||
          llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>)) &&
         llvm::all_of(op->getResultTypes(),
                      llvm::IsaPred<IndexType, IntegerType>);
}

/// The op with known sizes: a cast does nothing any more, slices of nothing are
/// not legal.
static Value getSimpler(Operation *op) {
  if (isa<tensor::CastOp>(op))
    return op->getOperand(0);
  auto isEmpty = [](RankedTensorType type) {
    return llvm::is_contained(type.getShape(), 0);
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    if (isEmpty(slice.getType()) && slice.getType().hasStaticShape()) {
      OpBuilder b(op);
      return tensor::EmptyOp::create(b, op->getLoc(),
                                     slice.getType().getShape(),
                                     slice.getType().getElementType());
    }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    if (isEmpty(insert.getSourceType()))
      return insert.getDest();
  return {};
}

/// The sizes that the program states of the results are those that follow. A
/// cast in a branch or a loop may be there for other sizes, and never run: that
/// it runs is a failed check.
static LogicalResult checkStated(Operation *op, TypeRange stated) {
  for (auto [result, type] : llvm::zip_equal(op->getResults(), stated)) {
    auto want = dyn_cast<RankedTensorType>(type),
         have = dyn_cast<RankedTensorType>(result.getType());
    if (!want || !have || succeeded(verifyCompatibleShape(want, have)))
      continue;
    std::string message;
    llvm::raw_string_ostream(message)
        << "makes '" << want << "' of what is '" << have << "'";
    if (runsAlways(op) || !isa<tensor::CastOp>(op) ||
        want.getRank() != have.getRank())
      return op->emitOpError(message);
    SmallVector<int64_t> shape(want.getShape());
    for (auto [size, known] : llvm::zip_equal(shape, have.getShape()))
      if (ShapedType::isDynamic(size))
        size = known;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value never = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    cf::AssertOp::create(b, loc, never, ("tensor.cast " + message));
    op->setOperand(
        0, tensor::EmptyOp::create(b, loc, shape, want.getElementType()));
    result.setType(want.clone(shape));
  }
  return success();
}

LogicalResult Binder::setTypesOf(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (auto call = dyn_cast<func::CallOp>(op))
    return visitCall(call);
  if (failed(setResultSizes(op)))
    return failure();
  // What a body computes for an element may be of tensors, too.
  bool hasTensors =
      op->walk([&](Operation *inner) {
          return inner != op && llvm::any_of(inner->getResultTypes(),
                                             llvm::IsaPred<TensorType>)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        }).wasInterrupted();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (hasTensors && failed(visitBlock(block)))
        return failure();
  return success();
}

LogicalResult Binder::visitOp(Operation *op) {
  if (isScalarCode(op)) {
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      noteCompared(compare);
    // A value that is not constant yet stays.
    (void)folder.tryToFold(op);
    return success();
  }
  if (auto check = dyn_cast<cf::AssertOp>(op))
    return visitAssert(check);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  SmallVector<Type> stated(op->getResultTypes());
  if (failed(setTypesOf(op)) || failed(checkStated(op, stated)))
    return failure();
  if (Value simpler = getSimpler(op)) {
    op->getResult(0).replaceAllUsesWith(simpler);
    op->erase();
  }
  return success();
}

LogicalResult Binder::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visitOp(&op)))
      return failure();
  return success();
}

LogicalResult Binder::run(ArrayRef<SizeBinding> bindings) {
  FailureOr<FunctionOpInterface> found = findEntryFunction(module);
  if (failed(found))
    return failure();
  FunctionOpInterface entry = *found;
  SmallVector<std::string> names;
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
    names.push_back(getArgumentName(entry, i));
  for (const SizeBinding &binding : bindings)
    if (binding.dim >= 0 && !llvm::is_contained(names, binding.argument))
      return entry.emitError() << "has no argument '" << binding.argument
                               << "'; its arguments are: " << listNames(names);
  FailureOr<llvm::StringMap<int64_t>> named = findNamedSizes(entry, bindings);
  if (failed(named))
    return failure();
  sizeOfName = std::move(*named);
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
    if (failed(bindArgument(entry, i, bindings)))
      return failure();
  if (failed(checkMissing(entry)))
    return failure();
  if (failed(visitFunction(entry)))
    return failure();
  // The only copy of a function that nobody calls any more takes its name.
  llvm::MapVector<func::FuncOp, SmallVector<func::FuncOp, 1>> replaced;
  for (auto &[key, copy] : copies)
    replaced[cast<func::FuncOp>(key.first)].push_back(copy);
  for (auto &[original, made] : replaced) {
    if (!original.isPrivate() ||
        !SymbolTable::symbolKnownUseEmpty(original, module))
      continue;
    StringAttr name = original.getSymNameAttr();
    symbols.erase(original);
    if (made.size() == 1 && failed(symbols.rename(made.front(), name)))
      return failure();
  }
  return success();
}

bool mlir::dist::hasUnknownSizes(ModuleOp module) {
  return module
      .walk<WalkOrder::PreOrder>([](Operation *op) {
        bool isUnknown = llvm::any_of(op->getResultTypes(), hasUnknownSize);
        for (Region &region : op->getRegions())
          for (Block &block : region)
            isUnknown |= llvm::any_of(block.getArgumentTypes(), hasUnknownSize);
        return isUnknown ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult mlir::dist::bindSizes(ModuleOp module,
                                    ArrayRef<SizeBinding> bindings) {
  // Operands may not fit each other any more. Of slices MLIR's verifier speaks,
  // too, in fewer words.
  return failure(failed(Binder(module).run(bindings)) ||
                 failed(checkStaticBounds(module)) || failed(verify(module)));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace mlir::dist {
#define GEN_PASS_DEF_BINDSIZESPASS
#include "passes/sizes/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct BindSizesPass : mlir::dist::impl::BindSizesPassBase<BindSizesPass> {
  using BindSizesPassBase::BindSizesPassBase;
  void runOnOperation() override {
    FailureOr<std::vector<SizeBinding>> bindings =
        parseBindings(sizes, [&](const Twine &message) {
          getOperation().emitError() << "sizes=" << message;
        });
    if (failed(bindings) || failed(bindSizes(getOperation(), *bindings)))
      signalPassFailure();
  }
};
} // namespace
