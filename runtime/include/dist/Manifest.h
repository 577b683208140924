//===- Manifest.h - What a bundle says about its program --------*- C++ -*-===//
//
// manifest.json of a bundle (docs/internals/bundle.md), read, checked and
// written.
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

/// Tells one file from another, and from a part of it. Against mistakes; it is
/// no signature.
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
  /// Per dimension its sub-dimensions, major to minor; never empty.
  std::vector<std::vector<SubDim>> dims;
  /// Of a parameter that is a block of a tensor in the weights file: the shape
  /// of that, and where in it the block begins. Else both are empty.
  Shape partOf, partAt;

  /// Of a parameter that is a piece of an argument, with those that follow it
  /// in the list: the shape of what a rank holds of them all, and where in it
  /// its part of this one begins. Else both are empty.
  Shape joinedShape, joinedAt;

  /// Of a result that is the new value of an argument, and lies in its memory:
  /// which of the manifest's arguments that is.
  std::optional<int64_t> updates;

  /// Whether the argument that the one before is of goes on.
  bool continuesJoined() const {
    return std::any_of(joinedAt.begin(), joinedAt.end(),
                       [](int64_t at) { return at != 0; });
  }
  /// The shape of what a rank holds of the argument.
  const Shape &heldShape() const {
    return joinedShape.empty() ? localShape : joinedShape;
  }
  int64_t heldBytes() const {
    return numElements(heldShape()) * dtypeBytes(dtype);
  }

  /// The shape of the tensor that the argument's data come from.
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
  std::string scope, cause, location;
};

/// What the program asks of its data, for the message where it does not hold.
struct CheckDesc {
  std::string message;
  /// Whether the value that was judged belongs to the message.
  bool hasValue = false;
};

/// An operator that draws random numbers from streams of the devices' own.
struct RandomStreamsDesc {
  int64_t number = 0;        // of the operator
  std::vector<AxisRef> axes; // along which each device has a stream
  /// Of what is drawn, and as in TensorDesc how devices share it out.
  Shape globalShape;
  std::vector<std::vector<SubDim>> dims;
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
  /// there are none.
  std::string constants;
  std::vector<CollectiveDesc> collectives;
  /// In the order of dist_main's status words.
  std::vector<CheckDesc> checks;
  /// For a program to compare with, which is to draw the same numbers.
  std::vector<RandomStreamsDesc> randomStreams;
  /// Of the bundle's files; none for constants that there are not.
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
  /// What the program must say as well (dist_manifest in runtime.h): all but
  /// the checksums, on one line.
  std::string agreement() const;
};

/// The keys in which two agreements differ: "mesh, arguments".
std::string differingKeys(const std::string &first, const std::string &second);

/// What is wrong with the results that update arguments; "" if nothing is.
std::string findUpdateProblem(const Manifest &manifest);

/// Local shape that the slice description gives.
Shape localShapeOf(const TensorDesc &desc);

} // namespace dist

#endif // DIST_MANIFEST_H
