//===- OptionsFuzz.cpp - Any text as the value of an option ---------------===//

#include "dist/EmulatedLink.h"
#include "dist/OptionValues.h"

#include <cstdlib>

using namespace dist;

/// Error is what a malformed value may give; nothing else.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  try {
    EmulatedLink link = parseLink(text);
    if (!(link.latencySeconds >= 0 && link.bytesPerSecond >= 0))
      std::abort();
  } catch (const Error &) {
  }
  static const Manifest manifest = [] {
    Manifest manifest;
    TensorDesc x;
    x.name = "x";
    x.globalShape = x.localShape = {2};
    x.dims = {{{2, {}}}};
    manifest.arguments = {x};
    return manifest;
  }();
  try {
    // Files are another target's.
    if (text.find(".npy") == text.npos && text.find(".pb") == text.npos)
      readInputs({text}, manifest);
  } catch (const Error &) {
  }
  return 0;
}
