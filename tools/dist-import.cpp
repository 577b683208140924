//===- dist-import.cpp - Model files to level-0 IR ------------------------===//
//
// Reads an exported model and writes it as linalg on tensors, its parameters to
// a safetensors file beside it. What is read: docs/import.md.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Import.h"
#include "frontends/onnx/Safetensors.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

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
                        "INPUT[INDEX]; may be repeated"),
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

/// No output replaces what was read, nor the other output.
static llvm::Error checkOutputs(const frontend::Model &model, StringRef program,
                                StringRef weights) {
  auto error = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  auto same = [](StringRef a, StringRef b) {
    return a != "-" && b != "-" && (a == b || llvm::sys::fs::equivalent(a, b));
  };
  for (StringRef path : {program, weights})
    for (StringRef read : model.files)
      if (!path.empty() && same(path, read))
        return error(path + ": would replace what is imported, '" + read + "'");
  if (!weights.empty() && same(program, weights))
    return error(program + ": the program and its parameters would go to the "
                           "same file");
  return llvm::Error::success();
}

/// Writes to `path`, which is replaced as a whole or not at all; to standard
/// output, or what is no file, as it comes.
static llvm::Error
writeOutput(StringRef path,
            llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  auto error = [&](const llvm::Twine &why) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   path + ": cannot be written: " + why);
  };
  auto checked = [&](llvm::raw_fd_ostream &os) -> llvm::Error {
    llvm::Error failure = write(os);
    os.flush();
    if (!os.has_error())
      return failure;
    llvm::consumeError(std::move(failure));
    std::string message = os.error().message();
    os.clear_error();
    return error(message);
  };
  if (path == "-")
    return checked(llvm::outs());
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path)) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    return code ? error(code.message()) : checked(os);
  }
  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp",
                                      llvm::sys::fs::all_read |
                                          llvm::sys::fs::all_write);
  if (!file)
    return error(llvm::toString(file.takeError()));
  {
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    if (llvm::Error failure = checked(os)) {
      llvm::consumeError(file->discard());
      return failure;
    }
  }
  if (llvm::Error failure = file->keep(path))
    return error(llvm::toString(std::move(failure)));
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialise(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Imports an exported model as linalg on tensors\n");

  if (operators)
    return listOperators();
  if (input.empty())
    return fail("a model is needed: dist-import MODEL.onnx -o OUT.mlir");
  frontend::ImportOptions options;
  for (const std::string &binding : bind) {
    auto [name, number] = llvm::StringRef(binding).rsplit('=');
    int64_t size;
    if (name.empty() || number.getAsInteger(10, size))
      return fail("--bind " + binding +
                  ": a name and a number are needed, as "
                  "in --bind batch=2");
    options.bindings[name.str()] = size;
  }
  llvm::SmallString<128> weightsPath(weights.getValue());
  if (weightsPath.empty() && output != "-") {
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

  bool writesWeights = !weightsPath.empty() && !imported->parameters.empty();
  if (llvm::Error failure = checkOutputs(
          *model, output, writesWeights ? StringRef(weightsPath) : ""))
    return fail(llvm::toString(std::move(failure)));
  OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  llvm::Error written = writeOutput(output, [&](llvm::raw_ostream &os) {
    imported->module->print(os, flags);
    os << "\n";
    os.flush();
    // A program is of no use without its weights, so that they are there first.
    return writesWeights
               ? frontend::writeSafetensors(weightsPath, imported->parameters)
               : llvm::Error::success();
  });
  if (written)
    return fail(llvm::toString(std::move(written)));
  return 0;
}
