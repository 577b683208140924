//===- RandomStreams.cpp - Random numbers of devices' own streams ---------===//
//
// An index of a sharded dimension is a number with digits: the device's
// coordinate on each axis, and the element of its block. The digits of axes
// with streams select the stream; the others select the number in it.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/RandomStreams.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

namespace {
/// A place in a tensor, as a number of a stream.
class Numbers {
public:
  Numbers(OpBuilder &builder, Location loc, const MeshLayout &layout,
          ArrayAttr axes)
      : builder(builder), loc(loc), layout(layout), axes(getAxisRefs(axes)) {}

  struct Number {
    Value value;
    int64_t size = 1;
  };

  /// Appends to `number`, in minor digits, those of an index into a dimension
  /// of `size` elements: into the whole one, or into a device's part.
  void append(Number &number, DimShardingAttr dim, int64_t size, Value index,
              bool isLocal);
  /// Which stream the indices given so far, into whole dimensions, are of.
  Value getStream() const { return stream; }

private:
  /// Stride of `axis` in the stream number; 0 if it is not one of the axes with
  /// streams.
  int64_t getWeight(AxisRefAttr axis) const;
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return a ? arith::AddIOp::create(builder, loc, a, b).getResult() : b;
  }
  Value multiply(Value a, int64_t b) {
    return !a || b == 1 ? a
                        : arith::MulIOp::create(builder, loc, a, constant(b))
                              .getResult();
  }

  OpBuilder &builder;
  Location loc;
  const MeshLayout &layout;
  SmallVector<AxisRefAttr> axes;
  Value stream;
};
} // namespace

int64_t Numbers::getWeight(AxisRefAttr axis) const {
  int64_t minor = 1;
  for (AxisRefAttr whole : llvm::reverse(axes)) {
    if (overlaps(axis, whole))
      return minor * (whole.getPre() * layout.size(whole)) /
             (axis.getPre() * layout.size(axis));
    minor *= layout.size(whole);
  }
  return 0;
}

void Numbers::append(Number &number, DimShardingAttr dim, int64_t size,
                     Value index, bool isLocal) {
  struct Digit {
    Value value;
    int64_t size;
  };
  SmallVector<Digit> digits; // minor to major
  SmallVector<Piece, 2> pieces = layout.pieces(dim, size);
  Value rest = index;
  for (auto [reverse, piece] : llvm::enumerate(llvm::reverse(pieces))) {
    SmallVector<AxisRefAttr> levels(piece.axes.begin(), piece.axes.end());
    layout.refine(levels, axes);
    SmallVector<int64_t> blocks{piece.size};
    for (AxisRefAttr axis : levels)
      blocks.push_back(getBlockSize(blocks.back(), layout.size(axis)));
    int64_t extent = isLocal ? blocks.back() : piece.size;
    Value place = rest;
    if (reverse + 1 < pieces.size()) {
      place = arith::RemUIOp::create(builder, loc, rest, constant(extent));
      rest = arith::DivUIOp::create(builder, loc, rest, constant(extent));
    }
    SmallVector<Digit> ofPiece; // major to minor
    for (auto [level, axis] : llvm::enumerate(levels)) {
      int64_t weight = getWeight(axis), block = blocks[level + 1];
      Value coordinate;
      if (!isLocal) {
        coordinate =
            arith::DivUIOp::create(builder, loc, place, constant(block));
        place = arith::RemUIOp::create(builder, loc, place, constant(block));
      } else if (weight == 0) {
        // Computed outside of the body that runs for every element.
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(builder.getInsertionBlock()->getParentOp());
        coordinate = AxisIndexOp::create(
            builder, loc, builder.getArrayAttr(axis), layout.getName());
      }
      if (weight == 0)
        ofPiece.push_back({coordinate, layout.size(axis)});
      else if (!isLocal)
        stream = add(stream, multiply(coordinate, weight));
    }
    ofPiece.push_back({place, blocks.back()});
    llvm::append_range(digits, llvm::reverse(ofPiece));
  }
  for (const Digit &digit : llvm::reverse(digits)) {
    number.value = add(multiply(number.value, digit.size), digit.value);
    number.size *= digit.size;
  }
}

