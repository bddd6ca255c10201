// Handlers that put the memory which a call returned into the address map, whichever source records
// the call.
#pragma once

#include <cstdint>

#include "cupti_hooks/src/address_map.h"
#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"
#include "cupti_hooks/src/recorder.h"

namespace memprof::cupti {

inline bool Succeeded(const Call& call) { return call.exit && call.result == 0; }

// `out`: where a successful call has written the address.
template <typename T>
void Mark(MemorySide side, const T* out, std::uint64_t bytes) {
  if (out != nullptr) MarkAddresses(side, Number(*out), bytes);
}

template <typename Params>
void MarkDevice(const Call& call) {
  const auto& params = call.As<Params>();
  if (Succeeded(call)) Mark(MemorySide::kDevice, params.dptr, params.bytesize);
}

template <typename Params>
void MarkHost(const Call& call) {
  const auto& params = call.As<Params>();
  if (Succeeded(call)) Mark(MemorySide::kHost, params.pp, params.bytesize);
}

void MarkPitched(const Call& call);
void MarkRegistered(const Call& call);
void MarkFromPool(const Call& call);
void MarkMapped(const Call& call);
void MarkIpc(const Call& call);
void MarkPoolPointer(const Call& call);
void MarkExternal(const Call& call);
void MarkGraphics(const Call& call);
void MarkAllocNode(const Call& call);
void MarkNodeParams(const void* params);
template <typename Params>
void MarkNode(const Call& call) {
  if (Succeeded(call)) MarkNodeParams(call.As<Params>().node_params);
}

}  // namespace memprof::cupti
