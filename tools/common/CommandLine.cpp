//===- CommandLine.cpp - What all tools ask of their options --------------===//

#include "tools/common/CommandLine.h"
#include "dist/ModelArgument.h"
#include "dist/Version.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <optional>
#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;

void mlir::dist::removeUncheckedOutputs() {
  auto &options = cl::getRegisteredOptions();
  for (const char *name :
       {"info-output-file", "log-actions-to", "mlir-generate-reproducer",
        "mlir-pass-pipeline-crash-reproducer",
        "mlir-pass-pipeline-local-reproducer", "mlir-print-ir-tree-dir",
        "profile-actions-to", "remarks-output-file"})
    if (cl::Option *option = options.lookup(name))
      option->removeArgument();
}

void mlir::dist::hideLibraryOptions() {
  for (auto [name, option] : cl::getRegisteredOptions())
    if (llvm::none_of(option->Categories, [](const cl::OptionCategory *one) {
          return one->getName() == "Generic Options";
        }))
      option->setHiddenFlag(cl::Hidden);
}

/// What is wrong with how `option` is given; "" if nothing is.
static std::string findFault(const cl::Option &option) {
  bool isList = option.getNumOccurrencesFlag() == cl::ZeroOrMore ||
                option.getNumOccurrencesFlag() == cl::OneOrMore;
  if (option.getNumOccurrences() > 1 && !isList)
    return "is given " + std::to_string(option.getNumOccurrences()) +
           " times; give it once";
  // One whose value may be left out means something without.
  if (option.getNumOccurrences() == 0 ||
      option.getValueExpectedFlag() == cl::ValueOptional)
    return "";
  auto text = dynamic_cast<const cl::opt<std::string> *>(&option);
  auto texts = dynamic_cast<const cl::list<std::string> *>(&option);
  if ((text && text->empty()) ||
      (texts &&
       llvm::any_of(*texts, [](StringRef one) { return one.empty(); })))
    return "has an empty value; leave the option out, or give it one";
  return "";
}

/// Called before a tool ends for its options; set while they are parsed.
static std::function<void()> beforeLeaving;

[[noreturn]] static void leaveTool() {
  if (beforeLeaving)
    beforeLeaving();
  std::exit(1);
}

void mlir::dist::checkOptions(StringRef tool) {
  // Sorted: the options are in no order of their own.
  std::map<StringRef, std::string> faults;
  for (auto [name, option] : cl::getRegisteredOptions())
    if (std::string fault = findFault(*option); !fault.empty())
      faults[name] = fault;
  for (const auto &[name, fault] : faults)
    llvm::errs() << tool << ": error: " << (name.size() > 1 ? "--" : "-")
                 << name << " " << fault << "\n";
  if (!faults.empty())
    leaveTool();
}

void mlir::dist::printVersion(llvm::raw_ostream &stream) {
  stream << "dist " << ::dist::kVersion << ", with LLVM " LLVM_VERSION_STRING
         << "\n";
}

/// Whether a program may come from standard input: no terminal, no /dev/null,
/// which also takes the place of one that is closed.
static bool hasStandardInput() {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(STDIN_FILENO, status) &&
         status.type() != llvm::sys::fs::file_type::character_file;
}

[[noreturn]] static void fail(StringRef tool, const Twine &what) {
  llvm::errs() << tool << ": error: " << what << "\n";
  leaveTool();
}

void mlir::dist::parseArguments(StringRef tool, int argc, char **argv,
                                StringRef overview, const cl::Option *instead) {
  // What is missing, or too much, is told here: LLVM does not know what for.
  llvm::SmallSetVector<cl::Option *, 4> required;
  auto relax = [&](cl::Option *option) {
    if (option->getNumOccurrencesFlag() != cl::Required)
      return;
    required.insert(option);
    option->setNumOccurrencesFlag(cl::Optional);
  };
  auto &positional = cl::SubCommand::getTopLevel().PositionalOpts;
  llvm::for_each(positional, relax);
  for (auto [name, option] : cl::getRegisteredOptions())
    relax(option);
  cl::opt<std::string> *model = nullptr;
  if (!positional.empty())
    model = dynamic_cast<cl::opt<std::string> *>(positional.front());
  std::optional<cl::list<std::string>> others;
  if (positional.size() == 1)
    others.emplace(cl::Positional, cl::desc(""));

  // LLVM replaces @NAME by the contents of the file NAME; not so here.
  llvm::vfs::InMemoryFileSystem noFiles;
  cl::SetVersionPrinter(printVersion);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs(),
                                   &noFiles))
    leaveTool();

  if (model && !(instead && instead->getNumOccurrences() > 0)) {
    std::vector<std::string> given;
    if (model->getNumOccurrences() > 0 ||
        (!required.contains(model) && hasStandardInput()))
      given.push_back(*model);
    if (others)
      given.insert(given.end(), others->begin(), others->end());
    try {
      ::dist::checkModel(given, model->HelpStr.str());
    } catch (const ::dist::Error &error) {
      fail(tool, error.what());
    }
  }
  if (others)
    others->removeArgument();
  for (cl::Option *option : required)
    if (option != model && option->getNumOccurrences() == 0)
      fail(tool, "no -" + option->ArgStr + ": give -" + option->ArgStr + " " +
                     option->ValueStr + " (--help lists the options)");
}

/// Options of libraries that the tool has hidden as unrelated to it: LLVM's
/// thousands for its passes and code generators. Some write files that nothing
/// checks, and most would do nothing.
static void removeUnrelated() {
  llvm::SmallVector<cl::Option *> unrelated;
  for (auto [name, option] : cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == cl::ReallyHidden)
      unrelated.push_back(option);
  for (cl::Option *option : unrelated)
    option->removeArgument();
}

void mlir::dist::parseOptions(StringRef tool, int argc, char **argv,
                              StringRef overview, const cl::Option *instead,
                              std::function<void()> leave) {
  beforeLeaving = std::move(leave);
  removeUncheckedOutputs();
  removeUnrelated();
  parseArguments(tool, argc, argv, overview, instead);
  checkOptions(tool);
  beforeLeaving = nullptr;
}