/// The sizes of the drawn tensor; empty if one is unknown.
static std::optional<SmallVector<int64_t>> findSizes(RandomWordsOp words) {
  SmallVector<int64_t> sizes(words.getSizes());
  unsigned next = 0;
  for (int64_t &size : sizes) {
    APInt known;
    if (!ShapedType::isDynamic(size))
      continue;
    if (!matchPattern(words.getDynamicSizes()[next++], m_ConstantInt(&known)))
      return std::nullopt;
    size = known.getSExtValue();
  }
  return sizes;
}

/// Puts one that draws by `numbers` of stream `stream` in the place of `words`.
static void replace(OpBuilder &builder, RandomWordsOp words,
                    ArrayRef<Numbers::Number> numbers, Value stream) {
  SmallVector<Value> indices;
  SmallVector<int64_t> sizes;
  for (const Numbers::Number &number : numbers) {
    indices.push_back(number.value);
    sizes.push_back(number.size);
  }
  auto drawn = RandomWordsOp::create(builder, words.getLoc(), words.getSeed(),
                                     words.getStep(), words.getNumber(),
                                     indices, ValueRange(), sizes, stream,
                                     ArrayAttr(), Attribute());
  words->replaceAllUsesWith(drawn->getResults());
  words.erase();
}

/// Draws each element from the stream of the device that has it, of whole
/// tensors.
static void numberWhole(OpBuilder &builder, RandomWordsOp words,
                        const MeshLayout &layout, ArrayAttr axes,
                        ArrayRef<DimShardingAttr> dims,
                        ArrayRef<int64_t> sizes) {
  builder.setInsertionPoint(words);
  Numbers numbers(builder, words.getLoc(), layout, axes);
  SmallVector<Numbers::Number> places;
  for (auto [dim, size, index] :
       llvm::zip_equal(dims, sizes, words.getIndices()))
    numbers.append(places.emplace_back(), dim, size, index, /*isLocal=*/false);
  Value stream = numbers.getStream();
  if (!stream)
    stream = arith::ConstantIndexOp::create(builder, words.getLoc(), 0);
  replace(builder, words, places, stream);
}

//===----------------------------------------------------------------------===//
// Ops that become local
//===----------------------------------------------------------------------===//

/// Adds `scale` times an index to the multiples of loops that it is a sum of;
/// false if it is no such sum.
static bool addLinear(Value index, int64_t scale,
                      SmallVectorImpl<int64_t> &loops) {
  if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
    loops[loop.getDim()] += scale;
    return true;
  }
  APInt number;
  if (auto sum = index.getDefiningOp<arith::AddIOp>())
    return addLinear(sum.getLhs(), scale, loops) &&
           addLinear(sum.getRhs(), scale, loops);
  auto product = index.getDefiningOp<arith::MulIOp>();
  return product && matchPattern(product.getRhs(), m_ConstantInt(&number)) &&
         addLinear(product.getLhs(), scale * number.getSExtValue(), loops);
}

/// The loops, major to minor, of which an index into `size` elements is the
/// row-major number; empty if it is no such index.
static std::optional<SmallVector<unsigned, 1>>
findLoops(Value index, int64_t size, const ShardingRule &rule) {
  SmallVector<int64_t> strides(rule.factors.size(), 0);
  SmallVector<unsigned, 1> loops;
  if (!addLinear(index, 1, strides))
    return std::nullopt;
  for (auto [loop, stride] : llvm::enumerate(strides))
    if (stride != 0 && rule.factors[loop].size != 1)
      loops.push_back(loop);
  llvm::sort(loops,
             [&](unsigned a, unsigned b) { return strides[a] > strides[b]; });
  int64_t inner = 1;
  for (unsigned loop : llvm::reverse(loops)) {
    if (strides[loop] != inner ||
        ShapedType::isDynamic(rule.factors[loop].size))
      return std::nullopt;
    inner *= rule.factors[loop].size;
  }
  return inner == size ? std::optional(loops) : std::nullopt;
}

