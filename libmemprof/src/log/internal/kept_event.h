// An event on its way to the log, away from the ring.
#pragma once

#include <cstdint>

#include "proto/ring.h"

namespace memprof::recorder {

struct KeptEvent {
  ring::RingEvent event;
  std::uint32_t thread;
  std::uint32_t weight;  // log.Events.weight
};

}  // namespace memprof::recorder
