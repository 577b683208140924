//===- Gemm.h - Matrix products by dnnl_sgemm -------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_GEMM_H
#define DIST_RUNTIME_CPU_GEMM_H

#include "dist/Tensor.h"

#include <cstdint>
#include <vector>

namespace dist {

/// An operand of a matrix product: strides of its rows and columns.
struct MatrixStrides {
  int64_t row, column;
};

/// How dnnl_sgemm can read a rows x columns matrix: without copy if one of the
/// strides is 1 and the other no less than the extent.
struct GemmOperand {
  bool direct = false;
  char transposed = 'N';
  int64_t leading = 1;
};

GemmOperand describeOperand(MatrixStrides strides, int64_t rows,
                            int64_t columns);

/// How one f32 product is passed to dnnl_sgemm. Without AVX-512, dnnl_sgemm
/// reads its operands in place unless m and n are both large. Then rows that
/// are a multiple of 1 KiB apart use the same cache sets: 2048x1024x256 with a
/// transposed takes 2.6 times as long (benchmarks/contract_benchmark). With
/// AVX-512, so do rows of a transposed a that are 4 KiB apart if b is narrow:
/// 1.4 to 1.7 times. In these cases the operand is copied, some rows at a time,
/// to rows that do not compete.
struct GemmCall {
  int64_t m, n, k;
  GemmOperand a, b, c;
  /// Whether a and b have changed places, since c is stored by columns: its
  /// transpose is b^T a^T.
  bool isSwapped = false;
  /// Whether the rows of a or b are copied apart from each other.
  bool spreadsA = false, spreadsB = false;

  GemmCall(GemmOperand a, GemmOperand b, GemmOperand c, int64_t m, int64_t n,
           int64_t k);
  bool copies() const { return spreadsA || spreadsB; }

  /// Rows that are copied at a time.
  static constexpr int64_t rows = 256;
};

/// c = a * b, or c += a * b. `copyA` and `copyB` are scratch for what is
/// copied. Throws Error.
void multiply(const GemmCall &call, bool accumulating, const float *a,
              const float *b, float *c, std::vector<float> &copyA,
              std::vector<float> &copyB);

/// Copies a strided matrix to a dense one, or back.
void pack(const float *in, MatrixStrides strides, int64_t rows, int64_t columns,
          float *out);
void unpack(const float *in, MatrixStrides strides, int64_t rows,
            int64_t columns, float *out);

/// A strided matrix of `dtype`, f32 or bf16, as a dense one of f32, and back.
void convertFrom(dist_dtype dtype, const char *in, MatrixStrides strides,
                 int64_t rows, int64_t columns, std::vector<float> &out);
void convertTo(dist_dtype dtype, const std::vector<float> &in,
               MatrixStrides strides, int64_t rows, int64_t columns, char *out);

/// Rows of a matrix, `from` bytes apart, to rows that are `to` apart.
void copyRows(const char *in, int64_t from, int64_t rows, int64_t bytes,
              char *out, int64_t to);

} // namespace dist

#endif // DIST_RUNTIME_CPU_GEMM_H
