// CUPTI's state domain, which the oldest supported toolkit (11.8) does not declare: values and
// layout as in cupti_callbacks.h.
#pragma once

#include <cupti_callbacks.h>

namespace memprof::cupti {

inline constexpr auto kDomainState = static_cast<CUpti_CallbackDomain>(6);
inline constexpr CUpti_CallbackId kStateFatalError = 1;

struct StateNotification {
  CUptiResult result;
  const char* message;  // may be null
};

}  // namespace memprof::cupti
