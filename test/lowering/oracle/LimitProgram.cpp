//===- LimitProgram.cpp - Programs at the limits of tensors ---------------===//
//
// Written as text, as whoever makes a file may write it: nothing here is bound
// to what builders of ops accept.
//
//===----------------------------------------------------------------------===//

#include "test/lowering/oracle/LimitProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <random>

using namespace mlir::dist::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace {
constexpr int64_t kOpen = std::numeric_limits<int64_t>::min();

struct Value {
  std::string name, element;
  SmallVector<int64_t> shape;
};

class LimitProgram {
public:
  explicit LimitProgram(uint64_t seed)
      : random(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::string make();

private:
  //===--- Choices ---===//
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(
                     random() % static_cast<uint64_t>(high - low + 1));
  }
  bool isOneIn(int64_t count) { return pick(1, count) == 1; }
  template <typename T> T pickOf(std::initializer_list<T> list) {
    return list.begin()[pick(0, list.size() - 1)];
  }
  /// `fits`, or sometimes what is close to it, or far.
  int64_t aboutLimit(int64_t fits);

  /// The parser takes no divisor below 1.
  int64_t divisor(int64_t fits) {
    return std::max<int64_t>(aboutLimit(fits), 1);
  }

  //===--- Text ---===//
  std::string fresh() { return "%v" + std::to_string(numbers++); }
  void line(const Twine &text) { body += ("  " + text + "\n").str(); }
  /// A constant of the program.
  std::string constant(int64_t value, StringRef type = "index");
  /// A number of a list: as it is, or as a value.
  std::string number(int64_t value) {
    return isOneIn(4) ? constant(value) : std::to_string(value);
  }
  std::string printList(ArrayRef<int64_t> list, bool isFixed = false);
  static std::string printType(ArrayRef<int64_t> shape, StringRef element);
  static std::string printType(const Value &value) {
    return printType(value.shape, value.element);
  }

  //===--- Values ---===//
  Value tensor(ArrayRef<int64_t> shape, StringRef element = "");
  Value anyTensor();
  std::string zero(StringRef element);
  void add(StringRef name, ArrayRef<int64_t> shape, StringRef element) {
    values.push_back({name.str(), element.str(), SmallVector<int64_t>(shape)});
  }
  /// A scalar becomes a tensor.
  void addScalar(StringRef name, StringRef type);

  //===--- Ops ---===//
  void makePad();
  void makeExtractSlice();
  void makeInsertSlice();
  void makeMap();
  void makeWrittenMap();
  void makeLoop();
  void makeElement();
  void makeComputedElement();
  void makeConcat();
  void makeTable();
  void makeWindow();
  void makeTiles();
  void makeShape();
  void makeMade();
  void makeForall();
  void makeOpen(std::string &value, int64_t &size);
  void makeCast();
  std::string randomExpr(int depth, int64_t dims);

  std::mt19937_64 random;
  std::string head, body;
  unsigned numbers = 0;
  SmallVector<Value> values;
};
} // namespace

int64_t LimitProgram::aboutLimit(int64_t fits) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  // Sums wrap.
  auto add = [](uint64_t a, uint64_t b) { return int64_t(a + b); };
  switch (pick(0, 29)) {
  case 0:
    return add(fits, -1);
  case 1:
    return add(fits, 1);
  case 2:
    return add(0, -uint64_t(fits));
  case 3:
    return pickOf<int64_t>({0, -1, -2, -5});
  case 4:
    return pickOf<int64_t>({most, most - 1, add(most, -uint64_t(fits)),
                            -most - 1, most / 2, most / 3, most / 4 + 1, -most,
                            add(-most, fits)});
  case 5:
    return (int64_t(1) << pick(3, 62)) + pick(-1, 1);
  case 6:
    return add(fits, pick(-9, 9));
  default:
    return fits;
  }
}

std::string LimitProgram::constant(int64_t value, StringRef type) {
  std::string name = fresh();
  line(name + " = arith.constant " + Twine(value) + " : " + type);
  return name;
}

std::string LimitProgram::printList(ArrayRef<int64_t> list, bool isFixed) {
  std::string out = "[";
  for (int64_t value : list)
    out += (out.size() > 1 ? ", " : "") +
           (isFixed ? std::to_string(value) : number(value));
  return out + "]";
}

