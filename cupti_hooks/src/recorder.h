// What handlers use of the recorder and of the driver: recording events, interning strings, and the
// driver's own functions, called so that nothing is recorded.
//
// Thread-safety: every function may be called by any thread; SetRecorder and LookUpDriver only
// under the control lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cupti_hooks/src/call.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti {

using namespace vocabulary;

// Stands for the device of the current context, which the recorder then finds.
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
// Looks up the driver's functions again, and drops the ids of strings, which belong to one log.
void LookUpDriver();
// All null while calls of CUDA are not safe: the process exits, or was forked.
const DriverFunctions& Driver();
// From now on Driver() returns null functions.
void ForbidDriverCalls();

// Passes the call to the recorder, which interprets it. `kept`: 64 bits that stay the same from the
// entry of the call to its exit.
void ForwardToRecorder(const Call& call, std::uint64_t* kept);

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
