// The exact new peak of a device if some of its memory had been allocated later, freed earlier,
// been smaller, or never been allocated: the real saving of a change of the program.
//
// A Level is what one device held after every event, as a step function with an index for the
// maximum of any range. A change is a list of intervals in which more or less is held. Between two
// interval ends the sum of the changes is constant, so the new maximum there is the old one plus
// that sum: k intervals cost O(k log k + k log n), whatever the length of the log. Other effects of
// the change on the program are not modelled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// A sum over a device's live allocations.
enum class PeakLayer : std::uint8_t {
  kDriver,  // requested bytes of layers that occupy the device
  kBlocks,  // blocks that a framework's allocator allocated, by block size
};

// The sum that allocations of `layer` count in; none for host memory, segments, tensors, ….
std::optional<PeakLayer> PeakLayerOf(Layer layer);

// `bytes` more (negative: less) are held after each of the events [begin, end). An invalid `end` is
// the end of the log; nothing happens if end <= begin.
struct LevelChange {
  EventId begin, end;
  std::int64_t bytes = 0;
};

struct NewPeak {
  std::uint64_t bytes = 0;
  EventId event;  // the first after which that much is held; none if nothing ever is
};

// The bytes that one device held after every event. Immutable once built, hence thread-safe. 13
// bytes for each event at which they change.
class Level {
 public:
  // `events` = of the log.
  explicit Level(std::uint32_t events) : events_(events) {}

  // While building: at most so many calls of Append follow.
  void Reserve(std::size_t changes);
  // `bytes` are held after `event`, until the next call. Events ascend.
  void Append(EventId event, std::uint64_t bytes);
  void Finish();

  // The unchanged peak.
  NewPeak peak() const { return With({}); }
  // The peak with `changes`, which may overlap in any way. Bytes below 0 (a change that removes
  // what was not there) count as 0.
  NewPeak With(std::span<const LevelChange> changes) const;
  // The bytes held after `event`.
  std::uint64_t After(EventId event) const { return level_[PieceAt(event.value)]; }

 private:
  static constexpr std::size_t kBlock = 16;

  // The piece of the step function that applies after event `event`.
  std::size_t PieceAt(std::uint32_t event) const;
  // The same, where that is `piece` or one after it, and mostly near.
  std::size_t PieceAfter(std::size_t piece, std::uint32_t event) const;
  // The largest level of pieces [begin, end), which is not empty.
  std::uint64_t MostOf(std::size_t begin, std::size_t end) const;
  std::uint64_t MostOfBlocks(std::size_t begin, std::size_t end) const;
  // The first event of [begin, end) after which `bytes` are held.
  EventId FirstWith(std::uint32_t begin, std::uint32_t end, std::uint64_t bytes) const;

  std::uint32_t events_;
  std::vector<std::uint32_t> begin_{0};  // of each piece; the first is the state before any change
  std::vector<std::uint64_t> level_{0};
  std::vector<std::uint64_t> most_;  // segment tree over blocks of pieces, root at 1
  std::size_t leaves_ = 0;
};

// The levels of all devices: one pass over the events.
class PeakLevels {
 public:
  explicit PeakLevels(const Session& session);
  // Null if the device never held any such memory.
  const Level* Find(int device, PeakLayer of) const;
  // That of an allocation; null if it belongs to none.
  const Level* Of(const AllocationRecord& a) const;
  // Ascending.
  const std::map<std::pair<int, PeakLayer>, Level>& all() const { return levels_; }

 private:
  std::map<std::pair<int, PeakLayer>, Level> levels_;
};

// As if `a` had never been allocated.
LevelChange Removed(const AllocationRecord& a);
// As if `a` had been allocated right before event `at`, or freed right after it. No change if `at`
// is outside of its life.
LevelChange Delayed(const AllocationRecord& a, EventId at);
LevelChange Shortened(const AllocationRecord& a, EventId at);
// As if `a` had had `bytes`.
LevelChange Resized(const AllocationRecord& a, std::uint64_t bytes);

inline constexpr std::uint32_t kNoGroup = 0xffffffff;

// The peak of (device, of) without each of `groups` groups of allocations: `group_of` returns the
// group of an allocation of the level (kNoGroup: none). All allocations of the log count, not only
// those live at the peak. O(n log n) for all groups together.
std::vector<NewPeak> PeaksWithout(
    const Session& session, const PeakLevels& levels, int device, PeakLayer of, std::size_t groups,
    const std::function<std::uint32_t(AllocationId, const AllocationRecord&)>& group_of);

}  // namespace memprof::analysis
