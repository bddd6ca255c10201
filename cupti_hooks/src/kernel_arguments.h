// Finds the device pointers among the arguments of a kernel launch.
//
// Arguments come in one of two documented forms. A packed buffer contains its own size. An array of
// pointers does not contain the sizes of the arguments; the driver reports them (cuFuncGetParamInfo
// and cuKernelGetParamInfo, from CUDA 12.4 on). A launch takes a CUfunction, or a CUkernel cast to
// one, and each query accepts only its own kind. So the source records the handles from the calls
// that return them. The layout of a kernel whose handle was never recorded is unknown: its launch
// is recorded without pointers.
//
// Thread-safe; no function blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::cupti {

enum class KernelHandleKind : std::uint32_t { kFunction = 1, kKernel = 2 };

// The driver has returned this handle; replaces what was stored for an earlier kernel at the same
// address.
void NoteKernelHandle(const void* handle, KernelHandleKind kind);
// Drops all handles: while the source did not listen, the driver may have reused them.
void ClearKernelHandles();

inline constexpr std::size_t kMaxTouches = 64;

// The distinct words of the arguments that point into memory of the driver, in order; at most
// kMaxTouches. `arguments` and `extra` are those of cuLaunchKernel and may be null.
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