std::string LimitProgram::printType(ArrayRef<int64_t> shape,
                                    StringRef element) {
  std::string out = "tensor<";
  for (int64_t size : shape)
    out += (size == kOpen ? "?" : std::to_string(size)) + "x";
  return out + element.str() + ">";
}

Value LimitProgram::tensor(ArrayRef<int64_t> shape, StringRef element) {
  Value out{"%x" + std::to_string(numbers++), element.str(),
            SmallVector<int64_t>(shape)};
  if (element.empty())
    out.element = pickOf<StringRef>({"f32", "f64", "i8", "i32", "i64", "i1"});
  head += (head.empty() ? "" : ", ") + out.name + ": " + printType(out) +
          " {dist.input = \"" + out.name.substr(1) + "\"}";
  return out;
}

Value LimitProgram::anyTensor() {
  SmallVector<Value> fitting;
  for (const Value &value : values)
    if (!value.shape.empty() && llvm::all_of(value.shape, [](int64_t size) {
          return size > 0 && size <= 64;
        }))
      fitting.push_back(value);
  if (!fitting.empty() && !isOneIn(3))
    return fitting[pick(0, fitting.size() - 1)];
  SmallVector<int64_t> shape;
  for (int64_t dim = 0, rank = pick(1, 3); dim < rank; ++dim)
    shape.push_back(pickOf<int64_t>({1, 2, 3, 4, 5, 8, 16}));
  return tensor(shape);
}

std::string LimitProgram::zero(StringRef element) {
  std::string name = fresh();
  line(name + " = arith.constant " +
       (element == "i1" ? "false"
                        : (element.starts_with("f") ? "0.0 : " : "0 : ") +
                              element.str()));
  return name;
}

void LimitProgram::addScalar(StringRef name, StringRef type) {
  std::string made = fresh();
  line(made + " = tensor.from_elements " + name + " : tensor<" + type + ">");
  add(made, {}, type);
}

//===----------------------------------------------------------------------===//
// Pads and slices
//===----------------------------------------------------------------------===//

/// A size that a type can have; what is none is left open.
static int64_t toSize(__int128 value) {
  return value >= 0 && value < (__int128(1) << 62) ? int64_t(value) : kOpen;
}

void LimitProgram::makePad() {
  Value from = anyTensor();
  SmallVector<int64_t> low, high, shape;
  for (int64_t size : from.shape) {
    low.push_back(aboutLimit(pick(0, 3)));
    high.push_back(aboutLimit(isOneIn(8) ? int64_t(-uint64_t(low.back()))
                                            : pick(0, 3)));
    int64_t sum = toSize(__int128(size) + low.back() + high.back());
    // A wrong size now and then.
    shape.push_back(sum == kOpen || isOneIn(20) ? aboutLimit(size) : sum);
    if (shape.back() < 0 || isOneIn(12))
      shape.back() = kOpen;
  }
  std::string pad = zero(from.element), name = fresh(), indices;
  std::string lows = printList(low), highs = printList(high);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    indices += (dim ? ", " : "") + ("%p" + std::to_string(dim)) + ": index";
  line(name + " = tensor.pad " + from.name + " low" + lows + " high" + highs +
       " {");
  line("^bb0(" + indices + "):");
  line("  tensor.yield " + pad + " : " + from.element);
  line("} : " + printType(from) + " to " + printType(shape, from.element));
  add(name, shape, from.element);
}

void LimitProgram::makeExtractSlice() {
  Value from = anyTensor();
  SmallVector<int64_t> offsets, sizes, strides, shape;
  for (int64_t size : from.shape) {
    int64_t stride = pick(1, 3),
            count = std::max<int64_t>(1, pick(1, (size - 1) / stride + 1)),
            last = size - 1 - (count - 1) * stride;
    offsets.push_back(aboutLimit(std::max<int64_t>(0, pick(0, last))));
    sizes.push_back(aboutLimit(count));
    strides.push_back(aboutLimit(stride));
    shape.push_back(sizes.back() < 0 || isOneIn(10) ? kOpen : sizes.back());
    if (shape.back() == 1 && isOneIn(2))
      shape.pop_back();
  }
  std::string lists =
      printList(offsets) + printList(sizes) + printList(strides);
  std::string name = fresh();
  line(name + " = tensor.extract_slice " + from.name + lists + " : " +
       printType(from) + " to " + printType(shape, from.element));
  add(name, shape, from.element);
}

