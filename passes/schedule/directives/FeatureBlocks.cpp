//===- FeatureBlocks.cpp - Fused projections, taken apart -----------------===//
//
// Downwards from the contraction, blocks replace the whole. Upwards from its
// operands, slices are moved as near to the parameters as possible.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/directives/FeatureBlocks.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::dist;

/// Gives an op the scope of the one that it was made for.
static Value inherit(Operation *made, Operation *like) {
  if (Attribute scope = like->getAttr(kScopeAttr))
    made->setAttr(kScopeAttr, scope);
  return made->getResult(0);
}

/// The dimension of an operand that is `loop`; empty if there is no such
/// dimension, and -1 if the loop is only a part of one, or of several.
static std::optional<int64_t> findDim(AffineMap map, unsigned loop) {
  std::optional<int64_t> found;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (found || !isa<AffineDimExpr>(expr))
      return -1;
    found = dim;
  }
  return found;
}

/// The loop that a dimension of an operand is, if it is one by itself.
static std::optional<unsigned> findLoop(AffineMap map, int64_t dim) {
  auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim));
  if (!expr)
    return std::nullopt;
  return expr.getPosition();
}

/// Whether blocks of a loop of `op` can be computed apart.
static bool isDivisible(linalg::LinalgOp op, unsigned loop) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.hasIndexSemantics() ||
      op.getIteratorTypesArray()[loop] != utils::IteratorType::parallel)
    return false;
  for (OpOperand &operand : op->getOpOperands())
    if (findDim(op.getMatchingIndexingMap(&operand), loop) == -1)
      return false;
  return findDim(op.getMatchingIndexingMap(op.getDpsInitOperand(0)), loop)
      .has_value();
}

//===----------------------------------------------------------------------===//
// Blocks of what is read
//===----------------------------------------------------------------------===//

Value FeatureBlocks::makeSlice(Operation *like, Value whole, Range range) {
  Location loc = like->getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(*builder, loc, whole);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder->getIndexAttr(0)),
      strides(sizes.size(), builder->getIndexAttr(1));
  offsets[range.dim] = builder->getIndexAttr(range.offset);
  sizes[range.dim] = builder->getIndexAttr(range.size);
  auto slice = tensor::ExtractSliceOp::create(*builder, loc, whole, offsets,
                                              sizes, strides);
  if (origins.get(whole).root == whole &&
      origins.get(whole).kind == Origin::Parameter)
    parts[whole][range].push_back(slice);
  return inherit(slice, like);
}

/// A block of a destination; of a fill it is a fill.
Value FeatureBlocks::makeInit(Operation *like, Value init, Range range) {
  Operation *maker = init.getDefiningOp();
  if (auto empty = llvm::dyn_cast_or_null<tensor::EmptyOp>(maker)) {
    SmallVector<OpFoldResult> sizes = empty.getMixedSizes();
    sizes[range.dim] = builder->getIndexAttr(range.size);
    return inherit(tensor::EmptyOp::create(*builder, maker->getLoc(), sizes,
                                           empty.getType().getElementType()),
                   like);
  }
  if (auto fill = llvm::dyn_cast_or_null<linalg::FillOp>(maker)) {
    Value block = makeInit(like, fill.getOutputs()[0], range);
    return inherit(linalg::FillOp::create(*builder, maker->getLoc(),
                                          fill.getInputs(), block),
                   like);
  }
  return makeSlice(like, init, range);
}

/// A block of an operand. If it depends only on a parameter, it is computed
/// from a block of the parameter.
Value FeatureBlocks::makeBlock(Operation *like, Value whole, Range range) {
  auto maker = whole.getDefiningOp<linalg::LinalgOp>();
  if (!maker || origins.get(whole).kind != Origin::Parameter)
    return makeSlice(like, whole, range);
  OpOperand *init = maker.getDpsInitOperand(0);
  std::optional<unsigned> loop =
      findLoop(maker.getMatchingIndexingMap(init), range.dim);
  if (!loop || !isDivisible(maker, *loop))
    return makeSlice(like, whole, range);
  SmallVector<Value> operands;
  for (OpOperand &operand : maker->getOpOperands()) {
    std::optional<int64_t> dim =
        findDim(maker.getMatchingIndexingMap(&operand), *loop);
    if (!dim) {
      operands.push_back(operand.get());
      continue;
    }
    Range part{*dim, range.offset, range.size};
    operands.push_back(&operand == init ? makeInit(like, operand.get(), part)
                                        : makeBlock(like, operand.get(), part));
  }
  // Its users are erased first, since split ops come after their operands.
  replaced.insert(maker);
  return clone(*builder, maker, operands.back().getType(), operands)
      ->getResult(0);
}

