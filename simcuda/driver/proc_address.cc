// cuGetProcAddress: the same addresses as dlsym gives.
#include <cstring>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/tables.h"

namespace memprof::simcuda {
namespace {

// The last row of `symbol` that `version` is enough for; *known tells whether any row has the name.
const ProcRow* FindProc(const char* symbol, int version, bool* known) {
  const ProcRow* best = nullptr;
  *known = false;
  for (int i = 0; i < kProcCount; ++i) {
    if (std::strcmp(kProcs[i].base, symbol) != 0) continue;
    *known = true;
    if (kProcs[i].version <= version) best = &kProcs[i];
  }
  return best;
}

}  // namespace

namespace api {

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  if (symbol == nullptr || pfn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~cuuint64_t{3}) != 0 || cudaVersion > GlobalConfig(false).driver_version) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool known = false;
  const ProcRow* row = FindProc(symbol, cudaVersion, &known);
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  if (row == nullptr) {
    *pfn = nullptr;
    status =
        known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  } else {
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    const int index =
        per_thread && row->exported_per_thread >= 0 ? row->exported_per_thread : row->exported;
    *pfn = reinterpret_cast<void*>(kExports[index].address);
  }
  if (symbolStatus != nullptr) *symbolStatus = status;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  const CUresult result = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr);
  if (result == CUDA_SUCCESS && *pfn == nullptr) return CUDA_ERROR_NOT_FOUND;
  return result;
}

CUresult cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  // Export tables are undocumented; the stand-in has none.
  if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ppExportTable = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace api
}  // namespace memprof::simcuda
