// Stands in for libc10: defines the functions by which PyTorch's allocator reports, in all
// versions, and records the calls that arrive.
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};

namespace {
std::atomic<std::uint64_t> g_calls{0}, g_digest{0};

// A digest of all arguments, independent of the order of threads.
void Note(std::uint64_t which, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
          Device device) {
  ++g_calls;
  g_digest += which * 1000003 + a * 31 + b * 37 + c * 41 + d * 43 +
              static_cast<std::uint64_t>(device.type * 47 + device.index * 53);
}
std::uint64_t Bits(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
}  // namespace

void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, Device device) {
  Note(1, Bits(block), static_cast<std::uint64_t>(bytes), 0, 0, device);
}
void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::int64_t allocated,
                                 std::int64_t reserved, Device device) {
  Note(2, Bits(block), static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(allocated),
       static_cast<std::uint64_t>(reserved), device);
}
void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device) {
  Note(3, Bits(block), static_cast<std::uint64_t>(bytes), allocated, reserved, device);
}
void reportOutOfMemoryToProfiler(std::int64_t asked, std::int64_t allocated, std::int64_t reserved,
                                 Device device) {
  Note(4, 0, static_cast<std::uint64_t>(asked), static_cast<std::uint64_t>(allocated),
       static_cast<std::uint64_t>(reserved), device);
}
void reportOutOfMemoryToProfiler(std::int64_t asked, std::size_t allocated, std::size_t reserved,
                                 Device device) {
  Note(5, 0, static_cast<std::uint64_t>(asked), allocated, reserved, device);
}

}  // namespace c10

extern "C" void definer_seen(std::uint64_t* calls, std::uint64_t* digest) {
  *calls = c10::g_calls;
  *digest = c10::g_digest;
}
