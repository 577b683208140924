//===- OutputStream.h - Output files as LLVM's streams ----------*- C++ -*-===//
//
// A file that appears whole or not at all (dist/OutputFile.h), with LLVM's
// interface for writing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_FILES_OUTPUTSTREAM_H
#define DIST_LOWERING_FILES_OUTPUTSTREAM_H

#include "dist/OutputFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace mlir::dist {

class OutputStream {
public:
  /// "-" is standard output. Fails if the file cannot be created, or would
  /// replace an input.
  static llvm::Expected<std::unique_ptr<OutputStream>>
  open(llvm::StringRef path);
  ~OutputStream();

  llvm::raw_pwrite_stream &os() { return stream; }
  /// Gives the file its name. Without this call the file is removed.
  llvm::Error keep() { return keep(this); }
  /// Several at once: a signal ends the program before or after.
  static llvm::Error keep(llvm::ArrayRef<OutputStream *> streams);

private:
  explicit OutputStream(llvm::StringRef path);

  std::string path;
  ::dist::OutputFile file;
  llvm::raw_fd_ostream stream;
};

/// Writes the file `path` with the output of `write`.
llvm::Error
writeFile(llvm::StringRef path,
          llvm::function_ref<llvm::Error(llvm::raw_pwrite_stream &)> write);

/// For the end of main: `status`, or 1 after a message if standard output could
/// not be written.
int finishOutput(llvm::StringRef tool, int status);

} // namespace mlir::dist

#endif // DIST_LOWERING_FILES_OUTPUTSTREAM_H