/// An error at the directive that asked for streams, which says what the op is.
static InFlightDiagnostic emitStreamError(RandomWordsOp words) {
  Location by = words.getBy() ? Location(cast<LocationAttr>(*words.getBy()))
                              : words.getLoc();
  return mlir::emitError(by) << "dist.random_streams: ";
}

bool RandomStreams::hasStreams(Operation *op) {
  return isa<linalg::LinalgOp>(op) && op->walk([](RandomWordsOp words) {
                                          return words.getAxes()
                                                     ? WalkResult::interrupt()
                                                     : WalkResult::advance();
                                        }).wasInterrupted();
}

LogicalResult RandomStreams::checkShared(RandomWordsOp words, Operation *op,
                                         const Drawn &drawn) const {
  SmallVector<AxisRefAttr> shared, axes = getAxisRefs(drawn.axes);
  for (DimShardingAttr dim : drawn.dims)
    llvm::append_range(shared, dim.getAllAxes());
  layout.refine(shared, axes);
  int64_t devices = 1;
  for (AxisRefAttr axis : shared)
    if (llvm::any_of(axes, [&](AxisRefAttr a) { return overlaps(axis, a); }))
      devices *= layout.size(axis);
  if (devices == layout.size(axes))
    return success();
  InFlightDiagnostic error = emitStreamError(words);
  error << "the drawn tensor is not sharded over ";
  llvm::interleaveComma(axes, error);
  error << ": of " << layout.size(axes) << " devices " << devices
        << " have parts of their own, and others would draw different numbers "
           "for the same elements";
  error.attachNote(op->getLoc())
      << "drawn here, placed as "
      << ShardingAttr::get(layout.getContext(), layout.getName(), drawn.dims,
                           ReductionKind::Sum, {});
  return error;
}

LogicalResult RandomStreams::visit(RandomWordsOp words, linalg::LinalgOp op,
                                   const ShardingRule &rule,
                                   ArrayRef<DimShardingAttr> loopShardings) {
  std::optional<SmallVector<int64_t>> sizes = findSizes(words);
  if (!sizes) {
    InFlightDiagnostic error = emitStreamError(words);
    error << "the size of what is drawn has to be known (--bind)";
    error.attachNote(op->getLoc()) << "drawn here";
    return error;
  }
  Drawn drawn{*words.getAxes(), *sizes, {}};
  Local local{words, {}};
  for (auto [index, size] : llvm::zip_equal(words.getIndices(), *sizes)) {
    std::optional<SmallVector<unsigned, 1>> loops =
        findLoops(index, size, rule);
    DimShardingAttr dim;
    if (loops && loops->empty())
      dim = layout.none();
    else if (loops)
      dim = rule.joinDim(layout, *loops, loopShardings);
    if (!dim) {
      InFlightDiagnostic error = emitStreamError(words);
      error << "it cannot be told which part of what is drawn a device has";
      error.attachNote(op->getLoc()) << "drawn here";
      return error;
    }
    drawn.dims.push_back(dim);
    local.loops.push_back(std::move(*loops));
  }
  auto [known, isFirst] = operators.try_emplace(words.getNumber(), drawn);
  const Drawn &first = known->second;
  if (isFirst && failed(checkShared(words, op, drawn)))
    return failure();
  if (first.axes != drawn.axes || first.sizes != drawn.sizes) {
    InFlightDiagnostic error = emitStreamError(words);
    error << "operator " << words.getNumber()
          << " draws tensors of other sizes, or from other streams, elsewhere";
    error.attachNote(op->getLoc()) << "drawn here";
    return error;
  }
  if (first.dims == drawn.dims) {
    pending.push_back(std::move(local));
    return success();
  }
  OpBuilder builder(words);
  numberWhole(builder, words, layout, first.axes, first.dims, first.sizes);
  return success();
}