/// `op` for each block of a loop.
FailureOr<FeatureBlocks::Blocks>
FeatureBlocks::splitLoop(linalg::LinalgOp op, unsigned loop,
                         ArrayRef<int64_t> sizes, Known known) {
  if (!isDivisible(op, loop))
    return failure();
  builder->setInsertionPoint(op);
  OpOperand *init = op.getDpsInitOperand(0);
  Blocks out{{}, {}, *findDim(op.getMatchingIndexingMap(init), loop)};
  int64_t offset = 0;
  for (auto [block, size] : llvm::enumerate(sizes)) {
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<int64_t> dim =
          findDim(op.getMatchingIndexingMap(&operand), loop);
      Range range{dim.value_or(0), offset, size};
      if (!dim)
        operands.push_back(operand.get());
      else if (operand.get() == known.whole && *dim == known.blocks->dim)
        operands.push_back(known.blocks->values[block]);
      else if (&operand == init)
        operands.push_back(makeInit(op, operand.get(), range));
      else
        operands.push_back(makeBlock(op, operand.get(), range));
    }
    out.values.push_back(
        clone(*builder, op, operands.back().getType(), operands)->getResult(0));
    out.sizes.push_back(size);
    offset += size;
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Blocks of what is made
//===----------------------------------------------------------------------===//

/// Sizes of blocks, each of so many times as many elements.
static SmallVector<int64_t, 4> multiply(ArrayRef<int64_t> sizes,
                                        int64_t factor) {
  return llvm::map_to_vector<4>(sizes,
                                [&](int64_t size) { return size * factor; });
}

/// Of the dimensions of a group of an expansion or collapse: the major one that
/// is not 1, and the size of those after it. Empty if that is unknown.
static std::optional<std::pair<int64_t, int64_t>>
findMajor(RankedTensorType type, ArrayRef<int64_t> group) {
  size_t first = 0;
  while (first + 1 < group.size() && type.getDimSize(group[first]) == 1)
    ++first;
  int64_t inner = 1;
  for (int64_t dim : group.drop_front(first + 1)) {
    if (type.isDynamicDim(dim))
      return std::nullopt;
    inner *= type.getDimSize(dim);
  }
  if (type.isDynamicDim(group[first]) || inner == 0)
    return std::nullopt;
  return std::pair(group[first], inner);
}

FailureOr<FeatureBlocks::Blocks>
FeatureBlocks::splitExpand(tensor::ExpandShapeOp op, const Blocks &blocks) {
  SmallVector<ReassociationIndices, 4> groups = op.getReassociationIndices();
  RankedTensorType type = op.getResultType();
  auto major = findMajor(type, groups[blocks.dim]);
  if (!major)
    return failure();
  auto [dim, inner] = *major;
  for (int64_t size : blocks.sizes)
    if (size % inner != 0)
      return failure();
  Blocks out{{}, {}, dim};
  builder->setInsertionPoint(op);
  for (auto [value, size] : llvm::zip_equal(blocks.values, blocks.sizes)) {
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    shape[dim] = size / inner;
    sizes[dim] = builder->getIndexAttr(size / inner);
    out.values.push_back(inherit(
        tensor::ExpandShapeOp::create(*builder, op.getLoc(), type.clone(shape),
                                      value, groups, sizes),
        op));
    out.sizes.push_back(size / inner);
  }
  return out;
}

FailureOr<FeatureBlocks::Blocks>
FeatureBlocks::splitCollapse(tensor::CollapseShapeOp op, const Blocks &blocks) {
  SmallVector<ReassociationIndices, 4> groups = op.getReassociationIndices();
  auto *group = llvm::find_if(groups, [&](ArrayRef<int64_t> dims) {
    return llvm::is_contained(dims, blocks.dim);
  });
  auto major = findMajor(op.getSrcType(), *group);
  if (!major || major->first != blocks.dim)
    return failure();
  Blocks out{{}, multiply(blocks.sizes, major->second), group - groups.begin()};
  builder->setInsertionPoint(op);
  for (auto [value, size] : llvm::zip_equal(blocks.values, out.sizes)) {
    SmallVector<int64_t> shape(op.getResultType().getShape());
    shape[out.dim] = size;
    out.values.push_back(
        inherit(tensor::CollapseShapeOp::create(*builder, op.getLoc(),
                                                op.getResultType().clone(shape),
                                                value, groups),
                op));
  }
  return out;
}

/// A slice within one block is a slice of that block.
bool FeatureBlocks::takeSlice(tensor::ExtractSliceOp slice,
                              const Blocks &blocks) {
  int64_t dim = blocks.dim, offset = slice.getStaticOffsets()[dim],
          size = slice.getStaticSizes()[dim], start = 0;
  if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
      slice.getStaticStrides()[dim] != 1)
    return false;
  for (auto [value, length] : llvm::zip_equal(blocks.values, blocks.sizes)) {
    if (offset >= start && offset + size <= start + length) {
      SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
      offsets[dim] = builder->getIndexAttr(offset - start);
      builder->setInsertionPoint(slice);
      Value made = value;
      // All of the block is the block; of sizes that are not known nothing is.
      if (slice.getType() != value.getType() ||
          !slice.getType().hasStaticShape() ||
          !llvm::all_of(offsets, isZeroInteger))
        made = inherit(tensor::ExtractSliceOp::create(
                           *builder, slice.getLoc(), slice.getType(), value,
                           offsets, slice.getMixedSizes(),
                           slice.getMixedStrides()),
                       slice);
      slice.getResult().replaceAllUsesWith(made);
      replaced.insert(slice);
      return true;
    }
    start += length;
  }
  return false;
}

