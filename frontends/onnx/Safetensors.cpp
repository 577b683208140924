//===- Safetensors.cpp - Weights to a file --------------------------------===//

#include "Safetensors.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir::dist::frontend;
using namespace llvm;

static std::string makeHeader(ArrayRef<Parameter> parameters) {
  std::string header;
  raw_string_ostream os(header);
  json::OStream writer(os);
  writer.object([&] {
    writer.attributeObject("__metadata__",
                           [&] { writer.attribute("format", "pt"); });
    int64_t offset = 0;
    for (const Parameter &parameter : parameters) {
      int64_t size = parameter.data.getBytes().size();
      writer.attributeObject(parameter.name, [&] {
        writer.attribute("dtype", safetensorsNameOf(parameter.getType()));
        writer.attributeArray("shape", [&] {
          for (int64_t dim : parameter.getShape())
            writer.value(dim);
        });
        writer.attributeArray("data_offsets", [&] {
          writer.value(offset);
          writer.value(offset + size);
        });
      });
      offset += size;
    }
  });
  // The data starts aligned.
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

/// The data with its two dimensions swapped, some rows of the result at a time.
static void writeTransposed(raw_ostream &os, const HostTensor &data) {
  int64_t rows = data.getShape()[0], columns = data.getShape()[1];
  int64_t size = sizeOf(data.getType());
  constexpr int64_t block = 64;
  std::vector<char> buffer(block * rows * size);
  for (int64_t first = 0; first < columns; first += block) {
    int64_t count = std::min(block, columns - first);
    for (int64_t row = 0; row < rows; ++row) {
      const char *source =
          data.getBytes().data() + (row * columns + first) * size;
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(&buffer[(i * rows + row) * size], source + i * size, size);
    }
    os.write(buffer.data(), count * rows * size);
  }
}

void mlir::dist::frontend::writeSafetensors(raw_ostream &os,
                                            ArrayRef<Parameter> parameters) {
  std::string header = makeHeader(parameters);
  char length[8];
  support::endian::write64le(length, header.size());
  os.write(length, sizeof(length));
  os << header;
  for (const Parameter &parameter : parameters) {
    ArrayRef<char> bytes = parameter.data.getBytes();
    if (parameter.transposed)
      writeTransposed(os, parameter.data);
    else
      os.write(bytes.data(), bytes.size());
  }
}
