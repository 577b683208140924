//===- TensorReader.h - Tensors of ONNX files -------------------*- C++ -*-===//
//
// It trusts nothing: sizes of tensors against their data, offsets into external
// files.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_TENSORREADER_H
#define DIST_FRONTENDS_ONNX_READING_TENSORREADER_H

#include "ExternalData.h"
#include "HostTensor.h"

namespace onnx {
class TensorProto;
} // namespace onnx

namespace mlir::dist::frontend {

/// An error of the file at `path`; `parts` are added up.
template <typename... Parts>
llvm::Error makeError(llvm::StringRef path, const Parts &...parts) {
  std::string text = path.str() + ": ";
  ((text += parts), ...);
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::Twine(text));
}

class TensorReader {
public:
  /// Of the model at `path`; `owner` keeps its tensors alive.
  TensorReader(llvm::StringRef path, std::shared_ptr<const void> owner)
      : path(path), owner(std::move(owner)), externalData(path) {}

  /// Errors name file and tensor, as `what`.
  llvm::Expected<HostTensor> read(const ::onnx::TensorProto &proto,
                                  llvm::StringRef what);
  /// The files that had data of tensors so far.
  const std::vector<ExternalFile> &getFiles() const {
    return externalData.opened();
  }

private:
  template <typename... Parts> llvm::Error error(const Parts &...parts) {
    return makeError(path, parts...);
  }
  llvm::Expected<HostTensor> readExternal(const ::onnx::TensorProto &proto,
                                          llvm::StringRef what, DType type,
                                          Shape shape, int64_t bytes);
  /// Without raw data and data in other files.
  llvm::Expected<HostTensor> readLists(const ::onnx::TensorProto &proto,
                                       llvm::StringRef what, DType type,
                                       const Shape &shape);
  llvm::Error checkBools(llvm::StringRef what, const HostTensor &tensor);

  llvm::StringRef path;
  std::shared_ptr<const void> owner;
  ExternalData externalData;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_TENSORREADER_H
