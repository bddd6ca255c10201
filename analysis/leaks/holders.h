// What keeps memory alive, as the last look at it found: at the objects of Python (`memprof run
// --holders`), or at the words of host memory (`--scan`). Where both found something, Python's
// variables count: behind them, a scan sees the interpreter's objects.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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

// Allocations of which no look found a holder.
struct WithoutHolder {
  std::uint64_t bytes = 0, blocks = 0;
};

// All looks of a session. Of an allocation, the holders of the last look that found it count. Where
// a function has a parameter `until`, looks before that event are preferred to later ones.
// Thread-safe once made.
class Holders {
 public:
  // What a look told of an allocation; the words depend on nothing else.
  struct Told {
    std::uint32_t label = 0;
    std::uint64_t kind = 0, place = 0;  // aux0, aux1
    StackId asked_for;  // with this stack; only where Python does not know the holder
    auto operator<=>(const Told&) const = default;
  };

  explicit Holders(const Session& session);

  // Holders of these allocations, the one that holds most first, but variables of the program
  // before those that only repeat them (the last exception, IPython's hidden ones); empty where
  // nobody looked.
  std::vector<Holder> Of(std::span<const AllocationId> ids, EventId until = {}) const;
  // The rest of these allocations; nothing where nobody looked at their processes.
  std::optional<WithoutHolder> RestOf(std::span<const AllocationId> ids) const;
  // Those of one allocation; and in words, without figures.
  std::vector<Told> ToldOf(AllocationId id, EventId until = {}) const;
  Holder Words(const Told& told) const;

  // What memory that grows with the steps should be told `until`: with this event the last step of
  // the process begins. While steps run, variables hold what grows; after them functions return,
  // and a whole program may be no more than garbage. Invalid without steps.
  EventId LastStepOf(std::uint32_t process) const;
  // Of these allocations, those that the latest look found which found any.
  std::vector<AllocationId> FoundLast(std::span<const AllocationId> ids) const;

  // Bytes of those of these allocations, all of them alive at `at`, that were garbage then for
  // sure: a look before it found that only objects held them which wait for the collector, and it
  // is the collector that frees such memory. Garbage of which no look was taken in time is not
  // counted. Nothing where nobody looked before `at`.
  std::optional<std::uint64_t> GarbageAt(std::span<const AllocationId> alive, EventId at) const;

  // Whether there was a look at all, and how many there were while an allocation was alive.
  bool any() const;
  std::size_t LooksDuring(AllocationId id) const;

  const Session& session() const { return session_; }

 private:
  // The greatest is the one that counts.
  struct Look {
    bool of_objects = false;     // of Python, not of host memory
    bool early = false;          // before `until`
    std::ptrdiff_t number = -1;  // in the order of time
    auto operator<=>(const Look&) const = default;
  };

  bool LookedAt(std::uint32_t process) const;
  Look LookOf(EventId mark, EventId until) const;
  Look LastLookAt(AllocationId id, EventId until) const;
  std::string TextOf(const Told& told) const;

  const Session& session_;
  std::vector<std::vector<EventId>> ends_[2];  // of looks, by process; [1]: of scans
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>
      named_;  // of scans, by label, aux1
};

// For tables: entries of one container are one row, "`cache[…]`", and so are equal paths, and four
// and more that differ in an entry further to the left. What holds most comes first, as
// Holders::Of() has them.
std::vector<Holder> SumUp(const std::vector<Holder>& holders);

// Computed once a session: a scan's holders are named by reading symbol tables.
std::shared_ptr<const Holders> HoldersOf(const Session& session);

}  // namespace memprof::analysis
