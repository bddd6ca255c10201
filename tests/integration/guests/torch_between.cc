// A preloaded tool that intercepts the same functions as memprof: it counts calls and forwards them
// to the next definition.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {
std::uint64_t g_calls = 0;
struct AtEnd {
  ~AtEnd() { std::printf("between %llu\n", static_cast<unsigned long long>(g_calls)); }
} g_at_end;
}  // namespace

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};

void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device) {
  using Function = void (*)(void*, std::int64_t, std::size_t, std::size_t, Device);
  ++g_calls;
  const auto next = reinterpret_cast<Function>(
      dlsym(RTLD_NEXT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  if (next != nullptr) next(block, bytes, allocated, reserved, device);
}

}  // namespace c10
