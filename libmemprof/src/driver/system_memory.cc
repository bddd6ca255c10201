// Reads /proc/meminfo, or meminfo of a NUMA node.
#include "libmemprof/src/driver/system_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libmemprof/src/driver/api.h"

namespace memprof::recorder {
namespace {

// cuda.h has these from 12.2 on.
constexpr auto kNumaConfig = static_cast<CUdevice_attribute>(130);
constexpr auto kNumaId = static_cast<CUdevice_attribute>(131);
constexpr int kIsNumaNode = 1;

bool Attribute(std::int32_t device, CUdevice_attribute attribute, int* value) {
  const auto get = Driver().cuDeviceGetAttribute;
  return get != nullptr && get(value, attribute, device) == CUDA_SUCCESS;
}

// The meminfo of the device's memory.
bool MeminfoPath(std::int32_t device, char* path, std::size_t bytes) {
  int value = 0, node = 0;
  if (Attribute(device, kNumaConfig, &value) && value == kIsNumaNode &&
      Attribute(device, kNumaId, &node) && node >= 0) {
    snprintf(path, bytes, "/sys/devices/system/node/node%d/meminfo", node);
    return true;
  }
  if (!Attribute(device, CU_DEVICE_ATTRIBUTE_INTEGRATED, &value) || value == 0) return false;
  snprintf(path, bytes, "/proc/meminfo");
  return true;
}

// "Node 1 FilePages:   123 kB" or "Cached:   123 kB": the bytes, if it is the line of `name`.
bool LineOf(const char* line, std::size_t length, const char* name, std::uint64_t* bytes) {
  const std::size_t name_length = strlen(name);
  const auto* at = static_cast<const char*>(memmem(line, length, name, name_length));
  if (at == nullptr || (at != line && at[-1] != ' ')) return false;
  std::uint64_t number = 0;
  bool digits = false;
  for (at += name_length; at < line + length; ++at) {
    if (*at >= '0' && *at <= '9' && number < ~std::uint64_t{0} / 20480) {
      number = 10 * number + static_cast<std::uint64_t>(*at - '0');
      digits = true;
    } else if (*at != ' ' || digits) {
      break;
    }
  }
  *bytes = number * 1024;
  return digits;
}

}  // namespace

std::uint64_t ParseFileCache(const char* text, std::size_t bytes) {
  std::uint64_t cache = 0, shared = 0;
  bool any = false;
  for (const char* line = text; line < text + bytes;) {
    const auto left = static_cast<std::size_t>(text + bytes - line);
    const auto* end = static_cast<const char*>(memchr(line, '\n', left));
    const std::size_t length = end == nullptr ? left : static_cast<std::size_t>(end - line);
    std::uint64_t found = 0;
    for (const char* name : {"Cached:", "Buffers:", "FilePages:"}) {
      if (!LineOf(line, length, name, &found)) continue;
      cache += found;
      any = true;
    }
    if (LineOf(line, length, "Shmem:", &found)) shared = found;
    line += length + 1;
  }
  if (!any) return 0;
  return 1 + (cache > shared ? cache - shared : 0);
}

std::uint64_t FileCache(std::int32_t device) {
  char path[64], text[4096];
  if (!MeminfoPath(device, path, sizeof path)) return 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof text);
  close(fd);
  return got > 0 ? ParseFileCache(text, static_cast<std::size_t>(got)) : 0;
}

}  // namespace memprof::recorder
