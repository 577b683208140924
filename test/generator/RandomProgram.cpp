//===- RandomProgram.cpp - A module in the making -------------------------===//

#include "test/generator/RandomProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

bool Bounds::isExact(Type elementType) const {
  if (!isa<FloatType>(elementType))
    return true;
  int mantissa = elementType.isF64() ? 50 : elementType.isF32() ? 22 : 5;
  return grid < mantissa && bound < std::ldexp(1.0, mantissa - grid);
}

RandomProgram::RandomProgram(MLIRContext *context, Choices &choices,
                             int64_t scale, Style style)
    : c(choices), b(context), loc(b.getUnknownLoc()), scale(scale),
      style(style) {
  // Few sizes a module, so that shapes meet.
  static const int64_t kSizes[] = {4,  2, 3,  6,  8, 5,  1,
                                   12, 7, 13, 16, 9, 10, 0};
  int64_t wanted = (style == Style::Buffers ? 1 : 2) + c.below(3);
  for (int64_t i = 0; i < wanted; ++i) {
    // Empty dimensions are rare.
    int64_t size = kSizes[c.below(c.chance(4) ? 14 : 13)];
    sizes.push_back(size);
  }
  // Beyond a vector, and enough for products that the runtime makes.
  if (style == Style::Buffers && c.chance(15))
    sizes.push_back(c.pick({32, 17, 40}));
  pickTypes();
}

void RandomProgram::pickTypes() {
  Type f64 = b.getF64Type(), i64 = b.getI64Type(), f32 = b.getF32Type();
  if (style == Style::Buffers) {
    switch (c.below(8)) {
    case 0:
    case 1:
      types = {f32};
      return;
    case 2:
      types = {f64};
      return;
    case 3:
      types = {f32, b.getI32Type()};
      return;
    case 4:
      types = {b.getBF16Type(), f32};
      return;
    case 5:
      types = {b.getI32Type(), b.getI1Type()};
      return;
    case 6:
      types = {b.getIndexType(), f64};
      return;
    default:
      types = {i64, f32, f64};
      return;
    }
  }
  switch (c.below(6)) {
  case 0:
  case 1:
  case 2:
    types = {f64};
    break;
  case 3:
    types = {f64, i64};
    break;
  case 4:
    types = {f64, b.getI32Type(), b.getI1Type()};
    break;
  case 5:
    types = {b.getF32Type(), f64, i64};
    break;
  }
}

SmallVector<int64_t> RandomProgram::pickShape(int64_t minRank,
                                              int64_t maxRank) {
  SmallVector<int64_t> shape(minRank + c.below(maxRank - minRank + 1));
  int64_t count = 1;
  for (int64_t &size : shape) {
    int64_t unit = pickSize() / scale;
    if (count * unit > 600)
      unit = 2;
    count *= std::max<int64_t>(unit, 1);
    size = unit * scale;
  }
  return shape;
}

Type RandomProgram::pickElementType() { return c.pick(ArrayRef(types)); }

Type RandomProgram::pickNumberType() {
  Type type = pickElementType();
  return type.isInteger(1) ? b.getF64Type() : type;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RandomProgram::add(Value value, Bounds range) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  ranges[value] = range;
  if (type && type.hasStaticShape() &&
      (scale > 1 || type.getNumElements() <= 4096))
    values.push_back(value);
  return value;
}

Value RandomProgram::find(function_ref<bool(Value)> accept) {
  SmallVector<Value> found;
  for (Value value : values)
    if (accept(value))
      found.push_back(value);
  if (found.empty())
    return {};
  // Newer ones first: programs that go deep.
  std::reverse(found.begin(), found.end());
  return found[c.chance(50) ? c.below(found.size()) : 0];
}

Value RandomProgram::pickTensor(int64_t minRank, int64_t maxRank) {
  if (!c.chance(15))
    if (Value value = find([&](Value v) {
          int64_t rank = typeOf(v).getRank();
          return rank >= minRank && rank <= maxRank;
        }))
      return value;
  return argument(pickShape(minRank, std::min<int64_t>(maxRank, minRank + 3)),
                  pickElementType());
}

Value RandomProgram::pickFloat(int64_t minRank, int64_t maxRank) {
  if (!c.chance(15))
    if (Value value = find([&](Value v) {
          int64_t rank = typeOf(v).getRank();
          return rank >= minRank && rank <= maxRank &&
                 isa<FloatType>(typeOf(v).getElementType());
        }))
      return value;
  Type type = c.pick(ArrayRef(types));
  return argument(pickShape(minRank, std::min<int64_t>(maxRank, minRank + 3)),
                  isa<FloatType>(type) ? type : Type(b.getF64Type()));
}

Value RandomProgram::getTensor(ArrayRef<int64_t> shape, Type elementType) {
  auto type = RankedTensorType::get(shape, elementType);
  if (!c.chance(25))
    if (Value value = find([&](Value v) { return v.getType() == type; }))
      return value;
  return c.chance(10) ? constant(shape, elementType)
                      : argument(shape, elementType);
}

Value RandomProgram::argument(ArrayRef<int64_t> shape, Type elementType,
                              Bounds range,
                              ArrayRef<NamedAttribute> attributes) {
  if (isClosed)
    return constant(shape, elementType);
  // Bodies of loops and branches take new arguments from the function.
  Block &body = function.getBody().front();
  Value value =
      body.addArgument(RankedTensorType::get(shape, elementType), loc);
  SmallVector<Type> types(body.getArgumentTypes());
  SmallVector<DictionaryAttr> attrs;
  function.getAllArgAttrs(attrs);
  attrs.push_back(b.getDictionaryAttr(attributes));
  function.setType(b.getFunctionType(types, {}));
  function.setAllArgAttrs(attrs);
  return add(value, range);
}

