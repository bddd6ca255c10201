// cuGetProcAddress: returns the same addresses as dlsym.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/shared_devices.h"
#include "simcuda/driver/tables.h"

namespace memprof::simcuda {
namespace {

// The last row of `symbol` for at most this version; *known is set if any row has the name.
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

// The first bytes of the table without which the toolkit's static runtime does not start.
constexpr unsigned char kStaticRuntimeTable[] = {0x6b, 0xd5, 0xfb, 0x6c};

void ReportStaticRuntime() {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) return;
  std::fprintf(stderr,
               "SIMCUDA: %s carries NVIDIA's static CUDA runtime, which does not run on the "
               "stand-in GPU: link it with nvcc -cudart shared (on a real GPU it runs, and is "
               "recorded, as it is)\n",
               program_invocation_short_name);
  const std::string& group = GlobalConfig(false).shared;
  if (group.starts_with(kLauncherGroup)) LeaveNote(group, "static");
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
  if (std::memcmp(pExportTableId->bytes, kStaticRuntimeTable, sizeof(kStaticRuntimeTable)) == 0) {
    ReportStaticRuntime();
  }
  *ppExportTable = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace api
}  // namespace memprof::simcuda
