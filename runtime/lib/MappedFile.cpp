//===- MappedFile.cpp - A file as read-only memory ------------------------===//

#include "MappedFile.h"
#include "dist/Tensor.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dist;

MappedFile dist::mapFile(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    throw Error(path + ": cannot open: " + std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    throw Error(path + ": not a regular file");
  }
  MappedFile file;
  file.bytes = info.st_size;
  if (file.bytes > 0) {
    void *memory = mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, fd, 0);
    int error = errno;
    if (memory == MAP_FAILED) {
      close(fd);
      throw Error(path + ": cannot map " + std::to_string(file.bytes) +
                  " bytes: " + std::strerror(error));
    }
    file.memory = {memory, [bytes = file.bytes](void *p) { munmap(p, bytes); }};
  }
  close(fd);
  return file;
}
