//===- dist-import.cpp - Model files to level-0 IR ------------------------===//
//
// Reads an exported model and writes it as linalg on tensors, its parameters to
// a safetensors file beside it. What is read: docs/import.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/NameList.h"
#include "frontends/onnx/Import.h"
#include "frontends/onnx/WeightsWriter.h"
#include "lowering/files/OutputStream.h"
#include "tools/common/CommandLine.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;

static llvm::cl::OptionCategory category("dist-import options");

static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::desc("MODEL.onnx"),
                                        llvm::cl::cat(category));

static llvm::cl::opt<std::string>
    output("o", llvm::cl::desc("Where the program goes; - is standard output"),
           llvm::cl::value_desc("OUT.mlir"), llvm::cl::init("-"),
           llvm::cl::cat(category));

static llvm::cl::opt<std::string> weights(
    "weights",
    llvm::cl::desc("Where the parameters go (default: OUT.safetensors; none "
                   "when the program goes to standard output)"),
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

/// Writes the program, and its parameters unless `weights` is empty. Both
/// appear at once.
static llvm::Error writeOutputs(const frontend::ImportedModel &imported,
                                StringRef program, StringRef weights) {
  auto programStream = OutputStream::open(program);
  if (!programStream)
    return programStream.takeError();
  OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  ModuleOp module = imported.module.get();
  module.print((*programStream)->os(), flags);
  (*programStream)->os() << "\n";
  if (weights.empty())
    return (*programStream)->keep();
  auto weightsStream = OutputStream::open(weights);
  if (!weightsStream)
    return weightsStream.takeError();
  frontend::writeSafetensors((*weightsStream)->os(), imported.parameters);
  return OutputStream::keep({weightsStream->get(), programStream->get()});
}

/// What a schedule cannot place, and training does not change.
static void noteFolded(ArrayRef<std::string> names) {
  if (names.empty())
    return;
  bool isOne = names.size() == 1;
  const char *them = isOne ? "it" : "them";
  raw_ostream &os = llvm::WithColor::note(llvm::errs(), "dist-import");
  os << names.size() << " parameter" << (isOne ? "" : "s") << " of the model "
     << (isOne ? "is no argument" : "are no arguments")
     << ", as the exporter made constants of what is computed from " << them
     << ", or nothing reads " << them << " by this name: ";
  os << listNames(names) << "; training leaves " << them << " as "
     << (isOne ? "it is" : "they are")
     << ", unless tied to another parameter\n";
}

/// What training cannot reach through a parameter that it does change.
static void noteComputed(ArrayRef<std::string> names) {
  if (names.empty())
    return;
  bool isOne = names.size() == 1;
  raw_ostream &os = llvm::WithColor::note(llvm::errs(), "dist-import");
  os << names.size() << (isOne ? " table" : " tables") << " of the file "
     << (isOne ? "is" : "are")
     << " the exporter's own, made when it folded constants: ";
  os << listNames(names) << "; a parameter that went into "
     << (isOne ? "it" : "them")
     << " gets no gradient this way\n";
}

/// Where the file's own shape inference was wrong.
static void warnOfSizes(ArrayRef<std::string> wrong) {
  if (wrong.empty())
    return;
  raw_ostream &os = llvm::WithColor::warning(llvm::errs(), "dist-import");
  os << wrong.front();
  if (wrong.size() > 1)
    os << ", and " << wrong.size() - 1 << " more of that kind";
  os << "; what the operators compute is taken\n";
}

/// What is read in a way that the file does not say.
static void
noteTypes(const std::map<std::string, std::vector<std::string>> &taken) {
  for (const auto &[what, nodes] : taken) {
    raw_ostream &os = llvm::WithColor::note(llvm::errs(), "dist-import");
    os << what << "; in " << nodes.size()
       << (nodes.size() == 1 ? " node: " : " nodes: ");
    os << listNames(nodes) << "\n";
  }
}

/// Names that a schedule may use, but that may be wrong in a checkpoint.
static void noteDoubts(ArrayRef<frontend::Parameter> parameters) {
  std::map<StringRef, std::vector<std::string>> names;
  for (const frontend::Parameter &parameter : parameters)
    if (!parameter.doubt.empty())
      names[parameter.doubt].push_back(parameter.name);
  for (const auto &[doubt, of] : names) {
    bool isOne = of.size() == 1;
    raw_ostream &os = llvm::WithColor::note(llvm::errs(), "dist-import");
    os << of.size() << " parameter" << (isOne ? " is " : "s are each ") << doubt
       << ": ";
    os << listNames(of) << "; training refuses " << (isOne ? "it" : "them")
       << " unless asked for\n";
  }
}

/// How running statistics differ from PyTorch's.
static void noteStatistics(ArrayRef<std::string> left,
                           ArrayRef<std::string> last) {
  if (!left.empty()) {
    raw_ostream &os = llvm::WithColor::note(llvm::errs(), "dist-import");
    os << left.size() << (left.size() == 1 ? " norm" : " norms")
       << " in training mode with running statistics that are computed from "
          "parameters, which training leaves as they are: ";
    os << listNames(left) << "\n";
  }
  if (!last.empty()) {
    raw_ostream &os = llvm::WithColor::note(llvm::errs(), "dist-import");
    os << last.size() << (last.size() == 1 ? " batch norm" : " batch norms")
       << " of momentum 1, as which momentum=None is exported too: ";
    os << listNames(last)
       << "; running statistics are the last batch's alone\n";
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialise(argc, argv);
  ::dist::handleSignals("dist-import");
  llvm::cl::HideUnrelatedOptions(category);
  parseOptions("dist-import", argc, argv,
               "Imports an exported model as linalg on tensors\n");

  if (operators)
    return finishOutput("dist-import", listOperators());
  if (input.empty())
    return fail("a model is needed: dist-import MODEL.onnx -o OUT.mlir");
  frontend::ImportOptions options;
  for (const std::string &binding : bind) {
    auto [name, number] = llvm::StringRef(binding).rsplit('=');
    if (name.empty() || number.empty())
      return fail("--bind " + binding +
                  ": a name and a number are needed, as "
                  "in --bind batch=2");
    options.bindings.emplace_back(name.str(), number.str());
  }
  llvm::SmallString<128> weightsPath(weights.getValue());
  if (weightsPath == "-")
    return fail("--weights -: the program names the file of its parameters, "
                "which standard output is not; name a file");
  bool isBeside = hasNeighbours(output);
  if (weightsPath.empty() && isBeside) {
    weightsPath = output;
    llvm::sys::path::replace_extension(weightsPath, "safetensors");
    if (weightsPath == output)
      return fail("-o " + output +
                  ": the parameters would go to the same "
                  "file; name another one with --weights");
  }
  // The module names its weights relative to itself.
  options.weights = weightsPath.str().str();
  if (!weights.getNumOccurrences())
    options.weights = llvm::sys::path::filename(weightsPath).str();
  else if (output != "-" && llvm::sys::path::parent_path(weightsPath) ==
                                llvm::sys::path::parent_path(output))
    options.weights = llvm::sys::path::filename(weightsPath).str();
  else if (!llvm::sys::path::is_absolute(weightsPath) && output != "-") {
    llvm::SmallString<128> absolute(weightsPath);
    llvm::sys::fs::make_absolute(absolute);
    options.weights = absolute.str().str();
  }

  llvm::Expected<frontend::Model> model = frontend::readModel(input);
  if (!model)
    return fail(llvm::toString(model.takeError()));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::Expected<frontend::ImportedModel> imported =
      frontend::importModel(*model, context, options);
  if (!imported)
    return fail(llvm::toString(imported.takeError()));
  if (!imported->parameters.empty() && !llvm::json::isUTF8(options.weights))
    return fail(
        "'" + llvm::json::fixUTF8(options.weights) +
        "': the program names this file of its parameters, but it is "
        "no UTF-8; choose another name with " +
        (weights.getNumOccurrences() ? "--weights" : "-o or --weights"));
  if (!imported->parameters.empty() && weightsPath.empty() && output != "-")
    llvm::WithColor::warning(llvm::errs(), "dist-import")
        << "-o " << output
        << ": no file can lie beside it, so that the parameters are not "
           "written; name a file with --weights\n";

  bool writesWeights = !weightsPath.empty() && !imported->parameters.empty();
  for (const std::string &file : model->files)
    ::dist::noteInput(file);
  if (llvm::Error failure = writeOutputs(
          *imported, output, writesWeights ? StringRef(weightsPath) : ""))
    return fail(llvm::toString(std::move(failure)));
  noteFolded(imported->foldedParameters);
  noteComputed(imported->computedConstants);
  warnOfSizes(imported->wrongSizes);
  noteDoubts(imported->parameters);
  noteTypes(imported->takenTypes);
  noteStatistics(imported->leftStatistics, imported->lastStatistics);
  if (!imported->foldedParameters.empty() ||
      !imported->computedConstants.empty() ||
      llvm::any_of(imported->parameters, [](const auto &parameter) {
        return !parameter.doubt.empty();
      }))
    llvm::WithColor::note(llvm::errs(), "dist-import")
        << "to train, export without folding: torch.onnx.export with "
           "optimize=False, or with dynamo=False and do_constant_folding=False "
           "(docs/train-export.md)\n";
  return 0;
}
