// Takes CUPTI's subscription, and enables callbacks.
#pragma once

#include <cupti_callbacks.h>

#include <cstddef>

#include "cupti_hooks/src/cupti_library.h"
#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti {

// Tries the ways to subscribe, the one with most abilities first. Writes the holder of CUPTI to
// `other`, if this CUPTI reports it.
CUptiResult Subscribe(const CuptiLibrary& cupti, CUpti_SubscriberHandle* subscriber, char* other,
                      std::size_t other_size);

// Enables each callback of the scope that this CUPTI has with the same name. Returns their number,
// and in `unknown` the number of those that it does not have.
unsigned EnableCallbacks(const CuptiLibrary& cupti, CUpti_SubscriberHandle subscriber,
                         SourceScope scope, unsigned* unknown);

}  // namespace memprof::cupti
