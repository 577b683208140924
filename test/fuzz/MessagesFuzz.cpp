//===- MessagesFuzz.cpp - Any bytes as what processes of a run say --------===//
//
// Each reader gets the bytes as they are, and a right message of its own that
// they change.
//
//===----------------------------------------------------------------------===//

#include "runtime/control/Protocol.h"
#include "runtime/control/TraceMessages.h"
#include "runtime/launch/RunMessages.h"
#include "runtime/launch/Sending.h"
#include "runtime/messages/Standing.h"
#include "tools/common/CompiledNotes.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sys/socket.h>

using namespace dist;

namespace {

struct Reader {
  /// A right message.
  std::string right;
  /// Throws Error for any other.
  std::function<void(const std::string &)> read;
};

} // namespace

/// Three bytes are a change: where, and what.
static std::string change(std::string text, const std::string &bytes) {
  for (size_t i = 0; i + 2 < bytes.size() && i < 24; i += 3) {
    uint8_t what = bytes[i + 1], with = bytes[i + 2];
    size_t at = uint8_t(bytes[i]) * (text.size() + 1) / 256;
    switch (what % 4) {
    case 0:
      text.insert(at, what / 4, static_cast<char>(with));
      break;
    case 1:
      text.erase(at, what / 4);
      break;
    case 2:
      text.resize(at);
      break;
    default:
      if (at < text.size())
        text[at] = static_cast<char>(with);
    }
  }
  return text;
}

/// A reader whose values can be written. What is read is written as it is.
template <class Read, class Write>
static Reader reader(std::string right, Read read, Write write) {
  return {right, [=](const std::string &text) {
            std::string again = write(read(text));
            if (write(read(again)) != again)
              std::abort();
          }};
}

template <class T> static Reader reader(const T &value) {
  return reader(
      value.write(), [](std::string_view text) { return T::read(text); },
      [](const T &read) { return read.write(); });
}

static Manifest makeManifest() {
  Manifest manifest;
  TensorDesc x;
  x.name = "x";
  x.globalShape = x.localShape = {2};
  x.dims = {{{2, {}}}};
  manifest.arguments = {x};
  manifest.programChecksum.bytes = 3;
  return manifest;
}

/// Messages as they come through a socket, bytes in two pieces.
static void readFrames(const std::string &text) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    std::abort();
  MessageSocket from(ends[0]), to(ends[1]);
  to.bound(1 << 16);
  bool isOpen = true;
  size_t bytes = 0, half = text.size() / 2;
  for (std::string_view piece : {std::string_view(text).substr(0, half),
                                 std::string_view(text).substr(half)}) {
    if (isOpen && !piece.empty())
      if (send(from.handle(), piece.data(), piece.size(), 0) < 0)
        std::abort();
    isOpen = isOpen && to.fill();
    while (std::optional<Message> message = to.next())
      bytes += message->text.size();
  }
  if (bytes > text.size())
    std::abort();
}

/// To a process that waits for a program. The bundle that comes so is the
/// target `manifest`'s.
static void takeOffer(const std::string &text) {
  SentProgram().answer({sending::Offer, text});
}

static void takeFile(const std::string &text) {
  sending::Piece::read(text);
  static const std::string offer =
      sending::Offered{"elsewhere", "", makeManifest().toJson(), ""}.write();
  SentProgram sent;
  sent.answer({sending::Offer, offer});
  sent.answer({sending::Bytes, text});
}

static void takePart(const std::string &text) {
  static const Manifest manifest = makeManifest();
  SentParts parts(manifest, {0}, /*hasProgram=*/true);
  parts.answer({sending::Part, text});
  parts.answer({sending::Part, text});
}

static std::vector<Reader> makeReaders() {
  using namespace sending;
  setenv("TMPDIR", "/dev/shm", 1);
  static const Manifest manifest = makeManifest();
  Standing standing{
      true, {{1, {{{0, 2}, 7}}, {{{0, 2}, 8}}}}, {"rank 1 waits"}};
  TraceEvent event;
  event.name = "all_reduce";
  Offered offered{"elsewhere", "/nowhere", manifest.toJson(), "notes"};
  std::string piece = Piece{0, "abc"}.write();
  Message frame{control::Beat, "text"};
  Inputs inputs;
  inputs["x"] = Tensor::zeros(DIST_F32, {2});
  mlir::dist::CompiledNotes notes{"w", {{"x", {{{0, 9}}, 0}}}, {"m"}};
  return {
      reader(control::Greeting{"token", 1, "4711", "here"}),
      reader(SignOfLife{"rank 1 waits", standing.write()}),
      reader(control::Progress{Stage::Ready, "text"}),
      reader(control::writeQuestion({3, "text"}), control::readQuestion,
             control::writeQuestion),
      reader(
          control::saying(control::Failed, "text").text,
          [](std::string_view text) { return MessageReader(text).text(); },
          [](const std::string &text) {
            return control::saying(control::Failed, text).text;
          }),
      reader(standing),
      reader(
          writeTrace({&event, 1}), readTrace,
          [](const std::vector<TraceEvent> &all) { return writeTrace(all); }),
      reader(Agreement{"program", {7, {}}}),
      reader(writeTimes({{1, 2}, {3, 4}}), readTimes, writeTimes),
      reader(Done{{{0, 2}}, {event}}),
      {writeHeld({false, 0, 4, 4}),
       [](const std::string &text) {
         std::optional<HeldBytes> what = readHeld(text, manifest);
         if (what && (what->offset < 0 || what->bytes < 0 ||
                      what->offset + what->bytes > 8))
           std::abort();
       }},
      reader(
          writeInputs(&inputs),
          [](std::string_view text) {
            Inputs read;
            if (!readInputs(text, read))
              read.clear();
            return read;
          },
          [](const Inputs &read) { return writeInputs(&read); }),
      reader(offered),
      reader(
          piece,
          [](std::string_view text) {
            Piece read = Piece::read(text);
            return std::pair(read.number, std::string(read.bytes));
          },
          [](const std::pair<uint64_t, std::string> &read) {
            return Piece{read.first, read.second}.write();
          }),
      {offered.write(), takeOffer},
      {piece, takeFile},
      {piece, takePart},
      reader(notes),
      {std::string("\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0abc\2", 20), readFrames},
  };
}

/// Error is what a message that is none may give; nothing else.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<Reader> readers = makeReaders();
  std::string bytes(reinterpret_cast<const char *>(data), size);
  for (const Reader &one : readers)
    for (const std::string &text : {bytes, change(one.right, bytes)})
      try {
        one.read(text);
      } catch (const Error &) {
      }
  return 0;
}
