//===- Diagnostics.cpp - How the tools print diagnostics ------------------===//

#include "compiler/Diagnostics.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/SourceText.h"
#include "mlir/IR/Location.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;
using namespace mlir::dist;

/// Columns of a source line that are quoted. A function's signature has many
/// more.
static constexpr size_t kMostQuoted = 160;

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
    if (!isText((*buffer)->getBuffer()))
      return std::make_error_code(std::errc::illegal_byte_sequence);
    return ProxyFileSystem::openFileForRead(name);
  }
};

/// Handles the diagnostics that have a location in a file that is no text or in
/// a long line, and leaves the others to the next handler.
class UnquotedHandler : public SourceMgrDiagnosticHandler {
public:
  UnquotedHandler(llvm::SourceMgr &sources, MLIRContext *context)
      : SourceMgrDiagnosticHandler(sources, context) {
    setHandler([this](Diagnostic &diagnostic) -> LogicalResult {
      bool isOurs = isUnquoted(diagnostic.getLocation());
      for (Diagnostic &note : diagnostic.getNotes())
        isOurs |= isUnquoted(note.getLocation());
      if (!isOurs)
        return failure();
      emitDiagnostic(diagnostic);
      return success();
    });
  }

private:
  struct File {
    bool isBinary = false;
    llvm::DenseSet<unsigned> longLines;
  };

  bool isUnquoted(Location location) {
    auto place = location->findInstanceOf<FileLineColLoc>();
    if (!place)
      return false;
    auto [entry, isNew] = files.try_emplace(place.getFilename());
    File &file = entry->second;
    if (isNew)
      if (auto buffer = openNamed(place.getFilename().getValue())) {
        file.isBinary = !isText((*buffer)->getBuffer());
        unsigned number = 0;
        for (StringRef line : llvm::split((*buffer)->getBuffer(), '\n'))
          if (++number; line.size() > kMostQuoted)
            file.longLines.insert(number);
      }
    return file.isBinary || file.longLines.contains(place.getLine());
  }

  llvm::DenseMap<StringAttr, File> files;
};

/// Keeps a handler for as long as there is a pass manager.
struct UnquotedLocations : PassInstrumentation {
  explicit UnquotedLocations(MLIRContext *context)
      : handler(sources, context), placeless(context) {
    quoteText(sources);
  }
  llvm::SourceMgr sources;
  UnquotedHandler handler;
  PlacelessPrinter placeless;
};
} // namespace

/// As LLVM does, with the part of a long line around the column alone.
static void print(const llvm::SMDiagnostic &diagnostic, void *) {
  StringRef line = diagnostic.getLineContents();
  if (line.size() <= kMostQuoted) {
    diagnostic.print(nullptr, llvm::errs());
    return;
  }
  constexpr int kBefore = 40;
  int column = std::max(diagnostic.getColumnNo(), 0);
  int first = std::max(column - kBefore, 0);
  std::string part = line.substr(first, kMostQuoted).str();
  if (first > 0)
    part.replace(0, 3, "...");
  if (first + part.size() < line.size())
    part += "...";
  llvm::SMDiagnostic shortened(
      *diagnostic.getSourceMgr(), diagnostic.getLoc(), diagnostic.getFilename(),
      diagnostic.getLineNo(), column - first, diagnostic.getKind(),
      diagnostic.getMessage(), part, {});
  llvm::errs() << diagnostic.getFilename() << ":" << diagnostic.getLineNo()
               << ":" << column + 1 << ": ";
  shortened.print(nullptr, llvm::errs(), /*ShowColors=*/true,
                  /*ShowKindLabel=*/true, /*ShowLocation=*/false);
}

void mlir::dist::quoteText(llvm::SourceMgr &sources) {
  sources.setDiagHandler(print);
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
  quoteText(sources);
  context->printOpOnDiagnostic(false);
}

AlikeRemarks::AlikeRemarks(MLIRContext *context)
    : ScopedDiagnosticHandler(context), context(context) {
  setHandler([this](Diagnostic &diagnostic) -> LogicalResult {
    if (isPrinting)
      return failure();
    DiagnosticSeverity severity = diagnostic.getSeverity();
    if (severity == DiagnosticSeverity::Error) {
      print();
      return failure();
    }
    std::string text = diagnostic.str();
    std::string key =
        (getName(severity) + ":" + LayerPaths::getPattern(text)).str();
    for (Diagnostic &note : diagnostic.getNotes())
      key += "\n" + LayerPaths::getPattern(note.str());
    auto [entry, isNew] = numberOf.try_emplace(key, kept.size());
    if (isNew)
      kept.push_back({std::move(diagnostic)});
    Alike &alike = kept[entry->second];
    ++alike.count;
    alike.text.add(text);
    return success();
  });
}

AlikeRemarks::~AlikeRemarks() { print(); }

void AlikeRemarks::print() {
  llvm::SaveAndRestore<bool> guard(isPrinting, true);
  DiagnosticEngine &engine = context->getDiagEngine();
  for (Alike &alike : kept) {
    Diagnostic one(alike.first.getLocation(), alike.first.getSeverity());
    one << alike.text.describe();
    if (alike.count > 1)
      one << " (" << alike.count << " times)";
    for (Diagnostic &note : alike.first.getNotes())
      one.attachNote(note.getLocation()) << note.str();
    engine.emit(std::move(one));
  }
  kept.clear();
  numberOf.clear();
}

void mlir::dist::printUnquoted(PassManager &passes) {
  passes.addInstrumentation(
      std::make_unique<UnquotedLocations>(passes.getContext()));
}
