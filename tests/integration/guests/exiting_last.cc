// The guest's program depends on this library, so a preloaded library is finalised before it.
#include <ctime>

#include "exiting.h"

namespace exiting {

Counts* g_counts = nullptr;
void (*g_allocate)(int) = nullptr;

void AwaitDaemons() {
  for (int t = 0; t < kDaemons; ++t) {
    const std::uint64_t now = g_counts->done[t];
    while (g_counts->done[t] < now + 10) {
      timespec moment{0, 100'000};
      nanosleep(&moment, nullptr);
    }
  }
}

namespace {

__attribute__((destructor)) void Last() {
  if (g_allocate == nullptr) return;
  AwaitDaemons();
  g_allocate(kLast);
}

}  // namespace
}  // namespace exiting
