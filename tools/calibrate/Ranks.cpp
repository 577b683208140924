//===- Ranks.cpp - What ranks that are threads take for it ----------------===//
//
// Others work on the same machine: of several batches the fastest counts.
//
//===----------------------------------------------------------------------===//

#include "tools/calibrate/Ranks.h"
#include "dist/Tensor.h"
#include "runtime/threads/ThreadsRun.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

using namespace dist;

namespace {

/// What one measurement is to take beside its least number of batches.
constexpr double kEnough = 0.1;
constexpr int64_t kFewestBatches = 4;
/// What is worth timing.
constexpr double kLong = 2e-3;
constexpr int64_t kMostBytes = 16 << 20;

enum class Kind { AllGather, AllReduce };

/// A collective of floats. `count` is the number of those that each rank gives.
struct Exchange {
  Kind kind;
  int64_t ranks, count;

  int64_t bytesSent() const {
    return (ranks - 1) * 4 *
           (kind == Kind::AllGather ? count : 2 * count / ranks);
  }
  int64_t received() const {
    return kind == Kind::AllGather ? count * ranks : count;
  }
};

/// A collective with memory of its own: on one rank.
struct Operands {
  explicit Operands(Exchange exchange)
      : exchange(exchange), in(Tensor::zeros(DIST_F32, {exchange.count})),
        out(Tensor::zeros(DIST_F32, {exchange.received()})) {}

  /// Site `site` says what is sent.
  int32_t call(dist_rank &rank, int32_t stream, int32_t site) const {
    if (exchange.kind == Kind::AllGather)
      return dist_all_gather(&rank, 0, stream, site, DIST_F32, 1,
                             exchange.received(), 1, in.data, out.data);
    return dist_all_reduce(&rank, 0, stream, site, DIST_F32, DIST_SUM,
                           exchange.count, in.data, out.data);
  }

  Exchange exchange;
  Tensor in, out;
};

} // namespace

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static Topology makeTopology(int64_t ranks, std::vector<Site> sites) {
  Topology topology;
  topology.mesh.axes = {{"ranks", ranks}};
  topology.comms.emplace_back(topology.mesh,
                              std::vector<AxisRef>{topology.mesh.whole(0)});
  topology.sites = std::move(sites);
  return topology;
}

/// All ranks get what the first one says; and begin at the same time.
static int64_t agree(dist_rank &rank, int64_t said) {
  dist_broadcast(&rank, 0, 0, -1, DIST_I64, 0, 1, &said, &said);
  return said;
}

static void run(Topology topology, const EmulatedLink &link,
                const std::function<int32_t(dist_rank &)> &body) {
  ThreadsRun threads(std::move(topology), link);
  if (!threads.run(body))
    throw Error(threads.message());
}

/// Of one call: the fastest batch's mean.
static double measureCall(Exchange exchange, const EmulatedLink &link) {
  double best = std::numeric_limits<double>::infinity();
  run(makeTopology(exchange.ranks, {{"", exchange.bytesSent()}}), link,
      [&](dist_rank &rank) -> int32_t {
        Operands operands(exchange);
        agree(rank, 0);
        double first = now();
        if (int32_t status = operands.call(rank, 0, 0))
          return status;
        double took = std::max(now() - first, 1e-9);
        int64_t batch =
            agree(rank, std::clamp<int64_t>(std::lround(kLong / took), 1, 64));
        double began = now();
        for (int64_t done = 0;; ++done) {
          bool goesOn = done < kFewestBatches || now() - began < kEnough;
          if (!agree(rank, goesOn))
            return 0;
          double start = now();
          for (int64_t i = 0; i < batch; ++i)
            if (int32_t status = operands.call(rank, 0, 0))
              return status;
          if (rank.index == 0)
            best = std::min(best, (now() - start) / batch);
        }
      });
  return best;
}

LinkFigures dist::measureLink(int64_t ranks, const EmulatedLink &link) {
  auto measure = [&](int64_t members, int64_t count) {
    return measureCall({Kind::AllGather, members, count}, link) +
           measureCall({Kind::AllReduce, members, count}, link);
  };
  LinkFigures figures;
  double pair = measure(2, 2) / 2;
  double all = ranks == 2 ? pair : measure(ranks, ranks) / 2;
  // A ring has a step for each rank more.
  if (ranks > 2)
    figures.stepSeconds = std::max(0.0, (all - pair) / (ranks - 2));
  figures.callSeconds = std::max(pair - figures.stepSeconds, 0.0);

  // Of such a size that bytes and not calls decide.
  for (int64_t count = 64 * ranks;; count *= 8) {
    double longer = measure(ranks, count) - 2 * all;
    if (longer < std::max(kLong, 2 * all) && count * ranks * 4 < kMostBytes)
      continue;
    double sent = Exchange{Kind::AllGather, ranks, count}.bytesSent() +
                  Exchange{Kind::AllReduce, ranks, count}.bytesSent();
    figures.bytesPerSecond = std::max(sent / std::max(longer, 1e-9), 1.0);
    return figures;
  }
}