void LimitProgram::makeInsertSlice() {
  Value into = anyTensor();
  SmallVector<int64_t> offsets, sizes, strides, shape;
  for (int64_t size : into.shape) {
    int64_t stride = pick(1, 3), count = pick(1, (size - 1) / stride + 1),
            last = size - 1 - (count - 1) * stride;
    offsets.push_back(aboutLimit(pick(0, last)));
    strides.push_back(aboutLimit(stride));
    shape.push_back(std::clamp<int64_t>(aboutLimit(count), 0, 64));
    sizes.push_back(isOneIn(20) ? aboutLimit(count) : shape.back());
  }
  Value what = tensor(shape, into.element);
  std::string lists =
      printList(offsets) + printList(sizes) + printList(strides);
  std::string name = fresh();
  line(name + " = tensor.insert_slice " + what.name + " into " + into.name +
       lists + " : " + printType(what) + " into " + printType(into));
  add(name, into.shape, into.element);
}

void LimitProgram::makeForall() {
  Value into = tensor({pick(4, 16)}, "f32");
  int64_t turns = pick(1, 3), size = into.shape[0], count = size / turns;
  Value what = tensor({count}, "f32");
  std::string from = number(aboutLimit(0)), to = number(aboutLimit(turns)),
              by = number(aboutLimit(1));
  std::string name = fresh(), offset = fresh();
  line(name + " = scf.forall (%i) = (" + from + ") to (" + to + ") step (" +
       by + ") shared_outs(%o = " + into.name + ") -> (" + printType(into) +
       ") {");
  line("  " + offset + " = affine.apply affine_map<(d0) -> (d0 * " +
       Twine(aboutLimit(count)) + " + " + Twine(aboutLimit(0)) + ")>(%i)");
  line("  scf.forall.in_parallel {");
  line("    tensor.parallel_insert_slice " + what.name + " into %o[" +
       (isOneIn(3) ? std::to_string(aboutLimit(0)) : offset) + "] [" +
       Twine(count) + "] [" + Twine(aboutLimit(1)) + "] : " + printType(what) +
       " into " + printType(into));
  line("  }");
  line("}");
  add(name, into.shape, "f32");
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

std::string LimitProgram::randomExpr(int depth, int64_t dims) {
  std::string dim = "d" + std::to_string(pick(0, dims - 1));
  if (depth == 0)
    return isOneIn(5) ? std::to_string(pick(0, 4)) : dim;
  std::string a = randomExpr(depth - 1, dims);
  switch (pick(0, 6)) {
  case 0:
    return "(" + a + " + " + randomExpr(depth - 1, dims) + ")";
  case 1:
    return "(" + a + " * " + std::to_string(aboutLimit(pick(1, 4))) + ")";
  case 2:
    return "(" + a + " mod " + std::to_string(divisor(pick(1, 5))) + ")";
  case 3:
    return "(" + a + " floordiv " + std::to_string(divisor(pick(1, 4))) + ")";
  case 4:
    return "(" + a + " ceildiv " + std::to_string(divisor(pick(1, 4))) + ")";
  case 5:
    return "(" + a + " - " + randomExpr(depth - 1, dims) + ")";
  default:
    return "(" + std::to_string(aboutLimit(pick(0, 12))) + " - " + a + ")";
  }
}

/// An operand read through a map whose greatest value is not known here: the
/// tensor is of any size.
void LimitProgram::makeMap() {
  int64_t dims = pick(1, 2), rank = pick(1, 2);
  SmallVector<int64_t> loops, shape;
  for (int64_t dim = 0; dim < dims; ++dim)
    loops.push_back(pick(1, 9));
  std::string map, names = dims == 1 ? "d0" : "d0, d1";
  for (int64_t dim = 0; dim < rank; ++dim) {
    map += (dim ? ", " : "") + randomExpr(pick(1, 3), dims);
    shape.push_back(pickOf<int64_t>({4, 9, 16, 30}));
  }
  Value from = tensor(shape, "f32"), shaped = tensor(loops, "f32");
  std::string name = fresh(), same = "affine_map<(" + names + ") -> (" + names +
                                     ")>";
  line(name + " = linalg.generic {indexing_maps = [affine_map<(" + names +
       ") -> (" + map + ")>, " + same + ", " + same + "], iterator_types = [" +
       (dims == 1 ? "\"parallel\"" : "\"parallel\", \"parallel\"") +
       "]} ins(" + from.name + ", " + shaped.name + " : " + printType(from) +
       ", " + printType(shaped) + ") outs(" + shaped.name + " : " +
       printType(shaped) + ") {");
  line("^bb0(%a: f32, %b: f32, %c: f32):");
  line("  linalg.yield %a : f32");
  line("} -> " + printType(shaped));
  add(name, loops, "f32");
}

/// A result written through a map.
void LimitProgram::makeWrittenMap() {
  int64_t size = pick(2, 12), stride = aboutLimit(pick(1, 3)),
          offset = aboutLimit(pick(0, 2));
  Value from = tensor({size}, "i32"),
        into = tensor({pick(1, 4) + size * std::clamp<int64_t>(stride, 1, 3)},
                      "i32");
  std::string name = fresh();
  line(name + " = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, "
              "affine_map<(d0) -> (d0 * " +
       Twine(stride) + " + " + Twine(offset) +
       ")>], iterator_types = [\"parallel\"]} ins(" + from.name + " : " +
       printType(from) + ") outs(" + into.name + " : " + printType(into) +
       ") {");
  line("^bb0(%a: i32, %b: i32):");
  line("  linalg.yield %a : i32");
  line("} -> " + printType(into));
  add(name, into.shape, "i32");
}

//===----------------------------------------------------------------------===//
// Loops and elements
//===----------------------------------------------------------------------===//

void LimitProgram::makeLoop() {
  auto [type, width] = pickOf<std::pair<StringRef, unsigned>>(
      {{"index", 64}, {"index", 64}, {"i64", 64}, {"i32", 32}, {"i8", 8}});
  int64_t most = int64_t((uint64_t(1) << (width - 1)) - 1);
  auto wrap = [&](int64_t value) {
    return llvm::SignExtend64(static_cast<uint64_t>(value), width);
  };
  int64_t from = pick(0, 2), turns = pick(0, 6), step = pick(1, 3),
          to = from + turns * step;
  if (isOneIn(3)) {
    // Ends close to the greatest number, or steps over it.
    step = wrap(most / pick(1, 5));
    to = most - pick(0, 2);
    from = pickOf<int64_t>({0, -most, most - 3, 1});
    if (step <= 0 || (__int128(to) - from) / step > 16)
      from = 0;
  }
  bool isUnsigned = isOneIn(6);
  std::string bounds[] = {constant(wrap(aboutLimit(from)), type),
                          constant(wrap(aboutLimit(to)), type),
                          constant(wrap(aboutLimit(step)), type)};
  bool reads = type == "index" && isOneIn(2);
  Value table = tensor({pick(6, 20)}, "i64");
  std::string start = constant(pick(0, 9), "i64"), name = fresh();
  line(name + " = scf.for " + (isUnsigned ? "unsigned " : "") + "%i = " +
       bounds[0] + " to " + bounds[1] + " step " + bounds[2] +
       " iter_args(%t = " + start + ") -> (i64) " +
       (type == "index" ? "" : " : " + type.str()) + " {");
  std::string read = reads ? "%at" : "%t";
  if (reads)
    line("  %at = tensor.extract " + table.name + "[%i] : " +
         printType(table));
  line("  %u = arith.muli %t, %t : i64");
  line("  %w = arith.addi %u, " + read + " : i64");
  line("  %one = arith.constant 1 : i64");
  line("  %r = arith.addi %w, %one : i64");
  line("  scf.yield %r : i64");
  line("}");
  addScalar(name, "i64");
}

void LimitProgram::makeElement() {
  Value from = anyTensor();
  SmallVector<std::string> at;
  for (int64_t size : from.shape)
    at.push_back(constant(aboutLimit(pick(0, size - 1))));
  std::string name = fresh();
  if (isOneIn(2)) {
    line(name + " = tensor.extract " + from.name + "[" + llvm::join(at, ", ") +
         "] : " + printType(from));
    addScalar(name, from.element);
    return;
  }
  line(name + " = tensor.insert " + zero(from.element) + " into " + from.name +
       "[" + llvm::join(at, ", ") + "] : " + printType(from));
  add(name, from.shape, from.element);
}

/// Elements at places that loops of an op compute.
void LimitProgram::makeComputedElement() {
  int64_t count = pick(1, 6), by = pick(1, 3), from = pick(0, 3);
  Value table = tensor({from + (count - 1) * by + 1}, "f32");
  std::string map = "affine_map<(d0) -> (d0 * " +
                    std::to_string(aboutLimit(by)) + " + " +
                    std::to_string(aboutLimit(from)) + ")>";
  std::string name = fresh();
  if (isOneIn(2)) {
    line(name + " = tensor.generate {");
    line("^bb0(%i: index):");
    line("  %at = affine.apply " + map + "(%i)");
    line("  %e = tensor.extract " + table.name + "[%at] : " +
         printType(table));
    line("  tensor.yield %e : f32");
    line("} : " + printType({count}, "f32"));
  } else {
    Value into = tensor({count}, "f32");
    line(name + " = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],"
                " iterator_types = [\"parallel\"]} outs(" +
         into.name + " : " + printType(into) + ") {");
    line("^bb0(%o: f32):");
    line("  %i = linalg.index 0 : index");
    line("  %at = affine.apply " + map + "(%i)");
    line("  %e = tensor.extract " + table.name + "[%at] : " +
         printType(table));
    line("  linalg.yield %e : f32");
    line("} -> " + printType(into));
  }
  add(name, {count}, "f32");
}

void LimitProgram::makeConcat() {
  Value first = anyTensor();
  int64_t dim = pick(0, first.shape.size() - 1);
  SmallVector<int64_t> shape = first.shape;
  shape[dim] = pick(1, 5);
  Value second = tensor(shape, first.element);
  shape[dim] = std::max<int64_t>(0, aboutLimit(first.shape[dim] + shape[dim]));
  std::string name = fresh();
  line(name + " = tensor.concat dim(" + Twine(aboutLimit(dim)) + ") " +
       first.name + ", " + second.name + " : (" + printType(first) + ", " +
       printType(second) + ") -> " + printType(shape, first.element));
  add(name, shape, first.element);
}

/// Gathers, scatters and sums of them, by a constant table.
void LimitProgram::makeTable() {
  int64_t rows = pick(2, 9), count = pick(1, 4);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq(rows));
  llvm::shuffle(order.begin(), order.end(), random);
  StringRef type = pickOf<StringRef>({"index", "i64", "i32"});
  count = std::min(count, rows);
  std::string list;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = aboutLimit(order[i]);
    list += (i ? ", [" : "[") +
            std::to_string(type == "i32" ? int64_t(int32_t(at)) : at) + "]";
  }
  std::string table = fresh(), name = fresh(),
              tableType = printType({count, 1}, type);
  line(table + " = arith.constant dense<[" + list + "]> : " + tableType);
  Value x = tensor({rows, 3}, "f32"), u = tensor({count, 1, 3}, "f32");
  int64_t dim = aboutLimit(0);
  switch (pick(0, 2)) {
  case 0:
    line(name + " = tensor.gather " + x.name + "[" + table +
         "] gather_dims([" + Twine(dim) + "]) : (" + printType(x) + ", " +
         tableType + ") -> " + printType(u));
    add(name, u.shape, "f32");
    return;
  case 1:
    line(name + " = tensor.scatter " + u.name + " into " + x.name + "[" +
         table + "] scatter_dims([" + Twine(dim) + "]) unique : (" +
         printType(u) + ", " + printType(x) + ", " + tableType + ") -> " +
         printType(x));
    break;
  default:
    line(name + " = dist.scatter_add " + u.name + " into " + x.name + "[" +
         table + "] dims [" + Twine(dim) + "] : (" + printType(u) + ", " +
         printType(x) + ", " + tableType + ") -> " + printType(x));
  }
  add(name, x.shape, "f32");
}

