// Device code: modules, libraries, and the variables that a program looks up in them.
#pragma once

#include <type_traits>

#include "libmemprof/src/driver/module_image.h"
#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

// Free memory of the current device; 0 = unknown.
std::uint64_t FreeBytesNow(Call* call);
void RecordModuleLoad(Call* call, std::uint64_t handle, std::uint64_t image_bytes, const char* file,
                      std::uint64_t free_before);
void RecordModuleUnload(Call* call, CUresult result, std::uint64_t handle, std::uint64_t before_ns);
void RecordGlobal(Call* call, std::uint64_t address, std::uint64_t bytes, std::uint64_t module,
                  const char* name);

// `Source` is void for an image in memory, char for the name of a file.
struct LoadCode : ContextEvent {
  std::uint64_t free_before = 0;
  template <typename... Arguments>
  void Before(Call* call, Arguments...) {
    free_before = FreeBytesNow(call);
  }
  template <typename Handle, typename Source, typename... Options>
  void After(Call* call, CUresult result, Handle* handle, const Source* source, Options...) const {
    constexpr bool kIsFile = std::is_same_v<Source, char>;
    if (result != CUDA_SUCCESS) {
      // The size of a file's code is not known; and a rejected image may be anything.
      const bool knows_bytes = !kIsFile && result == CUDA_ERROR_OUT_OF_MEMORY;
      return call->Failed(result, kLayerModule, knows_bytes ? ImageBytes(source) : 0);
    }
    if constexpr (kIsFile)
      RecordModuleLoad(call, Number(*handle), 0, source, free_before);
    else
      RecordModuleLoad(call, Number(*handle), ImageBytes(source), nullptr, free_before);
  }
};

struct UnloadCode : ContextEvent {
  std::uint64_t before_ns = 0;
  template <typename Handle>
  void Before(Call*, Handle) {
    before_ns = NowNs();
  }
  template <typename Handle>
  void After(Call* call, CUresult result, Handle handle) const {
    RecordModuleUnload(call, result, Number(handle), before_ns);
  }
};

// The program may pass null for either result; both are needed here, so Before replaces a null
// pointer. A source cannot replace it: a variable without an address is then left out.
struct GetGlobal : ContextEvent {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  template <typename Handle>
  void Before(Call*, CUdeviceptr*& pointer, std::size_t*& bytes, Handle, const char*) {
    if (pointer == nullptr && bytes == nullptr) return;  // nothing is looked up
    if (pointer == nullptr) pointer = &address;
    if (bytes == nullptr) bytes = &size;
  }
  template <typename Handle>
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t* bytes, Handle module,
             const char* name) const {
    if (result == CUDA_SUCCESS && pointer != nullptr)
      RecordGlobal(call, *pointer, bytes == nullptr ? 0 : *bytes, Number(module), name);
  }
};

}  // namespace memprof::recorder
