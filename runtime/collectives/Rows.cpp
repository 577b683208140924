//===- Rows.cpp - Rows that indices name, in shared memory ----------------===//

#include "runtime/collectives/Rows.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Reduce.h"

#include <cstring>

using namespace dist;

void dist::gatherRows(const CollectiveCall &call, const Communicator &comm,
                      const GroupBuffers &buffers, int64_t me) {
  const RowPlan &plan = *buffers.plans[me];
  int64_t bytes = call.inner * dtypeBytes(call.dtype);
  int64_t rows = blockRows(comm.sizes, call.whole);
  char *out = buffers.outs[me];
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    const char *in = buffers.ins[plan.owners[i]] + plan.rows[i] * bytes;
    for (int64_t o = 0; o < call.outer; ++o, out += bytes)
      std::memcpy(out, in + o * rows * bytes, bytes);
  }
}

void dist::reduceRows(const CollectiveCall &call, const Communicator &comm,
                      const GroupBuffers &buffers, int64_t me) {
  int64_t bytes = call.inner * dtypeBytes(call.dtype);
  int64_t rows = blockRows(comm.sizes, call.whole);
  char *out = buffers.outs[me];
  std::memset(out, 0, call.outer * rows * bytes);
  // Each member's sums, and how far its rows of this block have been added.
  std::vector<char> sums(comm.size * bytes);
  std::vector<int64_t> at(comm.size);
  for (int64_t member = 0; member < comm.size; ++member)
    at[member] = buffers.plans[member]->first[me];
  std::vector<const char *> parts, whole;
  std::vector<char *> result(1);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t o = 0; o < call.outer; ++o) {
      whole.clear();
      for (int64_t member = 0; member < comm.size; ++member) {
        const RowPlan &plan = *buffers.plans[member];
        if (at[member] == plan.first[me + 1] || plan.named[at[member]] != row)
          continue;
        parts.clear();
        for (int64_t i = plan.starts[at[member]];
             i < plan.starts[at[member] + 1]; ++i)
          parts.push_back(buffers.ins[member] +
                          (plan.users[i] * call.outer + o) * bytes);
        if (parts.size() == 1) {
          whole.push_back(parts.front());
          continue;
        }
        result[0] = sums.data() + member * bytes;
        reduceBuffers(call.dtype, DIST_SUM, parts, result, call.inner);
        whole.push_back(result[0]);
      }
      if (whole.empty())
        continue;
      result[0] = out + (o * rows + row) * bytes;
      reduceBuffers(call.dtype, DIST_SUM, whole, result, call.inner);
    }
    for (int64_t member = 0; member < comm.size; ++member) {
      const RowPlan &plan = *buffers.plans[member];
      if (at[member] < plan.first[me + 1] && plan.named[at[member]] == row)
        ++at[member];
    }
  }
}

int64_t dist::rowBytesSent(const CollectiveCall &call,
                           const GroupBuffers &buffers, int64_t me) {
  int64_t count = 0;
  for (int64_t member = 0; member < int64_t(buffers.plans.size()); ++member)
    if (member != me)
      count += call.kind == CollectiveKind::GatherRows
                   ? buffers.plans[member]->namedOf(me)
                   : buffers.plans[me]->namedOf(member);
  return count * call.outer * call.inner * dtypeBytes(call.dtype);
}