void LimitProgram::makeWindow() {
  int64_t width = pick(1, 3), stride = pick(1, 3), dilation = pick(1, 2),
          count = pick(1, 5),
          size = (count - 1) * stride + (width - 1) * dilation + 1;
  Value x = tensor({1, size, 2}, "f32"), into = tensor({1, count, 2}, "f32"),
        k = tensor({width}, "f32");
  std::string name = fresh();
  bool isPool = isOneIn(2);
  if (!isPool)
    k = tensor({width, 2, 2}, "f32");
  line(name + " = linalg." + (isPool ? "pooling_nwc_max" : "conv_1d_nwc_wcf") +
       " {strides = dense<" + Twine(aboutLimit(stride)) +
       "> : vector<1xi64>, dilations = dense<" + Twine(aboutLimit(dilation)) +
       "> : vector<1xi64>} ins(" + x.name + ", " + k.name + " : " +
       printType(x) + ", " + printType(k) + ") outs(" + into.name + " : " +
       printType(into) + ") -> " + printType(into));
  add(name, into.shape, "f32");
}

void LimitProgram::makeTiles() {
  int64_t tile = pick(2, 8), count = pick(1, 4);
  int64_t size = std::max<int64_t>(
      1, isOneIn(2) ? tile * count : aboutLimit(tile * count));
  size = std::min<int64_t>(size, 64);
  Value whole = tensor({size}, "f32"), tiles = tensor({count, tile}, "f32");
  bool packs = isOneIn(2);
  std::string name = fresh(),
              given = std::to_string(isOneIn(6) ? aboutLimit(tile) : tile),
              padding = packs && isOneIn(2) ? zero("f32") : "";
  const Value &from = packs ? whole : tiles, &to = packs ? tiles : whole;
  line(name + " = linalg." + (packs ? "pack " : "unpack ") + from.name +
       (padding.empty() ? "" : " padding_value(" + padding + " : f32)") +
       " inner_dims_pos = [" + Twine(aboutLimit(0)) + "] inner_tiles = [" +
       given + "] into " + to.name + " : " + printType(from) + " -> " +
       printType(to));
  add(name, to.shape, "f32");
}

