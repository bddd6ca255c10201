// One account of all memory that the recorder holds in this process, with one limit on it
// (MEMPROF_MEMORY_MIB), whatever the program does and for however long.
//
// The ring's largest size, and what cannot be counted here, are subtracted from the limit first.
// The rest is for all requests, but its last parts are only for certain needs (Need): tables stop
// first, so that new threads can still record, and threads stop before the writer:
//
//   | ring | uncounted | stacks, names, live blocks, memos | + threads | + writer |
//
// A caller whose request is refused counts what it leaves out, and continues. The number of refused
// requests is counted here too.
//
// A forked child does not have the parent's recording (its memory is not copied), nor its charges;
// memory that is kept in children stays charged there.
// Thread-safety: every function may be called by any thread.
#pragma once

#include <cstdint>

namespace memprof::recorder {

enum class Need : std::uint8_t {
  kMemo,    // lost speed is the only harm; has a limit of its own within the limit
  kTable,   // names, stacks, live blocks
  kThread,  // the state of a thread, without which its events are lost
  kWriter,  // what the writer needs in order to write
};

// Whether a forked child still has the memory.
enum class InChild : std::uint8_t { kUnmapped, kKept };

inline constexpr std::uint64_t kDefaultMemoryMib = 256;
inline constexpr std::uint64_t kAlwaysOnMemoryMib = 64;
inline constexpr std::uint64_t kMinMemoryMib = 32;

// Bytes that the ring may use of `memory_bytes`.
std::uint64_t RingShare(std::uint64_t memory_bytes);
// Sets the limit to `memory_bytes`, of which a ring may use `ring_bytes`.
void SetMemoryLimit(std::uint64_t memory_bytes, std::uint64_t ring_bytes);

// False, and nothing is charged, when the limit would be passed.
bool ChargeMemory(std::uint64_t bytes, Need need, InChild in_child = InChild::kUnmapped);
void ReturnMemory(std::uint64_t bytes, Need need, InChild in_child = InChild::kUnmapped);

// Without the ring.
std::uint64_t ChargedMemory();
// Refused requests, except those for memos.
std::uint64_t RefusedRequests();

// In a forked child; the kernel has cleared the account already, where it can.
void ForgetParentsMemory();

}  // namespace memprof::recorder
