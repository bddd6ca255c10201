// The device pointers among the arguments of a kernel launch.
//
// Arguments come in one of two documented forms. A packed buffer carries its own size. An array of
// pointers does not say how large each argument is; the driver does (cuFuncGetParamInfo and
// cuKernelGetParamInfo, from CUDA 12.4 on), but launches take a CUfunction and a CUkernel cast to
// one alike, and each query wants its own kind. So the source listens to the calls that hand these
// handles out, and a kernel whose handle it never saw has no known layout: its launch is recorded
// without pointers.
//
// Thread-safety: all functions, from any thread; none blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::cupti {

enum class KernelHandleKind : std::uint32_t { kFunction = 1, kKernel = 2 };

// The driver handed this handle out; what was known of an earlier one at the same address is
// forgotten.
void NoteKernelHandle(const void* handle, KernelHandleKind kind);
// No handle is known any more: nobody listened for a while, and handles may have been handed out
// anew in that time.
void ForgetKernelHandles();

inline constexpr std::size_t kMaxTouches = 64;

// Distinct words of the arguments that point into memory of the driver, in order; at most
// kMaxTouches. Both `arguments` and `extra` are as given to cuLaunchKernel and may be null.
class TouchedAddresses {
 public:
  void Collect(void* kernel, void* const* arguments, void* const* extra);
  std::size_t size() const { return size_; }
  std::uint64_t operator[](std::size_t i) const { return addresses_[i]; }

 private:
  void Scan(const void* bytes, std::size_t size);
  void Add(std::uint64_t word);

  std::uint64_t addresses_[kMaxTouches];
  std::size_t size_ = 0;
};

}  // namespace memprof::cupti