void LimitProgram::makeShape() {
  int64_t a = pick(1, 6), b = pick(1, 6);
  std::string name = fresh();
  if (isOneIn(2)) {
    Value x = tensor({a, b}, "f32");
    int64_t size = std::max<int64_t>(0, aboutLimit(a * b));
    line(name + " = tensor.collapse_shape " + x.name + " [[0, 1]] : " +
         printType(x) + " into " + printType({size}, "f32"));
    add(name, {size}, "f32");
    return;
  }
  Value x = tensor({a * b}, "f32");
  int64_t sizes[] = {std::max<int64_t>(0, aboutLimit(a)),
                     std::max<int64_t>(0, aboutLimit(b))};
  line(name + " = tensor.expand_shape " + x.name + " [[0, 1]] output_shape " +
       printList(sizes, true) + " : " + printType(x) + " into " +
       printType(sizes, "f32"));
  add(name, sizes, "f32");
}

/// Tensors made of nothing, with sizes that constants say, and questions about
/// sizes.
void LimitProgram::makeMade() {
  int64_t size = aboutLimit(pick(1, 9));
  std::string name = fresh(), count = constant(size);
  if (isOneIn(3)) {
    Value x = anyTensor();
    std::string dim = constant(aboutLimit(pick(0, x.shape.size() - 1)));
    line(name + " = tensor.dim " + x.name + ", " + dim + " : " + printType(x));
    std::string cast = fresh();
    line(cast + " = arith.index_cast " + name + " : index to i64");
    addScalar(cast, "i64");
    return;
  }
  if (isOneIn(2)) {
    line(name + " = tensor.splat " + zero("f32") + "[" + count +
         "] : tensor<?xf32>");
  } else {
    std::string empty = fresh();
    line(empty + " = tensor.empty(" + count + ") : tensor<?xf32>");
    line(name + " = linalg.fill ins(" + zero("f32") + " : f32) outs(" + empty +
         " : tensor<?xf32>) -> tensor<?xf32>");
  }
  add(name, {kOpen}, "f32");
}

