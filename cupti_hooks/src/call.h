// One driver call as a handler sees it.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti {

// Why a callback is enabled.
enum class Group : std::uint8_t {
  kMemory,     // told to the recorder if this source is the one for memory: only enabled then
  kContext,    // as kMemory; what CUPTI says of contexts within the call is left out
  kAddress,    // as kMemory, and hands out addresses for the address map: always
  kUse,        // launches, copies, memsets, synchronisations: always
  kKernel,     // handles of kernels, for the layout of their arguments: always
  kHeartbeat,  // proves that callbacks still arrive: always
};

struct Call;
using Handler = void (*)(const Call&);

// A row of the callback table.
struct CallbackEntry {
  const char* name;
  std::uint32_t cbid;
  Group group;
  Handler handler;  // or null
};

struct Call {
  const CallbackEntry* entry;
  bool exit;  // false: the call is about to happen
  const void* params;
  std::uint32_t result;   // CUresult; meaningful when exit
  const char* symbol;     // kernel name of a launch, or null
  std::uint64_t context;  // CUcontext current to the thread

  template <typename Params>
  const Params& As() const {
    return *static_cast<const Params*>(params);
  }
};

}  // namespace memprof::cupti
