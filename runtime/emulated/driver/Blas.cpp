//===- Blas.cpp - A stand-in of cuBLASLt ----------------------------------===//
//
// Products of matrices by plain loops, on the emulated driver's streams. It
// keeps the library's rules, and holds its callers to them: descriptions, types
// and alignment are those that an algorithm was chosen for, and what is read
// has been written.
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/cuda/BlasApi.h"
#include "runtime/emulated/driver/Device.h"

#include <bit>
#include <cstring>
#include <set>

using namespace dist;
using namespace dist::cuda;
using dist::emulated::Memory;

namespace dist::cuda {

struct BlasProductOpaque {
  ComputeType compute;
  DataType scale;
  int32_t isTransposed[2] = {};
};

struct BlasMatrixOpaque {
  DataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};

struct BlasPreferenceOpaque {
  uint64_t workspace = 0;
  /// All are allowed, as the library has it, unless told.
  uint32_t schemes = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

} // namespace dist::cuda

struct cublasLtContext {};

namespace {

/// What an algorithm's words say: what it was chosen for.
struct Chosen {
  uint32_t magic, alignments[4];
  uint32_t check;
};
constexpr uint32_t kMagic = 0xb1a5;
static_assert(sizeof(Chosen) <= sizeof(BlasAlgorithm));

} // namespace

static int64_t bytesOf(DataType type) {
  return type == Real64F ? 8 : type == Real32F ? 4 : 2;
}

static dist_dtype dtypeOf(DataType type) {
  return type == Real64F   ? DIST_F64
         : type == Real32F ? DIST_F32
         : type == Real16F ? DIST_F16
                           : DIST_BF16;
}

/// A sum over what an algorithm depends on.
static uint32_t checkOf(BlasProduct product,
                        std::initializer_list<BlasMatrix> matrices) {
  uint64_t sum = 0x9e3779b97f4a7c15ull;
  auto add = [&](uint64_t value) {
    sum = (sum ^ value) * 0xbf58476d1ce4e5b9ull;
    sum ^= sum >> 29;
  };
  add(product->compute);
  add(product->scale);
  add(product->isTransposed[0] + 2 * product->isTransposed[1]);
  for (BlasMatrix matrix : matrices) {
    add(matrix->type);
    add(matrix->rows);
    add(matrix->columns);
    add(matrix->leading);
    add(matrix->batch);
    add(matrix->stride);
  }
  return static_cast<uint32_t>(sum);
}

/// Whether the library has such a product.
static bool isKnown(BlasProduct product, BlasMatrix a, BlasMatrix b,
                    BlasMatrix c, BlasMatrix d) {
  bool isDouble = a->type == Real64F;
  bool areTypes = a->type == b->type && c->type == d->type &&
                  (c->type == a->type || (!isDouble && c->type == Real32F)) &&
                  product->compute == (isDouble ? Compute64F : Compute32F) &&
                  product->scale == (isDouble ? Real64F : Real32F);
  auto sizeOf = [&](BlasMatrix matrix, int side) {
    bool isTransposed = product->isTransposed[side];
    return std::pair(isTransposed ? matrix->columns : matrix->rows,
                     isTransposed ? matrix->rows : matrix->columns);
  };
  auto [m, k] = sizeOf(a, 0);
  auto [otherK, n] = sizeOf(b, 1);
  return areTypes && m && n && k && k == otherK && c->rows == m &&
         c->columns == n && d->rows == m && d->columns == n &&
         d->leading == c->leading && a->batch == b->batch &&
         a->batch == c->batch && a->batch == d->batch;
}

static uint32_t alignmentOf(const void *data) {
  uint64_t bits = reinterpret_cast<uint64_t>(data) | 256;
  return bits & -bits;
}

namespace {
/// A matrix as numbers.
struct Numbers {
  const BlasMatrixOpaque &matrix;
  uint8_t *data;

