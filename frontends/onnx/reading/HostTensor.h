//===- HostTensor.h - Tensors known while importing -------------*- C++ -*-===//
//
// Element types as ONNX numbers them, and tensors whose data is at hand:
// initialisers, constants, and what the importer computes from them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_HOSTTENSOR_H
#define DIST_FRONTENDS_ONNX_READING_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mlir::dist::frontend {

/// TensorProto.DataType, the ones that a program can hold.
enum class DType : int {
  Undefined = 0,
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  String = 8,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  BF16 = 16,
};

/// Size of an element in bytes; 0 for a type that is not supported.
int64_t sizeOf(DType type);
bool isFloat(DType type);
bool isUnsigned(DType type);
inline bool isInteger(DType type) {
  return sizeOf(type) != 0 && !isFloat(type) && type != DType::Bool;
}
/// The type's name in ONNX's words, also of those that are not supported.
std::string nameOf(DType type);

using Shape = llvm::SmallVector<int64_t, 6>;

/// "[2, 16]"; open sizes are "?".
std::string toString(llvm::ArrayRef<int64_t> shape);

/// The number of elements. Empty if a dimension is negative or the product
/// exceeds 2^46: no tensor of that size exists, and sums of byte offsets stay
/// far from overflow.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// A dense row-major tensor. Copies share the data. Of strings only the shape
/// is kept.
class HostTensor {
public:
  HostTensor() = default;
  /// Fresh, zero-filled data. `shape` must pass countElements.
  HostTensor(DType type, llvm::ArrayRef<int64_t> shape);
  /// A view of `bytes`, which `owner` keeps alive.
  HostTensor(DType type, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner);

  DType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t size() const { return count; }
  llvm::ArrayRef<char> getBytes() const { return bytes; }

  int64_t getInt(int64_t index) const;
  double getFloat(int64_t index) const;
  /// Stores a value, rounded or wrapped to the element type. Only for tensors
  /// that were made with fresh data.
  void setInt(int64_t index, int64_t value);
  void setFloat(int64_t index, double value);

  /// All elements as integers.
  llvm::SmallVector<int64_t> getInts() const;
  bool isSplat() const;
  bool hasSameData(const HostTensor &other) const;

  /// The same data in another shape of as many elements.
  HostTensor reshaped(llvm::ArrayRef<int64_t> newShape) const;
  HostTensor transposed(llvm::ArrayRef<int64_t> permutation) const;
  /// Copies the elements at `offset` + sum of index * stride; strides may be
  /// zero or negative. Every position must be in range.
  HostTensor strided(llvm::ArrayRef<int64_t> newShape, int64_t offset,
                     llvm::ArrayRef<int64_t> strides) const;
  /// Copies all of `part` to the positions that strided() would read.
  void setStrided(const HostTensor &part, int64_t offset,
                  llvm::ArrayRef<int64_t> strides);

private:
  DType type = DType::Undefined;
  Shape shape;
  int64_t count = 0;
  llvm::ArrayRef<char> bytes;
  char *writable = nullptr;
  std::shared_ptr<const void> owner;
};

/// Row-major strides in elements.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_HOSTTENSOR_H
