//===- Sending.cpp - What rank 0 sends before a run -----------------------===//

#include "runtime/launch/Sending.h"
#include "runtime/host/MappedFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <sys/stat.h>

using namespace dist;
using namespace dist::sending;
namespace fs = std::filesystem;

/// Bytes of a piece.
static constexpr int64_t kPiece = 8 << 20;

static constexpr char kManifest[] = "manifest.json";

std::string Offered::write() const {
  MessageWriter writer;
  for (const std::string *text : {&host, &place, &manifest, &notes})
    writer.text(*text);
  return writer.take();
}

Offered Offered::read(std::string_view text) {
  MessageReader reader(text);
  Offered offered;
  for (std::string *text :
       {&offered.host, &offered.place, &offered.manifest, &offered.notes})
    *text = reader.text();
  return offered;
}

std::string Piece::write() const {
  MessageWriter writer;
  writer.number(number);
  writer.text(bytes);
  return writer.take();
}

Piece Piece::read(std::string_view text) {
  MessageReader reader(text);
  auto number = reader.number<uint64_t>();
  return {number, reader.view()};
}

static void forEachPiece(const char *data, int64_t bytes,
                         const std::function<void(std::string_view)> &send) {
  for (int64_t at = 0; at < bytes; at += kPiece)
    send({data + at, static_cast<size_t>(std::min(kPiece, bytes - at))});
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The files of a bundle besides its manifest.
static std::vector<std::pair<std::string, Checksum>>
filesOf(const Manifest &manifest) {
  std::vector<std::pair<std::string, Checksum>> files{
      {manifest.program, manifest.programChecksum}};
  if (manifest.constantsChecksum)
    files.emplace_back(manifest.constants, *manifest.constantsChecksum);
  for (const auto &[name, sum] : files)
    if (name.empty() || fs::path(name).filename() != name || name[0] == '.')
      throw Error("a bundle with a file '" + name + "'");
  return files;
}

void dist::sendProgram(ControlRoot &root, int64_t ranks,
                       const std::string &folder, const std::string &text) {
  root.await(Stage::Here);
  fs::path place = fs::absolute(folder);
  MappedFile manifest = mapFile(place / kManifest);
  const Message offered{Offer, Offered{machineName(), place.string(),
                                       std::string(manifest.text()), text}
                                   .write()};
  auto files = filesOf(Manifest::parse(manifest.text(), manifest.path));
  for (int64_t rank = 1; rank < ranks; ++rank) {
    if (root.ask(rank, offered).text == kHas)
      continue;
    for (size_t i = 0; i < files.size(); ++i) {
      MappedFile file = mapFile(place / files[i].first);
      forEachPiece(file.data(), file.bytes, [&](std::string_view piece) {
        root.ask(rank, {Bytes, Piece{i, piece}.write()});
      });
    }
    root.ask(rank, {Whole, ""});
  }
}

void dist::sendNoProgram(ControlRoot &root, int64_t ranks) {
  for (int64_t rank = 1; rank < ranks; ++rank)
    root.ask(rank, {Nothing, ""});
}

Message SentProgram::answer(const Message &question) {
  Message reply;
  try {
    reply = take(question);
  } catch (const std::exception &e) {
    error = e.what();
  }
  isOver = !error.empty() || program.entry;
  return reply;
}

Program SentProgram::get() const {
  if (!error.empty())
    throw Error(error);
  return program;
}

/// The bundle of the same host is used where it is, if this process sees it.
Message SentProgram::consider(const Offered &offered) {
  notes = offered.notes;
  std::error_code unseen;
  fs::path seen = fs::path(offered.place) / kManifest;
  if (offered.host == machineName() && fs::exists(seen, unseen) &&
      mapFile(seen).text() == offered.manifest) {
    program = loadBundle(offered.place);
    return {0, kHas};
  }
  auto its = filesOf(Manifest::parse(offered.manifest, seen));
  fs::path temporary = fs::temp_directory_path();
  folder.emplace(TemporaryPath::beside(temporary / "dist-run"));
  if (mkdir(folder->path().c_str(), 0700) != 0)
    throw Error(folder->path() + ": no temporary folder for the program: " +
                std::strerror(errno));
  auto open = [&](const std::string &name) {
    files.push_back(
        std::make_unique<OutputFile>(fs::path(folder->path()) / name));
  };
  for (const auto &[name, sum] : its) {
    open(name);
    missing.push_back(sum.bytes);
  }
  open(kManifest);
  files.back()->write(offered.manifest.data(), offered.manifest.size());
  return {};
}

Message SentProgram::take(const Message &question) {
  if (question.kind == Offer && !folder)
    return consider(Offered::read(question.text));
  if (question.kind == Bytes) {
    auto [number, bytes] = Piece::read(question.text);
    if (number >= missing.size() || int64_t(bytes.size()) > missing[number])
      throw Error("rank 0 has sent more of a program than there is");
    files[number]->write(bytes.data(), bytes.size());
    missing[number] -= bytes.size();
    return {};
  }
  if (question.kind == Nothing)
    throw Error("rank 0 runs a bundle, and " + machineName() +
                " has no folder of that name: all hosts need it, under the "
                "same path");
  if (question.kind != Whole || !folder)
    throw Error("rank 0 has sent a program without saying which");
  for (std::unique_ptr<OutputFile> &file : files)
    file->commit();
  // It says what is missing. The code stays mapped when the folder goes.
  program = loadBundle(folder->path());
  files.clear();
  folder.reset();
  return {};
}

Program dist::receiveProgram(ControlMember &member, std::string &text) {
  SentProgram sent;
  member.answerUntil(
      [&] { return sent.isDone(); },
      [&](const Message &question) { return sent.answer(question); });
  text = sent.text();
  return sent.get();
}

//===----------------------------------------------------------------------===//
// Parts of inputs
//===----------------------------------------------------------------------===//

void dist::sendParts(ControlRoot &root, int64_t rank, const Manifest &manifest,
                     const Arguments &arguments,
                     const std::vector<size_t> &lacking, Padding padding) {
  for (size_t index : lacking) {
    const TensorDesc &desc = manifest.arguments[index];
    if (!isHeldBy(manifest.mesh, desc, rank))
      continue;
    Tensor part = Tensor::zeros(desc.dtype, desc.localShape);
    readSlice(manifest.mesh, desc, rank, arguments[index], part.data, padding);
    forEachPiece(static_cast<const char *>(part.data), part.bytes(),
                 [&](std::string_view piece) {
                   root.ask(rank, {Part, Piece{index, piece}.write()});
                 });
  }
}

SentParts::SentParts(const Manifest &manifest,
                     const std::vector<size_t> &lacking, bool hasProgram)
    : hasProgram(hasProgram) {
  for (size_t index : lacking) {
    const TensorDesc &desc = manifest.arguments[index];
    Tensor part = Tensor::zeros(desc.dtype, desc.localShape);
    missing += part.bytes();
    parts[index] = std::move(part);
  }
}

Message SentParts::answer(const Message &question) {
  if (question.kind == Offer)
    throw Error("a program that it has compiled, and " + machineName() +
                " has a bundle: all hosts need the same of the two");
  if (question.kind == Nothing) {
    hasProgram = true;
    return {};
  }
  auto [number, bytes] = Piece::read(question.text);
  auto part = parts.find(number);
  int64_t size = bytes.size();
  if (question.kind != Part || part == parts.end() ||
      size > part->second.bytes() - filled[part->first])
    throw Error("more of an input than there is");
  std::memcpy(static_cast<char *>(part->second.data) + filled[part->first],
              bytes.data(), size);
  filled[part->first] += size;
  missing -= size;
  return {};
}