/// An op between what forgets a size and what states one; `value` is an open
/// vector of `size` elements, before and after.
void LimitProgram::makeOpen(std::string &value, int64_t &size) {
  StringRef open = "tensor<?xf32>";
  std::string name = fresh();
  auto exponent = [&](StringRef of, StringRef to) {
    line(to + " = math.exp " + of + " : " + open);
  };
  switch (pick(0, 9)) {
  case 0: {
    int64_t count = pick(1, size);
    std::string number = constant(count);
    line(name + " = tensor.extract_slice " + value + "[" +
         Twine(pick(0, size - count)) + "] [" + number + "] [1] : " + open +
         " to " + open);
    size = count;
    break;
  }
  case 1: {
    Value part = tensor({pick(1, size)}, "f32");
    line(name + " = tensor.insert_slice " + part.name + " into " + value +
         "[0] [" + Twine(part.shape[0]) + "] [1] : " + printType(part) +
         " into " + open);
    break;
  }
  case 2: {
    std::string pad = zero("f32");
    int64_t low = pick(0, 2), high = pick(0, 2);
    line(name + " = tensor.pad " + value + " low" + printList({low}) + " high" +
         printList({high}) + " {");
    line("^bb0(%p: index):");
    line("  tensor.yield " + pad + " : f32");
    line("} : " + open + " to " + open);
    size += low + high;
    break;
  }
  case 3: {
    std::string from = constant(0), to = constant(pick(0, 3)), by = constant(1);
    line(name + " = scf.for %i = " + from + " to " + to + " step " + by +
         " iter_args(%t = " + value + ") -> (" + open + ") {");
    exponent("%t", "  %e");
    line(Twine("  scf.yield %e : ") + open);
    line("}");
    break;
  }
  case 4: {
    Value condition = tensor({}, "i1");
    std::string bit = fresh();
    line(bit + " = tensor.extract " + condition.name + "[] : tensor<i1>");
    line(name + " = scf.if " + bit + " -> " + open + " {");
    exponent(value, "  %e");
    line(Twine("  scf.yield %e : ") + open);
    line("} else {");
    line("  scf.yield " + value + " : " + open);
    line("}");
    break;
  }
  case 5:
    exponent(value, name);
    break;
  case 6: {
    std::string wide = fresh(), number = constant(size);
    line(wide + " = tensor.expand_shape " + value +
         " [[0, 1]] output_shape [1, " + number + "] : " + open +
         " into tensor<1x?xf32>");
    line(name + " = tensor.collapse_shape " + wide +
         " [[0, 1]] : tensor<1x?xf32> into " + open);
    break;
  }
  case 7:
    line(name + " = tensor.concat dim(0) " + value + ", " + value + " : (" +
         open + ", " + open + ") -> " + open);
    size *= 2;
    break;
  case 8: {
    std::string any = fresh();
    line(any + " = tensor.cast " + value + " : " + open + " to tensor<*xf32>");
    line(name + " = tensor.cast " + any + " : tensor<*xf32> to " + open);
    break;
  }
  default: {
    std::string zeroth = constant(0), dim = fresh(), empty = fresh();
    line(dim + " = tensor.dim " + value + ", " + zeroth + " : " + open);
    line(empty + " = tensor.empty(" + dim + ") : " + open);
    line(name + " = linalg.generic {indexing_maps = [affine_map<(d0) -> "
                "(d0)>, affine_map<(d0) -> (d0)>], iterator_types = "
                "[\"parallel\"]} ins(" + value + " : " + open + ") outs(" +
         empty + " : " + open + ") {");
    line("^bb0(%a: f32, %b: f32):");
    line("  %c = arith.negf %a : f32");
    line("  linalg.yield %c : f32");
    line(Twine("} -> ") + open);
    break;
  }
  }
  value = name;
}

