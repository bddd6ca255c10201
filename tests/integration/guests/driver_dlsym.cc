// A guest that reaches the driver by dlopen, dlsym and cuGetProcAddress only, with one allocation
// of every kind. It prints each call as "op layer address bytes".
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

void* g_library = nullptr;
CUresult (*g_get)(const char*, void**, int, cuuint64_t, void*) = nullptr;

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, result);
  std::exit(3);
}

template <typename Function>
Function ByName(const char* name) {
  void* found = dlsym(g_library, name);
  if (found == nullptr) Check(CUDA_ERROR_NOT_FOUND, name);
  return reinterpret_cast<Function>(found);
}

template <typename Function>
Function ByAddress(const char* base, int version, cuuint64_t flags = 0) {
  void* found = nullptr;
  Check(g_get(base, &found, version, flags, nullptr), base);
  return reinterpret_cast<Function>(found);
}

void Print(const char* op, const char* layer, unsigned long long address,
           unsigned long long bytes) {
  std::printf("%s %s %llx %llu\n", op, layer, address, bytes);
}

}  // namespace

extern "C" __attribute__((noinline)) CUdeviceptr AllocateHere(std::size_t bytes) {
  CUdeviceptr pointer = 0;
  Check(ByName<CUresult (*)(CUdeviceptr*, size_t)>("cuMemAlloc_v2")(&pointer, bytes), "alloc");
  Print("alloc", "linear", pointer, bytes);
  return pointer;
}

int main() {
  g_library = dlopen("libcuda.so.1", RTLD_NOW);
  if (g_library == nullptr) return 4;
  g_get = ByName<decltype(g_get)>("cuGetProcAddress_v2");
  Check(ByAddress<CUresult (*)(unsigned)>("cuInit", 2000)(0), "init");
  CUcontext context;
  Check(
      ByAddress<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain", 7000)(&context, 0),
      "retain");
  Check(ByAddress<CUresult (*)(CUcontext)>("cuCtxSetCurrent", 4000)(context), "current");

  const CUdeviceptr linear = AllocateHere(1000001);
  CUdeviceptr pitched = 0;
  std::size_t pitch = 0;
  Check(ByAddress<CUresult (*)(CUdeviceptr*, size_t*, size_t, size_t, unsigned)>(
            "cuMemAllocPitch", 3020)(&pitched, &pitch, 1001, 77, 4),
        "pitch");
  Print("alloc", "pitched", pitched, pitch * 77);
  CUdeviceptr managed = 0;
  Check(ByAddress<CUresult (*)(CUdeviceptr*, size_t, unsigned)>("cuMemAllocManaged", 6000)(
            &managed, 123456, CU_MEM_ATTACH_GLOBAL),
        "managed");
  Print("alloc", "managed", managed, 123456);
  void* pinned = nullptr;
  Check(ByAddress<CUresult (*)(void**, size_t, unsigned)>("cuMemHostAlloc", 2020)(&pinned, 4097, 0),
        "pinned");
  Print("alloc", "pinned", reinterpret_cast<unsigned long long>(pinned), 4097);
  void* own = std::aligned_alloc(4096, 8192);
  Check(ByAddress<CUresult (*)(void*, size_t, unsigned)>("cuMemHostRegister", 6050)(own, 8192, 0),
        "register");
  Print("alloc", "registered", reinterpret_cast<unsigned long long>(own), 8192);
  CUdeviceptr async = 0;
  Check(ByAddress<CUresult (*)(CUdeviceptr*, size_t, CUstream)>("cuMemAllocAsync", 11020)(
            &async, 5000, nullptr),
        "async");
  Print("alloc", "stream_ordered", async, 5000);
  CUdeviceptr huge = 0;
  const CUresult failed =
      ByName<CUresult (*)(CUdeviceptr*, size_t)>("cuMemAlloc_v2")(&huge, size_t{1} << 50);
  std::printf("failed linear %d %llu\n", failed, 1ull << 50);

  const auto free = ByAddress<CUresult (*)(CUdeviceptr)>("cuMemFree", 3020);
  Print("free", "linear", linear, 0);
  Check(free(linear), "free");
  Print("free", "pitched", pitched, 0);
  Check(free(pitched), "free");
  Print("free", "managed", managed, 0);
  Check(free(managed), "free");
  Print("free", "pinned", reinterpret_cast<unsigned long long>(pinned), 0);
  Check(ByAddress<CUresult (*)(void*)>("cuMemFreeHost", 2000)(pinned), "free host");
  Print("free", "registered", reinterpret_cast<unsigned long long>(own), 0);
  Check(ByAddress<CUresult (*)(void*)>("cuMemHostUnregister", 4000)(own), "unregister");
  Print("free", "stream_ordered", async, 0);
  Check(ByAddress<CUresult (*)(CUdeviceptr, CUstream)>("cuMemFreeAsync", 11020)(async, nullptr),
        "free async");
  std::printf("result free_again %d\n", free(linear));
  return 0;
}
