//===- ExternalData.h - Files that a model keeps data in --------*- C++ -*-===//
//
// Opens them, once each. A model may name regular files below its own folder,
// and no others: not by .., by a link, nor a device or a pipe.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_EXTERNALDATA_H
#define DIST_FRONTENDS_ONNX_READING_EXTERNALDATA_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::dist::frontend {

/// The bytes of a regular file of at most `limit` bytes; its size is known
/// before anything is read. Errors say what is wrong, without the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(llvm::StringRef path, uint64_t limit);

/// A file that was opened.
struct ExternalFile {
  std::string path;
  std::shared_ptr<llvm::MemoryBuffer> buffer;
};

class ExternalData {
public:
  explicit ExternalData(llvm::StringRef model);

  /// The file that the model calls `location`. Errors name it.
  llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>>
  open(llvm::StringRef location);
  /// The SHA1 of one that was opened, in hexadecimal digits; taken once.
  std::string digest(llvm::StringRef location);
  const std::vector<ExternalFile> &opened() const { return order; }

private:
  llvm::StringRef model;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
  llvm::StringMap<std::string> digests;
  std::vector<ExternalFile> order;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_EXTERNALDATA_H
