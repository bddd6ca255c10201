// Hooks by which memory of this process is shared, and by which physical memory comes in. What this
// process exported itself is not taken for somebody else's when it is imported again (ExportTable).
#pragma once

#include "libmemprof/src/hooks/vmm.h"

namespace memprof::recorder {

inline constexpr int kFabricHandle = 8;  // CU_MEM_HANDLE_TYPE_FABRIC, from CUDA 12.3

template <typename Real>
CUresult ExportPhysical(FunctionId id, Real real, void* shared, CUmemGenericAllocationHandle handle,
                        CUmemAllocationHandleType type, unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(shared, handle, type, flags);
  if (!RecordsAllocations(hook) || result != CUDA_SUCCESS || shared == nullptr) return result;
  const VmmLedger::Physical known = hook.driver()->vmm()->Known(handle);
  // Of memory from before recording began nothing could be said; of an import, who owns it can.
  if (known.handle == 0) return result;
  const ExportTable::Memory memory{known.handle, known.bytes, known.device, known.layer};
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    hook.driver()->exports()->AddDescriptor(*static_cast<const int*>(shared), memory);
  else if (static_cast<int>(type) == kFabricHandle)
    hook.driver()->exports()->AddContent(ExportTable::Kind::kPhysical, shared, memory);
  return result;
}

// One more handle of memory that this process has, or memory that only an export has kept.
inline bool ImportedOwn(Hook* hook, std::uint64_t handle, void* shared,
                        CUmemAllocationHandleType type) {
  ExportTable* exports = hook->driver()->exports();
  const bool is_file = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  ExportTable::Memory memory;
  if (is_file ? !exports->FindDescriptor(descriptor, &memory)
              : static_cast<int>(type) != kFabricHandle || shared == nullptr ||
                    !exports->FindContent(ExportTable::Kind::kPhysical, shared, &memory))
    return false;
  VmmLedger* vmm = hook->driver()->vmm();
  if (memory.handle != 0 && vmm->Alias(handle, memory.handle)) return true;
  if (!vmm->Create(handle, memory.bytes, memory.device, memory.layer)) return true;
  if (is_file)
    exports->ReviveDescriptor(descriptor, handle);
  else
    exports->ReviveContent(ExportTable::Kind::kPhysical, shared, handle);
  const auto layer = static_cast<Layer>(memory.layer);
  RecordVmm(hook, kOpAlloc, layer, memory.device, handle, memory.bytes, 0,
            layer == kLayerImported ? std::uint64_t{kImportPhysical} : 0);
  return true;
}

template <typename Real>
CUresult ImportPhysical(FunctionId id, Real real, CUmemGenericAllocationHandle* handle,
                        void* shared, CUmemAllocationHandleType type) {
  Hook hook(id);
  const CUresult result = real(handle, shared, type);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result != CUDA_SUCCESS || ImportedOwn(&hook, *handle, shared, type)) return result;
  const std::int32_t device = hook.Context().device;
  // The driver may also say by the handle itself that the memory is known.
  if (hook.driver()->vmm()->Create(*handle, 0, device, kLayerImported))
    RecordVmm(&hook, kOpAlloc, kLayerImported, device, *handle, 0, 0, kImportPhysical);
  return result;
}

template <typename Real>
CUresult GetIpc(FunctionId id, Real real, CUipcMemHandle* handle, CUdeviceptr pointer) {
  Hook hook(id);
  const CUresult result = real(handle, pointer);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS && handle != nullptr)
    hook.driver()->exports()->AddContent(ExportTable::Kind::kAddress, handle, {pointer, 0, 0, 0});
  return result;
}

template <typename Real>
CUresult ExportPoolPointer(FunctionId id, Real real, CUmemPoolPtrExportData* data,
                           CUdeviceptr pointer) {
  Hook hook(id);
  const CUresult result = real(data, pointer);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS && data != nullptr)
    hook.driver()->exports()->AddContent(ExportTable::Kind::kAddress, data, {pointer, 0, 0, 0});
  return result;
}

}  // namespace memprof::recorder
