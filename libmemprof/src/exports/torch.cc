// The exported functions of PyTorch's library libc10: they record the call and pass it on.
//
// PyTorch calls them with the lock of its allocator held, mostly without the GIL. The real function
// may call a profiler that listens; no function of ours is on the stack then.
#include <iterator>

#include "libmemprof/src/torch/forward.h"
#include "libmemprof/src/torch/layer.h"

#define MEMPROF_EXPORT extern "C" __attribute__((visibility("default")))

using memprof::recorder::RealTorchFunction;
using memprof::recorder::RecordTorchOutOfMemory;
using memprof::recorder::RecordTorchUsage;
using memprof::recorder::TorchDevice;
using memprof::recorder::TorchFunction;
using memprof::recorder::TorchReport;

namespace {

template <typename Function>
Function* Real(TorchFunction function, const void* caller, Function* ours) {
  return reinterpret_cast<Function*>(
      RealTorchFunction(function, caller, reinterpret_cast<const void*>(ours)));
}

std::uint64_t Bits(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

MEMPROF_EXPORT void TorchUsage1_9(void* block, std::int64_t bytes, TorchDevice device) asm(
    "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
MEMPROF_EXPORT void TorchUsage1_13(
    void* block, std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
    TorchDevice device) asm("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
MEMPROF_EXPORT void TorchUsage2(
    void* block, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
    TorchDevice device) asm("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
MEMPROF_EXPORT void TorchOutOfMemory1_13(
    std::int64_t requested, std::int64_t allocated, std::int64_t reserved,
    TorchDevice device) asm("_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE");
MEMPROF_EXPORT void TorchOutOfMemory2(
    std::int64_t requested, std::size_t allocated, std::size_t reserved,
    TorchDevice device) asm("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

void TorchUsage1_9(void* block, std::int64_t bytes, TorchDevice device) {
  RecordTorchUsage({Bits(block), bytes, 0, 0, false}, device);
  if (auto* real = Real(TorchFunction::kUsage1_9, __builtin_return_address(0), TorchUsage1_9))
    real(block, bytes, device);
}

void TorchUsage1_13(void* block, std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                    TorchDevice device) {
  RecordTorchUsage({Bits(block), bytes, static_cast<std::uint64_t>(allocated),
                    static_cast<std::uint64_t>(reserved), true},
                   device);
  if (auto* real = Real(TorchFunction::kUsage1_13, __builtin_return_address(0), TorchUsage1_13))
    real(block, bytes, allocated, reserved, device);
}

void TorchUsage2(void* block, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                 TorchDevice device) {
  RecordTorchUsage({Bits(block), bytes, allocated, reserved, true}, device);
  if (auto* real = Real(TorchFunction::kUsage2, __builtin_return_address(0), TorchUsage2))
    real(block, bytes, allocated, reserved, device);
}

void TorchOutOfMemory1_13(std::int64_t requested, std::int64_t allocated, std::int64_t reserved,
                          TorchDevice device) {
  RecordTorchOutOfMemory({0, requested, static_cast<std::uint64_t>(allocated),
                          static_cast<std::uint64_t>(reserved), true},
                         device);
  if (auto* real =
          Real(TorchFunction::kOutOfMemory1_13, __builtin_return_address(0), TorchOutOfMemory1_13))
    real(requested, allocated, reserved, device);
}

void TorchOutOfMemory2(std::int64_t requested, std::size_t allocated, std::size_t reserved,
                       TorchDevice device) {
  RecordTorchOutOfMemory({0, requested, allocated, reserved, true}, device);
  if (auto* real =
          Real(TorchFunction::kOutOfMemory2, __builtin_return_address(0), TorchOutOfMemory2))
    real(requested, allocated, reserved, device);
}

namespace {

void* const kTorchFunctions[] = {
    reinterpret_cast<void*>(&TorchUsage1_9), reinterpret_cast<void*>(&TorchUsage1_13),
    reinterpret_cast<void*>(&TorchUsage2), reinterpret_cast<void*>(&TorchOutOfMemory1_13),
    reinterpret_cast<void*>(&TorchOutOfMemory2)};
static_assert(std::size(kTorchFunctions) == static_cast<std::size_t>(TorchFunction::kCount));

__attribute__((constructor(101))) void InstallTorchFunctions() {
  memprof::recorder::SetTorchFunctions(kTorchFunctions);
}

}  // namespace
