//===- AxisDifferencesTest.cpp - What devices see, device by device -------===//
//
// Random values of a mesh's devices are computed one device at a time, with
// coordinates along all parts of axes, nested or not. Values that the analysis
// calls equal along some axes must be equal.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "passes/spmd/verify/AxisDifferences.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;

namespace {
constexpr int64_t kSizes[] = {12, 4};
constexpr int64_t kDevices = 48;

/// A part of one of the axes: `size` blocks of each of `pre` blocks.
struct Part {
  int axis;
  int64_t pre, size;

  int64_t digit(int64_t device) const {
    int64_t at = axis == 0 ? device / kSizes[1] : device % kSizes[1];
    return at / (kSizes[axis] / pre / size) % size;
  }
};

/// What each device sees, as numbers that are equal where that is.
using Labels = std::vector<int64_t>;

template <typename Label> Labels number(const std::vector<Label> &labels) {
  std::map<Label, int64_t> classes;
  Labels out;
  for (const Label &label : labels)
    out.push_back(classes.try_emplace(label, classes.size()).first->second);
  return out;
}

/// The devices that differ from `device` in their digits of the part only.
std::vector<int64_t> getGroup(const Part &part, int64_t device) {
  int64_t step = kSizes[part.axis] / part.pre / part.size *
                 (part.axis == 0 ? kSizes[1] : 1);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < part.size; ++i)
    out.push_back(device + (i - part.digit(device)) * step);
  return out;
}
} // namespace

TEST(AxisDifferences, AreThoseOfTheDevices) {
  MLIRContext context;
  context.loadDialect<DistDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "dist.mesh @m [\"x\" = 12, \"y\" = 4]", &context);
  MeshLayout layout(*module->getOps<MeshOp>().begin());
  std::vector<Part> parts;
  for (int axis : {0, 1})
    for (int64_t pre = 1; pre <= kSizes[axis]; ++pre)
      for (int64_t size = 2; pre * size <= kSizes[axis]; ++size)
        if (kSizes[axis] % (pre * size) == 0)
          parts.push_back({axis, pre, size});
  auto getAxis = [&](const Part &part) {
    bool isWhole = part.size == kSizes[part.axis];
    return AxisRefAttr::get(&context, part.axis == 0 ? "x" : "y", part.pre,
                            isWhole ? 0 : part.size);
  };

  std::mt19937 random(7);
  unsigned same = 0, different = 0;
  for (int round = 0; round < 400; ++round) {
    AxisDifferences differences(layout);
    std::vector<std::pair<Difference, Labels>> values;
    for (int step = 0; step < 12; ++step) {
      const Part &part = parts[random() % parts.size()];
      auto choose = [&]() -> auto & {
        return values[random() % values.size()];
      };
      switch (values.empty() ? 0 : random() % 3) {
      case 0: {
        std::vector<int64_t> digits;
        for (int64_t device = 0; device < kDevices; ++device)
          digits.push_back(part.digit(device));
        values.emplace_back(differences.of(getAxis(part)), number(digits));
        break;
      }
      case 1: {
        auto a = choose(), b = choose();
        std::vector<std::pair<int64_t, int64_t>> both;
        for (int64_t device = 0; device < kDevices; ++device)
          both.emplace_back(a.second[device], b.second[device]);
        values.emplace_back(differences.join(a.first, b.first), number(both));
        break;
      }
      default: {
        auto a = choose();
        std::vector<std::vector<int64_t>> held(kDevices);
        for (int64_t device = 0; device < kDevices; ++device)
          for (int64_t member : getGroup(part, device))
            held[device].push_back(a.second[member]);
        values.emplace_back(differences.combine(a.first, getAxis(part)),
                            number(held));
      }
      }
      for (const Part &other : parts) {
        bool differs = false;
        for (int64_t device = 0; device < kDevices; ++device)
          for (int64_t member : getGroup(other, device))
            differs |=
                values.back().second[member] != values.back().second[device];
        bool isSaid = differences.isWithin(values.back().first, getAxis(other));
        ASSERT_TRUE(isSaid || !differs)
            << "round " << round << ", step " << step;
        same += !isSaid;
        different += isSaid && !differs;
      }
    }
  }
  // What is seen as a product of both axes is all that is lost.
  EXPECT_GT(same, 10000u);
  EXPECT_LT(different, same / 100);
}
