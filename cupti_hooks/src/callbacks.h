// The callback table at run time, and the function that CUPTI calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"

namespace memprof::cupti {

// At least the number of rows of the table; callbacks.cc checks it.
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

// What callbacks record. Written when the source starts or stops, read by every callback.
enum class Listening : int {
  kNothing,  // not started, stopped, or lost
  kUses,     // another source records allocations
  kEverything,
  kAllocations,  // and contexts
};
void SetListening(Listening listening);
Listening CurrentListening();

// True while this thread is inside OnCallback, or inside a call of the recorder into CUPTI or CUDA:
// what happens there is not done by the program.
bool InsideSource();
class InsideSourceScope {
 public:
  InsideSourceScope();
  ~InsideSourceScope();
  InsideSourceScope(const InsideSourceScope&) = delete;
  InsideSourceScope& operator=(const InsideSourceScope&) = delete;
};

// Whether this thread is inside a driver call from which the recorder already records the context.
bool InsideContextCall();

// Resource events.
void OnResource(std::uint32_t cbid, const void* data);

// How often this thread has received the heartbeat's callback.
unsigned HeartbeatsSeen();
// While true, heartbeats of this thread are counted although the thread is inside the source.
void AwaitHeartbeat(bool awaited);

// The callback that is registered with CUPTI. Runs on the program's threads, concurrently.
void OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

}  // namespace memprof::cupti
