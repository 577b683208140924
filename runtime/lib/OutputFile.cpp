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

//===----------------------------------------------------------------------===//
// What was read and written
//===----------------------------------------------------------------------===//

namespace {

struct Files {
  std::mutex mutex;
  /// Device and inode of each input, and its real path.
  std::map<std::pair<dev_t, ino_t>, std::string> inputs;
  /// Real paths, of those that are written now as well.
  std::set<std::string> outputs;
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
// OutputFile
//===----------------------------------------------------------------------===//

/// Where a file called `path` really is, or will be.
static std::string realTarget(const std::string &path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (!error)
    return real.string();
  fs::path folder = fs::path(path).parent_path();
  real = fs::canonical(folder.empty() ? "." : folder, error);
  return error ? path : (real / fs::path(path).filename()).string();
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

/// Makes `target` the name of an output, whether it is there yet or not. False
/// if it is one already.
static bool reserve(const std::string &target) {
  std::lock_guard<std::mutex> guard(getFiles().mutex);
  return getFiles().outputs.insert(target).second;
}

static void giveBack(const std::string &target) {
  std::lock_guard<std::mutex> guard(getFiles().mutex);
  getFiles().outputs.erase(target);
}

OutputFile::OutputFile(const std::string &path) : path(path) {
  if (path == "-") {
    this->path = "standard output";
    descriptor = dup(STDOUT_FILENO);
    if (descriptor < 0)
      fail(errno);
    return;
  }
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      fail(errno);
    return;
  }
  target = realTarget(path);
  if (!reserve(target))
    throw Error(path + ": two outputs would be this file; choose another name");
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
  if (descriptor < 0)
    return;
  close(descriptor);
  if (temporary)
    giveBack(target);
}

void OutputFile::write(const void *data, size_t bytes) {
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
    int descriptor = std::exchange(file->descriptor, -1);
    if (close(descriptor) != 0)
      file->fail(errno);
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
}

void dist::flushStandardOutput() {
  errno = 0;
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout))
    throw Error(std::string("standard output: cannot be written: ") +
                std::strerror(errno ? errno : EIO));
}
