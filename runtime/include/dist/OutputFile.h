//===- OutputFile.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// A tool writes its output to a file beside the intended one, which gets its
// name when it is complete. No output replaces a file that the tool has read,
// nor another output.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_OUTPUTFILE_H
#define DIST_OUTPUTFILE_H

#include "dist/Signals.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dist {

/// Remembers that the program reads `path`, or refers to it, so that no output
/// replaces it. A file that does not exist is ignored.
void noteInput(const std::string &path);

/// Throws Error if a file that the program reads is in `folder`, which is to be
/// replaced.
void checkHoldsNoInput(const std::string &folder);

/// Prevents other outputs in a folder that is written as a whole.
class OutputFolder {
public:
  /// `path` need not exist yet. Throws Error if an output is the folder or is
  /// in it, or if there can be no such folder.
  explicit OutputFolder(const std::string &path);
  ~OutputFolder();
  OutputFolder(const OutputFolder &) = delete;
  OutputFolder &operator=(const OutputFolder &) = delete;

  /// The real path of the folder, existing or not: symbolic links are followed.
  const std::string &target() const { return real; }

private:
  std::string real;
};

class OutputFile {
public:
  /// `path` is "-" for standard output. An existing pipe or device is written
  /// to directly. A symbolic link stays; the file it leads to is written,
  /// whether it exists or not. Throws Error if the file cannot be created, is
  /// an input, is an output already, or is in an OutputFolder.
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// The stream to write to.
  int fd() const { return descriptor; }
  void write(const void *data, size_t bytes);
  /// Makes room for so many bytes, where the file system can. Throws Error if
  /// there is none.
  void makeRoom(int64_t bytes);
  /// Until the next `write` the file is not open: of many that are committed at
  /// once, only one has to be. Throws Error.
  void rest();
  /// Gives the file its name. Throws Error. Without this call the file is
  /// removed.
  void commit() { commit({this}); }
  /// Several at once: a signal ends the program before or after.
  static void commit(const std::vector<OutputFile *> &files);

private:
  void close();
  /// The message: the path, the problem, and errno.
  [[noreturn]] void fail(int error) const;
  void check() const;

  std::string path, target;
  std::optional<TemporaryPath> temporary;
  int descriptor = -1;
  bool committed = false;
};

/// Flushes standard output of C and C++, and checks for errors. Throws Error.
void flushStandardOutput();

} // namespace dist

#endif // DIST_OUTPUTFILE_H
