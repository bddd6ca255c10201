// Memory from before recording began (OP_PRESENT), made consistent with the events.
//
// The list of that memory was taken while the program ran on, after the first events. What an event
// says of an address counts more:
//   first event there is     and the list has it           and it does not
//   a free                   freed then, with the free's    is added, if the free tells its size
//                            size where that differs
//   an allocation            is left out: it was made after the beginning
//   none                     was there, and still is
//
// Then they are allocations at the beginning of the log, before all events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/load/internal/columns.h"

namespace memprof::analysis {

// `order` are rows in order of time. Changes it, and adds rows to `events`. `begin`: of the log.
// `attached`: whether the log begins within the program; without that, only the list counts.
// Returns how many allocations were there before: the first ones in `order`.
std::size_t ResolvePresent(bool attached, TimeNs begin, RawEvents* events,
                           std::vector<std::uint32_t>* order);

}  // namespace memprof::analysis
