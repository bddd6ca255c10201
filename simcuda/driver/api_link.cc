// The linker of the just-in-time compiler. PTX stays PTX: the result is the concatenation of all
// inputs, which modules of the stand-in can read.
#include <string>

#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/module.h"

namespace memprof::simcuda {
namespace {

struct Linker {
  std::string ptx;
  std::string binary;  // the first image that is not PTX; it may contain any name
};

CUresult Add(CUlinkState state, CUjitInputType type, const void* data, size_t bytes) {
  const auto linker = AllHandles<Linker>().Find(state);
  if (linker == nullptr || data == nullptr || bytes == 0 || type < 0 ||
      type >= CU_JIT_NUM_INPUT_TYPES) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::string one(static_cast<const char*>(data), bytes);
  if (type == CU_JIT_INPUT_PTX) {
    if (!ReadImage(one.data(), one.size()).readable) return CUDA_ERROR_INVALID_PTX;
    linker->ptx += one.c_str();  // up to its end, which the size may count in
    linker->ptx += '\n';
  } else if (linker->binary.empty()) {
    linker->binary = one;
  }
  return CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuLinkCreate_v2(unsigned int /*numOptions*/, CUjit_option* /*options*/,
                         void** /*optionValues*/, CUlinkState* stateOut) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto linker = std::make_shared<Linker>();
  *stateOut = reinterpret_cast<CUlinkState>(linker.get());
  AllHandles<Linker>().Add(std::move(linker));
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size,
                          const char* /*name*/, unsigned int /*numOptions*/,
                          CUjit_option* /*options*/, void** /*optionValues*/) {
  return Add(state, type, data, size);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                          unsigned int /*numOptions*/, CUjit_option* /*options*/,
                          void** /*optionValues*/) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::string* image = nullptr;
  const CUresult result = LoadImageFile(path, &image);
  return result != CUDA_SUCCESS ? result : Add(state, type, image->data(), image->size());
}

CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  const auto linker = AllHandles<Linker>().Find(state);
  if (linker == nullptr || cubinOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string& image = linker->binary.empty() ? linker->ptx : linker->binary;
  if (image.empty()) return CUDA_ERROR_INVALID_IMAGE;
  *cubinOut = image.data();  // owned by the linker, until it is destroyed
  if (sizeOut != nullptr) *sizeOut = linker->binary.empty() ? image.size() + 1 : image.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  return AllHandles<Linker>().Remove(state) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
