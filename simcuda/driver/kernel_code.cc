// Charges the device for modules.
#include "simcuda/driver/kernel_code.h"

#include <cstdlib>
#include <string_view>

#include "simcuda/common/config.h"
#include "simcuda/driver/device_memory.h"

namespace memprof::simcuda {
namespace {

struct LibraryImage {
  std::string_view name;
  KernelLibrary library;
  const char* image;
};
constexpr char kCublasImage[] = ".version 8.0\n.target sm_50\n.address_size 64\n// cuBLAS\n";
constexpr char kCudnnImage[] = ".version 8.0\n.target sm_50\n.address_size 64\n// cuDNN\n";
constexpr LibraryImage kImages[] = {{"cuBLAS", KernelLibrary::kCublas, kCublasImage},
                                    {"cuDNN", KernelLibrary::kCudnn, kCudnnImage}};

}  // namespace

bool LoadsCodeEagerly() {
  const char* mode = std::getenv("CUDA_MODULE_LOADING");
  return mode != nullptr && std::string_view(mode) == "EAGER";
}

uint64_t KernelCode::Load(KernelLibrary library) {
  const Config& config = GlobalConfig(false);
  if (!config.models_code) return 0;
  const std::lock_guard lock(mutex_);
  const bool eager = LoadsCodeEagerly();
  bool& all_loaded = all_loaded_[static_cast<int>(library)];
  if (eager && all_loaded) return 0;
  all_loaded = eager;
  const uint64_t bytes = config.gpu->code_bytes(library, eager);
  ResizeLocked(bytes_ + bytes);
  return bytes;
}

void KernelCode::Unload(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ResizeLocked(bytes_ - (bytes < bytes_ ? bytes : bytes_));
}

void KernelCode::Clear() {
  const std::lock_guard lock(mutex_);
  ResizeLocked(0);
}

void KernelCode::ResizeLocked(uint64_t bytes) {
  bytes_ = bytes;
  const uint64_t wanted = RoundUp(bytes, kPageBytes);
  if (wanted > charged_) {
    charged_ += memory_->ChargeUpTo(Use::kCode, wanted - charged_);
  } else if (wanted < charged_) {
    memory_->Refund(Use::kCode, charged_ - wanted);
    charged_ = wanted;
  }
}

KernelLibrary LibraryOfImage(const void* image) {
  for (const LibraryImage& one : kImages) {
    if (one.image == image) return one.library;
  }
  return KernelLibrary::kProgram;
}

}  // namespace memprof::simcuda

extern "C" const char* simcuda_library_image(const char* library) {
  using namespace memprof::simcuda;
  if (library == nullptr || !GlobalConfig(false).models_code) return nullptr;
  for (const LibraryImage& one : kImages) {
    if (one.name == library) return one.image;
  }
  return nullptr;
}
