//===- Sending.h - What rank 0 sends before a run ---------------*- C++ -*-===//
//
// The program that it has compiled for all, and parts of inputs that other
// hosts lack. Both go over the control channel, in pieces. Whoever receives
// them trusts neither places nor lengths.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_SENDING_H
#define DIST_RUNTIME_LAUNCH_SENDING_H

#include "dist/Executor.h"
#include "dist/OutputFile.h"
#include "runtime/control/Control.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

namespace sending {
/// What the root asks.
enum Kind : uint32_t {
  /// To take bytes of a part of an argument: its number, and the bytes.
  Part,
  /// To load a bundle: the root's host, a folder there, the manifest and a
  /// text. The answer is kHas, or empty.
  Offer,
  /// To take bytes of one of its files: its number, and the bytes.
  Bytes,
  /// To load what has come.
  Whole,
  /// To know that the root has a bundle, and sends no program.
  Nothing
};
inline constexpr char kHas[] = "has";

/// What these say. Those that read one throw Error for others.
struct Offered {
  std::string host, place, manifest, notes;

  std::string write() const;
  static Offered read(std::string_view text);
};

/// Of a part, or of a file.
struct Piece {
  uint64_t number;
  std::string_view bytes;

  std::string write() const;
  /// It points into `text`.
  static Piece read(std::string_view text);
};
} // namespace sending

/// Gives all others the bundle in `folder`, and `text`. On the host of this
/// process they load it from there, elsewhere they get its bytes. Returns when
/// all have it. Throws Error.
void sendProgram(ControlRoot &root, int64_t ranks, const std::string &folder,
                 const std::string &text);

/// Tells all others that there is nothing to wait for. Throws Error.
void sendNoProgram(ControlRoot &root, int64_t ranks);

/// The program for one of the others, which waits. Throws Error, also if the
/// root sends none.
Program receiveProgram(ControlMember &member, std::string &text);

/// A program on its way to this process. Its temporary folder goes when it is
/// loaded, or this object goes.
class SentProgram {
public:
  /// Answers the root. What goes wrong is kept for `get`.
  Message answer(const Message &question);
  bool isDone() const { return isOver; }
  /// Throws Error with what went wrong.
  Program get() const;
  const std::string &text() const { return notes; }

private:
  Message take(const Message &question);
  Message consider(const sending::Offered &offered);

  std::string notes, error;
  Program program;
  std::optional<TemporaryPath> folder;
  std::vector<std::unique_ptr<OutputFile>> files;
  /// Of each, how many bytes are to come.
  std::vector<int64_t> missing;
  std::atomic<bool> isOver{false};
};

/// Gives a rank its parts of arguments, with values of padding. Throws Error.
void sendParts(ControlRoot &root, int64_t rank, const Manifest &manifest,
               const Arguments &arguments, const std::vector<size_t> &lacking,
               Padding padding);

/// What a rank receives of that, and before it that no program comes, unless
/// one has come.
class SentParts {
public:
  SentParts(const Manifest &manifest, const std::vector<size_t> &lacking,
            bool hasProgram);

  /// Answers the root.
  Message answer(const Message &question);
  bool isDone() const { return hasProgram && missing == 0; }
  const std::map<size_t, Tensor> &get() const { return parts; }

private:
  std::map<size_t, Tensor> parts;
  std::map<size_t, int64_t> filled;
  std::atomic<int64_t> missing{0};
  std::atomic<bool> hasProgram;
};

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_SENDING_H
