// The hooks: what the wrapper of a driver function does before and after the real call. The meaning
// of the call is in events/, one type for each function, which the table (driver/table.h) names.
#pragma once

#include <concepts>
#include <type_traits>

#include "libmemprof/src/events/call.h"
#include "libmemprof/src/lifecycle/start.h"

namespace memprof::recorder {

template <typename Handler>
concept IsEvent =
    std::derived_from<Handler, MemoryEvent> || std::derived_from<Handler, ContextEvent>;

// Records only the outermost intercepted call of a thread. Memory is left to CUPTI where CUPTI is
// its only source.
template <IsEvent Event, typename... Arguments>
__attribute__((always_inline)) inline CUresult Intercept(
    FunctionId id, CUresult (*real)(Arguments...), std::type_identity_t<Arguments>... arguments) {
  Call call(id);
  const bool records = call.outermost() && WantEvents(StartCause::kHook) &&
                       (!Event::kIsMemory || TheRecorder()->settings().driver);
  Event event;
  if constexpr (requires { event.Before(&call, arguments...); })
    if (records) event.Before(&call, arguments...);
  const CUresult result = real(arguments...);
  if constexpr (requires { event.After(&call, result, arguments...); })
    if (records) event.After(&call, result, arguments...);
  return result;
}

// For functions that leave no event.
template <typename Handler, typename... Arguments>
requires(!IsEvent<Handler>) CUresult Intercept(FunctionId, CUresult (*real)(Arguments...),
                                               std::type_identity_t<Arguments>... arguments) {
  return Handler::Around(real, arguments...);
}

struct Init {
  static CUresult Around(CUresult (*real)(unsigned), unsigned flags) {
    EntryGuard guard;
    const CUresult result = real(flags);
    // A program that only counts the GPUs leaves no log.
    if (result == CUDA_SUCCESS && guard.outermost()) WantEvents(StartCause::kInit);
    return result;
  }
};

// Calls the real function, and replaces the pointer that it returned by our wrapper, if there is
// one.
struct GetProcAddress {
  template <typename... Others>
  static CUresult Around(CUresult (*real)(const char*, void**, Others...), const char* symbol,
                         void** function, Others... others) {
    const CUresult result = real(symbol, function, others...);
    if (result == CUDA_SUCCESS && function != nullptr) *function = SwapByAddress(symbol, *function);
    return result;
  }
};

}  // namespace memprof::recorder
