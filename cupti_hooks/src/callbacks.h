// The callback table at run time, and the function that CUPTI calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"

namespace memprof::cupti {

// At least as many as the table has rows; checked where the table is.
inline constexpr std::size_t kMaxCallbacks = 256;

struct CallbackTable {
  const CallbackEntry* begin_;
  const CallbackEntry* end_;
  const CallbackEntry* begin() const { return begin_; }
  const CallbackEntry* end() const { return end_; }
};
CallbackTable Callbacks();
std::size_t CallbackIndex(const CallbackEntry* entry);
// The row of a driver callback id, or null.
const CallbackEntry* FindCallback(std::uint32_t cbid);

// What callbacks do; written by the control side, read by every callback.
enum class Listening : int {
  kNothing,  // not started, stopped, or lost
  kUses,     // allocations are somebody else's task
  kEverything,
};
void SetListening(Listening listening);
Listening CurrentListening();

// True while this thread is inside OnCallback, or in a call of ours into CUPTI or CUDA: what
// happens then is not the program's doing.
bool InsideSource();
class InsideSourceScope {
 public:
  InsideSourceScope();
  ~InsideSourceScope();
  InsideSourceScope(const InsideSourceScope&) = delete;
  InsideSourceScope& operator=(const InsideSourceScope&) = delete;
};

// Whether this thread is inside a call by which the recorder learns of contexts.
bool RecorderKnowsOfContext();

// Resource events.
void OnResource(std::uint32_t cbid, const void* data);

// How often the heartbeat function was seen to be called, on this thread.
unsigned HeartbeatsSeen();
// The next heartbeats of this thread are let through although it is inside the source.
void AwaitHeartbeat(bool awaited);

// Given to CUPTI. Runs on the program's threads, concurrently.
void OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

}  // namespace memprof::cupti
