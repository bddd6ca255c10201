// Registration by code that nvcc puts into programs (crt/host_runtime.h).
#include "simcuda/runtime/registry.h"

#include <vector_types.h>

#include <cstring>

#include "simcuda/runtime/state.h"

namespace memprof::simcuda::runtime {
namespace {

// The argument of __cudaRegisterFatBinary (the toolkit's fatbinary_section.h).
struct FatBinaryWrapper {
  int magic;
  int version;
  const void* data;
  void* rest;
};
constexpr int kFatBinaryMagic = 0x466243B1;

struct HostVersion {
  simcuda_host_kernel function = nullptr;
  std::vector<size_t> sizes;
};

struct Registry {
  std::mutex mutex;
  std::map<const void*, Kernel*> kernels;  // by host address and by handle
  std::map<const void*, FatBinary*> variables;
  std::map<const void*, HostVersion> waiting;  // given before the kernel was registered
  std::vector<std::unique_ptr<FatBinary>> binaries;
  std::vector<std::unique_ptr<Kernel>> all_kernels;
};

Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

// The module of the fat binary in a context, loaded at the first use. Under the registry's mutex.
int LoadedModule(FatBinary* binary, CUcontext context, CUmodule* module) {
  const auto found = binary->modules.find(context);
  if (found != binary->modules.end()) {
    *module = found->second;
    return 0;
  }
  const int error = Library().legacy.cuModuleLoadData(module, binary->image);
  if (error == 0) binary->modules.emplace(context, *module);
  return error;
}

// Managed variables get their memory with the first use of their module.
int InitManaged(FatBinary* binary) {
  for (auto& [host, variable] : binary->variables) {
    if (variable.managed == nullptr || *variable.managed != nullptr) continue;
    CUdeviceptr address = 0;
    const int error =
        Library().legacy.cuMemAllocManaged(&address, variable.bytes, CU_MEM_ATTACH_GLOBAL);
    if (error != 0) return error;
    *variable.managed = reinterpret_cast<void*>(address);
  }
  return 0;
}

void GiveHostVersion(const Kernel& kernel, CUfunction function) {
  const auto set = Library().set_host_kernel;
  if (set == nullptr || kernel.host_version == nullptr) return;
  set(function, kernel.host_version, static_cast<int>(kernel.sizes.size()), kernel.sizes.data());
}

// A kernel that the program loaded itself (cudaLibraryGetKernel), or a function of the driver.
int FunctionOfLibrary(const void* kernel, CUfunction* function) {
#if CUDA_VERSION >= 13000
  const auto& cu = Library().legacy;
  auto* handle = const_cast<void*>(kernel);
  if (kernel == nullptr || cu.cuKernelGetFunction == nullptr ||
      cu.cuKernelGetFunction(function, static_cast<CUkernel>(handle)) != CUDA_SUCCESS) {
    return cudaErrorInvalidDeviceFunction;
  }
  return 0;
#else
  static_cast<void>(kernel);
  static_cast<void>(function);
  return cudaErrorInvalidDeviceFunction;
#endif
}

}  // namespace

const void* FindHostAddress(CUfunction function) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (const auto& kernel : registry.all_kernels) {
    for (const auto& [context, known] : kernel->functions) {
      if (known == function) return kernel->host;
    }
  }
  return nullptr;
}

Kernel* FindKernel(const void* kernel) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.kernels.find(kernel);
  return found == registry.kernels.end() ? nullptr : found->second;
}

int FindFunction(const void* kernel, CUfunction* function) {
  Registry& registry = TheRegistry();
  const CUcontext context = CurrentHandle();
  const std::lock_guard lock(registry.mutex);
  const auto entry = registry.kernels.find(kernel);
  if (entry == registry.kernels.end()) return FunctionOfLibrary(kernel, function);
  Kernel& found = *entry->second;
  const auto cached = found.functions.find(context);
  if (cached != found.functions.end()) {
    *function = cached->second;
    return 0;
  }
  CUmodule module = nullptr;
  int error = LoadedModule(found.binary, context, &module);
  if (error == 0) error = InitManaged(found.binary);
  if (error == 0) {
    error = Library().legacy.cuModuleGetFunction(function, module, found.name.c_str());
  }
  if (error != 0) return error;
  GiveHostVersion(found, *function);
  found.functions.emplace(context, *function);
  return 0;
}

int FindVariable(const void* symbol, CUdeviceptr* address, size_t* bytes) {
  Registry& registry = TheRegistry();
  const CUcontext context = CurrentHandle();
  const std::lock_guard lock(registry.mutex);
  const auto entry = registry.variables.find(symbol);
  if (entry == registry.variables.end()) return cudaErrorInvalidSymbol;
  FatBinary* binary = entry->second;
  const Variable& variable = binary->variables.at(symbol);
  CUmodule module = nullptr;
  int error = LoadedModule(binary, context, &module);
  if (error == 0) error = InitManaged(binary);
  if (error != 0) return error;
  *bytes = variable.bytes;
  if (variable.managed != nullptr) {
    *address = reinterpret_cast<CUdeviceptr>(*variable.managed);
    return 0;
  }
  if (Library().define_global != nullptr) {
    error = Library().define_global(module, variable.name.c_str(), variable.bytes, address);
    if (error != 0) return error;
  }
  return Library().legacy.cuModuleGetGlobal_v2(address, nullptr, module, variable.name.c_str());
}

