//===- InputRanges.cpp - What integer inputs index ------------------------===//

#include "inputs/InputRanges.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/Program.h"
#include "inputs/Uses.h"
#include "lowering/buffers/LimitInlining.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/sizes/BindSizes.h"

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

/// The integers of a signless type that is read as signed, or as unsigned.
static Interval getHeld(Type type, bool isUnsigned) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (width >= 64)
    return isUnsigned ? Interval{0, Interval::kNoBound} : Interval();
  double half = std::ldexp(1.0, width - 1);
  return isUnsigned ? Interval{0, 2 * half - 1} : Interval{-half, half - 1};
}

static bool isBounded(Interval range) {
  return !range.isEmpty() && range.low != -Interval::kNoBound &&
         range.high != Interval::kNoBound;
}

/// The values of elements with such uses; empty if none works everywhere.
static Interval getRange(const Uses &uses, Interval held, Interval usual) {
  // Of what is compared with an illegal value, one side is all that is legal.
  bool hasBothSides = !uses.compared.isEmpty() &&
                      (!isBounded(uses.legal) ||
                       (uses.compared & uses.legal) == uses.compared);
  Interval wanted = !uses.reached.isEmpty() ? uses.reached
                    : hasBothSides          ? uses.compared
                    : isBounded(uses.legal) ? uses.legal
                                            : usual;
  Interval range = wanted & uses.legal & held;
  // Places that are counted from the end are the same.
  Interval natural = range & Interval{0, Interval::kNoBound};
  return uses.reached.isEmpty() || natural.isEmpty() ? range : natural;
}

/// The uses of all elements or, where they differ along one dimension alone, of
/// those at each place of it.
static SmallVector<Uses> splitUses(std::map<Part, Uses> uses, ShapedType type,
                                   size_t &dim) {
  Uses all;
  SmallVector<int64_t> dims;
  for (const auto &[part, ofPart] : uses) {
    all.add(ofPart);
    if (part)
      dims.push_back(part->first);
  }
  if (dims.empty() || !llvm::all_equal(dims) || type.isDynamicDim(dims.front()))
    return {all};
  dim = dims.front();
  SmallVector<Uses> places(type.getDimSize(dim), uses[Part()]);
  for (auto [place, ofPlace] : llvm::enumerate(places))
    ofPlace.add(uses[Part({dim, place})]);
  return places;
}

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
  for (BlockArgument argument : entry.getArguments()) {
    unsigned number = argument.getArgNumber();
    Type element = getElementTypeOrSelf(argument);
    if (!element.isIntOrIndex() || element.isInteger(1))
      continue;
    std::string name = getArgumentName(entry, number);
    bool isUnsigned = entry.getArgAttr(number, kUnsignedAttr) != nullptr;
    host::IntegerRange usual = host::usualRange(
        element.isIndex() ? 64 : element.getIntOrFloatBitWidth(), isUnsigned);
    std::map<Part, Uses> uses = findUses(argument);
    if (uses.empty())
      continue;
    Interval held = getHeld(element, isUnsigned);
    Interval fallback{static_cast<double>(usual.low),
                      static_cast<double>(usual.high)};
    host::IntegerRanges ranges;
    ranges.ranges.clear();
    bool isContradictory = false;
    for (const Uses &place :
         splitUses(std::move(uses), dyn_cast<ShapedType>(argument.getType()),
                   ranges.dim)) {
      Interval range = getRange(place, held, fallback);
      isContradictory |= range.isEmpty();
      if (!isBounded(range))
        range = fallback;
      ranges.ranges.push_back({static_cast<int64_t>(range.low),
                               static_cast<int64_t>(range.high)});
    }
    if (llvm::all_equal(ranges.ranges))
      ranges.ranges.resize(1);
    if (isContradictory)
      out.contradictory.push_back(name);
    out.ranges[name] = ranges;
  }
  return out;
}
