// Reads version.py. The file is a program's, so nothing in it is relied on.
#include "libmemprof/src/torch/release.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

namespace memprof::recorder {
namespace {

// ".../torch/lib/libc10_cuda.so" becomes ".../torch/version.py".
bool VersionPath(const char* library, char* path) {
  constexpr char kFile[] = "/version.py";
  std::size_t length = strnlen(library, PATH_MAX);
  for (int folders = 0; folders < 2; ++folders) {
    while (length > 0 && library[length - 1] != '/') --length;
    if (length == 0) return false;
    --length;
  }
  if (length + sizeof kFile > PATH_MAX) return false;
  memcpy(path, library, length);
  memcpy(path + length, kFile, sizeof kFile);
  return true;
}

// The start of a file; it says its release in the first lines. A pipe in its place must not block.
std::size_t ReadStart(const char* path, char* text, std::size_t bytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, bytes);
  close(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace

bool ReadTorchRelease(const char* library, char* release, std::size_t bytes) {
  constexpr char kAssigned[] = "\n__version__ = '";
  char path[PATH_MAX], text[2048];
  if (!VersionPath(library, path)) return false;
  const std::size_t got = ReadStart(path, text + 1, sizeof text - 1);
  text[0] = '\n';
  const auto* begin =
      static_cast<const char*>(memmem(text, got + 1, kAssigned, sizeof kAssigned - 1));
  if (begin == nullptr) return false;
  begin += sizeof kAssigned - 1;
  const auto left = static_cast<std::size_t>(text + got + 1 - begin);
  const auto* end = static_cast<const char*>(memchr(begin, '\'', left));
  if (end == nullptr || end == begin) return false;
  const auto length = static_cast<std::size_t>(end - begin);
  if (length >= bytes || memchr(begin, '\n', length) != nullptr) return false;
  memcpy(release, begin, length);
  release[length] = '\0';
  return true;
}

}  // namespace memprof::recorder
