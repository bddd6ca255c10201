// Taking CUPTI's subscription, and choosing what it delivers.
#pragma once

#include <cupti_callbacks.h>

#include <cstddef>

#include "cupti_hooks/src/cupti_library.h"

namespace memprof::cupti {

// Tries the ways of subscribing from the most to the least able one. Who holds CUPTI is written to
// `other` where this CUPTI tells.
CUptiResult Subscribe(const CuptiLibrary& cupti, CUpti_SubscriberHandle* subscriber, char* other,
                      std::size_t other_size);

// Enables each callback of the table that this CUPTI knows by the same name. Returns how many, and
// in `unknown` how many it does not know.
unsigned EnableCallbacks(const CuptiLibrary& cupti, CUpti_SubscriberHandle subscriber,
                         bool allocations, unsigned* unknown);

}  // namespace memprof::cupti
