//===- OutputFile.cpp - Files that appear whole or not at all -------------===//

#include "dist/OutputFile.h"
#include "dist/Tensor.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace dist;
namespace fs = std::filesystem;

/// If a standard stream is closed, /dev/null gets its number. Otherwise the
/// first file that is opened would get it, and with it the messages. Losing
/// results is an error, so standard output is not opened for writing. To be
/// called before anything opens a file.
[[maybe_unused]] static const bool standardStreamsAreTaken = [] {
  const std::pair<int, int> modes[] = {{STDIN_FILENO, O_WRONLY},
                                       {STDOUT_FILENO, O_RDONLY},
                                       {STDERR_FILENO, O_WRONLY}};
  for (auto [fd, mode] : modes)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", mode);
  return true;
}();

//===----------------------------------------------------------------------===//
// What was read and written
//===----------------------------------------------------------------------===//

namespace {

struct Files {
  std::mutex mutex;
  /// Device and inode of each input, and its real path.
  std::map<std::pair<dev_t, ino_t>, std::string> inputs;
  /// Real paths, of those that are written now as well; "-" for standard
  /// output.
  std::set<std::string> outputs;
  /// Real paths of folders that are written as a whole.
  std::set<std::string> folders;
};

} // namespace

static Files &getFiles() {
  static Files files;
  return files;
}

void dist::noteInput(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return;
  std::error_code error;
  std::string real = fs::canonical(path, error).string();
  std::lock_guard<std::mutex> guard(getFiles().mutex);
  getFiles().inputs[{info.st_dev, info.st_ino}] = error ? path : real;
}

void dist::checkHoldsNoInput(const std::string &folder) {
  std::error_code error;
  std::string inside = fs::canonical(folder, error).string() + "/";
  if (error)
    return;
  std::lock_guard<std::mutex> guard(getFiles().mutex);
  for (const auto &[id, input] : getFiles().inputs)
    if (input.compare(0, inside.size(), inside) == 0)
      throw Error(folder + ": would replace '" + input +
                  "', which is an input; choose another name");
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// The real location of `path`, existing or not: also that of a link to
/// something that does not exist yet.
static std::string realTarget(const std::string &path) {
  if (path.find('\0') != std::string::npos)
    throw Error(std::string(path.c_str()) +
                "\\0…: a name with a zero byte, which no file can have");
  std::error_code error;
  fs::path place = path;
  // As many links as the system follows.
  for (int links = 0; links < 40; ++links) {
    fs::path real = fs::canonical(place, error);
    if (!error)
      return real.string();
    if (error == std::errc::too_many_symbolic_link_levels)
      break;
    fs::path link = fs::read_symlink(place, error);
    if (error) {
      fs::path name = place.filename();
      fs::path folder = fs::canonical(
          place.has_parent_path() ? place.parent_path() : ".", error);
      return error ? place.string() : (folder / name).string();
    }
    place = place.parent_path() / link;
  }
  throw Error(path + ": cannot be written: a symbolic link that leads nowhere "
                     "but to itself");
}

/// Whether the real path `inner` is `folder` or lies in it.
static bool isWithin(const std::string &inner, const std::string &folder) {
  return inner.compare(0, folder.size(), folder) == 0 &&
         (inner.size() == folder.size() || inner[folder.size()] == '/');
}

void OutputFile::fail(int error) const {
  throw Error(path + ": cannot be written: " + std::strerror(error));
}

void OutputFile::check() const {
  Files &files = getFiles();
  struct stat info;
  std::lock_guard<std::mutex> guard(files.mutex);
  if (stat(target.c_str(), &info) != 0)
    return;
  auto input = files.inputs.find({info.st_dev, info.st_ino});
  if (input != files.inputs.end())
    throw Error(path + ": would replace '" + input->second +
                "', which is an input; choose another name");
}

/// Makes `target` the name of an output, whether it is there yet or not. Throws
/// Error if it is one already, or lies in a folder that is one.
static void reserve(const std::string &path, const std::string &target) {
  Files &files = getFiles();
  std::lock_guard<std::mutex> guard(files.mutex);
  for (const std::string &folder : files.folders)
    if (isWithin(target, folder))
      throw Error(path + ": would lie in the output '" + folder +
                  "', which is written as a whole; choose another name");
  if (!files.outputs.insert(target).second)
    throw Error(path + ": two outputs would be this file; choose another name");
}

static void giveBack(const std::string &target) {
  std::lock_guard<std::mutex> guard(getFiles().mutex);
  getFiles().outputs.erase(target);
}

OutputFolder::OutputFolder(const std::string &path) {
  std::string found = realTarget(path);
  Files &files = getFiles();
  std::lock_guard<std::mutex> guard(files.mutex);
  auto refuse = [&](const std::string &other) {
    throw Error(path + ": is written as a whole, but '" + other +
                "' is an output as well; choose another name");
  };
  for (const std::set<std::string> *others : {&files.outputs, &files.folders})
    for (const std::string &other : *others)
      if (isWithin(other, found) ||
          (others == &files.folders && isWithin(found, other)))
        refuse(other);
  files.folders.insert(found);
  real = found;
}

OutputFolder::~OutputFolder() {
  std::lock_guard<std::mutex> guard(getFiles().mutex);
  getFiles().folders.erase(real);
}

OutputFile::OutputFile(const std::string &path) : path(path) {
  if (path == "-") {
    this->path = "standard output";
    reserve(this->path, target = path);
    descriptor = dup(STDOUT_FILENO);
    if (descriptor < 0) {
      giveBack(target);
      fail(errno);
    }
    return;
  }
  std::string real = realTarget(path);
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      fail(errno);
    return;
  }
  reserve(path, target = real);
  try {
    check();
  } catch (...) {
    giveBack(target);
    throw;
  }
  temporary.emplace(TemporaryPath::beside(target));
  int error = 0;
  withoutSignals([&] {
    descriptor = open(temporary->path().c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = errno;
  });
  if (descriptor < 0) {
    giveBack(target);
    fail(error);
  }
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!committed && !target.empty())
    giveBack(target);
}

void OutputFile::close() {
  if (descriptor >= 0 && ::close(std::exchange(descriptor, -1)) != 0)
    fail(errno);
}

void OutputFile::rest() {
  // A pipe that is closed has ended.
  if (temporary)
    close();
}

void OutputFile::makeRoom(int64_t bytes) {
  if (!temporary || bytes <= 0)
    return;
  // Others tell that the file system makes no room before it is needed.
  if (fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    fail(errno);
}

void OutputFile::write(const void *data, size_t bytes) {
  if (descriptor < 0 && temporary)
    descriptor =
        open(temporary->path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0)
    fail(errno);
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor, from, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      fail(written < 0 ? errno : ENOSPC);
    from += written;
    bytes -= written;
  }
}

void OutputFile::commit(const std::vector<OutputFile *> &files) {
  for (OutputFile *file : files) {
    file->close();
    if (file->temporary)
      file->check();
  }
  OutputFile *failed = nullptr;
  int error = 0;
  withoutSignals([&] {
    for (OutputFile *file : files)
      if (!failed && file->temporary &&
          rename(file->temporary->path().c_str(), file->target.c_str()) != 0) {
        failed = file;
        error = errno;
      }
  });
  if (failed)
    failed->fail(error);
  for (OutputFile *file : files)
    file->committed = true;
}

void dist::flushStandardOutput() {
  errno = 0;
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout))
    throw Error(std::string("standard output: cannot be written: ") +
                std::strerror(errno ? errno : EIO));
}