  double get(uint64_t row, uint64_t column) const {
    double value;
    convert(dtypeOf(matrix.type), at(row, column), DIST_F64, &value, 1);
    return value;
  }
  void set(uint64_t row, uint64_t column, double value) const {
    convert(DIST_F64, &value, dtypeOf(matrix.type), at(row, column), 1);
  }
  uint8_t *at(uint64_t row, uint64_t column) const {
    return data + (column * matrix.leading + row) * bytesOf(matrix.type);
  }
};
} // namespace

/// alpha a b + beta c, summed in f32, or f64 of that.
template <class T>
static void multiply(const BlasProductOpaque &product, double alpha,
                     const Numbers &a, const Numbers &b, double beta,
                     const Numbers &c) {
  bool transA = product.isTransposed[0], transB = product.isTransposed[1];
  uint64_t k = transA ? a.matrix.rows : a.matrix.columns;
  // The factors once as numbers.
  auto load = [&](const Numbers &from, bool isTransposed, uint64_t lines) {
    std::vector<T> all(lines * k);
    for (uint64_t i = 0; i < lines; ++i)
      for (uint64_t j = 0; j < k; ++j)
        all[i * k + j] = isTransposed ? from.get(j, i) : from.get(i, j);
    return all;
  };
  std::vector<T> rows = load(a, transA, c.matrix.rows),
                 columns = load(b, !transB, c.matrix.columns);
  for (uint64_t j = 0; j < c.matrix.columns; ++j)
    for (uint64_t i = 0; i < c.matrix.rows; ++i) {
      T sum = 0;
      for (uint64_t l = 0; l < k; ++l)
        sum += rows[i * k + l] * columns[j * k + l];
      sum *= T(alpha);
      // Where beta is 0, c is not read.
      if (beta != 0)
        sum += T(beta) * T(c.get(i, j));
      c.set(i, j, sum);
    }
}

/// Runs on the device.
static Result run(Memory &memory, const BlasProductOpaque &product,
                  double alpha, double beta,
                  const BlasMatrixOpaque (&matrices)[3],
                  const uint64_t (&addresses)[3], std::string &problem) {
  const char *names[] = {"a", "b", "c"};
  for (int32_t batch = 0; batch < matrices[0].batch; ++batch) {
    std::vector<Numbers> operands;
    for (unsigned i = 0; i < 3; ++i) {
      BlasMatrixOpaque matrix = matrices[i];
      uint64_t bytes = bytesOf(matrix.type);
      uint64_t address = addresses[i] + batch * matrix.stride * bytes;
      // Column by column: what lies between is nobody's.
      for (uint64_t column = 0; column < matrix.columns; ++column) {
        uint64_t at = address + column * matrix.leading * bytes;
        auto *pointer = reinterpret_cast<const void *>(at);
        if (!memory.find(at, matrix.rows * bytes)) {
          problem = "a product's " + std::string(names[i]) +
                    " lies in no buffer, in column " + std::to_string(column);
          return IllegalAddress;
        }
        bool isRead = i < 2 || beta != 0;
        if (isRead && memory.countUnwritten(pointer, matrix.rows * bytes)) {
          problem = "a product reads of its " + std::string(names[i]) +
                    " what nobody has written, in column " +
                    std::to_string(column);
          return LaunchFailed;
        }
        if (i == 2)
          memory.setWritten(pointer, matrix.rows * bytes);
      }
      operands.push_back({matrices[i], memory.hostOf(address)});
    }
    if (product.compute == Compute64F)
      multiply<double>(product, alpha, operands[0], operands[1], beta,
                       operands[2]);
    else
      multiply<float>(product, alpha, operands[0], operands[1], beta,
                      operands[2]);
  }
  return Success;
}

extern "C" {

size_t cublasLtGetVersion() { return 130100; }

const char *cublasLtGetStatusString(BlasStatus status) {
  switch (status) {
  case BlasSuccess:
    return "success";
  case BlasInvalidValue:
    return "an unsupported value or parameter was passed to the function";
  case BlasNotSupported:
    return "the functionality requested is not supported";
  default:
    return "the GPU program failed to execute";
  }
}

BlasStatus cublasLtCreate(BlasHandle *handle) {
  *handle = new cublasLtContext;
  return BlasSuccess;
}

BlasStatus cublasLtDestroy(BlasHandle handle) {
  delete handle;
  return BlasSuccess;
}

BlasStatus cublasLtMatmulDescCreate(BlasProduct *product, ComputeType compute,
                                    DataType scale) {
  *product = new BlasProductOpaque{compute, scale};
  return BlasSuccess;
}

BlasStatus cublasLtMatmulDescDestroy(BlasProduct product) {
  delete product;
  return BlasSuccess;
}

BlasStatus cublasLtMatmulDescSetAttribute(BlasProduct product,
                                          BlasProductAttribute attribute,
                                          const void *value, size_t bytes) {
  int32_t number;
  if ((attribute != BlasTransposeA && attribute != BlasTransposeB) ||
      bytes != sizeof number)
    return BlasInvalidValue;
  std::memcpy(&number, value, bytes);
  if (number != 0 && number != 1)
    return BlasInvalidValue;
  product->isTransposed[attribute - BlasTransposeA] = number;
  return BlasSuccess;
}

BlasStatus cublasLtMatrixLayoutCreate(BlasMatrix *matrix, DataType type,
                                      uint64_t rows, uint64_t columns,
                                      int64_t leading) {
  *matrix = new BlasMatrixOpaque{type, rows, columns, leading};
  return BlasSuccess;
}

BlasStatus cublasLtMatrixLayoutDestroy(BlasMatrix matrix) {
  delete matrix;
  return BlasSuccess;
}

BlasStatus cublasLtMatrixLayoutSetAttribute(BlasMatrix matrix,
                                            BlasMatrixAttribute attribute,
                                            const void *value, size_t bytes) {
  if (attribute == BlasBatchCount && bytes == sizeof matrix->batch)
    std::memcpy(&matrix->batch, value, bytes);
  else if (attribute == BlasBatchStride && bytes == sizeof matrix->stride)
    std::memcpy(&matrix->stride, value, bytes);
  else
    return BlasInvalidValue;
  return matrix->batch >= 1 ? BlasSuccess : BlasInvalidValue;
}

BlasStatus cublasLtMatmulPreferenceCreate(BlasPreference *preference) {
  *preference = new BlasPreferenceOpaque;
  return BlasSuccess;
}

BlasStatus cublasLtMatmulPreferenceDestroy(BlasPreference preference) {
  delete preference;
  return BlasSuccess;
}

BlasStatus
cublasLtMatmulPreferenceSetAttribute(BlasPreference preference,
                                     BlasPreferenceAttribute attribute,
                                     const void *value, size_t bytes) {
  if (attribute == BlasMostWorkspace && bytes == sizeof preference->workspace) {
    std::memcpy(&preference->workspace, value, bytes);
    return BlasSuccess;
  }
  if (bytes != sizeof(uint32_t))
    return BlasInvalidValue;
  if (attribute == BlasReductionSchemes) {
    std::memcpy(&preference->schemes, value, bytes);
    return BlasSuccess;
  }
  if (attribute < BlasAlignmentA || attribute > BlasAlignmentD)
    return BlasInvalidValue;
  uint32_t &alignment = preference->alignments[attribute - BlasAlignmentA];
  std::memcpy(&alignment, value, bytes);
  return std::has_single_bit(alignment) ? BlasSuccess : BlasInvalidValue;
}

BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasHandle, BlasProduct product,
                                          BlasMatrix a, BlasMatrix b,
                                          BlasMatrix c, BlasMatrix d,
                                          BlasPreference preference, int wanted,
                                          BlasHeuristic *found, int *count) {
  *count = 0;
  for (BlasMatrix matrix : {a, b, c, d})
    if (matrix->leading < static_cast<int64_t>(matrix->rows))
      return BlasInvalidValue;
  if (wanted < 1)
    return BlasInvalidValue;
  constexpr int32_t kMostBatch = 65'535;
  if (!isKnown(product, a, b, c, d) || a->batch > kMostBatch)
    return BlasNotSupported;
  // What splits sums would not give the same bits twice.
  if (preference->schemes != 0)
    return BlasNotSupported;
  Chosen chosen{kMagic, {}, checkOf(product, {a, b, c, d})};
  std::copy_n(preference->alignments, 4, chosen.alignments);
  *found = {};
  std::memcpy(&found->algorithm, &chosen, sizeof chosen);
  found->state = BlasSuccess;
  *count = 1;
  return BlasSuccess;
}

BlasStatus cublasLtMatmul(BlasHandle, BlasProduct product, const void *alpha,
                          const void *a, BlasMatrix aMatrix, const void *b,
                          BlasMatrix bMatrix, const void *beta, const void *c,
                          BlasMatrix cMatrix, void *d, BlasMatrix dMatrix,
                          const BlasAlgorithm *algorithm, void *workspace,
                          size_t workspaceBytes, CUstream_st *stream) {
  if (workspaceBytes && (!workspace || alignmentOf(workspace) < 256))
    return BlasInvalidValue;
  Chosen chosen;
  std::memcpy(&chosen, algorithm, sizeof chosen);
  const void *pointers[] = {a, b, c, d};
  for (unsigned i = 0; i < 4; ++i)
    if (alignmentOf(pointers[i]) < chosen.alignments[i])
      return BlasInvalidValue;
  if (chosen.magic != kMagic || c != d ||
      chosen.check != checkOf(product, {aMatrix, bMatrix, cMatrix, dMatrix}))
    return BlasInvalidValue;
  auto numberAt = [&](const void *value) {
    return product->scale == Real64F ? *static_cast<const double *>(value)
                                     : *static_cast<const float *>(value);
  };
  BlasProductOpaque product0 = *product;
  BlasMatrixOpaque matrices[] = {*aMatrix, *bMatrix, *dMatrix};
  uint64_t addresses[] = {reinterpret_cast<uint64_t>(a),
                          reinterpret_cast<uint64_t>(b),
                          reinterpret_cast<uint64_t>(d)};
  double scale = numberAt(alpha), scaleC = numberAt(beta);
  Result result = emulated::issueOnDevice(stream, [=](Memory &memory,
                                                      std::string &problem) {
    return run(memory, product0, scale, scaleC, matrices, addresses, problem);
  });
  return result == Success ? BlasSuccess : BlasExecutionFailed;
}

} // extern "C"
