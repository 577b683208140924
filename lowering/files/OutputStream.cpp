//===- OutputStream.cpp - Output files as LLVM's streams ------------------===//

#include "lowering/files/OutputStream.h"
#include "dist/Tensor.h"

using namespace mlir::dist;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

OutputStream::OutputStream(llvm::StringRef path)
    : path(path), file(this->path), stream(file.fd(), /*shouldClose=*/false) {}

OutputStream::~OutputStream() {
  // What was not kept may have failed.
  stream.flush();
  stream.clear_error();
}

llvm::Expected<std::unique_ptr<OutputStream>>
OutputStream::open(llvm::StringRef path) {
  try {
    return std::unique_ptr<OutputStream>(new OutputStream(path));
  } catch (const ::dist::Error &error) {
    return makeError(error.what());
  }
}

llvm::Error OutputStream::keep(llvm::ArrayRef<OutputStream *> streams) {
  for (OutputStream *one : streams) {
    one->stream.flush();
    if (!one->stream.has_error())
      continue;
    std::string why = one->stream.error().message();
    one->stream.clear_error();
    return makeError((one->path == "-" ? "standard output" : one->path) +
                     ": cannot be written: " + why);
  }
  std::vector<::dist::OutputFile *> files;
  for (OutputStream *one : streams)
    files.push_back(&one->file);
  try {
    ::dist::OutputFile::commit(files);
  } catch (const ::dist::Error &error) {
    return makeError(error.what());
  }
  return llvm::Error::success();
}

llvm::Error mlir::dist::writeFile(
    llvm::StringRef path,
    llvm::function_ref<llvm::Error(llvm::raw_pwrite_stream &)> write) {
  auto stream = OutputStream::open(path);
  if (!stream)
    return stream.takeError();
  if (llvm::Error failure = write((*stream)->os()))
    return failure;
  return (*stream)->keep();
}

int mlir::dist::finishOutput(llvm::StringRef tool, int status) {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return status;
  llvm::errs() << tool << ": error: standard output: cannot be written: "
               << llvm::outs().error().message() << "\n";
  llvm::outs().clear_error();
  return 1;
}
