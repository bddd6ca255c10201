// Functions of the driver by their names: built once for each version, like rt_versioned.cc.
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Library;

// Before CUDA 12 the status was not among the parameters.
namespace {

int EntryPoint(const char* symbol, void** function, unsigned version, unsigned long long flags,
               bool per_thread, cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
  if (flags == cudaEnableDefault && per_thread) flags = cudaEnablePerThreadDefaultStream;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (Library().get_proc_address == nullptr) return cudaErrorNotSupported;
  const CUresult result =
      Library().get_proc_address(symbol, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return result;
}

unsigned DriverVersion() {
  int version = 0;
  Library().legacy.cuDriverGetVersion(&version);
  return static_cast<unsigned>(version);
}

}  // namespace

// These functions use no device: a rank that calls them before it has chosen its device must not
// get a context on the first one.
#define SIMCUDA_ENTRY_POINT(name, per_thread, parameters, version)                              \
  extern "C" cudaError_t name parameters;                                                       \
  extern "C" cudaError_t name parameters {                                                      \
    const int error = ::memprof::simcuda::runtime::RequireDriver();                             \
    return ::memprof::simcuda::runtime::Record(                                                 \
        error != 0 ? error : EntryPoint(symbol, function, version, flags, per_thread, status)); \
  }
#define SIMCUDA_BY_VERSION                                                          \
  (const char* symbol, void** function, unsigned version, unsigned long long flags, \
   cudaDriverEntryPointQueryResult* status)
#define SIMCUDA_BY_NAME                                           \
  (const char* symbol, void** function, unsigned long long flags, \
   cudaDriverEntryPointQueryResult* status)
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPointByVersion, false, SIMCUDA_BY_VERSION, version)
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPointByVersion_ptsz, true, SIMCUDA_BY_VERSION, version)
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPoint, false, SIMCUDA_BY_NAME, DriverVersion())
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPoint_ptsz, true, SIMCUDA_BY_NAME, DriverVersion())
