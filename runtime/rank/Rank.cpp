//===- Rank.cpp - What every backend's rank has in common -----------------===//

#include "runtime/rank/Rank.h"
#include "dist/Tensor.h"

#include <algorithm>

using namespace dist;

const char *dist::collectiveName(CollectiveKind kind) {
  static const char *const names[] = {
      "all_reduce",  "all_gather",         "reduce_scatter", "all_to_all",
      "broadcast",   "collective_permute", "halo_exchange",  "halo_reduce",
      "gather_rows", "reduce_rows"};
  return names[static_cast<int32_t>(kind)];
}

static bool isHalo(CollectiveKind kind) {
  return kind == CollectiveKind::Halo || kind == CollectiveKind::HaloReduce;
}

std::string dist::toString(const CollectiveCall &call,
                           const std::vector<Site> &sites) {
  static const char *const ops[] = {"sum", "prod", "max", "min", "and", "or"};
  auto number = [](const char *name, int64_t value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  std::string text = collectiveName(call.kind);
  bool reduces = call.kind == CollectiveKind::AllReduce ||
                 call.kind == CollectiveKind::ReduceScatter;
  if (reduces)
    text += std::string(" ") + ops[call.op];
  text += std::string(" of ") + dtypeName(call.dtype);
  switch (call.kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::Halo:
  case CollectiveKind::HaloReduce:
  case CollectiveKind::GatherRows:
  case CollectiveKind::ReduceRows:
    text += number("outer", call.outer) + number("whole", call.whole) +
            number("inner", call.inner);
    if (isHalo(call.kind))
      text += number("low", call.low) + number("high", call.high) +
              number("boundary", call.boundary);
    break;
  case CollectiveKind::AllToAll:
    text += number("outer", call.outer) + number("split", call.whole) +
            number("middle", call.middle) + number("concat", call.concatWhole) +
            number("inner", call.inner) +
            (call.splitFirst ? " split first" : " concat first");
    break;
  case CollectiveKind::Permute:
    text += number("count", call.whole) + " pairs=";
    for (int64_t i = 0; i < call.numPairs; ++i)
      text += (i ? "," : "") + std::to_string(call.pairs[2 * i]) + ">" +
              std::to_string(call.pairs[2 * i + 1]);
    break;
  case CollectiveKind::Broadcast:
    text += number("root", call.root) + number("count", call.whole);
    break;
  case CollectiveKind::AllReduce:
    text += number("count", call.whole);
    break;
  }
  text += " over communicator " + std::to_string(call.comm);
  if (call.site >= 0) {
    text += " (site " + std::to_string(call.site);
    if (static_cast<size_t>(call.site) < sites.size())
      text += ": " + sites[call.site].scope;
    text += ")";
  }
  return text;
}

std::pair<int64_t, int64_t> dist::bytesOf(const CollectiveCall &call,
                                          const Communicator &comm) {
  int64_t element = call.outer * call.inner * dtypeBytes(call.dtype);
  int64_t whole = element * call.whole;
  int64_t block = element * blockRows(comm.sizes, call.whole);
  int64_t halo = element * (call.low + call.high);
  switch (call.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Permute:
    return {whole, whole};
  case CollectiveKind::AllGather:
    return {block, whole};
  case CollectiveKind::ReduceScatter:
    return {whole, block};
  case CollectiveKind::AllToAll:
    return {whole * call.middle * blockRows(comm.sizes, call.concatWhole),
            block * call.middle * call.concatWhole};
  case CollectiveKind::Halo:
    return {block, block + halo};
  case CollectiveKind::HaloReduce:
    return {block + halo, block};
  case CollectiveKind::GatherRows:
    return {block, element * call.plan->indices.size()};
  case CollectiveKind::ReduceRows:
    return {element * call.plan->indices.size(), block};
  }
  return {0, 0};
}

std::shared_ptr<void> Backend::allocateForPeers(int64_t bytes) {
  constexpr size_t kAlignment = 64;
  std::pmr::memory_resource *memory = peerMemory();
  return {memory->allocate(bytes, kAlignment), [memory, bytes](void *data) {
            memory->deallocate(data, bytes, kAlignment);
          }};
}

uint64_t dist::fingerprint(const CollectiveCall &call) {
  uint64_t hash = 0x9e3779b97f4a7c15ull;
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 29;
  };
  mix(static_cast<uint64_t>(call.kind) |
      static_cast<uint64_t>(call.dtype) << 8 |
      static_cast<uint64_t>(call.op) << 16 |
      static_cast<uint64_t>(call.splitFirst) << 24 |
      static_cast<uint64_t>(static_cast<uint32_t>(call.site)) << 32);
  mix(static_cast<uint32_t>(call.comm));
  for (int64_t field :
       {call.outer, call.whole, call.inner, call.middle, call.concatWhole,
        call.low, call.high, int64_t{call.boundary}, call.fill, call.root})
    mix(field);
  for (int64_t i = 0; i < 2 * call.numPairs; ++i)
    mix(call.pairs[i]);
  return hash;
}

std::vector<int64_t> Topology::findPeers(int64_t rank) const {
  std::vector<int64_t> peers;
  if (messageAxis < 0)
    return peers;
  int64_t weight = 1;
  for (size_t i = messageAxis + 1; i < mesh.axes.size(); ++i)
    weight *= mesh.axes[i].size;
  int64_t own = mesh.coordinate(rank, messageAxis);
  for (int64_t place = 0; place < mesh.axes[messageAxis].size; ++place)
    if (place != own)
      peers.push_back(rank + (place - own) * weight);
  return peers;
}

std::string Topology::describe(int64_t rank) const {
  std::string text = "rank " + std::to_string(rank);
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    text += (i ? ", " : " (") + mesh.axes[i].name + "=" +
            std::to_string(mesh.coordinate(rank, static_cast<int32_t>(i)));
  return mesh.axes.empty() ? text : text + ")";
}

std::string Topology::waitsIn(int64_t rank, const CollectiveCall &call) const {
  std::string text = describe(rank) + " waits in " + toString(call, sites);
  return call.stream ? text + " on stream " + std::to_string(call.stream)
                     : text;
}

bool dist_rank::check() {
  if (!status)
    return true;
  int64_t first, judged = 0;
  if (!backend.readStatus(status, first))
    return false;
  if (first == 0)
    return true;
  size_t which = first - 1;
  if (which >= topology.checks.size())
    return backend.fail("check " + std::to_string(which) +
                        " of the program failed, which its manifest does not "
                        "have");
  const Check &check = topology.checks[which];
  if (!backend.readStatus(status + first, judged))
    return false;
  return backend.fail(check.hasValue
                          ? check.message + ", not " + std::to_string(judged)
                          : check.message);
}

int32_t dist_rank::callMain(dist_main_fn entry, void *const *args,
                            void *const *results, void *arena, int64_t *words) {
  jmp_buf here;
  leave = &here;
  status = words;
  // Volatile: it is written between setjmp and longjmp.
  volatile bool returned = false;
  if (setjmp(here) == 0) {
    entry(this, args, results, arena, words);
    returned = true;
  }
  leave = nullptr;
  // Also where the program was left: what streams do must not outlast it.
  bool synced = true;
  for (int32_t stream = 0; stream < numStreams; ++stream)
    synced &= backend.streamSync(stream);
  bool ok = returned && synced && check();
  status = nullptr;
  return ok ? 0 : 1;
}