static TypedAttr numberAttr(OpBuilder &b, Type type, double value) {
  if (isa<FloatType>(type))
    return b.getFloatAttr(type, value);
  if (type.isInteger(1))
    return b.getBoolAttr(value != 0);
  return b.getIntegerAttr(type, static_cast<int64_t>(value));
}

Value RandomProgram::scalar(Type type, double value) {
  Value out = arith::ConstantOp::create(b, loc, numberAttr(b, type, value));
  ranges[out] = {std::fabs(value), 3};
  return out;
}

Value RandomProgram::constant(ArrayRef<int64_t> shape, Type elementType) {
  auto type = RankedTensorType::get(shape, elementType);
  int64_t count = type.getNumElements();
  SmallVector<Attribute> numbers;
  bool isSplat = scale > 1 || count > 64 || count == 0 || !c.chance(60);
  for (int64_t i = 0; i < (isSplat ? 1 : count); ++i)
    numbers.push_back(numberAttr(
        b, elementType, static_cast<double>((i * 5 + c.below(3)) % 9) / 4 - 1));
  if (!isa<FloatType>(elementType))
    for (auto [i, number] : llvm::enumerate(numbers))
      number = numberAttr(b, elementType, (i * 7 + c.below(2)) % 5);
  Value out =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, numbers));
  return add(out, {4, 2});
}

Value RandomProgram::empty(ArrayRef<int64_t> shape, Type elementType) {
  return tensor::EmptyOp::create(b, loc, shape, elementType);
}

Value RandomProgram::filled(ArrayRef<int64_t> shape, Type elementType,
                            double value) {
  Value number = scalar(elementType, value);
  return linalg::FillOp::create(b, loc, number, empty(shape, elementType))
      .getResult(0);
}

Value RandomProgram::tame(Value value) {
  RankedTensorType type = typeOf(value);
  Bounds range = rangeOf(value);
  if (!isa<FloatType>(type.getElementType()) || range.bound <= 64)
    return value;
  Value out = math::TanhOp::create(b, loc, value);
  return add(out, {1, 1000});
}

Value RandomProgram::pickInit(ArrayRef<int64_t> shape, Type elementType) {
  switch (c.below(8)) {
  case 6:
    return filled(shape, elementType, 1);
  case 7:
    return getTensor(shape, elementType);
  default:
    return empty(shape, elementType);
  }
}

linalg::GenericOp RandomProgram::generic(
    ArrayRef<Value> inputs, ArrayRef<Value> inits, ArrayRef<AffineMap> maps,
    ArrayRef<utils::IteratorType> loops,
    function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<Type> types;
  for (Value init : inits)
    types.push_back(init.getType());
  return linalg::GenericOp::create(b, loc, types, inputs, inits, maps, loops,
                                   body);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void RandomProgram::grow(unsigned steps) {
  SmallVector<const NamedFamily *> table;
  for (const NamedFamily &family :
       style == Style::Placed ? getFamilies() : getBufferFamilies())
    if (only.empty() || llvm::is_contained(only, family.name))
      for (unsigned i = 0; i < family.weight; ++i)
        table.push_back(&family);
  for (unsigned i = 0; i < steps; ++i) {
    c.mark();
    for (unsigned attempt = 0; attempt < 3; ++attempt)
      if (table[c.below(table.size())]->make(*this))
        break;
  }
}

void RandomProgram::scope(function_ref<void()> build) {
  size_t visible = values.size(), visibleIndices = indices.size();
  OpBuilder::InsertionGuard guard(b);
  ++depth;
  build();
  --depth;
  indices.truncate(visibleIndices);
  // Arguments of the function stay.
  SmallVector<Value> kept(values.begin(), values.begin() + visible);
  for (Value value : ArrayRef(values).drop_front(visible))
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (argument.getOwner() == &function.getBody().front())
        kept.push_back(value);
  values = kept;
}

func::FuncOp RandomProgram::makeFunction(StringRef name, bool isPrivate) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  auto made = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  if (isPrivate)
    made.setPrivate();
  made.addEntryBlock();
  return made;
}

OwningOpRef<ModuleOp> RandomProgram::make(StringRef onlyFamily,
                                          unsigned maxSteps) {
  if (!onlyFamily.empty())
    onlyFamily.split(only, ',');
  OwningOpRef<ModuleOp> owner = ModuleOp::create(loc);
  module = *owner;
  if (style == Style::Placed)
    makeMesh(*this);
  function = makeFunction("main", false);
  b.setInsertionPointToStart(&function.getBody().front());
  grow(1 + c.below(maxSteps));
  if (values.empty())
    pickTensor();
  // What nothing uses is a result, and now and then something that is used.
  SmallVector<Value> results;
  for (Value value : values)
    if (value.use_empty() || c.chance(15))
      results.push_back(value);
  if (results.empty())
    results.push_back(values.back());
  // One value twice, and what was given.
  if (style == Style::Buffers) {
    if (c.chance(25))
      results.push_back(results[c.below(results.size())]);
    if (c.chance(20))
      if (Value given = find([](Value v) { return isa<BlockArgument>(v); }))
        results.push_back(given);
  }
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  func::ReturnOp::create(b, loc, results);
  function.setType(
      b.getFunctionType(function.getBody().front().getArgumentTypes(), types));
  if (style == Style::Placed)
    placeBoundary(*this);
  return owner;
}
