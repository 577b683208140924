//===- Outputs.cpp - Files that an import writes --------------------------===//

#include "tools/import/Outputs.h"
#include "compiler/Paths.h"
#include "dialects/dist/IR/Dist.h"
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
  return ImportOutputs{program, file.str().str(), name.str().str(), !weights};
}

/// `file` with another end in place of ".safetensors" or what it has.
static void setExtension(std::string &file, StringRef extension) {
  llvm::SmallString<128> changed(file);
  path::replace_extension(changed, extension);
  file = changed.str();
}

/// The text of the index. Parameters that are in no file of the model are in
/// `rest`, which lies beside the index.
static llvm::Expected<std::string>
makeIndex(const frontend::ImportedModel &imported,
          ArrayRef<frontend::ExternalFile> files, StringRef index,
          StringRef rest) {
  std::string folder = folderOf(index);
  llvm::StringMap<std::string> paths;
  for (const frontend::ExternalFile &file : files)
    paths[file.path] = relocate(file.path, ".", folder);
  std::vector<::dist::WeightsEntry> entries;
  for (const frontend::Parameter &parameter : imported.parameters) {
    ::dist::WeightsEntry entry{describe(parameter),
                               path::filename(rest).str(), std::nullopt};
    if (auto place = frontend::findInPlace(parameter, files)) {
      entry.file = paths[place->file];
      entry.offset = place->offset;
    }
    entries.push_back(std::move(entry));
  }
  try {
    return ::dist::makeWeightsIndex(folder, entries);
  } catch (const ::dist::Error &error) {
    return fail(llvm::Twine(error.what()) +
                "; with --weights FILE.safetensors all parameters are copied "
                "to one file");
  }
}

llvm::Error mlir::dist::writeImport(const frontend::ImportedModel &imported,
                                    ArrayRef<frontend::ExternalFile> files,
                                    ImportOutputs outputs, bool locations) {
  std::vector<frontend::Parameter> written;
  for (const frontend::Parameter &parameter : imported.parameters)
    if (!outputs.isDefault || !findInPlace(parameter, files))
      written.push_back(parameter);
  bool isIndexed = !outputs.weights.empty() &&
                   written.size() < imported.parameters.size();
  std::string rest = outputs.weights;
  if (isIndexed) {
    setExtension(outputs.weights, "weights.json");
    setExtension(outputs.weightsName, "weights.json");
  }

  ModuleOp module = imported.module.get();
  bool hasWeights = !outputs.weights.empty() && !imported.parameters.empty();
  if (hasWeights)
    module->setAttr(kWeightsAttr, StringAttr::get(module.getContext(),
                                                  outputs.weightsName));
  std::vector<std::unique_ptr<OutputStream>> streams;
  auto open = [&](StringRef path) -> llvm::Expected<llvm::raw_ostream *> {
    auto stream = OutputStream::open(path);
    if (!stream)
      return stream.takeError();
    streams.push_back(std::move(*stream));
    return &streams.back()->os();
  };
  auto program = open(outputs.program);
  if (!program)
    return program.takeError();
  OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  module.print(**program, flags);
  **program << "\n";
  if (hasWeights && !written.empty()) {
    auto stream = open(rest);
    if (!stream)
      return stream.takeError();
    frontend::writeSafetensors(**stream, written);
  }
  if (isIndexed) {
    auto text = makeIndex(imported, files, outputs.weights, rest);
    if (!text)
      return text.takeError();
    auto stream = open(outputs.weights);
    if (!stream)
      return stream.takeError();
    **stream << *text;
  }
  // The program last, which names the others.
  std::vector<OutputStream *> kept;
  for (auto &stream : llvm::reverse(streams))
    kept.push_back(stream.get());
  return OutputStream::keep(kept);
}
