//===- HaloGroup.cpp - Levels of a chain that exchange once ---------------===//

#include "passes/halos/HaloGroup.h"

using namespace mlir;
using namespace mlir::dist;

HaloGroup::HaloGroup(HaloChains &chains, unsigned chain, unsigned first,
                     unsigned last, bool mayGrow)
    : chains(chains), chain(chain), first(first), last(last), mayGrow(mayGrow) {
  for (unsigned level = first + 1; level <= last; ++level)
    joinLevel(level);
  walk();
}

std::optional<JoinedHalos> HaloGroup::join(HaloChains &chains, unsigned chain,
                                           unsigned first, unsigned last) {
  HaloGroup group(chains, chain, first, last, /*mayGrow=*/false);
  if (!group.isPossible())
    return std::nullopt;
  llvm::append_range(group.out.heads, chains.getLevel(chain, first));
  for (unsigned level = first + 1; level <= last; ++level)
    llvm::append_range(group.out.joined, chains.getLevel(chain, level));
  llvm::sort(group.out.joined); // the order of the block
  group.countBytes();
  return std::move(group.out);
}

bool HaloGroup::isHead(unsigned number) const {
  const ChainedHalo &halo = chains.halos[number];
  return halo.chain == chain && halo.level == first;
}

bool HaloGroup::isJoined(unsigned number) const {
  const ChainedHalo &halo = chains.halos[number];
  return halo.chain == chain && halo.level > first && halo.level <= last;
}

void HaloGroup::joinLevel(unsigned level) {
  for (unsigned number : chains.getLevel(chain, level))
    want(chains.halos[number].getResult(), {}, chains.halos[number].position);
}

void HaloGroup::queueWaiting() {
  for (Rows rows : waiting) {
    note(rows);
    queue(rows, wanted[rows]);
  }
}

void HaloGroup::extend() {
  joinLevel(first--);
  queueWaiting();
  walk();
}

HaloGroup::AsItIs::AsItIs(HaloGroup &group)
    : group(group), brought(group.out.brought), taken(group.out.taken),
      firstReads(group.out.firstReads), waiting(group.waiting),
      seconds(group.out.seconds), headSeconds(group.out.headSeconds),
      rowsTwice(group.out.rowsTwice), isDead(group.isDead),
      isMissing(group.isMissing), isUnknown(group.isUnknown) {
  group.mayGrow = false;
  group.journal = &journal;
  group.queueWaiting();
  group.walk();
}

HaloGroup::AsItIs::~AsItIs() {
  group.todo = {};
  for (auto &[rows, before] : llvm::reverse(journal))
    if (before)
      group.wanted[rows] = *before;
    else
      group.wanted.erase(rows);
  group.out.brought = std::move(brought);
  group.out.taken = std::move(taken);
  group.out.firstReads = std::move(firstReads);
  group.out.seconds = seconds;
  group.out.headSeconds = headSeconds;
  group.out.rowsTwice = rowsTwice;
  group.waiting = std::move(waiting);
  group.isDead = isDead;
  group.isMissing = isMissing;
  group.isUnknown = isUnknown;
  group.mayGrow = true;
  group.journal = nullptr;
}

//===----------------------------------------------------------------------===//
// From the last ops to the first
//===----------------------------------------------------------------------===//

void HaloGroup::queue(Rows rows, Wanted &need) {
  if (std::exchange(need.isQueued, true))
    return;
  todo.push({chains.findPosition(rows.first.getDefiningOp()), rows});
}

void HaloGroup::note(Rows rows) {
  if (!journal)
    return;
  auto known = wanted.find(rows);
  journal->push_back({rows, known == wanted.end()
                                ? std::optional<Wanted>()
                                : std::optional<Wanted>(known->second)});
}

/// In one walk, all readers of rows are visited before the op that computes
/// them.
void HaloGroup::want(Rows rows, Widths widths, int64_t reader) {
  note(rows);
  auto [entry, isNew] = wanted.try_emplace(rows, Wanted{widths, reader});
  Wanted &need = entry->second;
  bool isMore = isNew || !widths.isWithin(need.widths);
  need.widths.cover(widths);
  need.firstRead = std::min(need.firstRead, reader);
  if (isMore)
    queue(rows, need);
}

void HaloGroup::walk() {
  out.brought.clear();
  out.taken.clear();
  out.firstReads.clear();
  out.headSeconds = 0;
  waiting.clear();
  isMissing = isUnknown = false;
  // In a trial it is enough to know that it is impossible.
  while (!todo.empty() && !(journal && (isDead || isMissing))) {
    Rows rows = todo.top().second;
    todo.pop();
    visit(rows);
  }
  for (auto &[number, widths] : out.brought)
    out.headSeconds += chains.getSecondsMore(number, widths);
}

