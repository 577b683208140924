//===- SourceText.cpp - Text that MLIR's parser may be given --------------===//

#include "dialects/dist/Utils/SourceText.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Process.h"

#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// In seconds: how long a pipe is waited for to which nobody may write.
static constexpr int kMostWait = 10;

static llvm::Error error(const Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

static llvm::Error systemError(int number) {
  return llvm::errorCodeToError(
      std::error_code(number, std::generic_category()));
}

namespace {
/// The contents of pipes and standard input: they can be read once, and a tool
/// reads some inputs again.
class KeptTexts {
public:
  using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

  /// Null if it was not read yet.
  Buffer find(StringRef path) {
    std::lock_guard<std::mutex> guard(mutex);
    auto it = buffers.find(path);
    return it == buffers.end() ? nullptr : refer(*it->second);
  }
  Buffer keep(StringRef path, Buffer buffer) {
    std::lock_guard<std::mutex> guard(mutex);
    return refer(*(buffers[path] = std::move(buffer)));
  }

private:
  static Buffer refer(const llvm::MemoryBuffer &buffer) {
    return llvm::MemoryBuffer::getMemBuffer(buffer.getMemBufferRef());
  }

  std::mutex mutex;
  llvm::StringMap<Buffer> buffers;
};
} // namespace

static KeptTexts &getKeptTexts() {
  static KeptTexts texts;
  return texts;
}

/// Whether the file that `info` describes can be read, and has an end.
static llvm::Error checkKind(const struct stat &info, bool isStandardInput,
                             uint64_t mostBytes) {
  if (S_ISDIR(info.st_mode))
    return error("it is a folder (a bundle is compiled already: dist-exec and "
                 "dist-run run it)");
  // Whatever replaces a pipe, or a user who types, ends as well.
  bool isPipe =
      S_ISFIFO(info.st_mode) ||
      (isStandardInput && (S_ISSOCK(info.st_mode) || isatty(STDIN_FILENO)));
  if (!S_ISREG(info.st_mode) && !isPipe)
    return error("it is neither a file nor a pipe");
  if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) > mostBytes)
    return error("it has " + Twine(info.st_size) + " bytes, more than the " +
                 Twine(mostBytes) + " that such a file may have");
  return llvm::Error::success();
}

namespace {
/// Text that grows, in pages: bytecode is read in place, aligned. It is
/// followed by zeros.
class Pages : public llvm::MemoryBuffer {
public:
  explicit Pages(StringRef name) : name(name) {}
  ~Pages() override {
    if (memory)
      munmap(memory, capacity);
  }

  /// Makes room for more than `bytes` in all.
  llvm::Error reserve(uint64_t bytes);
  /// Reads `fd` to its end. Somebody may write to a named pipe later; a file of
  /// the kernel that has nothing to say now is not waited for.
  llvm::Error read(int fd, uint64_t mostBytes, bool isFile, bool isNamedPipe);

  StringRef getBufferIdentifier() const override { return name; }
  BufferKind getBufferKind() const override { return MemoryBuffer_MMap; }

private:
  std::string name;
  char *memory = nullptr;
  size_t capacity = 0, length = 0;
};
} // namespace

llvm::Error Pages::reserve(uint64_t bytes) {
  size_t wanted =
      llvm::alignTo(bytes + 1, llvm::sys::Process::getPageSizeEstimate());
  void *made = memory ? mremap(memory, capacity, wanted, MREMAP_MAYMOVE)
                      : mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
    return systemError(errno);
  memory = static_cast<char *>(made);
  capacity = wanted;
  return llvm::Error::success();
}

