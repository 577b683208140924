//===- HaloChains.h - Exchanges that follow each other ----------*- C++ -*-===//
//
// An exchange may be joined with those before it, whose rows its own are made
// of row by row or in windows: these bring more rows, and what is in between is
// computed of more. A chain is a set of exchanges that hang together so, in
// levels: those of a level are made of rows of the one before, and perhaps of
// others. What may be joined are levels that follow each other.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_HALOCHAINS_H
#define DIST_PASSES_OVERLAP_HALOCHAINS_H

#include "passes/cost/StepTime.h"
#include "passes/overlap/WideRows.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// An exchange that one device takes part in once.
struct ChainedHalo {
  HaloExchangeOp op;
  /// In its block.
  int64_t position;
  /// From 1 on; 0 for what cannot even bring more rows.
  unsigned level = 1;
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

/// Levels of a chain that are joined: the exchanges of the first bring the rows
/// of all.
struct JoinedHalos {
  SmallVector<unsigned> heads, joined;
  /// Rows that heads bring, in all; of those whose rows are read.
  llvm::MapVector<unsigned, Widths> brought;
  /// By how much wider the results of joined exchanges are.
  llvm::MapVector<unsigned, Widths> wider;
  /// What is computed of more rows, last things first.
  llvm::MapVector<Rows, Widths> computed;
  /// Rows that an exchange which is no part of this has brought.
  llvm::MapVector<Rows, unsigned> taken;
  /// For rows of a head's operand that are read beside it: where first.
  llvm::SmallDenseMap<unsigned, int64_t> firstReads;
  /// Seconds more, and bytes, than apart; rows of joined exchanges that two
  /// devices compute.
  double seconds = 0;
  int64_t bytes = 0, rowsTwice = 0;
};

/// The exchanges of a block along one line of devices.
class HaloChains {
public:
  /// `times` may be null where nothing is asked about time.
  HaloChains(Block &block, const DeviceLine &line, StepTimes *times);

  SmallVector<ChainedHalo> halos;
  /// By number; those of a chain in the order of the block.
  SmallVector<SmallVector<unsigned>> chains;

  unsigned countLevels(ArrayRef<unsigned> chain) const;
  /// Levels `first` to `last` of a chain as one; none where that is not
  /// possible.
  std::optional<JoinedHalos> join(ArrayRef<unsigned> chain, unsigned first,
                                  unsigned last);
  /// Of an exchange as it is.
  double getSeconds(unsigned number) {
    return getHaloSeconds(halos[number].op, halos[number].getWidths());
  }
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

private:
  void find(const DeviceLine &line);
  void trace(unsigned number, const DeviceLine &line);
  void sortIntoChains();
  void estimate(JoinedHalos &joined);
  double getMaskSeconds(ChainedHalo &halo, int64_t rows);
  double getHaloSeconds(HaloExchangeOp op, Widths widths);

  Block &block;
  StepTimes *times;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> positions;
  /// Exchanges by what they exchange, and by their result.
  llvm::DenseMap<Rows, SmallVector<unsigned, 1>> bySource;
  llvm::DenseMap<Value, unsigned> byResult;
  llvm::DenseMap<Rows, RowOperands> rules;
  /// By how much the first row moves from device to device.
  llvm::DenseMap<Rows, int64_t> steps;
  int64_t devices;
};

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_HALOCHAINS_H
