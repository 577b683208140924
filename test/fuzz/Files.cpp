//===- Files.cpp - Inputs of fuzz targets as files ------------------------===//

#include "test/fuzz/Files.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

const std::string &dist::test::fileOf(const uint8_t *data, size_t size,
                                      const char *end) {
  static std::string path;
  if (path.empty()) {
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path = std::string(folder) + "/dist-fuzz-" + std::to_string(getpid()) + end;
    std::atexit([] { unlink(path.c_str()); });
  }
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) {
    std::perror(path.c_str());
    std::abort();
  }
  close(fd);
  return path;
}
