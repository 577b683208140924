//===- Files.h - Inputs of fuzz targets as files ----------------*- C++ -*-===//

#ifndef DIST_TEST_FUZZ_FILES_H
#define DIST_TEST_FUZZ_FILES_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace dist::test {

/// A file with the given bytes and the given end of its name, the same one each
/// time; in memory, as far as the system has such files.
const std::string &fileOf(const uint8_t *data, size_t size, const char *end);

} // namespace dist::test

#endif // DIST_TEST_FUZZ_FILES_H
