//===- Outputs.h - Files that an import writes ------------------*- C++ -*-===//

#ifndef DIST_TOOLS_IMPORT_OUTPUTS_H
#define DIST_TOOLS_IMPORT_OUTPUTS_H

#include "frontends/onnx/Import.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace mlir::dist {

struct ImportOutputs {
  /// "-" for standard output.
  std::string program;
  /// Where parameters go, "" for nowhere; and how the program names this file,
  /// relative to itself.
  std::string weights, weightsName;
  /// Nobody asked for that file. Parameters that lie in files of the model stay
  /// there, and an index names their bytes.
  bool isDefault;
};

/// The files for the values of -o and --weights, if that is given.
llvm::Expected<ImportOutputs>
findImportOutputs(const std::string &program,
                  const std::optional<std::string> &weights);

/// Writes the program, with or without locations, and its parameters if it has
/// some and there is a file for them. All appear at once. `files` are those of
/// the model that have data of parameters.
llvm::Error writeImport(const frontend::ImportedModel &imported,
                        llvm::ArrayRef<frontend::ExternalFile> files,
                        ImportOutputs outputs, bool locations);

} // namespace mlir::dist

#endif // DIST_TOOLS_IMPORT_OUTPUTS_H
