//===- dist-import.cpp - Model files to level-0 IR ------------------------===//
//
// Reads an exported model and writes it as linalg on tensors, its parameters to
// a safetensors file beside it. What is read: docs/import.md.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Import.h"
#include "lowering/files/OutputStream.h"
#include "tools/common/CommandLine.h"
#include "tools/import/Notes.h"
#include "tools/import/Outputs.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

static llvm::cl::OptionCategory category("dist-import options");

static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::desc("MODEL.onnx"),
                                        llvm::cl::Required,
                                        llvm::cl::cat(category));

static llvm::cl::opt<std::string>
    output("o", llvm::cl::desc("Where the program goes; - is standard output"),
           llvm::cl::value_desc("OUT.mlir"), llvm::cl::init("-"),
           llvm::cl::cat(category));

static llvm::cl::opt<std::string> weights(
    "weights",
    llvm::cl::desc("Where the parameters go, all of them (default: those in "
                   "external data stay there, OUT.weights.json names them, and "
                   "others go to OUT.safetensors; none when the program goes "
                   "to standard output)"),
    llvm::cl::value_desc("OUT.safetensors"), llvm::cl::cat(category));

static llvm::cl::list<std::string>
    bind("bind",
         llvm::cl::desc("Size of a dynamic dimension, by its name or as "
                        "INPUT[INDEX], or another of the same size; may be "
                        "repeated. Others stay open"),
         llvm::cl::value_desc("DIM=N"), llvm::cl::cat(category));

static llvm::cl::opt<bool> locations(
    "locations",
    llvm::cl::desc("Write each op's place in the model file (default: true)"),
    llvm::cl::init(true), llvm::cl::cat(category));

static llvm::cl::opt<bool>
    operators("operators",
              llvm::cl::desc("List the operators that can be imported"),
              llvm::cl::cat(category));

/// In lines of up to 100 columns.
static int listOperators() {
  std::vector<std::string> names = frontend::supportedOperators();
  auto [first, last] = frontend::supportedOpsets();
  llvm::outs() << names.size() << " operators, opsets " << first << " to "
               << last << ":";
  size_t column = 100;
  for (const std::string &name : names) {
    bool wraps = column + 1 + name.size() > 100;
    llvm::outs() << (wraps ? "\n" : " ") << name;
    column = (wraps ? 0 : column + 1) + name.size();
  }
  llvm::outs() << "\n";
  return 0;
}

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dist-import") << message << "\n";
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialise(argc, argv);
  ::dist::handleSignals("dist-import");
  llvm::cl::HideUnrelatedOptions(category);
  parseOptions("dist-import", category, argc, argv,
               "Imports an exported model as linalg on tensors\n",
               "\nEXAMPLES:\n"
               "  dist-import model.onnx -o model.mlir\n"
               "  dist-import model.onnx --bind batch=8 -o model.mlir\n"
               "  dist-import --operators\n",
               &operators);

  if (operators)
    return finishOutput("dist-import", listOperators());
  frontend::ImportOptions options;
  for (const std::string &binding : bind) {
    auto [name, number] = llvm::StringRef(binding).rsplit('=');
    if (name.empty() || number.empty())
      return fail("--bind " + binding +
                  ": a name and a number are needed, as "
                  "in --bind batch=2");
    options.bindings.emplace_back(name.str(), number.str());
  }
  std::optional<std::string> asked;
  if (weights.getNumOccurrences())
    asked = weights;
  llvm::Expected<ImportOutputs> outputs = findImportOutputs(output, asked);
  if (!outputs)
    return fail(llvm::toString(outputs.takeError()));

  llvm::Expected<frontend::Model> model = frontend::readModel(input);
  if (!model)
    return fail(llvm::toString(model.takeError()));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::Expected<frontend::ImportedModel> imported =
      frontend::importModel(*model, context, options);
  if (!imported)
    return fail(llvm::toString(imported.takeError()));
  if (!imported->parameters.empty() &&
      !llvm::json::isUTF8(outputs->weightsName))
    return fail(
        "'" + llvm::json::fixUTF8(outputs->weightsName) +
        "': the program names this file of its parameters, but it is "
        "no UTF-8; choose another name with " +
        (weights.getNumOccurrences() ? "--weights" : "-o or --weights"));
  if (!imported->parameters.empty() && outputs->weights.empty() &&
      output != "-")
    llvm::WithColor::warning(llvm::errs(), "dist-import")
        << "-o " << output
        << ": no file can lie beside it, so that the parameters are not "
           "written; name a file with --weights\n";

  ::dist::noteInput(model->file);
  for (const frontend::ExternalFile &file : model->externalFiles)
    ::dist::noteInput(file.path);
  if (llvm::Error failure = writeImport(*imported, model->externalFiles,
                                        *outputs, locations))
    return fail(llvm::toString(std::move(failure)));
  noteImport(*imported);
  return 0;
}
