// Hooks of device code: modules, libraries, and the variables that a program looks up in them.
// Recorded whatever the source of allocations is, as contexts are: while a hook is inside the
// call, CUPTI leaves it alone.
#pragma once

#include <type_traits>

#include "libmemprof/src/driver/module_image.h"
#include "libmemprof/src/hooks/hooks.h"

namespace memprof::recorder {

// Free memory of the current device now; 0 = unknown.
std::uint64_t FreeBytesNow(Hook* hook);
void RecordModuleLoad(Hook* hook, std::uint64_t handle, std::uint64_t image_bytes, const char* file,
                      std::uint64_t free_before);
void RecordModuleUnload(Hook* hook, std::uint64_t handle, std::uint64_t before_ns);
void RecordGlobal(Hook* hook, std::uint64_t address, std::uint64_t bytes, std::uint64_t module,
                  const char* name);

// `Source` is void for an image in memory, char for the name of a file.
template <typename Real, typename Handle, typename Source, typename... Options>
CUresult LoadCode(FunctionId id, Real real, Handle* handle, const Source* source,
                  Options... options) {
  Hook hook(id);
  const std::uint64_t free_before = hook.active() ? FreeBytesNow(&hook) : 0;
  const CUresult result = real(handle, source, options...);
  if (!hook.active()) return result;
  if (result != CUDA_SUCCESS) {
    // What a file needs is not known; and an image that was refused may be anything.
    std::uint64_t bytes = 0;
    if constexpr (!std::is_same_v<Source, char>)
      if (result == CUDA_ERROR_OUT_OF_MEMORY) bytes = ImageBytes(source);
    hook.Failed(result, kLayerModule, bytes);
    return result;
  }
  const auto number = reinterpret_cast<std::uint64_t>(*handle);
  if constexpr (std::is_same_v<Source, char>)
    RecordModuleLoad(&hook, number, 0, source, free_before);
  else
    RecordModuleLoad(&hook, number, ImageBytes(source), nullptr, free_before);
  return result;
}

template <typename Real, typename Handle>
CUresult UnloadCode(FunctionId id, Real real, Handle handle) {
  Hook hook(id);
  const std::uint64_t before_ns = hook.active() ? NowNs() : 0;
  const CUresult result = real(handle);
  if (hook.active() && result == CUDA_SUCCESS)
    RecordModuleUnload(&hook, reinterpret_cast<std::uint64_t>(handle), before_ns);
  else if (hook.active())
    hook.Freed(result, kLayerModule, reinterpret_cast<std::uint64_t>(handle));
  return result;
}

template <typename Real, typename Pointer, typename Size, typename Handle>
CUresult GetGlobal(FunctionId id, Real real, Pointer* pointer, Size* bytes, Handle module,
                   const char* name) {
  Hook hook(id);
  if (!hook.active() || (pointer == nullptr && bytes == nullptr))
    return real(pointer, bytes, module, name);
  // Either may be null for the driver; here both are wanted.
  Pointer address = 0;
  Size size = 0;
  if (pointer == nullptr) pointer = &address;
  if (bytes == nullptr) bytes = &size;
  const CUresult result = real(pointer, bytes, module, name);
  if (result == CUDA_SUCCESS)
    RecordGlobal(&hook, *pointer, *bytes, reinterpret_cast<std::uint64_t>(module), name);
  return result;
}

}  // namespace memprof::recorder