LogicalResult RandomStreams::visit(linalg::LinalgOp op,
                                   const ShardingRule &rule,
                                   const LocalView &view) {
  pending.clear();
  SmallVector<DimShardingAttr> loops(rule.factors.size(), layout.none());
  auto take = [&](ArrayRef<TensorRule> rules, ArrayRef<ShardingAttr> places) {
    for (auto [tensor, sharding] : llvm::zip_equal(rules, places)) {
      if (!sharding)
        continue;
      for (auto [factors, dim] :
           llvm::zip_equal(tensor.dims, sharding.getDims()))
        if (factors.size() == 1 && dim != layout.none())
          loops[factors[0]] = dim;
    }
  };
  take(rule.operands, view.operands);
  take(rule.results, view.results);
  pendingShardings = loops;
  pendingSizes.clear();
  for (const Factor &factor : rule.factors)
    pendingSizes.push_back(factor.size);
  SmallVector<RandomWordsOp> drawing;
  op->walk([&](RandomWordsOp words) {
    if (words.getAxes())
      drawing.push_back(words);
  });
  for (RandomWordsOp words : drawing)
    if (failed(visit(words, op, rule, loops)))
      return failure();
  return success();
}

void RandomStreams::finish(OpBuilder &builder) {
  for (Local &local : pending) {
    RandomWordsOp words = local.words;
    Location loc = words.getLoc();
    auto op = words->getParentOfType<linalg::LinalgOp>();
    builder.setInsertionPoint(op);
    Value stream =
        AxisIndexOp::create(builder, loc, *words.getAxes(), layout.getName());
    builder.setInsertionPoint(words);
    Numbers numbers(builder, loc, layout, *words.getAxes());
    SmallVector<Numbers::Number> places;
    for (ArrayRef<unsigned> loops : local.loops) {
      Numbers::Number &number = places.emplace_back();
      for (unsigned loop : loops)
        numbers.append(number, pendingShardings[loop], pendingSizes[loop],
                       linalg::IndexOp::create(builder, loc, loop),
                       /*isLocal=*/true);
      if (!number.value)
        number.value = arith::ConstantIndexOp::create(builder, loc, 0);
    }
    replace(builder, words, places, stream);
  }
  pending.clear();
}

void RandomStreams::record(MeshOp mesh) const {
  if (operators.empty())
    return;
  Builder builder(mesh.getContext());
  SmallVector<Attribute> entries;
  for (const auto &[number, drawn] : operators)
    entries.push_back(
        getRandomStreams(number, getAxisRefs(drawn.axes),
                         ShardingAttr::get(mesh.getContext(), layout.getName(),
                                           drawn.dims, ReductionKind::Sum, {}),
                         drawn.sizes));
  mesh->setAttr(kRandomStreamsAttr, builder.getArrayAttr(entries));
}

//===----------------------------------------------------------------------===//
// The program of one device
//===----------------------------------------------------------------------===//

LogicalResult mlir::dist::numberStreams(ModuleOp module, MeshOp mesh) {
  auto entries = mesh->getAttrOfType<ArrayAttr>(kRandomStreamsAttr);
  if (!entries)
    return success();
  MeshLayout layout(mesh);
  llvm::DenseMap<int64_t, DictionaryAttr> operators;
  for (auto entry : entries.getAsRange<DictionaryAttr>())
    operators[entry.getAs<IntegerAttr>("number").getInt()] = entry;
  llvm::DenseSet<int64_t> found;
  SmallVector<RandomWordsOp> drawing;
  module.walk([&](RandomWordsOp words) {
    if (operators.contains(words.getNumber()))
      drawing.push_back(words);
  });
  OpBuilder builder(mesh.getContext());
  for (RandomWordsOp words : drawing) {
    DictionaryAttr entry = operators[words.getNumber()];
    auto sizes = entry.getAs<DenseI64ArrayAttr>("sizes").asArrayRef();
    std::optional<SmallVector<int64_t>> own = findSizes(words);
    if (!own || ArrayRef(*own) != sizes)
      return words.emitError()
             << "draws a tensor of other sizes than operator "
             << words.getNumber() << " of the program that is compared, ["
             << sizes << "]: streams of devices cannot be told from it";
    found.insert(words.getNumber());
    numberWhole(builder, words, layout, entry.getAs<ArrayAttr>("axes"),
                entry.getAs<ShardingAttr>("sharding").getDims(), sizes);
  }
  for (const auto &[number, entry] : operators)
    if (!found.contains(number))
      return module.emitError()
             << "no operator " << number << " draws random numbers, which in "
             << "the program that is compared come from streams of devices";
  return success();
}
