// Finds a libcupti that fits this process, and its functions. The library is never linked: a second
// copy beside one that a framework loaded breaks both, and no single version fits every program.
//
// Not thread-safe: used under the control lock.
#pragma once

#include <cupti_callbacks.h>

#include <cstddef>
#include <cstdint>

namespace memprof::cupti {

// Like CUpti_SubscriberParams, with the field that CUPTI 13.2 added.
struct SubscriberParams {
  std::size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  std::size_t oldSubscriberSize;
  std::uint8_t allowMultipleSubscribers;
};

struct CuptiLibrary {
  CUptiResult (*subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*);
  CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                              SubscriberParams*);  // null before 13.0
  CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
  CUptiResult (*enable_callback)(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                 CUpti_CallbackId);
  CUptiResult (*get_callback_name)(CUpti_CallbackDomain, std::uint32_t, const char**);
  CUptiResult (*get_version)(std::uint32_t*);
  CUptiResult (*get_result_string)(CUptiResult, const char**);
  CUptiResult (*get_device_id)(CUcontext, std::uint32_t*);
  std::uint32_t version;  // cuptiGetVersion
  char path[512];
};

// Loads libcupti. The file named by MEMPROF_CUPTI_LIBRARY, if that is set; else a copy that is
// already mapped; else one from the loader's search path, from beside the CUDA runtime in use or
// from the usual places of the toolkit: first the version of that runtime, then the newest, none
// newer than the driver. `driver_version` is cuDriverGetVersion's, 0 if unknown. On failure writes
// the reason to `why`.
bool LoadCupti(int driver_version, CuptiLibrary* library, char* why, std::size_t why_size);

}  // namespace memprof::cupti
