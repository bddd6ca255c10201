// Linear, pitched, three-dimensional, array, mipmapped, managed, pinned and registered memory,
// memory that ends with its context, and globals of modules.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "driver.h"
#include "families.h"

namespace memprof::gpu_check {
namespace {

constexpr std::size_t kRowBytes = 4096;  // a multiple of every pitch alignment

class DeviceFamily : public Family {
 public:
  void GiveBack() override {
    for (const CUdeviceptr block : blocks_) CALL(cuMemFree_v2, block);
    blocks_.clear();
  }

 protected:
  std::vector<CUdeviceptr> blocks_;
};

class Linear : public DeviceFamily {
  std::uint64_t Take(std::uint64_t bytes) override {
    CUdeviceptr block = 0;
    CALL(cuMemAlloc_v2, &block, bytes);
    blocks_.push_back(block);
    return bytes;
  }
};

class Pitched : public DeviceFamily {
  std::uint64_t Take(std::uint64_t bytes) override {
    CUdeviceptr block = 0;
    std::size_t pitch = 0;
    const std::size_t rows = std::max<std::size_t>(1, bytes / kRowBytes);
    CALL(cuMemAllocPitch_v2, &block, &pitch, kRowBytes, rows, 4);
    blocks_.push_back(block);
    return pitch * rows;
  }
};

// Only the runtime has this function: its library is opened as a program would find it.
class Volume : public Family {
  void Prepare() override {
    void* runtime = nullptr;
    for (const char* name :
         {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"})
      if (runtime == nullptr) runtime = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (runtime == nullptr) throw Skipped("no shared CUDA runtime was found");
    allocate_ = reinterpret_cast<decltype(&cudaMalloc3D)>(dlsym(runtime, "cudaMalloc3D"));
    free_ = reinterpret_cast<decltype(&cudaFree)>(dlsym(runtime, "cudaFree"));
    if (allocate_ == nullptr || free_ == nullptr)
      throw Skipped("the CUDA runtime lacks cudaMalloc3D");
  }
  std::uint64_t Take(std::uint64_t bytes) override {
    cudaPitchedPtr block{};
    const std::size_t depth = std::max<std::size_t>(1, bytes / kRowBytes / 16);
    const cudaError_t error = allocate_(&block, {kRowBytes, 16, depth});
    if (error == cudaErrorInsufficientDriver)
      throw Skipped("the CUDA runtime that was found is newer than the driver");
    if (error != cudaSuccess)
      throw std::runtime_error("cudaMalloc3D returned " + std::to_string(error));
    blocks_.push_back(block.ptr);
    return block.pitch * 16 * depth;
  }
  void GiveBack() override {
    for (void* block : blocks_)
      if (free_(block) != cudaSuccess) throw std::runtime_error("cudaFree failed");
    blocks_.clear();
  }
  decltype(&cudaMalloc3D) allocate_ = nullptr;
  decltype(&cudaFree) free_ = nullptr;
  std::vector<void*> blocks_;
};

class Array : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    CUarray array = nullptr;
    CUDA_ARRAY_DESCRIPTOR shape{};
    shape.Width = kRowBytes / 16;
    shape.Height = std::max<std::size_t>(1, bytes / kRowBytes);
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 4;
    CALL(cuArrayCreate_v2, &array, &shape);
    arrays_.push_back(array);
    return shape.Width * shape.Height * 16;
  }
  void GiveBack() override {
    for (CUarray array : arrays_) CALL(cuArrayDestroy, array);
    arrays_.clear();
  }
  std::vector<CUarray> arrays_;
};

class Mipmap : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    constexpr unsigned kLevels = 3;
    CUmipmappedArray array = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = kRowBytes / 16;
    shape.Height = std::max<std::size_t>(4, bytes / kRowBytes);
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 4;
    CALL(cuMipmappedArrayCreate, &array, &shape, kLevels);
    arrays_.push_back(array);
    std::uint64_t sum = 0;
    for (unsigned level = 0; level < kLevels; ++level)
      sum += (shape.Width >> level) * (shape.Height >> level) * 16;
    return sum;
  }
  void GiveBack() override {
    for (CUmipmappedArray array : arrays_) CALL(cuMipmappedArrayDestroy, array);
    arrays_.clear();
  }
  std::vector<CUmipmappedArray> arrays_;
};

// The device writes to it, so that its pages are on the device.
class Managed : public DeviceFamily {
  std::uint64_t Take(std::uint64_t bytes) override {
    CUdeviceptr block = 0;
    CALL(cuMemAllocManaged, &block, bytes, CU_MEM_ATTACH_GLOBAL);
    blocks_.push_back(block);
    CALL(cuMemsetD8_v2, block, 1, bytes);
    return bytes;
  }
};

class Pinned : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    void* block = nullptr;
    CALL(cuMemHostAlloc, &block, bytes, 0);
    blocks_.push_back(block);
    return bytes;
  }
  void GiveBack() override {
    for (void* block : blocks_) CALL(cuMemFreeHost, block);
    blocks_.clear();
  }
  std::vector<void*> blocks_;
};

class Registered : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    void* block = std::aligned_alloc(4096, bytes);
    if (block == nullptr) throw std::runtime_error("no host memory");
    blocks_.push_back(block);
    CALL(cuMemHostRegister_v2, block, bytes, 0);
    return bytes;
  }
  void GiveBack() override {
    for (void* block : blocks_) {
      CALL(cuMemHostUnregister, block);
      std::free(block);
    }
    blocks_.clear();
  }
  std::vector<void*> blocks_;
};

// Never freed: ends with its own context.
class ContextEnd : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    CUcontext before = nullptr, own = nullptr;
    CALL(cuCtxGetCurrent, &before);
    using Create = CUresult(CUcontext*, unsigned, CUdevice);
    Check(Find<Create*>("cuCtxCreate_v2")(&own, 0, 0), "cuCtxCreate_v2");
    contexts_.push_back(own);
    CUdeviceptr block = 0;
    CALL(cuMemAlloc_v2, &block, bytes);
    CALL(cuCtxSetCurrent, before);
    return bytes;
  }
  void GiveBack() override {
    for (CUcontext context : contexts_) CALL(cuCtxDestroy_v2, context);
    contexts_.clear();
  }
  std::vector<CUcontext> contexts_;
};

// A module with one large global.
class Module : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    const std::string code =
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .align 16 .b8 big[" +
        std::to_string(bytes) + "];\n.visible .entry idle() { ret; }\n";
    CUmodule module = nullptr;
    CALL(cuModuleLoadData, &module, code.c_str());
    modules_.push_back(module);
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CALL(cuModuleGetGlobal_v2, &address, &size, module, "big");
    return size;
  }
  void GiveBack() override {
    for (CUmodule module : modules_) CALL(cuModuleUnload, module);
    modules_.clear();
  }
  std::vector<CUmodule> modules_;
};

}  // namespace

std::unique_ptr<Family> MakePlainFamily(const std::string& name) {
  if (name == "linear") return std::make_unique<Linear>();
  if (name == "pitched") return std::make_unique<Pitched>();
  if (name == "volume") return std::make_unique<Volume>();
  if (name == "array") return std::make_unique<Array>();
  if (name == "mipmap") return std::make_unique<Mipmap>();
  if (name == "managed") return std::make_unique<Managed>();
  if (name == "pinned") return std::make_unique<Pinned>();
  if (name == "registered") return std::make_unique<Registered>();
  if (name == "context") return std::make_unique<ContextEnd>();
  if (name == "module") return std::make_unique<Module>();
  return nullptr;
}

}  // namespace memprof::gpu_check