/// Forgets a size, and states one, at once or after other ops; also in a branch
/// or a body.
void LimitProgram::makeCast() {
  int64_t size = pick(1, 9);
  Value x = tensor({size}, "f32");
  std::string forgotten = fresh(), name = fresh();
  line(forgotten + " = tensor.cast " + x.name + " : " + printType(x) +
       " to tensor<?xf32>");
  for (int64_t i = 0, count = pick(0, 3); i < count; ++i)
    makeOpen(forgotten, size);
  int64_t stated = std::clamp<int64_t>(
      aboutLimit(isOneIn(3) ? size * pick(2, 99) : size), 0, 1 << 12);
  std::string type = printType({stated}, "f32"),
              cast = "tensor.cast " + forgotten + " : tensor<?xf32> to " + type;
  int64_t place = pick(0, 5);
  if (place == 0) {
    Value condition = tensor({}, "i1"), other = tensor({stated}, "f32");
    std::string bit = fresh();
    line(bit + " = tensor.extract " + condition.name + "[] : tensor<i1>");
    line(name + " = scf.if " + bit + " -> " + type + " {");
    line("  %c = " + cast);
    line("  scf.yield %c : " + type);
    line("} else {");
    line("  scf.yield " + other.name + " : " + type);
    line("}");
  } else if (place == 1) {
    Value into = tensor({stated}, "f32");
    line(name + " = linalg.generic {indexing_maps = [affine_map<(d0) -> "
                "(d0)>], iterator_types = [\"parallel\"]} outs(" +
         into.name + " : " + type + ") {");
    line("^bb0(%o: f32):");
    line("  %i = linalg.index 0 : index");
    line("  %c = " + cast);
    line("  %e = tensor.extract %c[%i] : " + type);
    line("  linalg.yield %e : f32");
    line("} -> " + type);
  } else {
    line(name + " = " + cast);
  }
  add(name, {stated}, "f32");
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

std::string LimitProgram::make() {
  using Family = void (LimitProgram::*)();
  static constexpr Family families[] = {
      &LimitProgram::makePad,         &LimitProgram::makeExtractSlice,
      &LimitProgram::makeInsertSlice, &LimitProgram::makeMap,
      &LimitProgram::makeMap,         &LimitProgram::makeWrittenMap,
      &LimitProgram::makeLoop,        &LimitProgram::makeElement,
      &LimitProgram::makeComputedElement,
      &LimitProgram::makeConcat,      &LimitProgram::makeTable,
      &LimitProgram::makeWindow,      &LimitProgram::makeTiles,
      &LimitProgram::makeShape,       &LimitProgram::makeMade,
      &LimitProgram::makeForall,      &LimitProgram::makeCast,
      &LimitProgram::makeCast};
  for (int64_t i = 0, count = pick(1, 3); i < count; ++i)
    (this->*families[pick(0, std::size(families) - 1)])();
  std::string names, types, results;
  for (Value &value : values) {
    // An open result is read through a slice.
    if (llvm::is_contained(value.shape, kOpen)) {
      SmallVector<int64_t> zeros(value.shape.size(), 0),
          ones(value.shape.size(), 1), sizes;
      for (int64_t size : value.shape)
        sizes.push_back(size == kOpen ? aboutLimit(1) : size);
      for (int64_t &size : sizes)
        size = std::max<int64_t>(size, 0);
      std::string name = fresh();
      line(name + " = tensor.extract_slice " + value.name +
           printList(zeros, true) + printList(sizes, true) +
           printList(ones, true) + " : " + printType(value) + " to " +
           printType(sizes, value.element));
      value.name = name;
      value.shape = sizes;
    }
    std::string comma = names.empty() ? "" : ", ";
    names += comma + value.name;
    types += comma + printType(value);
    results += comma + printType(value) + " {dist.output = \"y" +
               value.name.substr(1) + "\"}";
  }
  return "func.func @main(" + head + ") -> (" + results + ") {\n" + body +
         "  return " + names + " : " + types + "\n}\n";
}

FuzzCase mlir::dist::test::makeLimitCase(uint64_t seed) {
  FuzzCase out;
  out.seed = seed;
  out.maxSteps = 3;
  out.text = LimitProgram(seed).make();
  out.options.seed = seed;
  out.options.run = checkLimits;
  return out;
}
