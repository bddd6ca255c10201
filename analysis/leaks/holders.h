// What keeps memory alive, as the last look at it found (`memprof run --holders`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

enum class HolderKind : std::uint8_t { kUnknown, kPython, kAutograd, kCpp, kCycle };
// "unknown", "python", "autograd", "c++", "cycle".
std::string_view HolderKindName(HolderKind kind);

// One variable, or whatever else holds memory.
struct Holder {
  std::string path;  // one line: "list `metrics.predictions` (global `metrics`, train.py:10)"
  std::string root;  // "global `metrics`, train.py:10"
  // What lies between: "list `Metrics.predictions`", from the root's side; empty if the root holds
  // the memory itself, or if the recorder did not say.
  std::vector<std::string> chain;
  HolderKind kind = HolderKind::kUnknown;
  std::uint64_t bytes = 0;  // of the allocations that it holds, perhaps with others
  std::uint64_t blocks = 0;
};

// All looks of a session. Thread-safe once made.
class Holders {
 public:
  explicit Holders(const Session& session);

  // Holders of these allocations, the one that holds most first; empty where nobody looked. Of each
  // allocation, the holders of the last look that found it count.
  std::vector<Holder> Of(std::span<const AllocationId> ids) const { return Of(ids, EventId()); }
  // The same of the last look before the last step; of a later one if no earlier one found the
  // allocation. What grows with the steps is held while they run: after them functions return, and
  // a whole program may be no more than garbage.
  std::vector<Holder> InStepsOf(std::span<const AllocationId> ids, std::uint32_t process) const;

  // Bytes of those of these allocations, all of them alive at `at`, that were garbage then for
  // sure: a look before it found that only objects held them which wait for the collector, and it
  // is the collector that frees such memory. Garbage of which no look was taken in time is not
  // counted. Nothing where nobody looked before `at`.
  std::optional<std::uint64_t> GarbageAt(std::span<const AllocationId> alive, EventId at) const;

 private:
  // Prefers looks before `until`, if it is valid.
  std::vector<Holder> Of(std::span<const AllocationId> ids, EventId until) const;

  std::ptrdiff_t LookOf(EventId mark) const;  // which look of its process

  const Session& session_;
  std::vector<std::vector<EventId>> ends_;  // of looks, by process
};

}  // namespace memprof::analysis
