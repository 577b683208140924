//===- Manifest.h - The manifest of a bundle --------------------*- C++ -*-===//
//
// Reads, checks and writes manifest.json of a bundle
// (docs/internals/bundle.md).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_MANIFEST_H
#define DIST_MANIFEST_H

#include "dist/Mesh.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

/// Distinguishes a file from another, and from a part of it. It detects
/// mistakes; it is not a signature.
struct Checksum {
  int64_t bytes = 0;
  uint64_t xxh3 = 0; // XXH3, 64 bits
  bool operator==(const Checksum &other) const {
    return bytes == other.bytes && xxh3 == other.xxh3;
  }
};

Checksum checksumOf(std::string_view data);
/// Throws Error for a file that cannot be read.
Checksum checksumOfFile(const std::string &path);

/// A sub-dimension of a sharded dimension.
struct SubDim {
  int64_t size;
  std::vector<AxisRef> axes; // major to minor
};

/// An argument or result of the program.
struct TensorDesc {
  enum Kind { Parameter, Constant, Input, Output };
  std::string name;
  Kind kind = Input;
  dist_dtype dtype = DIST_F32;
  Shape globalShape;
  Shape localShape;
  /// For each dimension its sub-dimensions, major to minor; never empty.
  std::vector<std::vector<SubDim>> dims;
  /// For a parameter that is a block of a tensor in the weights file, and a
  /// result that is a block of an output: the shape of that tensor, and the
  /// offsets of the block. Else both are empty.
  Shape partOf, partAt;

  /// For a parameter that is a piece of a joined argument, with those that
  /// follow it in the list. The shape of a rank's part of the argument, and the
  /// offsets of its part of this piece. Else both are empty.
  Shape joinedShape, joinedAt;

  /// For a result that is the new value of an argument, and is in its memory:
  /// the number of that argument in the manifest.
  std::optional<int64_t> updates;

  /// In a pipeline: the stage whose ranks alone hold it, and these ranks.
  struct Held {
    int64_t stage = 0;
    int32_t axis = -1;
    int64_t place = 0;
  };
  std::optional<Held> held;

  /// Whether this piece continues the joined argument of the piece before it.
  bool continuesJoined() const {
    return std::any_of(joinedAt.begin(), joinedAt.end(),
                       [](int64_t at) { return at != 0; });
  }
  /// The shape of a rank's part of the argument.
  const Shape &rankShape() const {
    return joinedShape.empty() ? localShape : joinedShape;
  }
  int64_t rankBytes() const {
    return numElements(rankShape()) * dtypeBytes(dtype);
  }

  /// The shape of the tensor that the argument's data comes from.
  const Shape &sourceShape() const {
    return partOf.empty() ? globalShape : partOf;
  }

  int64_t localBytes() const {
    return numElements(localShape) * dtypeBytes(dtype);
  }
};

/// One call of a collective, for messages, traces and reports.
struct CollectiveDesc {
  std::string op;
  int32_t comm = -1;
  std::vector<std::string> axes;
  std::string reduce; // "" for those that do not reduce
  std::string dtype;
  Shape shape; // of the local operand
  int64_t bytesSentPerRank = 0;
  /// How often it is done in one run: trip counts of the loops around it,
  /// multiplied. A loop of unknown length counts once.
  int64_t count = 1;
  bool inUnknownLoop = false;
  std::string scope, cause, location;
};

/// A check that the program makes of its data, for the message if it fails.
struct CheckDesc {
  std::string message;
  /// Whether the value that was tested belongs to the message.
  bool hasValue = false;
};

/// An operator that draws random numbers from the devices' own streams.
struct RandomStreamsDesc {
  int64_t number = 0;        // of the operator
  std::vector<AxisRef> axes; // along which each device has a stream
  /// The shape that is drawn, and its sharding as in TensorDesc.
  Shape globalShape;
  std::vector<std::vector<SubDim>> dims;
};

