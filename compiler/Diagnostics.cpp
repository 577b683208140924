//===- Diagnostics.cpp - How the tools print diagnostics ------------------===//

#include "compiler/Diagnostics.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/Location.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;
using namespace mlir::dist;

/// Whether `buffer` begins like text: no control characters but white space.
static bool isText(const llvm::MemoryBuffer &buffer) {
  constexpr size_t kLookedAt = 1 << 16;
  return llvm::none_of(buffer.getBuffer().take_front(kLookedAt),
                       [](unsigned char c) {
                         return c == 0x7f || (c < 0x20 && !llvm::isSpace(c));
                       });
}

/// The file that a location names, if it is a regular file: a pipe would wait
/// for a writer, and a device may never end.
static llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>
openNamed(StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return std::make_error_code(std::errc::invalid_argument);
  return llvm::MemoryBuffer::getFile(path);
}

namespace {
/// The files of the machine, as far as they are text.
class TextFiles : public llvm::vfs::ProxyFileSystem {
public:
  TextFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const Twine &path) override {
    std::string name = path.str();
    auto buffer = openNamed(name);
    if (!buffer)
      return buffer.getError();
    if (!isText(**buffer))
      return std::make_error_code(std::errc::illegal_byte_sequence);
    return ProxyFileSystem::openFileForRead(name);
  }
};

/// Handles the diagnostics that have a location in a file that is no text, and
/// leaves the others to the next handler.
class BinaryLocationHandler : public SourceMgrDiagnosticHandler {
public:
  BinaryLocationHandler(llvm::SourceMgr &sources, MLIRContext *context)
      : SourceMgrDiagnosticHandler(sources, context) {
    setHandler([this](Diagnostic &diagnostic) -> LogicalResult {
      bool isBinary = mentionsBinary(diagnostic.getLocation());
      for (Diagnostic &note : diagnostic.getNotes())
        isBinary |= mentionsBinary(note.getLocation());
      if (!isBinary)
        return failure();
      emitDiagnostic(diagnostic);
      return success();
    });
  }

private:
  bool mentionsBinary(Location location) {
    auto file = location->findInstanceOf<FileLineColLoc>();
    if (!file)
      return false;
    auto [known, isNew] = binary.try_emplace(file.getFilename(), false);
    if (isNew)
      if (auto buffer = openNamed(file.getFilename().getValue()))
        known->second = !isText(**buffer);
    return known->second;
  }

  llvm::DenseMap<StringAttr, bool> binary;
};

/// Keeps a handler for as long as there is a pass manager.
struct BinaryLocations : PassInstrumentation {
  explicit BinaryLocations(MLIRContext *context)
      : handler(sources, context), placeless(context) {
    openOnlyText(sources);
  }
  llvm::SourceMgr sources;
  BinaryLocationHandler handler;
  PlacelessPrinter placeless;
};
} // namespace

void mlir::dist::openOnlyText(llvm::SourceMgr &sources) {
  sources.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<TextFiles>());
}

namespace {
/// Of all threads of the tool.
struct KeptErrors {
  void add(std::string text) {
    std::lock_guard<std::mutex> guard(mutex);
    texts.push_back(std::move(text));
  }
  std::mutex mutex;
  std::vector<std::string> texts;
};
} // namespace

static KeptErrors &getKeptErrors() {
  static KeptErrors errors;
  return errors;
}

void mlir::dist::printError(const Twine &text) {
  llvm::errs() << "error: " << text << "\n";
  getKeptErrors().add(text.str());
}

std::vector<std::string> mlir::dist::getErrors() {
  std::lock_guard<std::mutex> guard(getKeptErrors().mutex);
  return getKeptErrors().texts;
}

ErrorKeeper::ErrorKeeper(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([](Diagnostic &diagnostic) -> LogicalResult {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      std::string place = describeLocation(diagnostic.getLocation());
      getKeptErrors().add((place.empty() ? place : place + ": ") +
                          diagnostic.str());
    }
    return failure();
  });
}

static StringRef getName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  llvm_unreachable("no such severity");
}

/// The file, if a location names a whole file; empty for a position, or if
/// there is no file.
static StringRef getFile(Diagnostic &diagnostic) {
  auto file = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
  return file && file.getStartLine() == 0 ? file.getFilename().getValue() : "";
}

PlacelessPrinter::PlacelessPrinter(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([](Diagnostic &diagnostic) -> LogicalResult {
    auto isPlaceless = [](Diagnostic &one) {
      return isa<UnknownLoc>(one.getLocation()) || !getFile(one).empty();
    };
    if (!isPlaceless(diagnostic) ||
        !llvm::all_of(diagnostic.getNotes(), isPlaceless))
      return failure();
    if (StringRef file = getFile(diagnostic); !file.empty())
      llvm::errs() << file << ": ";
    llvm::errs() << getName(diagnostic.getSeverity()) << ": " << diagnostic
                 << "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      llvm::errs() << "note: " << note << "\n";
    return success();
  });
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context)
    : handler(sources, context), placeless(context), keeper(context) {
  openOnlyText(sources);
  context->printOpOnDiagnostic(false);
}

void mlir::dist::printBinaryLocations(PassManager &passes) {
  passes.addInstrumentation(
      std::make_unique<BinaryLocations>(passes.getContext()));
}
