// A guest that reports to NVTX the heap that it suballocates, its regions, and their names.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>

#include <cstdint>
#include <cstdio>

namespace {

nvtxDomainHandle_t g_domain;

char* Allocate(std::size_t bytes) {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, bytes) != cudaSuccess) std::printf("failed\n");
  return static_cast<char*>(pointer);
}

nvtxMemHeapHandle_t RegisterHeap(const void* memory, std::size_t bytes, const char* name) {
  const nvtxMemVirtualRangeDesc_t range = {bytes, memory};
  nvtxMemHeapDesc_t heap{};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof range;
  heap.typeSpecificDesc = &range;
  heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
  heap.message.ascii = name;
  return nvtxMemHeapRegister(g_domain, &heap);
}

void RegisterRegions(nvtxMemHeapHandle_t heap, const nvtxMemVirtualRangeDesc_t* ranges,
                     std::size_t count, nvtxMemRegionHandle_t* handles) {
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = count;
  batch.regionDescElementSize = sizeof *ranges;
  batch.regionDescElements = ranges;
  batch.regionHandleElementsOut = handles;
  nvtxMemRegionsRegister(g_domain, &batch);
}

void Unregister(const void* region) {
  nvtxMemRegionRef_t reference{};
  reference.pointer = region;
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof reference;
  batch.refElements = &reference;
  nvtxMemRegionsUnregister(g_domain, &batch);
}

void Name(const void* region, std::uint32_t type, nvtxMessageValue_t name) {
  nvtxMemRegionNameDesc_t named{};
  named.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  named.nameType = type;
  named.region.pointer = region;
  named.name = name;
  nvtxMemRegionsNameBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionCount = 1;
  batch.regionElementSize = sizeof named;
  batch.regionElements = &named;
  nvtxMemRegionsName(g_domain, &batch);
}

void Name(const void* region, const char* text) {
  nvtxMessageValue_t name;
  name.ascii = text;
  Name(region, NVTX_MESSAGE_TYPE_ASCII, name);
}

}  // namespace

int main() {
  g_domain = nvtxDomainCreateA("allocator");
  char* const weights = Allocate(1000);
  Name(weights, "weights");  // driver memory, by its address
  char* const memory = Allocate(1 << 20);
  const nvtxMemHeapHandle_t heap = RegisterHeap(memory, 1 << 20, "arena");
  const nvtxMemVirtualRangeDesc_t ranges[] = {
      {4096, memory}, {8192, memory + 4096}, {512, memory + 65536}};
  nvtxMemRegionHandle_t handles[3] = {};
  RegisterRegions(heap, ranges, 3, handles);
  nvtxMessageValue_t registered;
  registered.registered = nvtxDomainRegisterStringA(g_domain, "activations");
  Name(handles[1], NVTX_MESSAGE_TYPE_REGISTERED, registered);
  Name(memory + 65536, "bias");
  Name(memory + 65536, "bias of layer 2");  // renamed
  const nvtxMemVirtualRangeDesc_t part = {100, weights + 200};
  RegisterRegions(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, &part, 1, nullptr);
  Name(weights + 200, "a row");
  Unregister(memory);
  Unregister(memory + 4096);
  nvtxMemHeapReset(g_domain, heap);
  nvtxMemHeapUnregister(g_domain, heap);
  Unregister(weights + 200);
  cudaFree(memory);
  cudaFree(weights);  // ends its name too
  Name(nullptr, "nothing");
  nvtxMemRegionsName(g_domain, nullptr);
  return 0;
}