namespace {
/// A product whose operands are about what a core's cache holds, as those of
/// programs are: on one rank.
struct Product {
  int32_t run(dist_rank &rank, int64_t times) const {
    const int64_t loops[] = {DIST_LOOP_M, size, size, 0,    size,
                             DIST_LOOP_N, size, 0,    1,    1,
                             DIST_LOOP_K, size, 1,    size, 0};
    for (int64_t i = 0; i < times; ++i)
      if (int32_t status = dist_contract(&rank, DIST_F32, DIST_F32, 0, 3, loops,
                                         a.data, b.data, c.data))
        return status;
    return 0;
  }

  static constexpr int64_t size = 512;
  Tensor a = Tensor::zeros(DIST_F32, {size, size}),
         b = Tensor::zeros(DIST_F32, {size, size}),
         c = Tensor::zeros(DIST_F32, {size, size});
};
} // namespace

/// Starts `operands` on a stream as a compiled program does, computes, waits.
static int32_t computeBesideOne(dist_rank &rank, const Operands *operands,
                                int32_t site, const Product &product,
                                int64_t times) {
  enum { Ready = 0, Landed = 1, Stream = 1 };
  if (operands) {
    int32_t status = dist_event_record(&rank, Ready, 0);
    status |= dist_stream_wait(&rank, Stream, Ready);
    status |= operands->call(rank, Stream, site);
    status |= dist_event_record(&rank, Landed, Stream);
    if (status)
      return status;
  }
  if (int32_t status = product.run(rank, times))
    return status;
  return operands ? dist_stream_wait(&rank, 0, Landed) : 0;
}

/// `starts` times one after the other, so many products in all.
static int32_t computeBeside(dist_rank &rank, const Operands *operands,
                             int32_t site, const Product &product,
                             int64_t times, int64_t starts) {
  int32_t status = 0;
  for (int64_t i = 0; i < starts && status == 0; ++i)
    status = computeBesideOne(rank, operands, site, product, times / starts);
  return status;
}

OverlapFigures dist::measureOverlap(int64_t ranks, const EmulatedLink &link,
                                    const LinkFigures &figures) {
  // As much as travels in that time.
  double bytes = std::clamp(kLong * figures.bytesPerSecond, 4.0 * ranks,
                            double(kMostBytes) / 4);
  Exchange few{Kind::AllReduce, ranks, ranks},
      many{Kind::AllReduce, ranks, static_cast<int64_t>(bytes) / 4};
  double transfer = measureCall(many, link);
  constexpr int kVariants = 3;
  // One start takes less than the differences between measurements; so as many
  // are measured as fit before the next one.
  double computed = 2 * transfer + kLong;
  int64_t starts =
      std::clamp<int64_t>(computed / (2 * measureCall(few, link)), 1, 8);
  double best[kVariants];
  std::fill(best, best + kVariants, std::numeric_limits<double>::infinity());
  run(makeTopology(ranks, {{"", few.bytesSent()}, {"", many.bytesSent()}}),
      link, [&](dist_rank &rank) -> int32_t {
        Operands small(few), large(many);
        const Operands *variants[kVariants] = {nullptr, &small, &large};
        Product product;
        int32_t status = product.run(rank, 2);
        double start = now();
        status |= product.run(rank, 4);
        double one = (now() - start) / 4;
        // So much that every transfer lands meanwhile.
        int64_t times =
            starts * agree(rank, 1 + std::lround(computed / (starts * one)));
        double began = now();
        for (int64_t round = 0; status == 0; ++round) {
          if (!agree(rank,
                     round <= kFewestBatches || now() - began < 16 * kEnough))
            break;
          for (int variant = 0; variant < kVariants; ++variant) {
            agree(rank, 0);
            start = now();
            status |=
                computeBeside(rank, variants[variant], variant - 1, product,
                              times, variants[variant] == &small ? starts : 1);
            // The first round starts the stream's thread.
            if (rank.index == 0 && round > 0)
              best[variant] = std::min(best[variant], now() - start);
          }
        }
        return status;
      });
  OverlapFigures out;
  out.startSeconds = std::max((best[1] - best[0]) / starts, 0.0);
  // More than to wait for it would be what others on the computer did.
  out.slowdown =
      std::clamp((best[2] - best[0] - out.startSeconds) / transfer, 0.0, 1.0);
  return out;
}