/// The result of a user of a value, by blocks.
FailureOr<FeatureBlocks::Blocks>
FeatureBlocks::splitUser(OpOperand &use, const Blocks &blocks) {
  Operation *user = use.getOwner();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
    return splitExpand(expand, blocks);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(user))
    return splitCollapse(collapse, blocks);
  auto structured = dyn_cast<linalg::LinalgOp>(user);
  if (!structured || structured.isDpsInit(&use) ||
      structured.getNumParallelLoops() != structured.getNumLoops())
    return failure();
  std::optional<unsigned> loop =
      findLoop(structured.getMatchingIndexingMap(&use), blocks.dim);
  if (!loop)
    return failure();
  return splitLoop(structured, *loop, blocks.sizes, {use.get(), &blocks});
}

/// Lets the readers of a value read its blocks.
void FeatureBlocks::sink(Value whole, const Blocks &blocks) {
  SmallVector<std::pair<Value, Blocks>> pending{{whole, blocks}};
  while (!pending.empty()) {
    auto [value, ofValue] = pending.pop_back_val();
    if (Operation *maker = value.getDefiningOp())
      replaced.insert(maker);
    Value joined;
    llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
    for (Operation *user : users) {
      if (replaced.contains(user))
        continue;
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user))
        if (takeSlice(slice, ofValue))
          continue;
      OpOperand *use = nullptr;
      for (OpOperand &operand : user->getOpOperands())
        if (operand.get() == value && !use)
          use = &operand;
      FailureOr<Blocks> next = splitUser(*use, ofValue);
      if (succeeded(next)) {
        replaced.insert(user);
        pending.emplace_back(user->getResult(0), std::move(*next));
        continue;
      }
      if (!joined) {
        builder->setInsertionPointAfterValue(value);
        joined = inherit(tensor::ConcatOp::create(*builder, value.getLoc(),
                                                  ofValue.dim, ofValue.values),
                         value.getDefiningOp());
      }
      user->replaceUsesOfWith(value, joined);
    }
  }
}

