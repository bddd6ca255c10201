// What keeps memory alive, as the last look at it found: at the objects of Python (`memprof run
// --holders`), or at the words of host memory (`--scan`). Where both found something, Python's
// variables count: behind them, a scan sees the interpreter's objects.
#pragma once

#include <cstdint>
#include <map>
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

 private:
  struct Look;
  struct Key;
  Look LookOf(EventId mark) const;
  std::string TextOf(const Key& key) const;
  std::vector<Key> KeysOf(AllocationId id) const;

  const Session& session_;
  bool any_ = false;
  std::vector<std::vector<EventId>> ends_[2];  // of looks, by process; [1]: of scans
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>
      named_;  // of scans, by label, aux1
};

}  // namespace memprof::analysis
