// Memory, events and pools shared between processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/event.h"
#include "simcuda/driver/ipc.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

// Open handles: one mapping for each context and handle, with a count.
struct OpenHandles {
  using Key = std::tuple<uint32_t, int32_t, uint64_t, uint64_t>;  // context, process, file, id
  struct Use {
    uint64_t address = 0;
    uint64_t allocation = 0;  // its id: after a context's end the address may be another one's
    int count = 0;
  };
  std::mutex mutex;
  std::map<Key, Use> uses;
};

OpenHandles& Opened() {
  static auto* opened = new OpenHandles;
  return *opened;
}

// The content of the file of an exported pool.
struct PoolFile {
  static constexpr uint64_t kMagic = 0x4c4f4f5041445543;
  uint64_t magic = kMagic;
  int32_t process = 0;
  int32_t device = 0;
  uint64_t id = 0;
};

struct EventHandle {
  static constexpr uint64_t kMagic = 0x544e56454d495343;
  uint64_t magic = kMagic;
  RemoteFile file;
};

}  // namespace

namespace api {

CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (pHandle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = Allocations().Find(dptr);
  if (found == nullptr || found->kind != AllocationKind::kLinear) return CUDA_ERROR_INVALID_VALUE;
  MemoryHandle handle;
  const CUresult result = ExportMemory(*found, MemoryHandle::kMemory, &handle);
  if (result == CUDA_SUCCESS) std::memcpy(pHandle, &handle, sizeof(handle));
  return result;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (pdptr == nullptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryHandle memory;
  std::memcpy(static_cast<void*>(&memory), &handle, sizeof(memory));
  if (memory.magic != MemoryHandle::kMemory) return CUDA_ERROR_INVALID_HANDLE;
  // The exporting process has the memory already.
  if (memory.file.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  OpenHandles& opened = Opened();
  const std::lock_guard lock(opened.mutex);
  auto& use = opened.uses[{context->uid(), memory.file.process, memory.file.inode, memory.id}];
  if (use.count > 0) {
    ++use.count;
    *pdptr = use.address;
    return CUDA_SUCCESS;
  }
  const int descriptor = OpenRemote(memory.file);
  if (descriptor < 0) return CUDA_ERROR_MAP_FAILED;
  auto allocation = std::make_shared<Allocation>();
  const CUresult result = ImportMemory(AllocationKind::kIpc, descriptor, memory.offset,
                                       memory.requested, context, allocation);
  close(descriptor);
  if (result != CUDA_SUCCESS) return result;
  use = {allocation->address, allocation->id, 1};
  *pdptr = allocation->address;
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  const auto found = Allocations().Find(dptr);
  if (found == nullptr || found->kind != AllocationKind::kIpc || found->address != dptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->context->Synchronize();
  OpenHandles& opened = Opened();
  const std::lock_guard lock(opened.mutex);
  for (auto use = opened.uses.begin(); use != opened.uses.end(); ++use) {
    if (use->second.count == 0 || use->second.allocation != found->id) continue;
    if (--use->second.count > 0) return CUDA_SUCCESS;
    opened.uses.erase(use);
    break;
  }
  const auto removed =
      Allocations().Remove(dptr, [&](const Allocation& one) { return one.id == found->id; });
  if (removed == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ReleaseAllocation(*removed);
  return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
  const auto found = AllHandles<Event>().Find(event);
  if (found == nullptr || found->shared() == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pHandle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  EventHandle handle;
  handle.file = found->shared()->Describe();
  std::memset(pHandle, 0, sizeof(*pHandle));
  std::memcpy(pHandle, &handle, sizeof(handle));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (phEvent == nullptr) return CUDA_ERROR_INVALID_VALUE;
  EventHandle wanted;
  std::memcpy(static_cast<void*>(&wanted), &handle, sizeof(wanted));
  if (wanted.magic != EventHandle::kMagic) return CUDA_ERROR_INVALID_HANDLE;
  if (wanted.file.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  auto shared = SharedEvent::Open(wanted.file);
  if (shared == nullptr) return CUDA_ERROR_MAP_FAILED;
  auto event = std::make_shared<Event>(
      context.get(), CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, std::move(shared));
  *phEvent = reinterpret_cast<CUevent>(event.get());
  AllHandles<Event>().Add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags) {
  const auto found = AllHandles<Pool>().Find(pool);
  if (handle_out == nullptr || found == nullptr || flags != 0 || found->imported() ||
      handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      found->handle_types() != static_cast<unsigned>(handleType)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PoolFile content;
  content.process = getpid();
  content.device = found->device().id();
  content.id = found->id();
  const int file = memfd_create("simcuda pool", MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (pwrite(file, &content, sizeof(content), 0) != sizeof(content)) {
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *static_cast<int*>(handle_out) = file;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool_out, void* handle,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags) {
  if (pool_out == nullptr || flags != 0 || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PoolFile content;
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  if (pread(file, &content, sizeof(content), 0) != sizeof(content) ||
      content.magic != PoolFile::kMagic || content.process <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device* device = FindDevice(content.device);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto pool = Pool::Create(device);
  pool->set_origin({content.process, content.id});
  *pool_out = reinterpret_cast<CUmemoryPool>(pool.get());
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  const auto found = Allocations().Find(ptr);
  if (shareData_out == nullptr || found == nullptr || found->address != ptr ||
      found->kind != AllocationKind::kStreamOrdered || found->pool->handle_types() == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryHandle handle;
  const CUresult result = ExportMemory(*found, MemoryHandle::kPooled, &handle);
  if (result == CUDA_SUCCESS) std::memcpy(shareData_out, &handle, sizeof(handle));
  return result;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shareData) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  const auto found = AllHandles<Pool>().Find(pool);
  if (ptr_out == nullptr || shareData == nullptr || found == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryHandle handle;
  std::memcpy(static_cast<void*>(&handle), shareData, sizeof(handle));
  if (handle.magic != MemoryHandle::kPooled || handle.file.process != found->origin().process ||
      handle.pool != found->origin().id) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int descriptor = OpenRemote(handle.file);
  if (descriptor < 0) return CUDA_ERROR_MAP_FAILED;
  auto allocation = std::make_shared<Allocation>();
  allocation->pool = found;
  const CUresult result = ImportMemory(AllocationKind::kImported, descriptor, handle.offset,
                                       handle.requested, context, allocation);
  close(descriptor);
  if (result == CUDA_SUCCESS) *ptr_out = allocation->address;
  return result;
}

}  // namespace api
}  // namespace memprof::simcuda
