//===- Import.h - ONNX models to level-0 IR ---------------------*- C++ -*-===//
//
// The interface of the ONNX frontend: a checked model in, a module and its
// parameters out. docs/import.md says what is supported.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_IMPORT_H
#define DIST_FRONTENDS_ONNX_IMPORT_H

#include "frontends/onnx/reading/Bindings.h"
#include "frontends/onnx/reading/Model.h"
#include "frontends/onnx/reading/Parameters.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>

namespace mlir::dist::frontend {

struct ImportOptions {
  /// Of the inputs' open dimensions; the others stay open.
  Bindings bindings;
};

struct ImportedModel {
  OwningOpRef<ModuleOp> module;
  /// Those that the module reads, in the order of its arguments.
  std::vector<Parameter> parameters;
  /// Those of the model that it has no arguments for, as the exporter made
  /// constants of them (Parameters::findFolded).
  std::vector<std::string> foldedParameters;
  /// Constants that may depend on parameters (Parameters::findComputed).
  std::vector<std::string> computedConstants;
  /// Nodes of types that ONNX does not give their operators, by what these are
  /// taken as.
  std::map<std::string, std::vector<std::string>> takenTypes;
  /// What the file says wrongly of the sizes of values that are no results.
  std::vector<std::string> wrongSizes;
  /// Batch norms in training mode whose running statistics are computed from
  /// parameters, which they do not change.
  std::vector<std::string> leftStatistics;
  /// Those whose running statistics are the last batch's alone.
  std::vector<std::string> lastStatistics;
};

/// Loads the dialects that it needs. Fails with all unsupported operators at
/// once, or the first contradiction in the file.
llvm::Expected<ImportedModel> importModel(const Model &model,
                                          MLIRContext &context,
                                          const ImportOptions &options);

/// The operators of ONNX's standard domain that can be imported, sorted.
std::vector<std::string> supportedOperators();
/// The first and the last opset that a file may be of.
std::pair<int64_t, int64_t> supportedOpsets();

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_IMPORT_H
