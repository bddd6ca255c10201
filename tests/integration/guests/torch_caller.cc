// Stands in for libc10_cuda: calls functions that another library defines. `version` selects the
// signature: 1 is PyTorch up to 1.9, 2 up to 1.13, 3 from 2.0 on.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

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

namespace cuda {
namespace {
thread_local std::int64_t t_stream = 0;  // the stream id of the calling thread
int g_device_error = 0;
std::atomic<std::uint64_t> g_handles_asked{0};
}  // namespace

class CUDAStream {
 public:
  CUDAStream(Device device, std::int64_t id) : device_(device), id_(id) {}
  void* stream() const;

 private:
  Device device_;
  std::int64_t id_;
};

CUDAStream getCurrentCUDAStream(std::int8_t device) {
  if (g_device_error < 0) return {{1, device}, t_stream};
  return {{1, static_cast<std::int8_t>(device + g_device_error)}, t_stream};
}
void* CUDAStream::stream() const {
  ++g_handles_asked;
  if (g_device_error < 0) throw std::runtime_error("CUDA error: device-side assert triggered");
  if (id_ > 0xffff) return reinterpret_cast<void*>(id_);  // a stream that the program created
  return reinterpret_cast<void*>(id_ == 0 ? 0 : 0x5000 + id_ * 256 + device_.index);
}
}  // namespace cuda
}  // namespace c10

// The calling thread uses this stream from now on. Its device is reported `device_error` too high;
// if `device_error` is negative, asking for the handle throws.
extern "C" void caller_use_stream(std::int64_t id, int device_error) {
  c10::cuda::t_stream = id;
  c10::cuda::g_device_error = device_error;
}
extern "C" std::uint64_t caller_handles_asked() { return c10::cuda::g_handles_asked; }

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
