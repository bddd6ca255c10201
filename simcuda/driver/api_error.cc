// Names and texts of results.
#include "driver_api.h"
#include "simcuda/driver/tables.h"

namespace memprof::simcuda {
namespace {

const ErrorRow* FindError(CUresult error) {
  for (int i = 0; i < kErrorCount; ++i) {
    if (kErrors[i].result == error) return &kErrors[i];
  }
  return nullptr;
}

}  // namespace

namespace api {

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = FindError(error);
  *pStr = row == nullptr ? nullptr : row->name;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = FindError(error);
  *pStr = row == nullptr ? nullptr : row->text;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
