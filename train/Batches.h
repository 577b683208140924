//===- Batches.h - What each step of training is fed ------------*- C++ -*-===//

#ifndef DIST_TRAIN_BATCHES_H
#define DIST_TRAIN_BATCHES_H

#include "dist/Executor.h"
#include "train/Train.h"
#include <map>
#include <string>
#include <vector>

namespace mlir::dist {

/// The samples of one or more files, as they come or in an order that depends
/// on the seed alone: what a step is fed follows from its number.
class Batches {
public:
  /// `files` are the values of --data: NAME=FILE.npy, of which each row is a
  /// sample of the input NAME; or one file of tokens, from which both an input
  /// and `target`, the tokens that follow, are cut. `arguments` says
  /// which values integers may have. Throws Error.
  Batches(const std::vector<std::string> &files,
          const ::dist::Manifest &manifest, const std::string &target,
          const StepArguments &arguments, const ::dist::Inputs &given,
          uint64_t seed, bool inOrder, int64_t microbatches);

  /// The inputs of a step.
  void fill(int64_t step, ::dist::Inputs &inputs);

  /// Whether they have rows of that input.
  bool gives(const std::string &name) const;
  /// Samples of a step.
  int64_t perStep() const { return batch; }
  /// What is counted to say how fast it goes: tokens, or samples.
  int64_t unitsPerStep() const { return units; }
  const char *unit() const { return isTokens ? "tokens" : "samples"; }

private:
  struct Source {
    std::string name;
    ::dist::TensorDesc desc;
    std::string file;
    ::dist::Tensor data;
    /// First row of sample 0, and how far the next one's is.
    int64_t first = 0, stride = 1;
  };
  void addTokens(const std::string &file, const ::dist::Manifest &manifest,
                 const std::string &target, const ::dist::Inputs &given);
  void addRows(const std::string &name, const std::string &file,
               const ::dist::Manifest &manifest, const ::dist::Inputs &given);
  void add(Source source, const std::string &option,
           const ::dist::Inputs &given);
  /// Calls `check` with each integer that is taken, until it answers a message
  /// that follows the number; throws Error with it, and where it stands.
  template <class Check>
  void checkIntegers(const Source &source, Check check) const;
  void checkLabels(const Source &source, int64_t classes) const;
  void checkRange(const Source &source, int64_t low, int64_t high) const;
  int64_t sampleAt(int64_t place);

  std::vector<Source> sources;
  int64_t samples = 0, batch = 0, units = 0;
  int64_t microbatches;
  bool isTokens = false;
  uint64_t seed;
  bool inOrder;
  int64_t epoch = -1;
  std::vector<int64_t> order;
};

} // namespace mlir::dist

#endif // DIST_TRAIN_BATCHES_H
