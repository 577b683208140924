//===- ExternalData.cpp - Files that a model keeps data in ----------------===//

#include "ExternalData.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA1.h"

using namespace mlir::dist::frontend;
using namespace llvm;

static Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<std::unique_ptr<MemoryBuffer>>
mlir::dist::frontend::readRegularFile(StringRef path, uint64_t limit) {
  // Looked at before it is opened: opening a pipe waits for who writes to it.
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return error("cannot be read: " + code.message());
  if (sys::fs::is_directory(status))
    return error("is a folder");
  if (!sys::fs::is_regular_file(status))
    return error("is no regular file");
  if (status.getSize() > limit)
    return error("is " + Twine(status.getSize()) + " bytes long, more than " +
                 Twine(limit));
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    return error("cannot be read: " + buffer.getError().message());
  return std::move(*buffer);
}

ExternalData::ExternalData(StringRef model) : model(model) {}

/// Whether `path` is below `folder`; both are real paths.
static bool isBelow(StringRef path, StringRef folder) {
  auto part = sys::path::begin(path);
  for (StringRef outer :
       make_range(sys::path::begin(folder), sys::path::end(folder))) {
    if (part == sys::path::end(path) || *part != outer)
      return false;
    ++part;
  }
  return part != sys::path::end(path);
}

Expected<std::shared_ptr<MemoryBuffer>> ExternalData::open(StringRef location) {
  if (auto it = files.find(location); it != files.end())
    return it->second;
  bool escapes = sys::path::is_absolute(location);
  for (StringRef part :
       make_range(sys::path::begin(location), sys::path::end(location)))
    escapes |= part == "..";
  if (location.empty() || escapes)
    return error("external data is in '" + location +
                 "', which is not a file below the model's folder");
  SmallString<128> folder(sys::path::parent_path(model)), real, realFolder;
  SmallString<128> full(folder), realModel;
  sys::path::append(full, location);
  if (folder.empty())
    folder = ".";
  std::error_code code = sys::fs::real_path(folder, realFolder);
  if (!code)
    code = sys::fs::real_path(model, realModel);
  if (!code)
    code = sys::fs::real_path(full, real);
  if (code)
    return error("external data '" + full +
                 "' cannot be read: " + code.message());
  // Where the model is a link itself (a cache of downloads), its data are links
  // beside it to files beside what it is a link to.
  if (!isBelow(real, realFolder) &&
      !isBelow(real, sys::path::parent_path(realModel)))
    return error("external data is in '" + location + "', a link to '" + real +
                 "', which is not a file below the model's folder");
  auto buffer = readRegularFile(real, UINT64_MAX);
  if (!buffer)
    return error("external data '" + full + "' " +
                 toString(buffer.takeError()));
  std::shared_ptr<MemoryBuffer> file = std::move(*buffer);
  order.push_back({full.str().str(), file});
  return files[location] = file;
}

std::string ExternalData::digest(StringRef location) {
  auto [it, fresh] = digests.try_emplace(location);
  if (fresh)
    it->second =
        toHex(SHA1::hash(arrayRefFromStringRef(files[location]->getBuffer())),
              /*LowerCase=*/true);
  return it->second;
}
