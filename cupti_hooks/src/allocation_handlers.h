// Handlers of driver calls that hand out or take back memory: a free is reported before the call,
// an allocation after it, a failed allocation and a free that did not happen after it.
//
// Every allocation marks the address map; events are recorded only where Call::allocations says so.
#pragma once

#include <cstdint>

#include "cupti_hooks/src/address_map.h"
#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"
#include "cupti_hooks/src/log_values.h"
#include "cupti_hooks/src/recorder.h"

namespace memprof::cupti {

// Once, before anything listens.
void OpenPools();

// One allocation, whether it succeeded or not (call.result). Address and aux values are only
// looked at when it did.
struct Allocation {
  std::uint32_t layer;
  std::int32_t device;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t aux0 = 0;
  std::uint64_t aux1 = 0;
  std::uint64_t stream = 0;
  bool outlives_context = false;
};
void ReportAllocation(const Call& call, const Allocation& allocation);

// The two halves of a free. `address` 0 is the legal free of nothing and not reported.
void ReportFree(const Call& call, std::uint32_t layer, std::int32_t device, std::uint64_t address,
                std::uint64_t bytes = 0, std::uint64_t stream = 0);

// What a successful call wrote to an out-parameter; 0 if the call failed.
template <typename T>
std::uint64_t Output(const Call& call, const T* out) {
  return call.result == 0 && out != nullptr ? Number(*out) : 0;
}

template <typename Params>
void AllocLinear(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<Params>();
  ReportAllocation(call,
                   {kLayerLinear, kCurrentDevice, Output(call, params.dptr), params.bytesize});
}

template <typename Params>
void AllocPitched(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<Params>();
  // A failed call has no pitch: what was asked for is at least width * height.
  const std::uint64_t pitch =
      call.result == 0 && params.pPitch != nullptr ? *params.pPitch : params.WidthInBytes;
  ReportAllocation(call, {kLayerPitched, kCurrentDevice, Output(call, params.dptr),
                          pitch * params.Height, pitch, params.WidthInBytes});
}

template <typename Params>
void FreeDevice(const Call& call) {
  ReportFree(call, kLayerLinear, kCurrentDevice, call.As<Params>().dptr);
}

template <typename Params>
void AllocPinned(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<Params>();
  ReportAllocation(call, {kLayerPinned, kNoDevice, Output(call, params.pp), params.bytesize});
}

template <typename Params>
void RegisterHost(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<Params>();
  ReportAllocation(call, {kLayerRegistered, kNoDevice, Number(params.p), params.bytesize});
}

void AllocManaged(const Call& call);
void FreePinned(const Call& call);
void UnregisterHost(const Call& call);

void AllocAsync(const Call& call);
void AllocFromPool(const Call& call);
void FreeAsync(const Call& call);
void PoolCreate(const Call& call);
void PoolDestroy(const Call& call);
void PoolTrim(const Call& call);

// Bytes of an array as its descriptor asks for them, whichever of the four descriptors it is.
std::uint64_t BytesOf(const CUDA_ARRAY_DESCRIPTOR* array);
std::uint64_t BytesOf(const CUDA_ARRAY3D_DESCRIPTOR* array);
std::uint64_t BytesOf(const CUDA_ARRAY_DESCRIPTOR_v1* array);
std::uint64_t BytesOf(const CUDA_ARRAY3D_DESCRIPTOR_v1* array);

template <typename Params>
void CreateArray(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<Params>();
  ReportAllocation(call, {kLayerArray, kCurrentDevice, Output(call, params.pHandle),
                          BytesOf(params.pAllocateArray)});
}

void CreateMipmappedArray(const Call& call);
void DestroyArray(const Call& call);
void DestroyMipmappedArray(const Call& call);

// Size of the memory that begins there, as the driver knows it; 0 where it does not say.
std::uint64_t BytesAt(std::uint64_t address);
void ReportIpcOpen(const Call& call, std::uint64_t address);
template <typename Params>
void IpcOpen(const Call& call) {
  if (call.exit) ReportIpcOpen(call, Output(call, call.As<Params>().pdptr));
}
void IpcClose(const Call& call);

void PrimaryReset(const Call& call);

}  // namespace memprof::cupti
