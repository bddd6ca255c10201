// Modules and functions.
#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/kernel_code.h"
#include "simcuda/driver/module.h"

namespace memprof::simcuda {
namespace {

CUresult Load(CUmodule* module, const void* image, size_t bytes) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto loaded = LoadModule(context, image, bytes);
  *module = reinterpret_cast<CUmodule>(loaded.get());
  return loaded == nullptr ? CUDA_ERROR_SHARED_OBJECT_INIT_FAILED : CUDA_SUCCESS;
}

std::shared_ptr<Module> FindModule(CUmodule handle) { return AllHandles<Module>().Find(handle); }

}  // namespace

namespace api {

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return Load(module, image, 0); }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int /*numOptions*/,
                            CUjit_option* /*options*/, void** /*optionValues*/) {
  return Load(module, image, 0);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return Load(module, fatCubin, 0);
}

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  if (module == nullptr || fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::string* image = nullptr;
  const CUresult result = LoadImageFile(fname, &image);
  if (result != CUDA_SUCCESS) return result;
  return Load(module, image->c_str(), image->size());
}

CUresult cuModuleUnload(CUmodule hmod) {
  return UnloadModule(hmod) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  const auto module = FindModule(hmod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto function = module->FindFunction(name);
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  *hfunc = reinterpret_cast<CUfunction>(function.get());
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  const auto module = FindModule(hmod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  size_t size = 0;
  const CUdeviceptr address = module->FindGlobal(name, &size);
  if (address == 0) return CUDA_ERROR_NOT_FOUND;
  if (dptr != nullptr) *dptr = address;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = LoadsCodeEagerly() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12040
CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  const auto module = FindModule(mod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->functions().size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions,
                                    CUmodule mod) {
  const auto module = FindModule(mod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned index = 0;
  for (const auto& function : module->functions()) {
    if (index < numFunctions) functions[index++] = reinterpret_cast<CUfunction>(function.get());
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset,
                            size_t* paramSize) {
  const auto function = AllHandles<Function>().Find(func);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (paramOffset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ParamLayout layout = function->layout();
  if (!layout.known) return CUDA_ERROR_NOT_SUPPORTED;
  if (paramIndex >= layout.sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *paramOffset = layout.offsets[paramIndex];
  if (paramSize != nullptr) *paramSize = layout.sizes[paramIndex];
  return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12030
CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  const auto function = AllHandles<Function>().Find(hfunc);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->name().c_str();
  return CUDA_SUCCESS;
}
#endif

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  const auto function = AllHandles<Function>().Find(hfunc);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = reinterpret_cast<CUmodule>(function->module());
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  const auto function = AllHandles<Function>().Find(hfunc);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pi == nullptr || attrib < 0 || attrib >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pi = function->GetAttribute(attrib);
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  const auto function = AllHandles<Function>().Find(hfunc);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attrib < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || attrib >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // As much as a block can have at all.
  if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
      (value < 0 || value > LimitsOf(*GlobalConfig(false).gpu).shared_per_block_bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->SetAttribute(attrib, value);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12040
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (AllHandles<Function>().Find(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  return AllHandles<Function>().Find(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                          : CUDA_SUCCESS;
}
#endif

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache /*config*/) {
  return AllHandles<Function>().Find(hfunc) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig /*config*/) {
  return AllHandles<Function>().Find(hfunc) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