LogicalResult FeatureBlocks::split(Operation *directive,
                                   const FeatureContraction &contraction,
                                   ArrayRef<int64_t> proportion) {
  auto fail = [&]() -> InFlightDiagnostic {
    InFlightDiagnostic diagnostic = emitError(directive->getLoc());
    diagnostic.attachNote(contraction.op->getLoc()) << "at this contraction";
    return diagnostic;
  };
  auto op = dyn_cast<linalg::LinalgOp>(contraction.op);
  std::optional<unsigned> loop;
  int64_t features = 1;
  for (unsigned i = 0, e = op ? op.getNumLoops() : 0; i < e; ++i) {
    auto has = [&](OpOperand *operand) {
      return findDim(op.getMatchingIndexingMap(operand), i).has_value();
    };
    int64_t size = op.getStaticLoopRanges()[i];
    if (size == 1 || !has(contraction.parameter) ||
        !has(op.getDpsInitOperand(0)) || has(contraction.activation))
      continue;
    if (loop || !isDivisible(op, i))
      return fail() << "the output features are not one dimension that can be "
                       "taken apart";
    loop = i;
    features = size;
  }
  int64_t sum = 0;
  for (int64_t size : proportion)
    sum += size;
  if (!loop || ShapedType::isDynamic(features) || features % sum != 0)
    return fail() << "groups [" << llvm::interleaved(proportion) << "] are "
                  << sum << " in all, which "
                  << (loop ? "do not divide the " + std::to_string(features) +
                                 " output features"
                           : std::string("no output features are there for"));
  SmallVector<int64_t> sizes(multiply(proportion, features / sum));
  auto [entry, isNew] = done.try_emplace(op, Done{directive, sizes});
  if (!isNew) {
    if (entry->second.sizes == sizes)
      return success();
    InFlightDiagnostic diagnostic =
        fail() << "takes the " << features << " output features apart as ["
               << llvm::interleaved(sizes) << "], but they are taken apart as ["
               << llvm::interleaved(entry->second.sizes) << "] already";
    diagnostic.attachNote(entry->second.directive->getLoc()) << "by this";
    return diagnostic;
  }
  auto parameter =
      cast<BlockArgument>(origins.get(contraction.parameter->get()).root);
  Operation *function = parameter.getOwner()->getParentOp();
  if (contraction.parameter->get() == parameter)
    if (auto dim = findDim(op.getMatchingIndexingMap(contraction.parameter),
                           *loop)) {
      auto [other, isFirst] = divided.try_emplace(
          std::pair(Value(parameter), *dim), Done{directive, sizes});
      if (!isFirst && other->second.sizes != sizes) {
        auto name = cast<FunctionOpInterface>(function)
                        .getArgAttrOfType<StringAttr>(parameter.getArgNumber(),
                                                      kParameterAttr);
        InFlightDiagnostic diagnostic =
            fail() << "takes parameter "
                   << (name ? "\"" + name.getValue().str() + "\"" : "")
                   << " apart as [" << llvm::interleaved(sizes)
                   << "], but another module reads it as ["
                   << llvm::interleaved(other->second.sizes)
                   << "]; give both the same groups, or leave one of them out";
        diagnostic.attachNote(other->second.directive->getLoc())
            << "the other directive";
        return diagnostic;
      }
    }
  functions.try_emplace(function, directive);
  builder.emplace(op);
  FailureOr<Blocks> blocks = splitLoop(op, *loop, sizes, {Value(), nullptr});
  assert(succeeded(blocks) && "the loop was found to be divisible");
  sink(op->getResult(0), *blocks);
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The dimension that the ranges divide, if each element is in one of them.
/// They are in the order of their offsets, dimension by dimension.
static std::optional<int64_t>
findDividedDim(RankedTensorType type, ArrayRef<FeatureBlocks::Range> ranges) {
  int64_t dim = ranges.front().dim, end = 0;
  for (FeatureBlocks::Range range : ranges) {
    if (range.dim != dim || range.offset != end)
      return std::nullopt;
    end += range.size;
  }
  if (end != type.getDimSize(dim))
    return std::nullopt;
  return dim;
}

LogicalResult FeatureBlocks::addArguments(FunctionOpInterface function) {
  MLIRContext *context = function.getContext();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Location> locations;
  SmallVector<ArrayRef<Operation *>> slices;
  /// A parameter, the dimension that its parts divide, and how many they are.
  struct Divided {
    unsigned argument;
    int64_t dim;
    size_t count;
  };
  SmallVector<Divided> divided;
  SmallVector<DictionaryAttr> before;
  function.getAllArgAttrs(before);
  before.resize(function.getNumArguments(), DictionaryAttr::get(context));
  for (auto &[value, made] : parts) {
    auto argument = cast<BlockArgument>(value);
    if (argument.getOwner()->getParentOp() != function)
      continue;
    unsigned number = argument.getArgNumber();
    if (before[number] && before[number].contains(kShardingAttr))
      return emitError(functions.lookup(function)->getLoc())
             << "parameter \""
             << before[number].getAs<StringAttr>(kParameterAttr).getValue()
             << "\" has a sharding already, so that it cannot be taken apart";
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<Range> ranges = llvm::to_vector(llvm::make_first_range(made));
    std::optional<int64_t> dim = findDividedDim(type, ranges);
    // A tensor that is updated stays whole, and so does one that different
    // readers take apart in different ways: parts with common elements would
    // be trained to differ.
    if (!dim || !type.hasStaticShape() ||
        (before[number] && before[number].contains(kUpdatedAttr)))
      continue;
    divided.push_back({number, *dim, ranges.size()});
    for (auto &[range, ofRange] : made) {
      SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank());
      NamedAttrList list(before[number]);
      SmallVector<int64_t> whole(shape);
      if (auto part = llvm::dyn_cast_or_null<PartAttr>(list.get(kPartAttr))) {
        offsets.assign(part.getOffsets().begin(), part.getOffsets().end());
        whole.assign(part.getShape().begin(), part.getShape().end());
      }
      shape[range.dim] = range.size;
      offsets[range.dim] += range.offset;
      list.set(kPartAttr, PartAttr::get(context, offsets, whole));
      types.push_back(type.clone(shape));
      attrs.push_back(list.getDictionary(context));
      locations.push_back(argument.getLoc());
      slices.push_back(ofRange);
    }
  }
  unsigned first = function.getNumArguments();
  SmallVector<unsigned> places(types.size(), first);
  if (failed(function.insertArguments(places, types, attrs, locations)))
    return failure();
  for (auto [number, made] : llvm::enumerate(slices))
    for (Operation *slice : made) {
      slice->getResult(0).replaceAllUsesWith(
          function.getArgument(first + number));
      slice->erase();
    }
  // Who reads the whole reads all parts, so that each element is in one
  // argument.
  llvm::BitVector unread(function.getNumArguments());
  auto atEntry = OpBuilder::atBlockBegin(&function.getFunctionBody().front());
  for (auto [number, dim, count] : divided) {
    BlockArgument whole = function.getArgument(number);
    if (!whole.use_empty())
      whole.replaceAllUsesWith(tensor::ConcatOp::create(
          atEntry, whole.getLoc(), whole.getType(), dim,
          ValueRange(function.getArguments().slice(first, count))));
    first += count;
    unread.set(number);
  }
  return eraseArguments(function, unread);
}

LogicalResult FeatureBlocks::finish() {
  // In the opposite order of their making none has a user that is left.
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
  for (auto [op, directive] : functions) {
    auto function = cast<FunctionOpInterface>(op);
    if (!SymbolTable::symbolKnownUseEmpty(function, op->getParentOp()))
      return emitError(directive->getLoc())
             << "takes parameters of @" << function.getName()
             << " apart, which is called; only a program's own parameters can "
                "be";
    if (failed(addArguments(function)))
      return failure();
  }
  return success();
}
