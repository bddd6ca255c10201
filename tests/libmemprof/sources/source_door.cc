// The other way to see calls: with MEMPROF_TEST_SOURCE in the environment, these functions replace
// the exported wrappers and report each call to the recorder as a source does.
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/sources/source_host.h"

namespace memprof::recorder {
namespace {

// The parameters in the form that CUPTI uses: members of a structure, in order.
template <typename... Arguments>
CUresult ReportCall(const char* name, CUresult (*real)(Arguments...),
                    std::type_identity_t<Arguments>... arguments) {
  alignas(8) unsigned char parameters[256];
  std::size_t end = 0;
  const auto append = [&](const auto& argument) {
    using Argument = std::remove_cvref_t<decltype(argument)>;
    end = (end + alignof(Argument) - 1) / alignof(Argument) * alignof(Argument);
    std::memcpy(parameters + end, &argument, sizeof argument);
    end += sizeof argument;
  };
  (append(arguments), ...);
  std::uint64_t kept = 0xdddddddddddddddd;  // CUPTI does not define the initial value
  SourceCall call{SourceTable().function_id(name), 0, 0, parameters, &kept};
  if (call.function < 0) return real(arguments...);
  SourceTable().driver_call(&call);
  const CUresult result = real(arguments...);
  call.is_exit = 1;
  call.result = static_cast<std::uint32_t>(result);
  SourceTable().driver_call(&call);
  return result;
}

#define MEMPROF_UNPACK(...) __VA_ARGS__
#define MEMPROF_TEST_WRAPPER(name, base, since, streams, parameters, arguments, handler) \
  CUresult Reporting_##name parameters {                                                 \
    using Real = CUresult(*) parameters;                                                 \
    const Real real = reinterpret_cast<Real>(RealFunction(FunctionId::k_##name));        \
    if (real == nullptr) return WithoutDriver();                                         \
    return ReportCall(#name, real, MEMPROF_UNPACK arguments);                            \
  }
MEMPROF_DRIVER_FUNCTIONS(MEMPROF_TEST_WRAPPER)
#undef MEMPROF_TEST_WRAPPER

void* const kReportingWrappers[kFunctionCount] = {
#define MEMPROF_WRAPPER_ADDRESS(name, ...) reinterpret_cast<void*>(&Reporting_##name),
    MEMPROF_DRIVER_FUNCTIONS(MEMPROF_WRAPPER_ADDRESS)
#undef MEMPROF_WRAPPER_ADDRESS
};

// Runs after exports/driver.cc has installed its wrappers.
__attribute__((constructor(102))) void InstallReportingWrappers() {
  if (std::getenv("MEMPROF_TEST_SOURCE") != nullptr) SetWrappers(kReportingWrappers);
}

}  // namespace
}  // namespace memprof::recorder
