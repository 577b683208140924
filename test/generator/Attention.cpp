//===- Attention.cpp - dist.attention and its adjoint, by definition ------===//
//
// Score by score in f64, as the ops' descriptions have it: no tiles, no blocks,
// nothing skipped.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Interpreter.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
/// The elements of an operand, by the op's dimensions.
struct Elements {
  Tensor tensor;
  SmallVector<int64_t, 6> strides;
  const Scalar *data;
  Scalar *to = nullptr;

  Elements(const Tensor &given, AffineMap map, bool isWritten = false)
      : tensor(given), strides(map.getNumDims(), 0) {
    for (auto [expr, stride] :
         llvm::zip_equal(map.getResults(), tensor.getStrides()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        strides[dim.getPosition()] += stride;
    if (isWritten)
      to = tensor.write();
    data = tensor.read();
  }
  int64_t offset(ArrayRef<int64_t> at) const {
    int64_t sum = 0;
    for (auto [index, stride] : llvm::zip_equal(at, strides))
      sum += index * stride;
    return sum;
  }
  double get(ArrayRef<int64_t> at) const { return data[offset(at)].f; }
  void set(ArrayRef<int64_t> at, double value) {
    to[offset(at)].f = roundTo(tensor.getElementType(), value);
  }
};

/// The code of a region, made ready for one device.
struct Body {
  const ScalarCode *code;
  std::vector<Scalar> registers;
  std::vector<Tensor> captured;
};
} // namespace

LogicalResult Interpreter::runAttention(AttentionLikeOpInterface op) {
  auto adjoint = dyn_cast<AttentionAdjointOp>(op.getOperation());
  SmallVector<const ScalarCode *> codes = {getCode(op, op.getBody().front())};
  if (adjoint)
    codes.push_back(getCode(op, adjoint.getAdjoint().front()));
  if (llvm::is_contained(codes, nullptr))
    return failure();
  unsigned dims = op.getNumDims(), j = op.getKeyDim(), d = op.getFeatureDim(),
           e = op.getValueDim();
  unsigned numExtras = op.getExtras().size();
  unsigned first = op->getNumOperands() - op->getNumResults();

  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    SmallVector<Elements> operands;
    SmallVector<int64_t> sizes(dims, 1);
    for (unsigned number = 0; number < op->getNumOperands(); ++number) {
      AffineMap map = op.getMap(number);
      operands.emplace_back(get(op->getOperand(number)), map,
                            /*isWritten=*/number >= first);
      for (auto [expr, size] :
           llvm::zip_equal(map.getResults(), operands.back().tensor.getShape()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          sizes[dim.getPosition()] = size;
    }
    std::string problem;
    SmallVector<int64_t> at(dims, 0);
    ScalarContext context{at, {}, &garbage, &problem};
    SmallVector<Body> regions;
    for (const ScalarCode *code : codes) {
      Body region{code, {}, {}};
      region.registers = makeRegisters(*code, region.captured);
      regions.push_back(std::move(region));
    }
    auto apply = [&](unsigned number, double score, const double *xCotangent) {
      Body &region = regions[number];
      unsigned to = 0;
      region.registers[to++].f = score;
      if (xCotangent)
        region.registers[to++].f = *xCotangent;
      for (unsigned extra = 0; extra < numExtras; ++extra) {
        const Elements &elements = operands[3 + extra];
        region.registers[to++] = elements.data[elements.offset(at)];
      }
      for (unsigned dim = 0; dim < d; ++dim)
        region.registers[to++].i = at[dim];
      context.tensors = region.captured;
      region.code->run(region.registers.data(), context);
      return region.registers[region.code->getYields()[0]].f;
    };
    auto ifKept = [&](double value) {
      if (!op.dropsWeights())
        return value;
      apply(0, 0, nullptr);
      return regions[0].registers[regions[0].code->getYields()[1]].i ? value
                                                                     : 0.0;
    };
    auto sum = [&](unsigned dim, auto term) {
      double total = 0;
      for (at[dim] = 0; at[dim] < sizes[dim]; ++at[dim])
        total += term();
      at[dim] = 0;
      return total;
    };
    // A NaN among them is the largest.
    auto largestOf = [](ArrayRef<double> numbers) {
      double largest = -INFINITY;
      for (double number : numbers)
        largest = number > largest || std::isnan(number) ? number : largest;
      return largest;
    };
    bool nanIsZero = op.getNanIsZero();
    if (adjoint)
      for (unsigned number = first; number < op->getNumOperands(); ++number)
        std::fill_n(operands[number].to,
                    operands[number].tensor.getNumElements(), Scalar{0});
    SmallVector<int64_t> rows(sizes);
    rows[j] = rows[d] = rows[e] = 1;
    bool isEmpty = llvm::is_contained(rows, 0);
    std::vector<double> scores(sizes[j]), x(sizes[j]);
    SmallVector<int64_t> row(dims, 0);
    if (!isEmpty)
      do {
        at = row;
        context.loops = at;
        for (int64_t key = 0; key < sizes[j]; ++key) {
          at[j] = key;
          steps += sizes[d] + sizes[e];
          scores[key] =
              sum(d, [&] { return operands[0].get(at) * operands[1].get(at); });
          x[key] = apply(0, scores[key], nullptr);
        }
        at[j] = 0;
        if (!adjoint) {
          double m = largestOf(x), l = 0;
          for (double one : x)
            l += std::exp(one - m);
          for (at[e] = 0; at[e] < sizes[e]; ++at[e]) {
            double mean = 0;
            for (at[j] = 0; at[j] < sizes[j]; ++at[j]) {
              double weight = std::exp(x[at[j]] - m) / l;
              if (nanIsZero && std::isnan(weight))
                weight = 0;
              weight = ifKept(weight);
              mean += weight * operands[2].get(at);
            }
            at[j] = 0;
            operands[first].set(at, mean);
          }
          at[e] = 0;
          if (op->getNumResults() == 2)
            operands[first + 1].set(at, m + std::log(l));
          if (op->getNumResults() == 3) {
            operands[first + 1].set(at, m);
            operands[first + 2].set(at, l);
          }
          continue;
        }
        const Elements &o = operands[adjoint.getResultOperand()],
                       &ofO = operands[adjoint.getCotangentOperand()];
        double m = operands[adjoint.getLargestOperand()].get(at),
               l = operands[adjoint.getSumsOperand()].get(at);
        double ofRow = sum(e, [&] { return ofO.get(at) * o.get(at); });
        for (at[j] = 0; at[j] < sizes[j]; ++at[j]) {
          double weight = std::exp(x[at[j]] - m) / l;
          double ofWeight =
              sum(e, [&] { return ofO.get(at) * operands[2].get(at); });
          ofWeight = ifKept(ofWeight);
          if (nanIsZero && std::isnan(weight))
            ofWeight = 0;
          double xCotangent = weight * (ofWeight - ofRow);
          double scoreCotangent = apply(1, scores[at[j]], &xCotangent);
          for (unsigned total = 0; total < adjoint.getNumTotals(); ++total) {
            Elements &to = operands[first + 3 + total];
            to.to[to.offset(at)].f +=
                regions[1].registers[regions[1].code->getYields()[1 + total]].f;
          }
          if (nanIsZero && std::isnan(weight))
            weight = 0;
          weight = ifKept(weight);
          auto add = [&](unsigned number, unsigned dim, auto term) {
            Elements &to = operands[first + number];
            for (at[dim] = 0; at[dim] < sizes[dim]; ++at[dim])
              to.to[to.offset(at)].f += term();
            at[dim] = 0;
          };
          add(0, d, [&] { return scoreCotangent * operands[1].get(at); });
          add(1, d, [&] { return scoreCotangent * operands[0].get(at); });
          add(2, e, [&] { return weight * ofO.get(at); });
        }
        at[j] = 0;
      } while (advance(row, rows));
    if (!problem.empty())
      return fail(op, problem);
    for (unsigned number = 0; number < op->getNumResults(); ++number) {
      Elements &result = operands[first + number];
      for (int64_t k = 0, n = result.tensor.getNumElements(); k < n; ++k)
        result.to[k].f =
            roundTo(result.tensor.getElementType(), result.to[k].f);
      results[number].push_back(result.tensor);
    }
    return success();
  });
}
