//===- Outputs.cpp - Files that an import writes --------------------------===//

#include "tools/import/Outputs.h"
#include "frontends/onnx/WeightsWriter.h"
#include "lowering/files/OutputStream.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;
namespace path = llvm::sys::path;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// Whether files can lie beside this one: it is no device or pipe, nor standard
/// output by another name.
static bool hasNeighbours(StringRef path) {
  llvm::sys::fs::file_status status, standardOutput;
  if (path == "-")
    return false;
  if (llvm::sys::fs::status(path, status))
    return true;
  return llvm::sys::fs::is_regular_file(status) &&
         (llvm::sys::fs::status(STDOUT_FILENO, standardOutput) ||
          !llvm::sys::fs::equivalent(status, standardOutput));
}

llvm::Expected<ImportOutputs>
mlir::dist::findImportOutputs(const std::string &program,
                              const std::optional<std::string> &weights) {
  llvm::SmallString<128> file(weights.value_or(""));
  if (file == "-")
    return fail("--weights -: the program names the file of its parameters, "
                "which standard output is not; name a file");
  if (file.empty() && hasNeighbours(program)) {
    file = program;
    path::replace_extension(file, "safetensors");
    if (file == program)
      return fail("-o " + program +
                  ": the parameters would go to the same file; name another "
                  "one with --weights");
  }
  // The module names its weights relative to itself.
  llvm::SmallString<128> name = file;
  if (!weights ||
      (program != "-" && path::parent_path(file) == path::parent_path(program)))
    name = path::filename(file);
  else if (!path::is_absolute(file) && program != "-")
    llvm::sys::fs::make_absolute(name);
  return ImportOutputs{program, file.str().str(), name.str().str()};
}

llvm::Error mlir::dist::writeImport(const frontend::ImportedModel &imported,
                                    const ImportOutputs &outputs,
                                    bool locations) {
  auto programStream = OutputStream::open(outputs.program);
  if (!programStream)
    return programStream.takeError();
  OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  ModuleOp module = imported.module.get();
  module.print((*programStream)->os(), flags);
  (*programStream)->os() << "\n";
  if (outputs.weights.empty() || imported.parameters.empty())
    return (*programStream)->keep();
  auto weightsStream = OutputStream::open(outputs.weights);
  if (!weightsStream)
    return weightsStream.takeError();
  frontend::writeSafetensors((*weightsStream)->os(), imported.parameters);
  return OutputStream::keep({weightsStream->get(), programStream->get()});
}
