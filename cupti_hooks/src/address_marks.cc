// Handlers that put the memory which a call returned into the address map.
#include "cupti_hooks/src/address_marks.h"

namespace memprof::cupti {
namespace {

// The beginning of CUgraphNodeParams (CUDA 12.2), as far as memory nodes need it.
struct NodeParams {
  int type;
  int reserved[3];
  CUDA_MEM_ALLOC_NODE_PARAMS alloc;
};

// For memory whose size only the driver can report.
void MarkByAddress(const CUdeviceptr* out) {
  unsigned long long base = 0;
  std::size_t bytes = 0;
  const auto query = Driver().address_range;
  if (out != nullptr && query != nullptr && query(&base, &bytes, *out) == 0)
    MarkAddresses(MemorySide::kDevice, *out, bytes);
}

}  // namespace

void MarkPitched(const Call& call) {
  const auto& params = call.As<cuMemAllocPitch_v2_params>();
  if (Succeeded(call) && params.pPitch != nullptr)
    Mark(MemorySide::kDevice, params.dptr, *params.pPitch * params.Height);
}

void MarkRegistered(const Call& call) {
  const auto& params = call.As<cuMemHostRegister_v2_params>();
  if (Succeeded(call)) MarkAddresses(MemorySide::kHost, Number(params.p), params.bytesize);
}

// A pool may lie in the host's memory.
void MarkFromPool(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<cuMemAllocFromPoolAsync_params>();
  const bool on_host = Recorder()->pool_on_host(Number(params.pool)) != 0;
  Mark(on_host ? MemorySide::kHost : MemorySide::kDevice, params.dptr, params.bytesize);
}

void MarkMapped(const Call& call) {
  const auto& params = call.As<cuMemMap_params>();
  if (Succeeded(call)) MarkAddresses(MemorySide::kDevice, params.ptr, params.size);
}

void MarkIpc(const Call& call) {
  if (Succeeded(call)) MarkByAddress(call.As<cuIpcOpenMemHandle_v2_params>().pdptr);
}

void MarkPoolPointer(const Call& call) {
  if (Succeeded(call)) MarkByAddress(call.As<cuMemPoolImportPointer_params>().ptr_out);
}

void MarkExternal(const Call& call) {
  const auto& params = call.As<cuExternalMemoryGetMappedBuffer_params>();
  if (Succeeded(call) && params.bufferDesc != nullptr)
    Mark(MemorySide::kDevice, params.devPtr, params.bufferDesc->size);
}

void MarkGraphics(const Call& call) {
  const auto& params = call.As<cuGraphicsResourceGetMappedPointer_v2_params>();
  if (Succeeded(call) && params.pSize != nullptr)
    Mark(MemorySide::kDevice, params.pDevPtr, *params.pSize);
}

void MarkAllocNode(const Call& call) {
  const auto* node = call.As<cuGraphAddMemAllocNode_params>().nodeParams;
  if (Succeeded(call) && node != nullptr)
    MarkAddresses(MemorySide::kDevice, node->dptr, node->bytesize);
}

void MarkNodeParams(const void* params) {
  const auto* node = static_cast<const NodeParams*>(params);
  if (node != nullptr && node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    MarkAddresses(MemorySide::kDevice, node->alloc.dptr, node->alloc.bytesize);
}

}  // namespace memprof::cupti
