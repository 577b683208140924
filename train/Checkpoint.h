//===- Checkpoint.h - Parameters and state on disk --------------*- C++ -*-===//
//
// A checkpoint is a folder step-N. It has the parameters, in shards with an
// index in the format of Hugging Face's and PyTorch's readers. The folder
// `optimizer` has the optimizer's states, in the same form. training.json has
// the state of the run. All tensors are whole, so training can continue on any
// mesh.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TRAIN_CHECKPOINT_H
#define DIST_TRAIN_CHECKPOINT_H

#include "dist/Executor.h"
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace mlir::dist {

/// The state of a run, and the names for it.
struct Position {
  int64_t step = 0;
  uint64_t seed = 0;
  std::string optimizer;
  /// Batches a step, and whether they come in the order of the data.
  int64_t accumulate = 1;
  bool inOrder = false;

  /// Why a run that is to be as `asked` cannot go on from here, in words that
  /// begin with the option; empty where it can.
  std::string findConflict(const Position &asked) const;
};

/// Where checkpoints go.
class CheckpointFolder {
public:
  /// Makes the folder. Throws Error at once where nothing could be written.
  explicit CheckpointFolder(std::string folder);
  /// What this has made goes again, unless something is in it.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Throws Error where the checkpoint of this step would replace anything but
  /// a checkpoint, or one that is read.
  void checkStep(int64_t step) const;

  /// Writes FOLDER/step-N: it is there whole, or not at all. `states` names the
  /// arguments that are an optimizer's; `shardBytes` is how much a file holds
  /// at most, unless one tensor is larger. The path of it. Throws Error.
  std::string save(const Position &position, const ::dist::Manifest &manifest,
                   const std::set<std::string> &states,
                   const ::dist::Holdings &held, int64_t shardBytes) const;

private:
  void removeMade();

  std::string folder;
  std::vector<std::filesystem::path> made; // the innermost first
};

/// The numbers of what is called step-N in a folder.
std::vector<int64_t> findSteps(const std::string &folder);

/// The tensors of the checkpoint `folder`, or of the last one in it, by name.
/// Throws Error.
Position loadCheckpoint(const std::string &folder, ::dist::Inputs &tensors);

} // namespace mlir::dist

#endif // DIST_TRAIN_CHECKPOINT_H
