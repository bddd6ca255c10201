// Modules, their functions and global variables.
#ifndef SIMCUDA_DRIVER_MODULE_H
#define SIMCUDA_DRIVER_MODULE_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simcuda/driver/cuda_headers.h"
#include "simcuda/driver/fatbin.h"
#include "simcuda/driver/ptx.h"
#include "simcuda/driver/torch_kernels.h"
#include "simcuda/simcuda.h"

namespace memprof::simcuda {

class Context;
class Module;

// The readable content of an image, that is of PTX. A cubin or fat binary may contain any name.
struct ImageContents {
  bool readable = false;
  PtxContents ptx;
};
// The size of an image whose format contains it, else 0.
size_t ImageBytes(const void* image);
ImageContents ReadImage(const void* image, size_t bytes);
// Loads a file as an image; never freed, because modules point into it.
CUresult LoadImageFile(const char* path, const std::string** image);

// The layout of a kernel's parameters, as far as known.
struct ParamLayout {
  bool known = false;
  std::vector<size_t> offsets;
  std::vector<size_t> sizes;
  size_t bytes = 0;  // of all
};
// Each parameter aligned to the largest power of two, up to 8, that divides its size.
ParamLayout LayOut(const std::vector<size_t>& sizes);

// A kernel in a module. Thread-safe.
class Function {
 public:
  Function(std::string name, Module* module)
      : name_(std::move(name)), module_(module), torch_kernel_(ReadTorchKernel(name_)) {}
  const std::string& name() const { return name_; }
  Module* module() const { return module_; }
  const TorchKernel& torch_kernel() const { return torch_kernel_; }
  void SetHost(simcuda_host_kernel kernel, ParamLayout layout);
  void SetLayout(ParamLayout layout);
  simcuda_host_kernel host() const;
  ParamLayout layout() const;
  int GetAttribute(CUfunction_attribute attribute) const;
  void SetAttribute(CUfunction_attribute attribute, int value);

 private:
  const std::string name_;
  Module* const module_;
  const TorchKernel torch_kernel_;
  mutable std::mutex mutex_;
  simcuda_host_kernel host_ = nullptr;
  ParamLayout layout_;
  std::map<CUfunction_attribute, int> attributes_;
};

class Module {
 public:
  Module(std::shared_ptr<Context> context, const void* image, size_t image_bytes);

  const std::shared_ptr<Context>& context() const { return context_; }
  uint32_t id() const { return id_; }
  const void* image() const { return image_; }
  size_t image_bytes() const { return image_bytes_; }
  const ImageVersions& versions() const { return versions_; }

  // The function of that name. In an unreadable image, every name is a function.
  std::shared_ptr<Function> FindFunction(const std::string& name);
  // Memory of a global variable; allocated at the first call with `bytes`. 0: none.
  CUdeviceptr FindGlobal(const std::string& name, size_t* bytes);
  CUresult DefineGlobal(const std::string& name, size_t bytes, CUdeviceptr* address);
  std::vector<std::shared_ptr<Function>> functions();
  // What its code takes of the device.
  void LoadCode();
  void UnloadCode();
  void FreeGlobals();

 private:
  struct Global {
    CUdeviceptr address = 0;
    size_t bytes = 0;
  };
  std::shared_ptr<Context> context_;
  const uint32_t id_;
  const void* image_;
  size_t image_bytes_ = 0;
  const ImageContents contents_;
  const ImageVersions versions_;
  uint64_t code_bytes_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Function>> functions_;
  std::map<std::string, Global> globals_;
};

// Loads an image into the context, and reports that to the listener. Null if the device has too
// little memory for the heap of the context's kernels.
std::shared_ptr<Module> LoadModule(const std::shared_ptr<Context>& context, const void* image,
                                   size_t bytes);
bool UnloadModule(const void* handle);
void UnloadModulesOf(Context* context);

// The function behind a handle of a function, or of a library's kernel in the current context.
std::shared_ptr<Function> FindFunction(CUfunction handle);
// The name of a function handle, for reported launches; empty if it is invalid.
std::string FunctionName(const void* handle);

}  // namespace memprof::simcuda

// Only for the stand-in cudart: passes what a real driver reads from the fat binary's undocumented
// format.
extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes);
extern "C" int simcuda_define_global(CUmodule module, const char* name, size_t bytes,
                                     CUdeviceptr* address);

#endif  // SIMCUDA_DRIVER_MODULE_H
