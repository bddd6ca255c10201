// What handlers need of the recorder and of the driver: recording an event, ids of strings, and the
// driver's own functions, called so that nothing is recorded.
//
// Thread-safety: everything may be called from any thread; SetRecorder and LookUpDriver only under
// the control lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cupti_hooks/src/call.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti {

using namespace vocabulary;

// The device of the current context; the recorder finds it.
inline constexpr std::int32_t kCurrentDevice = -2;

// Functions of the driver that handlers call. Null where the driver does not have them.
struct DriverFunctions {
  int (*get_version)(int* version);
  int (*stream_is_capturing)(void* stream, int* status);
  int (*address_range)(unsigned long long* base, std::size_t* bytes, unsigned long long address);
  int (*function_parameter)(void* function, std::size_t index, std::size_t* offset,
                            std::size_t* bytes);
  int (*kernel_parameter)(void* kernel, std::size_t index, std::size_t* offset, std::size_t* bytes);
};

void SetRecorder(const RecorderApi* recorder);
const RecorderApi* Recorder();
// Asks the recorder for the driver's functions again. Ids of strings are forgotten too: they
// belong to one log.
void LookUpDriver();
// All null while calls of CUDA are not safe (the process is exiting, or forked).
const DriverFunctions& Driver();
// From now on Driver() has nothing to offer.
void ForbidDriverCalls();

// Hands the call to the recorder, which knows what it means. `kept`: 64 bits of this call.
void TellRecorder(const Call& call, std::uint64_t* kept);

// An event of this call with its API name, context and result filled in.
SourceEvent NewEvent(const Call& call, std::uint32_t op, std::uint32_t layer);
void Record(const SourceEvent& event);
// Id of a text, or 0 for none.
std::uint32_t Intern(const char* text);

// The integer value of a handle or pointer.
template <typename T>
std::uint64_t Number(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

}  // namespace memprof::cupti
