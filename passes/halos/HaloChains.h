//===- HaloChains.h - Exchanges that follow each other ----------*- C++ -*-===//
//
// An exchange may be joined with those before it, whose rows its own are made
// of row by row or in windows: these bring more rows, and what is in between is
// computed of more. A chain is a set of exchanges that hang together so, in
// levels: those of a level are made of rows of the one before, and perhaps of
// others. What may be joined are levels that follow each other (HaloGroup.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_HALOCHAINS_H
#define DIST_PASSES_HALOS_HALOCHAINS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/cost/StepTime.h"
#include "passes/halos/WideRows.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

/// An exchange that one device takes part in once.
struct ChainedHalo {
  HaloExchangeOp op;
  /// In its block.
  int64_t position;
  /// From 1 on; 0 for what cannot even bring more rows.
  unsigned level = 1;
  /// Which one it is in; none where it stands alone.
  std::optional<unsigned> chain = {};
  /// Those that bring the rows that its own are made of.
  SmallVector<unsigned, 2> parents = {};
  /// Why it is not joined with any before it, or "".
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
  /// `times` may be null where nothing is asked about time.
  HaloChains(Block &block, const DeviceLine &line, StepTimes *times);

  SmallVector<ChainedHalo> halos;

  /// What takes rows apart that had been merged with other dimensions, where
  /// chains end.
  ArrayRef<tensor::ExpandShapeOp> getMerged() const {
    return merged.getArrayRef();
  }

  unsigned countChains() const { return chains.size(); }
  /// By number, in the order of the block.
  ArrayRef<unsigned> getChain(unsigned chain) const { return chains[chain]; }
  unsigned countLevels(unsigned chain) const { return levels[chain].size(); }
  /// Of one level, from 1 on.
  ArrayRef<unsigned> getLevel(unsigned chain, unsigned level) const {
    return levels[chain][level - 1];
  }

  /// The exchange whose result's rows these are, if they are one's.
  std::optional<unsigned> findExchange(Rows rows) const;
  /// Those that exchange the rows, and could bring more of them.
  ArrayRef<unsigned> getExchangesOf(Rows rows) const;
  /// Null where a chain does not go on.
  const RowOperands *findRule(Rows rows) const;

  /// How an op's rows are made, that a chain goes through.
  const RowOperands &getRule(Rows rows) const {
    return rules.find(rows)->second;
  }
  /// Whether they are made of no others: fills, say.
  bool isMadeOfNone(Rows rows) const {
    auto rule = rules.find(rows);
    return rule != rules.end() && rule->second.empty();
  }
  Operation *getOp(int64_t position) const { return ops[position]; }
  int64_t getPosition(Operation *op) const { return positions.lookup(op); }
  /// Before the block, -1.
  int64_t findPosition(Operation *op) const {
    auto found = positions.find(op);
    return found == positions.end() ? -1 : found->second;
  }

  /// Of an exchange as it is, or as wide as that.
  int64_t getBytesSent(unsigned number, std::optional<Widths> widths = {});
  double getSeconds(unsigned number, std::optional<Widths> widths = {});
  /// Seconds more, 0 where nothing was asked about time: of an exchange that
  /// brings more rows; of one that is gone and whose result is `wider`, with
  /// what fills in its ends; and of so many more rows of what an op makes.
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
  /// Exchanges by what they exchange, and by their result.
  llvm::DenseMap<Rows, SmallVector<unsigned, 1>> bySource;
  llvm::DenseMap<Value, unsigned> byResult;
  llvm::DenseMap<Rows, RowOperands> rules;
  llvm::SmallSetVector<tensor::ExpandShapeOp, 4> merged;
  /// By how much the first row moves from device to device.
  llvm::DenseMap<Rows, int64_t> steps;
  /// By number; and what of a chain is in each level.
  SmallVector<SmallVector<unsigned>> chains;
  SmallVector<SmallVector<SmallVector<unsigned, 1>>> levels;
  /// What was asked before: of exchanges as they are, of a row.
  llvm::DenseMap<unsigned, double> secondsApart;
  llvm::DenseMap<Rows, double> secondsOfRow;
  int64_t devices;
};

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_HALOCHAINS_H