llvm::Error Pages::read(int fd, uint64_t mostBytes, bool isFile,
                        bool isNamedPipe) {
  pollfd wait{fd, POLLIN, 0};
  // While nobody has opened it to write, its end is read at once.
  bool isSilent = isNamedPipe && poll(&wait, 1, kMostWait * 1000) == 0;
  while (true) {
    if (length + 1 == capacity)
      if (llvm::Error wrong =
              reserve(std::min<uint64_t>(2 * length, mostBytes + 1)))
        return wrong;
    // The most that a system call reads.
    ssize_t count = ::read(fd, memory + length,
                           std::min<size_t>(capacity - 1 - length, 1 << 30));
    if (count == 0 && isSilent && length == 0)
      return error("it is a pipe that nobody has written to for " +
                   Twine(kMostWait) + " seconds");
    if (count == 0)
      break;
    length += std::max<ssize_t>(count, 0);
    if (length > mostBytes)
      return error("it has more than the " + Twine(mostBytes) +
                   " bytes that such a file may have");
    if (count > 0 || errno == EINTR)
      continue;
    if (errno != EAGAIN || isFile)
      return systemError(errno);
    poll(&wait, 1, -1);
  }
  init(memory, memory + length, /*RequiresNullTerminator=*/true);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mlir::dist::readText(StringRef path, uint64_t mostBytes) {
  bool isStandardInput = path == "-";
  std::string name = path.str();
  if (path.contains('\0'))
    return error("its name has a zero byte, which no file can have");
  if (auto kept = getKeptTexts().find(path))
    return kept;
  struct stat info;
  int fd = STDIN_FILENO;
  if (!isStandardInput) {
    // Opening a device may already do something.
    if (stat(name.c_str(), &info) != 0)
      return systemError(errno);
    if (llvm::Error wrong = checkKind(info, false, mostBytes))
      return wrong;
    // Opening a pipe would wait for a writer.
    fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
      return systemError(errno);
  }
  llvm::scope_exit closeIt([&] {
    if (!isStandardInput)
      close(fd);
  });
  if (fstat(fd, &info) != 0)
    return systemError(errno);
  if (llvm::Error wrong = checkKind(info, isStandardInput, mostBytes))
    return wrong;
  bool isFile = S_ISREG(info.st_mode);
  auto buffer = std::make_unique<Pages>(isStandardInput ? "<stdin>" : path);
  // One more, so that the end is seen.
  if (llvm::Error wrong = buffer->reserve(
          std::max<uint64_t>(isFile ? info.st_size + 1 : 0, 1 << 16)))
    return wrong;
  if (llvm::Error wrong =
          buffer->read(fd, mostBytes, isFile, !isFile && !isStandardInput))
    return wrong;
  if (isFile && !isStandardInput)
    return buffer;
  return getKeptTexts().keep(path, std::move(buffer));
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

bool mlir::dist::isText(StringRef contents) {
  constexpr size_t kLookedAt = 1 << 16;
  return llvm::none_of(contents.take_front(kLookedAt), [](unsigned char c) {
    return c == 0x7f || (c < 0x20 && !llvm::isSpace(c));
  });
}

std::string mlir::dist::describeForeign(StringRef path, StringRef contents) {
  // "{-#" begins the resources of a program.
  if (contents.ltrim().starts_with("{") && !contents.ltrim().starts_with("{-#"))
    return "is JSON; a plan goes with --schedule, and its name ends in .json";
  if (isText(contents))
    return "";
  if (contents.starts_with("\x93NUMPY"))
    return ("is an array of NumPy; it goes with --input NAME=" + path).str();
  // The length of a header in JSON comes first.
  if (contents.drop_front(std::min<size_t>(8, contents.size()))
          .starts_with("{"))
    return ("holds parameters (safetensors); they go with --weights " + path)
        .str();
  if (path.ends_with(".onnx"))
    return ("is an ONNX model; import it first: dist-import " + path +
            " -o MODEL.mlir")
        .str();
  return "is no text; a program is a .mlir file, which dist-import makes of an "
         "ONNX model";
}

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

std::optional<dist::SourcePlace> mlir::dist::findUnclosed(StringRef text) {
  std::vector<SourcePlace> open; // of braces
  unsigned line = 1;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') {
      ++line;
      begin = i + 1;
    } else if (c == '"') { // a string, with escapes
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      if (i < text.size() && text[i] == '\n')
        --i;
    } else if (c == '/' && text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '{') {
      open.push_back({line, static_cast<unsigned>(i - begin + 1)});
    } else if (c == '}') {
      if (open.empty())
        return std::nullopt;
      open.pop_back();
    }
  }
  if (open.empty())
    return std::nullopt;
  return open.back();
}

std::string mlir::dist::findTooDeep(StringRef text) {
  constexpr int kMostNested = 512;
  int depth = 0, signs = 0, arrows = 0;
  unsigned line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool isSign = false;
    switch (c) {
    case '\n':
      ++line;
      continue;
    case ' ':
    case '\t':
    case '\r':
      continue;
    case '"': // a string, with escapes
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      arrows = 0;
      break;
    case '/':
      if (text.substr(i).starts_with("//")) {
        i = std::min(text.find('\n', i), text.size()) - 1;
        continue;
      }
      break;
    case '-':
      if (text.substr(i).starts_with("->")) {
        ++arrows;
        ++i;
      } else {
        isSign = true;
        ++signs;
      }
      break;
    case '(':
    case '[':
    case '<':
      ++depth;
      break;
    case '{':
      ++depth;
      arrows = 0;
      break;
    case ')':
    case ']':
    case '>':
      depth = std::max(depth - 1, 0);
      break;
    case '}':
      depth = std::max(depth - 1, 0);
      arrows = 0;
      break;
    case '=':
    case ',':
    case '@':
    case '%':
      arrows = 0;
      break;
    default:
      break;
    }
    if (!isSign)
      signs = 0;
    if (depth > kMostNested || signs > kMostNested || arrows > kMostNested)
      return std::to_string(line) + ": nested more than " +
             std::to_string(kMostNested) + " deep";
  }
  return "";
}
