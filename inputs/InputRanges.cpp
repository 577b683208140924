//===- InputRanges.cpp - What integer inputs index ------------------------===//

#include "inputs/InputRanges.h"
#include "dialects/dist/IR/EntryAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "inputs/ranges/Signs.h"
#include "inputs/ranges/Tracer.h"
#include "inputs/ranges/Values.h"
#include "lowering/buffers/LimitInlining.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/sizes/BindSizes.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;
namespace host = ::dist;

/// Elements whose ranges differ are told apart up to this many places.
static constexpr int64_t kMostPlaces = int64_t(1) << 20;

/// The sizes of dimensions along which ranges may differ, 1 of others; nothing
/// if there are too many places.
static std::optional<host::Shape> getGrid(ArrayRef<int64_t> shape,
                                          const FoundByRegion &found) {
  host::Shape grid(shape.size(), 1);
  int64_t places = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isWhole = llvm::all_of(found, [&, dim = dim](const auto &entry) {
      return entry.second.region[dim].isWhole(shape[dim]);
    });
    if (isWhole || ShapedType::isDynamic(size))
      continue;
    grid[dim] = size;
    places *= size;
    if (places > kMostPlaces)
      return std::nullopt;
  }
  return grid;
}

/// Calls `act` for the row-major number of each place of the grid that is in
/// the region.
static void forEachPlace(const host::Shape &grid, const Places &region,
                         function_ref<void(int64_t)> act, size_t dim = 0,
                         int64_t number = 0) {
  if (dim == grid.size())
    return act(number);
  const Span &span = region[dim];
  if (grid[dim] == 1)
    return forEachPlace(grid, region, act, dim + 1, number);
  int64_t end = ShapedType::isDynamic(span.count)
                    ? grid[dim]
                    : std::min(grid[dim], span.last() + 1);
  for (int64_t at = span.first; at < end; at += span.step)
    forEachPlace(grid, region, act, dim + 1, number * grid[dim] + at);
}

namespace {
/// Makes the ranges of one input of what was found of it.
struct RangesMaker {
  Interval held;
  /// Where nothing is known.
  Interval usual;
  bool isContradictory = false;

  host::IntegerRange make(Interval worth, Interval legal) {
    Interval range = worth.isEmpty() ? usual : worth;
    // Negative places that a program counts from the end reach no more.
    bool isIndex = legal.low != -kNoBound || legal.high != kNoBound;
    range = range & legal & held;
    Interval natural = range & Interval::natural();
    if (isIndex && !natural.isEmpty())
      range = natural;
    isContradictory |= range.isEmpty();
    if (!range.isBounded())
      range = usual;
    return {static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)};
  }

  host::IntegerRanges make(ArrayRef<int64_t> shape,
                           const FoundByRegion &found) {
    host::IntegerRanges out;
    std::optional<host::Shape> grid = getGrid(shape, found);
    if (!grid)
      grid = host::Shape(shape.size(), 1);
    int64_t places = 1;
    for (int64_t size : *grid)
      places *= size;
    // Elements that are asked the same are of one kind.
    std::vector<int64_t> kinds(places, 0);
    std::vector<Found> ofKind(1);
    for (const auto &[key, of] : found) {
      std::map<int64_t, int64_t> split;
      forEachPlace(*grid, of.region, [&, &of = of](int64_t place) {
        auto [kind, isNew] = split.try_emplace(kinds[place], ofKind.size());
        if (isNew) {
          Found both = ofKind[kinds[place]];
          both.worth = both.worth | of.worth;
          both.legal = both.legal & of.legal;
          ofKind.push_back(both);
        }
        kinds[place] = kind->second;
      });
    }
    // Numbered as they first come.
    std::map<int64_t, int64_t> numbers;
    out.ranges.clear();
    for (int64_t &kind : kinds) {
      auto [number, isNew] = numbers.try_emplace(kind, out.ranges.size());
      if (isNew)
        out.ranges.push_back(make(ofKind[kind].worth, ofKind[kind].legal));
      kind = number->second;
    }
    if (out.ranges.size() > 1) {
      out.grid = *grid;
      out.which = kinds;
    }
    return out;
  }
};
} // namespace

/// A function that is called from several places is asked for other things in
/// each of them. Lowering inlines all as well.
static OwningOpRef<ModuleOp> inlineCalls(ModuleOp module) {
  {
    // Compiling says so.
    ScopedDiagnosticHandler quiet(module.getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(limitInlining(module)))
      return nullptr;
  }
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager inlining(module.getContext());
  inlining.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  return succeeded(inlining.run(*copy)) ? std::move(copy) : nullptr;
}

IndexRanges mlir::dist::findIndexRanges(ModuleOp given) {
  IndexRanges out;
  OwningOpRef<ModuleOp> inlined = inlineCalls(given);
  ModuleOp module = inlined ? *inlined : given;
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(module));
  if (!entry)
    return out;
  Tracer tracer(module);
  module.walk([&](Operation *op) { tracer.visit(op); });
  tracer.finish();
  for (auto [number, argument] : llvm::enumerate(entry.getArguments())) {
    auto type = dyn_cast<ShapedType>(argument.getType());
    Type element = getElementTypeOrSelf(argument);
    if (!element.isIntOrIndexOrFloat() || element.isInteger(1))
      continue;
    std::string name = getArgumentName(entry, number);
    const FoundByRegion *found = tracer.getFound(argument);
    if (isa<FloatType>(element)) {
      Interval legal;
      if (found)
        for (const auto &[key, of] : *found)
          legal = legal & of.legal;
      if (legal.isBounded())
        // Adding 0 makes -0 a 0.
        out.reals[name] = {legal.low + 0.0, legal.high + 0.0};
      continue;
    }
    bool isUnsigned = entry.getArgAttr(number, kUnsignedAttr) != nullptr;
    host::IntegerRange usual = host::usualRange(
        element.isIndex() ? 64 : element.getIntOrFloatBitWidth(), isUnsigned);
    RangesMaker maker{
        getHeld(element, isUnsigned),
        {static_cast<double>(usual.low), static_cast<double>(usual.high)}};
    if (found) {
      out.ranges[name] =
          maker.make(type ? type.getShape() : ArrayRef<int64_t>(), *found);
      if (maker.isContradictory)
        out.contradictory.push_back(name);
    } else if (usual.low == 0 && !isUnsigned &&
               takesBothSigns(module, argument)) {
      out.ranges[name].ranges = {{-usual.high - 1, usual.high}};
    }
  }
  return out;
}
