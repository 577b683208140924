//===- OutputFile.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// What a tool writes goes to a file beside the one that is meant and takes its
// name when it is whole. No output replaces a file that the tool has read, nor
// another output.
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
/// replaces it. What is not there is no input.
void noteInput(const std::string &path);

/// Throws Error where a file that the program reads lies in `folder`, which is
/// to be replaced.
void checkHoldsNoInput(const std::string &folder);

/// Keeps other outputs out of a folder that is written as a whole.
class OutputFolder {
public:
  /// `path` need not be there yet. Throws Error if an output is the folder or
  /// lies in it, or if there can be no such folder.
  explicit OutputFolder(const std::string &path);
  ~OutputFolder();
  OutputFolder(const OutputFolder &) = delete;
  OutputFolder &operator=(const OutputFolder &) = delete;

  /// Where the folder really is, or will be: symbolic links are followed.
  const std::string &target() const { return real; }

private:
  std::string real;
};

class OutputFile {
public:
  /// `path` is "-" for standard output. What is there and is no file (a pipe, a
  /// device) is written to directly; a symbolic link stays one, and leads to
  /// what is written, be it there yet or not. Throws Error if the file cannot
  /// be made, is an input, is an output already, or lies in an OutputFolder.
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// To write to.
  int fd() const { return descriptor; }
  void write(const void *data, size_t bytes);
  /// Nothing more is written: of many files that are committed at once, only
  /// one needs to be open. Throws Error.
  void close();
  /// Gives the file its name. Throws Error. Without it the file goes.
  void commit() { commit({this}); }
  /// Several at once: a signal ends the program before or after.
  static void commit(const std::vector<OutputFile *> &files);

private:
  /// Says where, what, and errno.
  [[noreturn]] void fail(int error) const;
  void check() const;

  std::string path, target;
  std::optional<TemporaryPath> temporary;
  int descriptor = -1;
  bool committed = false;
};

/// Flushes and checks what C and C++ have written to standard output. Throws
/// Error.
void flushStandardOutput();

} // namespace dist

#endif // DIST_OUTPUTFILE_H
