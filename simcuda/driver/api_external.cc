// Memory of other interfaces, imported by file descriptor.
#include <sys/stat.h>
#include <unistd.h>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/ipc.h"

namespace memprof::simcuda {
namespace {

// An imported object; it owns the descriptor.
struct ExternalMemory {
  ExternalMemory(int file, uint64_t size) : descriptor(file), bytes(size) {}
  ~ExternalMemory() { close(descriptor); }
  ExternalMemory(const ExternalMemory&) = delete;
  ExternalMemory& operator=(const ExternalMemory&) = delete;
  const int descriptor;
  const uint64_t bytes;
};

std::shared_ptr<ExternalMemory> FindExternal(CUexternalMemory handle) {
  return AllHandles<ExternalMemory>().Find(handle);
}

}  // namespace

namespace api {

CUresult cuImportExternalMemory(CUexternalMemory* extMem_out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* memHandleDesc) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (extMem_out == nullptr || memHandleDesc == nullptr || memHandleDesc->size == 0 ||
      (memHandleDesc->flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  struct stat status;
  const int file = memHandleDesc->handle.fd;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      memHandleDesc->size > static_cast<uint64_t>(status.st_size)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // From here on the driver owns the descriptor.
  auto external = std::make_shared<ExternalMemory>(file, memHandleDesc->size);
  *extMem_out = reinterpret_cast<CUexternalMemory>(external.get());
  AllHandles<ExternalMemory>().Add(std::move(external));
  return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* devPtr, CUexternalMemory extMem,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* bufferDesc) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  const auto external = FindExternal(extMem);
  if (external == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (devPtr == nullptr || bufferDesc == nullptr || bufferDesc->flags != 0 ||
      bufferDesc->size == 0 || bufferDesc->offset > external->bytes ||
      bufferDesc->size > external->bytes - bufferDesc->offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto allocation = std::make_shared<Allocation>();
  const CUresult result = ImportMemory(AllocationKind::kImported, external->descriptor,
                                       bufferDesc->offset, bufferDesc->size, context, allocation);
  if (result == CUDA_SUCCESS) *devPtr = allocation->address;
  return result;
}

CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* mipmap, CUexternalMemory extMem,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* mipmapDesc) {
  const auto external = FindExternal(extMem);
  if (external == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (mipmap == nullptr || mipmapDesc == nullptr || mipmapDesc->numLevels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // The layout of another interface's images is not known here.
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDestroyExternalMemory(CUexternalMemory extMem) {
  return AllHandles<ExternalMemory>().Remove(extMem) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                                : CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