void HaloGroup::visit(Rows rows) {
  note(rows);
  wanted[rows].isQueued = false;
  Wanted need = wanted[rows];
  if (std::optional<unsigned> number = chains.findExchange(rows))
    return visitExchange(*number, rows, need);
  if (need.widths.getSum() == 0)
    return;
  if (visitSource(rows, need))
    waiting.insert(rows);
  else
    compute(rows, need);
}

void HaloGroup::visitExchange(unsigned number, Rows rows, const Wanted &need) {
  ChainedHalo &halo = chains.halos[number];
  Widths own = halo.getWidths();
  Widths all{own.low + need.widths.low, own.high + need.widths.high};
  if (isJoined(number)) {
    if (need.done) {
      out.rowsTwice -= own.getSum() + need.done->getSum();
      out.seconds -= chains.getJoinedSeconds(number, *need.done);
    }
    wanted[rows].done = need.widths;
    if (!journal)
      out.wider[number] = need.widths;
    out.rowsTwice += all.getSum();
    out.seconds += chains.getJoinedSeconds(number, need.widths);
    return want(halo.getSource(), all, halo.position);
  }
  waiting.insert(rows);
  if (isHead(number))
    bring(number, all);
  else
    isMissing = true;
}

bool HaloGroup::visitSource(Rows rows, const Wanted &need) {
  ArrayRef<unsigned> same = chains.getExchangesOf(rows);
  auto head = llvm::find_if(same, [&](unsigned n) { return isHead(n); });
  if (head != same.end()) {
    bring(*head, need.widths);
    auto [read, isNew] = out.firstReads.try_emplace(*head, need.firstRead);
    read->second = std::min(read->second, need.firstRead);
    return true;
  }
  auto other = llvm::find_if(same, [&](unsigned number) {
    return !isJoined(number) &&
           chains.halos[number].position < need.firstRead &&
           need.widths.isWithin(chains.halos[number].getWidths());
  });
  if (other != same.end()) {
    out.taken[rows] = *other;
    return true;
  }
  bool mayBeBrought = mayGrow && llvm::any_of(same, [&](unsigned number) {
                        const ChainedHalo &halo = chains.halos[number];
                        return halo.chain == chain && halo.level < first;
                      });
  isUnknown |= mayBeBrought;
  return mayBeBrought;
}

void HaloGroup::compute(Rows rows, const Wanted &need) {
  const RowOperands *rule = chains.findRule(rows);
  if (!rule) {
    isDead = true;
    return;
  }
  // A value that depends on no rows is written where it is read.
  if (rule->empty())
    return;
  if (need.done)
    out.seconds -= chains.getComputeSeconds(rows, *need.done);
  wanted[rows].done = need.widths;
  if (!journal)
    out.computed[rows] = need.widths;
  out.seconds += chains.getComputeSeconds(rows, need.widths);
  Operation *op = rows.first.getDefiningOp();
  for (const RowOperand &operand : *rule)
    want({op->getOperand(operand.number), operand.dim},
         operand.getWidths(op, rows.second, need.widths),
         chains.getPosition(op));
}

void HaloGroup::bring(unsigned head, Widths widths) {
  out.brought.try_emplace(head, chains.halos[head].getWidths())
      .first->second.cover(widths);
}

//===----------------------------------------------------------------------===//
// What is possible
//===----------------------------------------------------------------------===//

bool HaloGroup::isPossible() const {
  // Neighbours' neighbours are asked for nothing.
  return !isDead && !isMissing &&
         llvm::all_of(out.brought, [&](const auto &entry) {
           auto [number, widths] = entry;
           ChainedHalo &halo = chains.halos[number];
           return widths == halo.getWidths() ||
                  std::max(widths.low, widths.high) <=
                      getRowCount(halo.getSource());
         });
}

/// Before there are as many rows in a block, where a stride moves by more, and
/// as many more of them are wanted.
bool HaloGroup::isFarTooWide() const {
  return llvm::any_of(out.brought, [&](const auto &entry) {
    auto [number, widths] = entry;
    ChainedHalo &halo = chains.halos[number];
    return !(widths == halo.getWidths()) &&
           std::max(widths.low, widths.high) >
               2 * getRowCount(halo.getSource());
  });
}

void HaloGroup::countBytes() {
  for (auto &[number, widths] : out.brought)
    out.bytes +=
        chains.getBytesSent(number, widths) - chains.getBytesSent(number);
  for (unsigned number : out.joined)
    out.bytes -= chains.getBytesSent(number);
}
