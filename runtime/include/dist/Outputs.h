//===- Outputs.h - Results as files -----------------------------*- C++ -*-===//

#ifndef DIST_OUTPUTS_H
#define DIST_OUTPUTS_H

#include "dist/Launcher.h"
#include "dist/Npy.h"
#include "dist/OutputFile.h"

#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace dist {

/// A line for each result, and one for the ranks and the best of the runs.
/// `areWritten` is whether results are in files.
std::string describeRun(const Program &program, const RunResult &result,
                        bool areWritten);

/// Writes each result to NAME.npy in a folder, and the run's trace to a file. A
/// '/' in a name becomes '_'. All files appear at once, when they are whole, or
/// none does.
class ResultFiles final : public ResultSink {
public:
  /// To be made before the run: makes the folder, if it does not exist, and
  /// files beside those to be; only at the root. "" means no such output.
  /// Throws Error if one cannot be written, there is no room, or two results
  /// would be one file.
  ResultFiles(const std::string &folder, const std::string &trace,
              const Manifest &manifest);

  /// What takes the results; null if nothing does.
  ResultSink *sink() { return files.empty() ? nullptr : this; }
  /// All outputs, in their order. Throw Error.
  void begin(const Output &output) override;
  void write(const void *data, int64_t count) override;
  /// Gives the files their names. `trace` is that of the run. Throws Error.
  void commit(const std::string &trace);

private:
  /// Go after the files in them.
  std::list<TemporaryPath> made;
  std::deque<OutputFile> files;
  std::vector<NpyWriter> writers;
  /// How many results were begun.
  size_t begun = 0;
  std::string tracePath;
  std::optional<OutputFile> traceFile;
};

} // namespace dist

#endif // DIST_OUTPUTS_H
