// Shared by guest_exiting and by the library that is finalised last.
#pragma once

#include <atomic>
#include <cstdint>

namespace exiting {

inline constexpr int kDaemons = 4;

// The callers that allocate, with `1000 + number` bytes each time.
enum Caller {
  kTlsOfThread = kDaemons,
  kTlsOfMain,
  kStatic,
  kAtExit,
  kLast,  // after all libraries above have been finalised
  kCallers
};

// In a file that outlives the process: number of allocations that have returned.
struct Counts {
  std::atomic<std::uint64_t> done[kCallers];
};

// Set by the program.
extern Counts* g_counts;
extern void (*g_allocate)(int caller);

// Returns after every daemon thread has continued for a while; none of them ever stops.
void AwaitDaemons();

}  // namespace exiting
