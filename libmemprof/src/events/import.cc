// Events of memory that other processes or interfaces own.
#include "libmemprof/src/events/import.h"

#include "libmemprof/src/driver/array_bytes.h"

namespace memprof::recorder {
namespace {

// The same in every process.
std::uint64_t NumberOfHandle(const void* handle) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (std::size_t i = 0; i < ExportTable::kContentBytes; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(handle)[i]) * 1099511628211u;
  return hash;
}

// Records an address that refers to memory of another process, or of this one: CUDA does not
// promise that a process can open its own exports, but where it can, no foreign memory was
// imported.
// `from`: the pool, or the number of the handle.
void RecordSharedAddress(Call* call, CUdeviceptr address, const void* exported, std::uint64_t from,
                         ImportKind kind) {
  ExportTable::Memory own;
  const bool is_own =
      call->driver()->exports()->FindContent(ExportTable::Kind::kAddress, exported, &own);
  call->Allocated(CUDA_SUCCESS, kLayerImported, address, DriverState::BytesAt(address),
                  is_own ? own.handle : from, is_own ? kImportOwn : kind);
}

}  // namespace

void RecordExport(Call* call, const void* handle, CUdeviceptr address) {
  if (!call->driver()->exports()->AddContent(ExportTable::Kind::kAddress, handle,
                                             {address, 0, 0, 0}))
    return;
  ring::RingEvent event = call->Event(kOpExported, kLayerNone);
  event.address = address;
  event.bytes = DriverState::BytesAt(address);
  event.aux0 = NumberOfHandle(handle);
  event.SetDevice(call->Context().device);
  call->Emit(&event, true);
}

void OpenIpc::After(Call* call, CUresult result, CUdeviceptr* pointer, CUipcMemHandle handle,
                    unsigned) const {
  call->Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && call->driver()->handles()->Add(HandleTable::Entry(
                                    *pointer, HandleKind::kIpc, call->Context().id)))
    RecordSharedAddress(call, *pointer, &handle, NumberOfHandle(&handle), kImportIpc);
}

void CloseIpc::Before(Call* call, CUdeviceptr pointer) {
  dropped_ = call->driver()->handles()->Drop(pointer, HandleKind::kIpc, &entry_);
  if (dropped_ != HandleTable::Dropped::kReferenced) call->Freeing(kLayerImported, pointer);
}

void CloseIpc::After(Call* call, CUresult result, CUdeviceptr pointer) {
  if (dropped_ != HandleTable::Dropped::kReferenced) call->Freed(result, kLayerImported, pointer);
  if (result == CUDA_SUCCESS || dropped_ == HandleTable::Dropped::kUnknown) return;
  call->driver()->handles()->Add(entry_);
}

void ImportPool::After(Call* call, CUresult result, CUmemoryPool* pool, void*,
                       CUmemAllocationHandleType, unsigned long long) const {
  call->Failed(result, kLayerImported);
  if (result != CUDA_SUCCESS) return;
  call->driver()->handles()->Add(HandleTable::Entry(Number(*pool), HandleKind::kPool));
  ring::RingEvent event = call->Event(kOpPoolCreate, kLayerImported);
  event.address = Number(*pool);
  event.SetDevice(call->Context().device);
  call->Emit(&event, true);
}

void ImportPoolPointer::After(Call* call, CUresult result, CUdeviceptr* pointer, CUmemoryPool pool,
                              CUmemPoolPtrExportData* data) const {
  call->Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS)
    RecordSharedAddress(call, *pointer, data, Number(pool), kImportPoolPointer);
}

void ImportExternal::After(Call* call, CUresult result, CUexternalMemory* memory,
                           const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) const {
  call->Allocated(result, kLayerImported, Output(result, memory),
                  description == nullptr ? 0 : description->size, 0, kImportExternal);
}

void MapExternalBuffer::After(Call* call, CUresult result, CUdeviceptr* pointer,
                              CUexternalMemory memory,
                              const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description) const {
  call->Allocated(result, kLayerImported, Output(result, pointer),
                  description == nullptr ? 0 : description->size, Number(memory),
                  kImportExternalView);
}

void MapExternalMipmap::After(Call* call, CUresult result, CUmipmappedArray* array,
                              CUexternalMemory memory,
                              const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* description) const {
  if (result == CUDA_SUCCESS)
    call->driver()->handles()->Add(
        HandleTable::Entry(Number(*array), HandleKind::kMipmap, call->Context().id));
  call->Allocated(
      result, kLayerImported, Output(result, array),
      description == nullptr ? 0 : ArrayBytes3D(&description->arrayDesc, description->numLevels),
      Number(memory), kImportExternalArray);
}

}  // namespace memprof::recorder
