// A guest that links the driver library itself: VMM, pools, arrays and contexts.
// Prints "op layer address bytes".
//
//   driver_linked vmm | pools | arrays | contexts
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::_Exit(3);
}

void Print(const char* op, const char* layer, unsigned long long address,
           unsigned long long bytes) {
  std::printf("%s %s %llx %llu\n", op, layer, address, bytes);
}

void Vmm() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  const std::size_t size = 4u << 20;
  CUmemGenericAllocationHandle handle = 0, again = 0;
  Check(cuMemCreate(&handle, size, &properties, 0), "create");
  Print("alloc", "vmm_physical", handle, size);
  CUdeviceptr address = 0;
  Check(cuMemAddressReserve(&address, 2 * size, 0, 0, 0), "reserve");
  Print("alloc", "vmm_address", address, 2 * size);
  Check(cuMemMap(address, size, 0, handle, 0), "map");
  Check(cuMemMap(address + size, size, 0, handle, 0), "map");
  Check(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address)), "retain");
  Check(cuMemRelease(handle), "release");
  Check(cuMemRelease(again), "release");
  Check(cuMemUnmap(address, size), "unmap");
  // This ends the last reference.
  Print("free", "vmm_physical", handle, 0);
  Check(cuMemUnmap(address + size, size), "unmap");
  Print("free", "vmm_address", address, 0);
  Check(cuMemAddressFree(address, 2 * size), "address free");
}

void Pools() {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  Check(cuMemPoolCreate(&pool, &properties), "pool");
  CUstream stream = nullptr;
  Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  CUdeviceptr a = 0, b = 0;
  Check(cuMemAllocFromPoolAsync(&a, 3 << 20, pool, stream), "from pool");
  Print("alloc", "stream_ordered", a, 3 << 20);
  Check(cuMemAllocAsync(&b, 777, stream), "async");
  Print("alloc", "stream_ordered", b, 777);
  Print("free", "stream_ordered", a, 0);
  Check(cuMemFreeAsync(a, stream), "free async");
  // cuMemFree also frees memory of a pool.
  Print("free", "stream_ordered", b, 0);
  Check(cuMemFree(b), "free");
  Check(cuStreamSynchronize(stream), "sync");
  Check(cuMemPoolTrimTo(pool, 0), "trim");
  Check(cuMemPoolDestroy(pool), "destroy");
}

void Arrays() {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = 100;
  descriptor.Height = 50;
  descriptor.Depth = 4;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 2;
  CUarray array = nullptr;
  Check(cuArray3DCreate(&array, &descriptor), "array");
  Print("alloc", "array", reinterpret_cast<unsigned long long>(array), 100 * 50 * 4 * 8);
  Print("free", "array", reinterpret_cast<unsigned long long>(array), 0);
  Check(cuArrayDestroy(array), "array destroy");
}

void Contexts(CUdevice device) {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  Check(cuCtxCreate(&context, nullptr, 0, device), "context");
#else
  Check(cuCtxCreate(&context, 0, device), "context");
#endif
  CUdeviceptr pointer = 0;
  Check(cuMemAlloc(&pointer, 5555), "alloc");
  Print("alloc", "linear", pointer, 5555);
  Check(cuCtxDestroy(context), "destroy");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "vmm";
  Check(cuInit(0), "init");
  CUdevice device = 0;
  Check(cuDeviceGet(&device, 0), "device");
  CUcontext primary = nullptr;
  Check(cuDevicePrimaryCtxRetain(&primary, device), "retain");
  Check(cuCtxSetCurrent(primary), "current");
  if (what == "vmm") Vmm();
  if (what == "pools") Pools();
  if (what == "arrays") Arrays();
  if (what == "contexts") Contexts(device);
  return 0;
}
