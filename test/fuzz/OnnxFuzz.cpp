//===- OnnxFuzz.cpp - Any bytes as an ONNX model --------------------------===//

#include "frontends/onnx/reading/Model.h"
#include "test/fuzz/Files.h"

/// An llvm::Error is what a malformed model may give; nothing else.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::consumeError(
      mlir::dist::frontend::readModel(dist::test::fileOf(data, size, ".onnx"))
          .takeError());
  return 0;
}