/// What one stage of a pipeline does; the program exports it as dist_task_N.
struct TaskDesc {
  enum Kind { Begin, Forward, Backward, Weight, End };
  /// What an argument or a result is: the program's, a slot, or the number of
  /// the microbatch, a tensor<i64>.
  struct Operand {
    enum Kind { Argument, Result, Slot, Microbatch };
    Kind kind = Slot;
    int64_t index = 0;
  };
  Kind kind = Forward;
  int64_t stage = 0;
  /// Of the end of a step: in which order its tasks are done.
  int64_t part = 0;
  int64_t arenaBytes = 0;
  std::vector<Operand> arguments, results;
};

/// A value between tasks, of which each microbatch has its own, or each step.
struct SlotDesc {
  dist_dtype dtype = DIST_F32;
  Shape shape; // of a rank's part
  bool isOfStep = false;
  int64_t bytes() const { return numElements(shape) * dtypeBytes(dtype); }
};

/// A program that is cut into tasks of stages.
struct PipelineDesc {
  std::string name; // of the table
  int32_t axis = 0; // of the mesh
  int64_t microbatches = 1;
  /// By stage, the coordinate of its ranks along the axis.
  std::vector<int64_t> placeOf;
  std::vector<SlotDesc> slots;
  std::vector<TaskDesc> tasks;
  /// Which coordinate does which task when (runtime/pipeline/Table.h).
  std::string table;

  bool hasBackward() const {
    return std::any_of(tasks.begin(), tasks.end(), [](const TaskDesc &task) {
      return task.kind == TaskDesc::Backward || task.kind == TaskDesc::Weight;
    });
  }
};

struct Manifest {
  std::string target = "cpu";
  std::string program = "program.so";
  Mesh mesh;
  std::vector<std::vector<AxisRef>> communicators;
  std::vector<TensorDesc> arguments, results;
  int64_t arenaBytes = 0;
  std::string weights; // "" if there is none
  /// File in the bundle with the data of arguments that are constants; "" if
  /// there are no such arguments.
  std::string constants;
  std::vector<CollectiveDesc> collectives;
  /// In the order of dist_main's status words.
  std::vector<CheckDesc> checks;
  /// For a reference program, which must draw the same numbers.
  std::vector<RandomStreamsDesc> randomStreams;
  /// None: the program is one function, dist_main.
  std::optional<PipelineDesc> pipeline;
  /// Of the bundle's files; missing without constants.
  Checksum programChecksum;
  std::optional<Checksum> constantsChecksum;

  /// Parses and checks `text`; `source` is named in errors. Throws Error.
  static Manifest parse(std::string_view text, const std::string &source);
  /// Whether `text` is a manifest, of this or of another version.
  static bool isOne(std::string_view text);
  /// Reads `path`.
  static Manifest read(const std::string &path);
  /// The JSON that parse reads. Throws Error for names that are not UTF-8.
  std::string toJson() const;
  /// The text that the program must export as well (dist_manifest in
  /// runtime.h): all except the checksums, on one line.
  std::string agreement() const;
};

/// The keys in which two agreements differ: "mesh, arguments".
std::string differingKeys(const std::string &first, const std::string &second);

/// The problem with the results that update arguments; "" if there is no
/// problem.
std::string findUpdateProblem(const Manifest &manifest);

/// The problem with the tasks of a pipeline and their table; "" if there is no
/// problem.
std::string findPipelineProblem(const Manifest &manifest);

/// Whether the rank holds a part of the tensor, as all do but in a pipeline.
bool isHeldBy(const Mesh &mesh, const TensorDesc &desc, int64_t rank);

/// Finds the ranks of each tensor that a stage holds.
void placeStages(Manifest &manifest);

/// The local shape that follows from the slice description.
Shape localShapeOf(const TensorDesc &desc);

} // namespace dist

#endif // DIST_MANIFEST_H
