// The shared-memory file ("the ring") that carries events from the program's threads to the
// recorder's writer thread, and outlives the process. This header is the only code for it that the
// recorder shares with analysis/log/ring_recovery.h. Plain data, native byte order, one machine.
//
//   +---------------------+  offset 0
//   | RingHeader          |  one page: identity, commit mark, counters, free list
//   +---------------------+  kRingHeaderBytes
//   | slab 0              |  kSlabBytes each: SlabHeader, then payload
//   | slab 1              |
//   |  ...                |
//   | slab slab_count - 1 |  only the first `slabs_ready` are backed by memory
//   +---------------------+
//
// A slab belongs to one producer until it is full or its thread ends; then it is sealed, drained
// by the writer, and free for the next producer. The ring of a thread is the list of its slabs in
// the order of `sequence`; it has only as many slabs as undrained events need.
//
//   slab of events:       | SlabHeader | RingEvent | RingEvent | ...            |
//                                      ^ taken     ^ published (counts of events)
//   slab of definitions:  | SlabHeader | DefinitionRecord, payload | ...         |
//                                      ^ taken     ^ published (bytes)
//
// Each event is in the log exactly once. The writer moves a batch into the log in three phases, so
// that a reader who finds the ring after a SIGKILL knows which events the log already has:
//
//   A  commit_at = kNotCommitted; for each slab of the batch: pending = published as seen
//   B  commit_at = size that the log will have; write the batch to the log
//   C  for each slab: taken = pending; committed = commit_at
//
// If the log's size has reached `commit_at`, everything below `pending` is in the log. If not, only
// what is below `taken` is, and only the first `committed` bytes of the log are valid.
//
// Order. Definitions are published before the first event that refers to them; the writer reads
// the event counts first and the definitions after.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/anomalies.h"

namespace memprof::ring {

inline constexpr char kRingMagic[8] = {'M', 'P', 'R', 'O', 'R', 'N', 'G', '\n'};
inline constexpr std::uint32_t kRingVersion = 1;
inline constexpr std::uint32_t kRingHeaderBytes = 4096;
inline constexpr std::uint32_t kSlabBytes = 64 * 1024;
inline constexpr std::uint32_t kMaxSlabs = 4096;  // 256 MiB
inline constexpr std::uint64_t kNotCommitted = ~std::uint64_t{0};

// One event; the fields of log.Events under the same names.
struct RingEvent {
  std::uint64_t time_ns;  // CLOCK_MONOTONIC
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t aux0;
  std::uint64_t aux1;
  std::uint64_t stream;
  std::uint32_t stack;
  std::uint32_t label;
  std::uint32_t api;
  std::uint32_t context;
  std::uint32_t result;
  std::uint16_t device_plus_1;
  std::uint8_t op;
  std::uint8_t layer;

  // -1 = on no device.
  void SetDevice(std::int32_t device) { device_plus_1 = static_cast<std::uint16_t>(device + 1); }
};
static_assert(sizeof(RingEvent) == 72);

enum class SlabState : std::uint32_t {
  kFree = 0,
  kOwned = 1,   // its thread still appends
  kSealed = 2,  // complete; the writer drains it and returns it to the free list
};

enum class SlabKind : std::uint32_t { kEvents = 1, kDefinitions = 2 };

struct SlabHeader {
  std::atomic<SlabState> state;
  SlabKind kind;
  std::uint32_t thread;    // log.Thread.id of the owner; 0 for definitions
  std::uint32_t tid;       // the owner's, to notice that it ended without sealing the slab
  std::uint64_t sequence;  // increases over all slabs ever taken
  std::atomic<std::uint32_t> published;
  std::atomic<std::uint32_t> pending;
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> next_free;  // index + 1 in the free list; 0 = end
  std::uint64_t reserved[3];
};
static_assert(sizeof(SlabHeader) == 64);

inline constexpr std::uint32_t kSlabPayloadBytes = kSlabBytes - sizeof(SlabHeader);
inline constexpr std::uint32_t kEventsPerSlab = kSlabPayloadBytes / sizeof(RingEvent);

// In a slab of definitions every record starts at a multiple of 8 bytes.
enum class DefinitionKind : std::uint32_t {
  kFields = 1,  // payload: encoded fields of log.Definitions, all but `trie`
  kNode = 2,    // payload: NodeRecord
};
struct DefinitionRecord {
  DefinitionKind kind;
  std::uint32_t bytes;  // of the payload that follows, before padding
};
static_assert(sizeof(DefinitionRecord) == 8);

// One node of the stack trie. Ids in the order of records are consecutive.
struct NodeRecord {
  std::uint64_t address;
  std::uint32_t id;
  std::uint32_t parent;
  std::uint32_t module;
  std::uint32_t kind;  // log.FrameKind
};
static_assert(sizeof(NodeRecord) == 24);

constexpr std::uint32_t PaddedRecordBytes(std::uint32_t payload_bytes) {
  return (static_cast<std::uint32_t>(sizeof(DefinitionRecord)) + payload_bytes + 7) & ~7u;
}

inline constexpr std::size_t kRingAnomalies = 64;  // more than the table has now, for later ones
static_assert(static_cast<std::size_t>(log::Anomaly::kCount) <= kRingAnomalies);

struct RingHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t slab_bytes;
  std::uint32_t slab_count;
  std::atomic<std::uint32_t> slabs_ready;
  std::uint32_t pid;
  std::uint32_t event_bytes;             // sizeof(RingEvent)
  std::uint64_t start_time_ns;           // as in log.Header: identifies the log of the ring
  std::uint64_t pid_start_time;          // field 22 of /proc/PID/stat: detects a reused pid
  std::atomic<std::uint64_t> committed;  // bytes of the log that are final
  std::atomic<std::uint64_t> commit_at;
  std::atomic<std::uint64_t> events_written;  // counted in phase C
  std::atomic<std::uint64_t> pending_events;  // what phase C will add
  std::atomic<std::uint64_t> free_list;       // tag << 32 | index + 1
  std::atomic<std::uint64_t> next_sequence;
  std::atomic<std::uint64_t> hook_time_ns;  // as in log.SelfAccounting
  std::atomic<std::uint64_t> writer_cpu_ns;
  std::atomic<std::uint64_t> stacks;
  std::atomic<std::uint64_t> anomalies[kRingAnomalies];  // by log::Anomaly
  char log_path[2048];  // absolute; empty if it is longer, or if an older recorder made the ring
  // Written by the cleanup of rings, not by the recorder: since when the log has not been at
  // log_path (ns since 1970); 0 = it was there
  std::uint64_t log_missing_since_ns;
};
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<SlabState>::is_always_lock_free);

}  // namespace memprof::ring
