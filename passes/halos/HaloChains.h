//===- HaloChains.h - Consecutive halo exchanges ----------------*- C++ -*-===//
//
// An exchange may be joined with exchanges before it, if its operand's rows are
// computed from theirs row by row or in windows. These then bring more rows,
// and the ops in between compute more rows.
//
// A chain is a set of exchanges that are connected in this way, in levels. The
// rows of a level are computed from those of the level before, and perhaps from
// others. Consecutive levels may be joined (HaloGroup.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_HALOCHAINS_H
#define DIST_PASSES_HALOS_HALOCHAINS_H

#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/cost/StepTime.h"
#include "passes/halos/HaloWideningWriter.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

/// One exchange of a block.
struct ChainedHalo {
  HaloExchangeOp op;
  /// Its position in the block.
  int64_t position;
  /// From 1 on; 0 if it cannot even bring more rows.
  unsigned level = 1;
  /// The chain that it is in; empty if it stands alone.
  std::optional<unsigned> chain = {};
  /// The exchanges that bring the rows that its operand is computed from.
  SmallVector<unsigned, 2> parents = {};
  /// Why it is not joined with an earlier exchange, or "".
  std::string why = {};

  Rows getSource() { return {op.getOperand(), op.getDim()}; }
  Rows getResult() { return {op.getResult(), op.getDim()}; }
  Widths getWidths() {
    return {static_cast<int64_t>(op.getLow()),
            static_cast<int64_t>(op.getHigh())};
  }
};

/// The exchanges of a block along one line of devices.
class HaloChains {
public:
  /// `times` may be null if no times are needed.
  HaloChains(Block &block, const DeviceLine &line, StepTimes *times);

  SmallVector<ChainedHalo> halos;

  /// The ops at the ends of chains that split rows that were merged with other
  /// dimensions.
  ArrayRef<tensor::ExpandShapeOp> getMerged() const {
    return merged.getArrayRef();
  }

  unsigned countChains() const { return chains.size(); }
  /// By number, in the order of the block.
  ArrayRef<unsigned> getChain(unsigned chain) const { return chains[chain]; }
  unsigned countLevels(unsigned chain) const { return levels[chain].size(); }
  /// The exchanges of one level, from 1 on.
  ArrayRef<unsigned> getLevel(unsigned chain, unsigned level) const {
    return levels[chain][level - 1];
  }

  /// The exchange whose result has these rows, if any.
  std::optional<unsigned> findExchange(Rows rows) const;
  /// The exchanges that bring the rows, and could bring more of them.
  ArrayRef<unsigned> getExchangesOf(Rows rows) const;
  /// Null if the chain ends here.
  const RowOperands *findRule(Rows rows) const;

  /// How an op that a chain goes through computes its rows.
  const RowOperands &getRule(Rows rows) const {
    return rules.find(rows)->second;
  }
  /// Whether they depend on no other rows, as in a fill.
  bool isMadeOfNone(Rows rows) const {
    auto rule = rules.find(rows);
    return rule != rules.end() && rule->second.empty();
  }
  Operation *getOp(int64_t position) const { return ops[position]; }
  int64_t getPosition(Operation *op) const { return positions.lookup(op); }
  /// -1: before the block.
  int64_t findPosition(Operation *op) const {
    auto found = positions.find(op);
    return found == positions.end() ? -1 : found->second;
  }

  /// The time of an exchange as it is, or of one as wide as that.
  int64_t getBytesSent(unsigned number, std::optional<Widths> widths = {});
  double getSeconds(unsigned number, std::optional<Widths> widths = {});
  /// Additional seconds; 0 if no times are needed. Three cases: an exchange
  /// that brings more rows; one that is removed and whose result is `wider`,
  /// with the fill of its ends; so many more rows of an op.
  double getSecondsMore(unsigned number, Widths widths);
  double getJoinedSeconds(unsigned number, Widths wider);
  double getComputeSeconds(Rows rows, Widths widths);

private:
  void find(const DeviceLine &line);
  void trace(unsigned number, const DeviceLine &line);
  void sortIntoChains();
  double getMaskSeconds(ChainedHalo &halo, int64_t rows);
  double getSecondsOfRow(Rows rows);
  double getHaloSeconds(HaloExchangeOp op, Widths widths);

  Block &block;
  StepTimes *times;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> positions;
  /// Exchanges by operand, and by result.
  llvm::DenseMap<Rows, SmallVector<unsigned, 1>> bySource;
  llvm::DenseMap<Value, unsigned> byResult;
  llvm::DenseMap<Rows, RowOperands> rules;
  llvm::SmallSetVector<tensor::ExpandShapeOp, 4> merged;
  /// How far the first row moves from device to device.
  llvm::DenseMap<Rows, int64_t> steps;
  /// By number; and the exchanges of each level of a chain.
  SmallVector<SmallVector<unsigned>> chains;
  SmallVector<SmallVector<SmallVector<unsigned, 1>>> levels;
  /// Cached times of exchanges as they are, and of a row.
  llvm::DenseMap<unsigned, double> secondsApart;
  llvm::DenseMap<Rows, double> secondsOfRow;
  int64_t devices;
};

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_HALOCHAINS_H