int RegisterHostKernel(const void* kernel, simcuda_host_kernel function, int args,
                       const size_t* sizes) {
  constexpr int kMaxArgs = 4096;
  constexpr size_t kMaxBytes = 32764;  // of all parameters of a kernel
  if (kernel == nullptr || function == nullptr || args < 0 || args > kMaxArgs) return 1;
  if (args > 0 && sizes == nullptr) return 1;
  size_t total = 0;
  for (int i = 0; i < args; ++i) {
    if (sizes[i] > kMaxBytes || (total += sizes[i]) > kMaxBytes) return 1;
  }
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.kernels.find(kernel);
  if (found == registry.kernels.end()) {
    registry.waiting[kernel] = {function, {sizes, sizes + args}};
    return 0;
  }
  found->second->host_version = function;
  found->second->sizes.assign(sizes, sizes + args);
  for (const auto& [context, known] : found->second->functions) {
    GiveHostVersion(*found->second, known);
  }
  return 0;
}

}  // namespace memprof::simcuda::runtime

using memprof::simcuda::runtime::FatBinary;
using memprof::simcuda::runtime::Kernel;
using memprof::simcuda::runtime::Library;
using memprof::simcuda::runtime::TheRegistry;

extern "C" {

void** __cudaRegisterFatBinary(void* fat_cubin) {
  auto& registry = TheRegistry();
  auto binary = std::make_unique<FatBinary>();
  memprof::simcuda::runtime::FatBinaryWrapper wrapper;
  std::memcpy(&wrapper, fat_cubin, sizeof(wrapper));
  binary->image =
      wrapper.magic == memprof::simcuda::runtime::kFatBinaryMagic ? wrapper.data : fat_cubin;
  const std::lock_guard lock(registry.mutex);
  registry.binaries.push_back(std::move(binary));
  return reinterpret_cast<void**>(registry.binaries.back().get());
}

void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void __cudaUnregisterFatBinary(void** handle) {
  auto& registry = TheRegistry();
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  std::map<CUcontext, CUmodule> modules;
  {
    const std::lock_guard lock(registry.mutex);
    if (binary == nullptr || binary->unregistered) return;
    binary->unregistered = true;
    modules.swap(binary->modules);
    for (const Kernel* kernel : binary->kernels) {
      registry.kernels.erase(kernel->host);
      registry.kernels.erase(kernel);
    }
    for (const auto& [host, variable] : binary->variables) registry.variables.erase(host);
  }
  // At the end of the process, contexts may be gone; the driver then returns an error, which is
  // ignored.
  for (const auto& [context, module] : modules) Library().legacy.cuModuleUnload(module);
}

void __cudaRegisterFunction(void** handle, const char* host, char* /*device_fun*/, const char* name,
                            int /*thread_limit*/, uint3* /*tid*/, uint3* /*bid*/, dim3* /*block*/,
                            dim3* /*grid*/, int* /*warp_size*/) {
  auto& registry = TheRegistry();
  auto kernel = std::make_unique<Kernel>();
  kernel->name = name;
  kernel->host = host;
  kernel->binary = reinterpret_cast<FatBinary*>(handle);
  const std::lock_guard lock(registry.mutex);
  const auto waiting = registry.waiting.find(host);
  if (waiting != registry.waiting.end()) {
    kernel->host_version = waiting->second.function;
    kernel->sizes = waiting->second.sizes;
    registry.waiting.erase(waiting);
  }
  kernel->binary->kernels.push_back(kernel.get());
  registry.kernels[host] = kernel.get();
  registry.kernels[kernel.get()] = kernel.get();
  registry.all_kernels.push_back(std::move(kernel));
}

void __cudaRegisterVar(void** handle, char* host, char* /*device_address*/, const char* name,
                       int /*ext*/, size_t size, int /*constant*/, int /*global*/) {
  auto& registry = TheRegistry();
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  const std::lock_guard lock(registry.mutex);
  binary->variables[host] = {name, size, nullptr};
  registry.variables[host] = binary;
}

void __cudaRegisterManagedVar(void** handle, void** host, char* /*device_address*/,
                              const char* name, int /*ext*/, size_t size, int /*constant*/,
                              int /*global*/) {
  auto& registry = TheRegistry();
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  const std::lock_guard lock(registry.mutex);
  *host = nullptr;
  binary->variables[host] = {name, size, host};
  registry.variables[host] = binary;
}

void __cudaRegisterHostVar(void** /*handle*/, const char* /*name*/, char* /*host*/,
                           size_t /*size*/) {}

char __cudaInitModule(void** handle) {
  if (memprof::simcuda::runtime::RequireContext() != 0) return 0;
  const std::lock_guard lock(TheRegistry().mutex);
  return memprof::simcuda::runtime::InitManaged(reinterpret_cast<FatBinary*>(handle)) == 0 ? 1 : 0;
}

int simcuda_register_host_kernel(const void* kernel, simcuda_host_kernel function, int args,
                                 const size_t* sizes) {
  return memprof::simcuda::runtime::RegisterHostKernel(kernel, function, args, sizes);
}

}  // extern "C"
