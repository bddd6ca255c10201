// What keeps memory alive, as the last look at it found (`memprof run --holders`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  std::vector<Holder> Of(std::span<const AllocationId> ids) const;

  // What a look told: label and kind.
  using Told = std::pair<std::uint32_t, std::uint64_t>;
  // Of one allocation, by the last look that found it.
  std::vector<Told> LastOf(AllocationId id) const;
  // In words; without figures.
  Holder Words(const Told& told) const;

  // Whether there was a look at all, and how many there were while an allocation was alive.
  bool any() const { return !ends_.empty(); }
  std::size_t LooksDuring(AllocationId id) const;

  const Session& session() const { return session_; }

 private:
  const Session& session_;
  std::vector<std::vector<EventId>> ends_;  // of looks, by process
};

}  // namespace memprof::analysis
