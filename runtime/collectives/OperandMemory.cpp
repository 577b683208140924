//===- OperandMemory.cpp - Operands in the host's memory ------------------===//

#include "runtime/collectives/OperandMemory.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Copies.h"
#include "runtime/collectives/Reduce.h"

#include <cstring>

using namespace dist;

namespace {

struct HostMemory final : OperandMemory {
  std::shared_ptr<char> allocate(int64_t bytes) override {
    return std::shared_ptr<char>(new char[bytes],
                                 std::default_delete<char[]>());
  }

  void copy(const Copy &copy, const char *from, char *to) override {
    copy.apply(from, to);
  }

  void reduce(dist_dtype dtype, dist_op op, const std::vector<ConstRuns> &ins,
              Runs out, int64_t runs, int64_t count) override {
    std::vector<const char *> datas(ins.size());
    for (int64_t run = 0; run < runs; ++run) {
      for (size_t i = 0; i < ins.size(); ++i)
        datas[i] = ins[i].data + run * ins[i].step;
      reduceBuffers(dtype, op, datas, {out.data + run * out.step}, count);
    }
  }

  void fill(dist_dtype dtype, int64_t element, Runs out, int64_t runs,
            int64_t count) override {
    int64_t bytes = dtypeBytes(dtype);
    for (int64_t run = 0; run < runs && count > 0; ++run) {
      char *data = out.data + run * out.step;
      if (element == 0)
        std::memset(data, 0, count * bytes);
      else
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(data + i * bytes, &element, bytes);
    }
  }
};

} // namespace

OperandMemory &dist::hostMemory() {
  static HostMemory memory;
  return memory;
}
