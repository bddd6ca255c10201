// A library whose destructor is the first to use CUDA in its process, when most others have run.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>

extern "C" int LateLibrary() { return 1; }  // so that the program needs it

__attribute__((destructor)) static void Late() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto find = [library](const char* name) { return dlsym(library, name); };
  CUcontext context = nullptr;
  CUdeviceptr pointer = 0;
  if (reinterpret_cast<CUresult (*)(unsigned)>(find("cuInit"))(0) != CUDA_SUCCESS ||
      reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(find("cuDevicePrimaryCtxRetain"))(
          &context, 0) != CUDA_SUCCESS ||
      reinterpret_cast<CUresult (*)(CUcontext)>(find("cuCtxSetCurrent"))(context) != CUDA_SUCCESS ||
      reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(find("cuMemAlloc_v2"))(&pointer, 555) !=
          CUDA_SUCCESS)
    return;
  std::printf("alloc linear %llx 555\n", pointer);
  std::fflush(stdout);
}
