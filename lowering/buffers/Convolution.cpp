//===- Convolution.cpp - Convolutions among linalg ops --------------------===//

#include "lowering/buffers/Convolution.h"
#include "lowering/buffers/ContractionMatch.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A loop times a constant.
struct Term {
  unsigned loop;
  int64_t factor;
};
} // namespace

static FailureOr<Term> matchTerm(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return Term{dim.getPosition(), 1};
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return failure();
  auto dim = dyn_cast<AffineDimExpr>(product.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!dim || !factor || factor.getValue() < 1)
    return failure();
  return Term{dim.getPosition(), factor.getValue()};
}

namespace {

/// Reads the maps of an op of which operand `image` is the image.
class Matcher {
public:
  Matcher(linalg::LinalgOp op, unsigned image)
      : image(op.getIndexingMapsArray()[image]),
        kernel(op.getIndexingMapsArray()[1 - image]),
        out(op.getIndexingMapsArray()[2]), pending(op.getNumLoops(), true) {
    found.image = image;
    found.kernel = 1 - image;
  }

  FailureOr<Convolution> run() {
    if (!kernel.isProjectedPermutation() || !out.isProjectedPermutation())
      return failure();
    for (auto [dim, expr] : llvm::enumerate(image.getResults()))
      if (isa<AffineDimExpr>(expr)
              ? failed(addLoop(cast<AffineDimExpr>(expr).getPosition(), dim))
              : failed(addWindow(expr, dim)))
        return failure();
    for (unsigned loop = 0; loop < pending.size(); ++loop) {
      std::optional<int64_t> k = find(kernel, loop), o = find(out, loop);
      if (!pending[loop])
        continue;
      if (!k || !o || failed(set(found.feature, {*k, *o})))
        return failure();
    }
    if (found.windows.empty() || found.windows.size() > 3)
      return failure();
    return found;
  }

private:
  static std::optional<int64_t> find(AffineMap map, unsigned loop) {
    std::optional<unsigned> position =
        map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
    if (!position)
      return std::nullopt;
    return *position;
  }

  static LogicalResult set(SmallVector<int64_t> &role, ArrayRef<int64_t> dims) {
    if (!role.empty())
      return failure();
    role.assign(dims.begin(), dims.end());
    return success();
  }

  /// The image is read at the loop itself.
  LogicalResult addLoop(unsigned loop, int64_t dim) {
    if (!std::exchange(pending[loop], false))
      return failure();
    std::optional<int64_t> k = find(kernel, loop), o = find(out, loop);
    if (k && o)
      return set(found.group, {dim, *k, *o});
    if (k)
      return set(found.channel, {dim, *k});
    if (o)
      return set(found.batch, {dim, *o});
    return failure();
  }

  LogicalResult addWindow(AffineExpr expr, int64_t dim) {
    auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!sum || sum.getKind() != AffineExprKind::Add)
      return failure();
    int64_t offset = 0;
    if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
      offset = constant.getValue();
      sum = dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
      if (offset < 0 || !sum || sum.getKind() != AffineExprKind::Add)
        return failure();
    }
    FailureOr<Term> place = matchTerm(sum.getLHS()),
                    tap = matchTerm(sum.getRHS());
    if (failed(place) || failed(tap))
      return failure();
    if (!find(out, place->loop))
      std::swap(place, tap);
    std::optional<int64_t> o = find(out, place->loop),
                           k = find(kernel, tap->loop);
    if (!o || !k || find(kernel, place->loop) || find(out, tap->loop) ||
        !std::exchange(pending[place->loop], false) ||
        !std::exchange(pending[tap->loop], false))
      return failure();
    found.windows.push_back({dim, *k, *o, place->factor, tap->factor, offset});
    return success();
  }

  AffineMap image, kernel, out;
  /// Loops whose part is not known yet.
  SmallVector<bool> pending;
  Convolution found;
};

} // namespace

FailureOr<Convolution> mlir::dist::matchConvolution(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumRegions() != 1 || !isMultiplyAdd(*op.getBlock()))
    return failure();
  for (unsigned image : {0, 1})
    if (FailureOr<Convolution> found = Matcher(op, image).run();
        succeeded(found))
      return found;
  return failure();
}
