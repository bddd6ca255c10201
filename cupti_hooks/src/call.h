// One driver call, as a handler gets it.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti {

// Why a callback is enabled.
enum class Group : std::uint8_t {
  kMemory,     // passed to the recorder, and enabled, only if this source records memory
  kContext,    // as kMemory; CUPTI's own context events within the call are ignored
  kAddress,    // as kMemory, and returns addresses for the address map: always enabled
  kUse,        // launches, copies, memsets, synchronisations: always enabled
  kKernel,     // handles of kernels, for the layout of their arguments: always enabled
  kHeartbeat,  // shows that callbacks still arrive: always enabled
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
