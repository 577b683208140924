//===- CompareJson.cpp - What comparisons found, as JSON ------------------===//

#include "verify/CompareJson.h"

#include <cmath>
#include <tuple>

using namespace mlir::dist;
namespace host = ::dist;

/// JSON has no NaN and no infinity.
static llvm::json::Value toJson(double number) {
  return std::isfinite(number) ? llvm::json::Value(number)
                               : llvm::json::Value(nullptr);
}

static llvm::json::Object toJson(const host::Nonfinite &found) {
  llvm::json::Object object{{"nan", found.nans},
                            {"infinite", found.infinities}};
  if (found.any())
    object["first"] = llvm::json::Array(found.first);
  return object;
}

void mlir::dist::addChecks(llvm::json::Object &object,
                           llvm::ArrayRef<host::Difference> checks) {
  double absolute = 0, relative = 0;
  int64_t compared = 0, undetermined = 0;
  const host::Difference *worst = &checks.front();
  for (const host::Difference &found : checks) {
    absolute = std::max(absolute, found.maxAbsolute);
    relative = std::max(relative, found.maxRelative);
    compared += found.compared;
    undetermined = std::max(undetermined, found.undetermined);
    if (std::tie(worst->equal, found.maxUsed) >
        std::tie(found.equal, worst->maxUsed))
      worst = &found;
  }
  object["max_abs_err"] = toJson(absolute);
  object["max_rel_err"] = toJson(relative);
  object["max_err_of_allowed"] = toJson(worst->maxUsed);
  object["compared"] = compared;
  if (undetermined > 0)
    object["undetermined"] = undetermined;
  if (worst->actualNonfinite.any() || worst->expectedNonfinite.any())
    object["nonfinite"] =
        llvm::json::Object{{"actual", toJson(worst->actualNonfinite)},
                           {"expected", toJson(worst->expectedNonfinite)}};
  if (worst->hasWorst)
    object["worst"] =
        llvm::json::Object{{"index", llvm::json::Array(worst->worst)},
                           {"actual", toJson(worst->actual)},
                           {"expected", toJson(worst->expected)},
                           {"allowed", toJson(worst->allowed)},
                           {"rank", worst->rank}};
}
