//===- CommandLine.cpp - What all tools ask of their options --------------===//

#include "tools/common/CommandLine.h"
#include "dist/ToolArguments.h"
#include "dist/Version.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
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
  if (option.getNumOccurrences() == 0 ||
      option.getValueExpectedFlag() == cl::ValueOptional)
    return "";
  // "a,,b" has an empty text.
  auto texts = dynamic_cast<const cl::list<std::string> *>(&option);
  if (texts && llvm::any_of(*texts, [](StringRef one) { return one.empty(); }))
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

/// What is registered, as ToolArguments.h wants it; numbers are told from texts
/// where `category` has them: not all of the libraries' have type information.
static ::dist::ToolOptions describeOptions(const cl::OptionCategory *category) {
  using Kind = ::dist::ToolOption;
  ::dist::ToolOptions options;
  for (auto [name, option] : cl::getRegisteredOptions()) {
    Kind &one = options[name.str()];
    one.value = option->ValueStr.str();
    if (option->getValueExpectedFlag() != cl::ValueRequired)
      continue;
    if (one.value.empty())
      one.value = "VALUE";
    one.kind = Kind::Text;
    if (!llvm::is_contained(option->Categories, category))
      continue;
    if (dynamic_cast<cl::opt<int64_t> *>(option) ||
        dynamic_cast<cl::opt<int> *>(option))
      one.kind = Kind::Whole;
    else if (dynamic_cast<cl::opt<uint64_t> *>(option) ||
             dynamic_cast<cl::opt<unsigned> *>(option))
      one.kind = Kind::Positive;
    else if (dynamic_cast<cl::opt<double> *>(option))
      one.kind = Kind::Number;
    else if (auto level =
                 dynamic_cast<cl::opt<llvm::CodeGenOptLevel> *>(option))
      for (unsigned i = 0; i < level->getParser().getNumOptions(); ++i)
        one.choices.push_back(level->getParser().getOption(i).str());
  }
  return options;
}

/// Categories are listed by name: libraries' come after `own`, which gets
/// --help and --version.
static void sortCategories(cl::OptionCategory &own) {
  static cl::OptionCategory ofLibraries("options of MLIR");
  for (auto [name, option] : cl::getRegisteredOptions())
    if (!llvm::is_contained(option->Categories, &own))
      option->Categories = {
          option->Categories.front() == &cl::getGeneralCategory() ? &ofLibraries
                                                                  : &own};
}

void mlir::dist::parseArguments(StringRef tool, int argc, char **argv,
                                StringRef overview, StringRef examples,
                                ArrayRef<const cl::Option *> instead,
                                cl::OptionCategory *category) {
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
  cl::Option *model = positional.empty() ? nullptr : positional.front();

  if (category)
    sortCategories(*category);
  ::dist::ToolOptions known = describeOptions(category);
  std::vector<::dist::ToolArgument> given;
  auto check = [&] { ::dist::checkModel(given, model->HelpStr.str(), known); };
  try {
    given = ::dist::readArguments(tool.str(), {argv + 1, argv + argc}, known);
    auto isModel = [](const auto &argument) { return argument.option.empty(); };
    auto isGiven = [](const cl::Option *option) {
      return option && option->getNumOccurrences() > 0;
    };
    if (positional.size() == 1 && llvm::count_if(given, isModel) > 1)
      check();
    if (auto extra = llvm::find_if(given, isModel);
        positional.empty() && extra != given.end())
      fail(tool, "'" + extra->text +
                     "' belongs to no option (--help lists the "
                     "options)");
    // LLVM replaces @NAME by the contents of the file NAME; not so here.
    llvm::vfs::InMemoryFileSystem noFiles;
    cl::SetVersionPrinter(printVersion);
    cl::extrahelp examplesAtTheEnd(examples);
    if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs(),
                                     &noFiles))
      leaveTool();
    if (model && llvm::none_of(given, isModel) &&
        llvm::none_of(instead, isGiven) &&
        (required.contains(model) || !hasStandardInput()))
      check();
  } catch (const ::dist::Error &error) {
    fail(tool, error.what());
  }
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

void mlir::dist::parseOptions(StringRef tool, cl::OptionCategory &category,
                              int argc, char **argv, StringRef overview,
                              StringRef examples, const cl::Option *instead,
                              std::function<void()> leave) {
  beforeLeaving = std::move(leave);
  removeUncheckedOutputs();
  removeUnrelated();
  parseArguments(tool, argc, argv, overview, examples, instead, &category);
  checkOptions(tool);
  beforeLeaving = nullptr;
}
