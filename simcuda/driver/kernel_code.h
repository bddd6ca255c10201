// The memory that the code of kernels takes in a context.
#ifndef SIMCUDA_DRIVER_KERNEL_CODE_H
#define SIMCUDA_DRIVER_KERNEL_CODE_H

#include <cstdint>
#include <mutex>

#include "simcuda/common/gpu_model.h"

namespace memprof::simcuda {

class DeviceMemory;

// Thread-safe. Modules share pages of the device. Nothing is taken unless the configuration models
// code (Config::models_code).
class KernelCode {
 public:
  explicit KernelCode(DeviceMemory* memory) : memory_(memory) {}

  // Takes the code of a module, as far as the device has room: no load fails for it. Returns the
  // bytes, for Unload.
  uint64_t Load(KernelLibrary library);
  void Unload(uint64_t bytes);
  // Gives all of it back.
  void Clear();

 private:
  void ResizeLocked(uint64_t bytes);

  DeviceMemory* const memory_;
  std::mutex mutex_;
  uint64_t bytes_ = 0;    // of all modules
  uint64_t charged_ = 0;  // in pages
  bool all_loaded_[kKernelLibraryCount] = {};
};

// Whether CUDA_MODULE_LOADING is EAGER.
bool LoadsCodeEagerly();
// Whose kernels are in the image.
KernelLibrary LibraryOfImage(const void* image);

}  // namespace memprof::simcuda

// For the stand-ins of libraries: an image for the kernels of "cuBLAS" or "cuDNN", to be loaded as
// a module; null for others, and where code is not modelled.
extern "C" const char* simcuda_library_image(const char* library);

#endif  // SIMCUDA_DRIVER_KERNEL_CODE_H
