// Libraries and their kernels.
#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/library.h"

#if CUDA_VERSION >= 12000

namespace memprof::simcuda {
namespace {

std::shared_ptr<Library> FindLibrary(CUlibrary handle) {
  return AllHandles<Library>().Find(handle);
}

// The module that the library is in the current context.
CUresult CurrentModule(CUlibrary handle, std::shared_ptr<Module>* module) {
  const auto library = FindLibrary(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  *module = library->ModuleIn(context);
  return CUDA_SUCCESS;
}

CUresult KernelFunction(CUkernel handle, std::shared_ptr<Function>* function) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  *function = FindFunction(reinterpret_cast<CUfunction>(handle));
  return *function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult Publish(CUlibrary* library, const void* image, size_t bytes) {
  auto made = std::make_shared<Library>(image, bytes);
  *library = reinterpret_cast<CUlibrary>(made.get());
  AllHandles<Library>().Add(std::move(made));
  return CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* /*jitOptions*/,
                           void** /*jitOptionsValues*/, unsigned int /*numJitOptions*/,
                           CUlibraryOption* /*libraryOptions*/, void** /*libraryOptionValues*/,
                           unsigned int /*numLibraryOptions*/) {
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Publish(library, code, 0);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName,
                               CUjit_option* /*jitOptions*/, void** /*jitOptionsValues*/,
                               unsigned int /*numJitOptions*/, CUlibraryOption* /*libraryOptions*/,
                               void** /*libraryOptionValues*/, unsigned int /*numLibraryOptions*/) {
  if (library == nullptr || fileName == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::string* image = nullptr;
  const CUresult result = LoadImageFile(fileName, &image);
  return result != CUDA_SUCCESS ? result : Publish(library, image->c_str(), image->size());
}

CUresult cuLibraryUnload(CUlibrary library) {
  const auto found = AllHandles<Library>().Remove(library);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  found->Unload();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  const auto found = FindLibrary(library);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto kernel = found->FindKernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *pKernel = reinterpret_cast<CUkernel>(kernel.get());
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  const auto found = FindLibrary(lib);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(found->kernels().size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  const auto found = FindLibrary(lib);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned index = 0;
  for (const auto& kernel : found->kernels()) {
    if (index < numKernels) kernels[index++] = reinterpret_cast<CUkernel>(kernel.get());
  }
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  const CUresult result = CurrentModule(library, &module);
  if (result == CUDA_SUCCESS) *pMod = reinterpret_cast<CUmodule>(module.get());
  return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  const CUresult result = CurrentModule(library, &module);
  if (result != CUDA_SUCCESS) return result;
  size_t size = 0;
  const CUdeviceptr address = module->FindGlobal(name, &size);
  if (address == 0) return CUDA_ERROR_NOT_FOUND;
  if (dptr != nullptr) *dptr = address;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> function;
  const CUresult result = KernelFunction(kernel, &function);
  if (result == CUDA_SUCCESS) *pFunc = reinterpret_cast<CUfunction>(function.get());
  return result;
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel,
                              CUdevice /*dev*/) {
  std::shared_ptr<Function> function;
  const CUresult result = KernelFunction(kernel, &function);
  if (result != CUDA_SUCCESS) return result;
  return api::cuFuncGetAttribute(pi, attrib, reinterpret_cast<CUfunction>(function.get()));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                              CUdevice /*dev*/) {
  std::shared_ptr<Function> function;
  const CUresult result = KernelFunction(kernel, &function);
  if (result != CUDA_SUCCESS) return result;
  return api::cuFuncSetAttribute(reinterpret_cast<CUfunction>(function.get()), attrib, val);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache /*config*/, CUdevice /*dev*/) {
  return AllHandles<LibraryKernel>().Find(kernel) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                             : CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
CUresult cuKernelGetName(const char** name, CUkernel hfunc) {
  const auto kernel = AllHandles<LibraryKernel>().Find(hfunc);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12050
CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  const auto found = AllHandles<LibraryKernel>().Find(kernel);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = reinterpret_cast<CUlibrary>(found->library.lock().get());
  return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12040
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset,
                              size_t* paramSize) {
  const auto found = AllHandles<LibraryKernel>().Find(kernel);
  const auto library = found == nullptr ? nullptr : found->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (paramOffset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ParamLayout* layout = library->FindLayout(found->name);
  if (layout == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  if (paramIndex >= layout->sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *paramOffset = layout->offsets[paramIndex];
  if (paramSize != nullptr) *paramSize = layout->sizes[paramIndex];
  return CUDA_SUCCESS;
}
#endif

}  // namespace api
}  // namespace memprof::simcuda

#endif  // CUDA_VERSION >= 12000
