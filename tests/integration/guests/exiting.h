// What guest_exiting and the library that is taken down last share.
#pragma once

#include <atomic>
#include <cstdint>

namespace exiting {

inline constexpr int kDaemons = 4;

// Who allocates, with `1000 + number` bytes each time.
enum Caller {
  kTlsOfThread = kDaemons,
  kTlsOfMain,
  kStatic,
  kAtExit,
  kLast,  // after all libraries above have been taken down
  kCallers
};

// In a file that outlives the process: allocations that have returned.
struct Counts {
  std::atomic<std::uint64_t> done[kCallers];
};

// Set by the program.
extern Counts* g_counts;
extern void (*g_allocate)(int caller);

// Returns once every daemon has gone on for a while; none of them ever stops.
void AwaitDaemons();

}  // namespace exiting
