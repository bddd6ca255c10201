// One driver call as a handler sees it.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti {

// Why a callback is enabled.
enum class Group : std::uint8_t {
  kAllocation,  // events if this source is the one for allocations; the address map always
  kLedger,      // as kAllocation, but nothing for the address map: not enabled otherwise
  kUse,         // launches, copies, memsets, synchronisations: always
  kKernel,      // handles of kernels, for the layout of their arguments: always
  kHeartbeat,   // proves that callbacks still arrive: always
};

struct Call;
using Handler = void (*)(const Call&);

// A row of the callback table.
struct CallbackEntry {
  const char* name;
  std::uint32_t cbid;
  Group group;
  Handler handler;
};

struct Call {
  const CallbackEntry* entry;
  bool exit;  // false: the call is about to happen
  const void* params;
  std::uint32_t result;   // CUresult; meaningful when exit
  const char* symbol;     // kernel name of a launch, or null
  std::uint64_t context;  // CUcontext current to the thread
  std::uint64_t* shared;  // 64 bits kept from entry to exit, or null
  bool allocations;       // events of memory are this source's task, and nobody else's

  template <typename Params>
  const Params& As() const {
    return *static_cast<const Params*>(params);
  }
};

}  // namespace memprof::cupti
