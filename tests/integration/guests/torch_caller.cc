// Stands for libc10_cuda: calls what another library defines. `version` chooses the signature: 1 is
// PyTorch up to 1.9, 2 up to 1.13, 3 from 2.0 on.
#include <cstddef>
#include <cstdint>

namespace c10 {
struct Device {
  std::int8_t type;
  std::int8_t index;
};
void reportMemoryUsageToProfiler(void*, std::int64_t, Device);
void reportMemoryUsageToProfiler(void*, std::int64_t, std::int64_t, std::int64_t, Device);
void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device);
void reportOutOfMemoryToProfiler(std::int64_t, std::int64_t, std::int64_t, Device);
void reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, Device);
}  // namespace c10

extern "C" void definer_seen(std::uint64_t* calls, std::uint64_t* digest);

extern "C" void caller_usage(int version, void* block, std::int64_t bytes, std::uint64_t allocated,
                             std::uint64_t reserved, int type, int index) {
  const c10::Device device{static_cast<std::int8_t>(type), static_cast<std::int8_t>(index)};
  if (version == 1)
    c10::reportMemoryUsageToProfiler(block, bytes, device);
  else if (version == 2)
    c10::reportMemoryUsageToProfiler(block, bytes, static_cast<std::int64_t>(allocated),
                                     static_cast<std::int64_t>(reserved), device);
  else
    c10::reportMemoryUsageToProfiler(block, bytes, static_cast<std::size_t>(allocated),
                                     static_cast<std::size_t>(reserved), device);
}

extern "C" void caller_oom(int version, std::int64_t asked, std::uint64_t allocated,
                           std::uint64_t reserved, int index) {
  const c10::Device device{1, static_cast<std::int8_t>(index)};
  if (version == 2)
    c10::reportOutOfMemoryToProfiler(asked, static_cast<std::int64_t>(allocated),
                                     static_cast<std::int64_t>(reserved), device);
  else if (version == 3)
    c10::reportOutOfMemoryToProfiler(asked, static_cast<std::size_t>(allocated),
                                     static_cast<std::size_t>(reserved), device);
}

extern "C" void caller_seen(std::uint64_t* calls, std::uint64_t* digest) {
  definer_seen(calls, digest);
}
