//===- ScheduleMutants.cpp - Damaged schedules ----------------------------===//

#include "test/lowering/oracle/ScheduleMutants.h"
#include "lowering/rt/Rt.h"
#include "lowering/streams/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "test/generator/Choices.h"
#include "test/generator/Diagnostics.h"
#include "test/lowering/oracle/JitProgram.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

void ScheduleCounts::add(const ScheduleCounts &other) {
  started += other.started;
  for (auto &[kind, count] : other.kinds) {
    Count &sum = kinds[kind];
    sum.mutants += count.mutants;
    sum.byOp += count.byOp;
    sum.byPass += count.byPass;
    sum.whenRun += count.whenRun;
    sum.equal += count.equal;
  }
}

std::string ScheduleCounts::toText() const {
  std::string text = std::to_string(started);
  llvm::raw_string_ostream stream(text);
  for (auto &[kind, count] : kinds)
    stream << ";" << kind << "," << count.mutants << "," << count.byOp << ","
           << count.byPass << "," << count.whenRun << "," << count.equal;
  return text;
}

ScheduleCounts ScheduleCounts::parse(StringRef text) {
  ScheduleCounts out;
  SmallVector<StringRef> parts;
  text.split(parts, ';');
  (void)parts.front().getAsInteger(10, out.started);
  for (StringRef part : ArrayRef(parts).drop_front()) {
    SmallVector<StringRef> fields;
    part.split(fields, ',');
    Count &count = out.kinds[fields[0].str()];
    unsigned *numbers[] = {&count.mutants, &count.byOp, &count.byPass,
                           &count.whenRun, &count.equal};
    for (auto [number, field] :
         llvm::zip_equal(numbers, ArrayRef(fields).drop_front()))
      (void)field.getAsInteger(10, *number);
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Damages
//===----------------------------------------------------------------------===//

namespace {
/// A collective on a stream, and its wait.
struct Flight {
  rt::CollectiveOpInterface start;
  rt::WaitOp wait;
};

/// What one mutation of a kind does, to the flight of this number of a program:
/// false where there is nothing to change.
struct Damage {
  StringLiteral kind;
  bool (*apply)(ArrayRef<Flight> flights, unsigned which, Choices &choices);
};
} // namespace

static std::vector<Flight> findFlights(Operation *root) {
  std::vector<Flight> flights;
  root->walk([&](rt::WaitOp wait) {
    flights.push_back({wait.getStart(), wait});
  });
  return flights;
}

/// The op of the flight's block that first touches its result after the wait,
/// itself or through a view.
static Operation *findReader(Flight flight) {
  llvm::SmallPtrSet<Value, 4> names;
  names.insert(flight.wait.getInit());
  auto isName = [&](Value value) { return names.contains(value); };
  for (Operation *op = flight.wait->getNextNode(); op; op = op->getNextNode()) {
    bool touches = false;
    op->walk([&](Operation *inner) {
      touches |= llvm::any_of(inner->getOperands(), isName);
    });
    if (!touches || op->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (!isMemoryEffectFree(op))
      return op;
    names.insert(op->result_begin(), op->result_end());
  }
  return nullptr;
}

static bool dropWait(ArrayRef<Flight> flights, unsigned which, Choices &) {
  Flight flight = flights[which];
  flight.wait.erase();
  return true;
}

static bool waitBeforeStart(ArrayRef<Flight> flights, unsigned which,
                            Choices &) {
  flights[which].wait->moveBefore(flights[which].start);
  return true;
}

/// No mistake: the result is waited for sooner than it need be.
static bool waitSooner(ArrayRef<Flight> flights, unsigned which, Choices &) {
  Flight flight = flights[which];
  if (flight.start->getNextNode() == flight.wait)
    return false;
  flight.wait->moveAfter(flight.start);
  return true;
}

static bool waitTooLate(ArrayRef<Flight> flights, unsigned which, Choices &) {
  Operation *reader = findReader(flights[which]);
  if (!reader)
    return false;
  flights[which].wait->moveAfter(reader);
  return true;
}

/// Two waits have each other's token.
static bool waitForAnother(ArrayRef<Flight> flights, unsigned which,
                           Choices &choices) {
  unsigned other = choices.below(flights.size());
  if (other == which)
    return false;
  rt::WaitOp first = flights[which].wait, second = flights[other].wait;
  Value token = second.getToken();
  second.getTokenMutable().assign(first.getToken());
  first.getTokenMutable().assign(token);
  return true;
}

/// One of several on a communicator runs on another stream.
static bool changeStream(ArrayRef<Flight> flights, unsigned which, Choices &) {
  Flight flight = flights[which];
  bool hasOther = llvm::any_of(flights, [&](Flight other) {
    return other.start != flight.start &&
           other.start.getComm() == flight.start.getComm() &&
           other.start->getBlock() == flight.start->getBlock();
  });
  if (!hasOther)
    return false;
  flight.start->setAttr(
      "stream", Builder(flight.start->getContext())
                    .getI32IntegerAttr(1 + flight.start.getStream() % 15));
  return true;
}

/// A call on the communicator, done where it stands, gets between.
static bool callMeanwhile(ArrayRef<Flight> flights, unsigned which, Choices &) {
  Flight flight = flights[which];
  Operation *call = nullptr;
  flight.wait->getParentOfType<ModuleOp>().walk(
      [&](rt::CollectiveOpInterface op) {
        if (!op.getToken() && op.getComm() == flight.start.getComm() &&
            op->getBlock() == flight.start->getBlock())
          call = op;
      });
  // Operands dominate where it stands, so the flight is made longer instead.
  if (!call || call->isBeforeInBlock(flight.start))
    return false;
  flight.wait->moveAfter(call);
  return true;
}

/// The bytes of the arena that a buffer is; null where it is none of it.
static memref::ViewOp getPlace(Value buffer) {
  while (Operation *op = buffer.getDefiningOp()) {
    if (auto view = dyn_cast<memref::ViewOp>(op))
      return isa<BlockArgument>(view.getSource()) ? view : memref::ViewOp();
    if (!isa<ViewLikeOpInterface>(op))
      return {};
    buffer = op->getOperand(0);
  }
  return {};
}

/// Memory planning ends a life too early: what is written meanwhile lies where
/// the operand or the result does.
static bool reuse(Flight flight, Value inFlight, Choices &choices) {
  memref::ViewOp taken = getPlace(inFlight);
  if (!taken)
    return false;
  SmallVector<memref::ViewOp> written;
  for (Operation *op = flight.start->getNextNode(); op != flight.wait;
       op = op->getNextNode()) {
    // What is written for certain.
    if (auto contract = dyn_cast<rt::ContractOp>(op)) {
      if (memref::ViewOp view = getPlace(contract.getC()))
        written.push_back(view);
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      if (memref::ViewOp view = getPlace(copy.getTarget()))
        written.push_back(view);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = dyn_cast_or_null<func::FuncOp>(
          SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr()));
      for (auto [number, operand] : llvm::enumerate(call.getOperands()))
        if (callee && isa<MemRefType>(operand.getType()) &&
            !callee.getArgAttr(number, "llvm.readonly"))
          if (memref::ViewOp view = getPlace(operand))
            written.push_back(view);
    }
  }
  llvm::erase_if(written, [&](memref::ViewOp view) {
    auto type = view.getType();
    return view == taken || !type.hasStaticShape() ||
           type.getNumElements() == 0 || taken.getType().getNumElements() == 0;
  });
  if (written.empty())
    return false;
  memref::ViewOp view = written[choices.below(written.size())];
  // The place may be computed after the view.
  if (taken->getBlock() != view->getBlock())
    return false;
  APInt shift;
  if (!matchPattern(taken.getByteShift(), m_ConstantInt(&shift)))
    return false;
  OpBuilder builder(view);
  view.getByteShiftMutable().assign(
      arith::ConstantIndexOp::create(builder, view.getLoc(),
                                     shift.getSExtValue())
          .getResult());
  return true;
}

static bool reuseOperand(ArrayRef<Flight> flights, unsigned which,
                         Choices &choices) {
  Flight flight = flights[which];
  return reuse(flight, flight.start.getSent(), choices);
}

static bool reuseResult(ArrayRef<Flight> flights, unsigned which,
                        Choices &choices) {
  Flight flight = flights[which];
  return reuse(flight, flight.start.getReceived(), choices);
}

/// Two neighbours on one communicator change places; a mistake if one rank does
/// so.
static bool swapStarts(ArrayRef<Flight> flights, unsigned which, Choices &) {
  Flight flight = flights[which];
  Operation *next = nullptr;
  for (Operation *op = flight.start->getNextNode(); op && !next;
       op = op->getNextNode())
    if (auto other = dyn_cast<rt::CollectiveOpInterface>(op);
        other && other.getToken() && other.getComm() == flight.start.getComm())
      next = op;
  if (!next || flight.wait->isBeforeInBlock(next))
    return false;
  for (Operation *op = flight.start->getNextNode(); op != next;
       op = op->getNextNode())
    for (Value operand : next->getOperands())
      if (operand.getDefiningOp() == op)
        return false;
  next->moveBefore(flight.start);
  return true;
}

static const Damage kDamages[] = {
    {"wait dropped", dropWait},
    {"wait before the start", waitBeforeStart},
    {"wait too late", waitTooLate},
    {"wait of another", waitForAnother},
    {"another stream", changeStream},
    {"call meanwhile", callMeanwhile},
    {"operand's life shortened", reuseOperand},
    {"result's life shortened", reuseResult},
};
/// What no verifier can tell.
static const Damage kSooner = {"wait sooner", waitSooner};
static const Damage kSwapped = {"starts swapped on one rank", swapStarts};

//===----------------------------------------------------------------------===//
// What becomes of them
//===----------------------------------------------------------------------===//

/// Counts the mutants of a program whose memory is planned.
static void countStatic(ModuleOp planned, uint64_t seed, unsigned most,
                        ScheduleCounts &counts) {
  size_t flights = findFlights(planned).size();
  for (const Damage &damage : kDamages) {
    Choices choices(seed);
    std::vector<int64_t> order = choices.permutation(flights);
    unsigned made = 0;
    for (int64_t which : order) {
      if (made == most)
        break;
      OwningOpRef<ModuleOp> mutant = planned.clone();
      if (!damage.apply(findFlights(*mutant), which, choices))
        continue;
      ++made;
      ScheduleCounts::Count &count = counts.kinds[damage.kind.str()];
      ++count.mutants;
      Diagnostics diagnostics(planned.getContext());
      if (failed(verify(*mutant))) {
        ++count.byOp;
        continue;
      }
      PassManager pass(planned.getContext());
      pass.addPass(createDistVerifySchedule());
      if (failed(pass.run(*mutant)))
        ++count.byPass;
    }
  }
}

/// A flight that can be damaged so, at random.
static std::optional<unsigned> findPlace(ModuleOp planned, const Damage &damage,
                                         uint64_t seed) {
  Choices choices(seed);
  for (int64_t which : choices.permutation(findFlights(planned).size())) {
    OwningOpRef<ModuleOp> mutant = planned.clone();
    if (damage.apply(findFlights(*mutant), which, choices))
      return which;
  }
  return std::nullopt;
}

/// The program with this damage, made before its schedule is verified.
static std::unique_ptr<JitProgram> makeDamaged(ModuleOp module,
                                               const Damage &damage,
                                               unsigned which, uint64_t seed,
                                               std::string &error) {
  JitOptions options;
  options.beforePass = [&](StringRef pass, Operation *op) {
    Choices choices(seed);
    if (pass == "dist-verify-schedule")
      damage.apply(findFlights(op), which, choices);
  };
  return JitProgram::make(module, options, error);
}

ScheduleCounts mlir::dist::test::countScheduleMutants(
    ModuleOp module, uint64_t seed, unsigned most,
    const std::vector<Tensor> *arguments, std::string &problem) {
  ScheduleCounts counts;
  const Damage damages[] = {kSooner, kSwapped};
  std::optional<unsigned> places[2];
  JitOptions options;
  options.beforePass = [&](StringRef pass, Operation *op) {
    if (pass != "dist-verify-schedule")
      return;
    auto planned = cast<ModuleOp>(op);
    counts.started = findFlights(op).size();
    countStatic(planned, seed, most, counts);
    for (auto [damage, place] : llvm::zip_equal(damages, places))
      place = findPlace(planned, damage, seed);
  };
  std::unique_ptr<JitProgram> program =
      JitProgram::make(module, options, problem);
  if (!program || !arguments || counts.started == 0)
    return counts;
  auto expected = program->run(*arguments, seed, problem);
  if (failed(expected))
    return counts;
  for (auto [damage, place] : llvm::zip_equal(damages, places)) {
    if (!place)
      continue;
    std::unique_ptr<JitProgram> mutant =
        makeDamaged(module, damage, *place, seed, problem);
    ScheduleCounts::Count &count = counts.kinds[damage.kind.str()];
    ++count.mutants;
    if (!mutant && damage.kind == kSwapped.kind) {
      // What the second sends is made after the first has started.
      ++count.byPass;
      problem.clear();
      continue;
    }
    if (!mutant) {
      problem = (damage.kind + ": is refused: " + problem).str();
      return counts;
    }
    if (damage.kind == kSooner.kind) {
      if (auto mistake =
              findStreamMistake(*mutant, *arguments, *expected, seed))
        problem = (damage.kind + ": " + *mistake).str();
      else
        ++count.equal;
      continue;
    }
    program->setFirstRank(mutant.get());
    std::string why;
    if (failed(program->run(*arguments, seed, why)))
      ++count.whenRun;
    program->setFirstRank(nullptr);
  }
  return counts;
}
