// The interface between the recorder and a capture source in a library of its own (today
// libmemprof_cupti.so). The recorder loads the source, passes it this table and gets the source's
// table; neither links the other, so the recorder exports nothing for it.
//
// Thread-safety: every function of the recorder may be called by any thread, also inside callbacks
// of the driver. None throws or blocks; only driver_call calls CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

inline constexpr std::uint32_t kSourceApiVersion = 5;

// One event as a source reports it; fields as in log.Events. `op` and `layer` are the numbers of
// log.Op and log.Layer. The recorder adds the time, the thread and, if requested, the stack.
struct SourceEvent {
  std::uint32_t op;
  std::uint32_t layer;
  std::int32_t device;   // -1 = none; -2 = "of the current context", the recorder finds it
  std::uint32_t result;  // CUresult
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t aux0;
  std::uint64_t aux1;
  std::uint64_t context;     // CUcontext handle, 0 = unknown; the recorder gives it an id
  std::uint64_t stream;      // CUstream handle
  std::uint32_t label;       // from intern()
  std::uint32_t api;         // from intern()
  std::uint32_t with_stack;  // 1 = take the calling thread's stack
};

// The entry or the exit of a driver call, which the recorder interprets.
struct SourceCall {
  std::int32_t function;   // from function_id()
  std::uint32_t is_exit;   // 0: the call is about to happen
  std::uint32_t result;    // CUresult, at the exit
  const void* parameters;  // the function's parameters, in order, as members of a structure
  std::uint64_t* kept;     // 64 bits that are the same at entry and exit of one call, or null
};

// Functions of the recorder.
struct RecorderApi {
  std::uint32_t version;  // kSourceApiVersion
  // Records one event. Does nothing when not recording.
  void (*record)(const SourceEvent* event);
  // Records the memory and contexts of a driver call, if no hook does. Call it at the call's entry
  // and at its exit, on the calling thread. Queries the driver.
  void (*driver_call)(const SourceCall* call);
  // The number for SourceCall; -1 if the function has no events.
  std::int32_t (*function_id)(const char* name);
  // 1 if the pool is known to lie in host memory.
  int (*pool_on_host)(std::uint64_t pool);
  // Id of a string in the log; the same text gives the same id. 0 when there is no space.
  std::uint32_t (*intern)(const char* text, std::size_t length);
  // Records the state of this source in the log; `state` as in log.SourceState.
  void (*source_state)(const char* name, std::uint32_t state, const char* detail);
  // Adds to a counter of proto/anomalies.h.
  void (*count_anomaly)(int anomaly, std::uint64_t add);
  // 1 while a driver hook of this thread is inside an intercepted call that it records: the source
  // must then not report the same allocation.
  int (*inside_hook)();
  // The real driver function of that name, or null: for calls that must not be recorded.
  void* (*real_driver_function)(const char* name);
};

// What a source is to report.
enum class SourceScope : int {
  kUses = 0,         // launches, copies, fills: something else records allocations
  kEverything = 1,   // it is the only source of allocations (MEMPROF_SOURCE=cupti)
  kAllocations = 2,  // and nothing but them is wanted: the calls made most often cost nothing
};

// Functions of a source, returned by its only exported function:
//   extern "C" const memprof::SourceApi* memprof_source_open(const memprof::RecorderApi*);
struct SourceApi {
  std::uint32_t version;
  // Begins to listen, or changes to what it listens. Returns 0 on success; before it fails, it
  // reports the reason by source_state.
  int (*start)(SourceScope scope);
  void (*stop)();
  // Called about once a second while recording, by the recorder's own thread: checks whether the
  // source still receives events. Reports a loss by source_state, and tries to subscribe again.
  void (*check)();
};

using SourceOpenFunction = const SourceApi* (*)(const RecorderApi*);
inline constexpr char kSourceOpenSymbol[] = "memprof_source_open";

}  // namespace memprof
