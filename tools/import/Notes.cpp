//===- Notes.cpp - What an import says of the model -----------------------===//

#include "tools/import/Notes.h"
#include "dialects/dist/Utils/NameList.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

static raw_ostream &note() {
  return llvm::WithColor::note(llvm::errs(), "dist-import");
}

/// What a schedule cannot place, and training does not change.
static void noteFolded(ArrayRef<std::string> names) {
  if (names.empty())
    return;
  bool isOne = names.size() == 1;
  const char *them = isOne ? "it" : "them";
  note() << names.size() << " parameter" << (isOne ? "" : "s")
         << " of the model " << (isOne ? "is no argument" : "are no arguments")
         << ", as the exporter made constants of what is computed from " << them
         << ", or nothing reads " << them
         << " by this name: " << listNames(names) << "; training leaves "
         << them << " as " << (isOne ? "it is" : "they are")
         << ", unless tied to another parameter\n";
}

/// What training cannot reach through a parameter that it does change.
static void noteComputed(ArrayRef<std::string> names) {
  if (names.empty())
    return;
  bool isOne = names.size() == 1;
  note() << names.size() << (isOne ? " table" : " tables") << " of the file "
         << (isOne ? "is" : "are")
         << " the exporter's own, made when it folded constants: "
         << listNames(names) << "; a parameter that went into "
         << (isOne ? "it" : "them") << " gets no gradient this way\n";
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
    note() << what << "; in " << nodes.size()
           << (nodes.size() == 1 ? " node: " : " nodes: ") << listNames(nodes)
           << "\n";
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
    note() << of.size() << " parameter" << (isOne ? " is " : "s are each ")
           << doubt << ": " << listNames(of) << "; training refuses "
           << (isOne ? "it" : "them") << " unless asked for\n";
  }
}

/// How running statistics differ from PyTorch's.
static void noteStatistics(ArrayRef<std::string> left,
                           ArrayRef<std::string> last) {
  if (!left.empty()) {
    note()
        << left.size() << (left.size() == 1 ? " norm" : " norms")
        << " in training mode with running statistics that are computed from "
           "parameters, which training leaves as they are: "
        << listNames(left) << "\n";
  }
  if (!last.empty()) {
    note() << last.size() << (last.size() == 1 ? " batch norm" : " batch norms")
           << " of momentum 1, as which momentum=None is exported too: "
           << listNames(last)
           << "; running statistics are the last batch's alone\n";
  }
}

void mlir::dist::noteImport(const frontend::ImportedModel &imported) {
  noteFolded(imported.foldedParameters);
  noteComputed(imported.computedConstants);
  warnOfSizes(imported.wrongSizes);
  noteDoubts(imported.parameters);
  noteTypes(imported.takenTypes);
  noteStatistics(imported.leftStatistics, imported.lastStatistics);
  if (!imported.foldedParameters.empty() ||
      !imported.computedConstants.empty() ||
      llvm::any_of(imported.parameters, [](const auto &parameter) {
        return !parameter.doubt.empty();
      }))
    note()
        << "to train, export without folding: torch.onnx.export with "
           "optimize=False, or with dynamo=False and do_constant_folding=False "
           "(docs/train-export.md)\n";
}
