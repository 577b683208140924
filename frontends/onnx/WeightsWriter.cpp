//===- WeightsWriter.cpp - Writes files of parameters ---------------------===//

#include "WeightsWriter.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir::dist::frontend;
using namespace llvm;
// The runtime's namespace, of its host side.
namespace host = ::dist;

static dist_dtype toRuntime(DType type) {
  switch (type) {
  case DType::F32:
    return DIST_F32;
  case DType::F64:
    return DIST_F64;
  case DType::F16:
    return DIST_F16;
  case DType::BF16:
    return DIST_BF16;
  case DType::I8:
    return DIST_I8;
  case DType::I16:
    return DIST_I16;
  case DType::I32:
    return DIST_I32;
  case DType::I64:
    return DIST_I64;
  case DType::U8:
    return DIST_U8;
  case DType::U16:
    return DIST_U16;
  case DType::U32:
    return DIST_U32;
  case DType::U64:
    return DIST_U64;
  case DType::Bool:
    return DIST_I1;
  default:
    llvm_unreachable("no element type of parameters");
  }
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

host::SafetensorsEntry
mlir::dist::frontend::describe(const Parameter &parameter) {
  frontend::Shape shape = parameter.getShape();
  return {parameter.name, toRuntime(parameter.getType()),
          host::Shape(shape.begin(), shape.end())};
}

std::optional<PlaceInFile>
mlir::dist::frontend::findInPlace(const Parameter &parameter,
                                  ArrayRef<ExternalFile> files) {
  ArrayRef<char> bytes = parameter.data.getBytes();
  if (parameter.transposed || bytes.empty())
    return std::nullopt;
  for (const ExternalFile &file : files)
    if (bytes.begin() >= file.buffer->getBufferStart() &&
        bytes.end() <= file.buffer->getBufferEnd())
      return PlaceInFile{file.path,
                         bytes.begin() - file.buffer->getBufferStart()};
  return std::nullopt;
}

void mlir::dist::frontend::writeSafetensors(raw_ostream &os,
                                            ArrayRef<Parameter> parameters) {
  std::vector<host::SafetensorsEntry> entries;
  for (const Parameter &parameter : parameters)
    entries.push_back(describe(parameter));
  os << host::makeSafetensorsHeader(entries);
  for (const Parameter &parameter : parameters) {
    ArrayRef<char> bytes = parameter.data.getBytes();
    if (parameter.transposed)
      writeTransposed(os, parameter.data);
    else
      os.write(bytes.data(), bytes.size());
  }
}
