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
};

/// The files for the values of -o and --weights, if that is given.
llvm::Expected<ImportOutputs>
findImportOutputs(const std::string &program,
                  const std::optional<std::string> &weights);

/// Writes the program, with or without locations, and its parameters if it has
/// some and there is a file for them. Both appear at once.
llvm::Error writeImport(const frontend::ImportedModel &imported,
                        const ImportOutputs &outputs, bool locations);

} // namespace mlir::dist

#endif // DIST_TOOLS_IMPORT_OUTPUTS_H
