// The exported driver functions. Each is generated from the table: it looks up the real function
// and passes it to Intercept, with the event that the table names.
//
// The functions have C++ names and get their exported names by asm labels, because cuda.h declares
// some of the same names with other parameter types in other versions of the toolkit.
#include "libmemprof/src/events/families.h"
#include "libmemprof/src/hooks/intercept.h"

namespace memprof::recorder {
namespace {

// The real function, typed as the wrapper.
#define MEMPROF_UNPACK(...) __VA_ARGS__
#define MEMPROF_WRAPPER(name, base, since, streams, parameters, arguments, handler)                \
  extern "C" __attribute__((visibility("default"))) CUresult Wrapped_##name parameters asm(#name); \
  CUresult Wrapped_##name parameters {                                                             \
    using Real = CUresult(*) parameters;                                                           \
    const Real real = reinterpret_cast<Real>(RealFunction(FunctionId::k_##name));                  \
    if (real == nullptr) return WithoutDriver();                                                   \
    return Intercept<handler>(FunctionId::k_##name, real, MEMPROF_UNPACK arguments);               \
  }
MEMPROF_DRIVER_FUNCTIONS(MEMPROF_WRAPPER)
#undef MEMPROF_WRAPPER

void* const kWrappers[kFunctionCount] = {
#define MEMPROF_WRAPPER_ADDRESS(name, ...) reinterpret_cast<void*>(&Wrapped_##name),
    MEMPROF_DRIVER_FUNCTIONS(MEMPROF_WRAPPER_ADDRESS)
#undef MEMPROF_WRAPPER_ADDRESS
};

// Runs before any other initialiser of the process can look up a driver function.
__attribute__((constructor(101))) void InstallWrappers() { SetWrappers(kWrappers); }

}  // namespace
}  // namespace memprof::recorder
